/*
 * npy.h: NumPy's file format, versions 1.0 to 3.0 (NEP 1; numpy.lib.format). Strict: little-endian
 * or single-byte elements, C order, nothing behind the data. bf16, e4m3 and e5m2, which NumPy
 * lacks, are kept in its integers of the same size ('<u2', '|u1').
 */
#ifndef GPU_NPY_H
#define GPU_NPY_H

#include "gpu/dtype.h"

enum { NPY_DIMENSIONS = 8 };

typedef struct npy_shape {
    uint64_t extents[NPY_DIMENSIONS];
    size_t count; /* 0: a single element */
    uint64_t elements;
} npy_shape;

/* Reads the elements of a file as `type`, of which there must be exactly `elements`; *out is
   mem_freed by the caller. EVOCC_PARSE names the file and what is wrong with it. */
evocc_status npy_read(void **out, const char *path, dtype type, uint64_t elements,
                      evocc_error *error);

/* The type and shape alone. */
evocc_status npy_read_header(dtype *type, npy_shape *shape, const char *path, evocc_error *error);

/* Writes version 1.0. */
evocc_status npy_write(const char *path, dtype type, const npy_shape *shape, const void *data,
                       evocc_error *error);

#endif
