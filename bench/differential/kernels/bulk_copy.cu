/* Tiles through the bulk copy engine: two stages, an mbarrier each, results stored in bulk. */
static __device__ unsigned address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ void wait(unsigned barrier, unsigned phase)
{
    asm volatile("{\n.reg .pred done;\nAGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni END;\nbra.uni AGAIN;\nEND:\n}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}

extern "C" __global__ void __launch_bounds__(256)
    bulk_copy(const float *__restrict__ x, float *__restrict__ out, int tiles, float factor)
{
    __shared__ __align__(128) float in[2][1024], result[2][1024];
    __shared__ __align__(8) unsigned long long barriers[2];
    size_t base = (size_t)blockIdx.x * tiles * 1024;
    auto fetch = [&](int t) {
        unsigned bar = address(&barriers[t % 2]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(bar)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], 4096, [%2];" ::"r"(address(in[t % 2])),
                     "l"(x + base + (size_t)t * 1024), "r"(bar)
                     : "memory");
    };
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&barriers[0])));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&barriers[1])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        fetch(0);
    }
    for (int t = 0; t < tiles; t++) {
        if (threadIdx.x == 0) {
            if (t + 1 < tiles) {
                fetch(t + 1);
            }
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        }
        wait(address(&barriers[t % 2]), t / 2 % 2);
        __syncthreads(); /* the store of two tiles ago has been read */
        for (int i = threadIdx.x; i < 1024; i += 256) {
            float left = in[t % 2][i], right = in[t % 2][1023 - i];
            result[t % 2][i] = left * factor + right;
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;" ::"l"(
                             out + base + (size_t)t * 1024),
                         "r"(address(result[t % 2]))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
