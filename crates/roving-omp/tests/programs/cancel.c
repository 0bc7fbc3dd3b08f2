/* `cancel for` in loops that a compiler divides among the threads by itself: no call begins them.
   Other constructs have been before, of which nothing is to be cancelled. Then `cancel parallel`:
   who has not heard of it yet does the whole of what comes. And `cancel taskgroup`, where a loop
   that reduces is in the group. */
#include "fenced.h"
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 20, PATIENCE = 20000 };

static int done;
/* A loop is asked whether it is cancelled only if it has a `cancel`: a compiler leaves out the
   cancellation points of all others. */
static volatile int never;

static void tell(int *flag)
{
#pragma omp atomic write
    *flag = 1;
}

static int is_told(int *flag)
{
    int seen;
#pragma omp atomic read
    seen = *flag;
    return seen;
}

static void wait_for(int *flag)
{
    while (!is_told(flag))
        usleep(100);
}

static int in_region(int threads)
{
    int begun = 0;
#pragma omp parallel num_threads(threads) reduction(+ : begun)
#pragma omp for
    for (int i = 0; i < 100; i++) {
        begun++;
        if (i == 10) {
#pragma omp cancel for
        }
#pragma omp cancellation point for
    }
    return begun > 0 && begun < 100;
}

static int with_region(int threads)
{
    int begun = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : begun)
    for (int i = 0; i < 100; i++) {
        begun++;
#pragma omp cancel for if (i == 10)
    }
    return begun > 0 && begun < 100;
}

/* The other thread is told. */
static int seen(void)
{
    int left = 0;
#pragma omp parallel num_threads(2)
#pragma omp for schedule(static, 1)
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
#pragma omp cancel for
        }
        for (int turn = 0; turn < PATIENCE; turn++) {
            usleep(1000);
#pragma omp cancellation point for
        }
        left++;
    }
    return left == 0;
}

/* A loop with calls before it and one after it: of those, all iterations are run. */
static int between(int threads)
{
    int before = 0, after = 0;
#pragma omp parallel num_threads(threads) reduction(+ : before, after)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 4; i++)
            before++;
#pragma omp for
        for (int i = 0; i < 100; i++) {
            if (i == 10) {
#pragma omp cancel for
            }
        }
        /* So many that the same place comes again. */
        for (int turn = 0; turn < 7; turn++) {
#pragma omp single
            before++;
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
            after++;
#pragma omp cancel for if (never)
        }
    }
    return before == 11 && after == 100;
}

/* A loop is cancelled, with calls or without, and then none of those that follow. */
static int next(int threads, int calls)
{
    int after = 0;
#pragma omp parallel num_threads(threads) reduction(+ : after)
    {
        if (calls) {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 4; i++) {
                if (i == 1) {
#pragma omp cancel for
                }
            }
        } else {
#pragma omp for
            for (int i = 0; i < 4; i++) {
                if (i == 1) {
#pragma omp cancel for
                }
            }
        }
#pragma omp for
        for (int i = 0; i < 100; i++) {
            after++;
#pragma omp cancel for if (never)
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
            after++;
#pragma omp cancel for if (never)
        }
    }
    /* The last loop of a region is cancelled, and not the first of the next one. */
    with_region(threads);
#pragma omp parallel for num_threads(threads) reduction(+ : after)
    for (int i = 0; i < 100; i++) {
        after++;
#pragma omp cancel for if (never)
    }
    return after == 300;
}

/* The construct in which the second thread was last had no place, and is gone when the first has
   come as far. */
static int ahead(void)
{
    int sum = 0;
    done = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        if (omp_get_thread_num() == 0 && omp_get_num_threads() > 1)
            wait_for(&done);
        for (int i = 0; i < 8; i++) {
#pragma omp single nowait
            sum++;
        }
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 4; i++)
            sum++;
        for (int i = 0; i < 12; i++) {
#pragma omp single nowait
            sum++;
        }
        if (omp_get_thread_num() == omp_get_num_threads() - 1)
            tell(&done);
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < 100; i++) {
            if (i % 50 == 10) {
#pragma omp cancel for
            }
        }
    }
    return sum == 24;
}

