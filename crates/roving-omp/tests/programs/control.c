/* What programs ask and set; locks. */
#include <omp.h>
#include <stdio.h>

static void asked(const char *when)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("%s: max %d dynamic %d nested %d levels %d schedule %x,%d limit %d\n", when,
           omp_get_max_threads(), omp_get_dynamic(), omp_get_max_active_levels() > 1,
           omp_get_max_active_levels(), (unsigned)kind, chunk, omp_get_thread_limit());
}

static void controls(void)
{
    asked("first");
    omp_set_num_threads(3);
    omp_set_dynamic(1);
    omp_set_max_active_levels(2);
    omp_set_schedule(omp_sched_guided, 6);
    asked("set");
    int inside[4] = {0}, threads = 0;
    omp_set_dynamic(0);
#pragma omp parallel
    {
        omp_set_num_threads(10 + omp_get_thread_num());
        inside[omp_get_thread_num()] = omp_get_max_threads();
#pragma omp single
        threads = omp_get_num_threads();
    }
    printf("inside: %d threads, %d %d %d\n", threads, inside[0], inside[1], inside[2]);
    asked("after");
    omp_set_schedule(omp_sched_static, 0);
    asked("static");
    omp_set_schedule(omp_sched_auto, 5);
    asked("auto");
    omp_set_max_active_levels(1);
    printf("in parallel %d, final %d, level %d, team %d of %d, ancestors %d %d, sizes %d %d\n",
           omp_in_parallel(), omp_in_final(), omp_get_level(), omp_get_team_num(),
           omp_get_num_teams(), omp_get_ancestor_thread_num(0), omp_get_ancestor_thread_num(1),
           omp_get_team_size(0), omp_get_team_size(1));
    printf("devices %d %d, cancellation %d, priority %d\n", omp_get_num_devices(),
           omp_is_initial_device(), omp_get_cancellation(), omp_get_max_task_priority());
    double time = omp_get_wtime();
    printf("time %d %d\n", omp_get_wtime() >= time, omp_get_wtick() > 0);
}

static void locks(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    int count = 0, nested = 0, tested = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(4)
    for (int turn = 0; turn < 500; turn++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested += omp_test_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        while (!omp_test_lock(&lock))
            ;
        tested++;
        omp_unset_lock(&lock);
    }
    printf("locks: %d %d %d\n", count, nested, tested);
    omp_set_lock(&lock);
    printf("taken: %d\n", omp_test_lock(&lock));
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

static void league(void)
{
    int teams = 0, sum = 0;
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : sum)
    {
        sum += omp_get_team_num() + 1;
        if (omp_get_team_num() == 0)
            teams = omp_get_num_teams();
#pragma omp distribute parallel for reduction(+ : sum)
        for (int i = 0; i < 10; i++)
            sum += i;
    }
    printf("teams: %d %d\n", teams, sum);
    /* As many threads of each team as the limits allow. */
    int count[3] = {0}, wrong = 0;
#pragma omp teams num_teams(3) thread_limit(2)
#pragma omp parallel num_threads(4)
#pragma omp critical
    {
        count[omp_get_team_num()]++;
        wrong += omp_get_num_teams() != 3 || omp_get_thread_limit() != 2;
    }
    printf("in teams: %d %d %d, %d wrong\n", count[0], count[1], count[2], wrong);
}

/* What a task sets is its own, also where it has set something else in a group before. */
static void in_groups(void)
{
    int task = 0, other = 0, wrong = 0;
    omp_set_num_threads(3);
#pragma omp task shared(task)
    {
#pragma omp taskgroup
        {
            omp_set_num_threads(5);
#pragma omp taskgroup
            omp_set_num_threads(6);
        }
        task = omp_get_max_threads();
    }
    printf("in a group: %d in the task, %d after it\n", task, omp_get_max_threads());
#pragma omp task shared(task)
    {
        omp_set_num_threads(4);
#pragma omp taskgroup
        omp_set_num_threads(5);
#pragma omp task if (0) shared(task)
        task = omp_get_max_threads();
    }
#pragma omp taskwait
    printf("in its own: %d for its task, %d after it\n", task, omp_get_max_threads());
    /* While others read what they have inherited. */
#pragma omp parallel num_threads(2) reduction(+ : wrong)
#pragma omp single
    {
        omp_set_num_threads(7);
        for (int i = 0; i < 500; i++) {
#pragma omp task shared(other)
            {
#pragma omp taskgroup
                omp_set_num_threads(8);
#pragma omp atomic
                other += omp_get_max_threads() == 8;
            }
            wrong += omp_get_max_threads() != 7;
        }
#pragma omp taskwait
        wrong += omp_get_max_threads() != 7;
    }
    printf("side by side: %d tasks, %d wrong, %d after it\n", other, wrong, omp_get_max_threads());
}

int main(void)
{
    controls();
    in_groups();
    locks();
    league();
    return 0;
}
