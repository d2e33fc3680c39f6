// Flash attention, forward, without a mask: O = softmax(Q K^T * scale) V, bf16 with fp32 sums, head
// dimension 64, [batch * heads, n, 64] row-major. A block of 4 warps computes 64 rows of one head, a
// warp 16 of them; keys and values come in tiles of 64 through cp.async, two deep. The softmax is
// computed along the way (Dao et al. 2022), in base 2. n is a multiple of 64.
#include <cuda_bf16.h>
#include <stdint.h>

namespace
{
constexpr int D = 64, TILE = 64;

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

// Rows of 64 elements in 8 pieces of 16 bytes, swizzled against bank conflicts.
__device__ __forceinline__ int place(int row, int piece)
{
    return row * D + ((piece ^ (row & 7)) << 3);
}

__device__ __forceinline__ void fetch_tile(__nv_bfloat16 *to, const __nv_bfloat16 *from)
{
#pragma unroll
    for (int i = 0; i < TILE * D / 8 / 128; i++) {
        int at = threadIdx.x + i * 128;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared_address(&to[place(at / 8, at % 8)])),
                     "l"(from + at * 8)
                     : "memory");
    }
}

__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(p))
                 : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(p))
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

__device__ __forceinline__ uint32_t pack(float low, float high)
{
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(uint32_t *)&pair;
}

// Over the four lanes that hold a row.
__device__ __forceinline__ float row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

__device__ __forceinline__ float row_sum(float x)
{
    x += __shfl_xor_sync(0xffffffff, x, 1);
    return x + __shfl_xor_sync(0xffffffff, x, 2);
}
} // namespace

extern "C" __global__ void __launch_bounds__(128)
    attention(const __nv_bfloat16 *__restrict__ q, const __nv_bfloat16 *__restrict__ k,
              const __nv_bfloat16 *__restrict__ v, __nv_bfloat16 *__restrict__ o, int n, float scale)
{
    __shared__ __align__(128) __nv_bfloat16 tile_q[TILE * D], tile_k[2][TILE * D],
        tile_v[2][TILE * D];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t head = (size_t)blockIdx.y * n * D;
    const size_t row0 = (size_t)blockIdx.x * TILE;
    const float scale_2 = scale * 1.4426950408889634f;
    k += head;
    v += head;
    fetch_tile(tile_q, q + head + row0 * D);
    fetch_tile(tile_k[0], k);
    fetch_tile(tile_v[0], v);
    asm volatile("cp.async.commit_group;" ::: "memory");

    uint32_t x[4][4]; // the warp's rows of Q
    float out[8][4] = {};
    float highest[2] = {-INFINITY, -INFINITY}, total[2] = {};
    for (int j = 0; j < n; j += TILE) {
        const int now = j / TILE % 2;
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (j + TILE < n) {
            fetch_tile(tile_k[now ^ 1], k + (size_t)(j + TILE) * D);
            fetch_tile(tile_v[now ^ 1], v + (size_t)(j + TILE) * D);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (j == 0) {
#pragma unroll
            for (int d = 0; d < 4; d++) {
                load_matrices(x[d], &tile_q[place(warp * 16 + lane % 16, d * 2 + lane / 16)]);
            }
        }
        float s[8][4] = {};
#pragma unroll
        for (int d = 0; d < 4; d++) {
#pragma unroll
            for (int c = 0; c < 8; c += 2) {
                uint32_t y[4]; // keys c * 8 ... + 15, dimensions d * 16 ... + 15
                load_matrices(y, &tile_k[now][place(c * 8 + lane % 8 + lane / 16 * 8,
                                                    d * 2 + lane / 8 % 2)]);
                multiply(s[c], x[d], y[0], y[1]);
                multiply(s[c + 1], x[d], y[2], y[3]);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) { // rows lane / 4 and lane / 4 + 8
            float most = highest[h];
#pragma unroll
            for (int c = 0; c < 8; c++) {
                most = fmaxf(most, fmaxf(s[c][2 * h], s[c][2 * h + 1]) * scale_2);
            }
            most = row_max(most);
            float shrink = exp2f(highest[h] - most);
            highest[h] = most;
            float sum = 0;
#pragma unroll
            for (int c = 0; c < 8; c++) {
                s[c][2 * h] = exp2f(s[c][2 * h] * scale_2 - most);
                s[c][2 * h + 1] = exp2f(s[c][2 * h + 1] * scale_2 - most);
                sum += s[c][2 * h] + s[c][2 * h + 1];
                out[c][2 * h] *= shrink;
                out[c][2 * h + 1] *= shrink;
            }
            total[h] = total[h] * shrink + sum;
        }
#pragma unroll
        for (int c = 0; c < 8; c += 2) { // 16 keys: two tiles of s are one operand
            const uint32_t p[4] = {pack(s[c][0], s[c][1]), pack(s[c][2], s[c][3]),
                                   pack(s[c + 1][0], s[c + 1][1]), pack(s[c + 1][2], s[c + 1][3])};
#pragma unroll
            for (int d = 0; d < 8; d += 2) {
                uint32_t y[4];
                load_matrices_transposed(
                    y, &tile_v[now][place(c * 8 + lane % 16, d + lane / 16)]);
                multiply(out[d], p, y[0], y[1]);
                multiply(out[d + 1], p, y[2], y[3]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float inverse = 1 / row_sum(total[h]);
        size_t row = head + (row0 + warp * 16 + lane / 4 + h * 8) * D;
#pragma unroll
        for (int d = 0; d < 8; d++) {
            *(uint32_t *)&o[row + d * 8 + lane % 4 * 2] =
                pack(out[d][2 * h] * inverse, out[d][2 * h + 1] * inverse);
        }
    }
}
