/* Attention in fp32, one query a thread, running maximum and sum; keys and values in shared memory. */
extern "C" __global__ void __launch_bounds__(128)
    attention_simt(const float *__restrict__ q, const float *__restrict__ k,
                   const float *__restrict__ v, float *__restrict__ out, int n, float scale)
{
    __shared__ float ks[32][64], vs[32][64];
    size_t head = (size_t)blockIdx.y * n * 64;
    int row = blockIdx.x * 128 + threadIdx.x;
    float own[64], sum[64] = {}, largest = -1e30F, weight = 0;
    for (int d = 0; d < 64; d++) {
        own[d] = q[head + (size_t)row * 64 + d] * scale;
    }
    for (int base = 0; base < n; base += 32) {
        __syncthreads();
        for (int i = threadIdx.x; i < 32 * 64; i += 128) {
            ks[i / 64][i % 64] = k[head + (size_t)base * 64 + i];
            vs[i / 64][i % 64] = v[head + (size_t)base * 64 + i];
        }
        __syncthreads();
        for (int j = 0; j < 32; j++) {
            float s = 0;
#pragma unroll
            for (int d = 0; d < 64; d++) {
                s += own[d] * ks[j][d];
            }
            float m = fmaxf(largest, s);
            float keep = __expf(largest - m), p = __expf(s - m);
            weight = weight * keep + p;
#pragma unroll
            for (int d = 0; d < 64; d++) {
                sum[d] = sum[d] * keep + p * vs[j][d];
            }
            largest = m;
        }
    }
    for (int d = 0; d < 64; d++) {
        out[head + (size_t)row * 64 + d] = sum[d] / weight;
    }
}
