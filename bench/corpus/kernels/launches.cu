// variants: rdc
// Dynamic parallelism, device functions of other files, managed and constant variables.
#include <cuda_runtime.h>
extern __device__ int elsewhere(int, float *);
extern __shared__ int dynamic[];
__managed__ int counter;
__constant__ float table[1024];
__device__ float state[16];
__global__ void child(int *o, int depth);
__global__ void child(int *o, int depth)
{
    if (depth > 0 && threadIdx.x == 0) child<<<2, 32, 64>>>(o, depth - 1);
    o[threadIdx.x] = elsewhere(depth, state) + dynamic[threadIdx.x];
    atomicAdd(&counter, 1);
}
extern "C" __global__ void parent(int *o, int n)
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    child<<<n, 64, 0, s>>>(o, 3);
    child<<<1, 1, 0, cudaStreamTailLaunch>>>(o + 64, 0);
    o[n] = (int)(table[n] * 3);
}
