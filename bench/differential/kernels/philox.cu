/* Philox 4x32-10: wide multiplications, exclusive or; a sum of uniform numbers. */
extern "C" __global__ void philox(const unsigned *__restrict__ seeds, unsigned *__restrict__ bits,
                                  float *__restrict__ sums, int rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned seed = seeds[i], last = 0;
    float sum = 0;
    for (int n = 0; n < rounds; n++) {
        unsigned c0 = n, c1 = i, c2 = 0, c3 = 0, k0 = seed, k1 = ~seed;
#pragma unroll
        for (int r = 0; r < 10; r++) {
            unsigned long long p = 0xD2511F53ULL * c0, q = 0xCD9E8D57ULL * c2;
            unsigned n0 = (unsigned)(q >> 32) ^ c1 ^ k0, n2 = (unsigned)(p >> 32) ^ c3 ^ k1;
            c1 = (unsigned)q;
            c3 = (unsigned)p;
            c0 = n0;
            c2 = n2;
            k0 += 0x9E3779B9U;
            k1 += 0xBB67AE85U;
        }
        last ^= c0 + c1 * 3 + c2 * 5 + c3 * 7;
        sum += (c0 >> 8) * 0x1p-24F;
    }
    bits[i] = last;
    sums[i] = sum;
}
