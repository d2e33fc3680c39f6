/* 64-bit modular powers by Montgomery multiplication: wide products, carries, a data-dependent loop. */
static __device__ unsigned long long reduce(unsigned long long high, unsigned long long low,
                                            unsigned long long m, unsigned long long inverse)
{
    unsigned long long q = low * inverse;
    unsigned long long t = __umul64hi(q, m);
    return high >= t ? high - t : high - t + m;
}

extern "C" __global__ void modpow(const unsigned long long *__restrict__ x,
                                  const unsigned *__restrict__ exponents,
                                  unsigned long long *__restrict__ out)
{
    const unsigned long long m = 0xffffffffffffffc5ULL;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long inverse = m;
    for (int k = 0; k < 5; k++) {
        inverse *= 2 - m * inverse;
    }
    unsigned long long base = x[i] % m, result = 0 - m;
    for (unsigned e = exponents[i]; e != 0; e >>= 1) {
        if (e & 1) {
            result = reduce(__umul64hi(result, base), result * base, m, inverse);
        }
        base = reduce(__umul64hi(base, base), base * base, m, inverse);
    }
    out[i] = result;
}
