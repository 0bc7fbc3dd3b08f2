/* Roving for C: a work-stealing runtime whose tasks cost about as much as a function call.
 *
 *     ROVING_TASK(uint64_t, fib, unsigned, n)
 *     {
 *         if (n < 2) {
 *             return n;
 *         }
 *         ROVING_SPAWN(later, fib, n - 1);
 *         uint64_t b = ROVING_CALL(fib, n - 2);
 *         uint64_t a = ROVING_SYNC(fib, later);
 *         return a + b;
 *     }
 *
 *     int main(void)
 *     {
 *         uint64_t result;
 *         roving_status status = ROVING_RUN(NULL, &result, fib, 40);
 *         if (status != ROVING_OK) {
 *             fprintf(stderr, "%s\n", roving_error_detail());
 *         }
 *     }
 *
 * C11 or C++11 and later, with gcc or clang. What ends in an underscore is not for programs.
 *
 * Panics and exceptions. No panic of Rust code comes out of a function of this header: the function
 * returns ROVING_PANIC when all that it has spawned has ended. But a panic that reaches a C function
 * which this header was given, and which has spawned tasks and not synced them, or the end of a task
 * that ROVING_SPAWN has spawned and a thief runs, ends the process, with a message. Rust code that
 * calls a C function itself must not let a panic into it while it has tasks that are not synced: there
 * nobody looks. An exception of C++ must not leave a function that is given to this header, nor a
 * task: if it does, it ends the process, and so does a panic that leaves a task which is compiled as
 * C++. roving.hpp carries exceptions to who waits. longjmp must not leave a function with tasks that
 * are not synced.
 *
 * Debug builds (without NDEBUG) say which spawn has no sync, which sync has no spawn or comes out of
 * order, with file and line, and end the process. Other builds end it when they come upon a task that
 * was left behind without a sync, but not always do.
 */
#ifndef ROVING_H
#define ROVING_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__GNUC__)
#error "roving.h needs gcc or clang"
#endif
#if UINTPTR_MAX != UINT64_MAX
#error "roving.h is for machines of 64 bits"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---------------------------------------------------------------------------------- */

typedef enum roving_status {
    ROVING_OK = 0,
    ROVING_ARGUMENT = 1,     /* an argument is out of range, or NULL where it must not be */
    ROVING_BUILD = 2,        /* the pool cannot be built */
    ROVING_PANIC = 3,        /* a panic of Rust code ended the call, after all it had spawned */
    ROVING_CANCELLED = 4,    /* a request to stop came before all was done */
    ROVING_NOT_A_WORKER = 5, /* the calling thread is no worker of the pool in question */
    ROVING_VERSION = 6,      /* header and library are of different versions */
    ROVING_MEMORY = 7        /* there is no memory */
} roving_status;

/* What a code means. Never NULL. */
const char *roving_error_text(int status);

/* What exactly was wrong with the calling thread's last call that failed: the value, and what would
 * do. Valid until its next failure. In a destructor of a C++ thread_local, or of pthread_key_create,
 * it may be empty: a thread that ends forgets it, and keeps none of what fails later. */
const char *roving_error_detail(void);

/* ---- Pools ----------------------------------------------------------------------------------- */

typedef struct roving_pool roving_pool;

/* The worker that a function runs on. Functions hand it on, tasks do so by themselves. */
typedef struct roving_line *roving_worker;

/* Where a value is 0 or NULL, the library decides. */
typedef struct roving_options {
    size_t workers;      /* 1 to 768; one for each core that the process may use */
    size_t stack_size;   /* bytes of each worker's native stack */
    size_t task_slots;   /* tasks that can wait on one worker; what does not fit runs at once */
    size_t assume_cores; /* as if the process had so many */
    int pin;             /* one worker to each processor (Linux) */
    int profile;         /* counts tasks and keeps times: a nanosecond or two for each task */
    const char *name;    /* of the threads, with their index */
} roving_options;

struct roving_layout_;
roving_status roving_pool_new_(const struct roving_layout_ *layout, const roving_options *options,
                               roving_pool **pool);

/* Ends the pool when all that was spawned in it has, and joins its threads. No other call of this
 * header may be using it, also not the one that has called the caller. NULL does nothing. */
roving_status roving_pool_free(roving_pool *pool);

/* Calls body(worker, arg) on a worker of the pool and returns when it has ended. NULL is the pool of
 * the calling worker, or else the global one, which is started by the first such call. */
roving_status roving_pool_run(const roving_pool *pool, void (*body)(roving_worker *, void *),
                              void *arg);

/* How many workers the pool has; of the current or the global one for NULL. 0 if there is no global
 * one and it cannot be started; roving_error_detail says why. */
size_t roving_pool_workers(const roving_pool *pool);

/* The index of the worker that the calling thread is; ROVING_NOT_A_WORKER if it is none. Threads that
 * stand in for workers which block have indices from roving_pool_workers on. */
roving_status roving_current_worker(size_t *index);

typedef struct roving_stats {
    uint64_t wall_ns; /* since the pool started, or roving_pool_reset_stats */
    /* Sums over the workers; 0 unless the pool was built with `profile`, and so are `tasks` and
     * `max_depth`. */
    uint64_t busy_ns, steal_ns, idle_ns;
    uint64_t tasks, tasks_stolen, steals_tried, publications, take_backs, leapfrogs, parks, wakes;
    uint64_t max_depth, tasks_dropped;
} roving_stats;

roving_status roving_pool_stats(const roving_pool *pool, roving_stats *stats);
roving_status roving_pool_reset_stats(const roving_pool *pool);

/* ---- Scopes: any number of tasks ------------------------------------------------------------- */

typedef struct roving_scope roving_scope;
typedef void (*roving_scope_task)(roving_worker *worker, roving_scope *scope, void *arg);

/* Calls body(worker, scope, arg), and returns when it and all that was spawned into the scope have
 * ended. On a thread that is no worker, the call moves to the global pool. */
roving_status roving_scope_run(roving_scope_task body, void *arg);

/* Some time before the scope ends, task(worker, scope, arg) runs, here or where it is stolen; at
 * once if the task stack is full. What `arg` leads to must be there until then. */
