/* What runs at the end of a thread and of the program uses OpenMP; and a thread brings the event of
   a task whose thread has ended. With an argument, the program ends inside of a region. */
#include "fenced.h"
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static omp_event_handle_t told;
static pthread_key_t key;

static void use(const char *name)
{
    int counted = 0, threads = 0;
    int level = omp_get_level(), around = omp_get_team_size(0);
#pragma omp parallel num_threads(2) reduction(+ : counted)
    {
        counted++;
#pragma omp single
        threads = omp_get_num_threads();
    }
    omp_set_num_threads(5);
    printf("%s: level %d, %d around, %s, then %d\n", name, level, around,
           counted == threads ? "all" : "not all", omp_get_max_threads());
    fflush(stdout);
}

static void of_thread(void *none)
{
    (void)none;
    use("thread");
}

static void at_end(void)
{
    printf("%d threads, ", omp_get_max_threads());
    use("end");
}

static void *ends(void *none)
{
    pthread_setspecific(key, &key);
    use("before");
    return none;
}

static void *leaves_open(void *none)
{
    omp_event_handle_t event;
    int place = 0;
#pragma omp task detach(event) depend(out : place)
    place = 1;
    told = event;
    return none;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    alarm(300);
    atexit(at_end);
    pthread_key_create(&key, of_thread);
    for (int turn = 0; turn < 3; turn++) {
        pthread_create(&thread, NULL, ends, NULL);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, leaves_open, NULL);
        pthread_join(thread, NULL);
        omp_fulfill_event(told);
    }
    omp_set_num_threads(3);
    use("main");
    omp_set_num_threads(3);
    if (argc > 1) {
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            exit(0);
        }
    }
    return 0;
}
