#include "search/directions.h"

#include "util/error.h"
#include "util/mem.h"

#include <math.h>

/* Points of the simplex whose coordinates are multiples of 1/divisions: binomial(dimensions +
   divisions - 1, divisions), or limit + 1 when that is more. */
static size_t lattice_size(size_t dimensions, size_t divisions, size_t limit)
{
    size_t size = 1;
    for (size_t i = 1; i <= divisions; i++) {
        size = size * (dimensions - 1 + i) / i; /* exact: a binomial coefficient at every step */
        if (size > limit) {
            return limit + 1;
        }
    }
    return size;
}

static size_t most_divisions(size_t dimensions, size_t limit)
{
    size_t divisions = 0;
    while (divisions < limit && lattice_size(dimensions, divisions + 1, limit) <= limit) {
        divisions++;
    }
    return divisions;
}

/* Steps parts[] to the next composition of its sum in lexicographic order; false after the last. */
static bool next_composition(size_t *parts, size_t dimensions)
{
    size_t last = parts[dimensions - 1];
    parts[dimensions - 1] = 0;
    for (size_t i = dimensions - 1; i-- > 0;) {
        if (parts[i] > 0) {
            parts[i]--;
            parts[i + 1] = last + 1;
            return true;
        }
    }
    return false;
}

/* One layer: lattice points drawn towards the centre by `shrink`. Returns their number. */
static size_t lattice(double *out, size_t *parts, size_t dimensions, size_t divisions,
                      double shrink)
{
    size_t count = 0;
    for (size_t i = 0; i < dimensions; i++) {
        parts[i] = 0;
    }
    parts[0] = divisions;
    do {
        for (size_t i = 0; i < dimensions; i++) {
            double coordinate = (double)parts[i] / (double)divisions;
            *out++ = shrink * coordinate + (1 - shrink) / (double)dimensions;
        }
        count++;
    } while (next_composition(parts, dimensions));
    return count;
}

static void weigh(double *direction, size_t dimensions, const double *weights)
{
    double square = 0;
    for (size_t i = 0; i < dimensions; i++) {
        direction[i] /= weights[i];
        square += direction[i] * direction[i];
    }
    double length = sqrt(square);
    for (size_t i = 0; i < dimensions; i++) {
        direction[i] /= length;
    }
}

evocc_status directions_new(double **out, size_t *count, size_t dimensions, size_t wanted,
                            const double *weights, evocc_error *error)
{
    size_t outer = dimensions == 1 ? 1 : most_divisions(dimensions, wanted);
    outer = outer == 0 ? 1 : outer;
    size_t size = lattice_size(dimensions, outer, SIZE_MAX / 64);
    /* Fewer divisions than dimensions put every point on the border: a second layer fills the
     * middle. */
    size_t inner = 0;
    if (dimensions > 1 && outer < dimensions && wanted > size) {
        inner = most_divisions(dimensions, wanted - size);
        size += inner > 0 ? lattice_size(dimensions, inner, SIZE_MAX / 64) : 0;
    }
    double *points = mem_alloc(size, dimensions * sizeof *points);
    size_t *parts = mem_alloc(dimensions, sizeof *parts);
    if (points == NULL || parts == NULL) {
        mem_free(points);
        mem_free(parts);
        return error_no_memory(error);
    }
    size_t made = lattice(points, parts, dimensions, outer, 1);
    if (inner > 0) {
        made += lattice(points + made * dimensions, parts, dimensions, inner, 0.5);
    }
    mem_free(parts);
    for (size_t i = 0; i < made; i++) {
        weigh(points + i * dimensions, dimensions, weights);
    }
    *out = points;
    *count = made;
    return EVOCC_OK;
}
