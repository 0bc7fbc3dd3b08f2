/* Roving for C++17: closures on the workers of roving.h.
 *
 *     std::uint64_t fib(unsigned n)
 *     {
 *         if (n < 2) {
 *             return n;
 *         }
 *         auto [a, b] = roving::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
 *         return a + b;
 *     }
 *
 * There is nothing to start: a thread that is no worker brings the call to the global pool.
 *
 * Exceptions. One that leaves a closure comes out of the one call that waits for it (join, scope, a
 * loop, pool::run), when all that it has started has ended; if there are several, the first one
 * (of join: that of the first closure), and the others are dropped. Calls that fail by themselves
 * throw roving::error.
 */
#ifndef ROVING_HPP
#define ROVING_HPP

#include "roving.h"

#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace roving {

/* A call that failed by itself: its code, and what exactly was wrong. */
class error : public std::runtime_error {
  public:
    explicit error(roving_status status)
        : std::runtime_error(roving_error_detail()), status_(status)
    {
    }

    roving_status status() const noexcept { return status_; }

  protected:
    error(roving_status status, const char *what) : std::runtime_error(what), status_(status) {}

  private:
    roving_status status_;
};

/* A request to stop came before a loop had done all. */
class cancelled_error : public error {
  public:
    cancelled_error() : error(ROVING_CANCELLED, roving_error_text(ROVING_CANCELLED)) {}
};

/* The result of a closure that returns nothing. */
struct unit {
    friend bool operator==(unit, unit) noexcept { return true; }
};

namespace detail {

/* Results are values. */
template <class F>
using result_of = std::conditional_t<std::is_void_v<std::invoke_result_t<F>>, unit,
                                     std::decay_t<std::invoke_result_t<F>>>;

template <class F>
inline result_of<F> call(F &&f)
{
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
        std::forward<F>(f)();
        return unit{};
    } else {
        return std::forward<F>(f)();
    }
}

inline void check(roving_status status)
{
    if (status == ROVING_CANCELLED) {
        throw cancelled_error();
    }
    if (status != ROVING_OK) {
        throw error(status);
    }
}

/* The calling thread's worker: the same pointer for as long as the thread lives. */
ROVING_HIDDEN_ inline roving_worker *here() noexcept
{
    static thread_local roving_worker *worker = nullptr;
    if (worker == nullptr) {
        worker = roving_here_();
    }
    return worker;
}

inline bool is_worker() noexcept
{
    std::size_t index;
    return roving_current_worker(&index) == ROVING_OK;
}

/* What a closure came to: a result, or an exception. */
template <class R>
class outcome {
  public:
    template <class F>
    static outcome of(F &&f) noexcept
    {
        outcome made;
        try {
            made.result_.emplace(call(std::forward<F>(f)));
        } catch (...) {
            made.error_ = std::current_exception();
        }
        return made;
    }

    R get()
    {
        if (error_) {
            std::rethrow_exception(std::move(error_));
        }
        return std::move(*result_);
    }

    bool failed() const noexcept { return error_ != nullptr; }

  private:
    std::exception_ptr error_;
    std::optional<R> result_;
};

/* Whether a closure can live in a slot: there is room, and it may be copied there byte by byte.
 * Others, such as those that own something, stay in the frame of the join, and the slot leads there. */
template <class B>
constexpr bool is_plain =
    std::is_trivially_copyable_v<B> && std::is_copy_constructible_v<B> && !std::is_function_v<B>;

template <class B>
constexpr bool closure_fits =
    is_plain<B> && sizeof(B) <= sizeof(roving_slot::words_) && alignof(B) <= 32;

template <class R>
constexpr bool outcome_fits = sizeof(outcome<R>) <= sizeof(roving_slot::words_) &&
                              alignof(outcome<R>) <= 32 &&
                              std::is_nothrow_move_constructible_v<outcome<R>>;

/* The closure in a slot, which is then free for another, or for its outcome. */
template <class B>
inline B take_closure(roving_slot *slot) noexcept
{
    return *std::launder(reinterpret_cast<B *>(slot->words_));
}

/* What a thief has left. */
template <class R>
inline outcome<R> take_outcome(roving_slot *slot) noexcept
{
    ROVING_ACQUIRE_(slot);
    outcome<R> *at = std::launder(reinterpret_cast<outcome<R> *>(slot->words_));
    outcome<R> taken(std::move(*at));
    at->~outcome<R>();
    return taken;
}

