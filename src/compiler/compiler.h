/*
 * compiler: what each compiler is, how it is found, told and read. One file a compiler, each a
 * const vtable. May use util, space, ptx, acf.
 */
#ifndef COMPILER_COMPILER_H
#define COMPILER_COMPILER_H

#include "space/space.h"
#include "util/launcher.h"

/* Who a compiler is; two with equal path, size, mtime and version are the same. */
typedef struct compiler_identity {
    char *path;         /* absolute, resolved */
    char *version;      /* "13.0.88"; "" when the version text was not understood */
    char *version_text; /* last lines of --version, one line */
    uint64_t size_bytes;
    int64_t modified_ns;
    int max_ptx_version; /* newest PTX it reads, 90 for 9.0; 0: not a PTX compiler or unknown */
    char *archs;        /* space-separated targets it accepts: "sm_75 sm_80 ..."; "" when unknown */
    char *default_arch; /* what it compiles for when not told; "" when unknown */
} compiler_identity;
void compiler_identity_dispose(compiler_identity *identity);

/* False when the compiler listed its targets and this is none of them. */
bool compiler_accepts_arch(const compiler_identity *identity, const char *arch);

/* What one compilation told about one entry, or about one device function that it did not inline
   (is_function; only its stack frame and spills are told). Negative: the compiler did not say. */
typedef struct compiler_entry_stats {
    char *entry;
    bool is_function;
    double registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes, barriers;
} compiler_entry_stats;

typedef struct compiler_stats {
    compiler_entry_stats *entries;
    size_t count;
} compiler_stats;
void compiler_stats_dispose(compiler_stats *stats);
/* The entry of this name, never a function. */
const compiler_entry_stats *compiler_stats_find(const compiler_stats *stats, const char *entry);

/* The words of one command line, grown as needed. argv is NULL-terminated. Zero-initialised: empty.
 */
typedef struct compiler_command {
    char **argv;
    size_t count, capacity;
    bool failed; /* sticky: out of memory */
} compiler_command;
void compiler_command_add(compiler_command *command, const char *word);
void compiler_command_dispose(compiler_command *command);
/* As typed into a shell. */
void compiler_command_text(strbuf *out, const compiler_command *command);

/* A command line of the user's, read: what is needed to stand in for it. */
typedef struct compiler_invocation {
    bool understood; /* false: pass everything through untouched; `why_not` says why */
    char why_not[160];
    const char *input;  /* the one input file; borrowed from argv */
    const char *output; /* as given; NULL: the compiler's default */
    char *arch;         /* "" when not given: then it is the identity's default_arch */
    char **base;        /* canonical options that affect code, defaults dropped, sorted */
    size_t base_count;
    size_t input_index; /* argv index of the input file */
} compiler_invocation;
void compiler_invocation_dispose(compiler_invocation *invocation);

typedef struct compiler {
    const char *name; /* "ptxas" */
    space_stage stage;

    /* Version, targets, newest PTX; cached under the identity in the user's cache folder (not for
       scripts: what they call may change). `l` may be NULL here and in make_space: a launcher is
       then started if the cache does not know the answer. Nothing may be in flight. */
    evocc_status (*identify)(compiler_identity *out, launcher *l, const char *path,
                             evocc_error *error);

    /* The built-in space less what this compiler rejects, probed for `arch`; cached like identify.
       Left out, too: controls that are off by themselves (off_because), and those whose option is
       among the user's own `base` words, in whatever form. Controls that change numerics stay in:
       the caller decides. Not finished. */
    evocc_status (*make_space)(evocc_space **out, launcher *l, const compiler_identity *identity,
                               const char *arch, char *const *base, size_t base_count,
                               evocc_error *error);

    /* Appends the words for the controls of this stage. */
    void (*render)(compiler_command *command, const evocc_space *space, const int32_t *genes);

    /* Statistics of a finished compilation, field by field; what is not there stays unknown. */
    evocc_status (*read_stats)(compiler_stats *out, const char *output, const char *errors,
                               evocc_error *error);

    /* argv without argv[0] and without words of ours. */
    evocc_status (*read_command)(compiler_invocation *out, int argc, char *const *argv,
                                 evocc_error *error);
} compiler;

extern const compiler compiler_ptxas, compiler_gcc, compiler_clang;

/* By name; NULL when there is none. */
const compiler *compiler_by_name(const char *name);

/* The real compiler: `given` (may be NULL), EVOCC_REAL_<NAME>, CUDA_HOME/bin, PATH without
   ourselves: what was typed goes before what is set. The error says where it looked and what to do.
   mem_free. */
evocc_status compiler_find(char **out, const char *name, const char *given, evocc_error *error);

/* ---- cubin.c --------------------------------------------------------------------------------- */

typedef struct cubin_info {
    double code_bytes;           /* of the entry's .text section */
    char hash[HASH_SHA256_TEXT]; /* of all loaded sections: text, constants, initialisers,
                                    relocations, launch properties; no paths, times, debug */
} cubin_info;

/* `data`: a cubin (ELF). EVOCC_PARSE when it is none; EVOCC_NOT_FOUND when the entry is missing.
   entry NULL: code_bytes summed over all entries. */
evocc_status cubin_read(cubin_info *out, const void *data, size_t length, const char *entry,
                        evocc_error *error);

#endif
