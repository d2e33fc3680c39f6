// C = A * B in fp32, row-major, register-tiled: a block of 256 threads computes 128 x 128 of C, each
// thread 8 x 8 of it as four 4 x 4 pieces, from double-buffered slices of TILE_K columns in shared
// memory. M and N are multiples of 128, K of TILE_K.
#ifndef TILE_K
#define TILE_K 8
#endif

extern "C" __global__ void __launch_bounds__(256, 2)
    sgemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m,
          int n, int k)
{
    __shared__ float slice_a[2][TILE_K][128 + 4]; // transposed, so that a thread reads 4 rows at once
    __shared__ float slice_b[2][TILE_K][128];
    constexpr int LOADS = TILE_K * 128 / 4 / 256; // float4 that each thread brings of either slice
    const int t = threadIdx.x;
    const int row0 = blockIdx.y * 128, column0 = blockIdx.x * 128;
    const int ty = t / 16, tx = t % 16;
    float4 next_a[LOADS], next_b[LOADS];
    float sum[8][8] = {};

    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int at = t + i * 256;
            int row = at / (TILE_K / 4), piece = at % (TILE_K / 4);
            next_a[i] = *(const float4 *)&a[(size_t)(row0 + row) * k + k0 + piece * 4];
            next_b[i] = *(const float4 *)&b[(size_t)(k0 + at / 32) * n + column0 + at % 32 * 4];
        }
    };
    auto put = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int at = t + i * 256;
            int row = at / (TILE_K / 4), piece = at % (TILE_K / 4);
            slice_a[buffer][piece * 4 + 0][row] = next_a[i].x;
            slice_a[buffer][piece * 4 + 1][row] = next_a[i].y;
            slice_a[buffer][piece * 4 + 2][row] = next_a[i].z;
            slice_a[buffer][piece * 4 + 3][row] = next_a[i].w;
            *(float4 *)&slice_b[buffer][at / 32][at % 32 * 4] = next_b[i];
        }
    };

    fetch(0);
    put(0);
    __syncthreads();
    int buffer = 0;
    for (int k0 = 0; k0 < k; k0 += TILE_K) {
        bool more = k0 + TILE_K < k;
        if (more) {
            fetch(k0 + TILE_K);
        }
#pragma unroll
        for (int i = 0; i < TILE_K; i++) {
            float x[8], y[8];
            *(float4 *)&x[0] = *(const float4 *)&slice_a[buffer][i][ty * 4];
            *(float4 *)&x[4] = *(const float4 *)&slice_a[buffer][i][64 + ty * 4];
            *(float4 *)&y[0] = *(const float4 *)&slice_b[buffer][i][tx * 4];
            *(float4 *)&y[4] = *(const float4 *)&slice_b[buffer][i][64 + tx * 4];
#pragma unroll
            for (int r = 0; r < 8; r++) {
#pragma unroll
                for (int s = 0; s < 8; s++) {
                    sum[r][s] += x[r] * y[s];
                }
            }
        }
        if (more) {
            put(buffer ^ 1);
            __syncthreads();
            buffer ^= 1;
        }
    }
#pragma unroll
    for (int r = 0; r < 8; r++) {
        size_t row = row0 + (r < 4 ? ty * 4 + r : 64 + ty * 4 + r - 4);
        *(float4 *)&c[row * n + column0 + tx * 4] = *(const float4 *)&sum[r][0];
        *(float4 *)&c[row * n + column0 + 64 + tx * 4] = *(const float4 *)&sum[r][4];
    }
}
