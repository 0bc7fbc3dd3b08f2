/* Roving for C++20: coroutines whose continuations are stolen, on the workers of roving.h.
 *
 *     roving::task<std::uint64_t> fib(unsigned n)
 *     {
 *         if (n < 2) {
 *             co_return n;
 *         }
 *         roving::forked<std::uint64_t> a;
 *         co_await roving::fork(a, fib(n - 1)); // runs at once; who is idle goes on here
 *         auto b = co_await fib(n - 2);         // a call
 *         co_await roving::join();              // waits for all that was forked
 *         co_return a.get() + b;
 *     }
 *
 *     std::uint64_t result = roving::run(fib(40));
 *
 * A worker never blocks in a join: a task that waits is on no stack, and the last child that ends
 * resumes it. So after each co_await a task may be on another thread: no lock and no address of a
 * thread_local may be kept across one. What a task holds there has to be usable on any thread, as
 * C++ has no way to check.
 *
 * Children may use what their parent's frame held when they were made: a `forked` waits in its
 * destructor, if it must, before what was declared above it is destroyed. That blocks the worker,
 * and happens only where an exception or a co_return passes by the join. A forked lives in the task
 * that made it.
 *
 * Exceptions. One that leaves a child comes out of the co_await that called it, or out of the next
 * join of the task that forked or spawned it, when all children have ended: the first one, and the
 * others are dropped. What no join has seen comes out of the task itself.
 *
 * Alignment. Frames are aligned to 64 bytes: what a task is given, has as a local and returns may be
 * aligned to as much. Of results that want more, compilers tell.
 *
 * Cancellation. Children that are forked or spawned below a request that has come do not begin: the
 * next join throws cancelled_error.
 */
#ifndef ROVING_TASK_HPP
#define ROVING_TASK_HPP

#include "roving.hpp"

#if __cplusplus < 202002L
#error "roving_task.hpp needs C++20"
#endif

#include <condition_variable>
#include <coroutine>
#include <cstddef>

/* Of an await_suspend after which another thread may have the frame. Clang before 19 keeps values of
 * an inlined one in the frame, and reads them there afterwards (llvm-project#56301). */
#if defined(__clang__) && __clang_major__ < 19
#define ROVING_SUSPEND_ __attribute__((__noinline__))
#else
#define ROVING_SUSPEND_
#endif

namespace roving {

/* A task that has not begun: its arguments are there, and nothing has run. It is called by co_await,
 * handed to fork or spawn, or run; if it is destroyed instead, its arguments are, too. */
template <class T = void>
class task;

/* A child that is forked or spawned, and its result from the join on. */
template <class T = void>
class forked;

namespace detail {

template <class T>
class promise;

/* ---- The memory of frames ---------------------------------------------------------------------
 *
 * Compilers place what is in a frame as its type wants it, and ask for memory without saying how
 * that is to be aligned. Before the frame stands the address of its memory: a malloc that aligns
 * takes several times as long, with glibc, as one that need not. */
constexpr std::size_t frame_alignment = 64;

inline void *new_frame(std::size_t bytes)
{
    void *memory = ::operator new(bytes + frame_alignment);
    std::size_t above = reinterpret_cast<std::uintptr_t>(memory) % frame_alignment;
    void **frame = reinterpret_cast<void **>(static_cast<char *>(memory) + frame_alignment - above);
    frame[-1] = memory;
    return frame;
}

inline void delete_frame(void *frame) noexcept
{
    ::operator delete(static_cast<void **>(frame)[-1]);
}

/* Each thread keeps what it frees, by size. The lists are plain data, so that using them takes no
 * look at whether they exist; who first frees something leaves a cleaner for the thread's end. */
class frame_store {
  public:
    void *take(std::size_t bytes)
    {
        std::size_t size = class_of(bytes);
        if (ROVING_LIKELY_(size < classes && kept_[size] != nullptr)) {
            block *taken = kept_[size];
            kept_[size] = taken->next;
            ++room_[size];
            return taken;
        }
        return new_frame((size + 1) * unit);
    }

