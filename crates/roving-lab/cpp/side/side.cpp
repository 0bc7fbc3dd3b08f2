// fib and UTS's tree T3 by roving.hpp and roving_task.hpp, and fib by oneTBB where that is there:
// `side-cpp join-fib N WORKERS`, `join-uts`, `task-fib`, `task-uts`, `tbb-fib`. Prints the result and
// the seconds of the second of two runs.
#include <roving_task.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "side.h"

#ifdef SIDE_TBB
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace {

std::uint64_t join_fib(unsigned n) {
    if (n < 2) return n;
    auto [a, b] = roving::join([=] { return join_fib(n - 1); }, [=] { return join_fib(n - 2); });
    return a + b;
}

roving::task<std::uint64_t> task_fib(unsigned n) {
    if (n < 2) co_return n;
    roving::forked<std::uint64_t> a;
    co_await roving::fork(a, task_fib(n - 1));
    const auto b = co_await task_fib(n - 2);
    co_await roving::join();
    co_return a.get() + b;
}

side_found operator+(const side_found &a, const side_found &b) {
    return {a.nodes + b.nodes, a.leaves + b.leaves, a.depth > b.depth ? a.depth : b.depth};
}

std::uint32_t together(const side_node &node, std::uint32_t first) {
    const std::uint32_t left = node.children - first;
    constexpr std::uint32_t most = SIDE_TOGETHER;
    return left < most ? left : most;
}

// The sum of `body(i)` over indices, by halves.
template <class Body>
side_found sum(std::uint32_t from, std::uint32_t to, const Body *body) {
    if (to - from == 1) return (*body)(from);
    const std::uint32_t middle = from + (to - from) / 2;
    auto [a, b] = roving::join([=] { return sum(from, middle, body); }, [=] { return sum(middle, to, body); });
    return a + b;
}

side_found join_below(const side_node *node, std::uint64_t height);

side_found join_batch(const side_node *node, std::uint32_t first, std::uint64_t height) {
    side_node inner[SIDE_TOGETHER];
    side_found here;
    const std::uint32_t inners = side_children(node, first, together(*node, first), height + 1, inner, &here);
    if (inners == 0) return here;
    const side_node *nodes = inner;
    const auto body = [=](std::uint32_t i) { return join_below(&nodes[i], height + 1); };
    return here + sum(0, inners, &body);
}

side_found join_below(const side_node *node, std::uint64_t height) {
    if (node->children <= SIDE_TOGETHER) return join_batch(node, 0, height);
    const auto body = [=](std::uint32_t i) { return join_batch(node, i * SIDE_TOGETHER, height); };
    return sum(0, (node->children + SIDE_TOGETHER - 1) / SIDE_TOGETHER, &body);
}

roving::task<side_found> task_below(const side_node &node, std::uint64_t height);

roving::task<side_found> task_batch(const side_node &node, std::uint32_t first, std::uint64_t height) {
    side_node inner[SIDE_TOGETHER];
    side_found all;
    const std::uint32_t inners = side_children(&node, first, together(node, first), height + 1, inner, &all);
    if (inners == 0) co_return all;
    if (inners == 1) co_return all + co_await task_below(inner[0], height + 1);
    roving::forked<side_found> parts[SIDE_TOGETHER];
    for (std::uint32_t i = 0; i + 1 < inners; ++i) {
        co_await roving::fork(parts[i], task_below(inner[i], height + 1));
    }
    const side_found last = co_await task_below(inner[inners - 1], height + 1);
    co_await roving::join();
    all = all + last;
    for (std::uint32_t i = 0; i + 1 < inners; ++i) all = all + parts[i].get();
    co_return all;
}

roving::task<side_found> task_below(const side_node &node, std::uint64_t height) {
    if (node.children <= SIDE_TOGETHER) co_return co_await task_batch(node, 0, height);
    std::vector<roving::forked<side_found>> parts((node.children + SIDE_TOGETHER - 1) / SIDE_TOGETHER);
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
        co_await roving::fork(parts[i], task_batch(node, i * SIDE_TOGETHER, height));
    }
    co_await roving::join();
    side_found all{};
    for (auto &part : parts) all = all + part.get();
    co_return all;
}

#ifdef SIDE_TBB
std::uint64_t tbb_fib(unsigned n) {
    if (n < 2) return n;
    std::uint64_t a;
    tbb::task_group group;
    group.run([&a, n] { a = tbb_fib(n - 1); });
    const std::uint64_t b = tbb_fib(n - 2);
    group.wait();
    return a + b;
}
#endif

std::uint64_t by_roving(const std::string &what, unsigned n) {
    const side_node root = side_root();
    if (what == "join-fib") return join_fib(n);
    if (what == "task-fib") return roving::run(task_fib(n));
    if (what == "join-uts") return join_below(&root, 0).nodes + 1;
    if (what == "task-uts") return roving::run(task_below(root, 0)).nodes + 1;
    std::fprintf(stderr, "nothing is called %s\n", what.c_str());
    std::exit(2);
}

template <class F>
void measure(F &&f) {
    (void)f();
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t result = f();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%llu %.9f\n", static_cast<unsigned long long>(result), took.count());
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const std::string what = argv[1];
    const unsigned n = static_cast<unsigned>(std::atoi(argv[2]));
    const std::size_t workers = static_cast<std::size_t>(std::atoi(argv[3]));
#ifdef SIDE_TBB
    if (what == "tbb-fib") {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
        tbb::task_arena arena(static_cast<int>(workers));
        measure([&] { return arena.execute([=] { return tbb_fib(n); }); });
        return 0;
    }
#endif
    roving_options options{};
    options.workers = workers;
    options.stack_size = std::size_t{64} << 20;
    const roving::pool pool(options);
    measure([&] { return pool.run([&] { return by_roving(what, n); }); });
    return 0;
}
