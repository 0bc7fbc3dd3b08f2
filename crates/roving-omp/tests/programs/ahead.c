/* The first thread is in a construct, and the others are many further. It waits for what they do
   there, or for a task that one of them runs at the barrier. The constructs that have no place come
   to the same as others, again and again. With `far` one thread is ahead by all that there are. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOPS = 40, ROUNDS = 30, FAR = 100000 };

static int done, held;

static void tell(int *flag)
{
#pragma omp atomic write
    *flag = 1;
}

static void wait_for(int *flag)
{
    int seen;
    do {
        usleep(100);
#pragma omp atomic read
        seen = *flag;
    } while (!seen);
}

/* Loops, sections and singles, each of which all threads come to in their own time. Returns how
   often something was done that is to be done once. */
static int constructs(int turns)
{
    int sum = 0;
    for (int turn = 0; turn < turns; turn++) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 5; i++)
            sum++;
#pragma omp for ordered schedule(static, 2) nowait
        for (int i = 0; i < 4; i++) {
#pragma omp ordered
            sum++;
        }
#pragma omp single nowait
        sum++;
#pragma omp sections nowait
        {
            sum++;
#pragma omp section
            sum++;
        }
    }
    return sum;
}

static void ahead(int by_task)
{
    int sum = 0;
    done = held = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
        int first = omp_get_thread_num() == 0;
        if (!first)
            wait_for(&held);
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 1; i++) {
            tell(&held);
            wait_for(&done);
        }
        /* Not `ordered`: its turn would come to the first thread as well. */
        for (int loop = 0; loop < LOOPS; loop++) {
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 3; i++)
                sum++;
#pragma omp single nowait
            sum++;
        }
        if (!first && by_task) {
#pragma omp task
            tell(&done);
        } else if (!first) {
            tell(&done);
        }
        sum += constructs(20);
#pragma omp barrier
        sum += constructs(3);
    }
    if (sum != 4 * LOOPS + 23 * 12)
        printf("%d\n", sum);
}

static void far(void)
{
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        if (omp_get_thread_num() == 0)
            wait_for(&done);
        for (int i = 0; i < FAR; i++) {
#pragma omp single nowait
            sum++;
        }
        tell(&done);
    }
    printf("%d\n", sum);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "far") == 0) {
        far();
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++)
        ahead(round % 2);
    printf("it has ended\n");
    return 0;
}
