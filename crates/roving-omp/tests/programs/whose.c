/* Says which file its functions are from. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>

int main(void)
{
    Dl_info info = {0};
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads++;
    dladdr((void *)omp_get_num_threads, &info);
    printf("%d %s\n", threads, info.dli_fname);
    return 0;
}
