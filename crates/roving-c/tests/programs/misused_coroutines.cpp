/* What the header says of mistakes with tasks; the word of the command line says which. */
#include <roving_task.hpp>

#include <cstring>

using roving::forked;
using roving::task;

task<int> child() { co_return 1; }
task<int> fails() { throw 1; co_return 1; }

task<int> before_join()
{
    forked<int> a;
    co_await roving::fork(a, child());
    co_return a.get();
}

task<int> twice_taken()
{
    forked<int> a;
    co_await roving::fork(a, child());
    co_await roving::join();
    co_return a.get() + a.get();
}

task<int> twice_begun()
{
    forked<int> a, b;
    task<int> named = child();
    co_await roving::fork(a, std::move(named));
    co_await roving::fork(b, std::move(named));
    co_return 1;
}

task<int> of_failed()
{
    forked<int> a;
    co_await roving::fork(a, fails());
    try {
        co_await roving::join();
    } catch (int) {
    }
    co_return a.get();
}

task<int> of_none()
{
    forked<int> a;
    co_return a.get();
}

int main(int, char **words)
{
    struct {
        const char *word;
        task<int> (*run)();
    } const all[] = {{"before-join", before_join}, {"twice-taken", twice_taken},
                     {"twice-begun", twice_begun}, {"of-failed", of_failed},
                     {"of-none", of_none}};
    for (const auto &one : all) {
        if (std::strcmp(one.word, words[1]) == 0) {
            return roving::run(one.run());
        }
    }
    return 0;
}
