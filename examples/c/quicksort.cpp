// Quicksort by one join a partition, and a loop whose body throws.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <roving.hpp>
#include <stdexcept>
#include <vector>

using Iterator = std::vector<std::uint64_t>::iterator;

void quicksort(Iterator first, Iterator last)
{
    if (last - first < 32) {
        std::sort(first, last);
        return;
    }
    std::uint64_t pivot = std::max(std::min(first[0], last[-1]),
                                   std::min(std::max(first[0], last[-1]), first[(last - first) / 2]));
    Iterator below = std::partition(first, last, [=](std::uint64_t x) { return x < pivot; });
    Iterator above = std::partition(below, last, [=](std::uint64_t x) { return x == pivot; });
    roving::join([=] { quicksort(first, below); }, [=] { quicksort(above, last); });
}

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main()
{
    std::vector<std::uint64_t> numbers(1000000);
    roving::parallel_for(0, numbers.size(),
                         [&](std::size_t i) { numbers[i] = (i + 1) * 0x9e3779b97f4a7c15u; });
    std::vector<std::uint64_t> sorted = numbers;
    double began = now();
    std::sort(sorted.begin(), sorted.end());
    std::fprintf(stderr, "%.3f s by std::sort\n", now() - began);
    began = now();
    quicksort(numbers.begin(), numbers.end());
    std::fprintf(stderr, "%.3f s in parallel\n", now() - began);
    std::printf("%s\n", numbers == sorted ? "sorted" : "not sorted");

    // What a closure throws comes out of the call that waits for it.
    try {
        roving::parallel_for(0, 100, [](std::size_t i) {
            if (i == 42) {
                throw std::runtime_error("an index nobody likes");
            }
        });
    } catch (const std::exception &exception) {
        std::printf("caught: %s\n", exception.what());
    }
}
