/* Loops with every schedule, of several types, upwards and downwards; ordered; lastprivate. */
#include <limits.h>
#include <omp.h>
#include <stdio.h>

enum { COUNT = 1003 };
static int hits[COUNT];

static int check(const char *name)
{
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        wrong += hits[i] != 1;
        hits[i] = 0;
    }
    printf("%s: %d wrong\n", name, wrong);
    return wrong;
}

#define LOOP(name, ...)                                   \
    do {                                                  \
        _Pragma("omp parallel num_threads(3)")            \
        {                                                 \
            __VA_ARGS__                                   \
            for (int i = 0; i < COUNT; i++)               \
                hits[i]++;                                \
        }                                                 \
        check(name);                                      \
    } while (0)

static void schedules(void)
{
    LOOP("static", _Pragma("omp for schedule(static)"));
    LOOP("static 7", _Pragma("omp for schedule(static, 7)"));
    LOOP("dynamic", _Pragma("omp for schedule(dynamic)"));
    LOOP("dynamic 5", _Pragma("omp for schedule(dynamic, 5) nowait"));
    LOOP("monotonic", _Pragma("omp for schedule(monotonic: dynamic, 2)"));
    LOOP("nonmonotonic", _Pragma("omp for schedule(nonmonotonic: guided, 2)"));
    LOOP("guided", _Pragma("omp for schedule(guided)"));
    LOOP("guided 9", _Pragma("omp for schedule(guided, 9)"));
    LOOP("auto", _Pragma("omp for schedule(auto)"));
    LOOP("runtime", _Pragma("omp for schedule(runtime)"));
    LOOP("ordered static", _Pragma("omp for ordered schedule(static, 3)"));
    int kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int kind = 0; kind < 4; kind++) {
        omp_set_schedule(kinds[kind], 4);
#pragma omp parallel for schedule(runtime) num_threads(4)
        for (int i = 0; i < COUNT; i++)
            hits[i]++;
        check("set at run time");
    }
#pragma omp parallel for schedule(dynamic, 3) num_threads(4)
    for (int i = COUNT - 1; i >= 0; i--)
        hits[i]++;
    check("downwards");
#pragma omp parallel for schedule(guided) num_threads(4)
    for (unsigned long long i = 0; i < COUNT; i++)
        hits[i]++;
    check("unsigned");
#pragma omp parallel for schedule(dynamic, 4) num_threads(4)
    for (unsigned long long i = ULLONG_MAX; i > ULLONG_MAX - COUNT; i--)
        hits[ULLONG_MAX - i]++;
    check("unsigned, downwards from the end");
#pragma omp parallel for schedule(dynamic, 1000000000000) num_threads(4)
    for (long i = LONG_MAX - 3 * COUNT; i < LONG_MAX - 2; i += 3)
        hits[(i - (LONG_MAX - 3 * COUNT)) / 3]++;
    check("by threes, near the end");
#pragma omp parallel for collapse(2) schedule(dynamic, 2) num_threads(4)
    for (int i = 0; i < 17; i++)
        for (int j = 0; j < 59; j++)
            hits[i * 59 + j]++;
    check("collapse");
}

static void empty(void)
{
    int ran = 0;
    volatile int none = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < none; i++)
            ran++;
#pragma omp for schedule(guided) ordered
        for (int i = 5; i < none; i++)
            ran++;
#pragma omp for schedule(static, 3) nowait
        for (int i = 0; i > none; i--)
            ran++;
    }
    printf("empty: %d\n", ran);
}

static void ordered(void)
{
#pragma omp parallel for ordered schedule(dynamic) num_threads(4)
    for (int i = 0; i < 20; i++) {
#pragma omp ordered
        printf("%d ", i);
    }
#pragma omp parallel for ordered schedule(static) num_threads(4)
    for (int i = 0; i < 20; i++) {
        if (i % 3 == 0) {
#pragma omp ordered
            printf("%d ", i);
        }
    }
#pragma omp parallel for ordered schedule(runtime) num_threads(3)
    for (unsigned long long i = 0; i < 10; i++) {
#pragma omp ordered
        printf("%llu ", i);
    }
    printf("\n");
}

static void values(void)
{
    int last = -1, first = 5, sum = 0, product = 1, least = INT_MAX;
    double all = 0;
#pragma omp parallel for lastprivate(last) firstprivate(first) schedule(dynamic, 3) \
    reduction(+ : sum, all) reduction(* : product) reduction(min : least) num_threads(4)
    for (int i = 0; i < 100; i++) {
        last = i + first;
        sum += i;
        all += 0.5;
        if (i % 33 == 1)
            product *= 2;
        if (100 - i < least)
            least = 100 - i;
    }
    printf("values: %d %d %g %d %d\n", last, sum, all, product, least);
#if __GNUC__ >= 10
    int lastly = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp for lastprivate(conditional : lastly) schedule(dynamic)
        for (int i = 0; i < 100; i++)
            if (i % 7 == 3)
                lastly = i;
#pragma omp sections lastprivate(conditional : last)
        {
            last = 3;
#pragma omp section
            last = 4;
        }
    }
    printf("conditional: %d %d\n", lastly, last);
#endif
}

static void scan(void)
{
#if __GNUC__ >= 10
    int in[100], out[100], sum = 0;
    for (int i = 0; i < 100; i++)
        in[i] = i;
#pragma omp parallel for reduction(inscan, + : sum) num_threads(3)
    for (int i = 0; i < 100; i++) {
        sum += in[i];
#pragma omp scan inclusive(sum)
        out[i] = sum;
    }
    printf("scan: %d %d %d\n", out[1], out[50], sum);
#endif
}

/* Threads that are many constructs ahead of others. */
static void ahead(void)
{
    int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    for (int turn = 0; turn < 500; turn++) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 3; i++)
            sum += i;
#pragma omp single nowait
        sum++;
    }
    printf("ahead: %d\n", sum);
}

static void doacross(void)
{
    static int grid[40][30];
    for (int turn = 0; turn < 3; turn++) {
#pragma omp parallel num_threads(4)
        {
#pragma omp for ordered(2) schedule(dynamic)
            for (int i = 1; i < 40; i++)
                for (int j = 1; j < 30; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                    grid[i][j] = 1 + (grid[i - 1][j] + grid[i][j - 1]) % 1000;
#pragma omp ordered depend(source)
                }
#pragma omp for ordered(1) schedule(static, 2)
            for (int i = 2; i < 40; i++) {
#pragma omp ordered depend(sink : i - 2)
                grid[i][0] = grid[i - 2][0] + 1;
#pragma omp ordered depend(source)
            }
        }
    }
    printf("doacross: %d %d %d\n", grid[39][29], grid[20][11], grid[39][0]);
}

int main(void)
{
    schedules();
    empty();
    ordered();
    values();
    scan();
    ahead();
    doacross();
    return 0;
}
