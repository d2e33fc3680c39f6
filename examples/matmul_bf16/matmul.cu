// C = A * B with bf16 operands and fp32 sums, row-major, on the tensor cores by mma.sync: a block of
// 256 threads computes 128 x 128 of C, each of its 8 warps 64 x 32; slices of 32 columns come through
// cp.async, STAGES deep. Rows of a slice are swizzled in 16-byte pieces, so that ldmatrix meets no bank
// conflict. M and N are multiples of 128, K of 32.
#include <cuda_bf16.h>
#include <stdint.h>

#ifndef STAGES
#define STAGES 4
#endif

namespace
{
constexpr int M_TILE = 128, N_TILE = 128, K_TILE = 32;

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void copy_16(uint32_t to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// A: rows of 32 elements, 4 pieces of 16 bytes each; B: rows of 128 elements, 16 pieces.
__device__ __forceinline__ int place_a(int row, int piece)
{
    return row * K_TILE + ((piece ^ ((row >> 1) & 3)) << 3);
}

__device__ __forceinline__ int place_b(int row, int piece)
{
    return row * N_TILE + ((piece ^ (row & 7)) << 3);
}

__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
} // namespace

extern "C" __global__ void __launch_bounds__(256)
    matmul(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b,
           __nv_bfloat16 *__restrict__ c, int m, int n, int k)
{
    extern __shared__ __align__(128) __nv_bfloat16 shared[];
    constexpr int A_SIZE = M_TILE * K_TILE, B_SIZE = K_TILE * N_TILE;
    __nv_bfloat16 *slices_a = shared, *slices_b = shared + STAGES * A_SIZE;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int row0 = blockIdx.y * M_TILE, column0 = blockIdx.x * N_TILE;
    const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    float sum[4][4][4] = {};

    auto fetch = [&](int stage, int k0) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int at = t + i * 256;
            int row = at / 4, piece = at % 4;
            copy_16(shared_address(&slices_a[stage * A_SIZE + place_a(row, piece)]),
                    &a[(size_t)(row0 + row) * k + k0 + piece * 8]);
            row = at / 16, piece = at % 16;
            copy_16(shared_address(&slices_b[stage * B_SIZE + place_b(row, piece)]),
                    &b[(size_t)(k0 + row) * n + column0 + piece * 8]);
        }
    };

    const int slices = k / K_TILE;
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < slices) {
            fetch(i, i * K_TILE);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int i = 0; i < slices; i++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        int coming = i + STAGES - 1;
        if (coming < slices) {
            fetch(coming % STAGES, coming * K_TILE);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        const __nv_bfloat16 *slice_a = slices_a + i % STAGES * A_SIZE;
        const __nv_bfloat16 *slice_b = slices_b + i % STAGES * B_SIZE;
#pragma unroll
        for (int kk = 0; kk < K_TILE; kk += 16) {
            uint32_t x[4][4], y[2][4];
#pragma unroll
            for (int r = 0; r < 4; r++) {
                load_matrices(x[r], shared_address(&slice_a[place_a(warp_row + r * 16 + lane % 16,
                                                                    kk / 8 + lane / 16)]));
            }
#pragma unroll
            for (int s = 0; s < 2; s++) {
                load_matrices_transposed(
                    y[s], shared_address(&slice_b[place_b(
                              kk + lane % 16, (warp_column + s * 16) / 8 + lane / 16)]));
            }
#pragma unroll
            for (int r = 0; r < 4; r++) {
#pragma unroll
                for (int s = 0; s < 4; s++) {
                    multiply(sum[r][s], x[r], y[s / 2][s % 2 * 2], y[s / 2][s % 2 * 2 + 1]);
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
#pragma unroll
        for (int s = 0; s < 4; s++) {
            size_t row = row0 + warp_row + r * 16 + lane / 4;
            size_t column = column0 + warp_column + s * 8 + lane % 4 * 2;
            *(__nv_bfloat162 *)&c[row * n + column] =
                __floats2bfloat162_rn(sum[r][s][0], sum[r][s][1]);
            *(__nv_bfloat162 *)&c[(row + 8) * n + column] =
                __floats2bfloat162_rn(sum[r][s][2], sum[r][s][3]);
        }
    }
}
