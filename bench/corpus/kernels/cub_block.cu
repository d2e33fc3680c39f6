// archs: 75 86 90a 100a 120
// CUB within a block: radix and merge sorts, scans, reductions, histograms, exchanges, shuffles.
#include <cub/cub.cuh>
template <class T, int B, int N> __global__ void sort(T *d)
{
    typedef cub::BlockRadixSort<T, B, N> S;
    typedef cub::BlockLoad<T, B, N, cub::BLOCK_LOAD_TRANSPOSE> L;
    typedef cub::BlockStore<T, B, N, cub::BLOCK_STORE_WARP_TRANSPOSE> W;
    __shared__ union { typename S::TempStorage s; typename L::TempStorage l; typename W::TempStorage w; } t;
    T k[N];
    L(t.l).Load(d + blockIdx.x * B * N, k);
    __syncthreads();
    S(t.s).Sort(k);
    __syncthreads();
    W(t.w).Store(d + blockIdx.x * B * N, k);
}
template __global__ void sort<unsigned, 128, 8>(unsigned *);
template __global__ void sort<double, 64, 4>(double *);
template __global__ void sort<short, 256, 5>(short *);
struct less { template <class T> __device__ bool operator()(T a, T b) const { return a < b; } };
template <class T, int B> __global__ void many(T *d, int *o, int n)
{
    typedef cub::BlockScan<T, B, cub::BLOCK_SCAN_WARP_SCANS> S;
    typedef cub::BlockReduce<T, B> R;
    typedef cub::BlockHistogram<unsigned char, B, 4, 256> H;
    typedef cub::BlockMergeSort<T, B, 4> M;
    typedef cub::BlockExchange<T, B, 4> X;
    typedef cub::BlockDiscontinuity<T, B> D;
    typedef cub::WarpMergeSort<T, 4> W;
    __shared__ union { typename S::TempStorage s; typename R::TempStorage r; typename H::TempStorage h; typename M::TempStorage m;
                       typename X::TempStorage x; typename D::TempStorage d; typename W::TempStorage w[B / 32]; } t;
    __shared__ unsigned bins[256];
    T k[4]; int f[4];
    for (int i = 0; i < 4; i++) k[i] = threadIdx.x * 4 + i < n ? d[threadIdx.x * 4 + i] : T(0);
    S(t.s).ExclusiveSum(k, k); __syncthreads();
    T sum = R(t.r).Reduce(k, cuda::std::plus<>()); __syncthreads();
    M(t.m).Sort(k, less()); __syncthreads();
    X(t.x).BlockedToStriped(k); __syncthreads();
    D(t.d).FlagHeads(f, k, cuda::std::not_equal_to<>()); __syncthreads();
    W(t.w[threadIdx.x / 32]).Sort(k, less()); __syncthreads();
    unsigned char c[4];
    for (int i = 0; i < 4; i++) c[i] = (unsigned char)f[i];
    H(t.h).Histogram(c, bins); __syncthreads();
    for (int i = 0; i < 4; i++) { d[threadIdx.x * 4 + i] = k[i] + sum; o[threadIdx.x * 4 + i] = f[i] + bins[threadIdx.x]; }
}
template __global__ void many<int, 128>(int *, int *, int);
template __global__ void many<long long, 64>(long long *, int *, int);
template __global__ void many<float, 32>(float *, int *, int);
