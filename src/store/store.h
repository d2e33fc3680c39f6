/*
 * store: the study file, one SQLite database. May use util, space.
 * A trial is on disk before its number is used; kill -9 loses at most what was in flight.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "space/space.h"
#include "util/strbuf.h"

typedef struct store store;

/* Creates a new study file; an existing file is never touched (EVOCC_REFUSED). */
evocc_status store_create(store **out, const char *path, evocc_error *error);

/* One without a file, gone when it is freed. */
evocc_status store_create_in_memory(store **out, evocc_error *error);

/* Opens an existing one for writing. One writer: EVOCC_BUSY when another process has it;
   EVOCC_DAMAGED when it is no study file or a damaged one (it is left as it is). */
evocc_status store_open(store **out, const char *path, evocc_error *error);

/* For reading only, beside a writer. */
evocc_status store_open_read(store **out, const char *path, evocc_error *error);
void store_free(store *s);

/* Frees a store that this process created and removes its file: nothing of worth is in it. */
void store_discard(store *s);

/* Everything a study was started with, as name and text: "seed", "input_path", "compiler_version".
   get: EVOCC_NOT_FOUND when absent; *out is mem_freed by the caller. */
evocc_status store_set(store *s, const char *name, const char *value, evocc_error *error);
evocc_status store_get(char **out, store *s, const char *name, evocc_error *error);

/* A blob under a name: the input, the baseline's code, the front's. */
evocc_status store_put_artifact(store *s, const char *name, const void *data, size_t length,
                                evocc_error *error);
evocc_status store_get_artifact(char **out, size_t *length, store *s, const char *name,
                                evocc_error *error);

#define STORE_METRICS_MAX 32

typedef struct store_trial {
    uint64_t id;
    uint32_t generation;
    evocc_outcome outcome;
    const char *candidate; /* space_candidate_text */
    const char *code_hash; /* "" when unknown */
    const char *detail, *command;
    double wall_s;
    bool shared; /* its metrics come from an earlier trial with equal code */
    size_t metric_count;
    const char *metric_names[STORE_METRICS_MAX];
    double metrics[STORE_METRICS_MAX]; /* NAN: unknown, stored as NULL */
} store_trial;

/* Writes one finished trial and commits. A second trial with the same id is EVOCC_DAMAGED. */
evocc_status store_add_trial(store *s, const store_trial *trial, evocc_error *error);

/* All trials in the order of their ids. The callback's texts are borrowed for the call; it returns
   anything but EVOCC_OK to stop, and that is returned. */
evocc_status store_each_trial(store *s,
                              evocc_status (*each)(const store_trial *trial, void *context,
                                                   evocc_error *error),
                              void *context, evocc_error *error);

/* ---- The measurements behind the numbers ----------------------------------------------------- */

/* What a sample was taken for. The best of many noisy numbers is better than it is, so what was
   looked at in choosing a candidate is kept apart from what its gain is estimated on (stats.h). */
typedef enum store_purpose {
    STORE_FOR_SEARCH,  /* the samples whose median is the trial's metric */
    STORE_FOR_CHOICE,  /* pairs by which the best was chosen among the finalists */
    STORE_FOR_ESTIMATE /* pairs that took no part in any choice */
} store_purpose;
const char *store_purpose_name(store_purpose purpose); /* "search", "choice", "estimate" */

typedef struct store_sample {
    uint64_t trial;
    const char *metric; /* "runtime" */
    store_purpose purpose;
    size_t position; /* from 0 within trial, metric and purpose */
    double baseline; /* the other member of the pair; NAN: not measured in pairs */
    double value;
} store_sample;

/* Writes and commits all of them, or none. One that is there already is EVOCC_DAMAGED. */
evocc_status store_add_samples(store *s, const store_sample *samples, size_t count,
                               evocc_error *error);

/* By trial, metric, purpose and position; the callback as in store_each_trial. */
evocc_status store_each_sample(store *s,
                               evocc_status (*each)(const store_sample *sample, void *context,
                                                    evocc_error *error),
                               void *context, evocc_error *error);

/* ---- Looking after a file -------------------------------------------------------------------- */

/* By name; the callbacks as in store_each_trial. */
evocc_status store_each_setting(store *s,
                                evocc_status (*each)(const char *name, const char *value,
                                                     void *context, evocc_error *error),
                                void *context, evocc_error *error);
evocc_status store_each_artifact(store *s,
                                 evocc_status (*each)(const char *name, uint64_t bytes,
                                                      void *context, evocc_error *error),
                                 void *context, evocc_error *error);

/* Bytes on disk now, the log of the last writes included. */
uint64_t store_bytes(const store *s);

/* No error when it is not there. The file keeps its size until store_compact. */
evocc_status store_drop_artifact(store *s, const char *name, evocc_error *error);

/* Gives unused space back to the file system; needs as much again while it works. */
evocc_status store_compact(store *s, evocc_error *error);

#endif
