// A mean over a square, of what is as bright as the middle: edges stay sharp. In whole numbers, so that every
// device has the same result.

struct Sizes {
    int width, height, radius, threshold;
};

struct Colour {
    unsigned red, green, blue;
    __device__ Colour(unsigned pixel) : red(pixel & 255), green((pixel >> 8) & 255), blue((pixel >> 16) & 255) {}
    __device__ int luma() const { return (red + 2 * green + blue) / 4; }
};

extern "C" __global__ void filter_square(const unsigned *source, unsigned *filtered, Sizes sizes)
{
    const int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= sizes.width || row >= sizes.height)
        return;
    const size_t here = (size_t)row * sizes.width + column;
    const unsigned pixel = source[here];
    const int middle = Colour(pixel).luma();
    unsigned red = 0, green = 0, blue = 0, weights = 0;
    for (int y = row - sizes.radius; y <= row + sizes.radius; y++) {
        const unsigned *line = source + (size_t)min(max(y, 0), sizes.height - 1) * sizes.width;
        for (int x = column - sizes.radius; x <= column + sizes.radius; x++) {
            const Colour other(line[min(max(x, 0), sizes.width - 1)]);
            const unsigned weight = max(0, sizes.threshold - abs(other.luma() - middle));
            red += weight * other.red;
            green += weight * other.green;
            blue += weight * other.blue;
            weights += weight;
        }
    }
    // Without a threshold there are no weights, and nothing changes.
    if (weights == 0) {
        filtered[here] = pixel;
        return;
    }
    const unsigned half = weights / 2;
    filtered[here] = (red + half) / weights | (green + half) / weights << 8 | (blue + half) / weights << 16
        | (pixel & 0xff000000u);
}
