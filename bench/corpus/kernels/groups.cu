// Cooperative groups: grids, tiles, coalesced groups, reduce, scan, labelled partitions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void grid_sum(double *o, const double *a, int n)
{
    auto grid = cg::this_grid();
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    double s = 0;
    for (long i = grid.thread_rank(); i < n; i += grid.size()) s += a[i];
    s = cg::reduce(tile, s, cg::plus<double>());
    if (tile.thread_rank() == 0) o[1 + grid.block_rank() * 32 + tile.meta_group_rank()] = s;
    grid.sync();
    if (grid.thread_rank() == 0) o[0] = o[1];
}
extern "C" __global__ void parts(int *o, const int *a)
{
    auto block = cg::this_thread_block();
    auto four = cg::tiled_partition<4>(block);
    int x = a[block.thread_rank()];
    x = cg::inclusive_scan(four, x, cg::less<int>()) + cg::exclusive_scan(four, x);
    if (x & 1) {
        auto active = cg::coalesced_threads();
        x += cg::reduce(active, x, cg::bit_xor<int>()) + active.shfl(x, 0);
        auto parts = cg::labeled_partition(active, x & 3);
        x += parts.size();
    }
    if (four.any(x > 3) && four.match_any(x)) x = four.shfl_down(x, 1);
    cg::invoke_one(block, [&] { o[1000] = x; });
    o[block.thread_rank()] = x;
}
