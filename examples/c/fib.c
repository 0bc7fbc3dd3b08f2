/* fib(40) by one task for each call: no cut-off, no grain size. */
#include <roving.h>
#include <stdio.h>
#include <time.h>

ROVING_TASK(uint64_t, fib, unsigned, n)
{
    if (n < 2) {
        return n;
    }
    ROVING_SPAWN(later, fib, n - 1);
    uint64_t b = ROVING_CALL(fib, n - 2);
    uint64_t a = ROVING_SYNC(fib, later);
    return a + b;
}

/* The same without tasks, to compare with. */
static uint64_t fib_serially(unsigned n)
{
    return n < 2 ? n : fib_serially(n - 1) + fib_serially(n - 2);
}

/* Seconds by the clock on the wall. */
static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(void)
{
    uint64_t result;
    double began = now();
    uint64_t expected = fib_serially(40);
    fprintf(stderr, "%.3f s serially\n", now() - began);
    began = now();
    if (ROVING_RUN(NULL, &result, fib, 40) != ROVING_OK) {
        fprintf(stderr, "%s\n", roving_error_detail());
        return 1;
    }
    fprintf(stderr, "%.3f s by tasks\n", now() - began);
    if (result != expected) {
        fprintf(stderr, "the result by tasks is another than the serial one\n");
        return 1;
    }
    printf("fib(40) = %llu\n", (unsigned long long)result);
    return 0;
}
