/* 0/1 knapsack, an instance a block: two rows of the table in shared memory. */
extern "C" __global__ void knapsack(const int *__restrict__ weights, const int *__restrict__ values,
                                    int *__restrict__ out, int items)
{
    __shared__ int best[2][1024];
    for (int c = threadIdx.x; c < 1024; c += 256) {
        best[0][c] = 0;
    }
    __syncthreads();
    for (int k = 0; k < items; k++) {
        int w = weights[blockIdx.x * items + k], v = values[blockIdx.x * items + k];
        const int *from = best[k % 2];
        int *to = best[(k + 1) % 2];
        for (int c = threadIdx.x; c < 1024; c += 256) {
            int take = c >= w ? from[c - w] + v : -1;
            to[c] = max(from[c], take);
        }
        __syncthreads();
    }
    for (int c = threadIdx.x; c < 1024; c += 256) {
        out[(size_t)blockIdx.x * 1024 + c] = best[items % 2][c];
    }
}