    void give(void *memory, std::size_t bytes) noexcept
    {
        std::size_t size = class_of(bytes);
        if (ROVING_LIKELY_(size < classes && room_[size] != 0)) {
            keep(memory, size);
        } else {
            give_slowly(memory, size);
        }
    }

  private:
    static constexpr std::size_t unit = frame_alignment, classes = 16;
    static constexpr unsigned most = 512;

    struct block {
        block *next;
    };

    struct cleaner {
        frame_store *store;
        ~cleaner()
        {
            store->closed_ = true;
            for (std::size_t size = 0; size < classes; ++size) {
                store->room_[size] = 0;
                while (block *first = store->kept_[size]) {
                    store->kept_[size] = first->next;
                    delete_frame(first);
                }
            }
        }
    };

    static constexpr std::size_t class_of(std::size_t bytes) { return (bytes - 1) / unit; }

    void keep(void *memory, std::size_t size) noexcept
    {
        --room_[size];
        kept_[size] = ::new (memory) block{kept_[size]};
    }

    ROVING_HIDDEN_ ROVING_COLD_NOTHROW_ void give_slowly(void *memory, std::size_t size) noexcept
    {
        if (size < classes && !opened_ && !closed_) {
            static thread_local cleaner at_end{this};
            opened_ = at_end.store == this;
            for (unsigned &room : room_) {
                room = most;
            }
            keep(memory, size);
        } else {
            delete_frame(memory);
        }
    }

    block *kept_[classes];
    unsigned room_[classes];
    bool opened_, closed_;
};

ROVING_HIDDEN_ inline constinit thread_local frame_store frames{};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROVING_PLAIN_FRAMES_ 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ROVING_PLAIN_FRAMES_ 1
#endif
#endif

/* ---- What all promises have ------------------------------------------------------------------ */

class promise_base;

/* The loop of a worker that runs coroutines. One that stops says here which is next; so the native
 * stack is as deep below ten thousand nested forks as below one, with any compiler and any flags:
 * gcc makes a transfer from one coroutine to the next a jump only where it optimises. */
struct driver {
    roving_worker *worker;
    promise_base *next;
};

/* A thread that waits in a destructor. */
struct blocked {
    std::mutex lock;
    std::condition_variable woken;
    bool over = false;
};

/* Who goes on at the end of a task. */
enum class begun_by : unsigned char {
    call,  /* the parent, which waits for this one alone */
    place, /* the same, for a child that was forked or spawned, and for which there was no room */
    fork,  /* the parent, if its continuation lies on top of the stack; else as for a spawn */
    spawn, /* the parent, if it is at a join, and this is the last */
    run,   /* nobody here: the tree of the blocking call sees that all have ended */
};

/* What there is of an outcome. */
enum class stage : unsigned char {
    none,    /* nothing was begun */
    running, /* the child has not ended */
    value,   /* its result is there */
    failed,  /* it has failed: whoever waits has the exception */
    taken,   /* the result was taken out */
};

/* Where a task leaves what it came to, in the frame of whoever waits.
 *
 * `stage_` is `running` from the begin of the child on. The child sets it to `value` or `failed` when
 * its own frame has gone; its parent, or whoever called, all else, and only while it is not `running`.
 *
 * Ordering: the child's store is a release, and the load an acquire, because the destructor of a
 * `forked` may see it before a join does, and then ends the frame in which the child has written. */
class outcome_base {
  public:
    outcome_base() = default;
    outcome_base(const outcome_base &) = delete;
    outcome_base &operator=(const outcome_base &) = delete;

    stage now() const noexcept { return stage_.load(std::memory_order_acquire); }
    void set(stage now) noexcept { stage_.store(now, std::memory_order_release); }

  private:
    std::atomic<stage> stage_{stage::none};
};

/* The exception in it is taken out by the one who hears of the failure, at once: there always is one. */
template <class T>
class task_outcome : public outcome_base {
    static_assert(!std::is_reference_v<T>, "results are values");
    static_assert(alignof(T) <= frame_alignment,
                  "results, and what else a roving::task keeps across a co_await, are aligned to 64 "
                  "bytes at most: return what needs more by a pointer");

