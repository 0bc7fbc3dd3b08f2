/* A thread waits for some of the tasks that it has spawned. Two others wait for what it does after
   that: one that the other thread has begun, and one that nobody has. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEEP 20

static int read_of(int *flag)
{
    int seen;
#pragma omp atomic read
    seen = *flag;
    return seen;
}

static void set(int *flag)
{
#pragma omp atomic write
    *flag = 1;
}

static int begun, go, after, ended, steps, wrong;

/* Waits for what comes after the wait. */
static void later(void)
{
    set(&begun);
    while (!read_of(&after))
        usleep(100);
#pragma omp atomic
    ended++;
}

static void spawn_later(void)
{
#pragma omp task
    later();
    while (!read_of(&begun))
        usleep(100);
#pragma omp task
    later();
}

/* Each depends on the one before. */
static void spawn_chain(int *place)
{
    for (int i = 0; i < DEEP; i++) {
#pragma omp task depend(inout : *place) firstprivate(i)
        {
            wrong += steps != i;
            steps = i + 1;
        }
    }
}

static void wait(void)
{
    int place;
    spawn_chain(&place);
#pragma omp taskwait depend(in : place)
}

static void undeferred(void)
{
    int place;
    spawn_chain(&place);
#pragma omp task depend(in : place) if (0)
    wrong += steps != DEEP;
}

static void final_task(void)
{
    int place;
    spawn_chain(&place);
#pragma omp task depend(in : place) final(1)
    wrong += steps != DEEP;
}

/* The last one of the chain is in a group. */
static void group(void)
{
    int place, inner;
    spawn_chain(&place);
#pragma omp taskgroup
    {
#pragma omp task depend(in : place) depend(out : inner)
        wrong += steps != DEEP;
#pragma omp task depend(in : inner)
        steps++;
    }
    wrong += steps != DEEP + 1;
    steps = DEEP;
}

/* The same, in a group of its own. */
static void group_in_group(void)
{
#pragma omp taskgroup
    {
        int place;
        spawn_chain(&place);
#pragma omp taskgroup
#pragma omp task depend(in : place)
        wrong += steps != DEEP;
    }
}

/* Children of those that it waits for wait themselves. */
static void nested(void)
{
    int place, sum = 0;
#pragma omp task depend(out : place) shared(sum)
    {
        for (int i = 0; i < DEEP; i++) {
#pragma omp task shared(sum)
#pragma omp atomic
            sum++;
        }
#pragma omp taskwait
    }
#pragma omp taskwait depend(in : place)
    wrong += sum != DEEP;
    steps = DEEP;
}

/* What it waits for waits for an event, which another of its children brings. */
static void event(void)
{
    omp_event_handle_t event;
    int place;
#pragma omp task depend(out : place) detach(event)
    steps = DEEP;
#pragma omp task shared(event)
    omp_fulfill_event(event);
#pragma omp taskwait depend(in : place)
}

/* Compilers leave out a task that is empty, with its event. */
static __attribute__((noinline)) void nothing(void)
{
    __asm__ volatile("");
}

static int first_place, second_place;

/* The first event frees what brings the second one. */
static void spawn_events(void)
{
    omp_event_handle_t first, second;
#pragma omp task detach(first) depend(out : first_place)
    nothing();
#pragma omp task detach(second) depend(out : second_place)
    nothing();
#pragma omp task depend(in : first_place) firstprivate(second)
    {
        steps = DEEP;
        omp_fulfill_event(second);
    }
    omp_fulfill_event(first);
}

static void events(void)
{
    spawn_events();
#pragma omp taskwait depend(in : second_place)
}

static void events_undeferred(void)
{
    spawn_events();
#pragma omp task depend(in : second_place) if (0)
    wrong += steps != DEEP;
}

static void events_group(void)
{
    spawn_events();
#pragma omp taskgroup
    {
#pragma omp task depend(in : second_place)
        wrong += steps != DEEP;
    }
}

/* The other thread has begun what two tasks depend on, and ends that when this one is asleep. It
   goes on with the second of them, which waits for what comes after the wait for the first. */
static void left(void)
{
    int place, other;
#pragma omp task depend(out : place)
    {
        set(&begun);
        usleep(20000);
    }
#pragma omp task depend(in : place) depend(out : other)
    steps = DEEP;
#pragma omp task depend(in : place)
    later();
    while (!read_of(&begun))
        usleep(100);
#pragma omp taskwait depend(in : other)
}

/* The other thread is in a task that writes there, until it may go on. */
static void begin_elsewhere(int *place)
{
#pragma omp task depend(out : *place)
    {
        set(&begun);
        while (!read_of(&go))
            usleep(100);
    }
    while (!read_of(&begun))
        usleep(100);
}

/* The other thread runs the task of the group when this one comes to the group's end. */
static void group_elsewhere(void)
{
    int place;
    begin_elsewhere(&place);
#pragma omp task
    later();
#pragma omp taskgroup
    {
#pragma omp task depend(in : place)
        {
            usleep(20000);
            steps = DEEP;
        }
        set(&go);
        usleep(5000);
    }
}

/* The same, and it waits for an event, which a task brings that this thread has spawned. */
static void event_elsewhere(void)
{
    omp_event_handle_t event;
    int place, ready = 0;
    begin_elsewhere(&place);
#pragma omp task shared(event, ready)
    {
        while (!read_of(&ready))
            usleep(100);
        omp_fulfill_event(event);
    }
#pragma omp taskgroup
    {
#pragma omp task depend(in : place) shared(event, ready)
        {
            usleep(10000);
#pragma omp task detach(event)
            nothing();
            set(&ready);
#pragma omp taskwait
            steps = DEEP;
        }
        set(&go);
        usleep(5000);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
    int threads;
    /* Whether two tasks are spawned before, and how many wait for what comes after. */
    int spawns, waiting;
} all[] = {
    {"wait", wait, 2, 1, 2},
    {"undeferred", undeferred, 2, 1, 2},
    {"final", final_task, 2, 1, 2},
    {"group", group, 2, 1, 2},
    {"group in group", group_in_group, 2, 1, 2},
    {"nested", nested, 2, 1, 2},
    {"event", event, 2, 1, 2},
    {"events", events, 2, 1, 2},
    {"events alone", events, 1, 0, 0},
    {"events undeferred", events_undeferred, 2, 0, 0},
    {"events undeferred alone", events_undeferred, 1, 0, 0},
    {"events group", events_group, 2, 0, 0},
    {"events group alone", events_group, 1, 0, 0},
    {"left", left, 2, 0, 1},
    {"group elsewhere", group_elsewhere, 2, 0, 1},
    {"event elsewhere", event_elsewhere, 2, 0, 0},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc > 1 && strcmp(argv[1], all[i].name))
            continue;
        for (int turn = 0; turn < 20; turn++) {
            begun = go = after = ended = steps = 0;
#pragma omp parallel num_threads(all[i].threads)
#pragma omp single
            {
                if (all[i].spawns)
                    spawn_later();
                all[i].run();
                wrong += steps != DEEP || read_of(&ended);
                set(&after);
            }
            wrong += ended != all[i].waiting;
        }
        printf("%s: %d wrong\n", all[i].name, wrong);
    }
    return 0;
}
