/* applied.h: an ACF beside the kernel it is for, ready to be compiled with and without it; for the
   commands that look at an ACF again (explain, minimize, validate). */
#ifndef CLI_APPLIED_H
#define CLI_APPLIED_H

#include "acf/acf.h"
#include "study/study.h"

typedef struct applied {
    acf *file;
    study *study;    /* a preview: arch, kernel and options are the file's */
    char *candidate; /* the file's controls as a candidate's text */
    char *ptx;       /* the input */
    size_t ptx_length;
    char version[64];       /* of the ptxas here */
    char differences[1024]; /* "version is 13.1.0, was 13.0.88; ..."; "" when nothing differs */
} applied;

typedef struct applied_options {
    const char *acf_path, *input_path;
    const char *ptxas; /* NULL: found as compiler_find does */
    const objective_list *objectives;
    bool allow_numerics;
    bool any_version; /* another version of the compiler is a difference, not an error */
} applied_options;

/* EVOCC_MISMATCH when the file is for other PTX (or, unless any_version, another compiler): its
   controls then name other places. On failure nothing has to be released but by applied_dispose. */
evocc_status applied_open(applied *out, const applied_options *options, evocc_error *error);
void applied_dispose(applied *a);

/* The objectives that the file's study had, from its `found`; spill_bytes and code_bytes for a file
   that does not say. */
evocc_status applied_objectives(objective_list *out, const acf *file, evocc_error *error);

evocc_status applied_read(acf **out, const char *path, evocc_error *error);

#endif
