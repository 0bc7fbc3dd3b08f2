/* Eight threads, each with a region in its own: whatever they share a processor with, each keeps its
   memory from region to region under an address of its own, holds its locks as itself, and may wait
   in a loop for another. Threads that took turns on one thread of the system could not. */
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { MOST = 8, ROUNDS = 5 };

static int mine;
#pragma omp threadprivate(mine)

static int *where[MOST];
static pthread_mutex_t held[MOST];

/* What a region inside comes to, which says nothing about its threads. */
static int inner(int base)
{
    int sum = 0;
#pragma omp parallel for num_threads(MOST) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += base;
    return sum;
}

static int memory(void)
{
    int wrong = 0;
#pragma omp parallel num_threads(MOST) reduction(+ : wrong)
    {
        mine = omp_get_thread_num();
        where[mine] = &mine;
#pragma omp barrier
        wrong += inner(mine) != 10 * omp_get_thread_num();
#pragma omp barrier
        for (int i = 0; i < omp_get_num_threads(); i++)
            wrong += *where[i] != i;
    }
    /* The values stay, and so do the addresses; `copyin` reads another thread's. */
#pragma omp parallel num_threads(MOST) reduction(+ : wrong)
    wrong += mine != omp_get_thread_num() || where[mine] != &mine;
    mine = 100;
#pragma omp parallel num_threads(MOST) copyin(mine) reduction(+ : wrong)
    {
        wrong += mine != 100;
        mine += omp_get_thread_num();
#pragma omp barrier
        wrong += mine != 100 + omp_get_thread_num();
    }
    return wrong;
}

/* Each waits for the next, without a word to the library, after they have met at a barrier. */
static int flags(void)
{
    int told[MOST] = {0}, wrong = 0;
#pragma omp parallel num_threads(MOST) reduction(+ : wrong)
    for (int round = 1; round <= ROUNDS; round++) {
        int num = omp_get_thread_num(), last = omp_get_num_threads() - 1, seen = round;
#pragma omp barrier
        wrong += inner(num) != 10 * num;
        do {
            if (num < last) {
#pragma omp atomic read seq_cst
                seen = told[num + 1];
                sched_yield();
            }
        } while (seen < round);
#pragma omp atomic write seq_cst
        told[num] = round;
    }
    return wrong + (told[0] != ROUNDS);
}

static int locks(void)
{
    int wrong = 0;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < MOST; i++)
        pthread_mutex_init(&held[i], &kind);
#pragma omp parallel num_threads(MOST) reduction(+ : wrong)
    {
        int num = omp_get_thread_num();
        pthread_mutex_lock(&held[num]);
#pragma omp barrier
        for (int i = 0; i < omp_get_num_threads(); i++)
            wrong += i != num && pthread_mutex_trylock(&held[i]) != EBUSY;
        wrong += inner(num) != 10 * num;
#pragma omp barrier
        wrong += pthread_mutex_unlock(&held[num]) != 0;
    }
    return wrong;
}

int main(void)
{
    omp_set_max_active_levels(2);
    omp_set_dynamic(0);
    printf("memory: %d wrong\n", memory());
    printf("flags: %d wrong\n", flags());
    printf("locks: %d wrong\n", locks());
    return 0;
}
