/* A task on the global pool. */
#include "roving.h"

#include <stdio.h>

ROVING_TASK(int, twice, int, n)
{
    return 2 * n;
}

int main(void)
{
    int result = 0;
    puts("begun");
    return ROVING_RUN(NULL, &result, twice, 21) != ROVING_OK || result != 42;
}
