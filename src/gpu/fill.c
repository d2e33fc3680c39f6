#include "gpu/fill.h"

#include "gpu/npy.h"
#include "util/error.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

/* Elements are converted block by block, so that the conversion loop stays free of decisions. */
enum { BLOCK = 4096, QUANTILES = 1 << 14 };

/*
 * The normal quantile by Newton's steps from the logistic approximation; used for a table only.
 */
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

/* Normal values as the mid-point quantiles of 16384 equal shares: exact to the eye of any kernel,
   up to 4 standard deviations, and four of them a random word. The table is symmetric. */
static void make_normals(double *table)
{
    for (size_t i = 0; i < QUANTILES / 2; i++) {
        double z = normal_quantile(((double)i + 0.5) / QUANTILES);
        table[i] = z;
        table[QUANTILES - 1 - i] = -z;
    }
}

static void draw_normals(double *out, size_t count, const gpu_argument *a, const double *table,
                         rng *r)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        bits = i % 4 == 0 ? rng_next(r) : bits >> 16;
        out[i] = a->first + a->second * table[bits & (QUANTILES - 1)];
    }
}

static void draw_uniform(double *out, size_t count, const gpu_argument *a, rng *r)
{
    bool whole = !dtype_is_float(a->type);
    double width = a->second - a->first + (whole ? 1 : 0);
    for (size_t i = 0; i < count; i++) {
        double value = a->first + width * rng_unit(r);
        out[i] = whole ? floor(value) : value;
    }
}

static void draw(double *out, size_t begin, size_t count, const gpu_argument *a,
                 const double *table, rng *r)
{
    if (a->init == GPU_NORMAL) {
        draw_normals(out, count, a, table, r);
    } else if (a->init == GPU_UNIFORM) {
        draw_uniform(out, count, a, r);
    } else {
        for (size_t i = 0; i < count; i++) {
            out[i] = a->init == GPU_IOTA ? a->first + a->second * (double)(begin + i) : a->first;
        }
    }
}

static evocc_status fill_numbers(char *out, const gpu_argument *a, uint64_t seed, uint64_t stream,
                                 evocc_error *error)
{
    size_t size = dtype_bytes(a->type);
    double *block = mem_alloc(BLOCK, sizeof *block);
    double *table = a->init == GPU_NORMAL ? mem_alloc(QUANTILES, sizeof *table) : NULL;
    if (block == NULL || (a->init == GPU_NORMAL && table == NULL)) {
        mem_free(block);
        mem_free(table);
        return error_no_memory(error);
    }
    if (table != NULL) {
        make_normals(table);
    }
    rng r;
    rng_seed(&r, seed * UINT64_C(0x9e3779b97f4a7c15) + stream);
    for (uint64_t begin = 0; begin < a->elements; begin += BLOCK) {
        size_t count = a->elements - begin < BLOCK ? (size_t)(a->elements - begin) : BLOCK;
        draw(block, (size_t)begin, count, a, table, &r);
        for (size_t i = 0; i < count; i++) {
            dtype_write(a->type, out + (begin + i) * size, block[i]);
        }
    }
    mem_free(block);
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
    return fill_numbers(out, a, seed, stream, error);
}
