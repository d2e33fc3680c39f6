/* Bitonic sort of 1024 keys a block in shared memory: barriers inside nested loops. */
extern "C" __global__ void bitonic(const unsigned *__restrict__ x, unsigned *__restrict__ out)
{
    __shared__ unsigned keys[1024];
    unsigned t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * 1024;
    keys[t] = x[base + t];
    keys[t + 512] = x[base + t + 512];
    for (unsigned k = 2; k <= 1024; k *= 2) {
        for (unsigned j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            unsigned i = 2 * t - (t & (j - 1));
            unsigned a = keys[i], b = keys[i + j];
            bool up = (i & k) == 0;
            if ((a > b) == up) {
                keys[i] = b;
                keys[i + j] = a;
            }
        }
    }
    __syncthreads();
    out[base + t] = keys[t];
    out[base + t + 512] = keys[t + 512];
}
