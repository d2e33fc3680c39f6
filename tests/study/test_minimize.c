/* Leaving controls out: on functions that are known, so that the fewest controls are known, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/minimize.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct model {
    const char *need[4];         /* words that must all be there for the gain */
    const char *forbidden_alone; /* without "base=1" this one is not valid; NULL: none */
    double per_word;             /* each word of "slow" costs so much */
    size_t fail_at, calls;       /* the nth call fails; 0: none */
} model;

static bool has_word(const char *candidate, const char *word)
{
    size_t length = strlen(word);
    for (const char *c = candidate; (c = strstr(c, word)) != NULL; c += length) {
        bool starts = c == candidate || c[-1] == ' ';
        if (starts && (c[length] == '\0' || c[length] == ' ')) {
            return true;
        }
    }
    return false;
}

static evocc_status evaluate(void *context, double *values, bool *valid, const char *candidate,
                             evocc_error *error)
{
    model *m = context;
    m->calls++;
    if (m->calls == m->fail_at) {
        return error_set(error, EVOCC_IO, "the disk is full");
    }
    bool all = *candidate != '\0';
    for (size_t i = 0; i < 4 && m->need[i] != NULL; i++) {
        all = all && has_word(candidate, m->need[i]);
    }
    *valid = m->forbidden_alone == NULL || !has_word(candidate, m->forbidden_alone) ||
             has_word(candidate, "base=1");
    values[0] = all ? 50 : 100;
    values[1] = 1000 + m->per_word * (double)has_word(candidate, "x/slow=1");
    return EVOCC_OK;
}

static objective_list objectives_of(const char *text)
{
    objective_list list = {0};
    assert_int_equal(objective_list_parse(&list, text, NULL), EVOCC_OK);
    return list;
}

