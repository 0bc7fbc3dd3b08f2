/* A loop and a reduction: how many numbers below a million are prime, and how large is the sum of
 * their square roots. */
#include <math.h>
#include <roving.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LIMIT = 1000000 };

static void check(roving_status status, const char *what)
{
    if (status != ROVING_OK) {
        fprintf(stderr, "%s: %s\n", what, roving_error_detail());
        exit(1);
    }
}

/* Called with as many indices at a time as no other worker asks for. */
static void find_primes(roving_worker *worker, size_t first, size_t end, void *arg)
{
    unsigned char *is_prime = arg;
    (void)worker;
    for (size_t n = first; n < end; n++) {
        is_prime[n] = n >= 2;
        for (size_t d = 2; d * d <= n; d++) {
            if (n % d == 0) {
                is_prime[n] = 0;
                break;
            }
        }
    }
}

struct total {
    size_t primes;
    double roots;
};

static void add(roving_worker *worker, size_t first, size_t end, void *into, void *arg)
{
    const unsigned char *is_prime = arg;
    struct total *total = into;
    (void)worker;
    for (size_t n = first; n < end; n++) {
        total->primes += is_prime[n];
        total->roots += is_prime[n] ? sqrt((double)n) : 0;
    }
}

static void combine(void *into, const void *following, void *arg)
{
    struct total *total = into;
    const struct total *next = following;
    (void)arg;
    total->primes += next->primes;
    total->roots += next->roots;
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
    unsigned char *is_prime = malloc(LIMIT);
    struct total none = {0, 0}, expected = {0, 0}, total;
    double began;
    roving_reduction reduction = {sizeof(total), &none, add, combine};
    if (is_prime == NULL) {
        return 1;
    }
    /* The loops' own functions, called without a worker, are the serial program. */
    began = now();
    find_primes(NULL, 0, LIMIT, is_prime);
    add(NULL, 0, LIMIT, &expected, is_prime);
    fprintf(stderr, "%.3f s serially\n", now() - began);
    began = now();
    check(roving_for(0, LIMIT, find_primes, is_prime), "primes");
    check(roving_reduce(0, LIMIT, &reduction, is_prime, &total), "sum");
    fprintf(stderr, "%.3f s in parallel\n", now() - began);
    if (total.primes != expected.primes) {
        fprintf(stderr, "the parallel result is another than the serial one\n");
        return 1;
    }
    printf("%zu primes below %d\n", total.primes, LIMIT);
    free(is_prime);
    return 0;
}
