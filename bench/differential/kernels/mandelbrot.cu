/* Iterations until escape: a divergent loop of fused multiply-adds. */
extern "C" __global__ void mandelbrot(const float *__restrict__ shift, int *__restrict__ out,
                                      int width, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float cr = -2.2F + 3.F * x / width + 1e-3F * shift[x];
    float ci = -1.5F + 3.F * y / width + 1e-3F * shift[y];
    float a = 0, b = 0;
    int k = 0;
    while (k < limit && a * a + b * b < 4.F) {
        float t = a * a - b * b + cr;
        b = 2.F * a * b + ci;
        a = t;
        k++;
    }
    out[(size_t)y * width + x] = k;
}
