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

static void body_forgets(roving_worker *roving_w_, void *arg)
{
    (void)arg;
    ROVING_SPAWN(lost, leaf, 1);
    (void)lost;
}

static void nothing(roving_worker *worker, roving_scope *scope, void *arg)
{
    (void)worker, (void)scope, (void)arg;
}

/* The pop of the first task comes upon the second one, which is nobody's. */
static void leaves_behind(roving_worker *roving_w_, roving_scope *scope, void *arg)
{
    (void)arg;
    ROVING_SPAWN(first, leaf, 1);
    body_forgets(roving_w_, NULL);
    OK(roving_scope_spawn(scope, nothing, NULL));
    ROVING_SYNC(leaf, first);
}

static void opens_scope(roving_worker *worker, void *arg)
{
    (void)worker;
    OK(roving_scope_run(leaves_behind, arg));
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
    } else if (strcmp(word, "body-forgets") == 0) {
        OK(roving_pool_run(NULL, body_forgets, NULL));
    } else if (strcmp(word, "leaves-behind") == 0) {
        roving_pool *alone;
        OK(roving_pool_new(1, &alone));
        OK(roving_pool_run(alone, opens_scope, NULL));
    }
    return 0;
}
