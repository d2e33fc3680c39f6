/*
 * forest: a regression forest over genes, which guesses how good an untried candidate is.
 * Source: P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63,
 * 2006; as a surrogate in evolutionary search: Y. Jin, "Surrogate-assisted evolutionary
 * computation", Swarm and Evolutionary Computation 1(2), 2011.
 *
 * It learns from the last FOREST_ROWS trials only, so that its cost does not grow with the study.
 */
#ifndef SEARCH_FOREST_H
#define SEARCH_FOREST_H

#include "search/variation.h"

enum { FOREST_ROWS = 512, FOREST_TREES = 24 };

typedef struct forest_node {
    int32_t gene;  /* -1: a leaf */
    int32_t value; /* ordered: goes left at or below; else: goes left when equal */
    uint32_t left; /* the right child follows it */
    double mean;   /* of a leaf */
} forest_node;

typedef struct forest {
    const variation *vary; /* borrowed: domains */
    int32_t *rows;         /* a ring of FOREST_ROWS rows of effective values */
    double *targets;       /* what is learned: 0 is best */
    size_t row_count, next_row;
    uint32_t *order; /* of rows, partitioned while a tree grows */
    forest_node *nodes;
    uint32_t roots[FOREST_TREES];
    bool grown;
} forest;

evocc_status forest_init(forest *f, const variation *vary, evocc_error *error);
void forest_dispose(forest *f);

/* Room for one more trial, in place of the oldest; the caller fills in its target. */
double *forest_add(forest *f, const int32_t *genes);

/* Learns from all rows. */
void forest_grow(forest *f, rng *r);

/* Mean of the trees: lower is better. */
double forest_predict(const forest *f, const int32_t *genes);

#endif
