/* Tasks with `detach` that are left out, because their group or their region was cancelled: nobody
   brings their events, or somebody brings them late. The argument says which of them. */
#include "fenced.h"
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int ran;
static omp_event_handle_t told;

/* A group that has been cancelled, with a task in it whose own code would bring the event. */
static void of_group(int waits)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
            omp_event_handle_t event;
#pragma omp task
            {
#pragma omp cancel taskgroup
            }
#pragma omp taskwait
            if (waits) {
#pragma omp task if (0) detach(event)
                {
                    ran++;
                    omp_fulfill_event(event);
                }
            } else {
#pragma omp task detach(event)
                {
                    ran++;
                    omp_fulfill_event(event);
                }
            }
            told = event;
        }
    }
}

/* A task that depends on one of those, and is left out as well. */
static void after_another(void)
{
    int place = 0;
    omp_event_handle_t late;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
            omp_event_handle_t first, second;
#pragma omp task
            {
#pragma omp cancel taskgroup
            }
#pragma omp taskwait
#pragma omp task detach(first) depend(out : place)
            {
                ran++;
                omp_fulfill_event(first);
            }
#pragma omp task detach(second) depend(in : place)
            {
                ran++;
                omp_fulfill_event(second);
            }
            late = first;
        }
        omp_fulfill_event(late);
        /* After the group, and of it no more. */
#pragma omp task depend(inout : place) shared(place)
        place = 1;
#pragma omp taskwait
    }
    if (!place)
        printf("it has not run\n");
}

/* The region is cancelled while the task is there. Whether it has begun by then is open. */
static void of_region(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp single nowait
        {
            omp_event_handle_t event;
#pragma omp task detach(event)
            omp_fulfill_event(event);
        }
#pragma omp cancel parallel
    }
}

int main(int argc, char **argv)
{
    int part = argc > 1 ? atoi(argv[1]) : 0;
    alarm(300);
    for (int turn = 0; turn < 30; turn++) {
        switch (part) {
        case 0:
        case 1:
            of_group(part);
            /* The group is over, and so is its task. */
            omp_fulfill_event(told);
            break;
        case 2:
            after_another();
            break;
        case 3:
            of_region();
        }
    }
    printf("%d ran\n", ran);
    return 0;
}
