/* A thread has spawned more tasks than it shows, and comes to a wait that ends when the newest but
   three of them has run. It does not run it itself there, and another thread, which is at a barrier,
   can. The argument says where it waits. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int done, held;

/* Compilers leave out a task that is empty. */
static __attribute__((noinline)) void nothing(void)
{
    __asm__ volatile("");
}

static void spawn(void)
{
    for (int i = 0; i < 150; i++) {
#pragma omp task
        nothing();
    }
#pragma omp task
    {
#pragma omp atomic write
        done = 1;
    }
    for (int i = 0; i < 3; i++) {
#pragma omp task
        nothing();
    }
}

static void wait_for(int *flag)
{
    int seen;
    do {
        usleep(1000);
#pragma omp atomic read
        seen = *flag;
    } while (!seen);
}

/* The third thread comes to the barrier when the second waits. */
static void ordered(void)
{
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 2)
            usleep(100000);
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            if (i == 0)
                wait_for(&done);
            else
                spawn();
#pragma omp ordered
            nothing();
        }
    }
}

/* The turn is waited for at the end of the iteration. */
static void turn(void)
{
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 2)
            usleep(100000);
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            if (i == 0)
                wait_for(&done);
            else
                spawn();
            if (i == 2) {
#pragma omp ordered
                nothing();
            }
        }
    }
}

static void sink(void)
{
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 2)
            usleep(100000);
#pragma omp for ordered(1) schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            if (i == 0)
                wait_for(&done);
            else
                spawn();
#pragma omp ordered depend(sink : i - 1)
            nothing();
#pragma omp ordered depend(source)
        }
    }
}

static void tell_held(void)
{
#pragma omp atomic write
    held = 1;
}

/* Who has the lock first keeps it until the second thread's tasks have run. */
static void hold(int first)
{
    if (first) {
        tell_held();
        wait_for(&done);
    }
}

/* The first thread has a lock, for which the second waits. */
static void locked(void (*with_lock)(int first))
{
#pragma omp parallel num_threads(3)
    switch (omp_get_thread_num()) {
    case 0:
        with_lock(1);
        break;
    case 1:
        wait_for(&held);
        spawn();
        with_lock(0);
        break;
    default:
        wait_for(&held);
        usleep(100000);
    }
}

static void with_critical(int first)
{
#pragma omp critical
    hold(first);
}

static void with_named(int first)
{
#pragma omp critical(name)
    hold(first);
}

static omp_lock_t lock;

static void with_lock(int first)
{
    omp_set_lock(&lock);
    hold(first);
    omp_unset_lock(&lock);
}

static omp_nest_lock_t nest_lock;

static void with_nest_lock(int first)
{
    omp_set_nest_lock(&nest_lock);
    hold(first);
    omp_unset_nest_lock(&nest_lock);
}

/* They are tried again and again. */
static void with_tested_lock(int first)
{
    while (!omp_test_lock(&lock))
        usleep(100);
    hold(first);
    omp_unset_lock(&lock);
}

static void with_tested_nest_lock(int first)
{
    while (!omp_test_nest_lock(&nest_lock))
        usleep(100);
    hold(first);
    omp_unset_nest_lock(&nest_lock);
}

/* Barriers: the thread runs its tasks there itself. */
static void group(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp taskgroup
        {
            wait_for(&done);
#pragma omp barrier
        }
    } else {
#pragma omp taskgroup
        {
            spawn();
#pragma omp barrier
        }
    }
}

static void copied(void)
{
    int value = 0;
#pragma omp parallel num_threads(2) firstprivate(value)
    {
        if (omp_get_thread_num() == 1) {
            wait_for(&held);
            spawn();
        }
#pragma omp single copyprivate(value)
        {
            tell_held();
            wait_for(&done);
            value = 5;
        }
        if (value != 5)
            printf("%d\n", value);
    }
}

int main(int argc, char **argv)
{
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 0:
        ordered();
        break;
    case 1:
        turn();
        break;
    case 2:
        sink();
        break;
    case 3:
        locked(with_critical);
        break;
    case 4:
        locked(with_named);
        break;
    case 5:
        locked(with_lock);
        break;
    case 6:
        locked(with_nest_lock);
        break;
    case 7:
        locked(with_tested_lock);
        break;
    case 8:
        locked(with_tested_nest_lock);
        break;
    case 9:
        group();
        break;
    case 10:
        copied();
        break;
    }
    printf("it has ended\n");
    return 0;
}
