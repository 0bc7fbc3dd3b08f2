/* What a coroutine keeps in its frame stands where its type wants it, up to 64 bytes. */
#include <roving_task.hpp>

#include "check.h"

namespace {

template <std::size_t Bytes>
struct alignas(Bytes) wide {
    std::uint64_t words[Bytes / 8];

    explicit wide(std::uint64_t first = 0) : words{first} { check(); }
    wide(const wide &other) : words{other.words[0]} { check(); }
    wide &operator=(const wide &other) = default;
    ~wide() { check(); }

    /* A compiler knows what the address should be. */
    void check() const
    {
        auto at = reinterpret_cast<std::uintptr_t>(this);
        __asm__("" : "+r"(at));
        CHECK(at % Bytes == 0);
    }
};

template <class T>
roving::task<T> leaf(T given, std::uint64_t first)
{
    T local(first);
    given.check();
    local.words[0] += given.words[0];
    co_return local;
}

/* Frames of several sizes, some of which are kept and taken again. */
template <class T>
roving::task<std::uint64_t> tree(unsigned depth)
{
    if (depth == 0) {
        co_return 1;
    }
    char odd = static_cast<char>(depth);
    roving::forked<T> forked, spawned;
    co_await roving::fork(forked, leaf(T(1), depth));
    co_await roving::spawn(spawned, leaf(T(2), depth));
    T called = co_await leaf(T(3), depth);
    auto below = co_await tree<T>(depth - 1);
    co_await roving::join();
    CHECK(odd == static_cast<char>(depth));
    co_return below + called.words[0] + forked.get().words[0] + spawned.get().words[0];
}

template <std::size_t Bytes>
void of()
{
    roving::pool pool(2);
    for (int round = 0; round < 10; ++round) {
        CHECK(pool.run([] { return roving::run(tree<wide<Bytes>>(20)); }) == 1 + 20 * 6 + 3 * 210);
    }
}

} // namespace

int main()
{
    of<16>();
    of<32>();
    of<64>();
    return 0;
}
