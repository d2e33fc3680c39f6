// archs: 75 80 89 90a 100a 120a
// libcu++: complex, tuples, optional, spans, bit, charconv-like loops, complex division, time.
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
extern "C" __global__ void complexes(cuda::std::complex<float> *o, const cuda::std::complex<float> *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = exp(a[i]) / sqrt(a[i + n]) + pow(a[i], a[i + n]) * conj(a[i]);
}
extern "C" __global__ void values(int *o, const float *a, int n)
{
    cuda::std::mdspan<const float, cuda::std::extents<int, cuda::std::dynamic_extent, 4>> m(a, n);
    cuda::std::optional<int> x;
    if (a[threadIdx.x] > 0) x = (int)m(threadIdx.x, 2);
    cuda::std::variant<int, float> v = a[1];
    if (n > 3) v = 7;
    cuda::std::array<int, 6> t = {1, 2, 3, 4, 5, 6};
    auto s = cuda::std::visit([](auto y) { return (int)y; }, v);
    o[threadIdx.x] = x.value_or(t[n % 6]) + s + cuda::std::popcount((unsigned)n) + cuda::std::bit_cast<int>(a[0]);
}
