/* Everything but tasks by macro. */
#include "check.h"

/* ---- Errors and pools ---- */

static void index_of_worker(roving_worker *worker, void *arg)
{
    (void)worker;
    OK(roving_current_worker((size_t *)arg));
}

static void errors(void)
{
    roving_pool *pool = NULL;
    size_t index;
    CHECK(roving_pool_new(1000, &pool) == ROVING_BUILD);
    CHECK(strstr(roving_error_detail(), "1000 workers") != NULL);
    CHECK(roving_pool_new(1, NULL) == ROVING_ARGUMENT);
    CHECK(strcmp(roving_error_detail(), "pool is null") == 0);
    CHECK(roving_pool_run(NULL, NULL, NULL) == ROVING_ARGUMENT);
    CHECK(roving_for(0, 1, NULL, NULL) == ROVING_ARGUMENT);
    CHECK(roving_reduce(0, 1, NULL, NULL, NULL) == ROVING_ARGUMENT);
    CHECK(roving_scope_run(NULL, NULL) == ROVING_ARGUMENT);
    CHECK(roving_scope_spawn(NULL, NULL, NULL) == ROVING_ARGUMENT);
    CHECK(roving_scope_cancel(NULL) == ROVING_ARGUMENT);
    CHECK(roving_cancel(NULL) == ROVING_ARGUMENT);
    CHECK(roving_local_get(NULL, NULL) == ROVING_ARGUMENT);
    CHECK(roving_pool_stats(NULL, NULL) == ROVING_ARGUMENT);
    CHECK(roving_current_worker(&index) == ROVING_NOT_A_WORKER);
    CHECK(strstr(roving_error_text(ROVING_CANCELLED), "stop") != NULL);
    CHECK(roving_error_text(-1) != NULL && roving_error_text(99) != NULL);
    OK(roving_pool_free(NULL));
    OK(roving_cancel_free(NULL));
    OK(roving_local_free(NULL));
}

static void layout(void)
{
    roving_pool *pool;
    roving_layout wrong = roving_layout_;
    CHECK(roving_layout_.slot_ == sizeof(roving_slot));
    CHECK(roving_layout_.slot_ == __alignof__(roving_slot));
    CHECK(roving_layout_.slot_run_ == offsetof(roving_slot, run_));
    CHECK(roving_layout_.slot_code_ == offsetof(roving_slot, code_));
    CHECK(roving_layout_.slot_words_ == offsetof(roving_slot, words_));
    CHECK(roving_layout_.words_ == 32 && roving_layout_.words_align_ == 32);
    CHECK(roving_layout_.line_top_ == offsetof(struct roving_line, top_));
    CHECK(roving_layout_.line_push_limit_ == offsetof(struct roving_line, push_limit_));
    CHECK(roving_layout_.line_pop_limit_ == offsetof(struct roving_line, pop_limit_));
    CHECK(roving_layout_.wire_left_ == sizeof(roving_worker));
    wrong.line_pop_limit_ += 8;
    CHECK(roving_pool_new_(&wrong, NULL, &pool) == ROVING_VERSION);
    CHECK(strstr(roving_error_detail(), "different versions") != NULL);
}

struct nested {
    roving_pool *outer, *inner;
    int depth, sum;
};

ROVING_TASK(int, leaf, int, n)
{
    return n;
}

static void nest(roving_worker *roving_w_, void *arg)
{
    struct nested *nested = arg;
    /* A task of this pool is pending while the other pool calls back into this one. */
    ROVING_SPAWN(pending, leaf, 1);
    if (nested->depth-- > 0) {
        roving_pool *other = nested->depth % 2 ? nested->outer : nested->inner;
        OK(roving_pool_run(other, nest, nested));
    }
    nested->sum += ROVING_SYNC(leaf, pending);
}

