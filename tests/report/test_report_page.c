/* The page and the terminal's report: well formed, everything escaped, for every state of a study.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/detail.h"
#include "report/plot.h"
#include "util/files.h"
#include "util/mem.h"
#include "util/rng.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Names as bad as a file system and a hand-made study file allow. */
#define ODD "<script>alert(1)</script> & \"q\" 'a' \xc3\xa4 \xff \x01"

static store *new_store(const char *objectives)
{
    static int number;
    char path[512];
    snprintf(path, sizeof path, "%s/%d.db", folder, number++);
    store *s = NULL;
    const char *const settings[][2] = {{"objectives", objectives},
                                       {"input_path", ODD},
                                       {"kernel", ODD},
                                       {"arch", ODD},
                                       {"compiler", "ptxas"},
                                       {"compiler_version", ODD},
                                       {"output", ODD},
                                       {"started_utc", ODD},
                                       {"base", "-O3\n" ODD "\n"},
                                       {ODD, ODD},
                                       {"generation_1_state", "fingerprint"},
                                       {"generations", "4"},
                                       {"budget", "40"}};
    assert_int_equal(store_create(&s, path, NULL), EVOCC_OK);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        assert_int_equal(store_set(s, settings[i][0], settings[i][1], NULL), EVOCC_OK);
    }
    return s;
}

static void add(store *s, uint64_t id, evocc_outcome outcome, const char *candidate, double spill,
                double code, double registers)
{
    char hash[40];
    snprintf(hash, sizeof hash, "code%g.%g", spill, code);
    store_trial trial = {
        .id = id,
        .generation = (uint32_t)(id / 8),
        .outcome = outcome,
        .candidate = candidate,
        .code_hash = hash,
        .detail = outcome == EVOCC_OUTCOME_OK ? "" : ODD "\nsecond line",
        .command = ODD,
        .wall_s = 0.5,
        .metric_count = outcome == EVOCC_OUTCOME_OK ? 4 : 0,
        .metric_names = {"spill_bytes", "code_bytes", "registers", "compile_time"},
        .metrics = {spill, code, registers, 0.25},
    };
    assert_int_equal(store_add_trial(s, &trial, NULL), EVOCC_OK);
}

/* 40 trials: order=late decides spills, noise decides the rest. */
static void add_trials(store *s)
{
    rng r;
    rng_seed(&r, 5);
    add(s, 0, EVOCC_OUTCOME_OK, "", 16, 100, 50);
    for (uint64_t id = 1; id < 40; id++) {
        bool late = rng_below(&r, 2) == 1;
        char candidate[120];
        snprintf(candidate, sizeof candidate, "ptxas/opt-level=%d%s", (int)rng_below(&r, 3),
                 late ? " ptx/order@fa=late x/<b>&\"=<i>" : " ptx/order@fa=early");
        double code = 90 + (double)rng_below(&r, 30);
        double registers = 40 + (double)rng_below(&r, 20);
        evocc_outcome outcome = id % 9 == 4 ? EVOCC_OUTCOME_COMPILE_FAILED : EVOCC_OUTCOME_OK;
        add(s, id, outcome, candidate, late ? 0 : 16, code, registers);
    }
}

