/* Double precision: Newton's iteration for cube roots, with divisions. */
extern "C" __global__ void newton_f64(const double *__restrict__ x, double *__restrict__ out,
                                      int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double a = x[i], r = 1.0 + 0.3 * a;
    for (int k = 0; k < rounds; k++) {
        r = r - (r * r * r - a) / (3.0 * r * r);
    }
    out[i] = r;
}
