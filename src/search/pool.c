#include "search/pool.h"

#include "util/error.h"
#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

evocc_status pool_init(pool *p, size_t survivors, size_t in_flight, size_t gene_count,
                       size_t objective_count, evocc_error *error)
{
    size_t total = 2 * survivors + in_flight;
    *p = (pool){.gene_count = gene_count, .objective_count = objective_count};
    p->members = mem_alloc(total, sizeof(individual *)); /* merging exceeds survivors for a while */
    p->hall = mem_alloc(survivors, sizeof(individual *));
    p->flight = mem_alloc(in_flight, sizeof(individual *));
    p->spare = mem_alloc(total, sizeof(individual *));
    p->slots = mem_alloc(total, sizeof *p->slots);
    p->genes =
        gene_count <= SIZE_MAX / total ? mem_alloc(total * gene_count, sizeof *p->genes) : NULL;
    p->values = mem_alloc(total * objective_count, sizeof *p->values);
    if (p->members == NULL || p->hall == NULL || p->flight == NULL || p->spare == NULL ||
        p->slots == NULL || p->genes == NULL || p->values == NULL) {
        pool_dispose(p);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < total; i++) {
        p->slots[i].genes = p->genes + i * gene_count;
        p->slots[i].values = p->values + i * objective_count;
        p->spare[i] = &p->slots[i];
    }
    p->spare_count = total;
    return EVOCC_OK;
}

void pool_dispose(pool *p)
{
    mem_free(p->members);
    mem_free(p->hall);
    mem_free(p->flight);
    mem_free(p->spare);
    mem_free(p->slots);
    mem_free(p->genes);
    mem_free(p->values);
    *p = (pool){0};
}

individual *pool_launch(pool *p, uint64_t id)
{
    individual *one = p->spare[--p->spare_count];
    int32_t *genes = one->genes;
    double *values = one->values;
    *one = (individual){.id = id, .repeat_of = INDIVIDUAL_NONE, .genes = genes, .values = values};
    p->flight[p->flight_count++] = one;
    return one;
}

void pool_abort(pool *p)
{
    p->spare[p->spare_count++] = p->flight[--p->flight_count];
}

individual *pool_in_flight(const pool *p, uint64_t id)
{
    if (p->flight_count == 0 || id < p->flight[0]->id) {
        return NULL;
    }
    uint64_t offset = id - p->flight[0]->id; /* ids in flight follow one another without a gap */
    return offset < p->flight_count ? p->flight[offset] : NULL;
}

individual *pool_member(const pool *p, uint64_t id)
{
    for (size_t i = 0; i < p->member_count; i++) {
        if (p->members[i]->id == id) {
            return p->members[i];
        }
    }
    return NULL;
}

void pool_merge(pool *p, uint64_t end)
{
    size_t merged = 0;
    while (merged < p->flight_count && p->flight[merged]->id < end) {
        individual *one = p->flight[merged++];
        if (one->state == INDIVIDUAL_VALID && one->repeat_of == INDIVIDUAL_NONE) {
            p->members[p->member_count++] = one;
        } else {
            p->spare[p->spare_count++] = one;
        }
    }
    p->flight_count -= merged;
    memmove(p->flight, p->flight + merged, p->flight_count * sizeof(individual *));
}

void pool_cut(pool *p, size_t keep)
{
    while (p->member_count > keep) {
        p->spare[p->spare_count++] = p->members[--p->member_count];
    }
}

void pool_retire(pool *p, size_t keep)
{
    while (p->hall_count < keep && p->hall_count < p->member_count) {
        p->hall[p->hall_count] = p->members[p->hall_count];
        p->hall_count++;
    }
    for (size_t i = p->hall_count; i < p->member_count; i++) {
        p->spare[p->spare_count++] = p->members[i];
    }
    p->member_count = 0;
}

void pool_recall(pool *p)
{
    while (p->hall_count > 0) {
        p->members[p->member_count++] = p->hall[--p->hall_count];
    }
}

int individual_compare(const individual *a, const individual *b)
{
    if (a->violation < b->violation || a->violation > b->violation) {
        return a->violation < b->violation ? -1 : 1;
    }
    if (a->values[0] < b->values[0] || a->values[0] > b->values[0]) {
        return a->values[0] < b->values[0] ? -1 : 1;
    }
    if (a->controls != b->controls) {
        return a->controls < b->controls ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_pointers(const void *a, const void *b)
{
    individual *const *x = a;
    individual *const *y = b;
    return individual_compare(*x, *y);
}

void individuals_sort(individual **items, size_t count)
{
    qsort(items, count, sizeof(individual *), compare_pointers);
}
