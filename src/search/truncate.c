/*
 * truncate.c: survival with one objective: the best stay, (mu + lambda) with the ties of
 * individual_compare.
 */
#include "search/ranking.h"
#include "util/error.h"
#include "util/mem.h"

#include <string.h>

typedef struct truncation {
    size_t gene_count, clearing;
    individual **crowded;
} truncation;

static void destroy(void *state)
{
    truncation *t = state;
    if (t != NULL) {
        mem_free(t->crowded);
        mem_free(t);
    }
}

static evocc_status create(void **state, const ranking_setup *setup, evocc_error *error)
{
    truncation *t = mem_alloc(1, sizeof *t);
    if (t == NULL) {
        return error_no_memory(error);
    }
    t->gene_count = setup->gene_count;
    t->clearing = setup->clearing;
    t->crowded = mem_alloc(setup->candidates, sizeof(individual *));
    if (t->crowded == NULL) {
        destroy(t);
        return error_no_memory(error);
    }
    *state = t;
    return EVOCC_OK;
}

static bool is_near(const truncation *t, const individual *a, const individual *b)
{
    size_t different = 0;
    for (size_t i = 0; i < t->gene_count && different <= t->clearing; i++) {
        different += a->genes[i] != b->genes[i] ? 1 : 0;
    }
    return different <= t->clearing;
}

/* Whoever is near to a better one goes behind all that are not. */
static void clear(const truncation *t, individual **items, size_t count, size_t keep)
{
    size_t kept = 0;
    size_t crowded = 0;
    for (size_t i = 0; i < count; i++) {
        bool near = kept >= keep;
        for (size_t k = 0; k < kept && !near; k++) {
            near = is_near(t, items[k], items[i]);
        }
        if (near) {
            t->crowded[crowded++] = items[i];
        } else {
            items[kept++] = items[i];
        }
    }
    memcpy(items + kept, t->crowded, crowded * sizeof(individual *));
}

static void survive(void *state, individual **items, size_t count, size_t keep, rng *r)
{
    const truncation *t = state;
    (void)r;
    individuals_sort(items, count);
    if (t->clearing > 0) {
        clear(t, items, count, keep);
    }
    for (size_t i = 0; i < count; i++) {
        items[i]->front = (uint32_t)i;
    }
}

static bool better(const individual *a, const individual *b, rng *r)
{
    (void)r;
    return individual_compare(a, b) < 0;
}

const ranking ranking_truncate = {"truncate", create, destroy, survive, better};