roving_status roving_scope_spawn(const roving_scope *scope, roving_scope_task task, void *arg);

/* The same with a copy of these bytes, which the task gets, aligned to 16. Up to 24 take no
 * allocation. */
roving_status roving_scope_spawn_copy(const roving_scope *scope, roving_scope_task task,
                                      const void *data, size_t bytes);

/* The same with an argument that somebody has to give back: if the task is dropped, because the
 * scope was cancelled, or cannot be spawned, drop(arg) is called in its place. */
roving_status roving_scope_spawn_owned(const roving_scope *scope, roving_scope_task task,
                                       void (*drop)(void *arg), void *arg);

/* Tasks that have not begun are dropped. */
roving_status roving_scope_cancel(const roving_scope *scope);
int roving_scope_is_cancelled(const roving_scope *scope);

/* ---- Loops ----------------------------------------------------------------------------------- */

/* Calls block(worker, first, end, arg) for blocks that together are the indices from `from` up to,
 * and without, `to`: perhaps at the same time, in no particular order. Blocks are as long as no
 * worker asks for a part of them; there is no grain to tune. */
roving_status roving_for(size_t from, size_t to,
                         void (*block)(roving_worker *worker, size_t first, size_t end, void *arg),
                         void *arg);

/* `fold` and `combine` get totals that are aligned to 64; `identity` need not be, nor the result. */
typedef struct roving_reduction {
    size_t bytes;         /* of a total, which may be copied by memcpy */
    const void *identity; /* the total of nothing */
    /* Adds to `total` what the indices from `first` up to, and without, `end` come to. */
    void (*fold)(roving_worker *worker, size_t first, size_t end, void *total, void *arg);
    /* Adds to `total` that of the indices that follow. Has to be associative. */
    void (*combine)(void *total, const void *following, void *arg);
} roving_reduction;

/* Reduces the indices, in their order. `reduction` is read before any of its functions is called. If
 * it fails, `result` is left alone. */
roving_status roving_reduce(size_t from, size_t to, const roving_reduction *reduction, void *arg,
                            void *result);

/* ---- Requests to stop, and calls that block -------------------------------------------------- */

typedef struct roving_cancel_token roving_cancel_token;

/* A request to stop, below `parent` unless that is NULL; it comes by itself after so many
 * nanoseconds, unless that is 0. */
roving_status roving_cancel_new(const roving_cancel_token *parent, uint64_t nanoseconds,
                                roving_cancel_token **cancel);
/* What belongs to the request goes on. */
roving_status roving_cancel_free(roving_cancel_token *cancel);
roving_status roving_cancel(const roving_cancel_token *cancel);

/* Calls body(worker, arg), here; all work inside belongs to the request. Loops end early and return
 * ROVING_CANCELLED, tasks of scopes that have not begun are dropped. ROVING_CANCELLED if the
 * request came before the body had ended. */
roving_status roving_cancel_run(const roving_cancel_token *cancel,
                                void (*body)(roving_worker *, void *), void *arg);

/* Whether that request has come; of what the calling code belongs to, for NULL. */
int roving_is_cancelled(const roving_cancel_token *cancel);

/* Calls body(worker, arg), which may block the thread: another thread works meanwhile. */
roving_status roving_blocking_run(void (*body)(roving_worker *, void *), void *arg);

/* ---- One value for each worker --------------------------------------------------------------- */

typedef struct roving_local roving_local;

/* So many bytes for each worker of the current pool (or the global one), aligned to 64, zeroed, and
 * handed to begin(value, arg) when the worker first asks; to end(value, arg) in the end. Both may be
 * NULL. */
roving_status roving_local_new(size_t bytes, void (*begin)(void *value, void *arg),
                               void (*end)(void *value, void *arg), void *arg,
                               roving_local **local);

/* The calling worker's value. A task that this worker runs while it waits gets the same one. */
roving_status roving_local_get(const roving_local *local, void **value);

/* Calls each(value, arg) for those that have been made. Nobody may use them meanwhile. */
roving_status roving_local_each(roving_local *local, void (*each)(void *value, void *arg),
                                void *arg);
roving_status roving_local_free(roving_local *local);

/* ---- Tasks: what the macros need ------------------------------------------------------------- */

#define ROVING_ALIAS_ __attribute__((__may_alias__))
/* Of slow paths. With clang they keep all registers, so that a fast path need not save any. Not where
 * an exception may leave them: its way to a handler restores only those that every function keeps. And
 * only where they return nothing: some versions keep the register of the result as well. */
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define ROVING_COLD_NOTHROW_ __attribute__((__cold__, __noinline__, __unused__, __preserve_most__))
#else
#define ROVING_COLD_NOTHROW_ __attribute__((__cold__, __noinline__, __unused__))
#endif
#ifdef __cplusplus
#define ROVING_COLD_ __attribute__((__cold__, __noinline__, __unused__))
#else
#define ROVING_COLD_ ROVING_COLD_NOTHROW_
#endif
#define ROVING_UNUSED_ __attribute__((__unused__))
/* Of inline functions and variables of C++ with something of their own: one for each library of a
 * program. Else libraries that each have a Roving in them would share it; gcc makes it one for the
 * whole process, whatever way they are loaded. */
#ifdef __ELF__
#define ROVING_HIDDEN_ __attribute__((__visibility__("hidden")))
#else
#define ROVING_HIDDEN_
#endif
/* Of tasks: the same instructions took a fifth more or less by where the compiler happened to put
 * them. */
#define ROVING_ALIGNED_ __attribute__((__aligned__(32)))
#ifdef __cplusplus
/* An exception ends the process wherever the task runs, not only where it is stolen: those that it
 * spawned may use the frames that the exception would leave. */
#define ROVING_NOEXCEPT_ noexcept
#else
#define ROVING_NOEXCEPT_
#endif
#define ROVING_LIKELY_(x) __builtin_expect(!!(x), 1)
#define ROVING_UNLIKELY_(x) __builtin_expect(!!(x), 0)

/* What is to be run when the slot has been left: two words of the library's. */
typedef struct roving_left_ {
    uint64_t kind_;
    void *at_;
} roving_left_;

