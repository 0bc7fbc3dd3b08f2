/* A thread forks inside of a region when the others have come to its end, and the child goes on,
   with a region inside of that one. */
#include "fenced.h"
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int status = 0;
    pid_t child = -1;
    alarm(300);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
#pragma omp master
    {
        /* The others come to the barrier in that time, or the child waits for them. */
        sleep(1);
        child = fork();
        if (child == 0) {
            int counted = 0, threads = 0;
            alarm(300);
#pragma omp parallel num_threads(2) reduction(+ : counted)
            {
                counted++;
#pragma omp single
                threads = omp_get_num_threads();
            }
            printf("child: %d of %d\n", counted, threads);
            fflush(stdout);
        }
    }
    if (child == 0) {
        int counted = 0;
#pragma omp parallel num_threads(3) reduction(+ : counted)
        counted++;
        printf("child after it: %d\n", counted);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("ended with %d\n", status);
    return 0;
}
