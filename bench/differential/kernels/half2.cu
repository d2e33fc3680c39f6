/* Packed f16 and bf16 arithmetic: a polynomial, minima, comparisons. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half2_ops(const __half2 *__restrict__ x,
                                     const __nv_bfloat162 *__restrict__ y,
                                     __half2 *__restrict__ out, __nv_bfloat162 *__restrict__ out2,
                                     int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 a = x[i], s = __float2half2_rn(0.25F);
    __nv_bfloat162 b = y[i], r = __float2bfloat162_rn(0.5F);
    for (int k = 0; k < rounds; k++) {
        s = __hfma2(s, a, __float2half2_rn(0.125F));
        s = __hmin2(s, __hneg2(__hmul2(a, s)));
        s = __hadd2(s, __hgt2(a, s));
        r = __hfma2(r, b, __float2bfloat162_rn(0.75F));
        r = __hmax2(__hmul2(r, b), __hsub2(b, r));
        a = __lowhigh2highlow(a);
    }
    out[i] = s;
    out2[i] = r;
}
