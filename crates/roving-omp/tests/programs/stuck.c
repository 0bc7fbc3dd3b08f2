/* A barrier inside of a task, by a call that a compiler does not see through. The program may stand
   still, so it ends by itself, after so many seconds as `SECONDS` says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void everybody(void)
{
#pragma omp barrier
}

int main(void)
{
    const char *seconds = getenv("SECONDS");
    alarm(seconds ? atoi(seconds) : 2);
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        for (int i = 0; i < 3; i++) {
#pragma omp task
            everybody();
        }
    }
    printf("it has ended\n");
    return 0;
}
