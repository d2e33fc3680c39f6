/*
 * ranking: who survives and who wins a tournament. One file a ranking: truncate.c (one objective),
 * nsga3.c, smsemoa.c (several); nds.c is the non-dominated sorting they share. A new one is one
 * file and one row of the table in search.c.
 */
#ifndef SEARCH_RANKING_H
#define SEARCH_RANKING_H

#include "search/variation.h"

/* Constrained domination (Deb 2002): within the limits before outside, less outside before more,
   then Pareto domination. Equal values: fewer controls, then the earlier; so of several trials with
   the same values exactly one is non-dominated. */
bool individual_dominates(const individual *a, const individual *b, size_t objective_count);

/* Sorts items by front, and within a front lexicographically; sets their `front`. `scratch` has
   room for count pointers. */
void non_dominated_sort(individual **items, size_t count, size_t objective_count,
                        individual **scratch);

typedef struct ranking_setup {
    size_t objective_count; /* those that rank: the first values of an individual */
    const double *weights;  /* positive */
    size_t survivors;       /* as many as are ever kept */
    size_t candidates;      /* as many as are ever compared */
} ranking_setup;

typedef struct ranking {
    const char *name;
    size_t objectives_least, objectives_most;
    evocc_status (*create)(void **state, const ranking_setup *setup, evocc_error *error);
    void (*destroy)(void *state);
    /* Reorders items so that the first `keep` survive, best front first. Takes no memory. */
    void (*survive)(void *state, individual **items, size_t count, size_t keep, rng *r);
    individual_better *better;
} ranking;

extern const ranking ranking_truncate, ranking_nsga3, ranking_smsemoa;

#endif
