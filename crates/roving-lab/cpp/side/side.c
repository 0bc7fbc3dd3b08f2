/* fib and UTS's tree T3 by roving.h: `side-c fib N WORKERS`, `side-c onefib N WORKERS`, `side-c uts
 * 0 WORKERS`; 0 workers is the serial call. Prints the result and the seconds of the second of two runs. */
#define _GNU_SOURCE
#include <roving.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "side.h"

typedef const side_node *node_at;

static uint64_t fib_serial(unsigned n)
{
    return n < 2 ? n : fib_serial(n - 1) + fib_serial(n - 2);
}

ROVING_DECLARE_TASK(uint64_t, fib, unsigned, n);

/* Apart, so that a compiler can inline the test for a leaf into the two calls. */
ROVING_TASK(uint64_t, inner, unsigned, n)
{
    ROVING_SPAWN(later, fib, n - 1);
    uint64_t b = ROVING_CALL(fib, n - 2);
    uint64_t a = ROVING_SYNC(fib, later);
    return a + b;
}

ROVING_DEFINE_TASK(uint64_t, fib, unsigned, n)
{
    return n < 2 ? n : ROVING_CALL(inner, n);
}

/* The same in one task, which gcc inlines into itself and clang does not. */
ROVING_TASK(uint64_t, one_fib, unsigned, n)
{
    if (n < 2) {
        return n;
    }
    ROVING_SPAWN(later, one_fib, n - 1);
    uint64_t b = ROVING_CALL(one_fib, n - 2);
    uint64_t a = ROVING_SYNC(one_fib, later);
    return a + b;
}

static side_found add(side_found a, side_found b)
{
    side_found sum = {a.nodes + b.nodes, a.leaves + b.leaves,
                      a.depth > b.depth ? a.depth : b.depth};
    return sum;
}

static uint32_t at_most(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static side_found below_serial(node_at node, uint64_t height)
{
    side_found all = {0, 0, 0};
    for (uint32_t first = 0; first < node->children; first += SIDE_TOGETHER) {
        side_node inner[SIDE_TOGETHER];
        side_found here;
        uint32_t inners = side_children(node, first, at_most(SIDE_TOGETHER, node->children - first),
                                        height + 1, inner, &here);
        all = add(all, here);
        for (uint32_t i = 0; i < inners; ++i) {
            all = add(all, below_serial(&inner[i], height + 1));
        }
    }
    return all;
}

ROVING_DECLARE_TASK(side_found, below, node_at, node, uint64_t, height);

ROVING_TASK(side_found, batch, node_at, node, uint32_t, first, uint64_t, height)
{
    side_node inner[SIDE_TOGETHER];
    below_spawned later[SIDE_TOGETHER];
    side_found all;
    uint32_t inners = side_children(node, first, at_most(SIDE_TOGETHER, node->children - first),
                                    height + 1, inner, &all);
    if (inners == 0) {
        return all;
    }
    for (uint32_t i = 1; i < inners; ++i) {
        ROVING_SPAWN_AT(below, &later[i], &inner[i], height + 1);
    }
    all = add(all, ROVING_CALL(below, &inner[0], height + 1));
    for (uint32_t i = inners; i-- > 1;) {
        all = add(all, ROVING_SYNC(below, later[i]));
    }
    return all;
}

ROVING_TASK(side_found, batches, node_at, node, uint64_t, height)
{
    batch_spawned later[SIDE_BATCHES];
    uint32_t count = (node->children + SIDE_TOGETHER - 1) / SIDE_TOGETHER;
    for (uint32_t i = 1; i < count; ++i) {
        ROVING_SPAWN_AT(batch, &later[i], node, i * SIDE_TOGETHER, height);
    }
    side_found all = ROVING_CALL(batch, node, 0, height);
    for (uint32_t i = count; i-- > 1;) {
        all = add(all, ROVING_SYNC(batch, later[i]));
    }
    return all;
}

ROVING_DEFINE_TASK(side_found, below, node_at, node, uint64_t, height)
{
    if (node->children <= SIDE_TOGETHER) {
        return ROVING_CALL(batch, node, 0, height);
    }
    return ROVING_CALL(batches, node, height);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t run(roving_pool *pool, const char *what, unsigned n)
{
    side_node root = side_root();
    if (strstr(what, "fib") != NULL) {
        uint64_t result = 0;
        if (pool == NULL) {
            return fib_serial(n);
        }
        roving_status status = strcmp(what, "fib") == 0 ? ROVING_RUN(pool, &result, fib, n)
                                                        : ROVING_RUN(pool, &result, one_fib, n);
        return status == ROVING_OK ? result : 0;
    }
    side_found found = {0, 0, 0};
    if (pool == NULL) {
        found = below_serial(&root, 0);
    } else if (ROVING_RUN(pool, &found, below, &root, 0) != ROVING_OK) {
        return 0;
    }
    return found.nodes + 1;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        return 2;
    }
    roving_pool *pool = NULL;
    size_t workers = (size_t)atoi(argv[3]);
    if (workers > 0) {
        roving_options options = {0};
        options.workers = workers;
        options.stack_size = (size_t)64 << 20;
        if (roving_pool_new_with(&options, &pool) != ROVING_OK) {
            fprintf(stderr, "%s\n", roving_error_detail());
            return 1;
        }
    }
    unsigned n = (unsigned)atoi(argv[2]);
    (void)run(pool, argv[1], n);
    double start = now();
    uint64_t result = run(pool, argv[1], n);
    double end = now();
    printf("%llu %.9f\n", (unsigned long long)result, end - start);
    return 0;
}
