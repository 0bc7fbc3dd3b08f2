/* Where the threads of regions are bound, as the system says it and as OpenMP does. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, LENGTH = 200 };

static char told[THREADS][THREADS][LENGTH];

/* Of the calling thread. */
static void note(int outer, int inner)
{
    char *at = told[outer][inner];
    cpu_set_t set;
    int nums[CPU_SETSIZE], count = omp_get_partition_num_places();
    sched_getaffinity(0, sizeof(set), &set);
    omp_get_partition_place_nums(nums);
    at += sprintf(at, "place %d, next bind %d, processors", omp_get_place_num(),
                  omp_get_proc_bind());
    for (int cpu = 0; cpu < CPU_SETSIZE && at < told[outer][inner] + 60; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            at += sprintf(at, " %d", cpu);
        }
    }
    at += sprintf(at, ", partition");
    for (int place = 0; place < count && place < 8; ++place) {
        at += sprintf(at, " %d", nums[place]);
    }
}

static void tell(const char *what)
{
    printf("%s\n", what);
    for (int outer = 0; outer < THREADS; ++outer) {
        for (int inner = 0; inner < THREADS; ++inner) {
            if (told[outer][inner][0] != 0) {
                printf("  %d.%d: %s\n", outer, inner, told[outer][inner]);
            }
        }
    }
    memset(told, 0, sizeof(told));
}

int main(void)
{
    note(0, 0);
    tell("outside");
    for (int round = 0; round < 2; ++round) {
#pragma omp parallel num_threads(2)
        note(omp_get_thread_num(), 0);
        tell("as said outside, 2 threads");
#pragma omp parallel num_threads(2) proc_bind(spread)
        note(omp_get_thread_num(), 0);
        tell("spread, 2 threads");
#pragma omp parallel num_threads(2) proc_bind(master)
        note(omp_get_thread_num(), 0);
        tell("at the first, 2 threads");
#pragma omp parallel num_threads(2) proc_bind(close)
        note(omp_get_thread_num(), 0);
        tell("close, 2 threads");
#pragma omp parallel num_threads(4) proc_bind(close)
        note(omp_get_thread_num(), 0);
        tell("close, 4 threads");
#pragma omp parallel num_threads(4) proc_bind(spread)
        note(omp_get_thread_num(), 0);
        tell("spread, 4 threads");
#pragma omp parallel num_threads(1) proc_bind(spread)
        note(omp_get_thread_num(), 0);
        tell("one thread");
    }
#pragma omp parallel num_threads(2) proc_bind(spread)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) proc_bind(close)
        note(outer, omp_get_thread_num());
        note(outer, THREADS - 1);
    }
    tell("close in spread");
#pragma omp parallel num_threads(2) proc_bind(close)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) proc_bind(spread)
        note(outer, omp_get_thread_num());
        note(outer, THREADS - 1);
    }
    tell("spread in close");
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        note(outer, omp_get_thread_num());
    }
    tell("as said outside, both");
    note(0, 0);
    tell("outside");
    return 0;
}