  public:
    task_outcome() noexcept {}
    ~task_outcome() { clear(); }

    template <class U>
    void put(U &&value)
    {
        ::new (static_cast<void *>(std::addressof(value_))) T(std::forward<U>(value));
    }
    void put_error(std::exception_ptr error) noexcept
    {
        ::new (static_cast<void *>(&error_)) std::exception_ptr(std::move(error));
    }
    /* Of a task that fails after it has returned something. */
    void drop_value() noexcept { value_.~T(); }
    void clear() noexcept
    {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (now() == stage::value) {
                value_.~T();
                set(stage::none);
            }
        }
    }

    T take()
    {
        T taken(std::move(value_));
        clear();
        set(stage::taken);
        return taken;
    }
    std::exception_ptr take_error() noexcept
    {
        std::exception_ptr taken(std::move(error_));
        error_.~exception_ptr();
        return taken;
    }

  private:
    union {
        T value_;
        std::exception_ptr error_;
    };
};

template <>
class task_outcome<void> : public task_outcome<unit> {
  public:
    void take() { task_outcome<unit>::take(); }
};

/* One coroutine.
 *
 * `lost_` is the number of children that the task has to wait for at its next join: those that were
 * spawned, and those that were forked and whose end was not what resumed it. It belongs to whoever
 * runs the task. A task whose continuation nobody took touches no other word.
 *
 * `pending_` is where children and parent meet. Its values, and who may change them:
 *
 * | value      | meaning                                            | next, and by whom           |
 * |------------|----------------------------------------------------|-----------------------------|
 * | -n, n >= 0 | the task runs, or will: n lost children have ended | one less, by a lost child   |
 * |            | since its last join                                | that ends; + lost_, by the  |
 * |            |                                                    | task that comes to a join   |
 * | n > 0      | it waits at a join, and belongs to nobody: n of    | one less, by a child. Who   |
 * |            | its children have not ended                        | takes it from 1 to 0 has it |
 *
 * A join that adds lost_ and comes to 0 goes on: all have ended.
 *
 * Ordering: each change is a read-modify-write with acquire and release. Release, so that what a
 * child has done (its result, its failure in `error_`, what it wrote elsewhere) is seen by whoever
 * goes on with the parent; and that what the parent has written before it came to the join (its
 * frame, blocked_) is seen by the child that goes on with it. All changes being read-modify-writes,
 * the last child acquires what all earlier ones have released.
 *
 * Before its change a child has freed its own frame; after it, it does not touch its parent's, unless
 * it has become the one who has it. */
class promise_base {
  public:
    promise_base() = default;
    promise_base(const promise_base &) = delete;
    promise_base &operator=(const promise_base &) = delete;

#ifdef ROVING_PLAIN_FRAMES_
    static void *operator new(std::size_t bytes) { return new_frame(bytes); }
    static void operator delete(void *memory, std::size_t) noexcept { delete_frame(memory); }
#else
    static void *operator new(std::size_t bytes) { return frames.take(bytes); }
    static void operator delete(void *memory, std::size_t bytes) noexcept
    {
        frames.give(memory, bytes);
    }
#endif

    static std::suspend_always initial_suspend() noexcept { return {}; }

    std::coroutine_handle<promise_base> handle() noexcept
    {
        return std::coroutine_handle<promise_base>::from_promise(*this);
    }

    void *out() const noexcept { return out_; }

    bool has_failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

    /* The first failure of a child since the last join. */
    std::exception_ptr take_error() noexcept
    {
        failed_.store(false, std::memory_order_relaxed);
        return std::move(error_);
    }

    /* Runs the child, and goes on when it has ended. */
    void call(promise_base &child, void *out) noexcept
    {
        child.begin(*this, out, begun_by::call);
        by_->next = &child;
    }

