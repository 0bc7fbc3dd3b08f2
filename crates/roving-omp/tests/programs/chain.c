/* Each task spawns the next one, and ends before it: nobody waits but the region. The argument says
   how many. */
#include <stdio.h>
#include <stdlib.h>

static void chain(int n, int *done)
{
    if (n == 0)
        return;
#pragma omp task
    {
#pragma omp atomic
        (*done)++;
        chain(n - 1, done);
    }
}

int main(int argc, char **argv)
{
    int done = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    chain(argc > 1 ? atoi(argv[1]) : 10000, &done);
    printf("chain: %d\n", done);
    return 0;
}
