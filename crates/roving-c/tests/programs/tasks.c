/* Tasks by macro: every arity, results of every size, recursion deeper than the task stack. */
#include "check.h"

ROVING_TASK(uint64_t, fib, unsigned, n)
{
    if (n < 2) {
        return n;
    }
    ROVING_SPAWN(later, fib, n - 1);
    uint64_t b = ROVING_CALL(fib, n - 2);
    uint64_t a = ROVING_SYNC(fib, later);
    return a + b;
}

/* Placements of queens on the rows from `row` on, with an array of handles a node. */
ROVING_TASK(unsigned, queens, unsigned, size, unsigned, row, uint32_t, columns, uint32_t, left,
            uint32_t, right)
{
    queens_spawned spawned[16];
    unsigned count = 0, placements = 0;
    if (row == size) {
        return 1;
    }
    for (unsigned column = 0; column < size; column++) {
        uint32_t bit = 1u << column;
        if ((columns | left | right) & bit) {
            continue;
        }
        ROVING_SPAWN_AT(queens, &spawned[count], size, row + 1, columns | bit, (left | bit) << 1,
                        (right | bit) >> 1);
        count++;
    }
    while (count > 0) {
        count--;
        placements += ROVING_SYNC(queens, spawned[count]);
    }
    return placements;
}

/* An unbalanced tree, as of UTS: how many children a node has is drawn from where it stands. */
static uint64_t mixed(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ x >> 33;
}

ROVING_TASK(uint64_t, tree, uint64_t, node, unsigned, depth)
{
    uint64_t nodes = 1;
    tree_spawned children[8];
    int count = depth == 0 ? 0 : depth > 8 ? 3 : (int)(mixed(node) % 7 == 0 ? 8 : mixed(node) % 2);
    for (int i = 0; i < count; i++) {
        ROVING_SPAWN_AT(tree, &children[i], node * 8 + (uint64_t)i + 1, depth - 1);
    }
    for (int i = count - 1; i >= 0; i--) {
        nodes += ROVING_SYNC(tree, children[i]);
    }
    return nodes;
}

static uint64_t tree_serially(uint64_t node, unsigned depth)
{
    uint64_t nodes = 1;
    int count = depth == 0 ? 0 : depth > 8 ? 3 : (int)(mixed(node) % 7 == 0 ? 8 : mixed(node) % 2);
    for (int i = 0; i < count; i++) {
        nodes += tree_serially(node * 8 + (uint64_t)i + 1, depth - 1);
    }
    return nodes;
}

/* A chain: its pending tasks are as many as it is deep. */
ROVING_TASK(uint64_t, chain, unsigned, depth)
{
    if (depth == 0) {
        return 1;
    }
    ROVING_SPAWN(one, fib, 1);
    uint64_t below = ROVING_CALL(chain, depth - 1);
    return below + ROVING_SYNC(fib, one);
}

/* Every arity, with and without result. */
static uint64_t seen[9];

ROVING_VOID_TASK(see0)
{
    __atomic_fetch_add(&seen[0], 1, __ATOMIC_RELAXED);
}

ROVING_VOID_TASK(see8, int, a, int, b, int, c, int, d, int, e, int, f, int, g, int, h)
{
    __atomic_fetch_add(&seen[8], (uint64_t)(a + b + c + d + e + f + g + h), __ATOMIC_RELAXED);
}

ROVING_TASK(int, none)
{
    return 7;
}
ROVING_TASK(char, sum1, char, a)
{
    return a;
}
ROVING_TASK(double, sum2, double, a, float, b)
{
    return a + (double)b;
}
ROVING_TASK(long, sum3, char, a, short, b, long, c)
{
    return a + b + c;
}
ROVING_TASK(int, sum4, int, a, int, b, int, c, int, d)
{
    return a + b + c + d;
}
ROVING_TASK(int, sum6, int, a, int, b, int, c, int, d, int, e, int, f)
{
    return a + b + c + d + e + f;
}
ROVING_TASK(int, sum7, int, a, int, b, int, c, int, d, int, e, int, f, int, g)
{
    return a + b + c + d + e + f + g;
}
/* 64 bytes of arguments: they stay in the frame. */
ROVING_TASK(uint64_t, wide8, uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d, uint64_t, e,
            uint64_t, f, uint64_t, g, uint64_t, h)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

typedef struct matrix {
    double at[4][4];
} matrix;

ROVING_TASK(matrix, times, matrix, a, const double *, factor)
{
    for (int i = 0; i < 16; i++) {
        a.at[i / 4][i % 4] *= *factor;
    }
    return a;
}

/* An argument that wants 16 bytes of alignment, on whose vectors the compiler may rely. */
typedef float lanes __attribute__((__vector_size__(16)));

ROVING_TASK(lanes, twice, lanes, x)
{
    return x + x;
}

