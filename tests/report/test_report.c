/* Objectives, the front against a brute-force oracle, the table and the JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"
#include "util/files.h"
#include "util/mem.h"
#include "util/rng.h"
#include "util/yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    return folder_temporary(&folder, NULL) == EVOCC_OK ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove(folder);
    mem_free(folder);
    return 0;
}

static store *new_store(const char *objectives)
{
    static int number;
    char path[512];
    snprintf(path, sizeof path, "%s/%d.db", folder, number++);
    store *s = NULL;
    evocc_error error;
    assert_int_equal(store_create(&s, path, &error), EVOCC_OK);
    assert_int_equal(store_set(s, "objectives", objectives, &error), EVOCC_OK);
    assert_int_equal(store_set(s, "input_path", "a \"b\".ptx", &error), EVOCC_OK);
    assert_int_equal(store_set(s, "seed", "5", &error), EVOCC_OK);
    assert_int_equal(store_set(s, "budget", "488", &error), EVOCC_OK);
    return s;
}

static void add(store *s, uint64_t id, evocc_outcome outcome, const char *candidate, double spill,
                double code)
{
    store_trial trial = {
        .id = id,
        .outcome = outcome,
        .candidate = candidate,
        .code_hash = spill < 5 ? "low" : "high",
        .detail = "",
        .command = "",
        .metric_count = outcome == EVOCC_OUTCOME_OK ? 2 : 0,
        .metric_names = {"spill_bytes", "code_bytes"},
        .metrics = {spill, code},
    };
    assert_int_equal(store_add_trial(s, &trial, NULL), EVOCC_OK);
}

static report_summary *load(store *s)
{
    report_summary *summary = NULL;
    evocc_error error = {0};
    if (report_summary_load(&summary, s, "x.db", UINT64_MAX, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return summary;
}

static void ties_go_to_fewer_controls_then_to_the_earlier(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1");
    add(s, 0, EVOCC_OUTCOME_OK, "", 16, 100);
    add(s, 1, EVOCC_OUTCOME_OK, "a=1 b=2", 0, 300);
    add(s, 2, EVOCC_OUTCOME_OK, "a=1", 0, 200);
    add(s, 3, EVOCC_OUTCOME_OK, "b=2", 0, 50);
    add(s, 4, EVOCC_OUTCOME_COMPILE_FAILED, "c=3", 0, 0);
    add(s, 5, EVOCC_OUTCOME_OK, "c=4", (double)NAN, 0);
    report_summary *summary = load(s);
    assert_int_equal(summary->trial_count, 6);
    assert_int_equal(summary->outcome_counts[EVOCC_OUTCOME_OK], 5);
    assert_int_equal(summary->outcome_counts[EVOCC_OUTCOME_COMPILE_FAILED], 1);
    assert_int_equal(summary->front_count, 1);
    assert_int_equal(summary->front[0].id, 2);
    assert_true(summary->improved);
    assert_true(fabs(summary->front[0].gain - 17) < 1e-12);
    assert_int_equal(summary->distinct_code_count, 2);
    report_summary_free(summary);
    store_free(s);
}

static void a_front_of_the_baseline_alone_is_no_improvement(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1");
    add(s, 0, EVOCC_OUTCOME_OK, "", 0, 100);
    add(s, 1, EVOCC_OUTCOME_OK, "a=1", 0, 50);
    report_summary *summary = load(s);
    assert_false(summary->improved);
    strbuf text = {0};
    report_table(&text, summary);
    assert_non_null(strstr(text.data, "No candidate was better"));
    strbuf_dispose(&text);
    report_summary_free(summary);
    store_free(s);
}

static void no_valid_baseline_is_no_front(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1");
    report_summary *summary = load(s);
    assert_int_equal(summary->front_count, 0);
    report_summary_free(summary);
    add(s, 0, EVOCC_OUTCOME_COMPILE_FAILED, "", 0, 0);
    summary = load(s);
    assert_int_equal(summary->front_count, 0);
    assert_null(summary->baseline_metrics);
    strbuf text = {0};
    report_json(&text, summary);
    assert_non_null(strstr(text.data, "\"baseline\":null"));
    strbuf_dispose(&text);
    report_summary_free(summary);
    store_free(s);
}

/* The front of random points must be exactly the points that no other dominates. */
static void the_front_agrees_with_brute_force(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    rng r;
    rng_seed(&r, 11);
    for (int round = 0; round < 5; round++) {
        double spill[COUNT];
        double code[COUNT];
        store *s = new_store("min spill_bytes 1, max code_bytes 2");
        for (int i = 0; i < COUNT; i++) {
            spill[i] = (double)rng_below(&r, 40);
            code[i] = (double)rng_below(&r, 40);
            add(s, (uint64_t)i, EVOCC_OUTCOME_OK, i == 0 ? "" : "a=1", spill[i], code[i]);
        }
        report_summary *summary = load(s);
        size_t expected = 0;
        for (int i = 0; i < COUNT; i++) {
            bool beaten = false;
            for (int j = 0; j < COUNT; j++) {
                bool no_worse = spill[j] <= spill[i] && code[j] >= code[i];
                bool better = spill[j] < spill[i] || code[j] > code[i];
                beaten = beaten || (no_worse && better) || (no_worse && !better && j < i && i > 0);
            }
            bool listed = false;
            for (size_t p = 0; p < summary->front_count; p++) {
                listed = listed || summary->front[p].id == (uint64_t)i;
            }
            assert_int_equal(listed, !beaten);
            expected += !beaten;
        }
        assert_int_equal(summary->front_count, expected);
        report_summary_free(summary);
        store_free(s);
    }
}

