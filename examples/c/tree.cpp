// The sum of all numbers below a node of a tree, by coroutines: a task waits for any number of
// children, and no worker waits with it.
#include <roving_task.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

struct Node {
    long value;
    std::vector<std::unique_ptr<Node>> children;
};

std::unique_ptr<Node> grow(long depth)
{
    auto node = std::make_unique<Node>();
    node->value = depth;
    for (long child = 0; child < depth; ++child) {
        node->children.push_back(grow(child));
    }
    return node;
}

roving::task<long> sum(const Node &node)
{
    std::vector<roving::forked<long>> parts(node.children.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        co_await roving::fork(parts[i], sum(*node.children[i]));
    }
    co_await roving::join();
    long total = node.value;
    for (auto &part : parts) {
        total += part.get();
    }
    co_return total;
}

// The same without tasks, to compare with.
long sum_serially(const Node &node)
{
    long total = node.value;
    for (const auto &child : node.children) {
        total += sum_serially(*child);
    }
    return total;
}

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main()
{
    auto root = grow(18);
    double began = now();
    long expected = sum_serially(*root);
    std::fprintf(stderr, "%.3f s serially\n", now() - began);
    began = now();
    long result = roving::run(sum(*root));
    std::fprintf(stderr, "%.3f s by coroutines\n", now() - began);
    if (result != expected) {
        std::fprintf(stderr, "the result by coroutines is another than the serial one\n");
        return 1;
    }
    std::printf("the sum is %ld\n", result);
}
