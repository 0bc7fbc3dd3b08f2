// The Unbalanced Tree Search benchmark: the same tables, batches of siblings and tasks as the Rust
// program has. A runtime's `sum(count, body)` adds up `body(i)`, one task for each i.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sha1.hpp"

namespace uts {

constexpr uint32_t kMaxChildren = 100;
constexpr uint32_t kRange = 1u << 31;
constexpr uint32_t kTables = 4096;
// Siblings that are hashed together.
constexpr uint32_t kTogether = 8;

// UTS's own parameters: -t -a -b -d -q -m -r -f -g, and whether the CPU's SHA is left unused.
struct Parameters {
    uint32_t t = 1, a = 0, d = 6, m = 4, r = 0, g = 1;
    double b = 4.0, q = 15.0 / 64.0, f = 0.5;
    bool portable = false;
};

enum Type : uint32_t { kBinomial = 0, kGeometric = 1, kHybrid = 2, kBalanced = 3 };
enum Shape : uint32_t { kLinear = 0, kExponential = 1, kCyclic = 2, kFixed = 3 };

struct Found {
    uint64_t nodes = 0, leaves = 0, depth = 0;

    Found operator+(const Found& other) const {
        return Found{nodes + other.nodes, leaves + other.leaves, std::max(depth, other.depth)};
    }
};

struct Node {
    sha1::Digest digest;
    uint32_t children;
};

class Tree {
  public:
    explicit Tree(const Parameters& p) : p_(p) {
        uint32_t heights = 0;
        if (p.t == kGeometric) heights = p.a == kCyclic ? 5 * p.d + 1 : p.a == kExponential ? kTables : p.d;
        if (p.t == kHybrid) heights = static_cast<uint32_t>(std::ceil(p.f * p.d));
        for (uint32_t h = 0; h < std::min(heights, kTables); ++h) levels_.push_back(thresholds(h));
        below_ = static_cast<uint32_t>(std::ceil(p.q * kRange));
    }

    const Parameters& parameters() const { return p_; }

    uint32_t children(uint32_t height, uint32_t random) const {
        if (height < levels_.size()) {
            const std::vector<uint32_t>& level = levels_[height];
            uint32_t count = 0;
            while (count < level.size() && level[count] <= random) ++count;
            return count;
        }
        if (p_.t == kBalanced) return height < p_.d ? std::min(static_cast<uint32_t>(p_.b), kMaxChildren) : 0;
        if (p_.t == kBinomial || p_.t == kHybrid) {
            if (height == 0 && p_.t == kBinomial) return static_cast<uint32_t>(p_.b);
            return random < below_ ? std::min(p_.m, kMaxChildren) : 0;
        }
        return p_.a == kExponential || levels_.size() == kTables ? geometric(height, random) : 0;
    }

  private:
    double expected(uint32_t height) const {
        const double h = height, d = p_.d;
        if (height == 0) return p_.b;
        if (p_.a == kLinear) return p_.b * (1.0 - h / d);
        if (p_.a == kExponential) return p_.b * std::pow(h, -std::log(p_.b) / std::log(d));
        if (p_.a == kFixed) return height < p_.d ? p_.b : 0.0;
        return h > 5.0 * d ? 0.0 : std::pow(p_.b, std::sin(2.0 * 3.141592653589793 * h / d));
    }

    uint32_t geometric(uint32_t height, uint32_t random) const {
        const double p = 1.0 / (1.0 + expected(height));
        const double u = static_cast<double>(random) / kRange;
        const double count = std::floor(std::log(1.0 - u) / std::log(1.0 - p));
        return count > 0.0 ? static_cast<uint32_t>(std::min(count, double{kMaxChildren})) : 0;
    }

    // For each number of children, from which random number on there are so many.
    std::vector<uint32_t> thresholds(uint32_t height) const {
        std::vector<uint32_t> result;
        for (uint32_t wanted = 1; wanted <= kMaxChildren; ++wanted) {
            uint32_t low = 0, high = kRange;
            while (low < high) {
                const uint32_t middle = low + (high - low) / 2;
                if (geometric(height, middle) >= wanted) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            if (low == kRange) break;
            result.push_back(low);
        }
        return result;
    }

    Parameters p_;
    std::vector<std::vector<uint32_t>> levels_;
    uint32_t below_;
};

template <class Runtime>
Found below(const Tree& tree, const Node& node, uint64_t height);

// Up to kTogether children of `parent`, from `first` on, at `height`, and all below them.
template <class Runtime>
Found batch(const Tree& tree, const sha1::Digest& parent, uint32_t first, uint32_t count, uint64_t height) {
    sha1::Digest digests[kTogether];
    for (uint32_t g = 0; g < tree.parameters().g; ++g) {
        sha1::children(parent, first, count, tree.parameters().portable, digests);
    }
    Node inner[kTogether];
    uint32_t inners = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t children = tree.children(static_cast<uint32_t>(height), digests[i].word[4] & 0x7fffffffu);
        inner[inners] = Node{digests[i], children};
        inners += children > 0;
    }
    const Found here{count, count - inners, height};
    if (inners == 0) return here;
    if (inners == 1) return here + below<Runtime>(tree, inner[0], height);
    const Node* nodes = inner;
    return here + Runtime::template sum<Found>(inners, [&tree, nodes, height](uint32_t i) {
               return below<Runtime>(tree, nodes[i], height);
           });
}

// All below `node`, which has children and is at `height`.
template <class Runtime>
Found below(const Tree& tree, const Node& node, uint64_t height) {
    if (node.children <= kTogether) return batch<Runtime>(tree, node.digest, 0, node.children, height + 1);
    const uint32_t batches = (node.children + kTogether - 1) / kTogether;
    return Runtime::template sum<Found>(batches, [&tree, &node, height](uint32_t i) {
        const uint32_t first = i * kTogether;
        return batch<Runtime>(tree, node.digest, first, std::min(kTogether, node.children - first), height + 1);
    });
}

template <class Runtime>
Found search(const Tree& tree) {
    const sha1::Digest digest = sha1::root(tree.parameters().r);
    const Node root{digest, tree.children(0, digest.word[4] & 0x7fffffffu)};
    if (root.children == 0) return Found{1, 1, 0};
    return Found{1, 0, 0} + below<Runtime>(tree, root, 0);
}

}  // namespace uts
