/* Every warp-wide operation in a loop: shuffles of all kinds, votes, match, reductions. */
extern "C" __global__ void warp_ops(const unsigned *__restrict__ x, unsigned *__restrict__ out,
                                    int rounds)
{
    const unsigned all = 0xffffffffU;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane = threadIdx.x % 32;
    unsigned v = x[i];
    for (int k = 0; k < rounds; k++) {
        v += __shfl_xor_sync(all, v, 1 + k % 31);
        v ^= __shfl_up_sync(all, v, 1 + (k & 3));
        v = v * 2654435761U + __shfl_sync(all, v, (lane * 7 + k) % 32);
        unsigned odd = __ballot_sync(all, v & 1);
        v += __popc(odd & ((1U << lane) - 1));
        v ^= __match_any_sync(all, v >> 29);
        if (__any_sync(all, (v & 0xfff) == 0)) {
            v = (v << 3) | (v >> 29);
        }
        v += __reduce_add_sync(all, v & 0xffff) ^ __reduce_max_sync(all, v >> 16);
    }
    out[i] = v;
}
