/* What must not be done: the word of the command line says which. Debug builds say what and where. */
#include "check.h"

ROVING_TASK(int, leaf, int, n)
{
    return n;
}

ROVING_VOID_TASK(forgets)
{
    ROVING_SPAWN(lost, leaf, 1);
    (void)lost;
}

ROVING_VOID_TASK(twice)
{
    ROVING_SPAWN(once, leaf, 1);
    ROVING_SYNC(leaf, once);
    ROVING_SYNC(leaf, once);
}

ROVING_VOID_TASK(out_of_order)
{
    ROVING_SPAWN(first, leaf, 1);
    ROVING_SPAWN(second, leaf, 2);
    ROVING_SYNC(leaf, first);
    ROVING_SYNC(leaf, second);
}

static void outside(void)
{
    ROVING_HERE;
    ROVING_SPAWN(task, leaf, 1);
    ROVING_SYNC(leaf, task);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "forgets") == 0) {
        OK(ROVING_RUN(NULL, NULL, forgets));
    } else if (strcmp(word, "twice") == 0) {
        OK(ROVING_RUN(NULL, NULL, twice));
    } else if (strcmp(word, "out-of-order") == 0) {
        OK(ROVING_RUN(NULL, NULL, out_of_order));
    } else if (strcmp(word, "outside") == 0) {
        outside();
    }
    return 0;
}
