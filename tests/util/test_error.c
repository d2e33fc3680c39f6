#include "unit.h"

#include "util/error.h"

#include <errno.h>
#include <string.h>

static void one_line(void **state)
{
    (void)state;
    evocc_error error;
    assert_int_equal(error_set(&error, EVOCC_PARSE, "a\nb\x01%s", "\x1b[1m"), EVOCC_PARSE);
    assert_int_equal(error.status, EVOCC_PARSE);
    assert_int_equal(error.os_errno, 0);
    assert_string_equal(error.message, "a b??[1m");
}

static void without_an_error(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, EVOCC_IO, "x"), EVOCC_IO);
    assert_int_equal(error_set_os(NULL, EVOCC_IO, ENOSPC, "x"), EVOCC_IO);
    assert_int_equal(error_no_memory(NULL), EVOCC_NO_MEMORY);
    error_prefix(NULL, "x");
}

static void errno_in_words(void **state)
{
    (void)state;
    evocc_error error;
    error_set_os(&error, EVOCC_IO, ENOSPC, "cannot write '%s'", "best.acf");
    assert_int_equal(error.os_errno, ENOSPC);
    assert_string_equal(error.message, "cannot write 'best.acf': No space left on device");
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    evocc_error error;
    char text[2 * EVOCC_ERROR_SIZE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set_os(&error, EVOCC_IO, ENOSPC, "%s", text);
    assert_int_equal(strlen(error.message), EVOCC_ERROR_SIZE - 1);
    error_prefix(&error, "%s", text);
    assert_int_equal(strlen(error.message), EVOCC_ERROR_SIZE - 1);
}

static void prefix_goes_before(void **state)
{
    (void)state;
    evocc_error error;
    error_set(&error, EVOCC_IO, "inner");
    error_prefix(&error, "outer %d", 1);
    assert_string_equal(error.message, "outer 1: inner");
    assert_int_equal(error.status, EVOCC_IO);
}

/* The numbers are part of the ABI. */
static void names_of_statuses(void **state)
{
    (void)state;
    static const char *const names[] = {"ok",          "invalid_argument", "no_memory", "io",
                                        "parse",       "not_found",        "mismatch",  "busy",
                                        "damaged",     "unsupported",      "process",   "timeout",
                                        "interrupted", "exhausted",        "wait",      "done",
                                        "refused"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_string_equal(evocc_status_name((evocc_status)(-(int)i)), names[i]);
    }
    assert_string_equal(evocc_status_name((evocc_status)-1000), "unknown");
}

static void names_of_outcomes(void **state)
{
    (void)state;
    for (int i = 0; i < EVOCC_OUTCOME_COUNT; i++) {
        evocc_outcome back;
        const char *name = evocc_outcome_name((evocc_outcome)i);
        assert_non_null(name);
        assert_int_equal(evocc_outcome_parse(&back, name, NULL), EVOCC_OK);
        assert_int_equal(back, i);
    }
    assert_null(evocc_outcome_name((evocc_outcome)EVOCC_OUTCOME_COUNT));
    assert_null(evocc_outcome_name((evocc_outcome)-1));
    evocc_error error;
    evocc_outcome unchanged = EVOCC_OUTCOME_UNSTABLE;
    assert_int_equal(evocc_outcome_parse(&unchanged, "fine", &error), EVOCC_PARSE);
    assert_int_equal(unchanged, EVOCC_OUTCOME_UNSTABLE);
    assert_string_equal(error.message, "no outcome is called 'fine'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line),           cmocka_unit_test(without_an_error),
        cmocka_unit_test(errno_in_words),     cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(prefix_goes_before), cmocka_unit_test(names_of_statuses),
        cmocka_unit_test(names_of_outcomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
