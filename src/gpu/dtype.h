/*
 * dtype.h: the element types of buffers and scalars, and their encoding. Numbers pass through
 * double, which holds every type exactly but the 64-bit integers beyond 2^53; these are kept whole
 * where it matters (scalars, comparison bit for bit).
 *
 * f16: IEEE 754 binary16. bf16: the upper half of binary32. e4m3, e5m2: OCP 8-bit floating point
 * (OFP8 1.0, section 5): e4m3 has no infinity, one NaN (0x7f), largest 448; what is too large
 * becomes the largest, as cvt.satfinite does. Rounding is to nearest, ties to even.
 */
#ifndef GPU_DTYPE_H
#define GPU_DTYPE_H

#include <evocc/evocc.h>

typedef enum dtype {
    DTYPE_I8,
    DTYPE_U8,
    DTYPE_I16,
    DTYPE_U16,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_I64,
    DTYPE_U64,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_E4M3,
    DTYPE_E5M2
} dtype;
#define DTYPE_COUNT 14

const char *dtype_name(dtype type); /* "bf16" */
bool dtype_parse(dtype *out, const char *name);
size_t dtype_bytes(dtype type);
bool dtype_is_float(dtype type);

double dtype_read(dtype type, const void *element);
/* Out of range: integers take the nearest end, floating point goes to infinity where there is one.
 */
void dtype_write(dtype type, void *element, double value);

/* A scalar's text exactly, 64-bit integers included; false when it is no value of the type. */
bool dtype_write_text(dtype type, void *element, const char *text);

#endif
