/* A task with `detach` in a final task, whose event a thread outside of the team brings. That
   thread goes step by step and gives its core away again and again, so that the final task has
   mostly ended before it is done. */
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TURNS 6
/* So many steps between two times that the core is given away: fewer take longer. */
#define STEPS 16

static omp_event_handle_t told, *at;
static int brought;

static void step(int number)
{
    static int steps;
    (void)number;
    if (++steps % STEPS == 0)
        sched_yield();
}

/* From now on, or no longer, the processor stops after each instruction, if it is one that can. */
static void stop_after_each(int stops)
{
#ifdef __x86_64__
    if (stops)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory");
#else
    (void)stops;
#endif
}

static void *bring(void *none)
{
    for (int turn = 0; turn < TURNS; turn++) {
        omp_event_handle_t *seen;
        do {
#pragma omp atomic read
            seen = at;
            sched_yield();
        } while (!seen);
#pragma omp atomic write
        at = NULL;
        stop_after_each(1);
        omp_fulfill_event(told);
        stop_after_each(0);
#pragma omp atomic
        brought++;
    }
    return none;
}

/* Writes to where frames were that have been left. */
__attribute__((noinline)) static void scribble(void)
{
    char bytes[8192];
    memset(bytes, 0x5a, sizeof bytes);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

static void turns(int from, int to)
{
    for (int turn = from; turn < to; turn++) {
#pragma omp task final(1)
        {
            omp_event_handle_t event;
#pragma omp task detach(event)
            {
                told = event;
#pragma omp atomic write
                at = &told;
            }
        }
        /* It stays written over until the other thread is done: another final task would put there
           what has been there. */
        scribble();
        int seen;
        do {
#pragma omp atomic read
            seen = brought;
            sched_yield();
        } while (seen <= turn);
    }
}

int main(void)
{
    pthread_t thread;
    alarm(300);
    signal(SIGTRAP, step);
    pthread_create(&thread, NULL, bring, NULL);
    turns(0, TURNS / 2);
#pragma omp parallel num_threads(2)
#pragma omp single
    turns(TURNS / 2, TURNS);
    pthread_join(thread, NULL);
    printf("%d turns\n", TURNS);
    return 0;
}
