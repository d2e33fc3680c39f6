/* Sum of floats in a fixed order: grid-stride loads, warp shuffles, shared memory. */
extern "C" __global__ void reduce(const float *__restrict__ x, float *__restrict__ out, int n)
{
    __shared__ float partial[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i];
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(0xffffffffU, sum, d);
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        sum = partial[threadIdx.x];
        for (int d = 4; d > 0; d /= 2) {
            sum += __shfl_down_sync(0xffU, sum, d);
        }
        if (threadIdx.x == 0) {
            out[blockIdx.x] = sum;
        }
    }
}
