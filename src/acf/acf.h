/*
 * acf: the advanced controls file. May use util, space, ptx; never a compiler, a process or the
 * network. Text, YAML, ASCII, made to be committed and read in a diff; applied whole or not at all;
 * untrusted until checked. docs/acf.md is the format, for people who read or write it elsewhere.
 *
 * Two walls stand between a file from elsewhere and a command line. acf_read admits only texts made
 * of harmless characters (rules.h). acf_genes admits only controls of a known space with values
 * inside their domains: what is rendered later comes from the space, never from the file.
 */
#ifndef ACF_ACF_H
#define ACF_ACF_H

#include "space/space.h"
#include "util/strbuf.h"

/* A study of a whole module, with controls of all its entries. */
#define ACF_ALL_KERNELS "*"

/* What a file is for, and what a compilation at hand is. Any field that differs: not this one. */
typedef struct acf_target {
    const char *compiler;    /* "ptxas" */
    const char *version;     /* "13.0.88"; NULL or "": unknown, which matches nothing */
    const char *arch;        /* "sm_90a" */
    const char *kernel;      /* the entry the study tuned; NULL when matching: any */
    const char *const *base; /* canonical options that affect code, as compiler/ptxas makes them */
    size_t base_count;
    const char *ptx; /* "evocc-ptx-1:..."; "" of compilers that compile no PTX (acf_is_for_host) */
} acf_target;

typedef struct acf_control {
    const char *full_name; /* "ptxas/register-usage-level", "ptx/order@fa.b4" */
    const char *value;
    int line, column; /* where it stands in the file; 0 when made here */
} acf_control;

/* One metric: what it was and what it became. The rest belongs to metrics that vary from run to run
   (the interval of the speed-up and the pairs it was estimated on); pairs 0: not measured so. */
typedef struct acf_metric {
    const char *name;
    double baseline, tuned;
    double speedup, low, high;
    int64_t pairs;
} acf_metric;

/* All texts live in the object. */
typedef struct acf {
    const char *name;            /* what acf_read was told to call the file; NULL when made here */
    acf_target target;           /* base sorted */
    const acf_control *controls; /* sorted by name */
    size_t control_count;
    const acf_metric *metrics; /* found: */
    size_t metric_count;
    const char *found_extra; /* the rest of `found`, "key: value" lines in order; "" when none */
    char digest[HASH_SHA256_TEXT + 8]; /* "sha256:..." over for and controls */
} acf;

/* Copies everything, sorts, computes the digest. What acf_read would refuse is refused here too
   (EVOCC_INVALID_ARGUMENT), so that a file once written can be read: texts outside their character
   set, no controls, a control given twice, numbers that are not finite. */
evocc_status acf_new(acf **out, const acf *from, evocc_error *error);
void acf_free(acf *file);

/* True when the text begins with the ACF_MAGIC_LENGTH bytes that ours begin with; they are all that
   it looks at. Other files are passed on unread. */
#define ACF_MAGIC "evocc-acf:"
#define ACF_MAGIC_LENGTH (sizeof ACF_MAGIC - 1)
bool acf_is_ours(const char *text, size_t length);

/* gcc, clang: their files are for whatever these compile under the same options; they name no PTX,
   and their kernel is "*". */
bool acf_is_for_host(const char *compiler);

#define ACF_SIZE_LIMIT ((size_t)1 << 20) /* bytes; some 10,000 controls */

/* All or nothing; a rejection names file, line, column and reason: EVOCC_PARSE, EVOCC_UNSUPPORTED
   for a format version that is not ours, EVOCC_DAMAGED when the digest does not fit the contents.
   Checks syntax, ASCII, known keys, sizes and the digest; not yet that the controls exist. */
evocc_status acf_read(acf **out, const char *text, size_t length, const char *name,
                      evocc_error *error);
/* Appends the file's text: stable, one control a line, sorted. Equal objects, equal bytes. */
evocc_status acf_write(strbuf *out, const acf *file, evocc_error *error);

/* EVOCC_OK, or EVOCC_MISMATCH naming the first field that differs and both values. */
evocc_status acf_match(const acf *file, const acf_target *here, evocc_error *error);

/* The file's controls as genes of `space`: unknown controls, values outside their domains, and
   forbidden combinations are refused by name; controls that change numerics are EVOCC_REFUSED
   unless allowed. Genes come back canonical. */
evocc_status acf_genes(int32_t *genes, const acf *file, const evocc_space *space,
                       bool allow_numerics, evocc_error *error);

/* For people: target, gains, each control with its value; with `space` (may be NULL) also its
   default and its help. Appends to `out`, whose sticky failure is the only one. */
void acf_show(strbuf *out, const acf *file, const evocc_space *space);

#endif
