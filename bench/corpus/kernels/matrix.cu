// Warp matrices: the wmma interface and mma.sync, ldmatrix in inline assembly.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;
extern "C" __global__ void wmma_half(float *c, const half *a, const half *b, int m, int n, int k)
{
    __shared__ half s[16 * 16 * 8];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> z[2];
    wmma::fill_fragment(z[0], 0.f);
    wmma::fill_fragment(z[1], 1.f);
    int w = threadIdx.x / 32;
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(x, a + (blockIdx.x * 16) * k + i, k);
        for (int j = threadIdx.x; j < 2048; j += blockDim.x) s[j] = b[blockIdx.y * 128 * k + j * 16 + i];
        __syncthreads();
        wmma::load_matrix_sync(y, s + (w & 7) * 256, 16);
        wmma::mma_sync(z[0], x, y, z[0]);
        wmma::mma_sync(z[1], x, y, z[1]);
        __syncthreads();
    }
    for (int i = 0; i < z[0].num_elements; i++) z[0].x[i] = fmaxf(z[0].x[i] + z[1].x[i], 0.f);
    wmma::store_matrix_sync(c + blockIdx.x * 16 * n + w * 16, z[0], n, wmma::mem_row_major);
}
extern "C" __global__ void wmma_int(int *c, const signed char *a, const signed char *b, int k)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> z;
    wmma::fill_fragment(z, 0);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(x, a + i, k);
        wmma::load_matrix_sync(y, b + i, k);
        wmma::mma_sync(z, x, y, z);
    }
    wmma::store_matrix_sync(c, z, 16, wmma::mem_col_major);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void mma_half(float *c, const half *a, const half *b, int n, int k)
{
    __shared__ __align__(128) half sa[64 * 32], sb[64 * 32];
    float d[4][8][4] = {};
    int lane = threadIdx.x % 32;
    for (int t = 0; t < k; t += 32) {
        for (int i = threadIdx.x * 8; i < 64 * 32; i += blockDim.x * 8) {
            unsigned p = (unsigned)__cvta_generic_to_shared(sa + i), q = (unsigned)__cvta_generic_to_shared(sb + i);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(p), "l"(a + (i / 32) * k + t + i % 32));
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(q), "l"(b + (i / 32) * k + t + i % 32));
        }
        asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int kk = 0; kk < 32; kk += 16) {
            unsigned x[4][4], y[8][2];
#pragma unroll
            for (int i = 0; i < 4; i++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                             : "r"((unsigned)__cvta_generic_to_shared(sa + (i * 16 + lane % 16) * 32 + kk + lane / 16 * 8)));
#pragma unroll
            for (int i = 0; i < 8; i++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                             : "=r"(y[i][0]), "=r"(y[i][1])
                             : "r"((unsigned)__cvta_generic_to_shared(sb + (i * 8 + lane % 8) * 32 + kk)));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    asm volatile("{\n\t.reg .f32 t;\n\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n\t}"
                                 : "+f"(d[i][j][0]), "+f"(d[i][j][1]), "+f"(d[i][j][2]), "+f"(d[i][j][3])
                                 : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j][0]), "r"(y[j][1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            *(float4 *)(c + (i * 16 + lane / 4) * n + j * 8) = make_float4(d[i][j][0], d[i][j][1], d[i][j][2], d[i][j][3]);
}
extern "C" __global__ void mma_sparse(int *c, const unsigned *a)
{
    int d[4] = {};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x0;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]));
    for (int i = 0; i < 4; i++) c[threadIdx.x * 4 + i] = d[i];
}
#endif
