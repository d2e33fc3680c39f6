/* Sparse matrix times vector, a warp a row; rows of different lengths. */
extern "C" __global__ void spmv_csr(const int *__restrict__ start, const int *__restrict__ length,
                                    const int *__restrict__ columns,
                                    const float *__restrict__ values, const float *__restrict__ x,
                                    float *__restrict__ y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    float sum = 0;
    for (int i = lane; i < length[row]; i += 32) {
        int at = start[row] + i;
        sum += values[at] * x[columns[at]];
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffffU, sum, d);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}
