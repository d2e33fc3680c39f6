/* What the tests of this room share: small spaces, and a search driven by a function. */
#ifndef TESTS_SEARCH_SUPPORT_H
#define TESTS_SEARCH_SUPPORT_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "search/search.h"
#include "util/mem.h"

#include <stdio.h>
#include <string.h>

static inline void assert_status(evocc_status got, evocc_status wanted, const evocc_error *error)
{
    if (got != wanted) {
        print_error("status %s, not %s: %s\n", evocc_status_name(got), evocc_status_name(wanted),
                    got == EVOCC_OK ? "" : error->message);
    }
    assert_int_equal(got, wanted);
}

/* `count` integers 0 .. size-1, default 0. */
static inline evocc_space *integer_space(size_t count, int64_t size)
{
    evocc_error error;
    evocc_space *space;
    assert_status(space_new(&space, &error), EVOCC_OK, &error);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%zu", i);
        space_control c = {.stage = SPACE_STAGE_DEFINE,
                           .name = name,
                           .kind = SPACE_INT,
                           .high = size - 1,
                           .step = 1,
                           .default_index = 0,
                           .parent = SPACE_ABSENT};
        assert_status(space_add(space, &c, &error), EVOCC_OK, &error);
    }
    assert_status(space_finish(space, &error), EVOCC_OK, &error);
    return space;
}

static inline int32_t gene_value(const int32_t *genes, size_t index)
{
    return genes[index] == SPACE_ABSENT ? 0 : genes[index];
}

static inline evocc_search *search_over(const evocc_space *space, size_t objective_count,
                                        uint64_t seed, size_t generations)
{
    static const search_objective objectives[16];
    search_options options = {.seed = seed,
                              .generations = generations,
                              .objectives = objectives,
                              .objective_count = objective_count};
    evocc_error error;
    evocc_search *search;
    assert_status(search_new(&search, space, &options, &error), EVOCC_OK, &error);
    return search;
}

#endif
