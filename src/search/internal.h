/*
 * internal.h: the state of a search, and who changes it: search.c takes questions and answers,
 * propose.c makes candidates, generation.c merges answers into the pool.
 */
#ifndef SEARCH_INTERNAL_H
#define SEARCH_INTERNAL_H

#include "search/archive.h"
#include "search/forest.h"
#include "search/marginal.h"
#include "search/ranking.h"
#include "search/search.h"
#include "search/seen.h"
#include "search/tuning.h"
#include "search/variation.h"
#include "search/walk.h"

enum { SEARCH_OBJECTIVES_MAX = 16 };

struct evocc_search {
    /* Constant. */
    const evocc_space *space;
    search_options
        options; /* normalised: no zero stands for a default; its pointers are not used */
    search_tuning tuning;
    search_objective objectives[SEARCH_OBJECTIVES_MAX];
    size_t order[SEARCH_OBJECTIVES_MAX]; /* individuals' values: the ranked objectives first */
    size_t ranked_count;
    size_t gene_count;
    int32_t *seeds; /* seed_count rows of gene_count */
    size_t seed_count;
    const ranking *rank;

    /* What the next question depends on, besides what was merged. */
    rng rng;
    walk walk;
    size_t seeds_used;
    seen seen;
    uint64_t asked;

    /* What was merged. */
    void *rank_state;
    variation vary;
    pool pool;
    marginal marginal;
    forest forest;         /* with the prescreen */
    double *forest_values; /* ranked values of its rows */
    bool *forest_valid;    /* of its rows */
    double screened_trials, screened_hits, unscreened_trials, unscreened_hits;
    uint32_t generation;
    uint64_t generation_end; /* the id with which the next generation begins */
    uint32_t stale;          /* generations without an addition to the best front, for stop rules */
    uint32_t pool_stale;     /* the same since the pool was begun */
    bool improved, pool_improved; /* in this generation */
    bool initial;                 /* this generation samples the first pool, or a second one */
    bool target_reached;
    double diversity;

    /* Answers. */
    archive archive; /* told, merged or not: nothing is decided by it */
    uint64_t told, valid;
    bool exhausted;

    /* While a candidate is being made. */
    int32_t *child;
    bool elder, varied, screened;
    bool no_memory; /* the space ran out of it */
};

/* propose.c: genes for the question s->asked, which is in flight already. EVOCC_EXHAUSTED, or
   EVOCC_NO_MEMORY with nothing moved on. */
evocc_status propose(evocc_search *s, individual *one, evocc_error *error);

/* generation.c: everything that must happen before the next question; EVOCC_WAIT, EVOCC_DONE or
   EVOCC_NO_MEMORY leave the search as it was. */
evocc_status advance(evocc_search *s, evocc_error *error);

/* Excess over the limits of values in the order of individuals. */
double violation_of(const evocc_search *s, const double *values);

/* Whether the forest has a say: switched on, grown, and no worse than chance so far. */
bool screening_pays(const evocc_search *s);

#endif
