/* A library with the static one in it, of which a program loads two, each with workers of its own.
 * They are the same but for the NUMBER that the command line defines. */
#include <roving_task.hpp>

#include "check.h"

namespace {

std::uint64_t fib(unsigned n)
{
    if (n < 2) {
        return n;
    }
    auto [a, b] = roving::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

roving::task<std::uint64_t> coroutine_fib(unsigned n)
{
    if (n < 2) {
        co_return n;
    }
    roving::forked<std::uint64_t> a;
    co_await roving::fork(a, coroutine_fib(n - 1));
    auto b = co_await coroutine_fib(n - 2);
    co_await roving::join();
    co_return a.get() + b;
}

void leaves(unsigned depth, void (*leaf)())
{
    if (depth == 0) {
        return leaf();
    }
    roving::join([=] { leaves(depth - 1, leaf); }, [=] { leaves(depth - 1, leaf); });
}

} // namespace

extern "C" {
int number()
{
    return NUMBER;
}

/* Uses this library on the calling thread, which may be a worker of the other. */
void use()
{
    CHECK(fib(12) == 144);
    CHECK(roving::detail::here() == roving_here_());
    CHECK(roving::run(coroutine_fib(8)) == 21);
}

void *frames()
{
    return &roving::detail::frames;
}

/* Calls the function on the workers of a pool of this library. */
void call_often(void (*leaf)())
{
    roving::pool pool(2);
    pool.run([=] { leaves(6, leaf); });
}
}
