// archs: 80 86 90 90a 100a 120
// Asynchronous copies: cp.async, cuda::pipeline, cuda::barrier, cooperative_groups::memcpy_async.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void group_copy(float *o, const float *a, int n)
{
    extern __shared__ float s[];
    auto block = cg::this_thread_block();
    float sum = 0;
    for (int t = 0; t < n; t += 256) {
        cg::memcpy_async(block, s, a + t, cuda::aligned_size_t<16>(1024));
        cg::wait(block);
        sum += s[block.thread_rank() ^ 1];
        block.sync();
    }
    o[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void staged(float *o, const float *a, int n)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
    __shared__ float s[3][256];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int t = 0, f = 0; t < n; t++) {
        for (; f < n && f < t + 3; f++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[f % 3], a + f * 256, cuda::aligned_size_t<16>(1024), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[t % 3][255 - threadIdx.x];
        pipe.consumer_release();
    }
    o[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void arrive_wait(float *o, const float *a, int n)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float s[256];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int i = 0; i < n; i++) {
        cuda::memcpy_async(s + threadIdx.x, a + i * 256 + threadIdx.x, sizeof(float), bar);
        bar.arrive_and_wait();
        o[i * 256 + threadIdx.x] = s[255 - threadIdx.x];
        auto token = bar.arrive();
        o[0] += 1;
        bar.wait(std::move(token));
    }
}
