#include "gpu/fill.h"

#include "gpu/npy.h"
#include "util/error.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

/*
 * Random floating point is drawn from a table of 16384 encoded elements, the mid-point quantiles of
 * as many equal shares of the distribution: exact to the eye of any kernel (normal values reach 4
 * standard deviations), the same bytes on every machine, and four of them a random word, for large
 * buffers are filled anew in every fresh process.
 */
enum { SHARES = 1 << 14, ELEMENT_MAX = 8 };

/* Newton's steps from the logistic approximation. */
static double normal_quantile(double p)
{
    double z = log(p / (1 - p)) / 1.702;
    for (int i = 0; i < 40; i++) {
        double density = exp(-0.5 * z * z) / 2.5066282746310002;
        double step = (0.5 * erfc(-z / sqrt(2.0)) - p) / density;
        z -= step > 0.5 ? 0.5 : step < -0.5 ? -0.5 : step;
        if (fabs(step) < 1e-13) {
            break;
        }
    }
    return z;
}

/* The normal table is made symmetric, so that its mean is exact. */
static void make_table(char *table, const gpu_argument *a)
{
    size_t size = dtype_bytes(a->type);
    for (size_t i = 0; i < SHARES; i++) {
        double share = ((double)i + 0.5) / SHARES;
        double low = share < 0.5 ? share : 1 - share;
        double value = a->init == GPU_UNIFORM
                           ? a->first + (a->second - a->first) * share
                           : a->first + a->second * (share < 0.5 ? 1 : -1) * normal_quantile(low);
        dtype_write(a->type, table + i * size,
                    dtype_is_float(a->type) ? value : floor(value + 0.5));
    }
}

/* One function an element size, so that copies are single instructions. */
#define DEFINE_DRAW(bits)                                                                       \
    static void draw_##bits(char *out, uint64_t elements, const char *table, rng *r)            \
    {                                                                                           \
        uint64_t word = 0;                                                                      \
        for (uint64_t i = 0; i < elements; i++) {                                               \
            word = i % 4 == 0 ? rng_next(r) : word >> 16;                                       \
            memcpy(out + i * (bits / 8), table + (word & (SHARES - 1)) * (bits / 8), bits / 8); \
        }                                                                                       \
    }
DEFINE_DRAW(8)
DEFINE_DRAW(16)
DEFINE_DRAW(32)
DEFINE_DRAW(64)

static void draw_from_table(char *out, const gpu_argument *a, const char *table, rng *r)
{
    switch (dtype_bytes(a->type)) {
    case 1:
        draw_8(out, a->elements, table, r);
        break;
    case 2:
        draw_16(out, a->elements, table, r);
        break;
    case 4:
        draw_32(out, a->elements, table, r);
        break;
    default:
        draw_64(out, a->elements, table, r);
        break;
    }
}

/* Whole numbers, both ends included; normal ones are rounded. */
static void draw_integers(char *out, const gpu_argument *a, const char *table, rng *r)
{
    if (a->init == GPU_NORMAL) {
        draw_from_table(out, a, table, r);
        return;
    }
    double width = floor(a->second) - ceil(a->first) + 1;
    for (uint64_t i = 0; i < a->elements; i++) {
        dtype_write(a->type, out + i * dtype_bytes(a->type),
                    ceil(a->first) + floor(width * rng_unit(r)));
    }
}

/* Numbers that follow each other, or are all the same. */
static void count_up(char *out, const gpu_argument *a)
{
    size_t size = dtype_bytes(a->type);
    double step = a->init == GPU_IOTA ? a->second : 0;
    for (uint64_t i = 0; i < a->elements; i++) {
        if (step == 0 && i > 0) {
            memcpy(out + i * size, out, size);
        } else {
            dtype_write(a->type, out + i * size, a->first + step * (double)i);
        }
    }
}

static evocc_status draw(char *out, const gpu_argument *a, uint64_t seed, uint64_t stream,
                         evocc_error *error)
{
    rng r;
    char *table = mem_alloc(SHARES, ELEMENT_MAX);
    if (table == NULL) {
        return error_no_memory(error);
    }
    make_table(table, a);
    rng_seed(&r, seed * UINT64_C(0x9e3779b97f4a7c15) + stream);
    if (dtype_is_float(a->type)) {
        draw_from_table(out, a, table, &r);
    } else {
        draw_integers(out, a, table, &r);
    }
    mem_free(table);
    return EVOCC_OK;
}

evocc_status fill_buffer(void *out, const gpu_argument *argument, uint64_t seed, uint64_t stream,
                         evocc_error *error)
{
    const gpu_argument *a = argument;
    size_t bytes = (size_t)a->elements * dtype_bytes(a->type);
    if (a->init == GPU_ZEROS) {
        memset(out, 0, bytes);
        return EVOCC_OK;
    }
    if (a->init == GPU_FILE) {
        void *data;
        evocc_status status = npy_read(&data, a->file, a->type, a->elements, error);
        if (status == EVOCC_OK) {
            memcpy(out, data, bytes);
            mem_free(data);
        }
        return status;
    }
    if (a->init == GPU_NORMAL || a->init == GPU_UNIFORM) {
        return draw(out, a, seed, stream, error);
    }
    count_up(out, a);
    return EVOCC_OK;
}
