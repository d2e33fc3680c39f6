/*
 * tuning: the constants of the engine, gathered where benches can vary them one by one. The
 * defaults are what bench/replay chose; docs/bench-search.md has the numbers, those of the losers
 * too.
 */
#ifndef SEARCH_TUNING_H
#define SEARCH_TUNING_H

#include <stdbool.h>
#include <stddef.h>

/* All are doubles, so that a bench can set them by name. */
typedef struct search_tuning {
    /* The first pool. */
    double near_share; /* a few steps from the baseline; the rest is uniform */
    double spread;     /* samples drawn for each uniform one, of which the farthest is taken */
    /* Parents. */
    double parent_share;   /* of the pool, the best of it: who takes part in tournaments */
    double stale_spread;   /* parent_share grows by this part of it with every stale generation */
    double marginal_share; /* first parents that are the best with some value of some control */
    /* Children. */
    double crossover_rate;         /* those with two parents */
    double mutate_after_crossover; /* of these: those that are mutated as well */
    double mutation_one, mutation_three, mutation_rate, mutation_power; /* weights of the mixture */
    double step_share;      /* of the moves of ordered controls: steps */
    double step_longer;     /* chance of each further step */
    double double_share;    /* of the moves of ordered controls: to twice or half the number */
    double group_share;     /* of the moves of controls in a group: the whole group moves */
    double mutate_on_stale; /* generations without anything better after which a child that is known
                               is mutated until it is new, instead of made anew */
    /* Restarts. */
    double stale_limit; /* generations without improvement before a second pool is begun */
    double elder_share; /* of the proposals then: children of the older pool */
    /* The learned prescreen, where it is switched on. */
    double screened;   /* children made for each proposal, of which the forest picks one */
    double unscreened; /* share of the proposals that the forest has no say in */
} search_tuning;

extern const search_tuning search_tuning_default;

/* Sets the constant of that name (`length` bytes); false when there is none. */
bool search_tuning_set(search_tuning *tuning, const char *name, size_t length, double value);

#endif
