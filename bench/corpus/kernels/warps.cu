// Exchanges within a warp, votes, matches, clocks, sleeping, active masks.
extern "C" __global__ void exchange(int *o, const int *a, unsigned long long *clock, int n)
{
    int x = a[threadIdx.x], lane = threadIdx.x & 31;
    long long before = clock64();
    for (int d = 1; d < 32; d <<= 1) {
        int y = __shfl_up_sync(~0u, x, d);
        if (lane >= d) x += y;
    }
    x += __shfl_xor_sync(~0u, x, 5, 8) + __shfl_sync(~0u, x, n) + (int)__ballot_sync(~0u, x > n);
    if (__any_sync(~0u, x == 3) && !__all_sync(~0u, x < 0)) x ^= __activemask();
    x += __match_any_sync(~0u, x & 7);
    int p;
    x += __match_all_sync(~0u, n, &p) + p;
#if __CUDA_ARCH__ >= 800
    x += __reduce_add_sync(~0u, x) + __reduce_min_sync(~0u, x) + (int)__reduce_or_sync(~0u, (unsigned)x);
#endif
    __syncwarp(0xffff);
    __nanosleep(100);
    unsigned s, w;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(w));
    o[threadIdx.x] = x + s + __popc(w);
    clock[threadIdx.x] = (unsigned long long)(clock64() - before);
}
template <int N> __global__ void bitonic(int *data)
{
    int x = data[blockIdx.x * N + threadIdx.x];
#pragma unroll
    for (int k = 2; k <= N; k <<= 1)
#pragma unroll
        for (int j = k >> 1; j > 0; j >>= 1) {
            int y = __shfl_xor_sync(~0u, x, j, N);
            bool up = (threadIdx.x & k) == 0, low = (threadIdx.x & j) == 0;
            x = (x < y) == (up == low) ? x : y;
        }
    data[blockIdx.x * N + threadIdx.x] = x;
}
template __global__ void bitonic<32>(int *);
template __global__ void bitonic<16>(int *);
