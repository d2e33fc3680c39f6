/* Column sums over a cluster of four blocks through distributed shared memory. */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void cluster_sum(const float *__restrict__ x, float *__restrict__ out,
                                       int rows)
{
    __shared__ float partial[256];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    size_t base = (size_t)blockIdx.x / 4 * 4 * rows * 256;
    for (int turn = 0; turn < 4; turn++) {
        float sum = 0;
        for (int r = (int)rank; r < rows; r += 4) {
            sum += x[base + ((size_t)turn * rows + r) * 256 + threadIdx.x];
        }
        partial[threadIdx.x] = sum;
        cluster.sync();
        if (rank == (unsigned)turn) {
            float all = 0;
            for (unsigned b = 0; b < 4; b++) {
                all += *cluster.map_shared_rank(&partial[threadIdx.x], b);
            }
            out[(size_t)blockIdx.x * 256 + threadIdx.x] = all;
        }
        cluster.sync();
    }
}
