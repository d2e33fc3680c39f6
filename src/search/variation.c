#include "search/variation.h"

#include "util/error.h"
#include "util/mem.h"

#include <math.h>
#include <string.h>

/* Numbers in their order; also words of a choice that are rising or falling numbers. */
static bool is_ordered(const space_control *c)
{
    if (c->kind == SPACE_INT || c->kind == SPACE_POW2 || c->kind == SPACE_FLOAT) {
        return true;
    }
    if (c->kind != SPACE_CHOICE || c->size < 3) {
        return false;
    }
    bool rising = space_value_number(c, 1) > space_value_number(c, 0);
    for (int32_t i = 1; i < c->size; i++) {
        double before = space_value_number(c, i - 1);
        double here = space_value_number(c, i);
        if (!(rising ? here > before : here < before)) { /* also when one is not a number */
            return false;
        }
    }
    return true;
}

/* Groups are numbered from 1 in the order in which their names first appear. Few controls have one.
 */
static uint32_t group_number(variation *v, const evocc_space *space, size_t index)
{
    const char *name = space_get(space, index)->group;
    if (name == NULL) {
        return 0;
    }
    for (size_t i = 0; i < index; i++) {
        const char *other = space_get(space, i)->group;
        if (other != NULL && strcmp(other, name) == 0) {
            return v->domains[i].group;
        }
    }
    return ++v->group_count;
}

/* A wide form moves every site it covers and has the weight 1; its n sites share sqrt(n), so that a
   kernel with hundreds of sites does not drown the controls that reach all of it. */
static void weigh_genes(variation *v, const uint32_t *sites)
{
    double sum = 0;
    for (size_t i = 0; i < v->count; i++) {
        int32_t parent = v->domains[i].parent;
        sum += parent == SPACE_ABSENT ? 1 : 1 / sqrt((double)sites[parent]);
        v->weights[i] = sum;
    }
    sum = 0;
    for (size_t k = 1; k <= v->count; k++) {
        sum += 1 / ((double)k * sqrt((double)k));
        v->power_law[k - 1] = sum;
    }
}

evocc_status variation_init(variation *v, const evocc_space *space, const search_tuning *tuning,
                            double mutate_rate, evocc_error *error)
{
    size_t n = space_count(space);
    *v = (variation){.space = space, .count = n, .mutate_rate = mutate_rate, .tuning = *tuning};
    v->domains = mem_alloc(n, sizeof *v->domains);
    v->weights = mem_alloc(n, sizeof *v->weights);
    v->power_law = mem_alloc(n, sizeof *v->power_law);
    uint32_t *sites = mem_alloc(n, sizeof *sites);
    if (v->domains == NULL || v->weights == NULL || v->power_law == NULL || sites == NULL) {
        mem_free(sites);
        variation_dispose(v);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < n; i++) {
        const space_control *c = space_get(space, i);
        v->domains[i] = (gene_domain){.size = c->size,
                                      .fallback = c->default_index,
                                      .parent = c->parent,
                                      .ordered = is_ordered(c),
                                      .knockout = c->knockout,
                                      .group = group_number(v, space, i)};
        if (c->parent != SPACE_ABSENT) {
            sites[c->parent]++;
        }
    }
    weigh_genes(v, sites);
    mem_free(sites);
    return EVOCC_OK;
}

void variation_dispose(variation *v)
{
    mem_free(v->domains);
    mem_free(v->weights);
    mem_free(v->power_law);
    *v = (variation){0};
}

int32_t variation_effective(const variation *v, const int32_t *genes, size_t index)
{
    if (genes[index] != SPACE_ABSENT) {
        return genes[index];
    }
    const gene_domain *d = &v->domains[index];
    if (d->parent != SPACE_ABSENT) { /* parents come before their sites: this ends */
        return variation_effective(v, genes, (size_t)d->parent);
    }
    return d->fallback;
}

/* First index whose running sum exceeds x. */
static size_t search_sums(const double *sums, size_t count, double x)
{
    size_t low = 0;
    size_t high = count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sums[middle] > x) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

size_t variation_pick(const variation *v, rng *r)
{
    return search_sums(v->weights, v->count, rng_unit(r) * v->weights[v->count - 1]);
}
