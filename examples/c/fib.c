/* fib(40) by one task for each call: no cut-off, no grain size. */
#include <roving.h>
#include <stdio.h>

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

int main(void)
{
    uint64_t result;
    if (ROVING_RUN(NULL, &result, fib, 40) != ROVING_OK) {
        fprintf(stderr, "%s\n", roving_error_detail());
        return 1;
    }
    printf("fib(40) = %llu\n", (unsigned long long)result);
    return 0;
}
