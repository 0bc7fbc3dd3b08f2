/* Tasks with `detach`: one gets its event after so many milliseconds as the first argument says, and
   one, if there is a second argument, never. The program stands still then, so it ends by itself,
   after so many seconds as the second argument says. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int delay;

static void *late(void *event)
{
    usleep(delay * 1000);
    omp_fulfill_event((omp_event_handle_t)event);
    return NULL;
}

int main(int argc, char **argv)
{
    delay = atoi(argv[1]);
    alarm(argc > 2 ? atoi(argv[2]) : 120);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event, never;
        pthread_t thread;
#pragma omp task detach(event)
        pthread_create(&thread, NULL, late, (void *)event);
        if (argc > 2) {
#pragma omp task detach(never) firstprivate(argc)
            printf("%d more\n", argc - 2);
        }
#pragma omp taskwait
        pthread_join(thread, NULL);
    }
    printf("it has ended\n");
    return 0;
}
