/* Regions of several threads of the program's, in a forked child, in threads that end; an end of
   the program inside of a region. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long sum_of(int threads)
{
    long sum = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 10) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
    return sum;
}

static void *root(void *wrong)
{
    for (int turn = 0; turn < 50; turn++)
        if (sum_of(1 + turn % 3) != 499500)
            *(int *)wrong = 1;
    return NULL;
}

static void roots(void)
{
    for (int turn = 0; turn < 5; turn++) {
        pthread_t threads[4];
        int wrong[4] = {0};
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, root, &wrong[i]);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        printf("roots: %d\n", wrong[0] + wrong[1] + wrong[2] + wrong[3]);
    }
}

static int child(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(sum_of(2) == 499500 ? 7 : 8);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Settings that change often take no more memory than those that do not. */
static void settings(void)
{
    long all = 0, pages = 0;
    for (int i = 0; i < 200000; i++)
        omp_set_num_threads(1 + i % 3);
    FILE *sizes = fopen("/proc/self/statm", "r");
    int found = fscanf(sizes, "%ld %ld", &all, &pages);
    fclose(sizes);
    printf("settings: %d, %s\n", found, pages < 3000 ? "small" : "large");
}

int main(void)
{
    settings();
    roots();
    printf("first child: %d\n", child());
    printf("after: %ld\n", sum_of(3));
    fflush(stdout);
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
#pragma omp master
        {
            printf("ends inside\n");
            exit(3);
        }
#pragma omp barrier
    }
    return 0;
}
