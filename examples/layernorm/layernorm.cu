// Layer norm of each row, fp32: (x - mean) / sqrt(variance + epsilon) * weight + bias. A block a row,
// which stays in registers; the variance is taken around the mean, in a second pass over them.
#ifndef THREADS
#define THREADS 256
#endif
#ifndef COLUMNS
#define COLUMNS 8192
#endif

namespace
{
__device__ __forceinline__ float sum_over_block(float x, float *partial)
{
#pragma unroll
    for (int i = 16; i > 0; i /= 2) {
        x += __shfl_xor_sync(0xffffffff, x, i);
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = x;
    }
    __syncthreads();
    x = 0;
#pragma unroll
    for (int i = 0; i < THREADS / 32; i++) {
        x += partial[i];
    }
    return x;
}
} // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
    layernorm(const float *__restrict__ in, const float *__restrict__ weight,
              const float *__restrict__ bias, float *__restrict__ out, float epsilon)
{
    constexpr int PIECES = COLUMNS / 4 / THREADS;
    __shared__ float sums[THREADS / 32], squares[THREADS / 32];
    const float4 *row = (const float4 *)(in + (size_t)blockIdx.x * COLUMNS);
    float4 *result = (float4 *)(out + (size_t)blockIdx.x * COLUMNS);
    float4 x[PIECES];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        x[i] = row[threadIdx.x + i * THREADS];
        sum += x[i].x + x[i].y + x[i].z + x[i].w;
    }
    float mean = sum_over_block(sum, sums) / COLUMNS;
    float square = 0;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        x[i].x -= mean;
        x[i].y -= mean;
        x[i].z -= mean;
        x[i].w -= mean;
        square += x[i].x * x[i].x + x[i].y * x[i].y + x[i].z * x[i].z + x[i].w * x[i].w;
    }
    float factor = rsqrtf(sum_over_block(square, squares) / COLUMNS + epsilon);
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        float4 w = ((const float4 *)weight)[threadIdx.x + i * THREADS];
        float4 b = ((const float4 *)bias)[threadIdx.x + i * THREADS];
        result[threadIdx.x + i * THREADS] =
            make_float4(x[i].x * factor * w.x + b.x, x[i].y * factor * w.y + b.y,
                        x[i].z * factor * w.z + b.z, x[i].w * factor * w.w + b.w);
    }
}
