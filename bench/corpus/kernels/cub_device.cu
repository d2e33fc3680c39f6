// archs: 75 90a 100a 120
// CUB over a device: sorts, scans, selections, run lengths, histograms, segmented reductions.
#include <cub/cub.cuh>
struct odd { __device__ bool operator()(int x) const { return x & 1; } };
void sorts(void *t, size_t &b, unsigned *k, unsigned *l, float *v, float *w, int n)
{
    cub::DeviceRadixSort::SortPairs(t, b, k, l, v, w, n);
    cub::DeviceMergeSort::SortKeys(t, b, k, n, cuda::std::less<>());
    cub::DeviceSegmentedSort::SortKeys(t, b, k, l, n, 8, (int *)v, (int *)w);
}
void scans(void *t, size_t &b, int *k, int *l, int *c, int n)
{
    cub::DeviceScan::ExclusiveSum(t, b, k, l, n);
    cub::DeviceScan::InclusiveScan(t, b, k, l, cuda::maximum<>(), n);
    cub::DeviceSelect::If(t, b, k, l, c, n, odd());
    cub::DeviceSelect::Unique(t, b, k, l, c, n);
    cub::DevicePartition::If(t, b, k, l, c, n, odd());
    cub::DeviceRunLengthEncode::Encode(t, b, k, l, c, c + 1, n);
    cub::DeviceReduce::ReduceByKey(t, b, k, l, k, c, c + 1, cuda::std::plus<>(), n);
}
void reductions(void *t, size_t &b, double *k, double *l, int *c, float *f, int n)
{
    cub::DeviceReduce::Sum(t, b, k, l, n);
    cub::DeviceReduce::ArgMin(t, b, f, f + 1, (long long *)c, n);
    cub::DeviceSegmentedReduce::Max(t, b, k, l, n, c, c + 1);
    cub::DeviceHistogram::HistogramEven(t, b, f, c, 257, 0.f, 1.f, n);
}