ROVING_VOID_TASK(arities)
{
    ROVING_SPAWN(s0, see0);
    ROVING_SPAWN(s8, see8, 1, 2, 3, 4, 5, 6, 7, 8);
    ROVING_SPAWN(t0, none);
    ROVING_SPAWN(t1, sum1, 'x');
    ROVING_SPAWN(t2, sum2, 0.5, 0.25f);
    ROVING_SPAWN(t3, sum3, 1, 2, 3);
    ROVING_SPAWN(t4, sum4, 1, 2, 3, 4);
    ROVING_SPAWN(t6, sum6, 1, 2, 3, 4, 5, 6);
    ROVING_SPAWN(t7, sum7, 1, 2, 3, 4, 5, 6, 7);
    ROVING_SPAWN(w8, wide8, 1, 2, 3, 4, 5, 6, 7, 8);
    matrix m;
    for (int i = 0; i < 16; i++) {
        m.at[i / 4][i % 4] = i;
    }
    double factor = 3;
    ROVING_SPAWN(mm, times, m, &factor);
    lanes l = {1, 2, 3, 4};
    ROVING_SPAWN(ll, twice, l);

    l = ROVING_SYNC(twice, ll);
    CHECK(l[0] == 2 && l[3] == 8);
    m = ROVING_SYNC(times, mm);
    CHECK(m.at[3][3] == 45 && m.at[0][1] == 3);
    CHECK(ROVING_SYNC(wide8, w8) == 204);
    CHECK(ROVING_SYNC(sum7, t7) == 28);
    CHECK(ROVING_SYNC(sum6, t6) == 21);
    CHECK(ROVING_SYNC(sum4, t4) == 10);
    CHECK(ROVING_SYNC(sum3, t3) == 6);
    CHECK(ROVING_SYNC(sum2, t2) == 0.75);
    CHECK(ROVING_SYNC(sum1, t1) == 'x');
    CHECK(ROVING_SYNC(none, t0) == 7);
    ROVING_SYNC(see8, s8);
    ROVING_SYNC(see0, s0);
    CHECK(ROVING_CALL(none) == 7);
    ROVING_CALL(see0);
}

ROVING_VOID_TASK(many, unsigned, times)
{
    for (unsigned i = 0; i < times; i++) {
        ROVING_CALL(arities);
    }
}

/* Tasks that call each other, and a function that is no task. */
ROVING_DECLARE_TASK(int, is_odd, unsigned, n);
ROVING_DECLARE_VOID_TASK(nothing);

ROVING_TASK(int, is_even, unsigned, n)
{
    return n == 0 ? 1 : ROVING_CALL(is_odd, n - 1);
}

ROVING_DEFINE_TASK(int, is_odd, unsigned, n)
{
    return n == 0 ? 0 : ROVING_CALL(is_even, n - 1);
}

ROVING_DEFINE_VOID_TASK(nothing)
{
}

static int both_even(unsigned a, unsigned b)
{
    ROVING_HERE;
    ROVING_SPAWN(nothing_yet, nothing);
    ROVING_SPAWN(first, is_even, a);
    int second = ROVING_CALL(is_even, b);
    int even = ROVING_SYNC(is_even, first) && second;
    ROVING_SYNC(nothing, nothing_yet);
    return even;
}

ROVING_TASK(int, call_functions)
{
    return both_even(10, 20) && !both_even(10, 21);
}

/* What stands in a spawn or a sync is evaluated once, and may spawn and sync as well. */
ROVING_TASK(uint64_t, effects, unsigned, n)
{
    fib_spawned handles[8];
    unsigned count = 0;
    uint64_t sum = 0;
    for (unsigned i = 1; i <= n; i++) {
        ROVING_SPAWN_AT(fib, &handles[count++], i);
    }
    while (count > 0) {
        sum = sum * 2 + ROVING_SYNC(fib, handles[--count]);
    }
    ROVING_SPAWN(first, fib, 7);
    ROVING_SPAWN(second, fib, (unsigned)ROVING_SYNC(fib, first));
    sum += ROVING_SYNC(fib, second);
    return sum + ROVING_CALL(fib, (unsigned)ROVING_CALL(fib, 6));
}

static void run_all(roving_pool *pool, int full)
{
    uint64_t number = 0;
    unsigned placements = 0;
    int even = 0;
    OK(ROVING_RUN(pool, &number, fib, 20));
    CHECK(number == 6765);
    OK(ROVING_RUN(pool, &placements, queens, 8, 0, 0, 0, 0));
    CHECK(placements == 92);
    OK(ROVING_RUN(pool, &number, tree, 1, 12));
    CHECK(number == tree_serially(1, 12));
    OK(ROVING_RUN(pool, &number, chain, full ? 3000 : 300));
    CHECK(number == (uint64_t)(full ? 3000 : 300) + 1);
    memset(seen, 0, sizeof(seen));
    OK(ROVING_RUN(pool, NULL, many, 100));
    CHECK(seen[0] == 200 && seen[8] == 3600);
    OK(ROVING_RUN(pool, &even, call_functions));
    CHECK(even);
    OK(ROVING_RUN(pool, &number, effects, 8));
    CHECK(number == 4145);
}

int main(void)
{
    for (size_t workers = 1; workers <= 4; workers++) {
        roving_pool *pool;
        roving_options options = {0};
        options.workers = workers;
        options.assume_cores = 4;
        OK(roving_pool_new_with(&options, &pool));
        run_all(pool, 0);
        OK(roving_pool_free(pool));
        /* So few slots that most of it runs in place. */
        for (options.task_slots = 1; options.task_slots <= 64; options.task_slots *= 8) {
            OK(roving_pool_new_with(&options, &pool));
            run_all(pool, 1);
            OK(roving_pool_free(pool));
        }
    }
    run_all(NULL, 1);
    return 0;
}
