/* The calls that compilers since GCC 13 make, and the functions that came with them; the compiler
   that is there may have no word for them. */
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void GOMP_task(void (*code)(void *), void *data, void (*copy)(void *, void *), long size,
                      long align, bool may_wait, unsigned flags, void **depend, int priority,
                      void *detach);
extern void GOMP_taskwait_depend_nowait(void **depend);
extern void *GOMP_target_map_indirect_ptr(void *code);
extern void *GOMP_alloc(size_t alignment, size_t size, uintptr_t allocator);
extern void GOMP_free(void *at, uintptr_t allocator);
extern void GOMP_add_alloc(void *at);
extern bool GOMP_is_alloc(void *at);
extern int omp_in_explicit_task(void);
extern void *omp_get_mapped_ptr(const void *at, int device);
extern int omp_target_is_accessible(const void *at, size_t size, int device);
extern int omp_target_memcpy_async(void *to, const void *from, size_t length, size_t to_begin,
                                   size_t from_begin, int to_device, int from_device, int objects,
                                   omp_depend_t *list);
extern int omp_target_memcpy_rect_async(void *to, const void *from, size_t element, int dimensions,
                                        const size_t *volume, const size_t *to_begin,
                                        const size_t *from_begin, const size_t *to_counts,
                                        const size_t *from_counts, int to_device, int from_device,
                                        int objects, omp_depend_t *list);

enum { DEPEND = 8, ROUNDS = 50 };

static int a, b, seen;

static void sets_a(void *unused)
{
    (void)unused;
    usleep(300);
    a++;
}

static void sets_b(void *unused)
{
    (void)unused;
    usleep(100);
    b++;
}

static void looks(void *turn)
{
    seen += a == *(int *)turn + 1 && b == *(int *)turn + 1;
}

/* A `taskwait` that nobody waits for, but what depends on the same. */
static void not_waited(void)
{
    static int end;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int turn = 0; turn < ROUNDS; turn++) {
        void *on_a[] = {(void *)1, (void *)1, &a}, *on_b[] = {(void *)1, (void *)1, &b};
        GOMP_task(sets_a, NULL, NULL, 0, 1, true, DEPEND, on_a, 0, NULL);
        GOMP_task(sets_b, NULL, NULL, 0, 1, true, DEPEND, on_b, 0, NULL);
        void *both[] = {(void *)3, (void *)3, &a, &b, &end};
        GOMP_taskwait_depend_nowait(both);
        void *after[] = {(void *)1, (void *)0, &end};
        GOMP_task(looks, &turn, NULL, sizeof turn, sizeof turn, true, DEPEND, after, 0, NULL);
#pragma omp taskwait
    }
    printf("taskwait: %d of %d\n", seen, ROUNDS);
}

/* Copies between tasks: after the one that fills, before the one that adds up. */
static void copies(void)
{
    enum { COUNT = 64 };
    int here = omp_get_initial_device(), wrong = 0, told = 0;
    int from[COUNT], to[COUNT], table[8][8];
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int turn = 1; turn <= ROUNDS; turn++) {
        memset(to, 0, sizeof to);
        memset(table, 0, sizeof table);
#pragma omp task depend(out : from) shared(from) firstprivate(turn)
        {
            usleep(100);
            for (int i = 0; i < COUNT; i++)
                from[i] = i * turn;
        }
        omp_depend_t objects[2];
#pragma omp depobj(objects[0]) depend(in : from)
#pragma omp depobj(objects[1]) depend(out : to)
        told += omp_target_memcpy_async(to, from, sizeof(int) * 10, sizeof(int) * 2, sizeof(int),
                                        here, here, 2, objects);
        omp_depend_t other[2];
#pragma omp depobj(other[0]) depend(in : from)
#pragma omp depobj(other[1]) depend(out : table)
        {
            size_t volume[] = {2, 3}, to_begin[] = {4, 5}, from_begin[] = {1, 2}, counts[] = {8, 8};
            told += omp_target_memcpy_rect_async(table, from, sizeof(int), 2, volume, to_begin,
                                                 from_begin, counts, counts, here, here, 2, other);
            memset(volume, 0, sizeof volume);
        }
#pragma omp task depend(in : to, table) shared(to, table, wrong) firstprivate(turn)
        {
            for (int i = 0; i < 10; i++)
                wrong += to[2 + i] != (1 + i) * turn;
            wrong += to[1] != 0 || to[12] != 0;
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 3; j++)
                    wrong += table[4 + i][5 + j] != ((1 + i) * 8 + 2 + j) * turn;
            wrong += table[4][4] != 0 || table[6][5] != 0;
        }
#pragma omp taskwait
#pragma omp depobj(objects[0]) destroy
#pragma omp depobj(objects[1]) destroy
#pragma omp depobj(other[0]) destroy
#pragma omp depobj(other[1]) destroy
    }
    told += omp_target_memcpy_async(to, from, sizeof to, 0, 0, here, here, 0, NULL);
    printf("copies: %d wrong, told %d, at once %d, elsewhere %d\n", wrong, told,
           memcmp(to, from, sizeof to),
           omp_target_memcpy_async(to, from, 4, 0, 0, 5, here, 0, NULL) != 0);
}

/* An event that comes after the construct that waits for it has been left. */
static void events(void)
{
    int x = 0, y = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x) shared(x)
        x = 1;
#pragma omp target nowait depend(inout : x) map(tofrom : x)
        x += 10;
#pragma omp task depend(in : x) shared(x, y)
        y = x;
        omp_fulfill_event(event);
#pragma omp taskwait
    }
    printf("events: %d %d\n", x, y);
}

/* The header of GCC 12 has them, its library does not. */
static void hints(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock_with_hint(&lock, omp_sync_hint_contended | omp_sync_hint_nonspeculative);
    omp_init_nest_lock_with_hint(&nest, omp_sync_hint_speculative);
    int count = 0, depth = 0;
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 100; i++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        depth += omp_test_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    printf("hints: %d %d\n", count % 100, depth == 2 * count);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

int main(void)
{
    not_waited();
    copies();
    events();
    int here = omp_get_initial_device(), inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task shared(inside)
    inside = omp_in_explicit_task();
    printf("in a task: %d, and then %d\n", inside, omp_in_explicit_task());
    printf("same: %d %d, there: %d %d\n", omp_get_mapped_ptr(&a, here) == &a,
           omp_get_mapped_ptr(&a, 5) == NULL, omp_target_is_accessible(&a, sizeof a, here),
           omp_target_is_accessible(&a, sizeof a, 5));
    printf("code: %d\n", GOMP_target_map_indirect_ptr((void *)looks) == (void *)looks);
    void *noted = GOMP_alloc(64, 100, 0), *other = malloc(10);
    GOMP_add_alloc(noted);
    printf("noted: %d %d", GOMP_is_alloc(other), GOMP_is_alloc(noted));
    printf(" and then %d\n", GOMP_is_alloc(noted));
    GOMP_free(noted, 0);
    free(other);
    hints();
    return 0;
}
