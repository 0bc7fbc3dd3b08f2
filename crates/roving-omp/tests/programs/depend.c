/* Tasks that depend on each other; reductions of tasks; cancellation. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static void chains(void)
{
    int cells[8] = {0}, order = 0, wrong = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        for (int turn = 0; turn < 50; turn++)
            for (int i = 0; i < 8; i++) {
#pragma omp task depend(inout : cells[i]) shared(cells)
                cells[i] = cells[i] * 3 % 1001 + 1;
            }
        for (int turn = 0; turn < 20; turn++) {
#pragma omp task depend(out : order) shared(order)
            order++;
            for (int reader = 0; reader < 3; reader++) {
#pragma omp task depend(in : order) shared(order, wrong) firstprivate(turn)
                if (order != turn + 1) {
#pragma omp atomic
                    wrong++;
                }
            }
        }
    }
    printf("chains: %d %d, order %d, wrong %d\n", cells[0], cells[7], order, wrong);
}

/* A wavefront: each cell after that above and that on the left. */
static void wavefront(void)
{
    static int grid[21][21];
    for (int i = 0; i < 21; i++)
        grid[i][0] = grid[0][i] = 1;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 1; i < 21; i++)
        for (int j = 1; j < 21; j++) {
#pragma omp task depend(in : grid[i - 1][j], grid[i][j - 1]) depend(out : grid[i][j])
            grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 10007;
        }
    printf("wavefront: %d\n", grid[20][20]);
}

static void kinds(void)
{
    int sum = 0, mutex = 0, seen = 0, a = 0, b = 0;
    omp_depend_t object;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        for (int i = 0; i < 20; i++) {
#pragma omp task depend(mutexinoutset : mutex) shared(mutex)
            mutex += i;
        }
#pragma omp task depend(in : mutex) shared(mutex, sum)
        sum = mutex;
#pragma omp depobj(object) depend(inout : a)
#pragma omp task depend(out : a) shared(a)
        a = 5;
#pragma omp task depend(depobj : object) shared(a, b)
        b = a + 1;
#pragma omp task depend(in : a) shared(b, seen)
        seen = b;
#pragma omp taskwait depend(in : a)
        a += 0;
#pragma omp taskwait
#pragma omp depobj(object) destroy
#pragma omp task depend(out : b) shared(b)
        b = 10;
#pragma omp task depend(in : b) if (0) shared(b)
        b++;
    }
    printf("kinds: %d %d %d\n", sum, seen, b);
    int cells[20], late = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        for (int i = 0; i < 20; i++) {
#pragma omp task depend(out : cells[i]) shared(cells) priority(i)
            cells[i] = i;
        }
#pragma omp task depend(iterator(int i = 0 : 20), in : cells[i]) shared(cells, late)
        for (int i = 0; i < 20; i++)
            late += cells[i];
    }
    printf("iterator: %d\n", late);
}

static int tree(int depth)
{
    int sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 0; i < 4; i++) {
#pragma omp task in_reduction(+ : sum)
        sum += depth == 0 ? 1 : tree(depth - 1);
    }
    return sum;
}

static void reductions(void)
{
    int sum = 0, product = 1, all = 0, parts = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
        for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(* : product)
            {
                sum += i;
                if (i % 20 == 0)
                    product *= 3;
#pragma omp task in_reduction(+ : sum)
                sum += 1000;
            }
        }
        all = tree(4);
    }
    printf("reductions: %d %d %d\n", sum, product, all);
    sum = 0;
#pragma omp parallel num_threads(3) reduction(task, + : sum)
    {
#pragma omp task in_reduction(+ : sum)
        sum += 7;
    }
    printf("of a region: %d\n", sum);
