/*
 * evocc: evolutionary search over the decisions of a compiler.
 *
 * The only installed header. Everything here is C17 with no dependency beyond the C library.
 *
 * Conventions
 *   Functions that can fail return an evocc_status and take an optional evocc_error last; NULL is
 *   allowed there. A failed call leaves its objects as they were. `T **out` belongs to the caller,
 *   who releases it with the matching _free; a returned `const T *` is borrowed. _free takes NULL.
 *   Objects may be used from one thread at a time; different objects are independent.
 */
#ifndef EVOCC_EVOCC_H
#define EVOCC_EVOCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EVOCC_API __attribute__((visibility("default")))
#define EVOCC_PRINTF(string, first) __attribute__((__format__(__printf__, string, first)))
#else
#define EVOCC_API
#define EVOCC_PRINTF(string, first)
#endif

#define EVOCC_VERSION_MAJOR 0
#define EVOCC_VERSION_MINOR 1
#define EVOCC_VERSION_PATCH 0

/* "0.1.0": the version of the library at run time. */
EVOCC_API const char *evocc_version(void);

/* ---- Errors ------------------------------------------------------------------------------ */

/* Results of calls. The values are part of the ABI and never change their meaning. */
typedef enum evocc_status {
    EVOCC_OK = 0,
    EVOCC_INVALID_ARGUMENT = -1, /* the caller asked for something that cannot be */
    EVOCC_NO_MEMORY = -2,
    EVOCC_IO = -3,        /* a system call failed; os_errno says how */
    EVOCC_PARSE = -4,     /* a text is not what it should be; message has line and column */
    EVOCC_NOT_FOUND = -5, /* no such file, program, entry, control */
    EVOCC_MISMATCH = -6,  /* an ACF or a study belongs to something else; message names the field */
    EVOCC_BUSY = -7,      /* locked by another process */
    EVOCC_DAMAGED = -8,   /* a file's contents contradict themselves */
    EVOCC_UNSUPPORTED = -9, /* understood, but not possible here */
    EVOCC_PROCESS = -10,    /* a program could not be started or failed */
    EVOCC_TIMEOUT = -11,
    EVOCC_INTERRUPTED = -12, /* stopped by a signal or by the caller */
    EVOCC_EXHAUSTED = -13,   /* the space holds no further candidate */
    EVOCC_WAIT = -14,        /* answers to earlier candidates are needed first */
    EVOCC_DONE = -15,        /* the search has spent its budget */
    EVOCC_REFUSED = -16      /* forbidden by a rule of safety; message names the rule */
} evocc_status;

/* "no_memory" for EVOCC_NO_MEMORY; never NULL. Lives forever. */
EVOCC_API const char *evocc_status_name(evocc_status status);

#define EVOCC_ERROR_SIZE 1024

/* Why a call failed: one line that names the object. Needs no initialisation and no release. */
typedef struct evocc_error {
    evocc_status status;
    int os_errno; /* 0 unless status is EVOCC_IO or EVOCC_PROCESS */
    char message[EVOCC_ERROR_SIZE];
} evocc_error;

/* ---- Outcomes of trials -------------------------------------------------------------------- */

/* What became of one candidate. Only EVOCC_OUTCOME_OK has metrics that count. */
typedef enum evocc_outcome {
    EVOCC_OUTCOME_OK = 0,
    EVOCC_OUTCOME_REJECTED = 1, /* a constraint or a rule forbids it */
    EVOCC_OUTCOME_COMPILE_FAILED = 2,
    EVOCC_OUTCOME_COMPILE_TIMEOUT = 3,
    EVOCC_OUTCOME_COMPILER_CRASHED = 4,
    EVOCC_OUTCOME_OUT_OF_MEMORY = 5,
    EVOCC_OUTCOME_LAUNCH_FAILED = 6,
    EVOCC_OUTCOME_RUN_TIMEOUT = 7,
    EVOCC_OUTCOME_GPU_FAULT = 8,
    EVOCC_OUTCOME_WRONG_OUTPUT = 9,
    EVOCC_OUTCOME_UNSTABLE = 10,
    EVOCC_OUTCOME_CANCELLED = 11
} evocc_outcome;
#define EVOCC_OUTCOME_COUNT 12

