/*
 * pool: the individuals of a search: those in flight (asked, in the order of their ids), those that
 * survived (possible parents), and the elders. All memory is taken when the pool is made, so that
 * no step of a search can fail half-way.
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
    uint32_t pending;      /* repetitions of this one in flight */
    uint32_t front;        /* filled in by the ranking: 0 is the best front */
    uint32_t niche;        /* filled in by nsga3: reference direction */
    double niche_distance; /* filled in by nsga3: distance to it in normalised objectives */
    individual_state state;
    bool elder;    /* a child of the elders */
    bool varied;   /* a child of parents, not a sample */
    bool screened; /* and chosen by the forest */
} individual;

/* A list of individuals, best first once ranked. */
typedef struct individuals {
    individual **items;
    size_t count;
} individuals;

typedef struct pool {
    size_t gene_count, objective_count;
    individuals members; /* survivors */
    individuals elders;  /* the stale pool before a restart, which goes on beside the new one */
    individuals flight;  /* asked and not yet merged; their ids follow one another without a gap */
    individuals spare;
    /* Backing memory. */
    individual *slots;
    int32_t *genes;
    double *values;
} pool;

/* Room for `survivors` members, as many elders, and `in_flight` asked ones. */
evocc_status pool_init(pool *p, size_t survivors, size_t in_flight, size_t gene_count,
                       size_t objective_count, evocc_error *error);
void pool_dispose(pool *p);

/* A new individual at the end of the flight; the caller keeps within in_flight. */
individual *pool_launch(pool *p, uint64_t id);
/* Takes the newest one back. */
void pool_abort(pool *p);

/* The one in flight with this id, or NULL. */
individual *pool_in_flight(const pool *p, uint64_t id);
/* The member or elder with this id, or NULL. */
individual *pool_survivor(const pool *p, uint64_t id);

/* Moves the first `count` of the flight out of it: valid new ones to the members or elders, the
   others to the spare ones. */
void pool_merge(pool *p, size_t count);

/* Drops all but the first `keep`. */
void pool_cut(pool *p, individuals *list, size_t keep);

/* The members become elders (there are none before); the members are empty then. */
void pool_retire(pool *p);
/* The elders become members. */
void pool_join(pool *p);

/* Total order of a single-objective search: violation, the first value, fewer controls, age. Also
   the order among equals everywhere else. Negative: a is better. */
int individual_compare(const individual *a, const individual *b);

/* Sorts by individual_compare: one result only, since ids differ. */
void individuals_sort(individual **items, size_t count);

#endif
