// archs: 90 90a 100 100a 103 120 120a
// Hopper and later: tensor maps, mbarrier, bulk copies, clusters, distributed shared memory, wgmma.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_bf16.h>
#include <stdint.h>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
extern "C" __global__ void __cluster_dims__(2, 1, 1) distributed(int *bins, const int *in, int n)
{
    __shared__ int s[256];
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int b = in[i] & 511;
        int *far = cluster.map_shared_rank(s, b >> 8);
        atomicAdd(far + (b & 255), 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(bins + cluster.block_rank() * 256 + i, s[i]);
}
extern "C" __global__ void tensor(const __grid_constant__ CUtensorMap map, float *o, int steps)
{
    __shared__ alignas(128) float s[2][32][32];
    __shared__ alignas(8) uint64_t bar[2];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar[0], 1);
        ptx::mbarrier_init(&bar[1], 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < steps; i++) {
        int32_t at[2] = {i * 32, (int)blockIdx.x * 32};
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &s[i & 1], &map, at, &bar[i & 1]);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar[i & 1], 4096);
        }
        while (!ptx::mbarrier_try_wait_parity(&bar[i & 1], (i >> 1) & 1)) {}
        sum += s[i & 1][threadIdx.x / 32][threadIdx.x % 32];
        s[i & 1][threadIdx.x / 32][threadIdx.x % 32] = sum;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, &s[i & 1]);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
    o[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void bulk(int *o, const int *a)
{
    __shared__ alignas(16) int s[1024];
    __shared__ alignas(8) uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, a, 4096, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 4096);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    s[threadIdx.x] += 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, o, s, 4096);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    unsigned chosen;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, -1;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(chosen));
    if (chosen) o[5000] = ptx::get_sreg_cluster_ctarank();
}
extern "C" __global__ void dependent(int *o, const int *a)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    o[threadIdx.x] = a[threadIdx.x] * 2;
    asm volatile("griddepcontrol.launch_dependents;");
}
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
extern "C" __global__ void __launch_bounds__(384) specialised(float *o, const __nv_bfloat16 *a, int steps)
{
    __shared__ alignas(128) __nv_bfloat16 s[2][64 * 64];
    float d[32] = {};
    if (threadIdx.x >= 256) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int i = 0; i < steps; i++)
            for (int j = threadIdx.x - 256; j < 4096; j += 128) s[i & 1][j] = a[i * 4096 + j];
        asm volatile("bar.arrive 1, 384;" ::: "memory");
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        asm volatile("bar.sync 1, 384;" ::: "memory");
        uint64_t x = ((uint64_t)__cvta_generic_to_shared(s[0]) & 0x3ffff) >> 4 | (uint64_t)1 << 62;
        uint64_t y = ((uint64_t)__cvta_generic_to_shared(s[1]) & 0x3ffff) >> 4 | (uint64_t)1 << 62;
        for (int i = 0; i < steps; i++) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
                         "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0;\n\t}"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                           "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                           "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                           "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                         : "l"(x), "l"(y), "r"(i));
            asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
        }
        for (int i = 0; i < 32; i++) o[threadIdx.x * 32 + i] = d[i] * 1.5f;
    }
}
#endif
