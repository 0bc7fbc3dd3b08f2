/* FFTW's library of threads by OpenMP: transforms of a square, there and back. `cargo xtask openmp`
   compares the bytes. */

#include <fftw3.h>
#include <omp.h>
#include <stdio.h>

enum { SIDE = 1024, TIMES = 12 };

int main(void) {
    size_t count = (size_t)SIDE * SIDE;
    fftw_complex *square = fftw_alloc_complex(count);
    if (!square || !fftw_init_threads())
        return 1;
    fftw_plan_with_nthreads(omp_get_max_threads());
    fftw_plan there = fftw_plan_dft_2d(SIDE, SIDE, square, square, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_plan_dft_2d(SIDE, SIDE, square, square, FFTW_BACKWARD, FFTW_ESTIMATE);
    for (size_t i = 0; i < count; i++) {
        square[i][0] = (double)(i * 7919 % 1009) / 1009;
        square[i][1] = 0;
    }
    for (int i = 0; i < TIMES; i++) {
        fftw_execute(there);
        for (size_t k = 0; k < count; k++) {
            square[k][0] /= (double)count;
            square[k][1] /= (double)count;
        }
        if (i + 1 < TIMES)
            fftw_execute(back);
    }
    return fwrite(square, sizeof *square, count, stdout) != count;
}
