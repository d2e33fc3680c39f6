/* C = A B^T in bf16 with mma.sync: fragments straight from global memory, 16x32 results a warp. */
extern "C" __global__ void mma_bf16(const unsigned *__restrict__ a, const unsigned *__restrict__ b,
                                    float *__restrict__ c, int n)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int group = lane / 4, pair = lane % 4, words = n / 2;
    size_t row = ((size_t)blockIdx.y * 4 + warp) * 16 + group;
    size_t column = (size_t)blockIdx.x * 32;
    float d[4][4] = {};
    for (int k = 0; k < words; k += 8) {
        unsigned a0 = a[row * words + k + pair], a1 = a[(row + 8) * words + k + pair];
        unsigned a2 = a[row * words + k + pair + 4], a3 = a[(row + 8) * words + k + pair + 4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            size_t at = (column + j * 8 + group) * words + k + pair;
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                         "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b[at]), "r"(b[at + 4]));
        }
    }
    for (int j = 0; j < 4; j++) {
        size_t at = row * n + column + j * 8 + pair * 2;
        *(float2 *)(c + at) = make_float2(d[j][0], d[j][1]);
        *(float2 *)(c + at + (size_t)8 * n) = make_float2(d[j][2], d[j][3]);
    }
}
