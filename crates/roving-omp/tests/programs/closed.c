/* A program without OpenMP loads a part that has it, uses it and closes it, again and again. The
   threads that the part has left idle outlive it. Built twice: the part with PART. */
#ifdef PART
#include <omp.h>

static int turns;
static _Thread_local int own;
static int seen;
#pragma omp threadprivate(seen)

long part(int threads)
{
    long sum = 0;
    turns++;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        own++;
        seen += 2;
#pragma omp for schedule(guided)
        for (int i = 0; i < 1000; i++)
            sum += i;
#pragma omp single
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(sum)
#pragma omp atomic
            sum += 1;
        }
    }
    return sum * 10 + turns;
}
#else
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/closed.c-shared-fPIC-DPART", count ? dirname(words[0]) : ".");
    for (int turn = 0; turn < 5; turn++) {
        void *part = dlopen(path, RTLD_NOW);
        if (!part)
            return printf("%s\n", dlerror()), 1;
        long (*of)(int) = (long (*)(int))dlsym(part, "part");
        printf("%ld", of(4));
        printf(" %ld\n", of(2));
        dlclose(part);
        /* Idle threads go to sleep meanwhile, or look around. */
        usleep(turn * 500);
    }
    return 0;
}
#endif
