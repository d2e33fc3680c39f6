/* Softmax of rows of 1024, a block a row: two block reductions, exp, a division. */
static __device__ float block_reduce(float v, float *room, bool maximum)
{
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_xor_sync(0xffffffffU, v, d);
        v = maximum ? fmaxf(v, other) : v + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        room[threadIdx.x / 32] = v;
    }
    __syncthreads();
    v = room[0];
    for (int i = 1; i < 8; i++) {
        v = maximum ? fmaxf(v, room[i]) : v + room[i];
    }
    return v;
}

extern "C" __global__ void softmax(const float *__restrict__ x, float *__restrict__ out)
{
    __shared__ float room[8];
    const float *row = x + (size_t)blockIdx.x * 1024;
    float v[4], largest = -INFINITY, sum = 0;
    for (int i = 0; i < 4; i++) {
        v[i] = row[i * 256 + threadIdx.x];
        largest = fmaxf(largest, v[i]);
    }
    largest = block_reduce(largest, room, true);
    for (int i = 0; i < 4; i++) {
        v[i] = expf(v[i] - largest);
        sum += v[i];
    }
    sum = block_reduce(sum, room, false);
    for (int i = 0; i < 4; i++) {
        out[(size_t)blockIdx.x * 1024 + i * 256 + threadIdx.x] = v[i] / sum;
    }
}
