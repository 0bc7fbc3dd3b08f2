#include "side.h"

#include <cstring>

#include "../uts.hpp"

static const uts::Tree &t3() {
    static const uts::Tree tree([] {
        uts::Parameters p;
        p.t = uts::kBinomial;
        p.b = 2000.0;
        p.q = 0.124875;
        p.m = 8;
        p.r = 42;
        return p;
    }());
    return tree;
}

static const uts::Tree &kTree = t3();

static side_node node_of(const sha1::Digest &digest, uint32_t height) {
    side_node node;
    static_assert(sizeof(node.digest) == sizeof(digest.word), "a digest has five words");
    std::memcpy(node.digest, digest.word, sizeof(node.digest));
    node.children = kTree.children(height, digest.word[4] & 0x7fffffffu);
    return node;
}

side_node side_root(void) { return node_of(sha1::root(42), 0); }

uint32_t side_children(const side_node *parent, uint32_t first, uint32_t count, uint64_t height,
                       side_node *inner, side_found *here) {
    sha1::Digest from, digests[SIDE_TOGETHER];
    std::memcpy(from.word, parent->digest, sizeof(parent->digest));
    sha1::children(from, first, count, false, digests);
    uint32_t inners = 0;
    for (uint32_t i = 0; i < count; ++i) {
        inner[inners] = node_of(digests[i], static_cast<uint32_t>(height));
        inners += inner[inners].children > 0;
    }
    *here = side_found{count, count - inners, height};
    return inners;
}
