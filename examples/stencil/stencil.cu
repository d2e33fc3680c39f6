// One step of the 7-point stencil in three dimensions, fp32. A thread owns a column of the grid and
// marches along z with the column's last three values in registers; neighbours in x and y come through
// the cache. Points on the faces are copied. nx is a multiple of 32, ny of BLOCK_Y.
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#ifndef DEPTH
#define DEPTH 64
#endif

extern "C" __global__ void __launch_bounds__(32 * BLOCK_Y)
    stencil(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz,
            float centre, float side)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int z0 = blockIdx.z * DEPTH, z1 = min(z0 + DEPTH, nz);
    const size_t plane = (size_t)nx * ny;
    const bool edge = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;
    size_t at = z0 * plane + (size_t)y * nx + x;
    float below = z0 > 0 ? in[at - plane] : 0, here = in[at];
#pragma unroll 4
    for (int z = z0; z < z1; z++, at += plane) {
        float above = z + 1 < nz ? in[at + plane] : 0;
        float result = here;
        if (!edge && z > 0 && z < nz - 1) {
            result = centre * here +
                     side * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above);
        }
        out[at] = result;
        below = here;
        here = above;
    }
}
