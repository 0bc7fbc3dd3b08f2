// All of roving.hpp: results by value, closures that own, exceptions that reach one waiter.
#include <roving.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::abort(); \
        } \
    } while (0)

namespace {

std::uint64_t fib(unsigned n)
{
    if (n < 2) {
        return n;
    }
    auto [a, b] = roving::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

// A result that owns, and that no slot has room for.
std::vector<std::string> names(std::size_t first, std::size_t last)
{
    if (last - first == 1) {
        return {"number " + std::to_string(first)};
    }
    std::size_t middle = first + (last - first) / 2;
    auto halves = roving::join([=] { return names(first, middle); },
                               [=] { return names(middle, last); });
    for (auto &name : halves.second) {
        halves.first.push_back(std::move(name));
    }
    return std::move(halves.first);
}

unsigned chain(unsigned depth)
{
    if (depth == 0) {
        return 0;
    }
    auto [below, one] = roving::join([=] { return chain(depth - 1); }, [] { return 1u; });
    return below + one;
}

void results()
{
    CHECK(fib(18) == 2584);
    CHECK(chain(1000) == 1000);
    auto all = names(0, 100);
    CHECK(all.size() == 100 && all[99] == "number 99");

    // Closures that own what cannot be copied, and results that cannot.
    auto left = std::make_unique<int>(20);
    auto right = std::make_unique<int>(22);
    auto [a, b] = roving::join([left = std::move(left)]() mutable { return std::move(left); },
                               [right = std::move(right)]() mutable { return std::move(right); });
    CHECK(*a + *b == 42);

    // Closures by name are called where they are; those of nothing return a unit.
    int calls = 0, more = 0;
    auto count = [&calls] { ++calls; };
    auto count_more = [&more]() mutable { ++more; };
    auto none = roving::join(count, count_more);
    CHECK(calls == 1 && more == 1 && none.first == roving::unit{});
    int number = 5;
    auto by_value = roving::join([&]() -> int & { return number; }, [&]() -> const int & { return number; });
    number = 6;
    CHECK(by_value.first == 5 && by_value.second == 5);
}

// What the second closure does is done, also if the first one throws.
std::atomic<unsigned> ended{0};

std::uint64_t thrower(unsigned n, unsigned where)
{
    if (n == where) {
        throw std::runtime_error("at " + std::to_string(n));
    }
    if (n < 2) {
        ended.fetch_add(1, std::memory_order_relaxed);
        return n;
    }
    std::string owned(40, 'x');
    auto [a, b] = roving::join([=] { return thrower(n - 1, where); },
                               [n, where, &owned] {
                                   CHECK(owned.size() == 40);
                                   return thrower(n - 2, where);
                               });
    return a + b;
}

template <class F>
std::string thrown_by(F &&f)
{
    try {
        f();
    } catch (const std::exception &exception) {
        return exception.what();
    }
    return "nothing";
}

void exceptions()
{
    for (unsigned where = 1; where < 15; where++) {
        CHECK(thrown_by([=] { thrower(15, where); }) == "at " + std::to_string(where));
    }
    CHECK(thrown_by([] { thrower(15, 99); }) == "nothing");
    ended = 0;
    CHECK(thrown_by([] {
              roving::join([]() -> int { throw std::runtime_error("first"); },
                           []() -> int {
                               ended = 1;
                               throw std::runtime_error("second");
                           });
          }) == "first");
    CHECK(ended == 1);
    CHECK(thrown_by([] {
              roving::join([] { return std::string(100, 'y'); },
                           []() -> int { throw std::runtime_error("second"); });
          }) == "second");
}

// The second closure is stolen for certain, throws there, and its exception comes back.
void stolen()
{
    std::atomic<bool> begun{false};
    auto mine = std::this_thread::get_id();
    std::thread::id other;
    CHECK(thrown_by([&] {
              roving::join(
                  [&] {
                      while (!begun.load()) {
                          std::this_thread::yield();
                      }
                  },
                  [&]() -> int {
                      other = std::this_thread::get_id();
                      begun = true;
                      throw std::runtime_error("stolen");
                  });
          }) == "stolen");
    CHECK(other != mine);
    begun = false;
    auto [none, text] = roving::join(
        [&] {
            while (!begun.load()) {
                std::this_thread::yield();
            }
        },
        [&begun] {
            begun = true;
            return std::make_unique<std::string>("from there");
        });
    CHECK(none == roving::unit{} && *text == "from there");
    begun = false;
    CHECK(thrown_by([&] {
              roving::join(
                  [&] {
                      while (!begun.load()) {
                          std::this_thread::yield();
                      }
                      throw std::runtime_error("first");
                  },
                  [&begun] {
                      begun = true;
                      return std::string(50, 'z');
                  });
          }) == "first");
}

void scopes()
{
    std::atomic<unsigned> sum{0};
    auto result = roving::scope([&](const roving::spawner &s) {
        for (unsigned i = 0; i < 2000; i++) {
            if (i % 3 == 0) {
                s.spawn([&sum, i] { sum += i; });
            } else {
                s.spawn([&sum, owned = std::make_unique<unsigned>(i)](const roving::spawner &s) {
                    s.spawn([&sum, value = *owned] { sum += value; });
                });
            }
        }
        return std::make_unique<int>(7);
    });
    CHECK(*result == 7 && sum == 1999000u);

    sum = 0;
    CHECK(thrown_by([&] {
              roving::scope([&](const roving::spawner &s) {
                  for (unsigned i = 0; i < 100; i++) {
                      s.spawn([&sum, i, owned = std::make_unique<unsigned>(i)] {
                          sum += 1;
                          if (i == 50) {
                              throw std::runtime_error("a task");
                          }
                      });
                  }
              });
          }) == "a task");
    CHECK(sum == 100);
    CHECK(thrown_by([&] {
              roving::scope([&](const roving::spawner &s) {
                  s.spawn([] { throw std::runtime_error("a task"); });
                  throw std::runtime_error("the body");
              });
          }) == "the body");

    // Tasks that are dropped give back what they own: AddressSanitizer looks for what does not.
    auto shared = std::make_shared<int>(1);
    roving::scope([&](const roving::spawner &s) {
        s.cancel();
        for (int i = 0; i < 100; i++) {
            s.spawn([shared] { CHECK(!"dropped"); });
        }
    });
    CHECK(shared.use_count() == 1);
}

void loops()
{
    std::vector<unsigned> marks(20000);
    roving::parallel_for(10, marks.size(), [&](std::size_t i) { marks[i]++; });
    CHECK(std::accumulate(marks.begin(), marks.end(), 0u) == 19990);
    CHECK(thrown_by([] {
              roving::parallel_for(0, 50000, [](std::size_t i) {
                  if (i == 777) {
                      throw std::runtime_error("an index");
                  }
              });
          }) == "an index");

    // In order, with totals that own.
    auto text = roving::parallel_reduce(
        0, 2000, std::string(), [](std::size_t i) { return std::to_string(i % 10); },
        [](std::string a, std::string b) { return std::move(a) + b; });
    CHECK(text.size() == 2000);
    for (std::size_t i = 0; i < 2000; i++) {
        CHECK(text[i] == static_cast<char>('0' + i % 10));
    }
    auto empty = roving::parallel_reduce(
        5, 5, std::string("identity"), [](std::size_t) { return std::string(); },
        [](std::string a, std::string) { return a; });
    CHECK(empty == "identity");
    CHECK(thrown_by([] {
              roving::parallel_reduce(
                  0, 20000, std::string(),
                  [](std::size_t i) -> std::string {
                      if (i == 5000) {
                          throw std::runtime_error("a map");
                      }
                      return "x";
                  },
                  [](std::string a, std::string b) { return std::move(a) + b; });
          }) == "a map");
}

void requests()
{
    roving::cancel request;
    auto sum = [] {
        return roving::parallel_reduce(
            0, 1000, 0, [](std::size_t i) { return static_cast<int>(i); },
            [](int a, int b) { return a + b; });
    };
    CHECK(*request.run(sum) == 499500);
    auto given_up = request.run([&] {
        CHECK(!roving::is_cancelled());
        request.stop();
        CHECK(roving::is_cancelled());
        return sum();
    });
    CHECK(!given_up.has_value() && request.is_cancelled() && request.child().is_cancelled());
    roving::cancel parent;
    roving::cancel child = parent.child();
    child.stop();
    CHECK(!parent.is_cancelled());
    CHECK(thrown_by([&] { parent.run([] { throw std::runtime_error("its own"); }); }) == "its own");
    auto timed = roving::cancel::after(1);
    while (!timed.is_cancelled()) {
    }
    CHECK(roving::blocking([] { return std::string("blocked"); }) == "blocked");
    CHECK(thrown_by([] { roving::blocking([] { throw std::runtime_error("there"); }); }) == "there");
}

void all()
{
    results();
    exceptions();
    scopes();
    loops();
    requests();
}

} // namespace

int main()
{
    CHECK(thrown_by([] { roving::pool pool(1000); }).find("1000 workers") == 0);
    for (std::size_t workers = 1; workers <= 4; workers++) {
        for (std::size_t slots : {0, 1, 8}) {
            roving_options options{};
            options.workers = workers;
            options.assume_cores = 4;
            options.task_slots = slots;
            // Frames are large under a sanitizer, and what has no slot is a call.
            options.stack_size = 32 << 20;
            roving::pool pool(options);
            CHECK(pool.workers() == workers);
            pool.run(all);
            if (workers > 1 && slots == 0) {
                pool.run(stolen);
            }
            auto moved = pool.run([owned = std::make_unique<int>(3)]() mutable { return std::move(owned); });
            CHECK(*moved == 3);
            CHECK(thrown_by([&] { pool.run([] { throw std::runtime_error("out"); }); }) == "out");
            roving::pool other(1);
            CHECK(pool.run([&] { return other.run([&] { return pool.run([] { return fib(10); }); }); }) == 55);
            CHECK(pool.stats().tasks == 0);
        }
    }
    // On a thread that is no worker.
    all();
    return 0;
}
