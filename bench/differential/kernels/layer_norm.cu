/* Layer norm of rows, vector loads, mean and variance over the block. */
static __device__ float total(float v, float *room)
{
    for (int d = 16; d > 0; d /= 2) {
        v += __shfl_xor_sync(0xffffffffU, v, d);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        room[threadIdx.x / 32] = v;
    }
    __syncthreads();
    return ((room[0] + room[1]) + (room[2] + room[3])) +
           ((room[4] + room[5]) + (room[6] + room[7]));
}

extern "C" __global__ void layer_norm(const float4 *__restrict__ x, const float4 *__restrict__ gain,
                                      const float4 *__restrict__ shift, float4 *__restrict__ out,
                                      int width)
{
    __shared__ float room[8];
    int words = width / 4;
    const float4 *row = x + (size_t)blockIdx.x * words;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < words; i += 256) {
        float4 v = row[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    float mean = total(sum, room) / width;
    for (int i = threadIdx.x; i < words; i += 256) {
        float4 v = row[i];
        float a = v.x - mean, b = v.y - mean, c = v.z - mean, d = v.w - mean;
        squares += (a * a + b * b) + (c * c + d * d);
    }
    float scale = rsqrtf(total(squares, room) / width + 1e-5F);
    for (int i = threadIdx.x; i < words; i += 256) {
        float4 v = row[i], g = gain[i], s = shift[i];
        out[(size_t)blockIdx.x * words + i] =
            make_float4((v.x - mean) * scale * g.x + s.x, (v.y - mean) * scale * g.y + s.y,
                        (v.z - mean) * scale * g.z + s.z, (v.w - mean) * scale * g.w + s.w);
    }
}
