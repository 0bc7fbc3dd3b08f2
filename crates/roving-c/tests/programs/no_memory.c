/* A program that may map no more memory: there is some for small things, but no pool can be built,
 * not even one without threads. */
#include <sys/resource.h>

#include "check.h"

/* Blocks that are free, and do not become one. */
static void leave_small_blocks(void)
{
    enum { COUNT = 256, BYTES = 4096 };
    static void *blocks[COUNT], *between[COUNT];
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(BYTES);
        between[i] = malloc(16);
        CHECK(blocks[i] != NULL && between[i] != NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        free(blocks[i]);
    }
}

int main(void)
{
    leave_small_blocks();
    struct rlimit limit = {0, 0};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(roving_pool_workers(NULL) == 0);
    CHECK(roving_error_detail()[0] != '\0');
    return 0;
}
