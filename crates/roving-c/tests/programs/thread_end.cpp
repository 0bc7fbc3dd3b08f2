// Calls in the destructor of a thread_local, when the library's own of that thread are gone: they
// fail as elsewhere, without a detail, and work as elsewhere.
#include "check.h"

#include <thread>

ROVING_TASK(unsigned, one_more, unsigned, n)
{
    return n + 1;
}

ROVING_TASK(unsigned, sum, unsigned, n)
{
    if (n == 0) {
        return 0;
    }
    ROVING_SPAWN(later, sum, n - 1);
    unsigned one = ROVING_CALL(one_more, 0);
    return one + ROVING_SYNC(sum, later);
}

static void works()
{
    unsigned result = 0;
    OK(ROVING_RUN(NULL, &result, sum, 100));
    CHECK(result == 100);
#ifdef NDEBUG
    // What debug builds refuse: there is no worker, so the tasks run in place.
    ROVING_HERE;
    ROVING_SPAWN(first, sum, 10);
    ROVING_SPAWN(second, sum, 20);
    CHECK(ROVING_SYNC(sum, second) == 20);
    CHECK(ROVING_SYNC(sum, first) == 10);
#endif
}

static void fails(bool has_detail)
{
    size_t worker;
    CHECK(roving_current_worker(&worker) == ROVING_NOT_A_WORKER);
    CHECK((roving_error_detail()[0] != '\0') == has_detail);
    CHECK(roving_current_worker(NULL) == ROVING_ARGUMENT);
    CHECK((roving_error_detail()[0] != '\0') == has_detail);
}

static int ended = 0;

// Made before the library has anything on its thread, so its destructor comes last.
struct cleanup {
    bool has_called = false;

    ~cleanup()
    {
        fails(!has_called);
        works();
        fails(!has_called);
        ended++;
    }
};

static thread_local cleanup at_end;

static void thread_that(bool calls)
{
    std::thread([calls] {
        at_end.has_called = calls;
        if (calls) {
            fails(true);
            works();
        }
    }).join();
}

int main()
{
    thread_that(true);
    thread_that(false);
    CHECK(ended == 2);
}
