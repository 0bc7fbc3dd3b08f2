// The X with X · lᵀ = a takes the place of a, by rows; l is lower triangular. Each block solves one row of X, so
// that all of its threads subtract what one new element brings. `real` is declared before this text.

struct Sizes {
    unsigned m, n, unused[2];
};

extern "C" __global__ void trsm(const real *l, real *a, Sizes sizes)
{
    const size_t n = sizes.n;
    for (unsigned r = blockIdx.x * 8; r < min(blockIdx.x * 8 + 8, sizes.m); r++) {
        real *row = a + r * n;
        for (unsigned j = 0; j < sizes.n; j++) {
            __syncthreads();
            const real x = row[j] / l[j * n + j];
            __syncthreads();
            if (threadIdx.x == 0)
                row[j] = x;
            for (unsigned i = j + 1 + threadIdx.x; i < sizes.n; i += blockDim.x)
                row[i] -= x * l[i * n + j];
        }
    }
}
