// Exceptions that leave a task, or a function that was given to the header: nobody may catch them. The
// word of the command line says from where.
#include "check.h"

ROVING_TASK(int, throws, int, n)
{
    if (n > 0) {
        throw n;
    }
    return n;
}

ROVING_VOID_TASK(catches, int, by_sync)
{
    try {
        ROVING_SPAWN(later, throws, by_sync);
        ROVING_CALL(throws, 1 - by_sync);
        ROVING_SYNC(throws, later);
    } catch (int) {
        fprintf(stderr, "caught\n");
    }
}

static void throws_in_body(roving_worker *, void *)
{
    throw 1;
}

static void throws_in_block(roving_worker *, size_t, size_t, void *)
{
    throw 1;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    try {
        if (strcmp(word, "calls") == 0) {
            (void)ROVING_RUN(NULL, NULL, catches, 0);
        } else if (strcmp(word, "syncs") == 0) {
            (void)ROVING_RUN(NULL, NULL, catches, 1);
        } else if (strcmp(word, "runs") == 0) {
            (void)roving_pool_run(NULL, throws_in_body, NULL);
        } else if (strcmp(word, "loops") == 0) {
            (void)roving_for(0, 1, throws_in_block, NULL);
        }
    } catch (int) {
        fprintf(stderr, "caught\n");
    }
    return 0;
}
