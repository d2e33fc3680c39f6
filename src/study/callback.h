/*
 * callback.h: studies whose answers come from the caller (evocc.h, section "Studies").
 *
 *   callback.c       ask, tell, run
 *   callback_file.c  the study file: begun, gone on with
 *   callback_read.c  what a file says: trials, report, notes
 *   kernel.c         evocc.h, section "Kernels": what such callers do with compilers
 */
#ifndef STUDY_CALLBACK_H
#define STUDY_CALLBACK_H

#include "evaluate/objective.h"
#include "search/search.h"
#include "store/store.h"
#include "util/map.h"
#include "util/mem.h"

_Static_assert(OBJECTIVE_COUNT_MAX == EVOCC_STUDY_OBJECTIVES_MAX, "what the header says");

/* A trial that the file already held when it was opened. */
typedef struct callback_known {
    bool present;
    evocc_outcome outcome;
    hash128 candidate; /* of its text */
    double values[OBJECTIVE_COUNT_MAX];
} callback_known;

/* A trial that was asked and not told. */
typedef struct callback_flight {
    uint64_t id, repeat_of;
    uint32_t generation;
    bool stored; /* on disk, but the search could not be told */
    double asked_s;
    int32_t *genes; /* owned */
} callback_flight;

struct evocc_study {
    arena texts;
    const char *path; /* what messages call it */
    store *store;
    double started_s;
    double saved_s;          /* when the elapsed time was last written */
    double elapsed_before_s; /* of earlier openings */

    /* What follows is not there in a study opened for reading. */
    const evocc_space *space;
    evocc_search *search;
    objective_list objectives; /* their names; the directions and the rest are the search's, too */
    evocc_study_options options;
    callback_known *known;
    size_t known_count;
    callback_flight *flights; /* by rising id */
    size_t flight_count, flight_capacity;
    int32_t *spare_genes; /* for the next flight */
    map codes;            /* code hash -> first trial; keys in texts */
    const char *ended;    /* why the search asks no more; NULL: it does */
    bool end_saved;
};

/* callback_file.c. `search` is the caller's, with all that it does not know zero. */
evocc_status callback_begin(evocc_study *s, const evocc_search_options *search, evocc_error *error);
evocc_status callback_resume(evocc_study *s, const evocc_search_options *search,
                             evocc_error *error);
evocc_status callback_save_elapsed(evocc_study *s, evocc_error *error);

/* Whether a trial's code was seen before; remembers it otherwise. */
evocc_status callback_note_code(bool *seen, evocc_study *s, const char *hash, uint64_t id,
                                evocc_error *error);

/* EVOCC_OK: letters, digits, '_', '-' and '.', fewer than OBJECTIVE_NAME_SIZE. */
evocc_status callback_check_name(const char *what, const char *name, evocc_error *error);

#endif
