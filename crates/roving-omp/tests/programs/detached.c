/* Tasks with `detach`, whose events come from tasks and from threads outside of the team. */
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

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

static void count(int *done)
{
#pragma omp atomic
    (*done)++;
}

/* A group waits for a task of its own that an older one holds, which is no task of the group. */
static void held(int event)
{
    int early = 0;
    for (int turn = 0; turn < 50; turn++) {
        int place = 0, done = 0;
        omp_event_handle_t told, *at = NULL;
#pragma omp parallel num_threads(3)
        {
#pragma omp master
            {
                omp_event_handle_t handle;
                if (event) {
#pragma omp task depend(out : place)
                    if (turn % 2)
                        usleep(20);
#pragma omp task depend(inout : place) detach(handle) shared(place)
                    place = 1;
                    told = handle;
#pragma omp atomic write
                    at = &told;
                } else {
#pragma omp task depend(out : place) shared(place)
                    {
                        if (turn % 2)
                            usleep(100);
                        place = 1;
                    }
                }
#pragma omp taskgroup
                {
#pragma omp task depend(in : place) shared(done)
                    for (int i = 0; i < 10; i++) {
#pragma omp task shared(done)
                        {
                            usleep(10);
                            count(&done);
                        }
                    }
                }
                int seen;
#pragma omp atomic read
                seen = done;
                early += seen != 10;
            }
            if (event && omp_get_thread_num() == 1) {
                omp_event_handle_t *seen;
                do {
#pragma omp atomic read
                    seen = at;
                    sched_yield();
                } while (!seen);
                usleep(100);
                omp_fulfill_event(*seen);
            }
        }
    }
    printf("held: %d early\n", early);
}

static void *bring(void *event)
{
    usleep(100);
    omp_fulfill_event((omp_event_handle_t)event);
    return NULL;
}

/* An event that a thread outside of the team brings, and a task with children that it frees. */
static void brought(void)
{
    int early = 0;
    for (int turn = 0; turn < 100; turn++) {
        int place = 0, done = 0;
#pragma omp parallel num_threads(1 + turn % 3)
#pragma omp single
        {
            pthread_t thread;
            omp_event_handle_t handle;
#pragma omp taskgroup
            {
#pragma omp task depend(out : place) detach(handle) shared(place)
                place = 1;
                pthread_create(&thread, NULL, bring, (void *)handle);
#pragma omp task depend(in : place) shared(done)
                for (int i = 0; i < 20; i++) {
#pragma omp task shared(done)
                    {
                        usleep(10);
                        count(&done);
                    }
                }
            }
            int seen;
#pragma omp atomic read
            seen = done;
            early += seen != 20;
            pthread_join(thread, NULL);
        }
    }
    printf("brought: %d early\n", early);
}

/* Who has brought an event needs a lock that is held until the freed task has ended. */
static void freed_under_lock(void)
{
    int sum = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int turn = 0; turn < 30; turn++) {
        int place = 0;
        omp_event_handle_t told, *at = NULL;
#pragma omp parallel num_threads(3)
        {
            if (omp_get_thread_num() == 0) {
                omp_event_handle_t handle;
                omp_set_lock(&lock);
#pragma omp task depend(out : place) detach(handle) shared(place)
                place = 1;
                told = handle;
#pragma omp atomic write
                at = &told;
#pragma omp task depend(in : place) shared(place, sum)
                sum += place;
#pragma omp taskwait
                omp_unset_lock(&lock);
            }
            if (omp_get_thread_num() == 1) {
                omp_event_handle_t *seen;
                do {
#pragma omp atomic read
                    seen = at;
                    sched_yield();
                } while (!seen);
                usleep(100);
                omp_fulfill_event(*seen);
                omp_set_lock(&lock);
                sum += 100;
                omp_unset_lock(&lock);
            }
        }
    }
    printf("freed under a lock: %d\n", sum);
}

static void *bring_late(void *event)
{
    usleep(30000);
    omp_fulfill_event((omp_event_handle_t)event);
    return NULL;
}

/* An event from a thread outside frees two tasks that need each other, while the team sleeps. */
static void freed_together(void)
{
    int place = 0, begun = 0, met = 0;
    pthread_t thread;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        omp_event_handle_t handle;
#pragma omp task depend(out : place) detach(handle) shared(thread)
        pthread_create(&thread, NULL, bring_late, (void *)handle);
        for (int i = 0; i < 2; i++) {
#pragma omp task depend(in : place) shared(begun, met)
            {
                int seen = 0;
                count(&begun);
                for (int looks = 0; seen < 2 && looks < 60000; looks++) {
#pragma omp atomic read
                    seen = begun;
                    usleep(1000);
                }
                if (seen == 2)
                    count(&met);
            }
        }
    }
    pthread_join(thread, NULL);
    printf("freed together: %d\n", omp_get_num_procs() < 2 || met == 2);
}

/* A task that is not deferred has ended only when its event has come. */
static void at_once(void)
{
    int early = 0;
    pthread_t thread;
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int turn = 0; turn < 2; turn++) {
        omp_event_handle_t handle;
        double began = omp_get_wtime();
#pragma omp task if (0) detach(handle) shared(thread)
        pthread_create(&thread, NULL, bring_late, (void *)handle);
        early += omp_get_wtime() - began < 0.03;
        pthread_join(thread, NULL);
    }
    printf("at once: %d early\n", early);
}

int main(void)
{
    freed_together();
    at_once();
    held(0);
    held(1);
    brought();
    freed_under_lock();
    events();
    own_event();
    return 0;
}