/* One place of a task stack. The library fills `state_` and `link_`, which no macro touches. */
typedef struct roving_slot {
    uint64_t state_;
    roving_left_ (*run_)(struct roving_slot *); /* what a thief calls */
    struct roving_slot *link_;
    void (*code_)(roving_worker *, struct roving_slot *); /* of a coroutine */
    unsigned char words_[32];
} __attribute__((__aligned__(64))) roving_slot;

/* What a worker's push and pop read and write. Only the worker's own thread touches it: a thief that
 * wants work makes the thread's pointer lead to another line, whose limits let nothing through. */
struct roving_line {
    roving_slot *top_;         /* the first free slot */
    roving_slot *push_limit_;  /* a push below it is fast */
    roving_slot *spawn_limit_;
    roving_slot *pop_limit_;   /* a pop at or above it is fast */
};

/* The offsets above, as the library has them; compared when a program is loaded, by
 * roving_pool_new, and by a test. */
typedef struct roving_layout_ {
    size_t slot_, slot_run_, slot_code_, slot_words_, words_, words_align_;
    size_t line_top_, line_push_limit_, line_pop_limit_;
    size_t wire_left_;
} roving_layout;

extern const roving_layout roving_layout_;
void roving_check_layout_(const roving_layout *layout);
roving_worker *roving_here_(void);
roving_left_ roving_run_(roving_slot *slot, void (*code)(roving_worker *, roving_slot *));
roving_slot *roving_push_(roving_left_ (*run)(roving_slot *), const void *words);
int roving_pop_(roving_slot *slot);
void roving_keep_(const void *result, size_t bytes);
void *roving_kept_(void);
void roving_note_spawn_(uintptr_t handle, const char *name, const char *file, int line);
void roving_note_sync_(uintptr_t handle, const char *name, const char *file, int line);
size_t roving_note_enter_(void);
void roving_note_leave_(size_t before, const char *name);

/* For the coroutines of roving_task.hpp. */
extern roving_left_ (*const roving_run_tree_)(roving_slot *);
roving_status roving_tree_run_(void (*body)(roving_worker *, const void *, void *, int), void *arg);
void roving_tree_join_(const void *tree, void (*body)(roving_worker *, void *), void *arg);
int roving_tree_push_(void (*code)(roving_worker *, void *), void *const *words, int stays);
roving_slot *roving_tree_take_(void (*code)(roving_worker *, void *), uint64_t key);
roving_slot *roving_tree_top_(void);
roving_slot *roving_tree_next_(roving_slot *base);
void roving_misuse_(const char *what, const char *file, int line)
    __attribute__((__noreturn__, __cold__));

#if defined(__SANITIZE_THREAD__)
#define ROVING_TSAN_ 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ROVING_TSAN_ 1
#endif
#endif
#ifdef ROVING_TSAN_
/* The library is not instrumented: ThreadSanitizer is told of the edges that it does not see. */
void __tsan_acquire(void *at);
void __tsan_release(void *at);
#define ROVING_ACQUIRE_(at) __tsan_acquire((void *)(at))
#define ROVING_RELEASE_(at) __tsan_release((void *)(at))
#else
#define ROVING_ACQUIRE_(at) ((void)0)
#define ROVING_RELEASE_(at) ((void)0)
#endif

#ifdef NDEBUG
#define ROVING_NOTE_ENTER_() ((size_t)0)
#define ROVING_NOTE_LEAVE_(before, name) ((void)(before))
#else
#define ROVING_NOTE_ENTER_() roving_note_enter_()
#define ROVING_NOTE_LEAVE_(before, name) roving_note_leave_(before, name)
#endif

/* The line that the thread's pointer leads to now.
 *
 * The load is atomic because a thief may store the address of the alarm there at any time. It is
 * relaxed, as Rust's is: what an alarm means stands in a word that the library reads with an
 * acquire, on the slow path that the alarm leads to; and both lines can be read at any time. */
static inline struct roving_line *roving_line_of_(roving_worker *worker)
{
    return __atomic_load_n(worker, __ATOMIC_RELAXED);
}

/* Behind the thread's pointer to its line stands a word of its own, in which a slow path leaves where
 * its result is. A result by address would give a frame to who calls it, on the fast path too. */
static inline void roving_leave_(roving_worker *worker, void *at)
{
    worker[1] = (roving_worker)at;
}

static inline void *roving_take_left_(roving_worker *worker)
{
    return (void *)worker[1];
}

/* Whether the slot at the top can be pushed with nothing else to be done: there is a worker, there is
 * room, enough tasks are public, and no thief asks.
 *
 * The slot is then private: it lies above the split line, which this thread alone moves, so nobody
 * else touches it, and plain stores do. Thieves come to see them when the library makes the task
 * public, on a slow path of this thread: by a compare-and-swap with release, which the thief's claim
 * meets with an acquire. Nothing is ordered here, and so no store needs to be. */
static inline int roving_can_push_(const struct roving_line *line)
{
    return (uintptr_t)line->top_ < (uintptr_t)line->push_limit_;
}

/* Whether the task in this slot, the newest, can be popped with nothing else to be done: it is
 * private, so no thief has it or can claim it; nothing spawned lies above it; and no thief asks.
 * Plain loads, for the reason above. A slot that is NULL, of a task that was run in place, is below
 * every limit. */
static inline int roving_can_pop_(const struct roving_line *line, const roving_slot *slot)
{
    return (uintptr_t)slot >= (uintptr_t)line->pop_limit_;
}

/* The layout that this header believes in. */
static inline const roving_layout *roving_own_layout_(void)
{
    static const roving_layout layout = {
        sizeof(roving_slot),
        offsetof(roving_slot, run_),
        offsetof(roving_slot, code_),
        offsetof(roving_slot, words_),
        sizeof(((roving_slot *)0)->words_),
        32,
        offsetof(struct roving_line, top_),
        offsetof(struct roving_line, push_limit_),
        offsetof(struct roving_line, pop_limit_),
        sizeof(roving_worker),
    };
    return &layout;
}

/* When the program, or the library that this file belongs to, is loaded: tasks use the task stack
 * also where no pool is made, on the global one. Ends the process if the layouts differ. */
__attribute__((__constructor__)) static void roving_check_header_(void)
{
    roving_check_layout_(roving_own_layout_());
}

