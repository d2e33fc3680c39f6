/* What the tests of this folder share. */
#ifndef TESTS_COMPILER_SUPPORT_H
#define TESTS_COMPILER_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/compiler.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FIXTURES EVOCC_SOURCE_DIR "/tests/compiler/fixtures/"

/* The whole file; the test fails when there is none. mem_free. */
char *support_read(const char *path, size_t *length);
void support_write(const char *folder, const char *name, const char *text);

/* A ptxas of this machine, or NULL: the test is then skipped and says so. mem_free. */
char *support_real_ptxas(void);
#define SKIP_WITHOUT_PTXAS(path)                         \
    do {                                                 \
        if ((path) == NULL) {                            \
            print_message("no ptxas on this machine\n"); \
            skip();                                      \
        }                                                \
    } while (0)

/* A temporary folder with a fake ptxas in it, and an empty cache folder that XDG_CACHE_HOME names
   from now on. mem_free; support_remove removes it. */
char *support_folder(void);
void support_remove(char *folder);
char *support_fake(const char *folder);                           /* its path; mem_free */
size_t support_count_lines(const char *folder, const char *name); /* 0 when there is no file */

/* argv up to NULL, run in `folder` to its end. */
process_result support_run(const char *folder, const char *const *argv);

#endif
