/* C between Rust and Rust, on one task stack. */
#include <roving.h>

/* In mixed.rs: joins two calls of `mixed_fib` by roving's own `join`. */
uint64_t rust_fib(unsigned n);
/* In mixed.rs: panics. */
void rust_panic(void);

/* Every third level is Rust's. */
ROVING_TASK(uint64_t, fib, unsigned, n)
{
    if (n < 2) {
        return n;
    }
    if (n % 3 == 0) {
        return rust_fib(n);
    }
    ROVING_SPAWN(later, fib, n - 1);
    uint64_t b = ROVING_CALL(fib, n - 2);
    uint64_t a = ROVING_SYNC(fib, later);
    return a + b;
}

uint64_t mixed_fib(unsigned n);
uint64_t mixed_fib(unsigned n)
{
    ROVING_HERE;
    return ROVING_CALL(fib, n);
}

static void panics(roving_worker *worker, roving_scope *scope, void *arg)
{
    (void)worker, (void)scope, (void)arg;
    rust_panic();
}

static void counts(roving_worker *worker, roving_scope *scope, void *arg)
{
    (void)worker, (void)scope;
    __atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_RELAXED);
}

static void spawns(roving_worker *worker, roving_scope *scope, void *arg)
{
    (void)worker;
    for (int i = 0; i < 100; i++) {
        roving_scope_spawn(scope, i == 50 ? panics : counts, arg);
    }
}

/* A panic of a task of a scope: an error code, when all others have ended. */
roving_status mixed_panic(unsigned *count);
roving_status mixed_panic(unsigned *count)
{
    return roving_scope_run(spawns, count);
}

/* A panic that leaves this function with a task pending that had no slot, and so has run. */
static void leaves_no_slot(roving_worker *roving_w_, roving_scope *scope, void *arg)
{
    (void)scope, (void)arg;
    ROVING_SPAWN(in_place, fib, 9);
    rust_panic();
    ROVING_SYNC(fib, in_place);
}

/* Its result must not become that of another. */
ROVING_TASK(uint64_t, syncs_its_own, roving_status *, status)
{
    ROVING_SPAWN(fills, fib, 2);
    ROVING_SPAWN(in_place, fib, 8);
    *status = roving_scope_run(leaves_no_slot, NULL);
    uint64_t found = ROVING_SYNC(fib, in_place);
    return found + ROVING_SYNC(fib, fills);
}

uint64_t mixed_kept(roving_status *status);
uint64_t mixed_kept(roving_status *status)
{
    ROVING_HERE;
    return ROVING_CALL(syncs_its_own, status);
}

/* A panic that leaves this function with a task pending: the process ends. */
ROVING_VOID_TASK(leaves)
{
    ROVING_SPAWN(pending, fib, 1);
    rust_panic();
    ROVING_SYNC(fib, pending);
}

roving_status mixed_abort(void);
roving_status mixed_abort(void)
{
    return ROVING_RUN(NULL, NULL, leaves);
}

/* A task that panics where it was stolen to: nobody there can hand that on, so the process ends. */
ROVING_VOID_TASK(begins, int *, has_begun)
{
    __atomic_store_n(has_begun, 1, __ATOMIC_RELEASE);
    rust_panic();
}

ROVING_VOID_TASK(waits)
{
    int has_begun = 0;
    ROVING_SPAWN(stolen, begins, &has_begun);
    while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE)) {
    }
    ROVING_SYNC(begins, stolen);
}

roving_status mixed_stolen(void);
roving_status mixed_stolen(void)
{
    roving_pool *pool;
    roving_options options = {0};
    options.workers = 2;
    options.assume_cores = 2;
    return roving_pool_new_with(&options, &pool) == ROVING_OK ? ROVING_RUN(pool, NULL, waits)
                                                              : ROVING_OK;
}
