#include "helpers.h"

#include <math.h>
#include <stdio.h>

static space_control control(space_kind kind)
{
    return (space_control){.stage = SPACE_STAGE_DEFINE,
                           .name = "c",
                           .kind = kind,
                           .default_index = SPACE_ABSENT,
                           .parent = SPACE_ABSENT};
}

/* Adds a control to a space of its own; the caller frees the space. */
static const space_control *added(evocc_space **space, space_control c)
{
    evocc_error error;
    assert_int_equal(space_new(space, NULL), EVOCC_OK);
    if (space_add(*space, &c, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return space_get(*space, 0);
}

static void assert_values(space_control c, const char *expected)
{
    evocc_space *space;
    const space_control *made = added(&space, c);
    strbuf text = {0};
    for (int32_t i = 0; i < made->size; i++) {
        strbuf_puts(&text, i == 0 ? "" : " ");
        space_value_text(&text, made, i);
    }
    assert_string_equal(strbuf_text(&text), expected);
    for (int32_t i = 0; i < made->size; i++) {
        int32_t back = -7;
        strbuf_clear(&text);
        space_value_text(&text, made, i);
        assert_int_equal(space_value_parse(&back, made, strbuf_text(&text), NULL), EVOCC_OK);
        assert_int_equal(back, i);
    }
    strbuf_dispose(&text);
    space_free(space);
}

static void assert_invalid(space_control c, const char *message)
{
    evocc_space *space;
    evocc_error error;
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    assert_int_equal(space_add(space, &c, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, message);
    assert_int_equal(space_count(space), 0);
    space_free(space);
}

static void test_words(void **state)
{
    (void)state;
    assert_values(control(SPACE_FLAG), "on");
    assert_values(control(SPACE_BOOL), "false true");
    const char *const words[] = {"late", "24", "a=b"};
    space_control c = control(SPACE_CHOICE);
    c.choices = words;
    c.size = 3;
    assert_values(c, "late 24 a=b");
    c.size = 0;
    assert_invalid(c, "control c: a choice needs at least one value");
    const char *const twice[] = {"x", "y", "x"};
    c.size = 3;
    c.choices = twice;
    assert_invalid(c, "control c: value 'x' is there twice");
    const char *const bad[] = {"two words", "absent", "", "caf\xc3\xa9"};
    for (size_t i = 0; i < 4; i++) {
        char message[200];
        c.size = 1;
        c.choices = bad + i;
        snprintf(message, sizeof message,
                 "control c: '%s' cannot be a value: values are ASCII words without spaces, other "
                 "than 'absent'",
                 bad[i]);
        assert_invalid(c, message);
    }
}

static void test_integers(void **state)
{
    (void)state;
    space_control c = control(SPACE_INT);
    c.low = -5;
    c.high = 9;
    c.step = 4;
    assert_values(c, "-5 -1 3 7");
    c.step = 0;
    c.high = -4;
    assert_values(c, "-5 -4");
    c.low = INT64_MIN;
    c.high = INT64_MAX;
    c.step = INT64_MAX;
    assert_values(c, "-9223372036854775808 -1 9223372036854775806");
    c.step = 1;
    assert_invalid(c, "control c: the range has too many values; use a larger step");
    c.low = 3;
    c.high = 2;
    assert_invalid(c, "control c: the range needs low <= high and a positive step");
    c.high = 9;
    c.step = -1;
    assert_invalid(c, "control c: the range needs low <= high and a positive step");
    c.low = 0;
    c.step = 1;
    c.high = INT32_MAX - 2; /* the largest domain there may be */
    evocc_space *space;
    assert_int_equal(added(&space, c)->size, INT32_MAX - 1);
    int32_t index;
    assert_int_equal(space_value_parse(&index, space_get(space, 0), "2147483645", NULL), EVOCC_OK);
    assert_int_equal(index, 2147483645);
    space_free(space);
}

static void test_powers(void **state)
{
    (void)state;
    space_control c = control(SPACE_POW2);
    c.low = 2;
    c.high = 40;
    assert_values(c, "2 4 8 16 32");
    c.low = 1;
    c.high = INT64_MAX;
    evocc_space *space;
    assert_int_equal(added(&space, c)->size, 63);
    space_free(space);
    c.low = 6;
    assert_invalid(c, "control c: the range needs a power of two as low, and low <= high");
    c.low = 0;
    assert_invalid(c, "control c: the range needs a power of two as low, and low <= high");
}

static void test_floats(void **state)
{
    (void)state;
    space_control c = control(SPACE_FLOAT);
    c.float_low = 0;
    c.float_high = 1;
    c.float_step = 0.1;
    assert_values(c, "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
    c.float_low = -0.3;
    c.float_high = 0.3;
    c.float_step = 0.15;
    assert_values(c, "-0.3 -0.15 0 0.15 0.3");
    c.float_low = 1e-3;
    c.float_high = 1e3;
    c.float_step = 0;
    c.size = 7;
    assert_values(c, "0.001 0.01 0.1 1 10 100 1000");
    c.size = 4;
    c.float_low = 1;
    c.float_high = 10;
    assert_values(c, "1 2.15443469003 4.64158883361 10");
    c.float_low = 1e-150; /* outside what is rounded to decimals: still exact in its text */
    c.float_high = 1e150;
    c.size = 3;
    evocc_space *space;
    const space_control *made = added(&space, c);
    assert_true(fabs(space_value_number(made, 1) - 1) < 1e-12);
    space_free(space);
    c.float_low = 1e-200;
    assert_invalid(c, "control c: a logarithmic range spans more than a double can");
    c.float_low = 0;
    assert_invalid(c, "control c: a logarithmic range needs low > 0 and at least two points");
    c.float_low = 1;
    c.float_high = 1 + 1e-12;
    assert_invalid(c, "control c: a logarithmic range has too many points for its width");
    c.float_step = 1e-14;
    assert_invalid(c, "control c: the step is too small for the range");
    c.float_high = (double)INFINITY;
    assert_invalid(c, "control c: the range needs finite low <= high and a positive step");
}

/* Values of large float domains stay in order, apart from each other, and read back. */
static void test_float_round_trip(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 11);
    for (int round = 0; round < 200; round++) {
        space_control c = control(SPACE_FLOAT);
        double magnitude = pow(10, (double)rng_below(&r, 40) - 15);
        c.float_low = magnitude * (rng_unit(&r) + 1e-3);
        c.float_high = c.float_low * (1.5 + 1000 * rng_unit(&r));
        c.size = 2 + (int32_t)rng_below(&r, 1000);
        if (round % 2 == 0) {
            c.float_step = (c.float_high - c.float_low) / c.size;
        }
        evocc_space *space;
        const space_control *made = added(&space, c);
        strbuf text = {0};
        for (int32_t i = 0; i < made->size; i++) {
            int32_t back = -1;
            strbuf_clear(&text);
            space_value_text(&text, made, i);
            assert_int_equal(space_value_parse(&back, made, strbuf_text(&text), NULL), EVOCC_OK);
            assert_int_equal(back, i);
            assert_true(i == 0 || space_value_number(made, i) > space_value_number(made, i - 1));
        }
        strbuf_dispose(&text);
        space_free(space);
    }
}

/* The bits themselves: these must never differ between machines. Computed once by hand with 50
   digits and rounded to 12 decimal digits. */
static void test_float_bits(void **state)
{
    (void)state;
    space_control c = control(SPACE_FLOAT);
    c.float_low = 0.5;
    c.float_high = 7;
    c.size = 6;
    assert_values(c, "0.5 0.847609101536 1.43688237801 2.43582916288 4.12926193649 7");
}

static void test_parse_refusals(void **state)
{
    (void)state;
    evocc_space *space;
    evocc_error error;
    int32_t index = 5;
    space_control c = control(SPACE_INT);
    c.low = 1;
    c.high = 9;
    c.step = 2;
    const space_control *made = added(&space, c);
    const char *const bad[] = {"2",
                               "11",
                               "-1",
                               "01",
                               "+3",
                               " 3",
                               "3 ",
                               "0x3",
                               "3.0",
                               "3e0",
                               "",
                               "x",
                               "99999999999999999999",
                               "absent"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(space_value_parse(&index, made, bad[i], &error), EVOCC_INVALID_ARGUMENT);
        assert_int_equal(index, 5);
    }
    assert_string_equal(error.message, "control define/c: value 'absent' is not 1, 3, ... 9");
    space_free(space);
    made = added(&space, control(SPACE_BOOL));
    assert_int_equal(space_value_parse(&index, made, "yes", &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "control define/c: value 'yes' is not one of false true");
    space_free(space);
}

static void test_numbers(void **state)
{
    (void)state;
    const char *const words[] = {"late", "-24"};
    space_control c = control(SPACE_CHOICE);
    c.choices = words;
    c.size = 2;
    evocc_space *space;
    const space_control *made = added(&space, c);
    assert_true(isnan(space_value_number(made, 0)));
    assert_true(space_value_number(made, 1) == -24);
    assert_true(isnan(space_value_number(made, SPACE_ABSENT)));
    space_free(space);
    made = added(&space, control(SPACE_FLAG));
    assert_true(space_value_number(made, 0) == 1);
    assert_true(space_value_number(made, SPACE_ABSENT) == 0);
    space_free(space);
}

static void test_controls(void **state)
{
    (void)state;
    space_control c = control(SPACE_BOOL);
    c.default_index = 2;
    assert_invalid(c, "control c: the default is not in the domain");
    c.default_index = 0;
    c.knockout = 1.5;
    assert_invalid(c, "control c: the knock-out probability is not between 0 and 1");
    c.knockout = (double)NAN;
    assert_invalid(c, "control c: the knock-out probability is not between 0 and 1");
    c.knockout = 0;
    c.parent = 0;
    assert_invalid(c, "control c: its parent has not been added before it");
    c.parent = SPACE_ABSENT;
    c.arch = "sm_90";
    assert_invalid(c, "control c: 'sm_90' is no condition on targets, such as '>= sm_100'");
    c.arch = NULL;
    c.name = "a b";
    assert_invalid(c, "control 'a b': names are ASCII without spaces, quotes and '='");
    c.name = "";
    assert_invalid(c, "a control needs a name");
    evocc_space *space;
    evocc_error error;
    c.name = "c";
    added(&space, c);
    assert_int_equal(space_add(space, &c, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "control define/c is there twice");
    c.name = "child";
    c.parent = 0;
    c.kind = SPACE_FLAG;
    assert_int_equal(space_add(space, &c, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(
        error.message,
        "control child: its values and default are not those of its parent define/c");
    assert_int_equal(space_count(space), 1);
    assert_int_equal(space_find(space, "define/c"), 0);
    assert_true(space_find(space, "c") == (size_t)-1);
    space_free(space);
}

static void test_admits(void **state)
{
    (void)state;
    space_control c = control(SPACE_FLAG);
    assert_true(space_control_admits(&c, "13.0.88", "sm_90a"));
    c.since = "12.8";
    c.until = "13.0";
    assert_false(space_control_admits(&c, "9.2", NULL));
    assert_false(space_control_admits(&c, "12.7.99", NULL));
    assert_true(space_control_admits(&c, "12.8", NULL));
    assert_true(space_control_admits(&c, "12.8.93", NULL));
    assert_true(space_control_admits(&c, "13.0.88", NULL));
    assert_false(space_control_admits(&c, "13.1", NULL));
    assert_false(space_control_admits(&c, "13.01", NULL));
    assert_true(space_control_admits(&c, NULL, NULL));
    assert_true(space_control_admits(&c, "", ""));
    c = control(SPACE_FLAG);
    c.arch = ">= sm_100";
    assert_false(space_control_admits(&c, NULL, "sm_90a"));
    assert_true(space_control_admits(&c, NULL, "sm_100a"));
    assert_true(space_control_admits(&c, NULL, "sm_120"));
    c.arch = "<= sm_90";
    assert_true(space_control_admits(&c, NULL, "sm_90a"));
    assert_false(space_control_admits(&c, NULL, "sm_100"));
    c.arch = "== sm_90a";
    assert_true(space_control_admits(&c, NULL, "sm_90a"));
    assert_false(space_control_admits(&c, NULL, "sm_90"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_float_round_trip),
        cmocka_unit_test(test_float_bits),
        cmocka_unit_test(test_parse_refusals),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_admits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
