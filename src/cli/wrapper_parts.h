/* wrapper_parts.h: the pieces of the wrapper, in the order in which they act. Internal to
 * wrapper*.c. */
#ifndef CLI_WRAPPER_PARTS_H
#define CLI_WRAPPER_PARTS_H

#include "acf/acf.h"
#include "compiler/compiler.h"

/* ---- wrapper_words.c: what was typed -----------------------------------------------------------
 */

typedef struct wrapper_words {
    const char **files; /* of --apply-controls, in order; borrowed from argv */
    size_t file_count;
    bool error_on_mismatch, strict, allow_numerics;
    char **rest; /* the compiler's own words, NULL-terminated; borrowed from argv */
    size_t rest_count;
    char **handed; /* the same with the words of --apply-controls in place */
    size_t handed_count;
} wrapper_words;

/* EVOCC_INVALID_ARGUMENT when a word of ours lacks its value or has one it cannot have. */
evocc_status wrapper_words_read(wrapper_words *out, int argc, char **argv, evocc_error *error);
void wrapper_words_dispose(wrapper_words *words);

/* A call that only asks: for the version, the help, the targets. */
bool wrapper_words_only_ask(const wrapper_words *words);

/* ---- wrapper_plan.c: the tuned command ----------------------------------------------------------
 */

/* Everything that is needed to compile with the controls of one file. Zero-initialised is empty. */
typedef struct wrapper_plan {
    compiler_invocation invocation; /* borrows from the words */
    strbuf ptx;                     /* rewritten */
    compiler_command rendered;      /* words for the controls of the compiler's own stage */
} wrapper_plan;

/* Checks that the file is for this very compilation and that its controls exist, and carries out
   those of PTX. What keeps the file from being applied is the error; EVOCC_MISMATCH and the like
   are no failure of the build. Reads no PTX when compiler, version, arch or options differ. `out`
   is to be disposed of in any case; its invocation is filled as far as the command was understood.
 */
evocc_status wrapper_plan_make(wrapper_plan *out, const compiler *which, const char *real,
                               const wrapper_words *words, const acf *file, evocc_error *error);
void wrapper_plan_dispose(wrapper_plan *plan);

/* ---- wrapper_host.c: the tuned command of gcc and clang -----------------------------------------
 */

/* The user's words, then those of the file's controls. What keeps the file from being applied is
   the error, as with wrapper_plan_make; where the command makes no machine code, `invocation` is
   not understood. Both are to be disposed of in any case. */
evocc_status wrapper_host_command(compiler_command *out, compiler_invocation *invocation,
                                  const compiler *which, const char *real,
                                  const wrapper_words *words, const acf *file, evocc_error *error);

/* ---- wrapper_run.c: running it
 * ------------------------------------------------------------------- */

/* Compiles from memory into memory; on success puts the output in place at once, whole, and shows
   what the compiler printed. On failure nothing is shown or written and the error has the reason.
   A signal that ends the compilation ends this process the same way. */
evocc_status wrapper_run(const wrapper_plan *plan, const char *real, const wrapper_words *words,
                         evocc_error *error);

/* Runs a command that writes its output itself; shows what it printed when it succeeds. Failures
   and signals as wrapper_run. */
evocc_status wrapper_run_whole(const compiler_command *command, evocc_error *error);

/* ---- wrapper_log.c ------------------------------------------------------------------------------
 */

/* Appends one line in one write; the file is kept below two megabytes; failure is ignored. */
void wrapper_log(const char *event, const char *acf_path, const char *input, const char *message);

#endif
