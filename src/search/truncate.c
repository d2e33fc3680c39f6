/*
 * truncate.c: survival with one objective: the best stay, (mu + lambda) with the ties of
 * individual_compare.
 */
#include "search/ranking.h"

static evocc_status create(void **state, const ranking_setup *setup, evocc_error *error)
{
    (void)setup;
    (void)error;
    *state = NULL;
    return EVOCC_OK;
}

static void destroy(void *state)
{
    (void)state;
}

static void survive(void *state, individual **items, size_t count, size_t keep, rng *r)
{
    (void)state;
    (void)keep;
    (void)r;
    individuals_sort(items, count);
    for (size_t i = 0; i < count; i++) {
        items[i]->front = (uint32_t)i;
    }
}

static bool better(const individual *a, const individual *b, rng *r)
{
    (void)r;
    return individual_compare(a, b) < 0;
}

const ranking ranking_truncate = {"truncate", 1, 1, create, destroy, survive, better};