static inline roving_status roving_pool_new_with(const roving_options *options, roving_pool **pool)
{
    return roving_pool_new_(roving_own_layout_(), options, pool);
}

/* Creates a pool with so many workers; 0: one for each core that the process may use. */
static inline roving_status roving_pool_new(size_t workers, roving_pool **pool)
{
    roving_options options = {0, 0, 0, 0, 0, 0, NULL};
    options.workers = workers;
    return roving_pool_new_with(&options, pool);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

/* ---- Tasks: the macros ----------------------------------------------------------------------- */

/* ROVING_TASK(result, name, type, argument, type, argument, ...) { ... }
 *
 * Defines a task of up to eight arguments, visible in this file. It is used by
 *
 *     ROVING_CALL(name, arguments...)             a call
 *     ROVING_SPAWN(handle, name, arguments...)    from now on another worker may run it; declares
 *                                                 `handle`, of the type name_spawned
 *     ROVING_SYNC(name, handle)                   its result: runs it, or waits for who does
 *     ROVING_RUN(pool, &result, name, args...)    a call from outside, on a worker of the pool
 *
 * Each spawn has one sync in the same function, the newest first. Types are plain data; a type of
 * several words (an array, a pointer to a function) needs a typedef. ROVING_VOID_TASK(name, ...) is
 * one without result; ROVING_RUN takes NULL for it. Arguments of up to 32 bytes in all, and results
 * of as many, live in the task stack; larger ones in the frame of the spawner.
 *
 * A function that is no task calls, spawns and syncs as well, behind ROVING_HERE; in its body.
 *
 * ROVING_DECLARE_TASK(result, name, ...);  in a header, and in front of tasks that call each other
 * ROVING_DEFINE_TASK(result, name, ...) { ... }  in one file
 */
#define ROVING_TASK(R, ...) \
    ROVING_LISTS_(ROVING_MAKE_TASK_, static inline, R, __VA_ARGS__) \
    ROVING_LISTS_(ROVING_MAKE_BODY_, static inline, R, __VA_ARGS__)
#define ROVING_DECLARE_TASK(R, ...) \
    ROVING_LISTS_(ROVING_MAKE_TASK_, extern, R, __VA_ARGS__) \
    struct roving_semicolon_
#define ROVING_DEFINE_TASK(R, ...) ROVING_LISTS_(ROVING_MAKE_BODY_, , R, __VA_ARGS__)
#define ROVING_VOID_TASK(...) \
    ROVING_LISTS_(ROVING_MAKE_VOID_TASK_, static, void, __VA_ARGS__) \
    ROVING_LISTS_(ROVING_MAKE_BODY_, static, void, __VA_ARGS__)
#define ROVING_DECLARE_VOID_TASK(...) \
    ROVING_LISTS_(ROVING_MAKE_VOID_TASK_, extern, void, __VA_ARGS__) \
    struct roving_semicolon_
#define ROVING_DEFINE_VOID_TASK(...) ROVING_LISTS_(ROVING_MAKE_BODY_, , void, __VA_ARGS__)

#define ROVING_HERE roving_worker *roving_w_ ROVING_UNUSED_ = roving_here_()

#define ROVING_SPAWN(...) ROVING_PICK_SPAWN_(__VA_ARGS__)(__VA_ARGS__)
#define ROVING_SPAWN_0_(H, N) \
    N##_spawned H; \
    ROVING_SPAWN_AT_0_(N, &H)
#define ROVING_SPAWN_N_(H, N, ...) \
    N##_spawned H; \
    ROVING_SPAWN_AT_N_(N, &H, __VA_ARGS__)

/* ROVING_SPAWN_AT(name, &handle, arguments...): with a handle that is there, as one of an array. */
#define ROVING_SPAWN_AT(...) ROVING_PICK_SPAWN_AT_(__VA_ARGS__)(__VA_ARGS__)
/* The notes of debug builds are made by functions: what the program writes here is evaluated once, and
 * before its note is made, because it may spawn and sync as well. */
#ifdef NDEBUG
#define ROVING_SPAWN_AT_0_(N, AT) N##_spawn_(roving_w_, AT)
#define ROVING_SPAWN_AT_N_(N, AT, ...) N##_spawn_(roving_w_, AT, __VA_ARGS__)
#define ROVING_SYNC(N, H) N##_sync_(roving_w_, &(H))
#else
#define ROVING_SPAWN_AT_0_(N, AT) N##_spawn_noted_(__FILE__, __LINE__, roving_w_, AT)
#define ROVING_SPAWN_AT_N_(N, AT, ...) \
    N##_spawn_noted_(__FILE__, __LINE__, roving_w_, AT, __VA_ARGS__)
#define ROVING_SYNC(N, H) N##_sync_noted_(__FILE__, __LINE__, roving_w_, &(H))
#endif

#define ROVING_CALL(...) ROVING_PICK_CALL_(__VA_ARGS__)(__VA_ARGS__)
#define ROVING_CALL_0_(N) N##_call_(roving_w_)
#define ROVING_CALL_N_(N, ...) N##_call_(roving_w_, __VA_ARGS__)

#define ROVING_RUN(POOL, ...) ROVING_PICK_RUN_(__VA_ARGS__)(POOL, __VA_ARGS__)
#define ROVING_RUN_0_(POOL, RESULT, N) N##_pool_run_(POOL, RESULT)
#define ROVING_RUN_N_(POOL, RESULT, N, ...) N##_pool_run_(POOL, RESULT, __VA_ARGS__)

/* Which of two: whether there are arguments behind those that are always there. */
#define ROVING_TENTH_(a, b, c, d, e, f, g, h, i, j, ...) j
#define ROVING_ELEVENTH_(a, b, c, d, e, f, g, h, i, j, k, ...) k
#define ROVING_PICK_CALL_(...) \
    ROVING_TENTH_(__VA_ARGS__, ROVING_CALL_N_, ROVING_CALL_N_, ROVING_CALL_N_, ROVING_CALL_N_, \
                  ROVING_CALL_N_, ROVING_CALL_N_, ROVING_CALL_N_, ROVING_CALL_N_, ROVING_CALL_0_, \
                  roving_none_)
#define ROVING_PICK_SPAWN_(...) \
    ROVING_ELEVENTH_(__VA_ARGS__, ROVING_SPAWN_N_, ROVING_SPAWN_N_, ROVING_SPAWN_N_, \
                     ROVING_SPAWN_N_, ROVING_SPAWN_N_, ROVING_SPAWN_N_, ROVING_SPAWN_N_, \
                     ROVING_SPAWN_N_, \
                     ROVING_SPAWN_0_, roving_none_)
#define ROVING_PICK_SPAWN_AT_(...) \
    ROVING_ELEVENTH_(__VA_ARGS__, ROVING_SPAWN_AT_N_, ROVING_SPAWN_AT_N_, \
                     ROVING_SPAWN_AT_N_, ROVING_SPAWN_AT_N_, \
                     ROVING_SPAWN_AT_N_, ROVING_SPAWN_AT_N_, ROVING_SPAWN_AT_N_, ROVING_SPAWN_AT_N_, \
                     ROVING_SPAWN_AT_0_, roving_none_)
#define ROVING_PICK_RUN_(...) \
    ROVING_ELEVENTH_(__VA_ARGS__, ROVING_RUN_N_, ROVING_RUN_N_, ROVING_RUN_N_, ROVING_RUN_N_, \
                     ROVING_RUN_N_, ROVING_RUN_N_, ROVING_RUN_N_, ROVING_RUN_N_, \
                     ROVING_RUN_0_, roving_none_)

/* MAKE(LINK, R, N, (fields), (parameters), (stores), (arguments), (loads)), by the number of types
 * and names behind R and N. */
#define ROVING_EIGHTEENTH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, ...) r
#define ROVING_LISTS_(MAKE, LINK, R, ...) \
    ROVING_EIGHTEENTH_(__VA_ARGS__, ROVING_LISTS_8_, roving_odd_, ROVING_LISTS_7_, roving_odd_, \
                       ROVING_LISTS_6_, roving_odd_, ROVING_LISTS_5_, roving_odd_, \
                       ROVING_LISTS_4_, roving_odd_, ROVING_LISTS_3_, roving_odd_, \
                       ROVING_LISTS_2_, roving_odd_, ROVING_LISTS_1_, roving_odd_, \
                       ROVING_LISTS_0_, roving_none_) \
    (MAKE, LINK, R, __VA_ARGS__)
#define ROVING_BARE_(...) __VA_ARGS__
#define ROVING_LISTS_0_(MAKE, LINK, R, N) \
    MAKE(LINK, R, N, (char roving_none_;), (), (roving_at_->roving_none_ = 0;), (), ())
#define ROVING_LISTS_1_(MAKE, LINK, R, N, T1, A1) \
    MAKE(LINK, R, N, (T1 A1;), (, T1 A1), (roving_at_->A1 = A1;), (, A1), (, roving_at_->A1))
#define ROVING_LISTS_2_(MAKE, LINK, R, N, T1, A1, T2, A2) \
    MAKE(LINK, R, N, (T1 A1; T2 A2;), (, T1 A1, T2 A2), (roving_at_->A1 = A1; roving_at_->A2 = \
        A2;), (, A1, A2), (, roving_at_->A1, roving_at_->A2))
#define ROVING_LISTS_3_(MAKE, LINK, R, N, T1, A1, T2, A2, T3, A3) \
    MAKE(LINK, R, N, (T1 A1; T2 A2; T3 A3;), (, T1 A1, T2 A2, T3 A3), (roving_at_->A1 = A1; \
        roving_at_->A2 = A2; roving_at_->A3 = A3;), (, A1, A2, A3), (, roving_at_->A1, \
        roving_at_->A2, roving_at_->A3))
#define ROVING_LISTS_4_(MAKE, LINK, R, N, T1, A1, T2, A2, T3, A3, T4, A4) \
    MAKE(LINK, R, N, (T1 A1; T2 A2; T3 A3; T4 A4;), (, T1 A1, T2 A2, T3 A3, T4 A4), \
        (roving_at_->A1 = A1; roving_at_->A2 = A2; roving_at_->A3 = A3; roving_at_->A4 = A4;), \
        (, A1, A2, A3, A4), (, roving_at_->A1, roving_at_->A2, roving_at_->A3, roving_at_->A4))
#define ROVING_LISTS_5_(MAKE, LINK, R, N, T1, A1, T2, A2, T3, A3, T4, A4, T5, A5) \
    MAKE(LINK, R, N, (T1 A1; T2 A2; T3 A3; T4 A4; T5 A5;), (, T1 A1, T2 A2, T3 A3, T4 A4, T5 \
        A5), (roving_at_->A1 = A1; roving_at_->A2 = A2; roving_at_->A3 = A3; roving_at_->A4 = \
        A4; roving_at_->A5 = A5;), (, A1, A2, A3, A4, A5), (, roving_at_->A1, roving_at_->A2, \
        roving_at_->A3, roving_at_->A4, roving_at_->A5))
#define ROVING_LISTS_6_(MAKE, LINK, R, N, T1, A1, T2, A2, T3, A3, T4, A4, T5, A5, T6, A6) \
    MAKE(LINK, R, N, (T1 A1; T2 A2; T3 A3; T4 A4; T5 A5; T6 A6;), (, T1 A1, T2 A2, T3 A3, T4 A4, \
        T5 A5, T6 A6), (roving_at_->A1 = A1; roving_at_->A2 = A2; roving_at_->A3 = A3; \
        roving_at_->A4 = A4; roving_at_->A5 = A5; roving_at_->A6 = A6;), (, A1, A2, A3, A4, A5, \
        A6), (, roving_at_->A1, roving_at_->A2, roving_at_->A3, roving_at_->A4, roving_at_->A5, \
        roving_at_->A6))
#define ROVING_LISTS_7_(MAKE, LINK, R, N, T1, A1, T2, A2, T3, A3, T4, A4, T5, A5, T6, A6, T7, \
        A7) \
    MAKE(LINK, R, N, (T1 A1; T2 A2; T3 A3; T4 A4; T5 A5; T6 A6; T7 A7;), (, T1 A1, T2 A2, T3 A3, \
        T4 A4, T5 A5, T6 A6, T7 A7), (roving_at_->A1 = A1; roving_at_->A2 = A2; roving_at_->A3 = \
        A3; roving_at_->A4 = A4; roving_at_->A5 = A5; roving_at_->A6 = A6; roving_at_->A7 = \
        A7;), (, A1, A2, A3, A4, A5, A6, A7), (, roving_at_->A1, roving_at_->A2, roving_at_->A3, \
        roving_at_->A4, roving_at_->A5, roving_at_->A6, roving_at_->A7))
