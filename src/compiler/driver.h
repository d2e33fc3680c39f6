/*
 * driver.h: what gcc and clang share: a driver that names its version and target, a command line
 * of the same make (clang follows gcc's: clang "Clang command line argument reference"), options
 * that come in pairs (-fNAME, -fno-NAME), and the last one wins.
 */
#ifndef COMPILER_DRIVER_H
#define COMPILER_DRIVER_H

#include "compiler/compiler.h"

/* Version and target triple, cached under the identity of the file that `path` leads to. The path
   stays as given: drivers act by the name they are called by (ccache, clang++). EVOCC_PROCESS when
   it cannot be run or is another compiler than `name` ("gcc", "clang"). */
evocc_status driver_identify(compiler_identity *out, launcher *l, const char *path,
                             const char *name, evocc_error *error);

/*
 * Appends the words for one value. Blanks in the option's template part words; "{}" becomes the
 * value, but for a bool without '=' before it, where it becomes "" or "no-" ("-f{}ipa-cp").
 */
void driver_render_value(compiler_command *command, const space_control *control, int32_t index);

/* Of all controls of this stage that are not absent. */
void driver_render(compiler_command *command, space_stage stage, const evocc_space *space,
                   const int32_t *genes);

/* As compiler.read_command. Understood are commands that compile at least one source file to
   machine code; `why_not` of the others says what they do instead. */
evocc_status driver_read_command(compiler_invocation *out, int argc, char *const *argv,
                                 evocc_error *error);

/* What an option decides, without its value: "-O", "-fipa-cp" of "-fno-ipa-cp", "-march",
   "--param=max-unroll-times". Two words with equal keys override each other. False: this word does
   not concern the machine code. `next`: the word behind it, for "--param X" and its like. */
bool driver_option_key(strbuf *out, const char *word, const char *next);

/* True when one of the user's own words decides what this control would. */
bool driver_is_in_base(const space_control *control, char *const *base, size_t base_count);

/* The last value of -O ("3" of -O3, "1" of -O), "0" when there is none. Borrowed or static. */
const char *driver_opt_level(char *const *base, size_t base_count);

/* Marks the controls that this compiler does not take, or warns of, beside the user's own options
   (builds with -Werror must not break). `l` is idle. */
evocc_status driver_probe(bool *rejected, const evocc_space *space, launcher *l,
                          const compiler_identity *identity, char *const *base, size_t base_count,
                          evocc_error *error);

/* Everything that what was learned under these options depends on, as a key of the cache. mem_free;
   NULL when out of memory. */
char *driver_cache_key(const compiler_identity *identity, char *const *base, size_t base_count,
                       uint64_t version);

#endif
