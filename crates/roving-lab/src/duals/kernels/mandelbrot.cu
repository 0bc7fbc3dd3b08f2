// How many z = z² + c stay within |z|² ≤ 4, for each c of a grid of points. Each operation is rounded by itself, as on
// the host.

struct Tile {
    float x0, y0, step;
    unsigned width, height, iterations_max, unused[2];
};

extern "C" __global__ void mandelbrot(unsigned *counts, Tile tile)
{
    const unsigned column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= tile.width || row >= tile.height)
        return;
    const float cx = __fadd_rn(tile.x0, __fmul_rn((float)column, tile.step));
    const float cy = __fadd_rn(tile.y0, __fmul_rn((float)row, tile.step));
    float x = 0, y = 0;
    unsigned count = 0;
    while (count < tile.iterations_max) {
        const float next = __fadd_rn(__fsub_rn(__fmul_rn(x, x), __fmul_rn(y, y)), cx);
        y = __fadd_rn(__fmul_rn(__fmul_rn(2, x), y), cy);
        x = next;
        if (__fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)) > 4)
            break;
        count++;
    }
    counts[(size_t)row * tile.width + column] = count;
}