    /* Runs the child, and leaves this task's continuation to thieves. */
    void fork(promise_base &child, void *out) noexcept
    {
        driver *by = by_;
        child.begin(*this, out, begun_by::fork);
        roving_line *line = roving_line_of_(by->worker);
        if (ROVING_LIKELY_(roving_can_push_(line))) {
            roving_slot *slot = line->top_;
            set_word(slot, 0, child.mark());
            set_word(slot, 1, tree());
            set_word(slot, 2, this);
            slot->run_ = roving_run_tree_;
            slot->code_ = continuation();
            ROVING_RELEASE_(this);
            line->top_ = slot + 1;
            by->next = &child;
        } else {
            fork_slowly(child);
        }
    }

    /* Leaves the child to thieves, or for the time when this worker has nothing newer. False: there
     * is no room, and the child is to be run in place. */
    bool spawn(promise_base &child, void *out) noexcept
    {
        child.begin(*this, out, begun_by::spawn);
        void *words[3] = {this, tree(), &child};
        ++lost_;
        ROVING_RELEASE_(&child);
        if (roving_tree_push_(run_spawned, words, 1)) {
            return true;
        }
        --lost_;
        return false;
    }

    void run_in_place(promise_base &child) noexcept
    {
        child.how_ = begun_by::place;
        by_->next = &child;
    }

    /* Below a request that has come, a child does not begin: its frame is the caller's to destroy. */
    bool drops_children() noexcept
    {
        return ROVING_UNLIKELY_(may_be_cancelled()) && drops_slowly();
    }

    /* Comes to a join. True if all children have ended. */
    bool has_joined() noexcept
    {
        ++joins_;
        return lost_ == 0;
    }

    /* Waits at a join; the frame may belong to another thread afterwards. */
    void wait() noexcept
    {
        driver *by = by_;
        if (arrive_at_join()) {
            by->next = this;
        }
    }

    /* Waits for all children in a destructor. */
    ROVING_COLD_NOTHROW_ void block() noexcept
    {
        /* What it has spawned itself, and nobody has taken. */
        while (roving_slot *slot = roving_tree_take_(run_spawned, key())) {
            drive(by_->worker, static_cast<promise_base *>(word(slot, 2)));
        }
        blocked here;
        blocked_ = &here;
        if (!arrive_at_join()) {
            blocking([&here] {
                std::unique_lock<std::mutex> lock(here.lock);
                here.woken.wait(lock, [&here] { return here.over; });
            });
        }
        blocked_ = nullptr;
    }

    /* For debug builds: how many joins there were. */
    unsigned joins() const noexcept { return joins_; }

    /* The task has ended well. True if its parent goes on here, so that the frame can go. */
    bool ends_here() noexcept
    {
        if (ROVING_UNLIKELY_(lost_ != 0 || has_failed())) {
            return false;
        }
        driver *by = by_;
        if (how_ != begun_by::call) {
            roving_line *line = roving_line_of_(by->worker);
            auto *slot = reinterpret_cast<roving_slot *>(
                reinterpret_cast<std::uintptr_t>(line->top_) - sizeof(roving_slot));
            /* The words are read only if the slot is private, and the code says what they are. The
             * child names the push: thieves take the oldest first, so as long as its parent's
             * continuation is here, so is all below the child, and it cannot end elsewhere. */
            if (how_ != begun_by::fork || !roving_can_pop_(line, slot) ||
                slot->code_ != continuation() || word(slot, 0) != mark()) {
                return false;
            }
            line->top_ = slot;
        }
        by->next = parent_;
        return true;
    }

    /* The end of a task in all other ways. Its frame is destroyed. */
    template <class Outcome>
    static void end(promise_base &self, Outcome *out, stage came_to) noexcept
    {
        if (self.lost_ != 0) {
            self.block(); /* a forked was taken out of the task */
        }
        if (self.has_failed()) {
            std::exception_ptr error = self.take_error();
            if (came_to == stage::value) {
                out->drop_value();
                out->put_error(std::move(error));
                came_to = stage::failed;
            }
        }
        begun_by how = self.how_;
        promise_base *parent = self.parent_;
        driver *by = self.by_;
        if (came_to == stage::failed && how != begun_by::call && how != begun_by::run) {
            parent->keep(out->take_error());
        }
        bool goes_on = how == begun_by::call || how == begun_by::place ||
                       (how == begun_by::fork &&
                        roving_tree_take_(continue_stolen, self.key() | 1) != nullptr);
        self.handle().destroy();
        if (how == begun_by::run) {
            out->set(came_to);
            ROVING_RELEASE_(out);
            return;
        }
        out->set(came_to);
        if (goes_on) {
            by->next = parent;
        } else {
            parent->child_ended(by);
        }
    }

