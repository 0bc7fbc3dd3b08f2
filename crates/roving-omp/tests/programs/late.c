/* Threads that are late to leave the last barrier of a region: they take no task of the next one,
   and look at no thread that has ended. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void compute(long us)
{
    double until = omp_get_wtime() + us * 1e-6;
    while (omp_get_wtime() < until)
        ;
}

/* The keeper comes last, so the others are woken while it goes on. */
static void next_region(void)
{
    int outside = 0, ran = 0;
    for (int turn = 0; turn < 200; turn++) {
#pragma omp parallel num_threads(8)
#pragma omp master
        usleep(200);
#pragma omp parallel num_threads(2)
#pragma omp master
        {
            int x = 0;
            omp_event_handle_t event;
#pragma omp task depend(out : x) detach(event)
            {
            }
            for (int i = 0; i < 32; i++)
#pragma omp task depend(in : x) shared(outside, ran)
            {
                int is_outside = omp_get_thread_num() >= omp_get_num_threads();
#pragma omp atomic
                outside += is_outside;
#pragma omp atomic
                ran++;
                usleep(20);
            }
            omp_fulfill_event(event);
        }
    }
    printf("%d ran, %d outside of the region\n", ran, outside);
}

/* As in `next_region`, where the next one has as many threads and is another team's of a league. */
static void next_team(void)
{
    int wrong = 0, ran = 0;
    for (int turn = 0; turn < 200; turn++) {
#pragma omp teams num_teams(2) thread_limit(8) shared(wrong, ran)
        {
            int team = omp_get_team_num();
#pragma omp parallel num_threads(8)
#pragma omp master
            if (team == 0) {
                usleep(200);
            } else {
                int x = 0;
                omp_event_handle_t event;
#pragma omp task depend(out : x) detach(event)
                {
                }
                for (int i = 0; i < 32; i++)
#pragma omp task depend(in : x) shared(wrong, ran)
                {
                    int is_wrong = omp_get_team_num() != team;
#pragma omp atomic
                    wrong += is_wrong;
#pragma omp atomic
                    ran++;
                    usleep(20);
                }
                omp_fulfill_event(event);
            }
        }
    }
    printf("%d ran, %d of another team\n", ran, wrong);
}

/* While the keeper computes, the others look around, and yield their cores for long. */
static void *of_one_region(void *turn)
{
#pragma omp parallel num_threads(8)
#pragma omp master
    {
        for (int i = 0; i < 4; i++)
#pragma omp task
            compute(10);
        compute(100 + (long)turn % 37 * 100);
    }
    return NULL;
}

static void end(void)
{
    for (long turn = 0; turn < 1000; turn++) {
        pthread_t thread;
        pthread_create(&thread, NULL, of_one_region, (void *)turn);
        pthread_join(thread, NULL);
    }
    printf("all have ended\n");
}

int main(int arguments, char **argument)
{
    alarm(300);
    if (arguments > 1 && strcmp(argument[1], "end") == 0)
        end();
    else if (arguments > 1 && strcmp(argument[1], "team") == 0)
        next_team();
    else
        next_region();
    return 0;
}
