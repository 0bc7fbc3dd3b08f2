/* Coroutines of a program and of a library that it loads, each of which forks the other's. Both are
 * made of this file; neither sees the functions of the other's header. */
#include <roving_task.hpp>

#include <dlfcn.h>

#include "check.h"

namespace {

/* Handed on as an address, because its type would have itself in it. */
using part = roving::task<std::uint64_t>(unsigned n, void *other);

/* Joins more than once: what one join has miscounted, the next one does not wait for. */
roving::task<std::uint64_t> fib(unsigned n, void *other)
{
    if (n < 2) {
        co_return n;
    }
    part *of_other = reinterpret_cast<part *>(other);
    void *own = reinterpret_cast<void *>(fib);
    for (int round = 0; round < 2; ++round) {
        roving::forked<std::uint64_t> a;
        co_await roving::fork(a, of_other(n - 1, own));
        co_await roving::join();
        CHECK(a.get() >= 1);
    }
    roving::forked<std::uint64_t> a;
    co_await roving::fork(a, of_other(n - 1, own));
    auto b = co_await of_other(n - 2, own);
    co_await roving::join();
    co_return a.get() + b;
}

} // namespace

#ifdef LIBRARY
extern "C" void *fib_of_library()
{
    return reinterpret_cast<void *>(fib);
}
#else
int main(int count, char **words)
{
    CHECK(count == 2);
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    auto fib_of_library = reinterpret_cast<void *(*)()>(dlsym(library, "fib_of_library"));
    CHECK(fib_of_library != nullptr);
    void *other = fib_of_library();
    roving_options options{};
    options.workers = 4;
    options.assume_cores = 4;
    roving::pool pool(options);
    for (int round = 0; round < 20; ++round) {
        CHECK(pool.run([=] { return roving::run(fib(9, other)); }) == 34);
    }
    return 0;
}
#endif
