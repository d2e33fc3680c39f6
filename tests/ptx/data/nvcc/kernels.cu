/* Where the files beside this one come from, by nvcc 13.0.88:
   for k in softmax:75 copies:80 product:90a bodies:100 mixer:120; do
       nvcc -ptx -arch=sm_${k#*:} -DKERNEL_${k%:*} kernels.cu -o ${k%:*}_sm${k#*:}.ptx; done */
#ifdef KERNEL_softmax
extern "C" __global__ void softmax_rows(const float *__restrict__ x, float *y, int n)
{
    __shared__ float part[32];
    const float *row = x + (size_t)blockIdx.x * n;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        most = fmaxf(most, row[i]);
    for (int o = 16; o > 0; o /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = most;
    __syncthreads();
    for (unsigned i = 0; i < blockDim.x / 32; i++)
        most = fmaxf(most, part[i]);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += expf(row[i] - most);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)blockIdx.x * n + i] = expf(row[i] - most) / sum;
}
#endif
#ifdef KERNEL_copies
#include <cuda_pipeline.h>
extern "C" __global__ void __launch_bounds__(128) copies(const float4 *in, float4 *out, int n)
{
    __shared__ float4 tile[2][128];
    int at = blockIdx.x * 128 + threadIdx.x;
    __pipeline_memcpy_async(&tile[0][threadIdx.x], &in[at], 16);
    __pipeline_commit();
    for (int i = 1; i <= n; i++) {
        if (i < n)
            __pipeline_memcpy_async(&tile[i % 2][threadIdx.x], &in[at + i * 4096], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = tile[(i - 1) % 2][threadIdx.x ^ 1];
        v.x = fmaf(v.x, v.y, v.z);
        out[at + i * 4096] = v;
        __syncthreads();
    }
}
#endif
#ifdef KERNEL_product
extern "C" __global__ void __launch_bounds__(256)
    product(const float *__restrict__ a, const float *__restrict__ b, float *c, int n)
{
    __shared__ float x[32][17], y[16][33];
    int column = threadIdx.x % 16, row = threadIdx.x / 16;
    float sums[2][2] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = 0; i < 2; i++) {
            x[row * 2 + i][column] = a[(blockIdx.y * 32 + row * 2 + i) * n + k + column];
            y[row][column * 2 + i] = b[(k + row) * n + blockIdx.x * 32 + column * 2 + i];
        }
        __syncthreads();
        for (int q = 0; q < 16; q++)
            for (int i = 0; i < 4; i++)
                sums[i / 2][i % 2] += x[row * 2 + i / 2][q] * y[q][column * 2 + i % 2];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        c[(blockIdx.y * 32 + row * 2 + i / 2) * n + blockIdx.x * 32 + column * 2 + i % 2] =
            sums[i / 2][i % 2];
}
#endif
#ifdef KERNEL_bodies
extern "C" __global__ void bodies(const float4 *__restrict__ at, float4 *force, int n)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 own = at[i], sum = make_float4(0, 0, 0, 0);
    for (int t = 0; t < n; t += 64) {
        tile[threadIdx.x] = at[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            float x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
            float r = 1.0f / sqrtf(x * x + y * y + z * z + 1e-6f);
            float w = tile[j].w * r * r * r;
            sum.x += w * x;
            sum.y += w * y;
            sum.z += w * z;
        }
        __syncthreads();
    }
    force[i] = sum;
}
#endif
#ifdef KERNEL_mixer
extern "C" __global__ void mixer(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned a = in[i], b = a ^ 0x9e3779b9u, c = a * 8 + 3, d = b >> 5 & 127;
    for (int r = 0; r < 16; r++) {
        unsigned t = a + ((a & b) | (~a & c)) + d + r * 0x1234567u;
        d = c;
        c = b << 30 | b >> 2;
        b = a;
        a = t << 7 | t >> 25;
    }
    out[i] = a ^ b ^ c ^ d;
}
#endif
