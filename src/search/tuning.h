/*
 * tuning: the constants of the engine, gathered where benches can vary them one by one. The
 * defaults are what bench/replay chose; docs/bench-search.md has the numbers, those of the losers
 * too.
 */
#ifndef SEARCH_TUNING_H
#define SEARCH_TUNING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct search_tuning {
    double near_share;             /* of the first pool: a few steps from the baseline */
    double crossover_rate;         /* chance that a child has two parents */
    double mutate_after_crossover; /* chance that such a child is mutated as well */
    double parent_share;           /* of the pool, the best of it: who may be a parent */
    double mutation_one, mutation_three, mutation_rate, mutation_power; /* weights of the mixture */
    double step_share;  /* of the moves of ordered controls: steps, the rest any other value */
    double step_longer; /* chance of each further step */
    double stale_limit; /* generations without a better trial before the pool starts afresh; 0:
                           never */
    double hall_share;  /* of the pool: how many are kept aside meanwhile */
    double
        clearing; /* a survivor this near to a better one (in genes) is kept only if room is left */
    double screened;   /* children made for each proposal, of which the forest picks one; 1: none */
    double unscreened; /* share of the proposals that the forest has no say in */
} search_tuning;

extern const search_tuning search_tuning_default;

/* Sets the constant of that name (`length` bytes); false when there is none. */
bool search_tuning_set(search_tuning *tuning, const char *name, size_t length, double value);

#endif
