/* Memory by allocators: predefined ones, made of traits, as a default, in clauses. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if __GNUC__ < 12
/* The library may be younger than the compiler and its header. */
void *omp_aligned_alloc(size_t, size_t, omp_allocator_handle_t);
void *omp_calloc(size_t, size_t, omp_allocator_handle_t);
void *omp_realloc(void *, size_t, omp_allocator_handle_t, omp_allocator_handle_t);
#endif

static const char *made(int count, const omp_alloctrait_t *traits)
{
    omp_allocator_handle_t own = omp_init_allocator(omp_default_mem_space, count, traits);
    if (own == omp_null_allocator)
        return "none";
    omp_destroy_allocator(own);
    return "made";
}

#define MADE(...)                                                      \
    do {                                                               \
        omp_alloctrait_t traits[] = {__VA_ARGS__};                     \
        int count = sizeof traits / sizeof *traits;                    \
        printf("%s: %s\n", #__VA_ARGS__, made(count, traits));         \
    } while (0)

static void traits(void)
{
    MADE({omp_atk_alignment, 64});
    MADE({omp_atk_alignment, 3});
    MADE({omp_atk_alignment, 0});
    MADE({omp_atk_pinned, omp_atv_false});
    MADE({omp_atk_pool_size, 10}, {omp_atk_fallback, omp_atv_null_fb});
    MADE({omp_atk_fallback, 99});
    MADE({omp_atk_fallback, omp_atv_allocator_fb});
    MADE({omp_atk_sync_hint, omp_atv_all});
    MADE({omp_atk_sync_hint, omp_atv_private}, {omp_atk_access, omp_atv_cgroup});
    MADE({omp_atk_access, omp_atv_true});
    MADE({omp_atk_partition, omp_atv_interleaved});
    MADE({omp_atk_partition, 3});
    MADE({omp_atk_sync_hint, omp_atv_default}, {omp_atk_pinned, omp_atv_default});
    MADE({77, 1});
    for (uintptr_t space = 0; space < 7; space++) {
        if (space == 3)
            continue;
        omp_allocator_handle_t own = omp_init_allocator((omp_memspace_handle_t)space, 0, NULL);
        printf("space %d: %d\n", (int)space, own != omp_null_allocator);
    }
}

/* Memory that some libraries and machines have. */
static void rare(void)
{
    MADE({omp_atk_pinned, omp_atv_true});
    omp_allocator_handle_t own = omp_init_allocator(omp_high_bw_mem_space, 0, NULL);
    printf("of high bandwidth: %d\n", own != omp_null_allocator);
}

static int is_free(void *at, omp_allocator_handle_t own)
{
    omp_free(at, own);
    return at != NULL;
}

static void pools(void)
{
    omp_alloctrait_t small[] = {{omp_atk_pool_size, 1000}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t own = omp_init_allocator(omp_default_mem_space, 2, small);
    omp_alloctrait_t after[] = {{omp_atk_pool_size, 10},
                                {omp_atk_alignment, 512},
                                {omp_atk_fallback, omp_atv_allocator_fb},
                                {omp_atk_fb_data, own}};
    omp_allocator_handle_t chain = omp_init_allocator(omp_default_mem_space, 4, after);
    printf("alone: %d %d\n", is_free(omp_alloc(500, own), own), is_free(omp_alloc(2000, own), own));
    printf("chain: %d %d\n", is_free(omp_alloc(500, chain), own),
           is_free(omp_alloc(2000, chain), own));
    omp_destroy_allocator(chain);
    omp_destroy_allocator(own);
}

static void threads(void)
{
    int wrong = 0;
    omp_alloctrait_t large[] = {{omp_atk_pool_size, 1 << 20}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t own = omp_init_allocator(omp_default_mem_space, 2, large);
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    for (int i = 0; i < 2000; i++) {
        char *at = omp_aligned_alloc(1 << i % 12, 1 + i % 90, i % 3 ? own : omp_null_allocator);
        wrong += !at || (uintptr_t)at % (1 << i % 12);
        if (!at)
            continue;
        memset(at, i, 1 + i % 90);
        char *grown = omp_realloc(at, 100, omp_default_mem_alloc, own);
        for (int j = 0; j < 1 + i % 90; j++)
            wrong += grown[j] != (char)i;
        omp_free(grown, omp_null_allocator);
    }
    printf("threads: %d\n", wrong);
    void *most = omp_alloc((1 << 20) - 100, own);
    printf("given back: %d\n", most != NULL);
    omp_free(most, own);
    omp_destroy_allocator(own);
}

static void edges(void)
{
    char *zero = omp_calloc(10, 10, omp_thread_mem_alloc);
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += zero[i];
    printf("calloc: %d, %d\n", sum, omp_calloc(SIZE_MAX / 2, 3, omp_default_mem_alloc) != NULL);
    printf("nothing: %d %d\n", omp_alloc(0, omp_default_mem_alloc) != NULL,
           omp_realloc(zero, 0, omp_default_mem_alloc, omp_null_allocator) != NULL);
    printf("too much: %d\n", omp_alloc(SIZE_MAX / 4, omp_null_allocator) != NULL);
    omp_free(NULL, omp_null_allocator);
}

/* Each implicit task has a default allocator for itself. */
static void defaults(void)
{
    long found[3] = {0};
    printf("default: %ld\n", (long)omp_get_default_allocator());
#pragma omp parallel num_threads(3)
    {
        int own = omp_get_thread_num();
        omp_set_default_allocator((omp_allocator_handle_t)(uintptr_t)(own + 2));
#pragma omp barrier
        found[own] = (long)omp_get_default_allocator();
    }
    for (int i = 0; i < 3; i++)
        if (found[i])
            printf("%d: %ld\n", i, found[i]);
    printf("default: %ld\n", (long)omp_get_default_allocator());
    omp_set_default_allocator(omp_const_mem_alloc);
    printf("default: %ld\n", (long)omp_get_default_allocator());
    omp_set_default_allocator(omp_null_allocator);
    printf("default: %ld\n", (long)omp_get_default_allocator());
}

static void clauses(void)
{
    omp_alloctrait_t wide[] = {{omp_atk_alignment, 256}};
    omp_allocator_handle_t own = omp_init_allocator(omp_default_mem_space, 1, wide);
    int wrong = 0;
    long value = 5, sum = 0;
#pragma omp parallel num_threads(4) firstprivate(value) allocate(own : value) reduction(+ : sum, wrong)
    {
        wrong += (uintptr_t)&value % 256 != 0 || value != 5;
        sum = 1;
#pragma omp task firstprivate(value) allocate(omp_default_mem_alloc : value)
        value++;
#pragma omp taskwait
        wrong += value != 5;
    }
    printf("clauses: %d, %d\n", wrong, sum > 0);
    omp_destroy_allocator(own);
}

int main(int count, char **words)
{
    (void)words;
    if (count > 1) {
        rare();
        return 0;
    }
    traits();
    pools();
    threads();
    edges();
    defaults();
    clauses();
    fflush(stdout);
    omp_alloctrait_t ends[] = {{omp_atk_pool_size, 10}, {omp_atk_fallback, omp_atv_abort_fb}};
    omp_allocator_handle_t own = omp_init_allocator(omp_default_mem_space, 2, ends);
    omp_alloc(20, own);
    printf("it goes on\n");
    return 0;
}
