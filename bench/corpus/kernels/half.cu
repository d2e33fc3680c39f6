// variants: plain fast
// half, bfloat16 and the 8-, 6- and 4-bit formats of the CUDA headers.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
extern "C" __global__ void half2_maths(__half2 *o, const __half2 *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 x = a[i], y = a[i + n];
    x = __hfma2(x, y, __hadd2_sat(x, y));
    x = __hmul2(h2exp(x), h2log2(__habs2(y)));
    x = __hadd2(h2sin(x), h2rsqrt(y));
    x = __hmax2(x, __hmin2_nan(y, x));
    if (__hbgt2(x, y)) x = __h2div(x, y);
    o[i] = __hcmadd(x, y, x);
}
extern "C" __global__ void bf16_maths(__nv_bfloat162 *o, const __nv_bfloat162 *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 x = a[i], y = a[i + n];
#if __CUDA_ARCH__ >= 800
    x = __hfma2_relu(x, y, x);
#endif
    x = __hadd2(h2exp2(x), h2log2(y));
    float2 f = __bfloat1622float2(x);
    o[i] = __floats2bfloat162_rn(f.x * 2, f.y - 1);
}
extern "C" __global__ void narrow(unsigned char *o, const float *a, __half *h, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_fp8_e4m3 p(a[i]);
    __nv_fp8_e5m2 q(a[i] * 2);
    o[i] = p.__x;
    h[i] = (__half)p + (__half)q;
    o[i + n] = __nv_cvt_float_to_fp6(a[i], __NV_E3M2, cudaRoundNearest);
    o[i + 2 * n] = __nv_cvt_float_to_fp4(a[i], __NV_E2M1, cudaRoundNearest);
}
extern "C" __global__ void reduce_half(__half *o, const __half *a, int n)
{
    __half s = __float2half(0.f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) s = __hadd(s, a[i]);
    for (int d = 16; d; d >>= 1) s = __hadd(s, __shfl_down_sync(~0u, s, d));
    if (threadIdx.x % 32 == 0) atomicAdd(o, s);
}
