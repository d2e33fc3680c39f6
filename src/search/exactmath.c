#include "search/exactmath.h"

#include <stdint.h>
#include <string.h>

static const double LN2_HIGH =
    0x1.62e42fefap-1; /* 37 bits: its product with an exponent is exact */
static const double LN2_LOW = 0x1.cf79abc9e3b39p-40;

/* x = m * 2^e with m in [0.5, 1), by the bits: no library call. */
static double split(double x, int *exponent)
{
    *exponent = 0;
    if (x < 0x1.0p-1022) { /* subnormal: scaled up exactly */
        x *= 0x1.0p54;
        *exponent = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *exponent += (int)(bits >> 52 & 0x7ff) - 1022;
    bits = (bits & UINT64_C(0x800fffffffffffff)) | UINT64_C(0x3fe0000000000000);
    memcpy(&x, &bits, sizeof x);
    return x;
}

double exact_log(double x)
{
    int e;
    double m = split(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    /* log m = 2 artanh s with |s| <= 0.1716; the first term left out is below 1e-18. */
    double s = (m - 1) / (m + 1);
    double square = s * s;
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2) {
        sum = sum * square + 1.0 / k;
    }
    return e * LN2_HIGH + (2 * s * sum + e * LN2_LOW);
}

static double power_of_two(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double exact_exp(double x)
{
    x = x > 700 ? 700 : x < -700 ? -700 : x;
    double scaled = x / (LN2_HIGH + LN2_LOW);
    int e = (int)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    double rest = (x - e * LN2_HIGH) - e * LN2_LOW; /* |rest| <= 0.35: 16 terms reach 1e-18 */
    double sum = 1;
    for (int k = 16; k >= 1; k--) {
        sum = 1 + sum * rest / k;
    }
    return sum * power_of_two(e);
}
