// archs: 80 90a 120
// Thrust: sorts, sets, transformations, searches over device vectors.
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/binary_search.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/execution_policy.h>
struct square { __device__ double operator()(double x) const { return x * x; } };
double work(double *a, int *b, int *c, int n)
{
    auto p = thrust::device;
    thrust::stable_sort_by_key(p, b, b + n, a);
    int *e = thrust::set_intersection(p, b, b + n, c, c + n, c + 2 * n);
    thrust::lower_bound(p, b, b + n, c, e, c);
    return thrust::transform_reduce(p, a, a + n, square(), 0.0, thrust::plus<double>()) + thrust::inner_product(p, a, a + n, a, 0.0);
}