/* A task cancels the group that a loop is in which reduces: each thread has such a group. */
static int through_loop(int threads)
{
    int sum = 0, others = 0;
#pragma omp parallel num_threads(threads) reduction(+ : others)
#pragma omp taskgroup
    {
        others = -(omp_get_thread_num() == 0 ? omp_get_num_threads() - 1 : 0);
#pragma omp for reduction(task, + : sum)
        for (int i = 0; i < 1; i++) {
#pragma omp task in_reduction(+ : sum)
            {
                sum++;
#pragma omp cancel taskgroup
            }
        }
#pragma omp task shared(others)
        others++;
    }
    return sum == 1 && others == 0;
}

/* The other way round. */
static int into_loop(int threads)
{
    int sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp taskgroup
    {
#pragma omp task
        {
#pragma omp cancel taskgroup
        }
#pragma omp taskwait
#pragma omp for reduction(task, + : sum)
        for (int i = 0; i < 9; i++) {
#pragma omp task in_reduction(+ : sum)
            sum++;
        }
    }
    return sum == 0;
}

/* One thread leaves the region, and the other does all that it comes to, which is more than there
   are places of constructs. */
static int left_alone(void)
{
    int singles = 0, iterations = 0, parts = 0;
    done = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() < omp_get_num_threads() - 1) {
            tell(&done);
#pragma omp cancel parallel
        }
        if (omp_get_num_threads() > 1)
            wait_for(&done);
        usleep(1000);
        for (int turn = 0; turn < 20; turn++) {
#pragma omp single nowait
            singles++;
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 5; i++)
                iterations++;
#pragma omp sections nowait
            {
                parts++;
#pragma omp section
                parts++;
            }
        }
    }
    return singles == 20 && iterations == 100 && parts == 40;
}

/* The first thread has done its part of an ordered loop, and leaves the region. The last one waits
   there for the turn of the second, which was behind, so that the loop has no place. */
static int left_behind(void)
{
    int sum = 0;
    done = 0;
#pragma omp parallel num_threads(3)
    {
        int num = omp_get_thread_num();
        if (num == 1)
            wait_for(&done);
        for (int turn = 0; turn < 12; turn++) {
#pragma omp single nowait
#pragma omp atomic
            sum++;
        }
#pragma omp for ordered schedule(static) nowait
        for (int i = 0; i < 6; i++) {
#pragma omp ordered
#pragma omp atomic
            sum++;
        }
        if (num == 0) {
            tell(&done);
#pragma omp cancel parallel
        }
        usleep(1000);
    }
    return sum == 18;
}

/* As a compiler passes what is false: of the register only the lowest byte is said. */
extern _Bool cancel_if(int what, unsigned long does) __asm__("GOMP_cancel");
extern _Bool start(unsigned long up, unsigned long first, unsigned long end, unsigned long step,
                   unsigned long chunk, unsigned long *from, unsigned long *to)
    __asm__("GOMP_loop_ull_dynamic_start");
extern void end_nowait(void) __asm__("GOMP_loop_end_nowait");

static int in_a_byte(void)
{
    unsigned long no = 0x7fffff00, from = 0, to = 0;
    int went = 0, begun = 0;
#pragma omp parallel num_threads(1)
    {
        begun = start(no, 9, 0, -1UL, 2, &from, &to);
        end_nowait();
        went = cancel_if(1, no);
    }
    return !went && begun && from == 9 && to == 7;
}

static void say(const char *name, int is_right)
{
    printf("%s: %s\n", name, is_right ? "right" : "wrong");
}

int main(void)
{
    int rights[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int round = 0; round < ROUNDS; round++) {
        int threads = 1 + round % 3;
        rights[0] &= in_region(threads);
        rights[1] &= with_region(threads);
        rights[2] &= between(threads);
        rights[3] &= next(threads, round % 2);
        rights[4] &= seen();
        rights[5] &= left_alone();
        rights[6] &= left_behind();
        rights[7] &= through_loop(threads);
        rights[8] &= into_loop(threads);
    }
    say("in a region", rights[0]);
    say("with the region", rights[1]);
    say("between others", rights[2]);
    say("before others", rights[3]);
    say("seen", rights[4]);
    say("left alone", rights[5]);
    say("left behind", rights[6]);
    say("through a loop", rights[7]);
    say("into a loop", rights[8]);
    say("in a byte", in_a_byte());
    fflush(stdout);
    say("ahead", ahead());
    return 0;
}
