// c += a · b, and c -= a · bᵀ, by rows. A block of 8 × 8 threads makes 64 × 64 elements of c, each thread 8 × 8 of
// them in registers: rows that are neighbours, columns 8 apart. 16 columns of a and rows of b at a time
// are brought into shared memory. `real` is declared before this text.

struct Sizes {
    unsigned m, n, k, unused;
};

#define SIDE 64u
#define DEPTH 16u
#define THREADS 64u

template <bool TRANSPOSED>
__device__ void product(const real *a, const real *b, real *c, Sizes sizes, real sign)
{
    // One more than the side: so that writing a column does not meet one bank only.
    __shared__ real left[DEPTH][SIDE + 1];
    __shared__ real right[DEPTH][SIDE + 1];
    const unsigned thread = threadIdx.y * 8 + threadIdx.x;
    const unsigned first_row = blockIdx.y * SIDE, first_column = blockIdx.x * SIDE;
    real sums[8][8] = {};
    for (unsigned first = 0; first < sizes.k; first += DEPTH) {
        for (unsigned i = thread; i < SIDE * DEPTH; i += THREADS) {
            const unsigned k = first + i % DEPTH, row = first_row + i / DEPTH;
            left[i % DEPTH][i / DEPTH] =
                row < sizes.m && k < sizes.k ? a[(size_t)row * sizes.k + k] : real(0);
        }
        for (unsigned i = thread; i < SIDE * DEPTH; i += THREADS) {
            if (TRANSPOSED) {
                const unsigned k = first + i % DEPTH, column = first_column + i / DEPTH;
                right[i % DEPTH][i / DEPTH] =
                    column < sizes.n && k < sizes.k ? b[(size_t)column * sizes.k + k] : real(0);
            } else {
                const unsigned k = first + i / SIDE, column = first_column + i % SIDE;
                right[i / SIDE][i % SIDE] =
                    column < sizes.n && k < sizes.k ? b[(size_t)k * sizes.n + column] : real(0);
            }
        }
        __syncthreads();
        for (unsigned k = 0; k < DEPTH; k++) {
            real column[8], row[8];
#pragma unroll
            for (unsigned i = 0; i < 8; i++) {
                column[i] = left[k][threadIdx.y * 8 + i];
                row[i] = right[k][threadIdx.x + 8 * i];
            }
#pragma unroll
            for (unsigned i = 0; i < 8; i++)
#pragma unroll
                for (unsigned j = 0; j < 8; j++)
                    sums[i][j] += column[i] * row[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
#pragma unroll
        for (unsigned j = 0; j < 8; j++) {
            const unsigned row = first_row + threadIdx.y * 8 + i;
            const unsigned column = first_column + threadIdx.x + 8 * j;
            if (row < sizes.m && column < sizes.n)
                c[(size_t)row * sizes.n + column] += sign * sums[i][j];
        }
}

extern "C" __global__ void gemm(const real *a, const real *b, real *c, Sizes sizes)
{
    product<false>(a, b, c, sizes, real(1));
}

extern "C" __global__ void gemm_nt(const real *a, const real *b, real *c, Sizes sizes)
{
    product<true>(a, b, c, sizes, real(-1));
}
