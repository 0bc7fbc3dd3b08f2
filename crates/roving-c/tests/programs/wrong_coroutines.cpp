/* What must not compile, by the number that the command line defines. 0 is right. */
#include <roving_task.hpp>

roving::task<int> child()
{
    co_return 1;
}

roving::task<int> parent()
{
    roving::task<int> named = child();
    roving::forked<int> a;
#if WRONG == 1
    (void)co_await named;
#elif WRONG == 2
    child();
#elif WRONG == 3
    roving::task<int> copied = named;
#elif WRONG == 4
    co_await std::suspend_always{};
#elif WRONG == 5
    roving::fork(a, child());
#elif WRONG == 6
    roving::forked<long> other;
    co_await roving::fork(other, child());
#elif WRONG == 7
    roving::forked<int> moved = std::move(a);
#elif WRONG == 8
    co_await roving::fork(a, named);
#elif WRONG == 9
    struct alignas(128) wide {
        char bytes[128];
    };
    roving::forked<wide> wide;
#else
    co_await roving::fork(a, std::move(named));
    co_await roving::join();
#endif
    co_return a.get();
}

int main()
{
    return roving::run(parent()) - 1;
}