    /* Runs the first task of a tree, and all that is left on this worker's stack. */
    static void run_first(roving_worker *worker, const void *tree, void *self,
                          int has_token) noexcept
    {
        auto *first = static_cast<promise_base *>(self);
        ROVING_ACQUIRE_(first);
        first->tree_ = reinterpret_cast<std::uintptr_t>(tree) | (has_token != 0);
        drive(worker, first);
    }

    void set_out(void *out) noexcept { out_ = out; }

  private:
    static void *word(const roving_slot *slot, int index) noexcept
    {
        void *word;
        __builtin_memcpy(&word, slot->words_ + index * sizeof(word), sizeof(word));
        return word;
    }

    static void set_word(roving_slot *slot, int index, void *word) noexcept
    {
        __builtin_memcpy(slot->words_ + index * sizeof(word), &word, sizeof(word));
    }

    using slot_code = void (*)(roving_worker *, roving_slot *);

    /* As it stands in a slot. */
    static slot_code continuation() noexcept
    {
        return reinterpret_cast<slot_code>(reinterpret_cast<void (*)()>(continue_stolen));
    }

    std::uint64_t key() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }

    /* The first word of a fork of this child. Its lowest bit says that it is a fork, whichever
     * library of the program has pushed it: the code in the slot may be another one's. */
    void *mark() const noexcept { return reinterpret_cast<void *>(key() | 1); }

    void *tree() const noexcept { return reinterpret_cast<void *>(tree_ & ~std::uintptr_t{1}); }

    bool may_be_cancelled() const noexcept { return (tree_ & 1) != 0; }

    void begin(promise_base &parent, void *out, begun_by how) noexcept
    {
        parent_ = &parent;
        out_ = out;
        tree_ = parent.tree_;
        how_ = how;
    }

    /* Keeps the first failure of a child; several may come with theirs at the same time.
     *
     * Ordering: relaxed; who reads the failure has heard by `pending_` that the child has ended. */
    void keep(std::exception_ptr error) noexcept
    {
        if (!failed_.exchange(true, std::memory_order_relaxed)) {
            error_ = std::move(error);
        }
    }

    ROVING_COLD_ bool drops_slowly() noexcept
    {
        if (!is_cancelled()) {
            return false;
        }
        keep(std::make_exception_ptr(cancelled_error()));
        return true;
    }

    ROVING_COLD_NOTHROW_ void fork_slowly(promise_base &child) noexcept
    {
        driver *by = by_;
        void *words[3] = {child.mark(), tree(), this};
        ROVING_RELEASE_(this);
        if (!roving_tree_push_(continue_stolen, words, 0)) {
            child.how_ = begun_by::place;
        }
        by->next = &child;
    }

    /* True if all lost children have ended. Else the frame belongs to the last of them. */
    bool arrive_at_join() noexcept
    {
        int lost = std::exchange(lost_, 0);
        return pending_.fetch_add(lost, std::memory_order_acq_rel) + lost == 0;
    }

