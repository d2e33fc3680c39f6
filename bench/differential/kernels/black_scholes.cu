/* Option prices: log, exp, square root, division, a polynomial. */
static __device__ float normal(float d)
{
    float k = 1.F / (1.F + 0.2316419F * fabsf(d));
    float p = k * (0.319381530F +
                   k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
    float c = 0.39894228F * expf(-0.5F * d * d) * p;
    return d > 0 ? 1.F - c : c;
}

extern "C" __global__ void black_scholes(const float *__restrict__ price,
                                         const float *__restrict__ strike,
                                         const float *__restrict__ years, float *__restrict__ call,
                                         float *__restrict__ put, int n, float rate, float vol)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5F * vol * vol) * t) / (vol * root);
    float d2 = d1 - vol * root;
    float n1 = normal(d1), n2 = normal(d2), discount = expf(-rate * t);
    call[i] = s * n1 - x * discount * n2;
    put[i] = x * discount * (1.F - n2) - s * (1.F - n1);
}
