// Atomics of every width, scope and order, libcu++ atomics, fences, volatile and cache-hinted access.
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <stdint.h>
extern "C" __global__ void classic(int *i, unsigned *u, unsigned long long *l, float *f, double *d, __half2 *h)
{
    int t = threadIdx.x;
    atomicAdd(i, t); atomicSub(i + 1, t); atomicMin(i + 2, t); atomicMax(u + 3, t); atomicInc(u + 4, 9);
    atomicDec(u + 5, 9); atomicAnd(u + 6, t); atomicOr(u + 7, t); atomicXor(u + 8, t);
    atomicExch(f, 1.f); atomicCAS(l, 1ull, 2ull); atomicAdd(f + 1, 2.f); atomicAdd(d, 3.0); atomicAdd(h, __half2(h[1]));
    atomicAdd_block(i + 10, atomicAdd_system(i + 11, t)); atomicMax(l + 2, (unsigned long long)t);
    __threadfence(); __threadfence_block(); __threadfence_system();
    volatile int *v = i; v[20] = v[21] + 1;
    __stcg(i + 30, __ldcg(i + 31)); __stwt(i + 32, __ldcv(i + 33)); __stcs(i + 34, __ldcs(i + 35)); i[36] = __ldlu(i + 37);
}
extern "C" __global__ void ordered(int *p, int *o, int n)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> a(*p);
    cuda::atomic_ref<int, cuda::thread_scope_block> b(p[1]);
    cuda::atomic_ref<int, cuda::thread_scope_system> c(p[2]);
    a.store(1, cuda::std::memory_order_release);
    while (b.load(cuda::std::memory_order_acquire) < n) b.fetch_add(1, cuda::std::memory_order_acq_rel);
    int e = 3;
    while (!c.compare_exchange_weak(e, e + 1, cuda::std::memory_order_seq_cst)) {}
    cuda::atomic_thread_fence(cuda::std::memory_order_seq_cst, cuda::thread_scope_device);
    o[threadIdx.x] = a.exchange(e, cuda::std::memory_order_relaxed);
    a.fetch_max(e);
    a.notify_all();
}
extern "C" __global__ void histogram(unsigned *h, const uchar4 *in, int n)
{
    __shared__ unsigned s[8][256];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) (&s[0][0])[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 v = in[i];
        unsigned *w = s[threadIdx.x / 32 % 8];
        atomicAdd(w + v.x, 1); atomicAdd(w + v.y, 1); atomicAdd(w + v.z, 1); atomicAdd(w + v.w, 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned t = 0;
        for (int j = 0; j < 8; j++) t += s[j][i];
        atomicAdd(h + i, t);
    }
}
extern "C" __global__ void last_block(float *o, float *part, unsigned *ticket, const float *a, int n)
{
    __shared__ bool last;
    float s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i];
    part[blockIdx.x * blockDim.x + threadIdx.x] = s;
    __threadfence();
    if (threadIdx.x == 0) last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
    if (__syncthreads_or(last)) o[threadIdx.x] = __ldcg(part + threadIdx.x) + __syncthreads_count(s > 0);
}
