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

#endif
