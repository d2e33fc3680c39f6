// Softmax of each row, fp32. A block a row; the row stays in registers between the passes: COLUMNS /
// (4 * THREADS) float4 a thread.
#ifndef THREADS
#define THREADS 256
#endif
#ifndef COLUMNS
#define COLUMNS 8192
#endif

namespace
{
template <typename Combine>
__device__ __forceinline__ float reduce(float x, float *partial, Combine combine)
{
#pragma unroll
    for (int i = 16; i > 0; i /= 2) {
        x = combine(x, __shfl_xor_sync(0xffffffff, x, i));
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = x;
    }
    __syncthreads();
    x = partial[0];
#pragma unroll
    for (int i = 1; i < THREADS / 32; i++) {
        x = combine(x, partial[i]);
    }
    return x;
}
} // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
    softmax(const float *__restrict__ in, float *__restrict__ out)
{
    constexpr int PIECES = COLUMNS / 4 / THREADS;
    __shared__ float highest[THREADS / 32], sums[THREADS / 32];
    const float4 *row = (const float4 *)(in + (size_t)blockIdx.x * COLUMNS);
    float4 *result = (float4 *)(out + (size_t)blockIdx.x * COLUMNS);
    float4 x[PIECES];
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        x[i] = row[threadIdx.x + i * THREADS];
    }
    float most = x[0].x;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        most = fmaxf(fmaxf(fmaxf(most, x[i].x), fmaxf(x[i].y, x[i].z)), x[i].w);
    }
    most = reduce(most, highest, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        x[i].x = __expf(x[i].x - most);
        x[i].y = __expf(x[i].y - most);
        x[i].z = __expf(x[i].z - most);
        x[i].w = __expf(x[i].w - most);
        sum += x[i].x + x[i].y + x[i].z + x[i].w;
    }
    sum = reduce(sum, sums, [](float a, float b) { return a + b; });
    float inverse = 1 / sum;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        result[threadIdx.x + i * THREADS] = make_float4(x[i].x * inverse, x[i].y * inverse,
                                                        x[i].z * inverse, x[i].w * inverse);
    }
}
