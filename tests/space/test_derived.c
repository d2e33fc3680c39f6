#include "helpers.h"

#include "space/derived.h"
#include "util/mem.h"

#include <math.h>
#include <stdio.h>

static const char *const metrics[] = {"runtime", "registers", "spill_bytes"};
enum { METRICS = 3 };

static evocc_status add(derived_list *list, const char *definition, evocc_error *error)
{
    return derived_list_add(list, definition, metrics, METRICS, error);
}

static void test_computed_from_metrics_and_from_each_other(void **state)
{
    (void)state;
    derived_list list = {0};
    evocc_error error = {0};
    assert_int_equal(add(&list, "cost = runtime * (registers + 1)", &error), EVOCC_OK);
    assert_int_equal(add(&list, "  doubled=cost * 2", &error), EVOCC_OK);
    double out[2];
    const double values[] = {0.5, 127, 8};
    assert_int_equal(derived_list_values(out, &list, metrics, values, METRICS, &error), EVOCC_OK);
    assert_true(out[0] == 64 && out[1] == 128);
}

/* What is unknown, or gives no number, leaves the trial without this metric and touches no other.
 */
static void test_unknown_is_unknown(void **state)
{
    (void)state;
    derived_list list = {0};
    evocc_error error = {0};
    assert_int_equal(add(&list, "a = runtime / spill_bytes", &error), EVOCC_OK);
    assert_int_equal(add(&list, "b = a + 1", &error), EVOCC_OK);
    assert_int_equal(add(&list, "c = registers * 2", &error), EVOCC_OK);
    assert_int_equal(add(&list, "d = 1 / (registers - 1)", &error), EVOCC_OK);
    double out[4];
    const double zero[] = {1, 3, 0};
    assert_int_equal(derived_list_values(out, &list, metrics, zero, METRICS, &error), EVOCC_OK);
    assert_true(isnan(out[0]) && isnan(out[1]) && out[2] == 6 && out[3] == 0.5);
    const double unknown[] = {(double)NAN, 4, 2};
    assert_int_equal(derived_list_values(out, &list, metrics, unknown, METRICS, &error), EVOCC_OK);
    assert_true(isnan(out[0]) && isnan(out[1]) && out[2] == 8);
}

static void refuse(const char *definition, evocc_status status, const char *words)
{
    derived_list list = {0};
    evocc_error error = {0};
    assert_int_equal(add(&list, "taken = 1", &error), EVOCC_OK);
    assert_int_equal(add(&list, definition, &error), status);
    assert_non_null(strstr(error.message, words));
    assert_int_equal(list.count, 1);
}

static void test_refused_by_reason(void **state)
{
    (void)state;
    refuse("", EVOCC_INVALID_ARGUMENT, "NAME = EXPRESSION");
    refuse("cost", EVOCC_INVALID_ARGUMENT, "NAME = EXPRESSION");
    refuse("2cost = 1", EVOCC_INVALID_ARGUMENT, "NAME = EXPRESSION");
    refuse("taken = 2", EVOCC_INVALID_ARGUMENT, "'taken' already");
    refuse("registers = 2", EVOCC_INVALID_ARGUMENT, "'registers' already");
    refuse("cost = ", EVOCC_PARSE, "'cost'");
    refuse("cost = runtime +", EVOCC_PARSE, "line 1");
    refuse("cost = energy * 2", EVOCC_PARSE, "there is no 'energy'");
    refuse("cost = os.exit()", EVOCC_PARSE, "'cost'");
    refuse("cost = cost + 1", EVOCC_PARSE, "there is no 'cost'");
    refuse("cost = runtime < 2", EVOCC_PARSE, "not a number");
    char longer[400] = "cost = ";
    memset(longer + 7, '1', 300);
    refuse(longer, EVOCC_INVALID_ARGUMENT, "longer than");
}

static void test_no_more_than_fit(void **state)
{
    (void)state;
    derived_list list = {0};
    evocc_error error = {0};
    for (int i = 0; i < DERIVED_COUNT_MAX; i++) {
        char text[20];
        snprintf(text, sizeof text, "m%d = %d", i, i);
        assert_int_equal(add(&list, text, &error), EVOCC_OK);
    }
    assert_int_equal(add(&list, "more = 1", &error), EVOCC_INVALID_ARGUMENT);
    assert_int_equal(list.count, DERIVED_COUNT_MAX);
}

static void test_memory_that_runs_out_is_an_error(void **state)
{
    (void)state;
    size_t failed = 0;
    for (long n = 0; n < 2000; n++) {
        derived_list list = {0};
        evocc_error error = {0};
        double out[1];
        const double values[] = {2, 3, 4};
        mem_fail_after(n);
        evocc_status status = add(&list, "cost = runtime * registers", &error);
        if (status == EVOCC_OK) {
            status = derived_list_values(out, &list, metrics, values, METRICS, &error);
        }
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            assert_true(out[0] == 6);
            assert_true(failed > 0);
            return;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
        failed++;
    }
    fail_msg("memory never sufficed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computed_from_metrics_and_from_each_other),
        cmocka_unit_test(test_unknown_is_unknown),
        cmocka_unit_test(test_refused_by_reason),
        cmocka_unit_test(test_no_more_than_fit),
        cmocka_unit_test(test_memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
