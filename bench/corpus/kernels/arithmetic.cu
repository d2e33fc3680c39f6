// Integer arithmetic: wide products, division, carries, bit fields, video instructions, dot products.
#include <stdint.h>
extern "C" __global__ void division(int64_t *o, const int64_t *a, const int *b, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        o[i] = a[i] / (b[i] | 1) + a[i] % (a[i + 1] | 1) + (b[i] / 7) + (unsigned)b[i] % 10u;
}
extern "C" __global__ void wide(uint64_t *o, const uint64_t *a, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 x = (unsigned __int128)a[i] * a[i + 1], y = x + a[i + 2];
    y = y * 3 - x;
    o[2 * i] = (uint64_t)y;
    o[2 * i + 1] = (uint64_t)(y >> 64);
    uint64_t l0, l1, l2;
    asm("add.cc.u64 %0, %3, %4;\n\taddc.cc.u64 %1, %5, 0;\n\taddc.u64 %2, 0, 0;"
        : "=l"(l0), "=l"(l1), "=l"(l2) : "l"(a[i]), "l"(a[i + 1]), "l"(a[i + 2]));
    o[n + i] = l0 ^ l1 ^ l2;
}
extern "C" __global__ void bits(unsigned *o, const unsigned *a, int k, unsigned n)
{
    unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    unsigned x = a[i], y = a[i + n];
    unsigned f, g;
    asm("bfe.u32 %0, %1, 5, 3;" : "=r"(f) : "r"(x));
    asm("bfi.b32 %0, %1, %2, 8, 7;" : "=r"(g) : "r"(x), "r"(y));
    o[i] = __popc(x) + __clz(y) + __ffs(x ^ y) + __brev(x) + __byte_perm(x, y, 0x3715) +
           __funnelshift_l(x, y, k) + __funnelshift_rc(x, y, k) + f + g + ((x & y) | ~(x ^ k)) +
           (x >> (k & 31)) + (int)x * 12 + x * 1024u + __umulhi(x, y) + __sad((int)x, (int)y, k) +
           __mul24((int)x, (int)y) + __uhadd(x, y) + (unsigned)__popcll(((uint64_t)x << 32) | y);
}
extern "C" __global__ void video(unsigned *o, const unsigned *a, unsigned n)
{
    unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    unsigned x = a[i], y = a[i + n];
    o[i] = __vadd4(x, y) ^ __vabsdiffs4(x, y) ^ __vmaxs2(x, y) ^ __vcmpgtu4(x, y) ^ __vavgu4(x, y) ^
           __vsadu4(x, y) ^ __vsubss2(x, y);
#if __CUDA_ARCH__ >= 610
    o[i] += __dp4a((int)x, (int)y, 5) + __dp2a_lo((int)x, (int)y, 7);
#endif
    unsigned v;
    asm("vadd.u32.u32.u32.sat %0, %1.b0, %2.b3;" : "=r"(v) : "r"(x), "r"(y));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(v) : "r"(x), "r"(y));
    o[i] ^= v;
}
template <int N> __device__ __forceinline__ void quarter(unsigned (&s)[16])
{
#pragma unroll
    for (int r = 0; r < N; r++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            s[c] += s[4 + c]; s[12 + c] = __funnelshift_l(s[12 + c] ^ s[c], s[12 + c] ^ s[c], 16);
            s[8 + c] += s[12 + c]; s[4 + c] = __funnelshift_l(s[4 + c] ^ s[8 + c], s[4 + c] ^ s[8 + c], 12);
        }
}
extern "C" __global__ void chacha(unsigned *o, const unsigned *key, unsigned n)
{
    unsigned s[16], i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < 16; j++) s[j] = key[j] + (j == 12 ? i : 0);
    quarter<20>(s);
    for (int j = 0; j < 16; j++) if (i < n) o[i * 16 + j] = s[j] + key[j];
}
__constant__ unsigned K[64];
extern "C" __global__ void sha256(unsigned *o, const unsigned *in, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, w[64], h[8];
    if (i >= n) return;
#pragma unroll
    for (int t = 0; t < 16; t++) w[t] = __byte_perm(in[i * 16 + t], 0, 0x0123);
#define R(x, k) __funnelshift_r(x, x, k)
#pragma unroll
    for (int t = 16; t < 64; t++)
        w[t] = (R(w[t - 2], 17) ^ R(w[t - 2], 19) ^ (w[t - 2] >> 10)) + w[t - 7] +
               (R(w[t - 15], 7) ^ R(w[t - 15], 18) ^ (w[t - 15] >> 3)) + w[t - 16];
    for (int j = 0; j < 8; j++) h[j] = in[n * 16 + j];
#pragma unroll
    for (int t = 0; t < 64; t++) {
        unsigned a = h[7] + (R(h[4], 6) ^ R(h[4], 11) ^ R(h[4], 25)) + ((h[4] & h[5]) ^ (~h[4] & h[6])) + K[t] + w[t];
        unsigned b = (R(h[0], 2) ^ R(h[0], 13) ^ R(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
        h[7] = h[6]; h[6] = h[5]; h[5] = h[4]; h[4] = h[3] + a; h[3] = h[2]; h[2] = h[1]; h[1] = h[0]; h[0] = a + b;
    }
    for (int j = 0; j < 8; j++) o[i * 8 + j] = h[j];
}
