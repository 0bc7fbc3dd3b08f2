/* An unbalanced tree whose shape is drawn from a hash: a task for each node. Nobody knows beforehand
   where the work is. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHILDREN = 4 };

static uint64_t hash(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A node has children with a chance of slightly less than one in CHILDREN, but for the root. */
static long nodes(uint64_t seed, int is_root)
{
    long count = 1;
    long below[is_root ? 2000 : CHILDREN];
    int children = is_root ? 2000 : hash(seed) % 100000 < 24850 ? CHILDREN : 0;
    for (int child = 0; child < children; child++) {
#pragma omp task shared(below) firstprivate(child)
        below[child] = nodes(hash(seed + 1 + child), 0);
    }
#pragma omp taskwait
    for (int child = 0; child < children; child++)
        count += below[child];
    return count;
}

/* The same without tasks, to compare with. */
static long nodes_serially(uint64_t seed, int is_root)
{
    long count = 1;
    int children = is_root ? 2000 : hash(seed) % 100000 < 24850 ? CHILDREN : 0;
    for (int child = 0; child < children; child++)
        count += nodes_serially(hash(seed + 1 + child), 0);
    return count;
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    long size = 0;
    double began = omp_get_wtime();
    long expected = nodes_serially(hash(seed), 1);
    fprintf(stderr, "%.1f ms serially\n", 1e3 * (omp_get_wtime() - began));
    began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    size = nodes(hash(seed), 1);
    fprintf(stderr, "%.1f ms by tasks\n", 1e3 * (omp_get_wtime() - began));
    if (size != expected) {
        fprintf(stderr, "the result by tasks is another than the serial one\n");
        return 1;
    }
    printf("%ld nodes\n", size);
    return 0;
}
