// archs: 100a 103a
// Blackwell's fifth-generation tensor core: tensor memory, tcgen05, its fences and loads.
#include <stdint.h>
extern "C" __global__ void __launch_bounds__(128) fifth(uint32_t *o, uint64_t a, uint64_t b, uint32_t kind, int steps)
{
    __shared__ uint32_t base;
    __shared__ alignas(8) uint64_t bar;
    uint32_t at = (uint32_t)__cvta_generic_to_shared(&base), m = (uint32_t)__cvta_generic_to_shared(&bar);
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(at) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(m) : "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    uint32_t t = base;
    for (int i = 0; i < steps; i++) {
        if (threadIdx.x == 0) {
            asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n\t}"
                         ::"r"(t), "l"(a + i * 16), "l"(b + i * 16), "r"(kind), "r"(i) : "memory");
            asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(m) : "memory");
        }
        asm volatile("{\n\t.reg .pred p;\nL:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@p bra D;\n\tbra L;\nD:\n\t}" ::"r"(m), "r"(i & 1) : "memory");
    }
    uint32_t r[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];\n\ttcgen05.wait::ld.sync.aligned;"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(t) : "memory");
    for (int i = 0; i < 8; i++) o[threadIdx.x * 8 + i] = r[i] + 1;
    asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1,%2};\n\ttcgen05.wait::st.sync.aligned;" ::"r"(t), "r"(r[0]), "r"(r[1]) : "memory");
    __syncthreads();
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(t));
}