static void pools(roving_pool *pool)
{
    struct nested nested = {pool, NULL, 10, 0};
    size_t index = 99;
    roving_options options = {0};
    options.workers = 1;
    options.name = "inner";
    options.profile = 1;
    options.pin = 1;
    options.stack_size = 1 << 20;
    OK(roving_pool_new_with(&options, &nested.inner));
    CHECK(roving_pool_workers(nested.inner) == 1);
    CHECK(roving_pool_workers(NULL) >= 1);
    OK(roving_pool_run(nested.inner, index_of_worker, &index));
    CHECK(index == 0);
    OK(roving_pool_run(nested.outer, nest, &nested));
    CHECK(nested.sum == 11);
    roving_stats stats;
    OK(roving_pool_stats(nested.inner, &stats));
    CHECK(stats.tasks == 5 && stats.max_depth >= 1 && stats.wall_ns > 0);
    OK(roving_pool_reset_stats(nested.inner));
    OK(roving_pool_stats(nested.inner, &stats));
    CHECK(stats.tasks == 0);
    OK(roving_pool_free(nested.inner));
}

/* ---- Scopes ---- */

struct counts {
    uint64_t ran, sum;
};

static void count(roving_worker *worker, roving_scope *scope, void *arg)
{
    struct counts *counts = arg;
    CHECK(worker == roving_here_());
    CHECK(!roving_scope_is_cancelled(scope));
    __atomic_fetch_add(&counts->ran, 1, __ATOMIC_RELAXED);
}

struct part {
    struct counts *counts;
    uint64_t number;
    char text[48];
};

static void add(roving_worker *worker, roving_scope *scope, void *arg)
{
    struct part *part = arg;
    (void)worker;
    __atomic_fetch_add(&part->counts->sum, part->number, __ATOMIC_RELAXED);
    if (part->number % 2) {
        CHECK(strcmp(part->text, "a copy that no slot has room for") == 0);
    }
    OK(roving_scope_spawn(scope, count, part->counts));
}

/* The compiler relies on the alignment of this one, as on that of memory of malloc's. */
struct lanes {
    uint64_t *sum;
    float at[2];
} __attribute__((__aligned__(16)));

static void aligned(roving_worker *worker, roving_scope *scope, void *arg)
{
    struct lanes copy, *lanes = arg;
    (void)worker, (void)scope;
    CHECK((uintptr_t)arg % 16 == 0);
    copy = *lanes;
    __atomic_fetch_add(copy.sum, (uint64_t)(copy.at[0] + copy.at[1]), __ATOMIC_RELAXED);
}

static void copies(roving_worker *worker, roving_scope *scope, void *arg)
{
    struct lanes lanes = {arg, {1, 2}};
    struct part part = {NULL, 0, ""};
    (void)worker;
    for (int i = 0; i < 100; i++) {
        OK(roving_scope_spawn_copy(scope, aligned, &lanes, sizeof(lanes)));
    }
    CHECK(roving_scope_spawn_copy(scope, add, &part, SIZE_MAX) == ROVING_MEMORY);
    CHECK(strstr(roving_error_detail(), "18446744073709551615 bytes") != NULL);
}

static void ten_thousand(roving_worker *worker, roving_scope *scope, void *arg)
{
    struct part part = {arg, 0, "a copy that no slot has room for"};
    (void)worker;
    for (part.number = 0; part.number < 10000; part.number++) {
        size_t bytes = part.number % 2 ? sizeof(part) : offsetof(struct part, text);
        OK(roving_scope_spawn_copy(scope, add, &part, bytes));
    }
}

static void never(roving_worker *worker, roving_scope *scope, void *arg)
{
    (void)worker, (void)scope, (void)arg;
    CHECK(!"dropped");
}

static void give_up(roving_worker *worker, roving_scope *scope, void *arg)
{
    (void)worker;
    OK(roving_scope_cancel(scope));
    CHECK(roving_scope_is_cancelled(scope));
    OK(roving_scope_spawn(scope, never, arg));
    OK(roving_scope_spawn_copy(scope, never, NULL, 0));
}

static void scopes(roving_worker *worker, void *arg)
{
    struct counts counts = {0, 0};
    (void)worker, (void)arg;
    OK(roving_scope_run(ten_thousand, &counts));
    CHECK(counts.ran == 10000 && counts.sum == 49995000);
    OK(roving_scope_run(give_up, NULL));
    counts.sum = 0;
    OK(roving_scope_run(copies, &counts.sum));
    CHECK(counts.sum == 300);
}

/* ---- Loops ---- */

static void mark(roving_worker *worker, size_t first, size_t end, void *arg)
{
    unsigned char *marks = arg;
    (void)worker;
    CHECK(first < end);
    for (size_t i = first; i < end; i++) {
        marks[i]++;
    }
}