#define ROVING_LISTS_8_(MAKE, LINK, R, N, T1, A1, T2, A2, T3, A3, T4, A4, T5, A5, T6, A6, T7, \
        A7, T8, A8) \
    MAKE(LINK, R, N, (T1 A1; T2 A2; T3 A3; T4 A4; T5 A5; T6 A6; T7 A7; T8 A8;), (, T1 A1, T2 A2, \
        T3 A3, T4 A4, T5 A5, T6 A6, T7 A7, T8 A8), (roving_at_->A1 = A1; roving_at_->A2 = A2; \
        roving_at_->A3 = A3; roving_at_->A4 = A4; roving_at_->A5 = A5; roving_at_->A6 = A6; \
        roving_at_->A7 = A7; roving_at_->A8 = A8;), (, A1, A2, A3, A4, A5, A6, A7, A8), (, \
        roving_at_->A1, roving_at_->A2, roving_at_->A3, roving_at_->A4, roving_at_->A5, \
        roving_at_->A6, roving_at_->A7, roving_at_->A8))

/* What tasks with a result and those without have alike. The task's content is defined before. */
#define ROVING_MAKE_PLACE_(N) \
    /* Whether both fit into a slot. */ \
    enum { \
        N##_fits_ = sizeof(union N##_content_) <= 32 && __alignof__(union N##_content_) <= 32, \
        N##_spill_ = N##_fits_ ? 1 : sizeof(union N##_content_) \
    }; \
    typedef struct N##_spawned { \
        roving_slot *slot_; \
        unsigned char spill_[N##_spill_] __attribute__((__aligned__( \
            N##_fits_ ? 1 : __alignof__(union N##_content_)))); \
    } N##_spawned; \
    /* Where arguments and result are: in the slot, or in the handle, whose address it has. */ \
    ROVING_UNUSED_ static inline void *N##_content_of_(roving_slot *roving_slot_) \
    { \
        void *roving_at_ = roving_slot_->words_; \
        return N##_fits_ ? roving_at_ : *(void *ROVING_ALIAS_ *)roving_at_; \
    }

