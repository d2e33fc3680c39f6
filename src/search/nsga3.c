/*
 * nsga3.c: survival with several objectives.
 * Sources: K. Deb, H. Jain, "An evolutionary many-objective optimization algorithm using
 * reference-point-based nondominated sorting approach, part I", IEEE TEVC 18(4), 2014; the
 * tournament: H. Seada, K. Deb, "U-NSGA-III", EMO 2015; keeping extreme points: J. Blank, K. Deb,
 * P. Roy, "Investigating the normalization procedure of NSGA-III", EMO 2019.
 */
#include "search/directions.h"
#include "search/ranking.h"
#include "util/error.h"
#include "util/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct nsga3 {
    size_t dimensions;
    double *directions; /* unit vectors */
    size_t direction_count;
    double *ideal;    /* least value of each objective seen so far */
    double *extremes; /* one point per axis, dimensions numbers each */
    bool *extreme_known;
    double *range;  /* estimated nadir minus ideal */
    double *system; /* dimensions * (dimensions + 1): the hyperplane's equations */
    double *point;
    size_t *niche_counts;
    individual **scratch;
} nsga3;

static void destroy(void *state)
{
    nsga3 *s = state;
    if (s == NULL) {
        return;
    }
    mem_free(s->directions);
    mem_free(s->ideal);
    mem_free(s->extremes);
    mem_free(s->extreme_known);
    mem_free(s->range);
    mem_free(s->system);
    mem_free(s->point);
    mem_free(s->niche_counts);
    mem_free(s->scratch);
    mem_free(s);
}

static evocc_status create(void **state, const ranking_setup *setup, evocc_error *error)
{
    size_t m = setup->objective_count;
    nsga3 *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    s->dimensions = m;
    evocc_status status = directions_new(&s->directions, &s->direction_count, m, setup->survivors,
                                         setup->weights, error);
    if (status != EVOCC_OK) {
        destroy(s);
        return status;
    }
    s->ideal = mem_alloc(m, sizeof(double));
    s->extremes = mem_alloc(m * m, sizeof(double));
    s->extreme_known = mem_alloc(m, sizeof(bool));
    s->range = mem_alloc(m, sizeof(double));
    s->system = mem_alloc(m * (m + 1), sizeof(double));
    s->point = mem_alloc(m, sizeof(double));
    s->niche_counts = mem_alloc(s->direction_count, sizeof(size_t));
    s->scratch = mem_alloc(setup->candidates, sizeof(individual *));
    if (s->ideal == NULL || s->extremes == NULL || s->extreme_known == NULL || s->range == NULL ||
        s->system == NULL || s->point == NULL || s->niche_counts == NULL || s->scratch == NULL) {
        destroy(s);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < m; i++) {
        s->ideal[i] = DBL_MAX;
    }
    *state = s;
    return EVOCC_OK;
}

/* Achievement scalarising function along one axis: small for points near that axis. */
static double achievement(const nsga3 *s, const double *values, size_t axis)
{
    double worst = -DBL_MAX;
    for (size_t i = 0; i < s->dimensions; i++) {
        double share = (values[i] - s->ideal[i]) * (i == axis ? 1 : 1e6);
        worst = share > worst ? share : worst;
    }
    return worst;
}

static void update_extremes(nsga3 *s, individual *const *items, size_t front_size)
{
    for (size_t axis = 0; axis < s->dimensions; axis++) {
        double *extreme = s->extremes + axis * s->dimensions;
        double best = s->extreme_known[axis] ? achievement(s, extreme, axis) : DBL_MAX;
        for (size_t i = 0; i < front_size; i++) {
            double a = achievement(s, items[i]->values, axis);
            if (!s->extreme_known[axis] || a < best) {
                best = a;
                s->extreme_known[axis] = true;
                memcpy(extreme, items[i]->values, s->dimensions * sizeof(double));
            }
        }
    }
}

/* Gaussian elimination with partial pivoting of n equations with n + 1 columns; the solution ends
   up in the last column; false when they are (nearly) dependent. */
static bool solve(double *a, size_t n)
{
    size_t width = n + 1;
    for (size_t column = 0; column < n; column++) {
        size_t pivot = column;
        for (size_t row = column + 1; row < n; row++) {
            if (fabs(a[row * width + column]) > fabs(a[pivot * width + column])) {
                pivot = row;
            }
        }
        if (!(fabs(a[pivot * width + column]) > 1e-12)) {
            return false;
        }
        for (size_t k = 0; k < width; k++) {
            double held = a[column * width + k];
            a[column * width + k] = a[pivot * width + k];
            a[pivot * width + k] = held;
        }
        for (size_t row = 0; row < n; row++) {
            double factor = a[row * width + column] / a[column * width + column];
            for (size_t k = column; row != column && k < width; k++) {
                a[row * width + k] -= factor * a[column * width + k];
            }
        }
    }
    for (size_t row = 0; row < n; row++) {
        a[row * width + n] /= a[row * width + row];
    }
    return true;
}

static void worst_of(double *range, const nsga3 *s, individual *const *items, size_t count)
{
    for (size_t m = 0; m < s->dimensions; m++) {
        double worst = items[0]->values[m];
        for (size_t i = 1; i < count; i++) {
            worst = items[i]->values[m] > worst ? items[i]->values[m] : worst;
        }
        range[m] = worst - s->ideal[m];
    }
}

/* Ranges from the intercepts of the hyperplane through the extreme points; from the worst of the
   front where that plane makes no sense; from the worst of all where even these are equal. */
