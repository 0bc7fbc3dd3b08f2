// What CUDA C++ has and C++ has not, as far as kernels without a device need it. Blocks run one
// after the other, and the threads of a block in turns: each up to the next barrier.
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>
#include <ucontext.h>

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct FakeIndex {
    unsigned x, y, z;
};
static FakeIndex threadIdx, blockIdx, blockDim, gridDim;

struct float2 { float x, y; };
struct float3 { float x, y, z; };
struct float4 { float x, y, z, w; };
struct double2 { double x, y; };
struct uint2 { unsigned x, y; };
struct int2 { int x, y; };

template <class T> static T min(T a, T b) { return b < a ? b : a; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }

// What a launch asks for is here, with bytes behind it that nobody may change.
static const unsigned fake_shared_max = 227 << 10, fake_shared_guard = 1 << 10;
alignas(256) static unsigned char fake_shared[fake_shared_max + fake_shared_guard];

// A thread begins on its own stack by its context. From then on turns are changed by jumps: other than
// contexts they leave the mask of signals as it is, for which the system would be asked each time.
static ucontext_t fake_threads[1024];
static jmp_buf fake_turns, fake_turn[1024];
static unsigned fake_thread;
static bool fake_begun[1024], fake_ended[1024];
static void (*fake_body)(void **);
static void **fake_arguments;
static sigjmp_buf fake_fault;

static void fake_begin() {
    fake_body(fake_arguments);
    fake_ended[fake_thread] = true;
    _longjmp(fake_turns, 1);
}

static inline void __syncthreads() {
    if (!_setjmp(fake_turn[fake_thread]))
        _longjmp(fake_turns, 1);
}

// Returns when the thread has come to the next barrier, or to its end.
static void fake_go_on(unsigned thread) {
    if (_setjmp(fake_turns))
        return;
    if (fake_begun[thread])
        _longjmp(fake_turn[thread], 1);
    fake_begun[thread] = true;
    setcontext(&fake_threads[thread]);
}

static void fake_at(unsigned thread) {
    fake_thread = thread;
    threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}

static void fake_block(char *stacks, size_t stack) {
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    if (!stacks) {
        for (unsigned i = 0; i < count; i++) {
            fake_at(i);
            fake_body(fake_arguments);
        }
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        fake_begun[i] = fake_ended[i] = false;
        getcontext(&fake_threads[i]);
        fake_threads[i].uc_stack.ss_sp = stacks + i * stack;
        fake_threads[i].uc_stack.ss_size = stack;
        fake_threads[i].uc_link = nullptr;
        makecontext(&fake_threads[i], fake_begin, 0);
    }
    for (bool all = false; !all;) {
        all = true;
        for (unsigned i = 0; i < count; i++)
            if (!fake_ended[i]) {
                fake_at(i);
                fake_go_on(i);
                all = all && fake_ended[i];
            }
    }
}

static void fake_caught(int) { siglongjmp(fake_fault, 1); }

// Whether a block, which is given so many bytes to share, left those behind them as they were.
static bool fake_shares(unsigned shared, char *stacks, size_t stack) {
    memset(fake_shared, 0xd5, shared);
    memset(fake_shared + shared, 0xa7, fake_shared_guard);
    fake_block(stacks, stack);
    for (unsigned i = 0; i < fake_shared_guard; i++)
        if (fake_shared[shared + i] != 0xa7)
            return false;
    return true;
}

// 0, or 1 after an address that is none.
static int fake_run(
    void (*body)(void **), void **arguments, const unsigned *grid, const unsigned *block, unsigned shared
) {
    struct sigaction ours = {}, before, before_bus;
    ours.sa_handler = fake_caught;
    ours.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &ours, &before);
    sigaction(SIGBUS, &ours, &before_bus);
    const size_t stack = 1 << 16;
    fake_body = body;
    fake_arguments = arguments;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    static char *stacks;
    free(stacks);
    stacks = FAKE_BARRIERS ? (char *)malloc(stack * block[0] * block[1] * block[2]) : nullptr;
    volatile int fault = sigsetjmp(fake_fault, 1);
    if (!fault)
        for (unsigned z = 0; z < grid[2]; z++)
            for (unsigned y = 0; y < grid[1]; y++)
                for (unsigned x = 0; x < grid[0]; x++) {
                    blockIdx = {x, y, z};
                    fault = fault || !fake_shares(shared, stacks, stack);
                }
    sigaction(SIGSEGV, &before, nullptr);
    sigaction(SIGBUS, &before_bus, nullptr);
    return fault;
}

// A kernel as the driver sees it: its parameters, and how to run it.
struct FakeKernel {
    unsigned count;
    const unsigned *sizes, *places;
    // 0: a value, 1: an address that is read, 2: one that may be written.
    const unsigned char *kinds;
    int (*run)(void **, const unsigned *, const unsigned *, unsigned);
};

template <class T> constexpr unsigned char fake_kind() {
    if (!std::is_pointer_v<T>)
        return 0;
    return std::is_const_v<std::remove_pointer_t<T>> ? 1 : 2;
}

template <class... A> struct FakeParameters {
    unsigned sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
    unsigned aligns[sizeof...(A) + 1] = {alignof(A)..., 1};
    unsigned places[sizeof...(A) + 1] = {};
    unsigned char kinds[sizeof...(A) + 1] = {fake_kind<A>()..., 0};
    constexpr FakeParameters() {
        unsigned at = 0;
        for (size_t i = 0; i < sizeof...(A); i++) {
            at = (at + aligns[i] - 1) / aligns[i] * aligns[i];
            places[i] = at;
            at += sizes[i];
        }
    }
};

template <auto F> struct FakeCall;
template <class... A, void (*F)(A...)> struct FakeCall<F> {
    static constexpr FakeParameters<A...> parameters{};
    template <size_t... I> static void with(void **given, std::index_sequence<I...>) {
        (void)given;
        F(*(A *)given[I]...);
    }
    static void body(void **given) { with(given, std::index_sequence_for<A...>{}); }
    static int run(void **given, const unsigned *grid, const unsigned *block, unsigned shared) {
        return fake_run(body, given, grid, block, shared);
    }
    static constexpr FakeKernel kernel{
        sizeof...(A), parameters.sizes, parameters.places, parameters.kinds, run};
};
