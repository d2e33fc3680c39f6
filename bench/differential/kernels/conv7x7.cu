/* 7x7 convolution: a tile with halo in shared memory, weights in constant memory's stead. */
extern "C" __global__ void conv7x7(const float *__restrict__ x, const float *__restrict__ weights,
                                   float *__restrict__ out, int width, int height)
{
    __shared__ float tile[22][38];
    __shared__ float w[49];
    int thread = threadIdx.y * 32 + threadIdx.x;
    int x0 = blockIdx.x * 32 - 3, y0 = blockIdx.y * 16 - 3;
    if (thread < 49) {
        w[thread] = weights[thread];
    }
    for (int i = thread; i < 22 * 38; i += 512) {
        int c = x0 + i % 38, r = y0 + i / 38;
        bool inside = c >= 0 && r >= 0 && c < width && r < height;
        tile[i / 38][i % 38] = inside ? x[(size_t)r * width + c] : 0.0F;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int r = 0; r < 7; r++) {
#pragma unroll
        for (int c = 0; c < 7; c++) {
            sum += w[r * 7 + c] * tile[threadIdx.y + r][threadIdx.x + c];
        }
    }
    out[(size_t)(blockIdx.y * 16 + threadIdx.y) * width + blockIdx.x * 32 + threadIdx.x] = sum;
}
