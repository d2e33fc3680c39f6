// archs: 80 90a 120
// Long straight-line code: thousands of dependent and independent operations in one block.
template <int N> __device__ __forceinline__ void rounds(float (&r)[32], const float *s)
{
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int j = 0; j < 32; j++) r[j] = fmaf(r[j], r[(j + 7) & 31], s[(i * 32 + j) & 1023]);
}
extern "C" __global__ void straight(float *o, const float *a)
{
    __shared__ float s[1024];
    float r[32];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = a[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i++) r[i] = a[i * 32 + threadIdx.x];
    rounds<300>(r, s);
#pragma unroll
    for (int i = 0; i < 32; i++) o[i * 32 + threadIdx.x] = r[i];
}
