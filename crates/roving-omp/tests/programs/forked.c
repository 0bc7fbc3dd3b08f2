/* A child of a process that has used its threads uses threads again, and so does its child. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long by_tasks(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = by_tasks(n - 1);
#pragma omp task shared(b)
    b = by_tasks(n - 2);
#pragma omp taskwait
    return a + b;
}

static void use(const char *name, int threads)
{
    long sum = 0, found = 0;
    int most = 0;
#pragma omp parallel num_threads(threads) reduction(max : most)
    {
        most = omp_get_num_threads();
#pragma omp for schedule(dynamic, 10) reduction(+ : sum)
        for (int i = 0; i < 1000; i++)
            sum += i;
#pragma omp single
        found = by_tasks(12);
    }
    printf("%s: %d threads, %ld, %ld\n", name, most, sum, found);
    fflush(stdout);
}

/* In a child, and then a child of it. */
static void fork_of(int depth)
{
    static const char *const names[] = {"grandchild", "child"};
    if (depth < 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        use(names[depth], 4);
        fork_of(depth - 1);
        use(names[depth], 2);
        exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (status)
        printf("ended with %d\n", status);
}

int main(void)
{
    use("parent", 3);
    for (int turn = 0; turn < 3; turn++)
        fork_of(1);
    use("parent", 3);
    return 0;
}
