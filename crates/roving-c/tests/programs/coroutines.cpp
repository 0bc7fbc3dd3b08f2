/* The coroutines of roving_task.hpp, each in the ways in which they meet the rest. */
#include <roving_task.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using roving::forked;
using roving::task;

task<std::uint64_t> fib(unsigned n)
{
    if (n < 2) {
        co_return n;
    }
    forked<std::uint64_t> a;
    co_await roving::fork(a, fib(n - 1));
    auto b = co_await fib(n - 2);
    co_await roving::join();
    co_return a.get() + b;
}

task<std::uint64_t> fib_by_spawn(unsigned n)
{
    if (n < 2) {
        co_return n;
    }
    forked<std::uint64_t> a;
    co_await roving::spawn(a, fib_by_spawn(n - 1));
    auto b = co_await fib_by_spawn(n - 2);
    co_await roving::join();
    co_return a.get() + b;
}

std::uint64_t fib_by_closures(unsigned n)
{
    if (n < 2) {
        return n;
    }
    auto [a, b] = roving::join([=] { return fib_by_closures(n - 1); },
                               [=] { return fib_by_closures(n - 2); });
    return a + b;
}

/* Waits for the flag, for some minutes at most: who sets it needs another worker. */
bool comes(const std::atomic<bool> &flag)
{
    auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (!flag.load(std::memory_order_acquire)) {
        if (std::chrono::steady_clock::now() > patience) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

roving::pool pool_of(std::size_t workers, std::size_t slots = 0)
{
    roving_options options{};
    options.workers = workers;
    options.assume_cores = workers;
    options.task_slots = slots;
    return roving::pool(options);
}

void results()
{
    for (std::size_t workers : {1, 2, 4}) {
        roving::pool pool = pool_of(workers);
        for (int round = 0; round < 20; ++round) {
            CHECK(pool.run([] { return roving::run(fib(15)); }) == 610);
            CHECK(pool.run([] { return roving::run(fib_by_spawn(13)); }) == 233);
        }
    }
    /* On a thread that is no worker. */
    CHECK(roving::run(fib(12)) == 144);
}

task<std::unique_ptr<std::string>> owns(std::unique_ptr<std::string> text)
{
    *text += "!";
    co_return std::move(text);
}

task<> adds(std::atomic<int> &total, int n)
{
    total.fetch_add(n, std::memory_order_relaxed);
    co_return;
}

task<std::string> values(std::atomic<int> &total)
{
    forked<std::unique_ptr<std::string>> a, b;
    forked<> none;
    co_await roving::fork(a, owns(std::make_unique<std::string>("one")));
    co_await roving::spawn(b, owns(std::make_unique<std::string>("two")));
    co_await roving::fork(none, adds(total, 1));
    std::unique_ptr<std::string> c = co_await owns(std::make_unique<std::string>("three"));
    co_await adds(total, 1);
    co_await roving::join();
    none.get();
    std::string all = *a.get() + *b.get() + *c;
    /* The same again in the same place; this result is not taken. */
    co_await roving::fork(a, owns(std::make_unique<std::string>("four")));
    co_await roving::join();
    co_return all;
}

/* More children than there are slots, and as many as the parent likes. */
task<std::uint64_t> many(int count)
{
    std::vector<forked<std::uint64_t>> children(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        if (i % 3 == 0) {
            co_await roving::spawn(children[static_cast<std::size_t>(i)], fib(5));
        } else {
            co_await roving::fork(children[static_cast<std::size_t>(i)], fib(3));
        }
    }
    co_await roving::join();
    std::uint64_t total = 0;
    for (auto &child : children) {
        total += child.get();
    }
    co_return total;
}

/* Deeper than any native stack. */
task<int> deep(int n)
{
    if (n == 0) {
        co_return 0;
    }
    if (n % 2 == 0) {
        co_return 1 + co_await deep(n - 1);
    }
    forked<int> below;
    co_await roving::fork(below, deep(n - 1));
    co_await roving::join();
    co_return 1 + below.get();
}

void shapes()
{
    std::atomic<int> total{0};
    for (std::size_t workers : {1, 3}) {
        for (std::size_t slots : {0, 16}) {
            roving::pool pool = pool_of(workers, slots);
            CHECK(pool.run([&] { return roving::run(values(total)); }) == "one!two!three!");
            CHECK(pool.run([] { return roving::run(many(3000)); }) == 1000 * 5 + 2000 * 2);
            CHECK(pool.run([] { return roving::run(deep(100000)); }) == 100000);
            CHECK(pool.run([] { return roving::run(fib_by_spawn(12)); }) == 144);
        }
    }
    CHECK(total == 2 * 4);
}

task<> sets(std::atomic<bool> &flag)
{
    flag.store(true, std::memory_order_release);
    co_return;
}

task<bool> waits_for(const std::atomic<bool> &flag)
{
    co_return comes(flag);
}

/* The child ends only when its parent has gone on. */
task<bool> is_stolen()
{
    std::atomic<bool> went_on{false};
    forked<bool> child;
    co_await roving::fork(child, waits_for(went_on));
    went_on.store(true, std::memory_order_release);
    co_await roving::join();
    co_return child.get();
}

/* The parent goes on only when its child has run. */
task<bool> is_shared()
{
    std::atomic<bool> ran{false};
    forked<> child;
    co_await roving::spawn(child, sets(ran));
    bool came = comes(ran);
    co_await roving::join();
    co_return came;
}

void stealing()
{
    roving::pool pool = pool_of(2);
    for (int round = 0; round < 20; ++round) {
        CHECK(pool.run([] { return roving::run(is_stolen()); }));
        CHECK(pool.run([] { return roving::run(is_shared()); }));
    }
}

task<int> fails(int code)
{
    if (code >= 0) {
        throw code;
    }
    co_return code;
}

/* One exception for all three, and then everything goes on. */
task<int> catches()
{
    int caught = 0;
    for (int round = 0; round < 3; ++round) {
        forked<int> a, b, c;
        try {
            co_await roving::fork(a, fails(1));
            co_await roving::spawn(b, fails(2));
            co_await roving::fork(c, fails(-1));
            co_await roving::join();
        } catch (int code) {
            CHECK(code == 1 || code == 2);
            ++caught;
        }
        try {
            (void)co_await fails(7);
        } catch (int code) {
            caught += code;
        }
        CHECK(c.get() == -1);
    }
    co_await roving::join();
    co_return caught;
}

/* The failure of a child that nobody joins is that of its parent. */
task<> forgets()
{
    forked<int> a;
    co_await roving::fork(a, fails(5));
}

task<> uses(std::string &text, const std::atomic<bool> &flag, std::atomic<int> &ended)
{
    CHECK(comes(flag));
    CHECK(text == "still here");
    ended.fetch_add(1, std::memory_order_relaxed);
    co_return;
}

/* Its children use its frame, and it throws before the join: they end first. */
task<> leaves(std::atomic<int> &ended)
{
    std::atomic<bool> flag{false};
    std::string text = "still here";
    forked<> a, b, c;
    co_await roving::fork(a, uses(text, flag, ended));
    co_await roving::spawn(b, uses(text, flag, ended));
    co_await roving::spawn(c, uses(text, flag, ended));
    flag.store(true, std::memory_order_release);
    throw std::string("left");
}

template <class E, class F>
E thrown_by(F &&f)
{
    try {
        f();
    } catch (E &error) {
        return error;
    }
    CHECK(!"nothing was thrown");
    std::abort();
}

void exceptions()
{
    for (std::size_t workers : {1, 2, 4}) {
        roving::pool pool = pool_of(workers);
        for (int round = 0; round < 10; ++round) {
            CHECK(pool.run([] { return roving::run(catches()); }) == 3 * 8);
            CHECK(thrown_by<int>([&] { pool.run([] { roving::run(fails(3)); }); }) == 3);
            CHECK(thrown_by<int>([&] { pool.run([] { roving::run(forgets()); }); }) == 5);
            if (workers > 1) {
                std::atomic<int> ended{0};
                auto run = [&] { pool.run([&] { roving::run(leaves(ended)); }); };
                CHECK(thrown_by<std::string>(run) == "left");
                CHECK(ended == 3);
            }
        }
    }
}

/* Forks below a request that has come begin nothing, and the join says so. */
task<int> stops(const roving::cancel &request, std::atomic<int> &begun)
{
    forked<> before, after, beside;
    co_await roving::fork(before, adds(begun, 1));
    co_await roving::join();
    request.stop();
    co_await roving::fork(after, adds(begun, 1));
    co_await roving::spawn(beside, adds(begun, 1));
    bool told = false;
    try {
        co_await roving::join();
    } catch (const roving::cancelled_error &) {
        told = true;
    }
    CHECK(told && roving::is_cancelled());
    /* A call is run: its caller needs what it comes to. */
    co_await adds(begun, 10);
    co_await roving::fork(after, adds(begun, 1));
    co_await roving::join();
    co_return 1;
}

/* As good as; it goes on slowly when it is deep, for its levels take memory, and a timer may be late. */
task<std::uint64_t> endless(std::atomic<int> &levels)
{
    int level = levels.fetch_add(1, std::memory_order_relaxed);
    if (level == 1000000000) {
        co_return 0;
    }
    if (level > 1000000) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    forked<std::uint64_t> a;
    co_await roving::fork(a, endless(levels));
    co_await roving::join();
    co_return a.get();
}

void cancelling()
{
    for (std::size_t workers : {1, 3}) {
        roving::pool pool = pool_of(workers);
        roving::cancel request;
        std::atomic<int> begun{0};
        auto ended = pool.run([&] {
            return request.run([&] { return roving::run(stops(request, begun)); });
        });
        CHECK(!ended.has_value() && begun == 11);

        roving::cancel soon = roving::cancel::after(2000000);
        std::atomic<int> levels{0};
        auto none = pool.run([&] {
            return soon.run([&] { return roving::run(endless(levels)); });
        });
        CHECK(!none.has_value());
    }
}

/* Closures, loops and trees of their own, inside of tasks. */
task<std::uint64_t> mixed(unsigned n)
{
    forked<std::uint64_t> a;
    co_await roving::fork(a, fib(n));
    std::uint64_t b = fib_by_closures(n);
    std::uint64_t c = roving::run(fib(n - 1));
    std::atomic<std::uint64_t> d{0};
    roving::parallel_for(0, 100, [&](std::size_t i) { d += roving::run(fib(3)) * (i % 2); });
    roving::scope([&](const roving::spawner &scope) {
        for (int i = 0; i < 10; ++i) {
            scope.spawn([&] { d += roving::run(fib_by_spawn(4)); });
        }
    });
    co_await roving::join();
    co_return a.get() + b + c + d;
}

/* Tasks below both closures of a join. */
std::uint64_t below(unsigned depth)
{
    if (depth == 0) {
        return roving::run(fib(10));
    }
    auto [a, b] = roving::join([=] { return below(depth - 1); }, [=] { return below(depth - 1); });
    return a + b;
}

void together()
{
    for (std::size_t workers : {1, 2, 4}) {
        roving::pool pool = pool_of(workers);
        for (int round = 0; round < 10; ++round) {
            CHECK(pool.run([] { return roving::run(mixed(12)); }) == 144 + 144 + 89 + 100 + 30);
            CHECK(pool.run([] { return below(5); }) == 32 * 55);
        }
    }
}

task<int> holds(std::shared_ptr<int> value)
{
    co_return *value;
}

void destroyed_unrun()
{
    auto value = std::make_shared<int>(7);
    {
        task<int> never = holds(value);
        task<int> moved = std::move(never);
        CHECK(value.use_count() == 2);
        moved = holds(value);
        CHECK(value.use_count() == 2);
    }
    CHECK(value.use_count() == 1);
    CHECK(roving::run(holds(value)) == 7);
    CHECK(value.use_count() == 1);
}

} // namespace

int main()
{
    results();
    shapes();
    stealing();
    exceptions();
    cancelling();
    together();
    destroyed_unrun();
    return 0;
}
