// variants: plain lineinfo fast debug
// Dense numeric kernels: gemm, stencils, n-body, convolution, fft, lattice Boltzmann, attention.
#include <math.h>
extern "C" __global__ void __launch_bounds__(256) gemm(float *c, const float *a, const float *b, int m, int n, int k)
{
    __shared__ float sa[16][132], sb[16][132];
    float d[8][8] = {};
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    for (int t = 0; t < k; t += 16) {
        for (int i = threadIdx.x; i < 2048; i += 256) {
            sa[i % 16][i / 16] = a[(blockIdx.y * 128 + i / 16) * k + t + i % 16];
            sb[i / 128][i % 128] = b[(t + i / 128) * n + blockIdx.x * 128 + i % 128];
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < 16; p++)
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) d[i][j] += sa[p][ty * 8 + i] * sb[p][tx * 8 + j];
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j += 4)
            *(float4 *)&c[(blockIdx.y * 128 + ty * 8 + i) * n + blockIdx.x * 128 + tx * 8 + j] =
                make_float4(d[i][j], d[i][j + 1], d[i][j + 2], d[i][j + 3]);
}
extern "C" __global__ void stencil(float *o, const float *__restrict__ a, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 2, y = blockIdx.y * blockDim.y + threadIdx.y + 2;
    if (x >= nx - 2 || y >= ny - 2) return;
    long p = (long)nx * ny, i = y * nx + x;
    float b2 = a[i], b1 = a[i + p], c = a[i + 2 * p], f1 = a[i + 3 * p];
    for (int z = 2; z < nz - 2; z++) {
        float f2 = a[i + (z + 2) * p];
        long q = i + z * p;
        o[q] = .5f * c + .1f * (a[q - 1] + a[q + 1] + a[q - nx] + a[q + nx] + b1 + f1) +
               .02f * (a[q - 2] + a[q + 2] + a[q - 2 * nx] + a[q + 2 * nx] + b2 + f2);
        b2 = b1; b1 = c; c = f1; f1 = f2;
    }
}
extern "C" __global__ void nbody(float4 *o, const float4 *p, int n)
{
    __shared__ float4 s[256];
    float4 me = p[blockIdx.x * blockDim.x + threadIdx.x];
    float3 f = {0, 0, 0};
    for (int t = 0; t < n; t += 256) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float x = s[j].x - me.x, y = s[j].y - me.y, z = s[j].z - me.z;
            float r = rsqrtf(x * x + y * y + z * z + 1e-3f), w = s[j].w * r * r * r;
            f.x += x * w; f.y += y * w; f.z += z * w;
        }
        __syncthreads();
    }
    o[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(f.x, f.y, f.z, 0);
}
extern "C" __global__ void convolution(float *o, const float *__restrict__ a, const float *__restrict__ w, int c, int h, int wd)
{
    extern __shared__ float s[];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float d[4] = {};
    for (int k = 0; k < c; k++) {
        for (int j = threadIdx.y; j < 20; j += 16)
            for (int i = threadIdx.x; i < 20; i += 16) {
                int gx = blockIdx.x * 16 + i - 2, gy = blockIdx.y * 16 + j - 2;
                s[j * 20 + i] = gx >= 0 && gy >= 0 && gx < wd && gy < h ? a[(k * h + gy) * wd + gx] : 0.f;
            }
        __syncthreads();
        for (int f = 0; f < 4; f++)
            for (int j = 0; j < 5; j++)
                for (int i = 0; i < 5; i++) d[f] = fmaf(s[(threadIdx.y + j) * 20 + threadIdx.x + i], __ldg(w + ((f * c + k) * 5 + j) * 5 + i), d[f]);
        __syncthreads();
    }
    if (x < wd && y < h) for (int f = 0; f < 4; f++) o[(f * h + y) * wd + x] = d[f];
}
extern "C" __global__ void fft(float2 *data, int n)
{
    __shared__ float2 s[1024];
    float2 *g = data + blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[__brev(i) >> 22] = g[i];
    for (int l = 2; l <= 1024; l <<= 1) {
        __syncthreads();
        for (int i = threadIdx.x; i < 512; i += blockDim.x) {
            int j = i % (l / 2), k = i / (l / 2) * l + j;
            float sn, cs;
            sincospif(-2.f * j / l, &sn, &cs);
            float2 u = s[k], v = s[k + l / 2], w = {v.x * cs - v.y * sn, v.x * sn + v.y * cs};
            s[k] = {u.x + w.x, u.y + w.y};
            s[k + l / 2] = {u.x - w.x, u.y - w.y};
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) g[i] = s[i];
}
extern "C" __global__ void lattice(double *o, const double *__restrict__ a, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= nx) return;
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const double w[9] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
    double f[9], r = 0, u = 0, v = 0;
    for (int i = 0; i < 9; i++) {
        f[i] = a[((long)i * ny + (y - cy[i] + ny) % ny) * nx + (x - cx[i] + nx) % nx];
        r += f[i]; u += cx[i] * f[i]; v += cy[i] * f[i];
    }
    u /= r; v /= r;
    for (int i = 0; i < 9; i++) {
        double e = cx[i] * u + cy[i] * v;
        o[((long)i * ny + y) * nx + x] = f[i] - .6 * (f[i] - w[i] * r * (1 + 3 * e + 4.5 * e * e - 1.5 * (u * u + v * v)));
    }
}
extern "C" __global__ void softmax(float *o, const float *a, int n)
{
    __shared__ float s[32];
    const float *row = a + (long)blockIdx.x * n;
    float m = -INFINITY, t = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
    __syncthreads();
    for (int i = 0; i < blockDim.x / 32; i++) m = fmaxf(m, s[i]);
    for (int i = threadIdx.x; i < n; i += blockDim.x) t += expf(row[i] - m);
    for (int d = 16; d; d >>= 1) t += __shfl_xor_sync(~0u, t, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = t;
    __syncthreads();
    t = 0;
    for (int i = 0; i < blockDim.x / 32; i++) t += s[i];
    for (int i = threadIdx.x; i < n; i += blockDim.x) o[(long)blockIdx.x * n + i] = expf(row[i] - m) / t;
}
extern "C" __global__ void attention(float *o, const float *q, const float *k, const float *v, int n)
{
    __shared__ float sk[64][65], sv[64][65];
    float x[64], y[64] = {}, m = -INFINITY, l = 0;
    int r = blockIdx.x * 64 + threadIdx.x;
#pragma unroll
    for (int i = 0; i < 64; i++) x[i] = q[r * 64 + i];
    for (int t = 0; t < n; t += 64) {
        __syncthreads();
        for (int i = 0; i < 64; i++) { sk[i][threadIdx.x] = k[(t + i) * 64 + threadIdx.x]; sv[i][threadIdx.x] = v[(t + i) * 64 + threadIdx.x]; }
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            float s = 0;
#pragma unroll
            for (int i = 0; i < 64; i++) s += x[i] * sk[j][i];
            float e = fmaxf(m, s), p = __expf(s - e), c = __expf(m - e);
            l = l * c + p; m = e;
#pragma unroll
            for (int i = 0; i < 64; i++) y[i] = y[i] * c + p * sv[j][i];
        }
    }
#pragma unroll
    for (int i = 0; i < 64; i++) o[r * 64 + i] = y[i] / l;
}
extern "C" __global__ void mandelbrot(unsigned *o, int w, double x0, double y0, double d, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, k = 0;
    double cx = x0 + i * d, cy = y0 + j * d, x = 0, y = 0;
    while (x * x + y * y < 4 && k < limit) { double t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; k++; }
    o[j * w + i] = k;
}
extern "C" __global__ void sparse(float *y, const int *row, const int *col, const float *val, const float *x, int n)
{
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (w >= n) return;
    float s = 0;
    for (int i = row[w] + lane; i < row[w + 1]; i += 32) s += val[i] * __ldg(x + col[i]);
    for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
    if (lane == 0) y[w] = s;
}
extern "C" __global__ void bfs(int *depth, const int *row, const int *col, int *next, int *count, const int *now, int n, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int u = now[i];
    for (int e = row[u]; e < row[u + 1]; e++) {
        int v = col[e];
        if (depth[v] < 0 && atomicCAS(depth + v, -1, level) == -1) next[atomicAdd(count, 1)] = v;
    }
}
