/* What the tests of this room share: modules from text and from files, rewriting, a small kernel.
 */
#ifndef TESTS_PTX_HELPERS_H
#define TESTS_PTX_HELPERS_H

#include "ptx/module.h"
#include "ptx/ptx.h"
#include "util/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define EXAMPLE_COUNT 4
extern const char *const example_paths[EXAMPLE_COUNT];

/* A file's text; `path` relative to the source tree. mem_free. */
char *text_of_file(const char *path, size_t *length);

/* Fails the test with the message when the text is refused. */
ptx_module *module_of(const char *text);
ptx_module *module_of_file(const char *path);

/* Asserts that the text is refused with exactly this message. */
void assert_refused(const char *text, const char *message);

/* A kernel "k" with registers %r, %rd, %f, %p, %h of 0..31, arrays `s` (shared), `g` (global), `c`
   (const), a label `DONE` and this body before it. mem_free. */
char *kernel_of(const char *body);

/* The text after one setting; fails the test when it is refused. mem_free. */
char *rewritten(const ptx_module *module, const char *name, const char *value);

/* The real ptxas, or NULL: EVOCC_REAL_PTXAS, CUDA_HOME/bin, PATH. */
const char *find_ptxas(void);

/* Compiles for `arch`; true when it exits 0. Spilled bytes (stores and loads) and registers, summed
   over the entries, when not NULL. `message` gets what it said. */
bool run_ptxas(const char *text, const char *arch, long *spilled_bytes, long *registers,
               char message[4096]);

#endif
