#include "gpu/dtype.h"

#include "util/text.h"

#include <math.h>
#include <string.h>

typedef struct dtype_info {
    const char *name;
    unsigned char bytes;
    /* Of floating point: mantissa bits, exponent bits. Of integers: 0. */
    unsigned char mantissa, exponent;
    bool is_signed;
} dtype_info;

static const dtype_info infos[DTYPE_COUNT] = {
    [DTYPE_I8] = {"i8", 1, 0, 0, true},     [DTYPE_U8] = {"u8", 1, 0, 0, false},
    [DTYPE_I16] = {"i16", 2, 0, 0, true},   [DTYPE_U16] = {"u16", 2, 0, 0, false},
    [DTYPE_I32] = {"i32", 4, 0, 0, true},   [DTYPE_U32] = {"u32", 4, 0, 0, false},
    [DTYPE_I64] = {"i64", 8, 0, 0, true},   [DTYPE_U64] = {"u64", 8, 0, 0, false},
    [DTYPE_F16] = {"f16", 2, 10, 5, true},  [DTYPE_BF16] = {"bf16", 2, 7, 8, true},
    [DTYPE_F32] = {"f32", 4, 23, 8, true},  [DTYPE_F64] = {"f64", 8, 52, 11, true},
    [DTYPE_E4M3] = {"e4m3", 1, 3, 4, true}, [DTYPE_E5M2] = {"e5m2", 1, 2, 5, true},
};

const char *dtype_name(dtype type)
{
    return infos[type].name;
}

bool dtype_parse(dtype *out, const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            *out = (dtype)i;
            return true;
        }
    }
    return false;
}

size_t dtype_bytes(dtype type)
{
    return infos[type].bytes;
}

bool dtype_is_float(dtype type)
{
    return infos[type].exponent > 0;
}

/* ---- Small floating point -------------------------------------------------------------------- */

static double small_read(dtype type, uint32_t bits)
{
    int mantissa = infos[type].mantissa;
    int exponent = infos[type].exponent;
    int bias = (1 << (exponent - 1)) - 1;
    uint32_t fraction = bits & ((1U << mantissa) - 1);
    int power = (int)(bits >> mantissa) & ((1 << exponent) - 1);
    double sign = (bits >> (mantissa + exponent)) != 0 ? -1 : 1;
    if (type == DTYPE_E4M3) {
        if ((bits & 0x7f) == 0x7f) {
            return (double)NAN;
        }
    } else if (power == (1 << exponent) - 1) {
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    double significand = power == 0 ? fraction : fraction + (double)(1U << mantissa);
    return sign * ldexp(significand, (power == 0 ? 1 : power) - bias - mantissa);
}

/* The magnitude counted in units of the last place at its exponent; carrying over into the next
   exponent is then plain addition of the fields. */
static uint32_t small_bits(dtype type, double value)
{
    int mantissa = infos[type].mantissa;
    int exponent = infos[type].exponent;
    int bias = (1 << (exponent - 1)) - 1;
    uint32_t sign = signbit(value) ? 1U << (mantissa + exponent) : 0;
    uint32_t infinity = ((1U << exponent) - 1) << mantissa;
    uint32_t largest = type == DTYPE_E4M3 ? 0x7e : infinity - 1;
    uint32_t beyond = infos[type].bytes == 1 ? largest : infinity;
    if (isnan(value)) {
        return sign | (type == DTYPE_E4M3 ? 0x7fU : infinity | (1U << (mantissa - 1)));
    }
    if (isinf(value)) {
        return sign | (type == DTYPE_E4M3 ? largest : infinity);
    }
    double magnitude = fabs(value);
    int power;
    (void)frexp(magnitude, &power);
    int field = magnitude > 0 ? power - 1 + bias : 0;
    field = field < 0 ? 0 : field; /* 0 and 1 share a unit: subnormal and smallest normal */
    double unit = ldexp(1, (field == 0 ? 1 : field) - bias - mantissa);
    double units = nearbyint(magnitude / unit); /* the default mode: to nearest, ties to even */
    if (field > (1 << exponent)) {
        return sign | beyond;
    }
    uint32_t bits =
        field == 0 ? (uint32_t)units : ((uint32_t)(field - 1) << mantissa) + (uint32_t)units;
    return sign | (bits > largest ? beyond : bits);
}

/* ---- Elements -------------------------------------------------------------------------------- */

double dtype_read(dtype type, const void *element)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } v;
    memcpy(&v, element, infos[type].bytes);
    switch (type) {
    case DTYPE_I8:
        return v.i8;
    case DTYPE_U8:
        return v.u8;
    case DTYPE_I16:
        return v.i16;
    case DTYPE_U16:
        return v.u16;
    case DTYPE_I32:
        return v.i32;
    case DTYPE_U32:
        return v.u32;
    case DTYPE_I64:
        return (double)v.i64;
    case DTYPE_U64:
        return (double)v.u64;
    case DTYPE_F32:
        return (double)v.f32;
    case DTYPE_F64:
        return v.f64;
    case DTYPE_F16:
    case DTYPE_BF16:
        return small_read(type, v.u16);
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return small_read(type, v.u8);
    }
    return (double)NAN;
}

static void write_integer(dtype type, void *element, double value)
{
    int bits = 8 * infos[type].bytes;
    double low = infos[type].is_signed ? -ldexp(1, bits - 1) : 0;
    double beyond = ldexp(1, infos[type].is_signed ? bits - 1 : bits);
    uint64_t whole;
    if (!(value > low)) { /* NaN, too */
        whole = infos[type].is_signed ? (uint64_t)1 << (bits - 1) : 0;
        whole = isnan(value) ? 0 : whole;
    } else if (value >= beyond) {
        whole = infos[type].is_signed ? ((uint64_t)1 << (bits - 1)) - 1 : UINT64_MAX;
    } else {
        whole = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    }
    memcpy(element, &whole, infos[type].bytes); /* little-endian, as is every host of a GPU */
}

void dtype_write(dtype type, void *element, double value)
{
    if (!dtype_is_float(type)) {
        write_integer(type, element, value);
    } else if (type == DTYPE_F64) {
        memcpy(element, &value, sizeof value);
    } else if (type == DTYPE_F32) {
        float single = (float)value;
        memcpy(element, &single, sizeof single);
    } else {
        uint32_t bits = small_bits(type, value);
        memcpy(element, &bits, infos[type].bytes);
    }
}

bool dtype_write_text(dtype type, void *element, const char *text)
{
    double value;
    int64_t whole;
    if (dtype_is_float(type)) {
        if (!text_number(&value, text)) {
            return false;
        }
        dtype_write(type, element, value);
        return true;
    }
    if (text_integer(&whole, text)) {
        dtype_write(type, element, (double)whole);
        if (infos[type].bytes == 8 && (infos[type].is_signed || whole >= 0)) {
            memcpy(element, &whole, sizeof whole); /* beyond 2^53, too */
            return true;
        }
        return dtype_read(type, element) == (double)whole; /* in range */
    }
    return false;
}
