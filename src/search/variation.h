/*
 * variation: how new candidates are made. One file an operator: initial.c, selection.c,
 * crossover.c, mutation.c. All of them work on raw genes; search.c makes the result canonical,
 * repairs it and refuses what was proposed before.
 */
#ifndef SEARCH_VARIATION_H
#define SEARCH_VARIATION_H

#include "search/pool.h"
#include "search/tuning.h"
#include "space/space.h"

/* What variation needs to know of one control. */
typedef struct gene_domain {
    int32_t size;
    int32_t fallback; /* the value that absent stands for; SPACE_ABSENT: none (a flag not given) */
    int32_t parent;   /* absent then means "like the wide form"; SPACE_ABSENT: no wide form */
    bool ordered;     /* neighbouring indices are neighbouring values (powers of two: in the log) */
    double knockout;
    uint32_t group; /* 0: none */
} gene_domain;

typedef struct variation {
    const evocc_space *space; /* borrowed */
    size_t count;             /* genes */
    gene_domain *domains;
    double
        *weights; /* running sums of the chance of each gene to be mutated; the last is the total */
    double *power_law; /* running sums of k^-1.5 for k = 1 .. count */
    uint32_t group_count;
    double mutate_rate;
    search_tuning tuning;
} variation;

evocc_status variation_init(variation *v, const evocc_space *space, const search_tuning *tuning,
                            double mutate_rate, evocc_error *error);
void variation_dispose(variation *v);

/* The value a gene stands for, looking through absent and the wide form; SPACE_ABSENT: none. */
int32_t variation_effective(const variation *v, const int32_t *genes, size_t index);

/* One of the weighted genes. */
size_t variation_pick(const variation *v, rng *r);

/* initial.c: a few steps from the baseline. */
void variation_near_default(const variation *v, rng *r, int32_t *genes);

/* crossover.c: false when the child is one of its parents again. */
bool variation_cross(const variation *v, rng *r, int32_t *child, const int32_t *a,
                     const int32_t *b);

/* mutation.c: changes at least one gene unless no gene can change. */
void variation_mutate(const variation *v, rng *r, int32_t *genes);
/* Another value for one gene, by a move that fits its domain. */
void variation_move(const variation *v, rng *r, int32_t *genes, size_t index);

/* selection.c: a parent among the first `count` members by binary tournament; `better` is the
   ranking's. */
typedef bool individual_better(const individual *a, const individual *b, rng *r);
const individual *select_parent(individual *const *members, size_t count, individual_better *better,
                                rng *r);

#endif
