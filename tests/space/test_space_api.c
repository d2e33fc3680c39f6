/* The public functions, as a user of the library calls them: only the public header counts here. */
#include <evocc/evocc.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char yaml[] = "evocc-space: 1\n"
                           "stage: define\n"
                           "controls:\n"
                           "  TILE: {type: pow2, range: [8, 64], default: 16, help: Tile width.}\n"
                           "  MODE: {type: choice, values: [naive, blocked], default: naive}\n"
                           "  PAD: {type: flag, when: {MODE: blocked}}\n"
                           "  SCALE: {type: float, range: [0.5, 2], step: 0.25}\n"
                           "constraints:\n"
                           "  - TILE < 64 or MODE == \"naive\"\n";

static evocc_space *make(void)
{
    evocc_space *space;
    evocc_error error;
    if (evocc_space_parse(&space, yaml, strlen(yaml), "user.yaml", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return space;
}

static void test_listing(void **state)
{
    (void)state;
    evocc_space *space = make();
    char text[8];
    assert_int_equal(evocc_space_count(space), 4);
    assert_string_equal(evocc_space_name(space, 1), "define/MODE");
    assert_null(evocc_space_name(space, 4));
    assert_string_equal(evocc_space_help(space, 0), "Tile width.");
    assert_string_equal(evocc_space_help(space, 1), "");
    assert_null(evocc_space_help(space, 4));
    assert_int_equal(evocc_space_find(space, "SCALE"), 3);
    assert_int_equal(evocc_space_find(space, "define/SCALE"), 3);
    assert_true(evocc_space_find(space, "scale") == (size_t)-1);
    assert_int_equal(evocc_space_value_count(space, 0), 4);
    assert_int_equal(evocc_space_value_count(space, 4), 0);
    assert_int_equal(evocc_space_value_text(text, sizeof text, space, 1, 1), 7);
    assert_string_equal(text, "blocked");
    assert_int_equal(evocc_space_value_text(text, 4, space, 1, 1), 7);
    assert_string_equal(text, "blo");
    assert_int_equal(evocc_space_value_text(NULL, 0, space, 1, 0), 5);
    assert_int_equal(evocc_space_value_text(text, sizeof text, space, 1, EVOCC_ABSENT), 6);
    assert_string_equal(text, "absent");
    assert_true(evocc_space_value_number(space, 3, 1) == 0.75);
    assert_true(isnan(evocc_space_value_number(space, 1, 1)));
    assert_true(isnan(evocc_space_value_number(space, 9, 1)));
    evocc_space_free(space);
    evocc_space_free(NULL);
}

static void test_candidates(void **state)
{
    (void)state;
    evocc_space *space = make();
    evocc_error error;
    int32_t genes[4];
    char text[80];
    double number;
    assert_int_equal(evocc_candidate_parse(genes, space, "define/TILE=32 define/PAD=on", &error),
                     EVOCC_OK);
    assert_int_equal(evocc_candidate_text(text, sizeof text, space, genes), 14);
    assert_string_equal(text, "define/TILE=32"); /* PAD is dormant */
    assert_int_equal(evocc_candidate_number(&number, space, genes, "TILE", &error), EVOCC_OK);
    assert_true(number == 32);
    assert_int_equal(evocc_candidate_number(&number, space, genes, "PAD", &error), EVOCC_OK);
    assert_true(number == 0);
    assert_int_equal(evocc_candidate_number(&number, space, genes, "MODE", &error),
                     EVOCC_UNSUPPORTED);
    assert_string_equal(error.message,
                        "control define/MODE has no number here: its value is a word");
    assert_int_equal(evocc_candidate_number(&number, space, genes, "SCALE", &error),
                     EVOCC_UNSUPPORTED);
    assert_string_equal(error.message,
                        "control define/SCALE has no number here: it is absent and has no default");
    assert_int_equal(evocc_candidate_number(&number, space, genes, "NONE", &error),
                     EVOCC_NOT_FOUND);
    assert_int_equal(evocc_candidate_value(text, sizeof text, space, genes, "MODE", &error),
                     EVOCC_OK);
    assert_string_equal(text, "naive");
    assert_int_equal(evocc_candidate_value(text, 5, space, genes, "MODE", &error),
                     EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "control define/MODE: its value needs 6 bytes");
    assert_int_equal(evocc_candidate_check(space, genes, &error), EVOCC_OK);
    assert_int_equal(
        evocc_candidate_parse(genes, space, "define/TILE=64 define/MODE=blocked", &error),
        EVOCC_OK);
    assert_int_equal(evocc_candidate_check(space, genes, &error), EVOCC_REFUSED);
    assert_string_equal(error.message, "constraint 'TILE < 64 or MODE == \"naive\"' does not hold "
                                       "(define/TILE=64, define/MODE=blocked)");
    assert_int_equal(evocc_candidate_parse(genes, space, "define/TILE=65", NULL),
                     EVOCC_INVALID_ARGUMENT);
    evocc_space_free(space);
}

static void test_loading(void **state)
{
    (void)state;
    evocc_space *space;
    evocc_error error;
    char path[300];
    snprintf(path, sizeof path, "%s/tests/space/user.yaml", EVOCC_SOURCE_DIR);
    if (evocc_space_load(&space, path, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(evocc_space_count(space), 4);
    evocc_space_free(space);
    snprintf(path, sizeof path, "%s/tests/space/none.yaml", EVOCC_SOURCE_DIR);
    assert_int_not_equal(evocc_space_load(&space, path, &error), EVOCC_OK);
    assert_null(space);
    assert_non_null(strstr(error.message, "none.yaml"));
    assert_int_not_equal(evocc_space_load(&space, EVOCC_SOURCE_DIR, &error), EVOCC_OK);
    assert_null(space);
    assert_int_equal(evocc_space_parse(&space, "a: [", 4, "bad.yaml", &error), EVOCC_PARSE);
    assert_null(space);
    assert_memory_equal(error.message, "bad.yaml:", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_loading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