/* What a thief runs. */
template <class B>
void run_joined(roving_worker *, roving_slot *slot)
{
    using R = result_of<B &>;
    ROVING_ACQUIRE_(slot);
    ROVING_ACQUIRE_(&roving_layout_);
    B b = take_closure<B>(slot);
    ::new (static_cast<void *>(slot->words_)) outcome<R>(outcome<R>::of(b));
    ROVING_RELEASE_(slot);
}

template <class B>
roving_left_ stolen(roving_slot *slot)
{
    return roving_run_(slot, run_joined<B>);
}

/* The slow push. Null: there is no room, or no worker. */
template <class B>
ROVING_COLD_NOTHROW_ void push_slowly(roving_slot **slot, B b)
{
    alignas(32) unsigned char words[sizeof(roving_slot::words_)] = {};
    ::new (static_cast<void *>(words)) B(b);
    ROVING_RELEASE_(&roving_layout_);
    *slot = roving_push_(stolen<B>, words);
}

/* The end of a join whose pop is not the fast one. */
template <class B>
ROVING_COLD_ void finish_slowly(roving_slot *slot, std::optional<result_of<B &>> *result)
{
    if (roving_pop_(slot)) {
        B b = take_closure<B>(slot);
        result->emplace(call(b));
    } else {
        result->emplace(take_outcome<result_of<B &>>(slot).get());
    }
}

/* Held while the first closure runs. If that throws, the second one has to end before this frame
 * does, because it may borrow from it: it runs, as it would have. Its exception is dropped. */
template <class B>
class pending {
  public:
    explicit pending(roving_slot *slot) noexcept : slot_(slot) {}
    pending(const pending &) = delete;
    pending &operator=(const pending &) = delete;

    roving_slot *release() noexcept { return std::exchange(slot_, nullptr); }

    ~pending()
    {
        if (slot_ != nullptr) {
            end(slot_);
        }
    }

  private:
    ROVING_COLD_NOTHROW_ static void end(roving_slot *slot) noexcept
    {
        using R = result_of<B &>;
        if (roving_pop_(slot)) {
            B b = take_closure<B>(slot);
            (void)outcome<R>::of(b);
        } else {
            (void)take_outcome<R>(slot);
        }
    }

    roving_slot *slot_;
};

/* A call of C's that runs a closure, here or elsewhere, and keeps what it comes to. */
template <class F>
struct carried {
    using R = result_of<F &>;

    F *f;
    std::optional<outcome<R>> ended;

    explicit carried(F &closure) : f(&closure) { ROVING_RELEASE_(this); }

    void run()
    {
        ROVING_ACQUIRE_(this);
        ended.emplace(outcome<R>::of(*f));
        ROVING_RELEASE_(this);
    }

    static void run_at(roving_worker *, void *self) { static_cast<carried *>(self)->run(); }

    R get(roving_status status)
    {
        ROVING_ACQUIRE_(this);
        if (ended && ended->failed()) {
            return ended->get();
        }
        check(status);
        return ended->get();
    }
};

/* One after the other; both end, whatever the first does. */
template <class A, class B>
inline std::pair<result_of<A &>, result_of<B &>> in_turn(A &a, B &b)
{
    auto first = outcome<result_of<A &>>::of(a);
    auto second = outcome<result_of<B &>>::of(b);
    result_of<A &> ra = first.get();
    return {std::move(ra), second.get()};
}

template <class A, class B>
std::pair<result_of<A &>, result_of<B &>> join_in_slot(A a, B b);

/* A join without a task: there is no room for it; or all of it moves to the global pool. */
template <class A, class B>
ROVING_COLD_ void join_unpushed(A *a, B *b,
                                std::optional<std::pair<result_of<A &>, result_of<B &>>> *results)
{
    if (is_worker()) {
        results->emplace(in_turn(*a, *b));
        return;
    }
    auto all = [a, b] { return join_in_slot(*a, *b); };
    carried<decltype(all)> carried(all);
    results->emplace(carried.get(roving_pool_run(nullptr, carried.run_at, &carried)));
}

/* The fast path: as that of Rust's join, and as ROVING_SPAWN and ROVING_SYNC. Both closures are plain
 * data, of which the slow paths get copies: what has its address taken stays in memory on every
 * path, and the words of a closure are to go from registers into the slot. */
