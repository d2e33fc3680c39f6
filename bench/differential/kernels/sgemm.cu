/* C = A B in fp32: tiles of 128x128, 8x8 results a thread in registers. */
extern "C" __global__ void __launch_bounds__(256)
    sgemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n)
{
    __shared__ float as[8][128], bs[8][128];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    size_t row0 = (size_t)blockIdx.y * 128, column0 = (size_t)blockIdx.x * 128;
    float sum[8][8] = {};
    for (int k0 = 0; k0 < n; k0 += 8) {
        float4 va = *(const float4 *)(a + (row0 + t / 2) * n + k0 + t % 2 * 4);
        float4 vb = *(const float4 *)(b + (size_t)(k0 + t / 32) * n + column0 + t % 32 * 4);
        __syncthreads();
        as[t % 2 * 4 + 0][t / 2] = va.x;
        as[t % 2 * 4 + 1][t / 2] = va.y;
        as[t % 2 * 4 + 2][t / 2] = va.z;
        as[t % 2 * 4 + 3][t / 2] = va.w;
        *(float4 *)&bs[t / 32][t % 32 * 4] = vb;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float ra[8], rb[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                ra[i] = as[k][ty * 8 + i];
                rb[i] = bs[k][tx * 8 + i];
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    sum[i][j] += ra[i] * rb[j];
                }
            }
        }
    }
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            c[(row0 + ty * 8 + i) * n + column0 + tx * 8 + j] = sum[i][j];
        }
    }
}
