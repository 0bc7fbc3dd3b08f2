/* The ways to put n queens on a board, a task for each queen that can stand. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* Columns and diagonals that are taken, as bits. */
static long queens(unsigned all, unsigned columns, unsigned left, unsigned right)
{
    long ways = 0;
    if (columns == all)
        return 1;
    for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
        unsigned bit = free & -free;
#pragma omp task shared(ways) firstprivate(bit)
        {
            long found = queens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
            if (found) {
#pragma omp atomic
                ways += found;
            }
        }
    }
#pragma omp taskwait
    return ways;
}

/* The same without tasks, to compare with. */
static long queens_serially(unsigned all, unsigned columns, unsigned left, unsigned right)
{
    long ways = columns == all;
    for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
        unsigned bit = free & -free;
        ways += queens_serially(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return ways;
}

int main(int count, char **words)
{
    int n = count > 1 ? atoi(words[1]) : 10;
    long ways = 0;
    double began = omp_get_wtime();
    long expected = queens_serially((1u << n) - 1, 0, 0, 0);
    fprintf(stderr, "%.1f ms serially\n", 1e3 * (omp_get_wtime() - began));
    began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    ways = queens((1u << n) - 1, 0, 0, 0);
    fprintf(stderr, "%.1f ms by tasks\n", 1e3 * (omp_get_wtime() - began));
    if (ways != expected) {
        fprintf(stderr, "the result by tasks is another than the serial one\n");
        return 1;
    }
    printf("%d queens: %ld ways\n", n, ways);
    return 0;
}
