/* Tasks that depend on each other; events; reductions of tasks; cancellation. */
#include <omp.h>
#include <stdio.h>

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
}

static void events(void)
{
    int after = 0, first = 0;
    for (int turn = 0; turn < 50; turn++) {
#pragma omp parallel num_threads(3)
#pragma omp single
        {
            omp_event_handle_t event;
            int place = 0;
#pragma omp task detach(event) depend(out : place) shared(first)
            {
#pragma omp atomic
                first++;
            }
#pragma omp task depend(in : place) shared(after)
            {
#pragma omp atomic
                after++;
            }
#pragma omp task firstprivate(event)
            omp_fulfill_event(event);
#pragma omp taskwait
        }
    }
    printf("events: %d %d\n", first, after);
}

static void own_event(void)
{
    int done = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(done)
        {
            done = 1;
            omp_fulfill_event(event);
        }
#pragma omp taskwait
        done++;
    }
    printf("own event: %d\n", done);
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
#pragma omp scope reduction(task, + : parts)
        {
#pragma omp task in_reduction(+ : parts)
            parts += 1;
        }
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

int main(void)
{
    chains();
    wavefront();
    kinds();
    events();
    own_event();
    reductions();
    cancelled();
    return 0;
}
