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

/* Tasks that an event frees, each of which counts itself, and whether it finds itself elsewhere than
   it belongs. */
static void freed(int (*is_elsewhere)(int), int team, int *ran, int *elsewhere)
{
    int x = 0;
    omp_event_handle_t event;
#pragma omp task depend(out : x) detach(event)
    {
    }
    for (int i = 0; i < 32; i++)
#pragma omp task depend(in : x)
    {
        int found = is_elsewhere(team);
#pragma omp atomic
        *elsewhere += found;
#pragma omp atomic
        (*ran)++;
        usleep(20);
    }
    omp_fulfill_event(event);
}

static int is_outside(int team)
{
    (void)team;
    return omp_get_thread_num() >= omp_get_num_threads();
}

static int is_of_another(int team)
{
    return omp_get_team_num() != team;
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
        freed(is_outside, 0, &ran, &outside);
    }
    printf("%d ran, %d outside of the region\n", ran, outside);
}

/* The next region has as many threads, and is another team's of a league. */
static void next_team(void)
{
    int wrong = 0, ran = 0;
    for (int turn = 0; turn < 200; turn++) {
#pragma omp teams num_teams(2) thread_limit(8) shared(wrong, ran)
        {
            int team = omp_get_team_num();
#pragma omp parallel num_threads(8)
#pragma omp master
            if (team == 0)
                usleep(200);
            else
                freed(is_of_another, team, &ran, &wrong);
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
