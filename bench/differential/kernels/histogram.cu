/* Byte histogram: integer atomics in shared and global memory. */
extern "C" __global__ void histogram(const uchar4 *__restrict__ x, unsigned *__restrict__ bins,
                                     int n)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        uchar4 v = x[i];
        atomicAdd(&local[v.x], 1U);
        atomicAdd(&local[v.y], 1U);
        atomicAdd(&local[v.z], 1U);
        atomicAdd(&local[v.w], 1U);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
