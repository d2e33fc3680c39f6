/* A byte-code machine: a switch (brx.idx) in a loop, a small stack in local memory. */
extern "C" __global__ void interpreter(const unsigned char *__restrict__ code,
                                       const unsigned *__restrict__ x, unsigned *__restrict__ out,
                                       int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned stack[8] = {}, top = x[i];
    unsigned depth = 0;
    for (int pc = 0; pc < length; pc++) {
        switch (code[pc]) {
        case 0: top += 0x9e3779b9U; break;
        case 1: top ^= top << 13; break;
        case 2: top ^= top >> 17; break;
        case 3: stack[depth++ & 7] = top; break;
        case 4: top += stack[--depth & 7]; break;
        case 5: top = top * 5 + stack[depth & 7]; break;
        case 6: top = (top << 7) | (top >> 25); break;
        case 7: top = top > 0x80000000U ? ~top : top - 1; break;
        case 8: top %= 1000003U; break;
        case 9: pc += top & 1; break;
        case 10: top = __popc(top) * 0x01010101U ^ top; break;
        default: top ^= stack[top & 7]; break;
        }
    }
    out[i] = top ^ depth;
}
