/* A BLAS library with LAPACK: a product, and the factors of it by Cholesky's method, some times.
   `cargo xtask openmp` compares the bytes. */

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 900, TIMES = 40 };

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *,
            const double *, const int *, const double *, const int *, const double *, double *,
            const int *);
void dpotrf_(const char *, const int *, double *, const int *, int *);

int main(void) {
    const int side = SIDE;
    const double one = 1, none = 0;
    size_t count = (size_t)side * side;
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
    if (!a || !b)
        return 1;
    for (size_t i = 0; i < count; i++)
        a[i] = (double)(i * 7919 % 1009) / 1009;
    for (int time = 0; time < TIMES; time++) {
        int info = 0;
        dgemm_("T", "N", &side, &side, &side, &one, a, &side, a, &side, &none, b, &side);
        for (int i = 0; i < side; i++)
            b[(size_t)i * side + i] += side;
        dpotrf_("L", &side, b, &side, &info);
        if (info)
            return 2;
        a[time] += 1;
    }
    return fwrite(b, sizeof *b, count, stdout) != count;
}
