/*
 * search: evolutionary search by ask and tell. May use util, stats and space; no input or output,
 * no clock, no environment: the same seed and the same answers give the same questions everywhere.
 *
 * The first candidate is the baseline (all genes absent). Generations: pool_size candidates, then
 * cull_size new ones in each later generation. A generation must be told completely before the next
 * begins (EVOCC_WAIT from ask until then); the order of tells inside a generation does not matter.
 * With a lag the search is asynchronous: question k waits for the answers to the questions up to
 * k - lag only, and depends on no others, so that it too is the same for any number of workers.
 * A study resumes by asking again from the start and telling what its store knows.
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "space/space.h"

typedef struct search_objective {
    bool maximize;
    double weight; /* 0: 1 */
    bool limited;  /* `limit` holds: a trial beyond it ranks behind all trials within the limits */
    bool limit_only; /* needs `limited`: the metric has a limit but is not to be improved */
    double limit; /* in the metric's own direction: at most (minimized) or at least (maximized) */
    bool has_target; /* the search ends when one trial within the limits reaches all targets */
    double target;   /* as limit */
} search_objective;

/* Who survives when there are several objectives. */
typedef enum search_survival {
    SEARCH_NSGA3 = 0,      /* U-NSGA-III */
    SEARCH_HYPERVOLUME = 1 /* SMS-EMOA; 2 to 4 objectives */
} search_survival;

/* A further rule of the caller's: whether a canonical candidate may be proposed. It must answer the
   same for the same genes at all times. Candidates refused here cost no trial. */
typedef bool search_filter(void *context, const int32_t *genes);

typedef struct search_options {
    size_t pool_size;   /* 0: 32 */
    size_t cull_size;   /* 0: 24 */
    size_t generations; /* 0: 20 */
    double mutate_rate; /* 0: 0.1; share of genes changed by the configured mutation */
    uint64_t seed;
    const search_objective *objectives; /* copied */
    size_t objective_count;             /* 1 .. 16 */
    size_t lag; /* 0: generations; else how many questions ahead of the answers, 1 .. 4096 */
    search_survival survival;
    /* Share of the questions that repeat one of the best few, to average noise away: 0 .. 0.5. A
       repetition costs a trial; its answers are averaged in the logarithm where all are positive.
     */
    double repeat_share;
    bool prescreen; /* a forest picks among several children; switches itself off where it is no
                       help */
    uint64_t max_trials;         /* 0: as many as the generations make */
    uint32_t stale_generations;  /* ends after so many without an addition to the best; 0: never */
    const int32_t *const *seeds; /* candidates to start from (earlier ACFs); copied, at most pool/4;
                                    those that the space forbids are repaired or left out */
    size_t seed_count;
    search_filter *filter; /* NULL: none */
    void *filter_context;
    const struct search_tuning *tuning; /* NULL: the defaults of tuning.h; copied */
} search_options;

typedef struct evocc_search evocc_search;

typedef struct search_candidate {
    uint64_t id;          /* 0, 1, 2, ...: the trial number; 0 is the baseline */
    uint32_t generation;  /* from 0 */
    const int32_t *genes; /* canonical; borrowed until the next call on this search */
    uint64_t repeat_of; /* the trial of the same genes that is to be measured again; its answer goes
                           to this one's id. SEARCH_NONE: a new candidate */
} search_candidate;
#define SEARCH_NONE UINT64_MAX

/* The space is borrowed and must outlive the search. */
evocc_status search_new(evocc_search **out, const evocc_space *space, const search_options *options,
                        evocc_error *error);
void search_free(evocc_search *search);

/* Its options with no zero standing for a default; pointers in it are not to be used. */
const search_options *search_get_options(const evocc_search *search);

/* The options of the public header, as its caller was compiled with them; what that did not know
   yet is zero. EVOCC_UNSUPPORTED: something is set that this version does not know. */
evocc_status search_take_options(evocc_search_options *out, const evocc_search_options *options,
                                 evocc_error *error);

/* EVOCC_WAIT: tell first. EVOCC_DONE: a stop rule holds (budget, target, stale), the message says
   which; rules about answers are looked at when a generation ends, or an answer's lag.
   EVOCC_EXHAUSTED: every allowed candidate has been asked; in spaces of more than 2^22 assignments:
   none was found in 10,000 samples. No candidate is asked twice but for repetitions.
   EVOCC_NO_MEMORY: ask again. */
evocc_status search_ask(search_candidate *out, evocc_search *search, evocc_error *error);

/* `values`: one number per objective in the metric's own direction; ignored unless outcome is
   EVOCC_OUTCOME_OK. A NaN or an infinity among them makes the trial invalid. Each asked id is told
   once; another id is EVOCC_INVALID_ARGUMENT. */
evocc_status search_tell(evocc_search *search, uint64_t id, evocc_outcome outcome,
                         const double *values, evocc_error *error);

/* The ids of all non-dominated valid trials, ascending (one objective: the best one; equal values:
   the one with fewer controls, then the earlier). Borrowed until the next tell. */
const uint64_t *search_front(const evocc_search *search, size_t *count);

/* Genes of a trial in the front; NULL when it is not there. Borrowed until the next tell. */
const int32_t *search_front_genes(const evocc_search *search, uint64_t id);

/* Its values in the metrics' own directions, one per objective; false when it is not in the front.
 */
bool search_front_values(double *out, const evocc_search *search, uint64_t id);

typedef struct search_progress {
    uint32_t generation, generations;
    uint64_t asked, told, valid;
    uint64_t budget;  /* trials if nothing stops it earlier */
    uint32_t stale;   /* generations without an addition to the best */
    double diversity; /* share of the genes in which two members of the pool differ, on average */
    bool target_reached; /* by a trial that was merged */
    bool restarted;      /* a second pool is growing beside the first */
} search_progress;
void search_get_progress(search_progress *out, const evocc_search *search);

/* How much each control matters by itself for one objective, from the trials so far: space_count()
   numbers from 0 to 1, see marginal.h. */
void search_importance(double *out, const evocc_search *search, size_t objective);

/* Volume that the front dominates up to a reference point given in the metrics' own directions
   (limit only objectives left out of both); 2 to 4 such objectives, else EVOCC_UNSUPPORTED. */
evocc_status search_front_hypervolume(double *out, const evocc_search *search,
                                      const double *reference, evocc_error *error);

/* Fingerprint of the generator and the pool: equal between a resumed run and the unbroken one. */
uint64_t search_fingerprint(const evocc_search *search);

#endif
