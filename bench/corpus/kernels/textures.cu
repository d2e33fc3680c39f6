// Textures and surfaces, bound and by object, layered, cube, gathered, with gradients.
#include <cuda_runtime.h>
extern "C" __global__ void sample(float4 *o, cudaTextureObject_t t, cudaTextureObject_t u, cudaSurfaceObject_t s, int n)
{
    int i = threadIdx.x, j = blockIdx.x;
    float4 a = tex2D<float4>(t, i + .5f, j + .5f), b = tex3D<float4>(u, i, j, 1.f);
    float4 c = tex2Dgather<float4>(t, i, j, 1), d = tex2DLod<float4>(t, i, j, 2.f);
    float4 e = tex2DGrad<float4>(t, i, j, make_float2(1, 0), make_float2(0, 1));
    float f = tex1Dfetch<float>(u, i), g = tex2DLayered<float>(t, i, j, 3), h = texCubemap<float>(u, 1, 2, 3);
    uchar4 k;
    surf2Dread(&k, s, i * 4, j);
    k.x += 1;
    surf2Dwrite(k, s, i * 4, j, cudaBoundaryModeClamp);
    o[j * n + i] = make_float4(a.x + b.y, c.z + d.w, e.x + f, g + h + k.y);
}
extern "C" __global__ void blur(float *o, cudaTextureObject_t t, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
#pragma unroll
    for (int dy = -3; dy <= 3; dy++)
#pragma unroll
        for (int dx = -3; dx <= 3; dx++) s += tex2D<float>(t, x + dx, y + dy) * __expf(-.1f * (dx * dx + dy * dy));
    if (x < w && y < h) o[y * w + x] = s;
}
