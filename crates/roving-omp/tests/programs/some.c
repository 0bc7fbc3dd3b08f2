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

static int begun, after, ended, steps, wrong;

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
    begun = after = ended = steps = 0;
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

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    {"wait", wait},   {"undeferred", undeferred},         {"final", final_task},
    {"group", group}, {"group in group", group_in_group}, {"nested", nested},
    {"event", event},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc > 1 && strcmp(argv[1], all[i].name))
            continue;
        for (int turn = 0; turn < 20; turn++) {
#pragma omp parallel num_threads(2)
#pragma omp single
            {
                spawn_later();
                all[i].run();
                wrong += steps != DEEP || read_of(&ended);
                set(&after);
            }
            wrong += ended != 2;
        }
        printf("%s: %d wrong\n", all[i].name, wrong);
    }
    return 0;
}
