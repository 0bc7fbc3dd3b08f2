/* Requests to fork or spawn that are made in one statement and awaited in another, or never. */
#include <roving_task.hpp>

#include <memory>
#include <string>

#include "check.h"

namespace {

using roving::forked;
using roving::task;

task<std::string> twice(std::string text, std::shared_ptr<int> runs)
{
    ++*runs;
    co_return text + text;
}

task<int> parent(std::shared_ptr<int> runs)
{
    std::string text(100, 'x');
    forked<std::string> first, second, unasked;
    auto fork = roving::fork(first, twice(text, runs));
    auto spawn = roving::spawn(second, twice(text, runs));
    [[maybe_unused]] auto never = roving::fork(unasked, twice(text, runs));
    co_await std::move(fork);
    CHECK(*runs == 1);
    co_await std::move(spawn);
    co_await roving::join();
    /* Two are in this task and its caller, and one in the child that does not begin. */
    CHECK(*runs == 2 && runs.use_count() == 3);
    co_return static_cast<int>(first.get().size() + second.get().size());
}

} // namespace

int main()
{
    auto runs = std::make_shared<int>(0);
    roving::pool pool(1);
    CHECK(pool.run([&] { return roving::run(parent(runs)); }) == 400);
    CHECK(runs.use_count() == 1);
    return 0;
}