static void json_is_json_and_keeps_odd_text(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1, min code_bytes 1");
    add(s, 0, EVOCC_OUTCOME_OK, "", 16, 100);
    add(s, 1, EVOCC_OUTCOME_OK, "ptxas/opt-level=1 ptx/order@fa.b4=late", 0, 120);
    report_summary *summary = load(s);
    strbuf text = {0};
    report_json(&text, summary);
    evocc_error error = {0};
    yaml_document *document = NULL;
    if (yaml_parse(&document, text.data, text.length, "report", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    const yaml_node *root = yaml_root(document);
    assert_string_equal(yaml_get(root, "input")->text, "a \"b\".ptx");
    assert_int_equal(yaml_get(root, "front")->count, 2);
    const yaml_node *best = yaml_get(root, "best");
    assert_string_equal(yaml_get(yaml_get(best, "controls"), "ptx/order@fa.b4")->text, "late");
    yaml_free(document);
    strbuf_clear(&text);
    report_table(&text, summary);
    assert_non_null(strstr(text.data, "Pareto set, 2 points"));
    assert_non_null(strstr(text.data, "-100.0 %"));
    strbuf_dispose(&text);
    report_summary_free(summary);
    store_free(s);
}

static void objectives_are_read_strictly(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "spill",
                                        "spill_bytes,",
                                        "a,b",
                                        "spill_bytes:0",
                                        "spill_bytes:-1",
                                        "registers:x",
                                        "registers:nan",
                                        "registers,registers"};
    evocc_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        objective_list list = {0};
        assert_int_equal(objective_list_add(&list, wrong[i], false, &error),
                         EVOCC_INVALID_ARGUMENT);
        assert_int_equal(list.count, 0);
    }
    objective_list list = {0};
    assert_int_equal(objective_list_add(&list, "spill_bytes:2.5,code_bytes", false, &error),
                     EVOCC_OK);
    assert_int_equal(objective_list_add(&list, "registers", true, &error), EVOCC_OK);
    strbuf text = {0};
    objective_list_text(&text, &list);
    assert_string_equal(text.data, "min spill_bytes 2.5, min code_bytes 1, max registers 1");
    objective_list again = {0};
    assert_int_equal(objective_list_parse(&again, text.data, &error), EVOCC_OK);
    assert_int_equal(again.count, 3);
    assert_true(again.items[0].weight == 2.5);
    assert_true(again.items[2].maximize);
    strbuf_dispose(&text);
}

static void gains_of_counts_may_reach_zero(void **state)
{
    (void)state;
    objective bytes = {.metric = "spill_bytes", .weight = 1};
    objective seconds = {.metric = "compile_time", .weight = 1};
    assert_true(objective_gain(&bytes, 16, 0) == 17);
    assert_true(objective_gain(&bytes, 0, 0) == 1);
    assert_true(objective_gain(&bytes, 100, 50) == 2);
    assert_true(objective_gain(&seconds, 0.2, 0.1) == 2);
    assert_true(isnan(objective_gain(&bytes, (double)NAN, 1)));
    bytes.maximize = true;
    assert_true(objective_gain(&bytes, 50, 100) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_go_to_fewer_controls_then_to_the_earlier),
        cmocka_unit_test(a_front_of_the_baseline_alone_is_no_improvement),
        cmocka_unit_test(no_valid_baseline_is_no_front),
        cmocka_unit_test(the_front_agrees_with_brute_force),
        cmocka_unit_test(json_is_json_and_keeps_odd_text),
        cmocka_unit_test(objectives_are_read_strictly),
        cmocka_unit_test(gains_of_counts_may_reach_zero),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
