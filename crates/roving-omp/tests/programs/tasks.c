/* Explicit tasks: trees, clauses, groups, loops of tasks, large data. */
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
#pragma omp task shared(b) if (n > 5) untied mergeable
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long queens(int n, int row, const char *placed)
{
    if (row == n)
        return 1;
    long sum = 0;
    for (int column = 0; column < n; column++) {
        int good = 1;
        for (int other = 0; other < row; other++)
            good &= placed[other] != column && abs(placed[other] - column) != row - other;
        if (!good)
            continue;
#pragma omp task shared(sum) firstprivate(column) final(row > 4)
        {
            char mine[16];
            for (int other = 0; other < row; other++)
                mine[other] = placed[other];
            mine[row] = column;
            long found = queens(n, row + 1, mine);
#pragma omp atomic
            sum += found;
        }
    }
#pragma omp taskwait
    return sum;
}

struct list {
    struct list *next;
    int value;
};

static void lists(void)
{
    struct list nodes[200];
    int sum = 0;
    for (int i = 0; i < 200; i++)
        nodes[i] = (struct list){i < 199 ? &nodes[i + 1] : NULL, i};
#pragma omp parallel num_threads(4)
#pragma omp single
    for (struct list *node = nodes; node; node = node->next) {
#pragma omp task firstprivate(node)
        {
#pragma omp atomic
            sum += node->value;
        }
    }
    printf("list: %d\n", sum);
}

static void groups(void)
{
    int before = 0, inside = 0, deep = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task shared(before)
        before = 1;
#pragma omp taskgroup
        {
            for (int i = 0; i < 10; i++) {
#pragma omp task shared(inside, deep)
                {
#pragma omp task shared(deep)
                    {
#pragma omp atomic
                        deep++;
                    }
#pragma omp atomic
                    inside++;
                }
            }
#pragma omp taskwait
#pragma omp task shared(inside)
            {
#pragma omp atomic
                inside++;
            }
        }
        printf("group: %d %d\n", inside, deep);
#pragma omp taskwait
        printf("before: %d\n", before);
    }
}

struct large {
    double values[40];
};

static void large_data(void)
{
    double sum = 0;
    struct large data;
    for (int i = 0; i < 40; i++)
        data.values[i] = i;
#pragma omp parallel num_threads(3)
#pragma omp master
    for (int turn = 0; turn < 50; turn++) {
        data.values[0] = turn;
#pragma omp task firstprivate(data) shared(sum)
        {
            double part = 0;
            for (int i = 0; i < 40; i++)
                part += data.values[i];
#pragma omp atomic
            sum += part;
        }
    }
    printf("large: %g\n", sum);
}

static void loops(void)
{
    int hits[100] = {0}, wrong = 0, sum = 0;
    volatile int none = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop grainsize(7)
        for (int i = 0; i < 100; i++)
            hits[i]++;
#pragma omp taskloop num_tasks(9)
        for (int i = 99; i >= 0; i--)
            hits[i]++;
#pragma omp taskloop nogroup if (0)
        for (unsigned long long i = 0; i < 100; i += 2)
            hits[i]++;
#pragma omp taskloop reduction(+ : sum) grainsize(3)
        for (int i = 0; i < 100; i++)
            sum += i;
#pragma omp taskloop reduction(+ : sum)
        for (int i = 0; i < none; i++)
            sum += 1000000;
    }
    for (int i = 0; i < 100; i++)
        wrong += hits[i] != 3 - i % 2;
    printf("taskloop: %d wrong, %d\n", wrong, sum);
}

static void inside(void)
{
    int final = 0, explicit = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task final(1) shared(final)
        {
            final += omp_in_final();
#pragma omp task shared(final)
            final += omp_in_final();
        }
#pragma omp task if (0) shared(explicit)
        explicit = !omp_in_final();
#pragma omp taskyield
#pragma omp taskwait
    }
    printf("final: %d %d\n", final, explicit);
}

static void many(void)
{
    int done = 0;
#pragma omp parallel num_threads(4)
#pragma omp for
    for (int i = 0; i < 50000; i++) {
#pragma omp task shared(done)
        {
#pragma omp atomic
            done++;
        }
    }
    printf("many: %d\n", done);
}

int main(void)
{
    long result = 0;
    for (int threads = 1; threads <= 4; threads++) {
#pragma omp parallel num_threads(threads)
#pragma omp single
        result = fib(18);
        printf("fib: %ld\n", result);
    }
    char placed[16];
#pragma omp parallel num_threads(4)
#pragma omp single
    result = queens(8, 0, placed);
    printf("queens: %ld\n", result);
    lists();
    groups();
    large_data();
    loops();
    inside();
    many();
    printf("outside: %ld\n", fib(10));
    return 0;
}