/* The indices in their order, as a polynomial: not commutative. */
struct hash {
    uint64_t value, power;
};

static void hash_fold(roving_worker *worker, size_t first, size_t end, void *total, void *arg)
{
    struct hash *hash = total;
    (void)worker, (void)arg;
    for (size_t i = first; i < end; i++) {
        hash->value = hash->value * 31 + i;
        hash->power *= 31;
    }
}

static void hash_combine(void *total, const void *following, void *arg)
{
    struct hash *hash = total;
    const struct hash *next = following;
    (void)arg;
    hash->value = hash->value * next->power + next->value;
    hash->power *= next->power;
}

static void growing_fold(roving_worker *worker, size_t first, size_t end, void *total, void *arg)
{
    roving_reduction *reduction = arg;
    (void)worker, (void)first, (void)end, (void)total;
    reduction->bytes = 2 * sizeof(struct hash);
}

static void growing_combine(void *total, const void *following, void *arg)
{
    (void)total, (void)following, (void)arg;
}

static void loops(roving_worker *worker, void *arg)
{
    enum { LENGTH = 100000 };
    const struct hash nothing = {0, 1};
    roving_reduction reduction = {sizeof(struct hash), &nothing, hash_fold, hash_combine};
    struct hash serial = nothing, hash = {5, 5};
    unsigned char *marks = calloc(LENGTH, 1);
    (void)arg;
    OK(roving_for(10, LENGTH, mark, marks));
    for (size_t i = 0; i < LENGTH; i++) {
        CHECK(marks[i] == (i >= 10));
    }
    free(marks);
    OK(roving_for(5, 5, mark, NULL));
    OK(roving_for(7, 5, mark, NULL));
    hash_fold(worker, 3, LENGTH, &serial, NULL);
    OK(roving_reduce(3, LENGTH, &reduction, NULL, &hash));
    CHECK(hash.value == serial.value && hash.power == serial.power);
    OK(roving_reduce(7, 5, &reduction, NULL, &hash));
    CHECK(hash.value == 0 && hash.power == 1);
    /* What is asked for is read once. */
    roving_reduction growing = {sizeof(struct hash), &nothing, growing_fold, growing_combine};
    struct hash two[2] = {{5, 5}, {6, 6}};
    OK(roving_reduce(3, 4, &growing, &growing, two));
    CHECK(two[0].power == 1 && two[1].value == 6 && two[1].power == 6);
    reduction.bytes = SIZE_MAX;
    CHECK(roving_reduce(3, LENGTH, &reduction, NULL, &hash) == ROVING_MEMORY);
}

/* ---- Requests to stop, and calls that block ---- */

struct request {
    roving_cancel_token *cancel;
    uint64_t blocks, ended;
};

static void stop_at_once(roving_worker *worker, size_t first, size_t end, void *arg)
{
    struct request *request = arg;
    (void)worker, (void)first, (void)end;
    __atomic_fetch_add(&request->blocks, 1, __ATOMIC_RELAXED);
    OK(roving_cancel(request->cancel));
}

static void cancelled_loop(roving_worker *worker, void *arg)
{
    struct request *request = arg;
    (void)worker;
    CHECK(!roving_is_cancelled(NULL));
    CHECK(roving_for(0, 1000000000, stop_at_once, request) == ROVING_CANCELLED);
    CHECK(roving_is_cancelled(NULL) && roving_is_cancelled(request->cancel));
    OK(roving_scope_run(give_up, NULL));
    request->ended = 1;
}

static void nothing_to_do(roving_worker *worker, void *arg)
{
    (void)worker, (void)arg;
}

static void free_request(roving_worker *worker, void *arg)
{
    (void)worker;
    OK(roving_cancel_free(arg));
    CHECK(!roving_is_cancelled(NULL));
}

