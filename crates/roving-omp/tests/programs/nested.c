/* Regions inside of regions: how many threads they get is the library's to say, what they come to is
   not. */
#include <omp.h>
#include <stdio.h>

static long work(int from)
{
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += (from + i) % 7;
    return sum;
}

static void sums(int outer, int inner)
{
    long total = 0, wrong = 0;
#pragma omp parallel num_threads(outer) reduction(+ : total, wrong)
    for (int turn = 0; turn < 30; turn++) {
        long part = 0;
#pragma omp parallel for num_threads(inner) schedule(dynamic, 3) reduction(+ : part)
        for (int i = 0; i < 20; i++)
            part += work(i);
        if (omp_get_thread_num() == 0 && turn == 0)
            total += part;
#pragma omp parallel num_threads(inner) reduction(+ : wrong)
        {
            int num = omp_get_thread_num();
#pragma omp barrier
            wrong += num >= omp_get_num_threads() || omp_get_level() != 2;
            wrong += omp_get_ancestor_thread_num(2) != num;
            wrong += omp_get_team_size(1) != outer;
        }
    }
    printf("%d by %d: %ld, %ld wrong\n", outer, inner, total, wrong);
}

/* Tasks of the outer region wait while their thread is in an inner one. */
static void tasks(void)
{
    int done = 0, inner = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 50; i++) {
#pragma omp task shared(done)
        {
#pragma omp atomic
            done++;
        }
        if (i % 10 == 0) {
#pragma omp task shared(inner)
            {
                int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
                {
#pragma omp single
                    for (int j = 0; j < 10; j++) {
#pragma omp task shared(inner)
                        {
#pragma omp atomic
                            inner++;
                        }
                    }
                    sum += 1;
                }
            }
        }
    }
    printf("tasks: %d %d\n", done, inner);
}

static int depth(int levels)
{
    int most = 0;
#pragma omp parallel num_threads(2) reduction(max : most)
    most = levels == 0 ? omp_get_level() : depth(levels - 1);
    return most;
}

int main(void)
{
    omp_set_max_active_levels(4);
    sums(1, 2);
    sums(2, 2);
    sums(2, 1);
    sums(3, 4);
    sums(8, 8);
    tasks();
    printf("depth: %d\n", depth(3));
    return 0;
}
