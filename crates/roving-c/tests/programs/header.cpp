// The macros of roving.h, as C++ reads them.
#include <roving.h>

ROVING_TASK(unsigned long, fib, unsigned, n)
{
    if (n < 2) {
        return n;
    }
    ROVING_SPAWN(later, fib, n - 1);
    unsigned long b = ROVING_CALL(fib, n - 2);
    unsigned long a = ROVING_SYNC(fib, later);
    return a + b;
}

struct wide {
    double at[9];
};

ROVING_TASK(wide, nine, wide, in, double, factor)
{
    for (double &value : in.at) {
        value *= factor;
    }
    return in;
}

ROVING_VOID_TASK(nothing)
{
}

ROVING_TASK(int, all)
{
    wide nines = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    ROVING_SPAWN(first, nine, nines, 2.0);
    ROVING_SPAWN(second, nothing);
    ROVING_SYNC(nothing, second);
    return ROVING_SYNC(nine, first).at[8] == 18.0 && ROVING_CALL(fib, 20u) == 6765;
}

int main()
{
    int fine = 0;
    return ROVING_RUN(NULL, &fine, all) == ROVING_OK && fine ? 0 : 1;
}
