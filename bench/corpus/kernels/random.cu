// archs: 75 90a 120
// The generators of curand's device interface.
#include <curand_kernel.h>
template <class S> __device__ void draw(float *o, S *s)
{
    S t = *s;
    for (int i = 0; i < 4; i++)
        o[i] = curand_uniform(&t) + curand_normal(&t) + curand_log_normal(&t, 0.f, 1.f) + (float)curand_poisson(&t, 3.0) + (float)curand_normal_double(&t);
    *s = t;
}
extern "C" __global__ void philox(float *o, curandStatePhilox4_32_10_t *s) { curand_init(1234, threadIdx.x, 0, s + threadIdx.x); draw(o, s + threadIdx.x); }
extern "C" __global__ void xorwow(float *o, curandStateXORWOW_t *s) { curand_init(1234, threadIdx.x, 0, s + threadIdx.x); draw(o, s + threadIdx.x); }
extern "C" __global__ void mrg(float *o, curandStateMRG32k3a_t *s) { curand_init(1234, threadIdx.x, 0, s + threadIdx.x); draw(o, s + threadIdx.x); }
