// Adds to the forces on n bodies what m bodies do to each of them. A body is (x, y, z, mass). The bodies that pull
// pass through shared memory, as many at a time as there are threads.

struct Sizes {
    unsigned n, m;
    float softening_squared;
    unsigned unused;
};

extern "C" __global__ void nbody(const float4 *pulled, const float4 *pulling, float4 *forces, Sizes sizes)
{
    __shared__ float4 some[64];
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    const float4 here = i < sizes.n ? pulled[i] : float4{};
    float x = 0, y = 0, z = 0;
    for (unsigned first = 0; first < sizes.m; first += 64) {
        const unsigned mine = first + threadIdx.x;
        some[threadIdx.x] = mine < sizes.m ? pulling[mine] : float4{};
        __syncthreads();
        const unsigned count = min(64u, sizes.m - first);
        for (unsigned j = 0; j < count; j++) {
            const float4 other = some[j];
            const float dx = other.x - here.x, dy = other.y - here.y, dz = other.z - here.z;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + sizes.softening_squared);
            const float weight = other.w * r * r * r;
            x += weight * dx;
            y += weight * dy;
            z += weight * dz;
        }
        __syncthreads();
    }
    if (i < sizes.n) {
        forces[i].x += x;
        forces[i].y += y;
        forces[i].z += z;
    }
}