    /* A lost child has ended on that worker. If this is not the last, the task may be gone. */
    void child_ended(driver *by) noexcept
    {
        if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
            return;
        }
        if (blocked_ == nullptr) {
            by->next = this;
            return;
        }
        /* Under the lock, because the one who waits destroys it when it has had it. */
        std::lock_guard<std::mutex> lock(blocked_->lock);
        blocked_->over = true;
        blocked_->woken.notify_one();
    }

    /* Runs the coroutine, and those that it and others leave on this worker's stack. */
    static void drive(roving_worker *worker, promise_base *first) noexcept
    {
        driver by{worker, first};
        roving_slot *base = roving_tree_top_();
        for (;;) {
            while (promise_base *next = by.next) {
                by.next = nullptr;
                next->by_ = &by;
                next->handle().resume();
            }
            roving_slot *slot = roving_tree_next_(base);
            if (slot == nullptr) {
                return;
            }
            by.next = static_cast<promise_base *>(word(slot, 2));
            if ((reinterpret_cast<std::uintptr_t>(word(slot, 0)) & 1) != 0) {
                ++by.next->lost_;
            }
        }
    }

    static void drive_at(roving_worker *worker, void *self) noexcept
    {
        drive(worker, static_cast<promise_base *>(self));
    }

    void run_stolen() noexcept { roving_tree_join_(tree(), drive_at, this); }

    /* What a thief calls. A slot's words are which push it is, the tree, and the coroutine: of a fork
     * the parent of a child that has not ended, or ends elsewhere, and may be gone. */
    static void continue_stolen(roving_worker *, void *head) noexcept
    {
        auto *parent = static_cast<promise_base *>(head);
        ROVING_ACQUIRE_(parent);
        ++parent->lost_;
        parent->run_stolen();
    }

    static void run_spawned(roving_worker *, void *head) noexcept
    {
        auto *child = static_cast<promise_base *>(head);
        ROVING_ACQUIRE_(child);
        child->run_stolen();
    }

    /* First: a thief writes what it is going to call. */
    [[maybe_unused]] void *code_;
    promise_base *parent_;
    driver *by_;
    /* The lowest bit: it may be cancelled. */
    std::uintptr_t tree_;
    /* A task_outcome of the task's type. */
    void *out_;
    std::exception_ptr error_;
    blocked *blocked_ = nullptr;
    std::atomic<int> pending_{0};
    int lost_ = 0;
    unsigned joins_ = 0;
    std::atomic<bool> failed_{false};
    begun_by how_ = begun_by::run;
};

template <class A>
constexpr bool is_awaited = requires(A &&asked, promise_base &self) {
    std::forward<A>(asked).awaited_by(self);
};

/* What a task may co_await. */
template <class A>
auto awaiter_of(A &&asked, promise_base &self)
{
    static_assert(is_awaited<A>, "a roving::task awaits other tasks (std::move a named one), "
                                 "roving::fork, roving::spawn and roving::join, and nothing else");
    return std::forward<A>(asked).awaited_by(self);
}

template <class T>
class typed_promise : public promise_base {
  public:
    task<T> get_return_object() noexcept { return task<T>(static_cast<promise<T> *>(this)); }

    struct at_end {
        typed_promise &self;

        bool await_ready() noexcept
        {
            if (self.came_to_ != stage::value || !self.ends_here()) {
                return false;
            }
            self.outcome().set(stage::value);
            return true;
        }
        ROVING_SUSPEND_ void await_suspend(std::coroutine_handle<>) noexcept
        {
            promise_base::end(self, &self.outcome(), self.came_to_);
        }
        static void await_resume() noexcept {}
    };

    at_end final_suspend() noexcept { return {*this}; }

    void unhandled_exception() noexcept
    {
        if (came_to_ == stage::value) {
            outcome().drop_value();
        }
        outcome().put_error(std::current_exception());
        came_to_ = stage::failed;
    }

    template <class A>
    auto await_transform(A &&asked)
    {
        return awaiter_of(std::forward<A>(asked), *this);
    }

  protected:
    template <class U>
    void put(U &&value)
    {
        outcome().put(std::forward<U>(value));
        came_to_ = stage::value;
    }

  private:
    task_outcome<T> &outcome() noexcept { return *static_cast<task_outcome<T> *>(out()); }

    stage came_to_ = stage::none;
};

template <class T>
class promise final : public typed_promise<T> {
  public:
    template <class U = T>
    void return_value(U &&value)
    {
        this->put(std::forward<U>(value));
    }
};

template <>
class promise<void> final : public typed_promise<void> {
  public:
    void return_void() noexcept { put(unit{}); }
};

inline void misuse_if(bool wrong, const char *what, const char *file, int line) noexcept
{
    if (ROVING_UNLIKELY_(wrong)) {
        roving_misuse_(what, file, line);
    }
}

