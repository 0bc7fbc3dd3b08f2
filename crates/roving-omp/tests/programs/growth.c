/* Each part does the same many times, and says whether memory grew with it. The argument says which
   part. */
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 10000 };

/* Calls it some times, and then so often that each turn would show that keeps a word. */
static void grows(const char *name, void (*call)(int turns))
{
    call(TURNS / 10);
    size_t before = mallinfo2().uordblks;
    call(TURNS);
    size_t after = mallinfo2().uordblks;
    printf("%s: %s\n", name, after > before + 8 * TURNS ? "grows" : "stays");
    if (after > before + 8 * TURNS)
        fprintf(stderr, "%s: from %zu to %zu\n", name, before, after);
}

static size_t during;

/* Says how much memory is in use after so many turns. */
static void note(int turn)
{
    static size_t first;
    if (turn == TURNS / 10)
        first = mallinfo2().uordblks;
    if (turn == TURNS - 1)
        during = mallinfo2().uordblks - first;
}

static void inside(const char *name, void (*call)(void))
{
    call();
    int grew = (long)during > 8 * TURNS;
    printf("%s: %s\n", name, grew ? "grows" : "stays");
    if (grew)
        fprintf(stderr, "%s: by %zu\n", name, during);
}

static int done;

static void readers(void)
{
    int place = 0;
#pragma omp parallel num_threads(1)
    for (int turn = 0; turn < TURNS; turn++) {
#pragma omp task depend(in : place) shared(done)
        done++;
        note(turn);
    }
}

static void places(void)
{
    char *memory = malloc(TURNS);
#pragma omp parallel num_threads(1)
    for (int turn = 0; turn < TURNS; turn++) {
#pragma omp task depend(out : memory[turn]) shared(done)
        done++;
        note(turn);
    }
    free(memory);
}

/* More of them than there is room for on a task stack. */
static void waited(void)
{
    char *memory = malloc(TURNS);
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int turn = 0; turn < TURNS; turn++) {
#pragma omp task depend(out : memory[turn]) depend(in : memory[0]) shared(done)
        {
#pragma omp atomic
            done++;
        }
        if (turn % 10 == 9) {
#pragma omp taskwait
        }
        note(turn);
    }
    free(memory);
}

/* Settings, after a task that has waited for an event. */
static void of_threads(int turns)
{
    omp_event_handle_t event;
#pragma omp task detach(event)
    done++;
    omp_fulfill_event(event);
#pragma omp taskwait
    for (int turn = 0; turn < turns; turn++)
        omp_set_num_threads(1 + turn % 7);
}

/* As set by the task of a region, by one in a group, and by one that was spawned. */
static void in_region(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int turn = 0; turn < TURNS; turn++) {
        omp_set_num_threads(1 + turn % 7);
        note(turn);
    }
}

static void in_group(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int turn = 0; turn < TURNS; turn++) {
#pragma omp taskgroup
        {
            omp_set_num_threads(1 + turn % 7);
#pragma omp task
            done += omp_get_max_threads() != 1 + turn % 7;
        }
        note(turn);
    }
}

static void in_task(void)
{
    int wrong = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_set_num_threads(5);
#pragma omp task shared(wrong)
        for (int turn = 0; turn < TURNS; turn++) {
            omp_set_num_threads(1 + turn % 7);
#pragma omp task shared(wrong)
            wrong += omp_get_max_threads() != 1 + turn % 7;
            if (turn % 1000 == 0) {
                omp_set_num_threads(9);
#pragma omp task shared(wrong)
                wrong += omp_get_max_threads() != 9;
            }
#pragma omp taskwait
            note(turn);
        }
#pragma omp taskwait
        wrong += omp_get_max_threads() != 5;
    }
    if (wrong)
        printf("%d wrong\n", wrong);
}

/* One thread cancels the region when the other comes to its loop. */
static void cancelled(int turns)
{
    for (int turn = 0; turn < turns / 10; turn++) {
        long sum[128] = {0};
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
            }
#pragma omp for reduction(task, + : sum)
            for (int i = 0; i < 8; i++)
                sum[i]++;
        }
    }
}

static pthread_key_t key;

static int regions;

static void late(void *unused)
{
    (void)unused;
    if (regions) {
#pragma omp parallel num_threads(3)
#pragma omp atomic
        done++;
    }
    done += omp_get_max_threads();
}

static void *begins(void *unused)
{
    pthread_setspecific(key, &done);
    return unused;
}

/* So few that a hundred bytes of each do not show: Rust and C note what is to be called at its end,
   and do not call it then. */
static void threads(int turns)
{
    for (int turn = 0; turn < turns / 20; turn++) {
        pthread_t thread;
        pthread_create(&thread, NULL, begins, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    if (!strcmp(part, "depend")) {
        inside("readers", readers);
        inside("places", places);
        inside("waited", waited);
    }
    if (!strcmp(part, "settings")) {
        grows("of threads", of_threads);
        inside("in a region", in_region);
        inside("in a group", in_group);
        inside("in a task", in_task);
    }
    if (!strcmp(part, "cancelled")) {
        grows("cancelled", cancelled);
    }
    if (!strcmp(part, "threads")) {
        pthread_key_create(&key, late);
        grows("threads", threads);
        regions = 1;
        grows("regions", threads);
    }
    return 0;
}
