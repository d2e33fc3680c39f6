/* Radix-2 transform of 1024 points a block: bit reversal, sine and cosine, shared memory. */
extern "C" __global__ void fft(const float2 *__restrict__ x, float2 *__restrict__ out)
{
    __shared__ float2 v[1024];
    size_t base = (size_t)blockIdx.x * 1024;
    for (unsigned i = threadIdx.x; i < 1024; i += 512) {
        v[__brev(i) >> 22] = x[base + i];
    }
    for (unsigned half = 1; half < 1024; half *= 2) {
        __syncthreads();
        unsigned k = threadIdx.x % half;
        unsigned i = threadIdx.x / half * 2 * half + k;
        float s, c;
        sincospif(-(float)k / half, &s, &c);
        float2 a = v[i], b = v[i + half];
        float2 t = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
        v[i] = make_float2(a.x + t.x, a.y + t.y);
        v[i + half] = make_float2(a.x - t.x, a.y - t.y);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1024; i += 512) {
        out[base + i] = v[i];
    }
}
