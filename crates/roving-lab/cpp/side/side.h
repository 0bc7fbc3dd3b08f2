/* What the programs of the row `c` share: the nodes of UTS's tree T3, hashed in C++ for all of them. */
#ifndef SIDE_H
#define SIDE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIDE_TOGETHER = 8, SIDE_BATCHES = 256 };

typedef struct side_node {
    uint32_t digest[5];
    uint32_t children;
} side_node;

typedef struct side_found {
    uint64_t nodes, leaves, depth;
} side_found;

side_node side_root(void);
/* Hashes `count` children of a node, from `first` on, and returns how many have children themselves,
 * which are put into `inner`; `here` counts all of them. */
uint32_t side_children(const side_node *parent, uint32_t first, uint32_t count, uint64_t height,
                       side_node *inner, side_found *here);

#ifdef __cplusplus
}
#endif
#endif
