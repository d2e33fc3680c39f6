/* One-pass scan over the whole array: blocks take tickets and read their predecessors' sums through
   release and acquire. Ordering of memory operations between blocks is what it stands on. */
#include <cuda/atomic>

extern "C" __global__ void lookback(const unsigned *__restrict__ x, unsigned *__restrict__ out,
                                    unsigned *ticket, unsigned long long *state)
{
    __shared__ unsigned warps[8], tile, before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1);
    }
    __syncthreads();
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t base = ((size_t)tile * 256 + threadIdx.x) * 4;
    uint4 v = *(const uint4 *)(x + base);
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    unsigned sum = v.w;
    for (unsigned d = 1; d < 32; d *= 2) {
        unsigned other = __shfl_up_sync(0xffffffffU, sum, d);
        sum += lane >= d ? other : 0;
    }
    if (lane == 31) {
        warps[warp] = sum;
    }
    __syncthreads();
    unsigned offset = 0, total = 0;
    for (unsigned w = 0; w < 8; w++) {
        offset += w < warp ? warps[w] : 0;
        total += warps[w];
    }
    if (threadIdx.x == 0) { /* upper word: 1 own sum, 2 sum up to here */
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> own(state[tile]);
        own.store((1ULL << 32) | total, cuda::memory_order_release);
        unsigned prefix = 0;
        for (unsigned t = tile; t-- > 0;) {
            cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> earlier(state[t]);
            unsigned long long seen;
            do {
                seen = earlier.load(cuda::memory_order_acquire);
            } while (seen >> 32 == 0);
            prefix += (unsigned)seen;
            if (seen >> 32 == 2) {
                break;
            }
        }
        own.store((2ULL << 32) | (prefix + total), cuda::memory_order_release);
        before = prefix;
    }
    __syncthreads();
    unsigned add = before + offset + sum - v.w;
    *(uint4 *)(out + base) = make_uint4(v.x + add, v.y + add, v.z + add, v.w + add);
}
