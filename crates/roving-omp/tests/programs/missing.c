/* Calls what compilers before GCC 4.9 emitted. */
#include <stdio.h>

extern void GOMP_parallel_start(void (*)(void *), void *, unsigned);

int main(void)
{
    GOMP_parallel_start(0, 0, 0);
    printf("it went on\n");
    return 0;
}
