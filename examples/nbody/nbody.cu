// Accelerations of n bodies under their gravity, all pairs, fp32, softened. Bodies pass through shared
// memory in tiles of a block's size; each thread sums for BODIES bodies. n is a multiple of THREADS *
// BODIES.
#ifndef THREADS
#define THREADS 256
#endif
#ifndef BODIES
#define BODIES 2
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    nbody(const float4 *__restrict__ bodies, float4 *__restrict__ accelerations, int n,
          float softening)
{
    __shared__ float4 tile[THREADS];
    float4 own[BODIES];
    float ax[BODIES] = {}, ay[BODIES] = {}, az[BODIES] = {};
    const int first = blockIdx.x * THREADS * BODIES + threadIdx.x;
#pragma unroll
    for (int b = 0; b < BODIES; b++) {
        own[b] = bodies[first + b * THREADS];
    }
    for (int j = 0; j < n; j += THREADS) {
        tile[threadIdx.x] = bodies[j + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < THREADS; i++) {
            float4 other = tile[i];
#pragma unroll
            for (int b = 0; b < BODIES; b++) {
                float dx = other.x - own[b].x, dy = other.y - own[b].y, dz = other.z - own[b].z;
                float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
                float pull = other.w * inverse * inverse * inverse;
                ax[b] += dx * pull;
                ay[b] += dy * pull;
                az[b] += dz * pull;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int b = 0; b < BODIES; b++) {
        accelerations[first + b * THREADS] = make_float4(ax[b], ay[b], az[b], 0);
    }
}
