/* What the tests of this room share: a scratch folder and statuses with their messages. */
#ifndef TESTS_STUDY_SUPPORT_H
#define TESTS_STUDY_SUPPORT_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <string.h>

static char *folder;

static inline int make_folder(void **state)
{
    (void)state;
    evocc_error error;
    return folder_temporary(&folder, &error) == EVOCC_OK ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    folder_remove(folder);
    mem_free(folder);
    return 0;
}

/* Valid until the next call. */
static inline const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void assert_status(evocc_status got, evocc_status wanted, const evocc_error *error)
{
    if (got != wanted) {
        print_error("status %s, not %s: %s\n", evocc_status_name(got), evocc_status_name(wanted),
                    got == EVOCC_OK ? "" : error->message);
    }
    assert_int_equal(got, wanted);
}

static inline void assert_says(const evocc_error *error, const char *words)
{
    if (strstr(error->message, words) == NULL) {
        print_error("'%s' does not say '%s'\n", error->message, words);
    }
    assert_non_null(strstr(error->message, words));
}

#endif