static minimize_result minimize(model *m, const char *candidate, const char *objectives,
                                double margin)
{
    objective_list list = objectives_of(objectives);
    const minimize_options options = {&list, margin, evaluate, m};
    minimize_result result;
    evocc_error error = {0};
    if (study_minimize(&result, candidate, &options, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return result;
}

#define EXACT "min spill_bytes 1"

static void what_is_needed_stays_and_nothing_else(void **state)
{
    (void)state;
    model m = {.need = {"ptx/order@k.b3=late", "ptxas/a=2"}};
    minimize_result r = minimize(&m,
                                 "ptx/order@k=early ptx/order@k.b3=late ptx/order@k.b4=late "
                                 "ptx/sink@k=any ptx/sink@k.v1=out  ptxas/a=2 ptxas/b=1",
                                 EXACT, 0);
    assert_string_equal(r.candidate, "ptx/order@k.b3=late ptxas/a=2");
    assert_int_equal(r.first_count, 7);
    assert_int_equal(r.control_count, 2);
    assert_true(r.baseline[0] == 100 && r.first[0] == 50 && r.last[0] == 50);
    for (size_t i = 0; i < 2; i++) {
        assert_true(fabs(r.controls[i].share - 1) < 1e-12); /* either carries all of it */
    }
    minimize_result_dispose(&r);
}

/* Random needs among many controls: exactly they are left, in far fewer steps than pairs. */
static void random_needs_are_found(void **state)
{
    (void)state;
    enum { WORDS = 60 };
    rng r;
    rng_seed(&r, 3);
    for (int round = 0; round < 50; round++) {
        char words[WORDS][32];
        char candidate[WORDS * 32] = "";
        model m = {0};
        size_t needs = 1 + (size_t)rng_below(&r, 3);
        for (size_t i = 0; i < WORDS; i++) {
            snprintf(words[i], sizeof words[i], "ptx/kind%zu@k.b%zu=1", i % 5, i);
            strcat(strcat(candidate, i == 0 ? "" : " "), words[i]);
        }
        char expected[256] = "";
        for (size_t i = 0, at = 0; i < needs; i++) {
            at += 1 + (size_t)rng_below(&r, 15);
            m.need[i] = words[at];
            strcat(strcat(expected, i == 0 ? "" : " "), words[at]);
        }
        minimize_result result = minimize(&m, candidate, EXACT, 0);
        assert_string_equal(result.candidate, expected);
        assert_true(result.evaluations < 130);
        assert_int_equal(result.evaluations, m.calls);
        minimize_result_dispose(&result);
    }
}

static void forbidden_combinations_are_not_entered(void **state)
{
    (void)state;
    model m = {.need = {"x/a=1"}, .forbidden_alone = "x/a=1"};
    minimize_result r = minimize(&m, "base=1 x/a=1 x/b=1", EXACT, 0);
    assert_string_equal(r.candidate, "base=1 x/a=1");
    assert_true(isnan(r.controls[0].share)); /* not valid without it */
    minimize_result_dispose(&r);
}

/* "slow" costs 1 % of the second objective: what is better without it goes; with a control that
   saves 1 %, the margin decides. */
static void the_margin_decides(void **state)
{
    (void)state;
    model m = {.need = {"x/a=1"}, .per_word = -10};
    const char *both = EXACT ", min code_bytes 1";
    minimize_result r = minimize(&m, "x/a=1 x/slow=1", both, 0);
    assert_string_equal(r.candidate, "x/a=1 x/slow=1");
    minimize_result_dispose(&r);
    r = minimize(&m, "x/a=1 x/slow=1", both, 0.02);
    assert_string_equal(r.candidate, "x/a=1");
    minimize_result_dispose(&r);
    m.per_word = 10;
    r = minimize(&m, "x/a=1 x/slow=1", both, 0);
    assert_string_equal(r.candidate, "x/a=1");
    minimize_result_dispose(&r);
}

static void no_gain_is_nothing_to_keep(void **state)
{
    (void)state;
    objective_list list = objectives_of(EXACT);
    model m = {.need = {"x/absent=1"}};
    const minimize_options options = {&list, 0, evaluate, &m};
    minimize_result r;
    evocc_error error = {0};
    assert_int_equal(study_minimize(&r, "x/a=1", &options, &error), EVOCC_NOT_FOUND);
    assert_int_equal(study_minimize(&r, "", &options, &error), EVOCC_NOT_FOUND);
    m = (model){.need = {"x/a=1"}, .forbidden_alone = "x/a=1"};
    assert_int_equal(study_minimize(&r, "x/a=1", &options, &error), EVOCC_PROCESS);
}

/* Whatever call or allocation fails: that error, and nothing left behind. */
static void failures_end_it(void **state)
{
    (void)state;
    const char *candidate = "ptx/order@k=late ptx/order@k.b1=late x/a=1 x/b=2 x/c=3";
    objective_list list = objectives_of(EXACT);
    size_t fail_at = 1;
    for (;; fail_at++) {
        model m = {.need = {"x/a=1", "x/c=3"}, .fail_at = fail_at};
        const minimize_options options = {&list, 0, evaluate, &m};
        minimize_result r;
        evocc_error error = {0};
        evocc_status status = study_minimize(&r, candidate, &options, &error);
        if (status == EVOCC_OK) {
            minimize_result_dispose(&r);
            break;
        }
        assert_int_equal(status, EVOCC_IO);
        assert_null(r.candidate);
    }
    assert_true(fail_at > 8);
    long count = 0;
    for (;; count++) {
        model m = {.need = {"x/a=1", "x/c=3"}};
        const minimize_options options = {&list, 0, evaluate, &m};
        minimize_result r;
        mem_fail_after(count);
        evocc_status status = study_minimize(&r, candidate, &options, NULL);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            minimize_result_dispose(&r);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
    }
    assert_true(count > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_needed_stays_and_nothing_else),
        cmocka_unit_test(random_needs_are_found),
        cmocka_unit_test(forbidden_combinations_are_not_entered),
        cmocka_unit_test(the_margin_decides),
        cmocka_unit_test(no_gain_is_nothing_to_keep),
        cmocka_unit_test(failures_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
