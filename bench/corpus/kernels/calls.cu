// variants: plain lineinfo debug rdc
// Calls: printf, assert, recursion, function pointers, virtual functions, alloca, jump tables, malloc.
#include <assert.h>
#include <stdio.h>
__device__ __noinline__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
struct pair { double a; int b[5]; };
__device__ __noinline__ pair make(pair p, float4 f) { p.a += f.x * f.w; p.b[2] = (int)f.y; return p; }
__device__ int (*table[])(int) = {twice, square};
struct shape { __device__ virtual float area() const = 0; };
struct circle : shape { float r; __device__ float area() const override { return 3.14f * r * r; } };
struct box : shape { float w, h; __device__ float area() const override { return w * h; } };
extern "C" __global__ void recursion(int *o, int n) { o[threadIdx.x] = ackermann(2, n) + ackermann(1, threadIdx.x); }
extern "C" __global__ void pointers(int *o, int k)
{
    int (*f)(int) = table[k & 1];
    o[threadIdx.x] = f(o[threadIdx.x]) + table[threadIdx.x & 1](3);
    pair p = {1.0, {1, 2, 3, 4, 5}};
    p = make(p, make_float4(1, 2, 3, 4));
    o[1000] = (int)p.a + p.b[k];
}
extern "C" __global__ void objects(float *o, int k)
{
    shape *s;
    if (k & 1) { circle *c = new circle; c->r = k; s = c; } else { box *b = new box; b->w = k; b->h = 2; s = b; }
    o[threadIdx.x] = s->area();
    delete s;
}
extern "C" __global__ void speak(const int *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n && "too many threads");
    if (a[i] < 0) printf("element %d of %d is %d (%f)\n", i, n, a[i], a[i] * .5);
    char *p = (char *)malloc(a[i]);
    if (p == nullptr) __trap();
    p[0] = 1;
    free(p);
}
extern "C" __global__ void jump(int *o, const int *op, int n)
{
    int acc = 0, stack[16], top = 0;
    for (int i = 0; i < n; i++)
        switch (op[i] & 15) {
        case 0: acc += 1; break;
        case 1: acc *= 3; break;
        case 2: stack[top++ & 15] = acc; break;
        case 3: acc = stack[--top & 15]; break;
        case 4: acc ^= o[acc & 63]; break;
        case 5: acc = -acc; break;
        case 6: acc >>= 1; break;
        case 7: if (acc < 0) i -= 2; break;
        case 8: o[acc & 63] = acc; break;
        case 9: __syncthreads(); break;
        case 10: acc = __clz(acc); break;
        default: acc += op[i]; break;
        }
    o[64 + threadIdx.x] = acc;
}
extern "C" __global__ void stack(int *o, int n)
{
    int *p = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++) p[i] = i * o[i];
    int local[64];
    for (int i = 0; i < 64; i++) local[i] = o[i];
    o[0] = p[o[1]] + local[o[2] & 63];
}
