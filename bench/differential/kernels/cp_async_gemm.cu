/* C = A B^T in f16: three stages of cp.async, ldmatrix, mma.sync; tiles of 64x64x32. */
#include <cuda_pipeline.h>

static __device__ unsigned address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void __launch_bounds__(128)
    cp_async_gemm(const unsigned short *__restrict__ a, const unsigned short *__restrict__ b,
                  float *__restrict__ c, int n)
{
    __shared__ __align__(16) unsigned short as[3][64][40], bs[3][64][40];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    size_t row0 = (size_t)blockIdx.y * 64, column0 = (size_t)blockIdx.x * 64;
    float d[8][4] = {};
    auto fetch = [&](int stage, int k0) {
        for (int i = t; i < 256; i += 128) {
            int r = i / 4, q = i % 4 * 8;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                             address(&as[stage][r][q])),
                         "l"(a + (row0 + r) * n + k0 + q));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                             address(&bs[stage][r][q])),
                         "l"(b + (column0 + r) * n + k0 + q));
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(0, 0);
    fetch(1, 32);
    for (int k0 = 0, stage = 0; k0 < n; k0 += 32, stage = stage == 2 ? 0 : stage + 1) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        if (k0 + 64 < n) {
            fetch((stage + 2) % 3, k0 + 64);
        } else {
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
#pragma unroll
        for (int k = 0; k < 32; k += 16) {
            unsigned f[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                         : "r"(address(&as[stage][warp * 16 + lane % 16][k + lane / 16 * 8])));
#pragma unroll
            for (int j = 0; j < 8; j++) {
                unsigned g0, g1;
                asm volatile(
                    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                    : "=r"(g0), "=r"(g1)
                    : "r"(address(&bs[stage][j * 8 + lane % 8][k + lane / 8 % 2 * 8])));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                             : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g0), "r"(g1));
            }
        }
    }
    for (int j = 0; j < 8; j++) {
        size_t at = (row0 + warp * 16 + lane / 4) * n + column0 + j * 8 + lane % 4 * 2;
        *(float2 *)(c + at) = make_float2(d[j][0], d[j][1]);
        *(float2 *)(c + at + (size_t)8 * n) = make_float2(d[j][2], d[j][3]);
    }
}
