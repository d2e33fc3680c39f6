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
    /* Lists hold more than they keep while a merge is under way. */
    p->members.items = mem_alloc(total, sizeof(individual *));
    p->elders.items = mem_alloc(total, sizeof(individual *));
    p->flight.items = mem_alloc(in_flight, sizeof(individual *));
    p->spare.items = mem_alloc(total, sizeof(individual *));
    p->slots = mem_alloc(total, sizeof *p->slots);
    p->genes = mem_alloc(total, gene_count * sizeof *p->genes);
    p->values = mem_alloc(total, objective_count * sizeof *p->values);
    if (p->members.items == NULL || p->elders.items == NULL || p->flight.items == NULL ||
        p->spare.items == NULL || p->slots == NULL || p->genes == NULL || p->values == NULL) {
        pool_dispose(p);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < total; i++) {
        p->slots[i].genes = p->genes + i * gene_count;
        p->slots[i].values = p->values + i * objective_count;
        p->spare.items[i] = &p->slots[i];
    }
    p->spare.count = total;
    return EVOCC_OK;
}

void pool_dispose(pool *p)
{
    mem_free(p->members.items);
    mem_free(p->elders.items);
    mem_free(p->flight.items);
    mem_free(p->spare.items);
    mem_free(p->slots);
    mem_free(p->genes);
    mem_free(p->values);
    *p = (pool){0};
}

static void append(individuals *list, individual *one)
{
    list->items[list->count++] = one;
}

individual *pool_launch(pool *p, uint64_t id)
{
    individual *one = p->spare.items[--p->spare.count];
    int32_t *genes = one->genes;
    double *values = one->values;
    *one = (individual){.id = id, .repeat_of = INDIVIDUAL_NONE, .genes = genes, .values = values};
    append(&p->flight, one);
    return one;
}

void pool_abort(pool *p)
{
    append(&p->spare, p->flight.items[--p->flight.count]);
}

individual *pool_in_flight(const pool *p, uint64_t id)
{
    if (p->flight.count == 0 || id < p->flight.items[0]->id) {
        return NULL;
    }
    uint64_t offset = id - p->flight.items[0]->id;
    return offset < p->flight.count ? p->flight.items[offset] : NULL;
}

static individual *find(const individuals *list, uint64_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->id == id) {
            return list->items[i];
        }
    }
    return NULL;
}

individual *pool_survivor(const pool *p, uint64_t id)
{
    individual *one = find(&p->members, id);
    return one != NULL ? one : find(&p->elders, id);
}

void pool_merge(pool *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        individual *one = p->flight.items[i];
        if (one->state != INDIVIDUAL_VALID || one->repeat_of != INDIVIDUAL_NONE) {
            append(&p->spare, one);
        } else {
            /* The elders may have joined the members while their child was in flight. */
            append(one->elder && p->elders.count > 0 ? &p->elders : &p->members, one);
        }
    }
    p->flight.count -= count;
    memmove(p->flight.items, p->flight.items + count, p->flight.count * sizeof(individual *));
}

void pool_cut(pool *p, individuals *list, size_t keep)
{
    while (list->count > keep) {
        append(&p->spare, list->items[--list->count]);
    }
}

void pool_retire(pool *p)
{
    individuals none = p->elders;
    p->elders = p->members;
    p->members = none;
}

void pool_join(pool *p)
{
    while (p->elders.count > 0) {
        append(&p->members, p->elders.items[--p->elders.count]);
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
