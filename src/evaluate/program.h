/*
 * program.h: a program as its file describes it (docs/program.md): how it is built, run and
 * checked. Words of commands are kept as they are; no shell ever sees them.
 */
#ifndef EVALUATE_PROGRAM_H
#define EVALUATE_PROGRAM_H

#include "compiler/compiler.h"
#include "util/mem.h"

typedef struct program_words {
    const char *const *items; /* NULL-terminated */
    size_t count;
} program_words;

typedef struct program {
    arena texts;               /* all that follows lives there */
    const char *path, *folder; /* of the file; the folder absolute */
    const char *compiler;      /* "gcc", "clang" */
    const char *compiler_path; /* NULL: found as compiler_find does */
    program_words base;        /* the user's own options */
    const program_words *build;
    size_t build_count;
    program_words run;         /* count 0: it is only compiled */
    program_words environment; /* all of it, "NAME=value"; count 0: this process's own */
    const char *input;         /* for stdin; NULL: none */
    size_t input_length;
    program_words outputs; /* files to compare */
    bool compare_stdout;
    program_words code;     /* files whose code counts */
    const char *score;      /* the number behind this text on stdout; NULL: none */
    double tolerance;       /* relative, of numbers in the outputs; 0: byte for byte */
    double timeout_s;       /* of one run; 0: ten times the baseline's */
    double build_timeout_s; /* of one command; 0: ten times the baseline's, at least a minute */
    size_t repeats;         /* pairs of one candidate during the search */
    bool cpu_clock;         /* runtime is user and system time, not wall time */
    char digest[HASH_SHA256_TEXT]; /* of the file and the sources and inputs that it names */
} program;

/* True when the file says that it describes a program; false also when it cannot be read. */
bool program_is_one(const char *path);

/* The error has file, line and column. */
evocc_status program_read(program **out, const char *path, evocc_error *error);
void program_free(program *p);

/* A build command of one candidate: "{options}" becomes base and `tuned`, "{compiler}" the path. */
void program_build_command(compiler_command *out, const program *p, size_t step,
                           const char *compiler_path, const compiler_command *tuned);

/* Whether two outputs are the same: byte for byte, or with a tolerance word for word, numbers
   within it. `why` (of `size` bytes) says where they differ. */
bool program_output_equal(const program *p, const char *name, const char *expected,
                          size_t expected_length, const char *got, size_t got_length, char *why,
                          size_t size);

/* The number behind p->score; NAN when it is not there. */
double program_score(const program *p, const char *output);

#endif