/* A spawn of either; its slow half is defined before. */
#define ROVING_MAKE_SPAWN_(N, PARAMS, STORES, ARGS) \
    ROVING_UNUSED_ static inline void N##_spawn_(roving_worker *roving_w_, \
                                                 N##_spawned *roving_h_ ROVING_BARE_ PARAMS) \
    { \
        struct roving_line *roving_line_ = roving_line_of_(roving_w_); \
        void *roving_spill_ = N##_fits_ ? NULL : (void *)roving_h_->spill_; \
        if (ROVING_LIKELY_(roving_can_push_(roving_line_))) { \
            roving_slot *roving_slot_ = roving_line_->top_; \
            void *roving_to_ = N##_fits_ ? (void *)roving_slot_->words_ : roving_spill_; \
            struct N##_args_ *roving_at_ = (struct N##_args_ *)roving_to_; \
            ROVING_BARE_ STORES \
            if (!N##_fits_) { \
                *(void *ROVING_ALIAS_ *)(void *)roving_slot_->words_ = roving_spill_; \
            } \
            roving_slot_->run_ = N##_stolen_; \
            ROVING_RELEASE_(roving_slot_); \
            roving_line_->top_ = roving_slot_ + 1; \
            roving_h_->slot_ = roving_slot_; \
        } else { \
            N##_spawn_slowly_(roving_w_, roving_spill_ ROVING_BARE_ ARGS); \
            roving_h_->slot_ = (roving_slot *)roving_take_left_(roving_w_); \
        } \
    } \
    /* Of debug builds: a spawn that says where it stands. */ \
    ROVING_UNUSED_ static inline void N##_spawn_noted_( \
        const char *roving_file_, int roving_place_, roving_worker *roving_w_, \
        N##_spawned *roving_h_ ROVING_BARE_ PARAMS) \
    { \
        roving_note_spawn_((uintptr_t)roving_h_, "ROVING_SPAWN of " #N, roving_file_, \
                           roving_place_); \
        N##_spawn_(roving_w_, roving_h_ ROVING_BARE_ ARGS); \
    }

