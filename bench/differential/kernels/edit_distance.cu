/* Edit distance of short strings, a pair a thread, the row in registers and local memory. */
extern "C" __global__ void edit_distance(const unsigned char *__restrict__ a,
                                         const unsigned char *__restrict__ b,
                                         unsigned *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char word[32];
    unsigned row[33];
    for (int k = 0; k < 32; k++) {
        word[k] = b[(size_t)k * n + i];
        row[k] = k;
    }
    row[32] = 32;
    for (int r = 0; r < 32; r++) {
        unsigned char c = a[(size_t)r * n + i];
        unsigned diagonal = row[0];
        row[0] = r + 1;
#pragma unroll
        for (int k = 1; k <= 32; k++) {
            unsigned best = min(min(row[k], row[k - 1]) + 1, diagonal + (word[k - 1] != c));
            diagonal = row[k];
            row[k] = best;
        }
    }
    out[i] = row[32];
}