static void cancels(roving_worker *worker, void *arg)
{
    struct request request = {NULL, 0, 0};
    roving_cancel_token *parent, *timed;
    (void)worker, (void)arg;
    OK(roving_cancel_new(NULL, 0, &parent));
    OK(roving_cancel_new(parent, 0, &request.cancel));
    CHECK(roving_cancel_run(request.cancel, cancelled_loop, &request) == ROVING_CANCELLED);
    CHECK(request.ended && request.blocks > 0);
    CHECK(!roving_is_cancelled(parent));
    OK(roving_cancel_run(parent, nothing_to_do, NULL));
    CHECK(roving_cancel_run(request.cancel, nothing_to_do, NULL) == ROVING_CANCELLED);
    OK(roving_cancel_free(request.cancel));
    OK(roving_cancel_new(NULL, 1, &timed));
    while (!roving_is_cancelled(timed)) {
    }
    OK(roving_cancel_free(timed));
    OK(roving_cancel_new(parent, UINT64_MAX, &timed));
    CHECK(!roving_is_cancelled(timed));
    OK(roving_cancel(parent));
    CHECK(roving_is_cancelled(timed));
    OK(roving_cancel_free(timed));
    OK(roving_cancel_free(parent));
    OK(roving_cancel_new(NULL, 0, &parent));
    OK(roving_cancel_run(parent, free_request, parent));
}

struct handshake {
    int arrived;
};

static void wait_for_other(roving_worker *worker, void *arg)
{
    struct handshake *handshake = arg;
    (void)worker;
    while (!__atomic_load_n(&handshake->arrived, __ATOMIC_ACQUIRE)) {
    }
}

static void arrive(roving_worker *worker, roving_scope *scope, void *arg)
{
    struct handshake *handshake = arg;
    (void)worker, (void)scope;
    __atomic_store_n(&handshake->arrived, 1, __ATOMIC_RELEASE);
}

/* The only worker waits for a task that another thread has to run for it. */
static void block(roving_worker *worker, roving_scope *scope, void *arg)
{
    (void)worker;
    OK(roving_scope_spawn(scope, arrive, arg));
    OK(roving_blocking_run(wait_for_other, arg));
}

static void blocks(roving_worker *worker, void *arg)
{
    struct handshake handshake = {0};
    (void)worker, (void)arg;
    OK(roving_scope_run(block, &handshake));
    CHECK(handshake.arrived);
}

/* ---- One value for each worker ---- */

static uint64_t begun, ended;

static void begin_value(void *value, void *arg)
{
    CHECK(*(uint64_t *)value == 0 && (uintptr_t)value % 64 == 0);
    *(uint64_t *)value = *(uint64_t *)arg;
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
}

static void end_value(void *value, void *arg)
{
    (void)value, (void)arg;
    ended++;
}

static void add_to_local(roving_worker *worker, size_t first, size_t end, void *arg)
{
    void *value;
    (void)worker;
    OK(roving_local_get(arg, &value));
    CHECK((uintptr_t)value % 64 == 0);
    *(uint64_t *)value += end - first;
}

static void sum_value(void *value, void *arg)
{
    *(uint64_t *)arg += *(uint64_t *)value;
}

static void locals(roving_worker *worker, void *arg)
{
    roving_local *local;
    uint64_t start = 1000, sum = 0;
    (void)worker, (void)arg;
    begun = ended = 0;
    OK(roving_local_new(sizeof(uint64_t), begin_value, end_value, &start, &local));
    OK(roving_for(0, 100000, add_to_local, local));
    OK(roving_local_each(local, sum_value, &sum));
    CHECK(begun >= 1 && sum == 100000 + 1000 * begun);
    *(roving_local **)arg = local;
}

int main(void)
{
    errors();
    layout();
    for (size_t workers = 1; workers <= 3; workers++) {
        roving_pool *pool;
        roving_local *local;
        void *value;
        OK(roving_pool_new(workers, &pool));
        pools(pool);
        OK(roving_pool_run(pool, scopes, NULL));
        OK(roving_pool_run(pool, loops, NULL));
        OK(roving_pool_run(pool, cancels, NULL));
        OK(roving_pool_run(pool, blocks, NULL));
        OK(roving_pool_run(pool, locals, &local));
        CHECK(roving_local_get(local, &value) == ROVING_NOT_A_WORKER);
        OK(roving_local_free(local));
        CHECK(ended == begun);
        OK(roving_pool_free(pool));
    }
    /* On a thread that is no worker, in the global pool. */
    scopes(NULL, NULL);
    loops(NULL, NULL);
    return 0;
}
