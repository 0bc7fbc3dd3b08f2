/* Calls that fail before they have begun: in a child of fork, which has none of the threads of the
 * global pool. */
#include <roving_task.hpp>

#include <memory>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

namespace {

roving::task<int> value_of(std::shared_ptr<int> number)
{
    co_return *number;
}

/* What the task was given goes with it, begun or not. */
void of_a_task()
{
    auto number = std::make_shared<int>(7);
    bool failed = false;
    try {
        roving::run(value_of(number));
    } catch (const roving::error &) {
        failed = true;
    }
    CHECK(failed);
    CHECK(number.use_count() == 1);
}

} // namespace

int main()
{
    CHECK(roving::run(value_of(std::make_shared<int>(7))) == 7);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        of_a_task();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
