/* Fibonacci's numbers by tasks, without a cut-off: nothing but tasks. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

/* The same without tasks, to compare with. */
static long fib_serially(int n)
{
    return n < 2 ? n : fib_serially(n - 1) + fib_serially(n - 2);
}

int main(int count, char **words)
{
    int n = count > 1 ? atoi(words[1]) : 27;
    long result = 0;
    double began = omp_get_wtime();
    long expected = fib_serially(n);
    fprintf(stderr, "%.1f ms serially\n", 1e3 * (omp_get_wtime() - began));
    began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    result = fib(n);
    fprintf(stderr, "%.1f ms by tasks\n", 1e3 * (omp_get_wtime() - began));
    if (result != expected) {
        fprintf(stderr, "the result by tasks is another than the serial one\n");
        return 1;
    }
    printf("fib(%d) = %ld\n", n, result);
    return 0;
}
