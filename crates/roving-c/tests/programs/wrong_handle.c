/* Must not compile: the handle is one of another task. */
#include <roving.h>

ROVING_TASK(int, one, int, n)
{
    return n;
}

ROVING_TASK(int, other, int, n)
{
    ROVING_SPAWN(task, one, n);
    return ROVING_SYNC(other, task);
}

int main(void)
{
    return ROVING_RUN(NULL, NULL, other, 1);
}
