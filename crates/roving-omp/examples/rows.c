/* The rows of `docs/results/openmp.csv`: one a run, whose name and number of threads are given.
   Prints one number: nanoseconds of one operation, milliseconds of a program, a count. Programs that
   do nothing but tasks are in tasks.c. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Milliseconds of a program of tasks, or less than nothing if there is none of that name. */
double tasks(const char *name);

static int threads;

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
    double program = tasks(name);
    if (program < 0) {
        fprintf(stderr, "no row %s\n", name);
        exit(1);
    }
    return program;
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
