/*
 * smsemoa.c: survival by hypervolume: of the last front, those go first whose absence costs least.
 * Source: N. Beume, B. Naujoks, M. Emmerich, "SMS-EMOA: multiobjective selection based on dominated
 * hypervolume", EJOR 181(3), 2007.
 *
 * Values are scaled to the front's own range, the reference point lies 1.1 ranges beyond the best.
 * Costs about n^objectives: for metrics that take longer to measure.
 */
#include "search/hypervolume.h"
#include "search/ranking.h"
#include "util/error.h"
#include "util/mem.h"

#include <float.h>

enum { OBJECTIVES_MOST = 4 };

typedef struct smsemoa {
    size_t dimensions;
    double *points; /* of the last front, scaled */
    size_t *volume_scratch;
    individual **scratch;
} smsemoa;

static void destroy(void *state)
{
    smsemoa *s = state;
    if (s != NULL) {
        mem_free(s->points);
        mem_free(s->volume_scratch);
        mem_free(s->scratch);
        mem_free(s);
    }
}

static evocc_status create(void **state, const ranking_setup *setup, evocc_error *error)
{
    smsemoa *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    size_t n = setup->candidates;
    s->dimensions = setup->objective_count;
    s->points = mem_alloc(n, s->dimensions * sizeof *s->points);
    s->volume_scratch = mem_alloc(hypervolume_scratch(n, s->dimensions), sizeof(size_t));
    s->scratch = mem_alloc(n, sizeof(individual *));
    if (s->points == NULL || s->volume_scratch == NULL || s->scratch == NULL) {
        destroy(s);
        return error_no_memory(error);
    }
    *state = s;
    return EVOCC_OK;
}

static void scale_points(smsemoa *s, individual *const *items, size_t count)
{
    for (size_t m = 0; m < s->dimensions; m++) {
        double low = DBL_MAX;
        double high = -DBL_MAX;
        for (size_t i = 0; i < count; i++) {
            low = items[i]->values[m] < low ? items[i]->values[m] : low;
            high = items[i]->values[m] > high ? items[i]->values[m] : high;
        }
        double range = high - low;
        range = range > 0 && range <= DBL_MAX ? range : 1;
        for (size_t i = 0; i < count; i++) {
            s->points[i * s->dimensions + m] = (items[i]->values[m] - low) / range;
        }
    }
}

static void swap_rows(smsemoa *s, individual **items, size_t a, size_t b)
{
    individual *one = items[a];
    items[a] = items[b];
    items[b] = one;
    for (size_t m = 0; m < s->dimensions; m++) {
        double x = s->points[a * s->dimensions + m];
        s->points[a * s->dimensions + m] = s->points[b * s->dimensions + m];
        s->points[b * s->dimensions + m] = x;
    }
}

/* The one whose absence leaves the largest volume goes to the end. */
static void move_least_last(smsemoa *s, individual **items, size_t count, const double *reference)
{
    size_t last = count - 1;
    size_t least = 0;
    double most_left = -1;
    for (size_t i = 0; i < count; i++) {
        swap_rows(s, items, i, last);
        double left = hypervolume(s->points, last, s->dimensions, reference, s->volume_scratch);
        swap_rows(s, items, i, last);
        if (left > most_left) {
            most_left = left;
            least = i;
        }
    }
    swap_rows(s, items, least, last);
}

static void survive(void *state, individual **items, size_t count, size_t keep, rng *r)
{
    smsemoa *s = state;
    (void)r;
    non_dominated_sort(items, count, s->dimensions, s->scratch);
    if (count <= keep) {
        return;
    }
    size_t start = keep;
    while (start > 0 && items[start - 1]->front == items[keep]->front) {
        start--;
    }
    size_t end = keep;
    while (end < count && items[end]->front == items[keep]->front) {
        end++;
    }
    double reference[OBJECTIVES_MOST] = {1.1, 1.1, 1.1, 1.1};
    scale_points(s, items + start, end - start);
    for (; end > keep; end--) {
        move_least_last(s, items + start, end - start, reference);
    }
}

static bool better(const individual *a, const individual *b, rng *r)
{
    bool toss = rng_chance(r, 0.5);
    if (a->violation < b->violation || a->violation > b->violation) {
        return a->violation < b->violation;
    }
    return a->front != b->front ? a->front < b->front : toss;
}

const ranking ranking_smsemoa = {"smsemoa", 2, OBJECTIVES_MOST, create, destroy, survive, better};
