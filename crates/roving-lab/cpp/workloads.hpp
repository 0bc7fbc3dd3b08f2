// The other workloads, each written once over a runtime's `fork(a, b)`, which returns when both have run.
#pragma once
#include <cstdint>
#include <cstdlib>

template <class Runtime>
uint64_t fib(uint32_t n) {
    if (n < 2) return n;
    uint64_t left = 0, right = 0;
    Runtime::fork([&left, n] { left = fib<Runtime>(n - 1); }, [&right, n] { right = fib<Runtime>(n - 2); });
    return left + right;
}

// The columns of the queens in the first rows. Small, so that each task has its own.
struct Board {
    uint8_t columns[18];
    uint32_t rows;

    bool is_safe(uint32_t column) const {
        for (uint32_t row = 0; row < rows; ++row) {
            const int across = static_cast<int>(column) - columns[row];
            if (across == 0 || std::abs(across) == static_cast<int>(rows - row)) return false;
        }
        return true;
    }

    Board with(uint32_t column) const {
        Board next = *this;
        next.columns[next.rows++] = static_cast<uint8_t>(column);
        return next;
    }
};

template <class Runtime>
uint64_t nqueens_from(const Board& board, uint32_t n) {
    if (board.rows == n) return 1;
    uint8_t safe[18];
    uint32_t count = 0;
    for (uint32_t column = 0; column < n; ++column) {
        if (board.is_safe(column)) safe[count++] = static_cast<uint8_t>(column);
    }
    if (count == 0) return 0;
    const uint8_t* columns = safe;
    return Runtime::template sum<uint64_t>(count, [&board, columns, n](uint32_t i) {
        return nqueens_from<Runtime>(board.with(columns[i]), n);
    });
}

template <class Runtime>
uint64_t nqueens(uint32_t n) {
    return nqueens_from<Runtime>(Board{}, n);
}

// The same chain of steps as in the Rust program, with the value in memory after each.
__attribute__((noinline)) inline uint64_t leaf(uint64_t turns) {
    uint64_t value = turns;
    for (uint64_t i = 0; i < turns; ++i) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : : "r"(&value) : "memory");
    }
    return value;
}

template <class Runtime>
uint64_t stress_tree(uint32_t depth, uint64_t turns) {
    if (depth == 0) return leaf(turns);
    uint64_t a = 0, b = 0;
    Runtime::fork([&a, depth, turns] { a = stress_tree<Runtime>(depth - 1, turns); },
                  [&b, depth, turns] { b = stress_tree<Runtime>(depth - 1, turns); });
    return a + b;
}

template <class Runtime>
uint64_t stress(uint32_t depth, uint64_t turns, uint64_t repeats) {
    uint64_t sum = 0;
    for (uint64_t r = 0; r < repeats; ++r) sum += stress_tree<Runtime>(depth, turns);
    return sum;
}
