/* Seven-point stencil marching along z with three planes in registers. */
extern "C" __global__ void stencil7(const float *__restrict__ x, float *__restrict__ out, int n,
                                    float a, float b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i == 0 || j == 0 || i >= n - 1 || j >= n - 1) {
        return;
    }
    size_t plane = (size_t)n * n;
    size_t at = (size_t)j * n + i;
    float below = x[at], centre = x[at + plane];
    for (int k = 1; k < n - 1; k++) {
        at += plane;
        float above = x[at + plane];
        float sum = x[at - 1] + x[at + 1] + x[at - n] + x[at + n] + below + above;
        out[at] = a * centre + b * sum;
        below = centre;
        centre = above;
    }
}
