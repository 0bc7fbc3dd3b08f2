// The rival GCC OpenMP: one task for each fork, then a taskwait.
#include <atomic>
#include <numeric>
#include <omp.h>
#include <string>

#include "program.hpp"

class OpenMp {
  public:
    explicit OpenMp(int workers) : workers_(workers) { omp_set_dynamic(0); }

    static std::string version() {
        return "GCC OpenMP " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
    }

    template <class Body>
    void inside(Body&& body) {
#pragma omp parallel num_threads(workers_)
#pragma omp single
        body();
    }

    template <class A, class B>
    static void fork(A&& a, B&& b) {
#pragma omp task default(none) shared(a)
        a();
        b();
#pragma omp taskwait
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
        if (check) {
            for (uint64_t i = 0; i < tasks; ++i) {
#pragma omp task default(none) shared(ran)
                ran.fetch_add(1, std::memory_order_relaxed);
            }
        } else {
            for (uint64_t i = 0; i < tasks; ++i) {
#pragma omp task
                __asm__ volatile("" ::: "memory");
            }
        }
#pragma omp taskwait
        return check ? ran.load() : tasks;
    }

  private:
    static constexpr uint32_t kInFrame = 8;

    template <class Result, class Body>
    static Result sum_into(Result* results, uint32_t count, const Body& body) {
        for (uint32_t i = 0; i + 1 < count; ++i) {
#pragma omp task default(none) shared(body) firstprivate(results, i)
            results[i] = body(i);
        }
        results[count - 1] = body(count - 1);
#pragma omp taskwait
        return std::accumulate(results, results + count, Result{});
    }

    int workers_;
};

int main(int argc, char** argv) { return program::main<OpenMp>(argc, argv); }
