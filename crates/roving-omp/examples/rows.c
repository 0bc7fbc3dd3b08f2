/* The rows of `docs/results/openmp.csv`: one a run, whose name and number of threads are given.
   Prints one number: nanoseconds of one operation, milliseconds of a program, a count. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int threads;

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

static void sort(int *at, int *other, int count)
{
    if (count < 64) {
        for (int i = 1; i < count; i++) {
            int x = at[i], j = i;
            for (; j > 0 && at[j - 1] > x; j--)
                at[j] = at[j - 1];
            at[j] = x;
        }
        return;
    }
    int half = count / 2;
#pragma omp task
    sort(at, other, half);
#pragma omp task
    sort(at + half, other + half, count - half);
#pragma omp taskwait
    for (int i = 0, a = 0, b = half; i < count; i++)
        other[i] = a < half && (b == count || at[a] <= at[b]) ? at[a++] : at[b++];
    memcpy(at, other, count * sizeof *at);
}

/* Blocks of a matrix, each after those that it needs. */
enum { BLOCKS = 24, SIDE = 24 };
static double blocks[BLOCKS][BLOCKS][SIDE][SIDE];

static void update(double (*c)[SIDE], double (*a)[SIDE], double (*b)[SIDE])
{
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++)
                c[i][j] -= a[i][k] * b[k][j] * 1e-6;
}

static void blocked(void)
{
    for (int k = 0; k < BLOCKS; k++) {
#pragma omp task depend(inout : blocks[k][k])
        update(blocks[k][k], blocks[k][k], blocks[k][k]);
        for (int i = k + 1; i < BLOCKS; i++) {
#pragma omp task depend(in : blocks[k][k]) depend(inout : blocks[k][i])
            update(blocks[k][i], blocks[k][k], blocks[k][i]);
#pragma omp task depend(in : blocks[k][k]) depend(inout : blocks[i][k])
            update(blocks[i][k], blocks[i][k], blocks[k][k]);
        }
        for (int i = k + 1; i < BLOCKS; i++)
            for (int j = k + 1; j < BLOCKS; j++) {
#pragma omp task depend(in : blocks[i][k], blocks[k][j]) depend(inout : blocks[i][j])
                update(blocks[i][j], blocks[i][k], blocks[k][j]);
            }
    }
}

static volatile int sink;

static double ns(int count, double began)
{
    return 1e9 * (omp_get_wtime() - began) / count;
}

static double ms(double began)
{
    return 1e3 * (omp_get_wtime() - began);
}

/* Threads that the process has. */
static int alive(void)
{
    char line[256];
    int count = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "Threads: %d", &count);
    if (file)
        fclose(file);
    return count;
}

static double used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec * 1e3 + usage.ru_utime.tv_usec * 1e-3 + usage.ru_stime.tv_sec * 1e3 +
           usage.ru_stime.tv_usec * 1e-3;
}

/* Into a word of its own: threads that write one word wait for its cache line. */
static void work(int turns)
{
    volatile int own;
    for (int i = 0; i < turns; i++)
        own = i;
}

static double nested(void)
{
    for (int turn = 0; turn < 20; turn++) {
#pragma omp parallel num_threads(8)
#pragma omp parallel for num_threads(8) schedule(dynamic)
        for (int i = 0; i < 64; i++)
            work(1000);
    }
    return 0;
}

static double row(const char *name)
{
    double began = omp_get_wtime();
    int n = 0;
    if (!strcmp(name, "fib")) {
#pragma omp parallel
#pragma omp single
        sink = fib(32);
        return ms(began);
    }
    if (!strcmp(name, "queens")) {
#pragma omp parallel
#pragma omp single
        sink = queens((1u << 12) - 1, 0, 0, 0);
        return ms(began);
    }
    if (!strcmp(name, "sort")) {
        int count = 2000000, *at = malloc(count * sizeof *at), *other = malloc(count * sizeof *at);
        for (int i = 0; i < count; i++)
            at[i] = (int)(i * 2654435761u >> 3);
        began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
        sort(at, other, count);
        return ms(began);
    }
    if (!strcmp(name, "blocks")) {
#pragma omp parallel
#pragma omp single
        blocked();
        return ms(began);
    }
    if (!strcmp(name, "region")) {
        for (n = 0; n < 20000; n++) {
#pragma omp parallel
            sink = 1;
        }
        return ns(n, began);
    }
    if (!strcmp(name, "barrier")) {
#pragma omp parallel
        for (int i = 0; i < 100000; i++) {
#pragma omp barrier
        }
        return ns(100000, began);
    }
    if (!strcmp(name, "static")) {
#pragma omp parallel
        for (int i = 0; i < 20000; i++) {
#pragma omp for schedule(static)
            for (int j = 0; j < 50; j++)
                sink = j;
        }
        return ns(20000, began);
    }
    if (!strcmp(name, "dynamic")) {
#pragma omp parallel for schedule(dynamic, 1)
        for (int j = 0; j < 1000000; j++)
            sink = j;
        return ns(1000000, began);
    }
    if (!strcmp(name, "guided")) {
#pragma omp parallel for schedule(guided)
        for (int j = 0; j < 10000000; j++)
            sink = j;
        return ns(10000000, began);
    }
    if (!strcmp(name, "critical")) {
#pragma omp parallel
        for (int i = 0; i < 200000; i++) {
#pragma omp critical
            n++;
        }
        return ns(n, began);
    }
    if (!strcmp(name, "reduction")) {
        int sum = 0;
        for (n = 0; n < 20000; n++) {
#pragma omp parallel reduction(+ : sum)
            sum += 1;
        }
        return ns(n, began);
    }
    if (!strcmp(name, "nested"))
        return nested(), ms(began);
    if (!strcmp(name, "nested threads"))
        return nested(), alive();
    if (!strcmp(name, "crowded")) {
#pragma omp parallel
        for (int i = 0; i < 200; i++) {
#pragma omp for schedule(dynamic)
            for (int j = 0; j < 64; j++)
                work(2000);
        }
        return ms(began);
    }
    if (!strcmp(name, "idle")) {
#pragma omp parallel
        sink = 1;
        double before = used();
        usleep(100000);
        return used() - before;
    }
    fprintf(stderr, "no row %s\n", name);
    exit(1);
}

int main(int count, char **words)
{
    threads = count > 2 ? atoi(words[2]) : 1;
    omp_set_num_threads(threads);
    if (!strncmp(words[1], "nested", 6))
        omp_set_max_active_levels(2);
#pragma omp parallel
    sink = 0;
    printf("%.6g\n", row(words[1]));
    return 0;
}