/* "compile_failed" and back. The name is NULL for no outcome; parsing fails with EVOCC_PARSE. */
EVOCC_API const char *evocc_outcome_name(evocc_outcome outcome);
EVOCC_API evocc_status evocc_outcome_parse(evocc_outcome *out, const char *name,
                                           evocc_error *error);

/* ---- Spaces ---------------------------------------------------------------------------------- */

/*
 * A space: named controls, each with a finite, indexed set of values, and rules over them. It is
 * written as YAML; docs/spaces.md has the format.
 *
 * A candidate is an array of evocc_space_count() genes: gene i is the index of a value of control
 * i, or EVOCC_ABSENT where the control is at its default. The value that then counts is the
 * default; the functions below look it up.
 *
 * Names may be full ("define/tile") or, where only one control has it, without the stage ("tile").
 * A space is constant; several threads may read it at once, except through evocc_candidate_check
 * and searches over it, which need it for themselves.
 */
typedef struct evocc_space evocc_space;

#define EVOCC_ABSENT (-1)

/* `name` is what messages call the text: "NAME:12:3: ...". EVOCC_PARSE: line, column and reason. */
EVOCC_API evocc_status evocc_space_parse(evocc_space **out, const char *text, size_t length,
                                         const char *name, evocc_error *error);
EVOCC_API evocc_status evocc_space_load(evocc_space **out, const char *path, evocc_error *error);
EVOCC_API void evocc_space_free(evocc_space *space);

EVOCC_API size_t evocc_space_count(const evocc_space *space);
/* Index of a control; (size_t)-1 when there is none of that name, or more than one. */
EVOCC_API size_t evocc_space_find(const evocc_space *space, const char *name);
/* Full name, and help ("" when the file has none); NULL beyond the last. Live as long as the space.
 */
EVOCC_API const char *evocc_space_name(const evocc_space *space, size_t control);
EVOCC_API const char *evocc_space_help(const evocc_space *space, size_t control);
EVOCC_API size_t evocc_space_value_count(const evocc_space *space, size_t control);

/* The text of a value ("absent" for EVOCC_ABSENT), cut off after size - 1 bytes and always ended by
   a NUL unless size is 0. Returns the whole length; (size_t)-1 when out of memory. */
EVOCC_API size_t evocc_space_value_text(char *out, size_t size, const evocc_space *space,
                                        size_t control, int32_t value);
/* Numbers as they are, booleans and flags as 0 and 1; NaN for words and for EVOCC_ABSENT. */
EVOCC_API double evocc_space_value_number(const evocc_space *space, size_t control, int32_t value);

/* The value a control has in a candidate, defaults included. EVOCC_NOT_FOUND: no such control;
   EVOCC_UNSUPPORTED: a word, or absent without a default; EVOCC_INVALID_ARGUMENT: size too small.
 */
EVOCC_API evocc_status evocc_candidate_number(double *out, const evocc_space *space,
                                              const int32_t *genes, const char *name,
                                              evocc_error *error);
EVOCC_API evocc_status evocc_candidate_value(char *out, size_t size, const evocc_space *space,
                                             const int32_t *genes, const char *name,
                                             evocc_error *error);

/* "define/tile=32 define/unroll=4": what differs from the defaults; sizes as
   evocc_space_value_text. And back: genes come out in canonical form. */
EVOCC_API size_t evocc_candidate_text(char *out, size_t size, const evocc_space *space,
                                      const int32_t *genes);
EVOCC_API evocc_status evocc_candidate_parse(int32_t *genes, const evocc_space *space,
                                             const char *text, evocc_error *error);

/* EVOCC_OK, or EVOCC_REFUSED naming the rule of the space that forbids the candidate. */
EVOCC_API evocc_status evocc_candidate_check(const evocc_space *space, const int32_t *genes,
                                             evocc_error *error);

#ifdef __cplusplus
}
#endif
#endif
