// The rival oneTBB: a task group of one task for each fork.
#include <atomic>
#include <numeric>
#include <string>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

#include "program.hpp"

class Tbb {
  public:
    explicit Tbb(int workers)
        : limit_(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(workers)),
          stack_(tbb::global_control::thread_stack_size, size_t{256} << 20),
          arena_(workers) {}

    static std::string version() {
        return "oneTBB " + std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
    }

    template <class Body>
    void inside(Body&& body) {
        arena_.execute(body);
    }

    template <class A, class B>
    static void fork(A&& a, B&& b) {
        tbb::task_group group;
        group.run(a);
        b();
        group.wait();
    }

    // The sum of `body(i)` for i in [0, count), one task each but for the last.
    template <class Result, class Body>
    static Result sum(uint32_t count, const Body& body) {
        if (count > kInFrame) {
            std::vector<Result> results(count);
            return sum_into(results.data(), count, body);
        }
        Result results[kInFrame];
        return sum_into(results, count, body);
    }

    static uint64_t flat(uint64_t tasks, bool check) {
        std::atomic<uint64_t> ran{0};
        tbb::task_group group;
        if (check) {
            for (uint64_t i = 0; i < tasks; ++i) group.run([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
        } else {
            for (uint64_t i = 0; i < tasks; ++i) group.run([] {});
        }
        group.wait();
        return check ? ran.load() : tasks;
    }

  private:
    static constexpr uint32_t kInFrame = 8;

    template <class Result, class Body>
    static Result sum_into(Result* results, uint32_t count, const Body& body) {
        tbb::task_group group;
        for (uint32_t i = 0; i + 1 < count; ++i) group.run([results, &body, i] { results[i] = body(i); });
        results[count - 1] = body(count - 1);
        group.wait();
        return std::accumulate(results, results + count, Result{});
    }

    tbb::global_control limit_;
    tbb::global_control stack_;
    tbb::task_arena arena_;
};

int main(int argc, char** argv) { return program::main<Tbb>(argc, argv); }