#define ROVING_MAKE_TASK_(LINK, R, N, FIELDS, PARAMS, STORES, ARGS, LOADS) \
    struct N##_args_ { \
        ROVING_BARE_ FIELDS \
    } ROVING_ALIAS_; \
    struct N##_result_ { \
        R value_; \
    } ROVING_ALIAS_; \
    union N##_content_ { \
        struct N##_args_ args_; \
        struct N##_result_ result_; \
    }; \
    ROVING_MAKE_PLACE_(N) \
    ROVING_ALIGNED_ LINK R N##_body_(roving_worker *roving_w_ ROVING_BARE_ PARAMS); \
    ROVING_UNUSED_ static inline R N##_call_(roving_worker *roving_w_ ROVING_BARE_ PARAMS) \
        ROVING_NOEXCEPT_ \
    { \
        size_t roving_before_ = ROVING_NOTE_ENTER_(); \
        R roving_result_ = N##_body_(roving_w_ ROVING_BARE_ ARGS); \
        ROVING_NOTE_LEAVE_(roving_before_, #N); \
        return roving_result_; \
    } \
    /* What a thief runs. All arguments are read before the result takes their place. */ \
    ROVING_UNUSED_ static void N##_run_(roving_worker *roving_w_, roving_slot *roving_slot_) \
    { \
        ROVING_ACQUIRE_(roving_slot_); \
        ROVING_ACQUIRE_(&roving_layout_); \
        { \
            struct N##_args_ *roving_at_ = (struct N##_args_ *)N##_content_of_(roving_slot_); \
            (void)roving_at_; \
            R roving_result_ = N##_call_(roving_w_ ROVING_BARE_ LOADS); \
            ((struct N##_result_ *)(void *)roving_at_)->value_ = roving_result_; \
        } \
        ROVING_RELEASE_(roving_slot_); \
    } \
    ROVING_UNUSED_ static roving_left_ N##_stolen_(roving_slot *roving_slot_) \
    { \
        return roving_run_(roving_slot_, N##_run_); \
    } \
    /* Nothing of the fast path goes by address: it would be in memory there too. */ \
    ROVING_COLD_ static void N##_spawn_slowly_(roving_worker *roving_w_, \
                                               void *roving_spill_ ROVING_BARE_ PARAMS) \
    { \
        unsigned char roving_words_[32] __attribute__((__aligned__(32))) = {0}; \
        void *roving_to_ = N##_fits_ ? (void *)roving_words_ : roving_spill_; \
        struct N##_args_ *roving_at_ = (struct N##_args_ *)roving_to_; \
        roving_slot *roving_slot_; \
        ROVING_BARE_ STORES \
        if (!N##_fits_) { \
            *(void *ROVING_ALIAS_ *)(void *)roving_words_ = roving_spill_; \
        } \
        ROVING_RELEASE_(&roving_layout_); \
        roving_slot_ = roving_push_(N##_stolen_, roving_words_); \
        if (roving_slot_ == NULL) { \
            R roving_result_ = N##_call_(roving_w_ ROVING_BARE_ ARGS); \
            if (N##_fits_) { \
                roving_keep_(&roving_result_, sizeof(roving_result_)); \
            } else { \
                ((struct N##_result_ *)roving_spill_)->value_ = roving_result_; \
            } \
        } \
        roving_leave_(roving_w_, roving_slot_); \
    } \
    ROVING_MAKE_SPAWN_(N, PARAMS, STORES, ARGS) \
    /* Leaves the result where the arguments were, or a thief has left it. */ \
    ROVING_COLD_ static void N##_sync_slowly_(roving_worker *roving_w_, roving_slot *roving_slot_, \
                                              void *roving_spill_) \
    { \
        void *roving_to_ = roving_spill_; \
        if (roving_slot_ != NULL) { \
            roving_to_ = N##_fits_ ? (void *)roving_slot_->words_ : roving_spill_; \
            if (roving_pop_(roving_slot_)) { \
                struct N##_args_ *roving_at_ = (struct N##_args_ *)roving_to_; \
                (void)roving_at_; \
                R roving_result_ = N##_call_(roving_w_ ROVING_BARE_ LOADS); \
                ((struct N##_result_ *)roving_to_)->value_ = roving_result_; \
            } else { \
                ROVING_ACQUIRE_(roving_slot_); \
            } \
        } else if (N##_fits_) { \
            roving_to_ = roving_kept_(); \
        } \
        roving_leave_(roving_w_, roving_to_); \
    } \
    ROVING_UNUSED_ static inline R N##_sync_(roving_worker *roving_w_, N##_spawned *roving_h_) \
    { \
        struct roving_line *roving_line_ = roving_line_of_(roving_w_); \
        roving_slot *roving_slot_ = roving_h_->slot_; \
        void *roving_spill_ = N##_fits_ ? NULL : (void *)roving_h_->spill_; \
        if (ROVING_LIKELY_(roving_can_pop_(roving_line_, roving_slot_))) { \
            void *roving_to_ = N##_fits_ ? (void *)roving_slot_->words_ : roving_spill_; \
            struct N##_args_ *roving_at_ = (struct N##_args_ *)roving_to_; \
            (void)roving_at_; \
            roving_line_->top_ = roving_slot_; \
            return N##_call_(roving_w_ ROVING_BARE_ LOADS); \
        } \
        N##_sync_slowly_(roving_w_, roving_slot_, roving_spill_); \
        return ((struct N##_result_ *)roving_take_left_(roving_w_))->value_; \
    } \
    /* The same of a sync. */ \
    ROVING_UNUSED_ static inline R N##_sync_noted_(const char *roving_file_, int roving_place_, \
                                                    roving_worker *roving_w_, \
                                                    N##_spawned *roving_h_) \
    { \
        roving_note_sync_((uintptr_t)roving_h_, "ROVING_SYNC of " #N, roving_file_, roving_place_); \
        return N##_sync_(roving_w_, roving_h_); \
    } \
    struct N##_root_ { \
        struct N##_args_ args_; \
        R result_; \
    }; \
    ROVING_UNUSED_ static void N##_root_run_(roving_worker *roving_w_, void *roving_arg_) \
    { \
        struct N##_root_ *roving_root_ = (struct N##_root_ *)roving_arg_; \
        struct N##_args_ *roving_at_ = &roving_root_->args_; \
        (void)roving_at_; \
        ROVING_ACQUIRE_(roving_root_); \
        roving_root_->result_ = N##_call_(roving_w_ ROVING_BARE_ LOADS); \
        ROVING_RELEASE_(roving_root_); \
    } \
    ROVING_UNUSED_ static inline roving_status N##_pool_run_( \
        const roving_pool *roving_pool_, R *roving_result_ ROVING_BARE_ PARAMS) \
    { \
        struct N##_root_ roving_root_; \
        struct N##_args_ *roving_at_ = &roving_root_.args_; \
        roving_status roving_status_; \
        ROVING_BARE_ STORES \
        ROVING_RELEASE_(&roving_root_); \
        roving_status_ = roving_pool_run(roving_pool_, N##_root_run_, &roving_root_); \
        ROVING_ACQUIRE_(&roving_root_); \
        if (roving_status_ == ROVING_OK && roving_result_ != NULL) { \
            *roving_result_ = roving_root_.result_; \
        } \
        return roving_status_; \
    }

#define ROVING_MAKE_VOID_TASK_(LINK, R, N, FIELDS, PARAMS, STORES, ARGS, LOADS) \
    struct N##_args_ { \
        ROVING_BARE_ FIELDS \
    } ROVING_ALIAS_; \
    union N##_content_ { \
        struct N##_args_ args_; \
    }; \
    ROVING_MAKE_PLACE_(N) \
    ROVING_ALIGNED_ LINK void N##_body_(roving_worker *roving_w_ ROVING_BARE_ PARAMS); \
    ROVING_UNUSED_ static inline void N##_call_(roving_worker *roving_w_ ROVING_BARE_ PARAMS) \
        ROVING_NOEXCEPT_ \
    { \
        size_t roving_before_ = ROVING_NOTE_ENTER_(); \
        N##_body_(roving_w_ ROVING_BARE_ ARGS); \
        ROVING_NOTE_LEAVE_(roving_before_, #N); \
    } \
    /* What a thief runs. All arguments are read before the result takes their place. */ \
    ROVING_UNUSED_ static void N##_run_(roving_worker *roving_w_, roving_slot *roving_slot_) \
    { \
        ROVING_ACQUIRE_(roving_slot_); \
        ROVING_ACQUIRE_(&roving_layout_); \
        { \
            struct N##_args_ *roving_at_ = (struct N##_args_ *)N##_content_of_(roving_slot_); \
            (void)roving_at_; \
            N##_call_(roving_w_ ROVING_BARE_ LOADS); \
        } \
        ROVING_RELEASE_(roving_slot_); \
    } \
    ROVING_UNUSED_ static roving_left_ N##_stolen_(roving_slot *roving_slot_) \
    { \
        return roving_run_(roving_slot_, N##_run_); \
    } \
    /* Nothing of the fast path goes by address: it would be in memory there too. */ \
    ROVING_COLD_ static void N##_spawn_slowly_(roving_worker *roving_w_, \
                                               void *roving_spill_ ROVING_BARE_ PARAMS) \
    { \
        unsigned char roving_words_[32] __attribute__((__aligned__(32))) = {0}; \
        void *roving_to_ = N##_fits_ ? (void *)roving_words_ : roving_spill_; \
        struct N##_args_ *roving_at_ = (struct N##_args_ *)roving_to_; \
        roving_slot *roving_slot_; \
        ROVING_BARE_ STORES \
        if (!N##_fits_) { \
            *(void *ROVING_ALIAS_ *)(void *)roving_words_ = roving_spill_; \
        } \
        ROVING_RELEASE_(&roving_layout_); \
        roving_slot_ = roving_push_(N##_stolen_, roving_words_); \
        if (roving_slot_ == NULL) { \
            N##_call_(roving_w_ ROVING_BARE_ ARGS); \
        } \
        roving_leave_(roving_w_, roving_slot_); \
    } \
    ROVING_MAKE_SPAWN_(N, PARAMS, STORES, ARGS) \
    ROVING_COLD_ static void N##_sync_slowly_(roving_worker *roving_w_, roving_slot *roving_slot_, \
                                            void *roving_spill_) \
    { \
        if (roving_slot_ != NULL) { \
            if (roving_pop_(roving_slot_)) { \
                void *roving_to_ = N##_fits_ ? (void *)roving_slot_->words_ : roving_spill_; \
                struct N##_args_ *roving_at_ = (struct N##_args_ *)roving_to_; \
                (void)roving_at_; \
                N##_call_(roving_w_ ROVING_BARE_ LOADS); \
            } else { \
                ROVING_ACQUIRE_(roving_slot_); \
            } \
        } \
    } \
    ROVING_UNUSED_ static inline void N##_sync_(roving_worker *roving_w_, N##_spawned *roving_h_) \
    { \
        struct roving_line *roving_line_ = roving_line_of_(roving_w_); \
        roving_slot *roving_slot_ = roving_h_->slot_; \
        void *roving_spill_ = N##_fits_ ? NULL : (void *)roving_h_->spill_; \
        if (ROVING_LIKELY_(roving_can_pop_(roving_line_, roving_slot_))) { \
            void *roving_to_ = N##_fits_ ? (void *)roving_slot_->words_ : roving_spill_; \
            struct N##_args_ *roving_at_ = (struct N##_args_ *)roving_to_; \
            (void)roving_at_; \
            roving_line_->top_ = roving_slot_; \
            N##_call_(roving_w_ ROVING_BARE_ LOADS); \
        } else { \
            N##_sync_slowly_(roving_w_, roving_slot_, roving_spill_); \
        } \
    } \
    /* The same of a sync. */ \
    ROVING_UNUSED_ static inline void N##_sync_noted_(const char *roving_file_, int roving_place_, \
                                                    roving_worker *roving_w_, \
                                                    N##_spawned *roving_h_) \
    { \
        roving_note_sync_((uintptr_t)roving_h_, "ROVING_SYNC of " #N, roving_file_, roving_place_); \
        N##_sync_(roving_w_, roving_h_); \
    } \
    struct N##_root_ { \
        struct N##_args_ args_; \
    }; \
    ROVING_UNUSED_ static void N##_root_run_(roving_worker *roving_w_, void *roving_arg_) \
    { \
        struct N##_root_ *roving_root_ = (struct N##_root_ *)roving_arg_; \
        struct N##_args_ *roving_at_ = &roving_root_->args_; \
        (void)roving_at_; \
        ROVING_ACQUIRE_(roving_root_); \
        N##_call_(roving_w_ ROVING_BARE_ LOADS); \
        ROVING_RELEASE_(roving_root_); \
    } \
    ROVING_UNUSED_ static inline roving_status N##_pool_run_( \
        const roving_pool *roving_pool_, const void *roving_result_ ROVING_BARE_ PARAMS) \
    { \
        struct N##_root_ roving_root_; \
        struct N##_args_ *roving_at_ = &roving_root_.args_; \
        roving_status roving_status_; \
        ROVING_BARE_ STORES \
        ROVING_RELEASE_(&roving_root_); \
        roving_status_ = roving_pool_run(roving_pool_, N##_root_run_, &roving_root_); \
        ROVING_ACQUIRE_(&roving_root_); \
        (void)roving_result_; \
        return roving_status_; \
    }

#define ROVING_MAKE_BODY_(LINK, R, N, FIELDS, PARAMS, STORES, ARGS, LOADS) \
    LINK R N##_body_(ROVING_UNUSED_ roving_worker *roving_w_ ROVING_BARE_ PARAMS)

#endif
