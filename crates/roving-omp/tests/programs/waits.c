/* Waits whose end an event brings that a task fulfills which the waiting thread has spawned, or an
   event has freed. The argument says which. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Compilers leave out a task that is empty, with its event. */
static __attribute__((noinline)) void nothing(void)
{
    __asm__ volatile("");
}

/* A group waits for an event. What fulfills it is held by a task that stands below the group on
   the stack of the thread that waits, with so many others that it is hidden. */
static void hidden(void)
{
    omp_event_handle_t first, event;
    int place;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        usleep(200000);
        usleep(20000);
        for (int i = 0; i < 150; i++) {
#pragma omp task
            nothing();
        }
#pragma omp task detach(first) depend(out : place)
        nothing();
#pragma omp task depend(in : place) shared(event)
        omp_fulfill_event(event);
        for (int i = 0; i < 3; i++) {
#pragma omp task
            nothing();
        }
#pragma omp taskgroup
        {
#pragma omp task detach(event)
            nothing();
            omp_fulfill_event(first);
        }
    }
}

/* The same, and the other thread waits itself, where it may run none of these tasks. */
static void own(void)
{
    omp_event_handle_t event, other;
    int begun = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task shared(begun, other)
        {
#pragma omp task detach(other)
            nothing();
#pragma omp atomic write
            begun = 1;
#pragma omp taskwait
        }
        int seen;
        do {
#pragma omp atomic read
            seen = begun;
        } while (!seen);
        usleep(20000);
#pragma omp task shared(event, other)
        {
            omp_fulfill_event(event);
            omp_fulfill_event(other);
        }
#pragma omp taskgroup
        {
#pragma omp task detach(event)
            nothing();
        }
    }
}

/* A task is run at once, and its event comes from one that was spawned before it. */
static void at_once(void)
{
    omp_event_handle_t first, event;
    int place;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        usleep(200000);
        usleep(20000);
        for (int i = 0; i < 150; i++) {
#pragma omp task
            nothing();
        }
#pragma omp task detach(first) depend(out : place)
        nothing();
#pragma omp task depend(in : place) shared(event)
        omp_fulfill_event(event);
        omp_fulfill_event(first);
#pragma omp task detach(event) if (0)
        nothing();
    }
}

/* A thread waits for a task that the other has, and that waits for an event. What fulfills it is
   freed meanwhile: a child of the task that the first thread is in. */
static void freed(int taskwait)
{
    omp_event_handle_t first, event;
    int place;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task detach(first) depend(out : place)
        nothing();
#pragma omp task depend(in : place) shared(event)
        omp_fulfill_event(event);
        usleep(20000);
#pragma omp task shared(event, first)
        {
#pragma omp task detach(event)
            nothing();
            usleep(20000);
            omp_fulfill_event(first);
#pragma omp taskwait
        }
        usleep(20000);
        if (taskwait) {
#pragma omp taskwait
        }
    }
}

/* The same inside of a task, whose thread must not take what belongs to another one. */
static void freed_inside(void)
{
    omp_event_handle_t later;
    int inside = 0, wrong = 0, outer;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task detach(later) depend(out : outer)
        nothing();
#pragma omp task depend(in : outer) shared(inside, wrong)
        {
            int seen;
#pragma omp atomic read
            seen = inside;
            wrong += seen == omp_get_thread_num() + 1;
        }
#pragma omp task shared(inside, later)
        {
            omp_event_handle_t first, event;
            int place;
#pragma omp atomic write
            inside = omp_get_thread_num() + 1;
#pragma omp task detach(first) depend(out : place)
            nothing();
#pragma omp task depend(in : place) shared(event)
            omp_fulfill_event(event);
            usleep(20000);
#pragma omp task shared(event, first, later)
            {
#pragma omp task detach(event)
                nothing();
                omp_fulfill_event(later);
                usleep(20000);
                omp_fulfill_event(first);
#pragma omp taskwait
            }
            usleep(20000);
#pragma omp taskwait
#pragma omp atomic write
            inside = 0;
        }
#pragma omp taskwait
    }
    printf("%d wrong\n", wrong);
}

int main(int argc, char **argv)
{
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 0:
        hidden();
        break;
    case 1:
        own();
        break;
    case 2:
        at_once();
        break;
    case 3:
        freed(0);
        break;
    case 4:
        freed(1);
        break;
    case 5:
        freed_inside();
        break;
    }
    printf("it has ended\n");
    return 0;
}
