/* Transpose through a padded tile of shared memory. */
extern "C" __global__ void transpose(const float *__restrict__ x, float *__restrict__ out, int n)
{
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * n + column];
    }
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        out[(size_t)(row + k) * n + column] = tile[threadIdx.x][threadIdx.y + k];
    }
}
