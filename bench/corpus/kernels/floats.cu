// variants: plain fast lineinfo debug
// Floating point: the mathematical functions of the CUDA library, single and double.
#include <math.h>
template <class T> __device__ T all(T x, T y, int k)
{
    switch (k) {
    case 0: return sin(x) + cos(y);
    case 1: return tan(x) * atan2(y, x);
    case 2: return exp(x) + log(y) + exp2(x) + log2(y);
    case 3: return pow(x, y);
    case 4: return erf(x) + erfc(y);
    case 5: return tgamma(x) + lgamma(y);
    case 6: return sqrt(x) / y + rsqrt(y) + cbrt(x);
    case 7: return fmod(x, y) + remainder(x, y);
    case 8: return sinh(x) + cosh(y) + tanh(x) + asinh(y);
    case 9: return j0(x) + y1(y);
    case 10: return norm3d(x, y, x) + hypot(x, y);
    case 11: return floor(x) + ceil(y) + rint(x) + trunc(y) + round(x);
    case 12: return fma(x, y, x) + fmax(x, y) + fmin(x, y) + fabs(x) + copysign(x, y);
    case 13: return ldexp(x, 3) + scalbn(y, k);
    case 14: return normcdf(x) + normcdfinv(y);
    default: return isnan(x) || isinf(y) ? x : y;
    }
}
extern "C" __global__ void single(float *o, const float *a, const int *k, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = all<float>(a[i], a[i + n], k[i]);
}
extern "C" __global__ void twice(double *o, const double *a, const int *k, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = all<double>(a[i], a[i + n], k[i]);
}
extern "C" __global__ void rounding(float *o, const float *a, double *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    o[i] = __fadd_rz(a[i], 1.5f) + __fmul_ru(a[i], 2.f) + __fdiv_rd(a[i], 3.f) + __fsqrt_rn(a[i]) +
           __fmaf_rz(a[i], a[i], 1.f) + __saturatef(a[i]) + __expf(a[i]) + __sinf(a[i]) + __powf(a[i], .3f);
    d[i] = __dadd_ru(d[i], 1.0) + __double2float_rz(d[i]) + __float2int_rd(a[i]) + __double2ll_rn(d[i]) +
           __hiloint2double(i, n) + __double2hiint(d[i]);
}
extern "C" __global__ void black_scholes(float *c, float *p, const float *s, const float *x, const float *t, float r, float v, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float q = sqrtf(t[i]), d1 = (logf(s[i] / x[i]) + (r + .5f * v * v) * t[i]) / (v * q), d2 = d1 - v * q;
        float n1 = normcdff(d1), n2 = normcdff(d2), e = expf(-r * t[i]);
        c[i] = s[i] * n1 - x[i] * e * n2;
        p[i] = x[i] * e * (1 - n2) - s[i] * (1 - n1);
    }
}