#pragma omp parallel num_threads(3)
    {
#pragma omp for reduction(task, + : parts)
        for (int i = 0; i < 30; i++) {
#pragma omp task in_reduction(+ : parts)
            parts += i;
        }
#pragma omp for schedule(dynamic) reduction(task, + : parts)
        for (int i = 0; i < 30; i++) {
#pragma omp task in_reduction(+ : parts)
            parts += i;
        }
#pragma omp sections reduction(task, + : parts)
        {
#pragma omp section
            {
#pragma omp task in_reduction(+ : parts)
                parts += 100;
            }
#pragma omp section
            parts += 200;
        }
#if __GNUC__ >= 12
#pragma omp scope reduction(task, + : parts)
        {
#pragma omp task in_reduction(+ : parts)
            parts += 1;
        }
#endif
    }
    printf("of constructs: %d\n", parts);
}

/* With OMP_CANCELLATION: what is left out differs, that it ends does not. */
static void cancelled(void)
{
    int found = 0, after = 0, tasks = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 1000; i++) {
            if (i == 10) {
#pragma omp atomic
                found++;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
#pragma omp single
        {
#pragma omp taskgroup
            for (int i = 0; i < 100; i++) {
#pragma omp task shared(tasks)
                {
                    tasks = 1;
#pragma omp cancel taskgroup
                }
            }
        }
#pragma omp cancellation point parallel
        if (omp_get_thread_num() == 1) {
#pragma omp cancel parallel
        }
#pragma omp barrier
        if (omp_get_cancellation()) {
#pragma omp atomic
            after++;
        }
    }
    printf("cancelled: %d %d %d\n", found, tasks, after);
    int sections = 0;
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
#pragma omp atomic
            sections++;
#pragma omp cancel sections
        }
    }
    printf("sections: %d\n", sections);
}

/* Without a region, in a region of one thread, and in one such inside of another region: the
   tasks are the one thread's. */
static void alone(void)
{
    int x = 0, y = 0, z = 0, wrong = 0, sum = 0;
#pragma omp task depend(out : x) shared(x)
    x = 1;
#pragma omp taskgroup
    {
#pragma omp task depend(in : x) depend(out : y) shared(x, y)
        y = x + 1;
    }
#pragma omp taskwait
#pragma omp parallel num_threads(1)
    {
#pragma omp task depend(out : z) shared(z)
        z = 7;
#pragma omp task depend(inout : z) shared(z)
        z *= 3;
    }
    printf("alone: %d %d %d\n", x, y, z);
#pragma omp parallel num_threads(4) reduction(+ : wrong, sum)
    for (int turn = 0; turn < 50; turn++) {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(4)
        {
            int cell = 0, others = 0;
            for (int i = 0; i < 100; i++) {
#pragma omp task depend(inout : cell) shared(cell, others) firstprivate(outer)
                {
                    cell++;
                    others += omp_get_num_threads() != 1 || omp_get_thread_num() != 0;
                    others += omp_get_ancestor_thread_num(1) != outer;
                }
            }
#pragma omp taskwait
            wrong += others;
            sum += cell;
        }
    }
    printf("alone inside: %d %d\n", sum, wrong);
}

static void count(int *done)
{
#pragma omp atomic
    (*done)++;
}

/* With OMP_CANCELLATION: a thread goes through more constructs than there are places, which one
   that has left never comes to. */
static void cancelled_rows(void)
{
    int singles = 0;
    for (int turn = 0; turn < 20; turn++) {
        int firsts[20] = {0};
#pragma omp parallel num_threads(3)
        {
            if (omp_get_thread_num() == 1) {
#pragma omp cancel parallel
            }
            usleep(100);
            for (int i = 0; i < 20; i++) {
#pragma omp single nowait
                count(&firsts[i]);
#pragma omp for schedule(dynamic) nowait
                for (int j = 0; j < 5; j++)
                    count(&singles);
            }
#pragma omp barrier
        }
        for (int i = 0; i < 20; i++)
            if (firsts[i] > 1)
                printf("a single ran twice\n");
    }
    printf("cancelled rows: %d\n", singles > 0);
}

int main(void)
{
    alone();
    cancelled_rows();
    chains();
    wavefront();
    kinds();
    reductions();
    cancelled();
    return 0;
}
