/* Lattice Boltzmann, D2Q9, pull scheme on a torus: many streams, much arithmetic, one division. */
extern "C" __global__ void lbm_d2q9(const float *__restrict__ f, float *__restrict__ out, int width,
                                    int height, float omega)
{
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float weight[9] = {4 / 9.F,  1 / 9.F,  1 / 9.F,  1 / 9.F, 1 / 9.F,
                             1 / 36.F, 1 / 36.F, 1 / 36.F, 1 / 36.F};
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    size_t plane = (size_t)width * height;
    float p[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        int sx = (x - cx[k] + width) % width, sy = (y - cy[k] + height) % height;
        p[k] = f[k * plane + (size_t)sy * width + sx];
        rho += p[k];
        ux += cx[k] * p[k];
        uy += cy[k] * p[k];
    }
    ux /= rho;
    uy /= rho;
    float square = 1.5F * (ux * ux + uy * uy);
#pragma unroll
    for (int k = 0; k < 9; k++) {
        float cu = 3.F * (cx[k] * ux + cy[k] * uy);
        float balance = weight[k] * rho * (1.F + cu + 0.5F * cu * cu - square);
        out[k * plane + (size_t)y * width + x] = p[k] + omega * (balance - p[k]);
    }
}
