/* Text: words, digits and a hash of 64 bytes a thread; short conditions that become predicates. */
extern "C" __global__ void bytes(const unsigned char *__restrict__ text, unsigned *__restrict__ out,
                                 int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned char *p = text + (size_t)i * 64;
    unsigned words = 0, digits = 0, hash = 2166136261U;
    bool in_word = false;
    for (int k = 0; k < 64; k++) {
        unsigned char c = p[k];
        bool letter = (unsigned char)((c | 32) - 'a') < 26;
        if (c >= '0' && c <= '9') {
            digits++;
        }
        if (letter && !in_word) {
            words++;
        }
        if (c >= 'A' && c <= 'Z') {
            c += 32;
        } else if (c == 0) {
            hash ^= words;
        }
        in_word = letter;
        hash = (hash ^ c) * 16777619U;
    }
    out[i] = hash + words * 65536 + digits;
}
