// Entry directives: thread bounds, blocks per multiprocessor, register bounds, clusters, restrict.
extern "C" __global__ void __launch_bounds__(128, 4) bounded(float *o, const float *__restrict__ a) { o[threadIdx.x] = a[threadIdx.x] * 2; }
extern "C" __global__ void __maxnreg__(32) few(float *o, const float *a, int n)
{
    float r[40];
#pragma unroll
    for (int i = 0; i < 40; i++) r[i] = a[i * n + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 40; i++) o[i * n + threadIdx.x] = r[i] * r[39 - i];
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __launch_bounds__(128, 2, 4) clustered(float *o) { o[threadIdx.x] = blockIdx.x; }
extern "C" __global__ void __block_size__((64, 2, 1), (2, 1, 1)) sized(float *o) { o[threadIdx.x] = blockIdx.x; }
#endif
struct big { int a[100]; short b; char c[3]; double d; };
extern "C" __global__ void parameters(const __grid_constant__ big p, int *o, char c, short s, int3 t) { o[threadIdx.x] = p.a[threadIdx.x % 100] + p.c[o[1] & 1] + (int)p.d + c * s + t.z; }
extern "C" __global__ void loops(int *o, const int *a, int n, int m)
{
#pragma nounroll
    for (int i = 0; i < n; i++) o[i] += a[i];
#pragma unroll 4
    for (int i = n - 1; i >= 0; i--) o[i] ^= a[2 * i];
    for (unsigned i = 0; i != 16; i++) o[i] *= 3;
    for (int i = 0; i < n; i++) { if (a[i] == m) break; if (a[i] < 0) continue; for (int j = i; j < m; j += 3) o[j] += i; }
    do { n -= 7; o[n & 3] += n; } while (n > 0);
    for (long i = threadIdx.x; i < (long)n * m; i += blockDim.x) o[i] = o[i] & ~a[i];
}
