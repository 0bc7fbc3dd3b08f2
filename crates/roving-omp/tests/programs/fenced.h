/* Memory of which no piece is used again: each stands on pages of its own, and when it is freed,
   whoever still uses it ends the program. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A multiple of the size of a page, on all systems. */
#define PAGES ((size_t)65536)

struct piece {
    void *pages;
    size_t all, size;
};

static struct piece *piece_of(void *at)
{
    return (struct piece *)at - 1;
}

static void *piece(size_t align, size_t size)
{
    if (align < PAGES)
        align = PAGES;
    size_t all = (size + PAGES - 1) / PAGES * PAGES + align + PAGES;
    char *pages = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    uintptr_t at = ((uintptr_t)pages + sizeof(struct piece) + align - 1) / align * align;
    *piece_of((void *)at) = (struct piece){pages, all, size};
    return (void *)at;
}

void *malloc(size_t size)
{
    return piece(1, size);
}

void *calloc(size_t count, size_t size)
{
    return piece(1, count * size);
}

void free(void *at)
{
    if (at)
        mprotect(piece_of(at)->pages, piece_of(at)->all, PROT_NONE);
}

void *realloc(void *at, size_t size)
{
    void *to = piece(1, size);
    if (at) {
        memcpy(to, at, size < piece_of(at)->size ? size : piece_of(at)->size);
        free(at);
    }
    return to;
}

void *aligned_alloc(size_t align, size_t size)
{
    return piece(align, size);
}

void *memalign(size_t align, size_t size)
{
    return piece(align, size);
}

int posix_memalign(void **at, size_t align, size_t size)
{
    *at = piece(align, size);
    return 0;
}
