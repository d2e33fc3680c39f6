/* Inclusive scan of 1024 integers a block: warp shuffles, predicated adds, two barriers. */
extern "C" __global__ void scan(const unsigned *__restrict__ x, unsigned *__restrict__ out)
{
    __shared__ unsigned warps[32];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t i = (size_t)blockIdx.x * 1024 + threadIdx.x;
    unsigned value = x[i];
    for (unsigned d = 1; d < 32; d *= 2) {
        unsigned other = __shfl_up_sync(0xffffffffU, value, d);
        value += lane >= d ? other : 0;
    }
    if (lane == 31) {
        warps[warp] = value;
    }
    __syncthreads();
    if (warp == 0) {
        unsigned sum = warps[lane];
        for (unsigned d = 1; d < 32; d *= 2) {
            unsigned other = __shfl_up_sync(0xffffffffU, sum, d);
            sum += lane >= d ? other : 0;
        }
        warps[lane] = sum;
    }
    __syncthreads();
    out[i] = value + (warp > 0 ? warps[warp - 1] : 0);
}
