/*
 * pool: the individuals of a search: those in flight (asked, in the order of their ids) and those
 * that survived (possible parents). All memory is taken when the pool is made, so that no step of a
 * search can fail half-way.
 */
#ifndef SEARCH_POOL_H
#define SEARCH_POOL_H

#include <evocc/evocc.h>

#define INDIVIDUAL_NONE UINT64_MAX

typedef enum individual_state {
    INDIVIDUAL_ASKED,  /* no answer yet */
    INDIVIDUAL_VALID,  /* answered with numbers */
    INDIVIDUAL_INVALID /* failed, or a number was missing: never a parent */
} individual_state;

typedef struct individual {
    uint64_t id;
    uint64_t repeat_of; /* the id whose measurement this one repeats, or INDIVIDUAL_NONE */
    int32_t *genes;     /* canonical */
    double *values;     /* one per objective, all to be minimised: maximised ones are negated */
    double violation;   /* by how much the limits are exceeded, 0 within all of them */
    uint32_t generation;
    uint32_t controls;     /* how many genes are present */
    uint32_t measurements; /* answers that `values` is the mean of */
    uint32_t front;        /* filled in by the ranking: 0 is the best front */
    uint32_t niche;        /* filled in by nsga3: reference direction */
    double niche_distance; /* filled in by nsga3: distance to it in normalised objectives */
    individual_state state;
} individual;

typedef struct pool {
    size_t gene_count, objective_count;
    individual **members; /* survivors, best first */
    size_t member_count;
    individual *
        *hall; /* the best few of before a restart, kept aside until the new pool is stale */
    size_t hall_count;
    individual **flight; /* asked and not yet merged, by id; a window that slides over the buffer */
    size_t flight_count;
    individual **spare;
    size_t spare_count;
    /* Backing memory. */
    individual *slots;
    int32_t *genes;
    double *values;
} pool;

/* Room for `survivors` members, as many in the hall, and `in_flight` asked ones. */
evocc_status pool_init(pool *p, size_t survivors, size_t in_flight, size_t gene_count,
                       size_t objective_count, evocc_error *error);
void pool_dispose(pool *p);

/* A new individual at the end of the flight; the caller has kept within in_flight. */
individual *pool_launch(pool *p, uint64_t id);
/* Takes the newest one back. */
void pool_abort(pool *p);

/* The one in flight with this id, or NULL. */
individual *pool_in_flight(const pool *p, uint64_t id);
/* The survivor with this id, or NULL. */
individual *pool_member(const pool *p, uint64_t id);

/* Moves every flight individual with id < end into the members (valid ones) or back to the spare
   ones (invalid ones and repeats). */
void pool_merge(pool *p, uint64_t end);

/* Keeps the first `keep` members. */
void pool_cut(pool *p, size_t keep);

/* Moves the first `keep` members into the empty hall, and the others out. */
void pool_retire(pool *p, size_t keep);
/* Moves the hall back behind the members. */
void pool_recall(pool *p);

/* Total order of a single-objective search: violation, the first value, fewer controls, age. Also
   the order among equals everywhere else. qsort-style result. */
int individual_compare(const individual *a, const individual *b);

/* Sorts by individual_compare: stable across machines because ids differ. */
void individuals_sort(individual **items, size_t count);

#endif