template <class A, class B>
inline std::pair<result_of<A &>, result_of<B &>> join_in_slot(A a, B b)
{
    roving_worker *worker = here();
    roving_line *line = roving_line_of_(worker);
    roving_slot *slot;
    if (ROVING_LIKELY_(roving_can_push_(line))) {
        slot = line->top_;
        ::new (static_cast<void *>(slot->words_)) B(b);
        slot->run_ = stolen<B>;
        ROVING_RELEASE_(slot);
        line->top_ = slot + 1;
    } else {
        roving_slot *pushed;
        push_slowly<B>(&pushed, b);
        slot = pushed;
        if (slot == nullptr) {
            std::optional<std::pair<result_of<A &>, result_of<B &>>> results;
            A first = a;
            B second = b;
            join_unpushed<A, B>(&first, &second, &results);
            return std::move(*results);
        }
    }
    pending<B> pending(slot);
    result_of<A &> ra = call(a);
    slot = pending.release();
    /* It may be another line than before: an alarm has its own. */
    line = roving_line_of_(worker);
    if (ROVING_LIKELY_(roving_can_pop_(line, slot))) {
        line->top_ = slot;
        B copy = take_closure<B>(slot);
        return {std::move(ra), call(copy)};
    }
    std::optional<result_of<B &>> rb;
    finish_slowly<B>(slot, &rb);
    return {std::move(ra), std::move(*rb)};
}

/* The first exception of many tasks. */
class first_error {
  public:
    void keep(std::exception_ptr error) noexcept
    {
        if (!taken_.exchange(true, std::memory_order_relaxed)) {
            error_ = std::move(error);
        }
    }

    /* A hint: something has failed. */
    bool has_any() const noexcept { return taken_.load(std::memory_order_relaxed); }

    /* When all tasks have ended. */
    void rethrow()
    {
        if (error_) {
            std::rethrow_exception(std::move(error_));
        }
    }

  private:
    std::atomic<bool> taken_{false};
    std::exception_ptr error_;
};

} // namespace detail

/* Calls f and g, perhaps at the same time, and returns both results, by value; `unit` for none. The
 * second closure is called from its own frame, or from a copy if it is plain data that is given as
 * an rvalue; it may own what cannot be copied. */
template <class F, class G>
inline auto join(F &&f, G &&g) -> std::pair<detail::result_of<F &>, detail::result_of<G &>>
{
    using A = std::remove_reference_t<F>;
    using B = std::remove_reference_t<G>;
    using R = detail::result_of<G &>;
    if constexpr (std::is_lvalue_reference_v<F> || !detail::is_plain<A>) {
        return join([&f]() -> decltype(auto) { return f(); }, std::forward<G>(g));
    } else if constexpr (!std::is_lvalue_reference_v<G> && detail::closure_fits<B> &&
                         detail::outcome_fits<R>) {
        return detail::join_in_slot<A, B>(f, g);
    } else {
        std::optional<R> result;
        auto by_reference = [&g, &result] { result.emplace(detail::call(g)); };
        auto results = detail::join_in_slot<A>(f, by_reference);
        return {std::move(results.first), std::move(*result)};
    }
}