static void estimate_range(nsga3 *s, individual *const *items, size_t front_size, size_t count)
{
    size_t n = s->dimensions;
    for (size_t row = 0; row < n; row++) {
        for (size_t k = 0; k < n; k++) {
            s->system[row * (n + 1) + k] = s->extremes[row * n + k] - s->ideal[k];
        }
        s->system[row * (n + 1) + n] = 1;
    }
    bool plane = solve(s->system, n);
    worst_of(s->range, s, items, front_size);
    for (size_t m = 0; plane && m < n; m++) {
        double intercept = 1 / s->system[m * (n + 1) + n];
        plane = intercept > 1e-12 && intercept < DBL_MAX;
    }
    for (size_t m = 0; plane && m < n; m++) {
        s->range[m] = 1 / s->system[m * (n + 1) + n];
    }
    worst_of(s->point, s, items, count);
    for (size_t m = 0; m < n; m++) {
        if (!(s->range[m] > 1e-12 * s->point[m])) {
            s->range[m] = s->point[m];
        }
        if (!(s->range[m] > 0) || s->range[m] > DBL_MAX) {
            s->range[m] = 1;
        }
    }
}

/* The direction whose line passes nearest. */
static void associate(nsga3 *s, individual *one)
{
    double square = 0;
    for (size_t m = 0; m < s->dimensions; m++) {
        s->point[m] = (one->values[m] - s->ideal[m]) / s->range[m];
        square += s->point[m] * s->point[m];
    }
    one->niche_distance = DBL_MAX;
    one->niche = 0;
    for (size_t d = 0; d < s->direction_count; d++) {
        const double *direction = s->directions + d * s->dimensions;
        double along = 0;
        for (size_t m = 0; m < s->dimensions; m++) {
            along += s->point[m] * direction[m];
        }
        double distance = square - along * along; /* squared: the same order */
        if (distance < one->niche_distance) {
            one->niche_distance = distance;
            one->niche = (uint32_t)d;
        }
    }
}

/* The least crowded direction that someone in items[0..count) belongs to; ties at random. */
static size_t emptiest_niche(const nsga3 *s, individual *const *items, size_t count, rng *r)
{
    size_t least = SIZE_MAX;
    size_t niche = 0;
    uint64_t ties = 0;
    for (size_t d = 0; d < s->direction_count; d++) {
        bool offered = false;
        for (size_t i = 0; i < count && !offered; i++) {
            offered = items[i]->niche == d;
        }
        if (!offered || s->niche_counts[d] > least) {
            continue;
        }
        ties = s->niche_counts[d] < least ? 1 : ties + 1;
        least = s->niche_counts[d];
        if (ties == 1 || rng_below(r, ties) == 0) {
            niche = d;
        }
    }
    return niche;
}

/* The nearest of the niche when it is empty so far, else any of it. */
static size_t pick_from_niche(const nsga3 *s, individual *const *items, size_t count, size_t niche,
                              rng *r)
{
    size_t picked = count;
    uint64_t offered = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i]->niche != niche) {
            continue;
        }
        offered++;
        bool take = picked == count;
        if (!take && s->niche_counts[niche] == 0) {
            take = items[i]->niche_distance < items[picked]->niche_distance;
        } else if (!take) {
            take = rng_below(r, offered) == 0;
        }
        picked = take ? i : picked;
    }
    return picked;
}

/* Moves those of items[start..end) that stay to the front of that range until `keep` are chosen. */
static void fill_from_last_front(nsga3 *s, individual **items, size_t start, size_t end,
                                 size_t keep, rng *r)
{
    memset(s->niche_counts, 0, s->direction_count * sizeof *s->niche_counts);
    for (size_t i = 0; i < start; i++) {
        s->niche_counts[items[i]->niche]++;
    }
    for (size_t chosen = start; chosen < keep; chosen++) {
        size_t niche = emptiest_niche(s, items + chosen, end - chosen, r);
        size_t i = chosen + pick_from_niche(s, items + chosen, end - chosen, niche, r);
        individual *held = items[i];
        items[i] = items[chosen];
        items[chosen] = held;
        s->niche_counts[niche]++;
    }
}

static size_t front_end(individual *const *items, size_t start, size_t count)
{
    size_t end = start;
    while (end < count && items[end]->front == items[start]->front) {
        end++;
    }
    return end;
}

static void survive(void *state, individual **items, size_t count, size_t keep, rng *r)
{
    nsga3 *s = state;
    if (count == 0) {
        return;
    }
    non_dominated_sort(items, count, s->dimensions, s->scratch);
    for (size_t i = 0; i < count; i++) {
        for (size_t m = 0; m < s->dimensions; m++) {
            s->ideal[m] = items[i]->values[m] < s->ideal[m] ? items[i]->values[m] : s->ideal[m];
        }
    }
    size_t front_size = front_end(items, 0, count);
    update_extremes(s, items, front_size);
    estimate_range(s, items, front_size, count);
    for (size_t i = 0; i < count; i++) {
        associate(s, items[i]);
    }
    size_t start = 0;
    size_t end = front_size;
    while (end < keep && end < count) {
        start = end;
        end = front_end(items, start, count);
    }
    if (end > keep) {
        fill_from_last_front(s, items, start, end, keep, r);
    }
}

/* Niching tournament: in one niche the better front, then the nearer; between niches a toss. */
static bool better(const individual *a, const individual *b, rng *r)
{
    bool toss = rng_chance(r, 0.5);
    if (a->violation < b->violation || a->violation > b->violation) {
        return a->violation < b->violation;
    }
    if (a->niche != b->niche) {
        return toss;
    }
    if (a->front != b->front) {
        return a->front < b->front;
    }
    if (a->niche_distance < b->niche_distance || a->niche_distance > b->niche_distance) {
        return a->niche_distance < b->niche_distance;
    }
    return individual_compare(a, b) < 0;
}

const ranking ranking_nsga3 = {"nsga3", 2, 16, create, destroy, survive, better};