template <class T>
class [[nodiscard("it is the co_await that runs the child")]] call_awaiter {
  public:
    explicit call_awaiter(promise<T> *child) noexcept : child_(child) {}
    call_awaiter(call_awaiter &&) = delete;

    static bool await_ready() noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> self) noexcept
    {
        self.promise().call(*child_, &out_);
    }
    T await_resume()
    {
        if (ROVING_UNLIKELY_(out_.now() == stage::failed)) {
            std::rethrow_exception(out_.take_error());
        }
        return out_.take();
    }

  private:
    promise<T> *child_;
    task_outcome<T> out_;
};

/* Of a fork, and of a spawn. */
template <class T, bool Stays>
class child_awaiter {
  public:
    child_awaiter(promise<T> *child, task_outcome<T> *out, promise_base &self) noexcept
        : child_(child), out_(out), self_(self)
    {
    }
    child_awaiter(child_awaiter &&) = delete;

    bool await_ready() noexcept
    {
        if (self_.drops_children()) {
            child_->handle().destroy();
            out_->set(stage::failed);
            return true;
        }
        if constexpr (Stays) {
            return self_.spawn(*child_, out_);
        } else {
            return false;
        }
    }

    /* The parent may go on elsewhere meanwhile: nothing of its frame is used after the push. */
    ROVING_SUSPEND_ void await_suspend(std::coroutine_handle<>) noexcept
    {
        if constexpr (Stays) {
            self_.run_in_place(*child_);
        } else {
            self_.fork(*child_, out_);
        }
    }

    static void await_resume() noexcept {}

  private:
    promise<T> *child_;
    task_outcome<T> *out_;
    promise_base &self_;
};

class join_awaiter {
  public:
    explicit join_awaiter(promise_base &self) noexcept : self_(self) {}
    join_awaiter(join_awaiter &&) = delete;

    bool await_ready() noexcept { return self_.has_joined(); }
    ROVING_SUSPEND_ void await_suspend(std::coroutine_handle<>) noexcept { self_.wait(); }
    void await_resume()
    {
        if (ROVING_UNLIKELY_(self_.has_failed())) {
            std::rethrow_exception(self_.take_error());
        }
    }

  private:
    promise_base &self_;
};

/* Takes the frame out of a task that is to begin. */
struct opener {
    template <class T>
    static promise<T> *open(task<T> &child, const char *file, int line) noexcept
    {
        misuse_if(child.child_ == nullptr, "a task is begun that was begun or moved before", file,
                  line);
        return std::exchange(child.child_, nullptr);
    }
};

/* The first task of a tree. If the call that is to run it fails before, its frame is destroyed, and
 * with that the arguments of the task. */
class first_task {
  public:
    explicit first_task(promise_base *unbegun) noexcept : unbegun_(unbegun) {}
    first_task(const first_task &) = delete;
    first_task &operator=(const first_task &) = delete;

    ~first_task()
    {
        if (ROVING_UNLIKELY_(unbegun_ != nullptr)) {
            unbegun_->handle().destroy();
        }
    }

    void run() { check(roving_tree_run_(begin, this)); }

  private:
    static void begin(roving_worker *worker, const void *tree, void *self, int has_token) noexcept
    {
        promise_base *first = std::exchange(static_cast<first_task *>(self)->unbegun_, nullptr);
        promise_base::run_first(worker, tree, first, has_token);
    }

    promise_base *unbegun_;
};

/* It has the child, which goes with it if it is not awaited. */
template <class T, bool Stays>
class [[nodiscard("it is the co_await that starts the child")]] child_request {
  public:
    child_request(forked<T> &into, task<T> &&child, const char *file, int line) noexcept
        : into_(into), child_(std::move(child)), file_(file), line_(line)
    {
    }

    child_awaiter<T, Stays> awaited_by(promise_base &self) &&
    {
        return child_awaiter<T, Stays>(opener::open(child_, file_, line_),
                                       into_.begin(self, file_, line_), self);
    }

  private:
    forked<T> &into_;
    task<T> child_;
    const char *file_;
    int line_;
};