static report_detail *load(store *s)
{
    report_detail *detail = NULL;
    evocc_error error = {0};
    if (report_detail_load(&detail, s, ODD ".db", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return detail;
}

/* ---- A reader of tags, strict enough for what the page promises ------------------------------ */

typedef struct tags {
    char open[64][32];
    size_t depth, plots, titles;
} tags;

static bool is_entity(const char *text)
{
    size_t digits = text[1] == '#' ? strspn(text + 2, "0123456789") : 0;
    return digits > 0 && text[2 + digits] == ';';
}

static const char *read_tag(tags *t, const char *at)
{
    char name[32] = "";
    bool closing = at[1] == '/';
    const char *from = at + 1 + closing;
    size_t length = 0;
    while (isalnum((unsigned char)from[length]) && length < sizeof name - 1) {
        name[length] = from[length];
        length++;
    }
    assert_true(length > 0);
    const char *c = from + length;
    bool quoted = false;
    for (; quoted || *c != '>'; c++) {
        assert_true(*c != '\0' && *c != '<' && (*c != '&' || is_entity(c)));
        quoted = *c == '"' ? !quoted : quoted;
    }
    t->plots += strcmp(name, "svg") == 0 && strstr(at, "class=\"plot\"") == at + 5;
    if (closing) {
        assert_true(t->depth > 0);
        assert_string_equal(t->open[--t->depth], name);
    } else if (c[-1] != '/') {
        assert_true(t->depth < 64);
        snprintf(t->open[t->depth++], sizeof t->open[0], "%s", name);
    }
    return c + 1;
}

static void check_well_formed(tags *t, const char *page)
{
    static const char head[] = "<!DOCTYPE html>\n";
    assert_memory_equal(page, head, sizeof head - 1);
    for (const char *c = page + sizeof head - 1; *c != '\0';) {
        assert_true((unsigned char)*c < 0x7f && ((unsigned char)*c >= 0x20 || *c == '\n'));
        assert_true(*c != '&' || is_entity(c));
        c = *c == '<' ? read_tag(t, c) : c + 1;
    }
    assert_int_equal(t->depth, 0);
}

/* Nothing that a browser would run or fetch. */
static void check_harmless(const char *page)
{
    static const char *const never[] = {"<script", "src=",    "http:", "https:", "url(",
                                        "@import", "onload=", "<i>",   "<b>&",   "javascript:"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        assert_null(strstr(page, never[i]));
    }
}

static void check(store *s, size_t plots)
{
    report_detail *detail = load(s);
    strbuf page = {0};
    tags t = {0};
    report_html(&page, detail);
    assert_false(page.failed);
    check_well_formed(&t, page.data);
    check_harmless(page.data);
    assert_int_equal(t.plots, plots);
    strbuf text = {0};
    report_text(&text, detail);
    assert_false(text.failed);
    assert_int_equal(text.data[text.length - 1], '\n');
    strbuf_dispose(&page);
    strbuf_dispose(&text);
    report_detail_free(detail);
    store_free(s);
}

static void a_study_without_trials(void **state)
{
    (void)state;
    check(new_store("min spill_bytes 1"), 0);
}

static void a_study_whose_baseline_failed(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1");
    add(s, 0, EVOCC_OUTCOME_COMPILE_FAILED, "", 0, 0, 0);
    check(s, 1);
}

static void a_study_of_the_baseline_alone(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1, max registers 1");
    add(s, 0, EVOCC_OUTCOME_OK, "", 0, 0, 0);
    check(s, 1 + 3 + 1);
}

static void one_two_and_three_objectives(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1");
    add_trials(s);
    check(s, 1 + 1);
    s = new_store("min spill_bytes 1, max code_bytes 1");
    add_trials(s);
    assert_int_equal(store_set(s, "ended", "budget", NULL), EVOCC_OK);
    check(s, 1 + 3 + 1);
    s = new_store("min spill_bytes 1, min code_bytes 1, min registers 1");
    add_trials(s);
    check(s, 3 + 4 + 1);
}

static void what_decides_is_found(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1");
    add_trials(s);
    report_detail *d = load(s);
    assert_string_equal(d->controls[0].name, "ptx/order@fa");
    assert_true(d->controls[0].importance[0] > 0.99);
    assert_true(strlen(d->controls[0].help) > 0);
    bool found = false;
    for (size_t i = 0; i < d->control_count; i++) {
        if (strcmp(d->controls[i].name, "ptxas/opt-level") == 0) {
            found = true;
            assert_true(d->controls[i].importance[0] < 0.2);
        }
    }
    assert_true(found);
    assert_true(d->trait_count >= 1 && d->best_count >= 5);
    assert_string_equal(d->traits[0].value, "late");
    assert_int_equal(d->traits[0].best_count, d->best_count);
    assert_int_equal(d->reason_count, 1);
    assert_int_equal(d->reasons[0].count, 4);
    assert_int_equal(d->step_count, 2);
    size_t trials = 0;
    for (size_t i = 0; i < d->generation_count; i++) {
        trials += d->generations[i].trials;
        assert_int_equal(d->generations[i].trimming, d->generations[i].generation >= 4);
    }
    assert_int_equal(trials, 40);
    report_detail_free(d);
    store_free(s);
}

/* A study that measured: intervals from the pairs for the estimate, and from no others. */
static void intervals_are_shown(void **state)
{
    (void)state;
    store *s = new_store("min runtime 1");
    for (uint64_t id = 0; id < 2; id++) {
        store_trial trial = {.id = id,
                             .outcome = EVOCC_OUTCOME_OK,
                             .candidate = id == 0 ? "" : "ptx/order@fa=late",
                             .code_hash = id == 0 ? "a" : "b",
                             .detail = "",
                             .command = "",
                             .metric_count = 1,
                             .metric_names = {"runtime"},
                             .metrics = {id == 0 ? 1e-3 : 0.9e-3}};
        assert_int_equal(store_add_trial(s, &trial, NULL), EVOCC_OK);
    }
    for (size_t i = 0; i < 20; i++) {
        const store_sample pairs[] = {
            {1, "runtime", STORE_FOR_ESTIMATE, i, 1.05e-3 + 1e-7 * (double)i, 1e-3},
            {1, "runtime", STORE_FOR_CHOICE, i, 2e-3, 1e-3}};
        assert_int_equal(store_add_samples(s, pairs, 2, NULL), EVOCC_OK);
    }
    assert_int_equal(store_set(s, "apart", "1", NULL), EVOCC_OK);
    assert_int_equal(store_set(s, "gpu_conditions", ODD, NULL), EVOCC_OK);
    report_detail *detail = load(s);
    strbuf page = {0};
    strbuf text = {0};
    tags t = {0};
    report_html(&page, detail);
    report_text(&text, detail);
    check_well_formed(&t, page.data);
    check_harmless(page.data);
    assert_non_null(strstr(page.data, "95 % interval 1.05"));
    assert_non_null(strstr(page.data, "(20 pairs, noise floor"));
    assert_non_null(strstr(page.data, ": gain</td>"));
    assert_non_null(strstr(page.data, "In pairs with the baseline"));
    assert_non_null(strstr(text.data, "1.05"));
    strbuf_dispose(&page);
    strbuf_dispose(&text);
    report_detail_free(detail);
    store_free(s);
}

/* What a spreadsheet and a notebook read, odd text and unknown numbers included. */
static void exports_keep_everything(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1");
    add(s, 0, EVOCC_OUTCOME_OK, "", 16, (double)NAN, 50);
    add(s, 1, EVOCC_OUTCOME_COMPILE_FAILED, "a/b=1", 0, 0, 0);
    add(s, 2, EVOCC_OUTCOME_OK, "a/b=1 c/d=2", 8, 1.5, 50);
    strbuf csv = {0};
    strbuf json = {0};
    evocc_error error = {0};
    assert_int_equal(report_export_csv(&csv, s, "x", &error), EVOCC_OK);
    assert_int_equal(report_export_json(&json, s, "x", &error), EVOCC_OK);
    assert_non_null(strstr(csv.data,
                           "trial,generation,outcome,shared,wall_s,gain,spill_bytes,"
                           "code_bytes,registers,compile_time_s,code_hash,controls,detail,"
                           "command\n0,0,ok,0,0.5,1,16,,50,0.25,"));
    assert_non_null(strstr(csv.data, "\n2,0,ok,0,0.5,2,8,1.5,50,0.25,code8.1.5,a/b=1 c/d=2,,"));
    assert_non_null(strstr(csv.data, ",\"<script>alert(1)</script> & \"\"q\"\" 'a'"));
    assert_non_null(strstr(json.data, "\"code_bytes\":null"));
    assert_non_null(strstr(json.data, "\"controls\":{\"a/b\":\"1\",\"c/d\":\"2\"}"));
    strbuf_dispose(&csv);
    strbuf_dispose(&json);
    store_free(s);
}

/* Ranges that are nothing beside their values, or cover all there is, end in a drawing, too. */
static void odd_ranges_are_drawn(void **state)
{
    (void)state;
    static const double ranges[][2] = {{0, 0},           {1e17, 1e17 + 32}, {-5, -5},
                                       {1e-300, 2e-300}, {-1e300, 1e300},   {3, 3 + 1e-15},
                                       {0, 1e-9}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        strbuf out = {0};
        plot p = {.width = 520, .height = 340, .left = 70, .bottom = 48};
        p.x_low = p.y_low = ranges[i][0];
        p.x_high = p.y_high = ranges[i][1];
        plot_begin(&p, &out, "<t>", "d", "x", "y");
        plot_dot(&p, ranges[i][0], ranges[i][1], 3, "trial", NULL);
        plot_end(&p);
        assert_false(out.failed);
        assert_true(out.length < 8000);
        assert_null(strstr(out.data, "nan"));
        assert_null(strstr(out.data, "inf"));
        assert_non_null(strstr(out.data, "class=\"tick\""));
        strbuf_dispose(&out);
    }
}

static void text_is_escaped_to_ascii(void **state)
{
    (void)state;
    strbuf out = {0};
    html_text(&out, "a<b>&\"'\xc3\xa4\xff\x01\xe2\x82\xac\n");
    assert_string_equal(out.data, "a&#60;b&#62;&#38;&#34;&#39;&#228;&#65533;&#65533;&#8364;\n");
    strbuf_dispose(&out);
}

static void no_memory_is_an_error_and_no_leak(void **state)
{
    (void)state;
    store *s = new_store("min spill_bytes 1, min code_bytes 1");
    add_trials(s);
    /* Help texts are left out when there is no memory for them, so success does not say that the
       last allocation has been reached. */
    long failures = 0;
    for (long count = 0; count < 2500; count++) {
        report_detail *detail = NULL;
        evocc_error error = {0};
        mem_fail_after(count);
        evocc_status status = report_detail_load(&detail, s, "x.db", &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            assert_int_equal(detail->trial_count, 40);
            report_detail_free(detail);
        } else {
            failures++;
            assert_int_equal(status, EVOCC_NO_MEMORY);
            assert_null(detail);
        }
    }
    assert_true(failures > 100);
    store_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_without_trials),
        cmocka_unit_test(a_study_whose_baseline_failed),
        cmocka_unit_test(a_study_of_the_baseline_alone),
        cmocka_unit_test(one_two_and_three_objectives),
        cmocka_unit_test(what_decides_is_found),
        cmocka_unit_test(intervals_are_shown),
        cmocka_unit_test(exports_keep_everything),
        cmocka_unit_test(odd_ranges_are_drawn),
        cmocka_unit_test(text_is_escaped_to_ascii),
        cmocka_unit_test(no_memory_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
