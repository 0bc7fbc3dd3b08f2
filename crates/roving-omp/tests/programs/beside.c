/* Another runtime in the same process, whose functions have a version of its own, as LLVM's. */
#ifdef OTHER
int omp_get_thread_num(void)
{
    return 42;
}
#else
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int threads = 0;
#pragma omp parallel num_threads(3) reduction(+ : threads)
    threads++;
    printf("%d threads, the other's %d\n", threads, omp_get_thread_num());
    return 0;
}
#endif