class [[nodiscard("it is the co_await that waits")]] join_request {
  public:
    join_awaiter awaited_by(promise_base &self) && { return join_awaiter(self); }
};

} // namespace detail

template <class T>
class [[nodiscard("a task that is not awaited, forked, spawned or run does nothing")]] task {
  public:
    using promise_type = detail::promise<T>;

    task(task &&other) noexcept : child_(std::exchange(other.child_, nullptr)) {}
    task &operator=(task other) noexcept
    {
        std::swap(child_, other.child_);
        return *this;
    }
    ~task()
    {
        if (child_ != nullptr) {
            child_->handle().destroy();
        }
    }

    detail::call_awaiter<T> awaited_by(detail::promise_base &) &&
    {
        return detail::call_awaiter<T>(
            detail::opener::open(*this, "co_await of a roving::task", 0));
    }

  private:
    friend detail::typed_promise<T>;
    friend detail::opener;

    explicit task(promise_type *child) noexcept : child_(child) {}

    promise_type *child_;
};

template <class T>
class forked {
  public:
    forked() = default;
    forked(const forked &) = delete;
    forked &operator=(const forked &) = delete;

    ~forked()
    {
        if (ROVING_UNLIKELY_(out_.now() == detail::stage::running)) {
            owner_->block();
        }
    }

    /* The result, once, behind the join. */
    T get(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        detail::stage now = out_.now();
#ifndef NDEBUG
        using detail::stage, detail::misuse_if;
        misuse_if(now == stage::none, "the result of a child that was not begun", file, line);
        misuse_if(now == stage::taken, "the result of a child was taken before", file, line);
        misuse_if(now == stage::running || owner_->joins() == joins_,
                  "the result of a child before its task has joined", file, line);
#endif
        detail::misuse_if(now != detail::stage::value, "a child has no result to take", file, line);
        return out_.take();
    }

  private:
    template <class, bool>
    friend class detail::child_request;

    detail::task_outcome<T> *begin(detail::promise_base &owner, const char *file, int line)
    {
        detail::misuse_if(out_.now() == detail::stage::running,
                          "a child is begun in place of one that has not ended", file, line);
        out_.clear();
        out_.set(detail::stage::running);
        owner_ = &owner;
        joins_ = owner.joins();
        return &out_;
    }

    detail::task_outcome<T> out_;
    detail::promise_base *owner_;
    unsigned joins_;
};

/* co_await fork(into, child) runs the child at once. Its parent goes on when it ends, or before, on a
 * worker that has nothing to do. */
template <class T>
inline auto fork(forked<T> &into, task<T> &&child, const char *file = __builtin_FILE(),
                 int line = __builtin_LINE()) noexcept
{
    return detail::child_request<T, false>(into, std::move(child), file, line);
}

/* co_await spawn(into, child) goes on, and leaves the child to workers that have nothing to do, or
 * for the time when this one has nothing newer. */
template <class T>
inline auto spawn(forked<T> &into, task<T> &&child, const char *file = __builtin_FILE(),
                  int line = __builtin_LINE()) noexcept
{
    return detail::child_request<T, true>(into, std::move(child), file, line);
}

/* co_await join() waits for all children that this task has forked or spawned; see the head. */
inline detail::join_request join() noexcept
{
    return {};
}

/* Runs a task, and returns its result when it and all below it have ended. The calling thread works
 * meanwhile; if it is no worker, the call moves to the global pool. */
template <class T>
inline T run(task<T> first, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    detail::task_outcome<T> out;
    detail::promise_base *root = detail::opener::open(first, file, line);
    root->set_out(&out);
    detail::first_task unbegun(root);
    auto here = [&unbegun] { unbegun.run(); };
    ROVING_RELEASE_(root);
    if (detail::is_worker()) {
        here();
    } else {
        detail::carried<decltype(here)> carried(here);
        carried.get(roving_pool_run(nullptr, carried.run_at, &carried));
    }
    ROVING_ACQUIRE_(&out);
    if (out.now() == detail::stage::failed) {
        std::rethrow_exception(out.take_error());
    }
    return out.take();
}

} // namespace roving

#endif