/* A set of workers. */
class pool {
  public:
    /* 0: one worker for each core that the process may use. */
    explicit pool(std::size_t workers = 0) { detail::check(roving_pool_new(workers, &raw_)); }
    explicit pool(const roving_options &options)
    {
        detail::check(roving_pool_new_with(&options, &raw_));
    }
    pool(pool &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    pool &operator=(pool &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~pool() { roving_pool_free(raw_); }

    std::size_t workers() const noexcept { return roving_pool_workers(raw_); }

    /* Calls f on a worker of this pool. */
    template <class F>
    auto run(F &&f) const -> detail::result_of<F &>
    {
        detail::carried<std::remove_reference_t<F>> carried(f);
        return carried.get(roving_pool_run(raw_, carried.run_at, &carried));
    }

    roving_stats stats() const
    {
        roving_stats stats;
        detail::check(roving_pool_stats(raw_, &stats));
        return stats;
    }

    roving_pool *raw() const noexcept { return raw_; }

  private:
    roving_pool *raw_ = nullptr;
};

/* Into which a scope's tasks are spawned. */
class spawner {
  public:
    spawner(const spawner &) = delete;
    spawner &operator=(const spawner &) = delete;

    /* Calls f(), or f(spawner), some time before the scope ends. It may own what cannot be copied. A
     * closure of plain data of up to 16 bytes takes no allocation. */
    template <class F>
    void spawn(F &&f) const
    {
        using T = task<std::decay_t<F>>;
        if constexpr (std::is_trivially_copyable_v<std::decay_t<F>> && alignof(T) <= 8 &&
                      sizeof(T) <= 24) {
            T made{this, std::forward<F>(f)};
            ROVING_RELEASE_(&roving_layout_);
            detail::check(roving_scope_spawn_copy(raw_, T::run_copy, &made, sizeof(made)));
        } else {
            T *made = new T{this, std::forward<F>(f)};
            ROVING_RELEASE_(&roving_layout_);
            roving_status status = roving_scope_spawn_owned(raw_, T::run_owned, T::drop, made);
            detail::check(status);
        }
    }

    /* Tasks that have not begun are dropped. */
    void cancel() const { detail::check(roving_scope_cancel(raw_)); }
    bool is_cancelled() const noexcept { return roving_scope_is_cancelled(raw_) != 0; }

  private:
    template <class F>
    friend auto scope(F &&f) -> std::conditional_t<
        std::is_void_v<std::invoke_result_t<F &, const spawner &>>, void,
        std::decay_t<std::invoke_result_t<F &, const spawner &>>>;

    template <class F>
    struct task {
        const spawner *scope;
        F f;

        void run() noexcept
        {
            try {
                if constexpr (std::is_invocable_v<F &, const spawner &>) {
                    f(*scope);
                } else {
                    f();
                }
            } catch (...) {
                scope->errors_.keep(std::current_exception());
            }
        }

        static void run_copy(roving_worker *, roving_scope *, void *self)
        {
            ROVING_ACQUIRE_(&roving_layout_);
            task *at = static_cast<task *>(self);
            const spawner *scope = at->scope;
            at->run();
            ROVING_RELEASE_(scope);
            (void)scope;
        }

        static void run_owned(roving_worker *worker, roving_scope *raw, void *self)
        {
            (void)worker, (void)raw;
            ROVING_ACQUIRE_(&roving_layout_);
            task *at = static_cast<task *>(self);
            const spawner *scope = at->scope;
            at->run();
            delete at;
            ROVING_RELEASE_(scope);
            (void)scope;
        }

        static void drop(void *self)
        {
            ROVING_ACQUIRE_(&roving_layout_);
            task *at = static_cast<task *>(self);
            const spawner *scope = at->scope;
            delete at;
            ROVING_RELEASE_(scope);
            (void)scope;
        }
    };

    spawner() = default;

    const roving_scope *raw_ = nullptr;
    mutable detail::first_error errors_;
};

/* Calls f(spawner), and returns its result when it and all that was spawned have ended. */
template <class F>
auto scope(F &&f) -> std::conditional_t<
    std::is_void_v<std::invoke_result_t<F &, const spawner &>>, void,
    std::decay_t<std::invoke_result_t<F &, const spawner &>>>
{
    spawner spawner;
    auto body = [&] { return f(static_cast<const class spawner &>(spawner)); };
    struct call {
        class spawner *scope;
        detail::carried<decltype(body)> carried;
    } call{&spawner, detail::carried<decltype(body)>(body)};
    auto run = [](roving_worker *, roving_scope *raw, void *self) {
        auto *at = static_cast<struct call *>(self);
        ROVING_ACQUIRE_(at);
        at->scope->raw_ = raw;
        at->carried.run();
        ROVING_RELEASE_(at);
    };
    ROVING_RELEASE_(&call);
    roving_status status = roving_scope_run(run, &call);
    ROVING_ACQUIRE_(&call);
    ROVING_ACQUIRE_(&spawner);
    if (!call.carried.ended || !call.carried.ended->failed()) {
        spawner.errors_.rethrow();
    }
    if constexpr (std::is_void_v<std::invoke_result_t<F &, const class spawner &>>) {
        call.carried.get(status);
    } else {
        return call.carried.get(status);
    }
}

/* Calls f for each index from `first` up to, and without, `last`, perhaps at the same time. When one
 * throws, the others end soon: of each part that runs, up to 256 indices are still called. */
template <class F>
void parallel_for(std::size_t first, std::size_t last, F &&f)
{
    struct loop {
        std::remove_reference_t<F> *f;
        detail::first_error errors;
    } loop;
    loop.f = &f;
    ROVING_RELEASE_(&loop);
    auto block = [](roving_worker *, std::size_t from, std::size_t to, void *self) {
        auto *at = static_cast<struct loop *>(self);
        ROVING_ACQUIRE_(at);
        try {
            /* Not at each index is asked whether another has failed: so a compiler makes vectors of
             * what can be made so. */
            while (from < to && !at->errors.has_any()) {
                std::size_t stop = to - from > 256 ? from + 256 : to;
                for (std::size_t i = from; i < stop; ++i) {
                    (*at->f)(i);
                }
                from = stop;
            }
        } catch (...) {
            at->errors.keep(std::current_exception());
        }
        ROVING_RELEASE_(at);
    };
    roving_status status = roving_for(first, last, block, &loop);
    ROVING_ACQUIRE_(&loop);
    loop.errors.rethrow();
    detail::check(status);
}

/* Combines what `map` makes of each index, in the order of the indices. `combine` has to be
 * associative; `identity` is what an empty range gives, and changes nothing when combined. */
template <class T, class Map, class Combine>
T parallel_reduce(std::size_t first, std::size_t last, T identity, Map &&map, Combine &&combine)
{
    /* Totals stand in a list that outlives the loop, whatever ends that: there are as few as parts
     * that other workers have asked for. */
    struct loop {
        const T *identity;
        std::remove_reference_t<Map> *map;
        std::remove_reference_t<Combine> *combine;
        detail::first_error errors;
        std::mutex lock;
        std::deque<T> totals;

        T *total()
        {
            std::lock_guard<std::mutex> guard(lock);
            return &totals.emplace_back(*identity);
        }
    } loop;
    loop.identity = &identity;
    loop.map = &map;
    loop.combine = &combine;
    ROVING_RELEASE_(&loop);
    auto fold = [](roving_worker *, std::size_t from, std::size_t to, void *into, void *self) {
        auto *at = static_cast<struct loop *>(self);
        T **total = static_cast<T **>(into);
        ROVING_ACQUIRE_(at);
        try {
            if (*total == nullptr && !at->errors.has_any()) {
                *total = at->total();
            }
            for (std::size_t i = from; i < to && !at->errors.has_any(); ++i) {
                **total = (*at->combine)(std::move(**total), (*at->map)(i));
            }
        } catch (...) {
            at->errors.keep(std::current_exception());
        }
        ROVING_RELEASE_(at);
    };
    auto add = [](void *into, const void *following, void *self) {
        auto *at = static_cast<struct loop *>(self);
        T **total = static_cast<T **>(into);
        ROVING_ACQUIRE_(at);
        T *next = *static_cast<T *const *>(following);
        try {
            if (*total == nullptr) {
                *total = next;
            } else if (next != nullptr && !at->errors.has_any()) {
                **total = (*at->combine)(std::move(**total), std::move(*next));
            }
        } catch (...) {
            at->errors.keep(std::current_exception());
        }
        ROVING_RELEASE_(at);
    };
    T *const none = nullptr;
    T *result = nullptr;
    roving_reduction reduction = {sizeof(T *), &none, fold, add};
    roving_status status = roving_reduce(first, last, &reduction, &loop, &result);
    ROVING_ACQUIRE_(&loop);
    loop.errors.rethrow();
    detail::check(status);
    return result == nullptr ? std::move(identity) : std::move(*result);
}

/* A request to stop. */
class cancel {
  public:
    cancel() { detail::check(roving_cancel_new(nullptr, 0, &raw_)); }
    cancel(cancel &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    cancel &operator=(cancel &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~cancel() { roving_cancel_free(raw_); }

    /* One that comes by itself after so many nanoseconds, at least 1. */
    static cancel after(std::uint64_t nanoseconds) { return cancel(nullptr, nanoseconds); }
    /* One that comes with this one, or alone. */
    cancel child() const { return cancel(raw_, 0); }

    /* Asks for an end. */
    void stop() const { detail::check(roving_cancel(raw_)); }
    bool is_cancelled() const noexcept { return roving_is_cancelled(raw_) != 0; }

    /* Calls f; all work inside belongs to the request. Nothing, if that came before f had ended. */
    template <class F>
    auto run(F &&f) const -> std::optional<detail::result_of<F &>>
    {
        detail::carried<std::remove_reference_t<F>> carried(f);
        roving_status status = roving_cancel_run(raw_, carried.run_at, &carried);
        try {
            return carried.get(status);
        } catch (const cancelled_error &) {
            if (!is_cancelled()) {
                throw;
            }
            return std::nullopt;
        }
    }

  private:
    cancel(const roving_cancel_token *parent, std::uint64_t nanoseconds)
    {
        detail::check(roving_cancel_new(parent, nanoseconds, &raw_));
    }

    roving_cancel_token *raw_ = nullptr;
};

/* Whether the calling code should end: a request that it belongs to has come. */
inline bool is_cancelled() noexcept
{
    return roving_is_cancelled(nullptr) != 0;
}

/* Calls f, which may block the thread: another thread works meanwhile. */
template <class F>
auto blocking(F &&f) -> detail::result_of<F &>
{
    detail::carried<std::remove_reference_t<F>> carried(f);
    return carried.get(roving_blocking_run(carried.run_at, &carried));
}

} // namespace roving

#endif
