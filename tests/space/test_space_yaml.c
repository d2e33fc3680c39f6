/* Space files: what is read, every refusal with its place, the built-in files. */
#include "helpers.h"

#include <stdio.h>

#define HEAD "evocc-space: 1\nstage: define\ncontrols:\n"
#define ONE HEAD "  a: {type: int, range: [1, 9], default: 1}\n"

static void test_reading(void **state)
{
    (void)state;
    evocc_space *space = space_of("evocc-space: 1\n"
                                  "stage: ptxas\n"
                                  "source: the manual\n"
                                  "controls:\n"
                                  "  level:\n"
                                  "    type: choice\n"
                                  "    values: [0, \"1\", max]\n"
                                  "    default: max\n"
                                  "    option: \"--level={}\"\n"
                                  "    help: >\n"
                                  "      How far\n"
                                  "      to go.\n"
                                  "    knockout: 0.25\n"
                                  "    group: levels\n"
                                  "  site:\n"
                                  "    type: choice\n"
                                  "    values: [0, 1, max]\n"
                                  "    default: max\n"
                                  "    parent: level\n"
                                  "    source: elsewhere\n"
                                  "  x:\n"
                                  "    stage: define\n"
                                  "    type: float\n"
                                  "    range: [1, 100]\n"
                                  "    points: 3\n"
                                  "    numerics: rounding\n"
                                  "    since: \"12.8\"\n"
                                  "    until: \"13.0\"\n"
                                  "    arch: \">= sm_90\"\n"
                                  "    enabled: false\n"
                                  "    why: it does nothing\n"
                                  "    when: {level: [0, 1], ptxas/site: absent}\n");
    assert_int_equal(space_count(space), 3);
    const space_control *level = space_get(space, 0), *site = space_get(space, 1);
    const space_control *x = space_get(space, 2);
    assert_string_equal(level->full_name, "ptxas/level");
    assert_string_equal(level->name, "level");
    assert_string_equal(level->source, "the manual");
    assert_string_equal(level->option, "--level={}");
    assert_string_equal(level->help, "How far to go.\n");
    assert_string_equal(level->group, "levels");
    assert_int_equal(level->default_index, 2);
    assert_true(level->knockout == 0.25);
    assert_null(level->off_because);
    assert_int_equal(site->parent, 0);
    assert_string_equal(site->source, "elsewhere");
    assert_string_equal(x->full_name, "define/x");
    assert_int_equal(x->size, 3);
    assert_int_equal(x->default_index, SPACE_ABSENT);
    assert_int_equal(x->numerics, SPACE_ROUNDING);
    assert_string_equal(x->since, "12.8");
    assert_string_equal(x->until, "13.0");
    assert_string_equal(x->arch, ">= sm_90");
    assert_string_equal(x->off_because, "it does nothing");
    int32_t genes[3] = {1, SPACE_ABSENT, 1};
    space_canonicalise(space, genes);
    assert_int_equal(genes[2], SPACE_ABSENT); /* site follows level, so it is not at its default */
    genes[1] = 2;
    genes[2] = 1;
    space_canonicalise(space, genes);
    assert_int_equal(genes[2], 1);
    space_free(space);
}

typedef struct refusal {
    const char *yaml, *message;
} refusal;

static void test_head(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"stage: ptxas\ncontrols: {}\n", "test:1:1: a space file begins with 'evocc-space: 1'"},
        {"evocc-space: 2\nstage: ptxas\ncontrols: {}\n",
         "test:1:14: this evocc reads version 1 of space files, not 2"},
        {"evocc-space: one\nstage: ptxas\n",
         "test:1:14: expected an integer of 64 bits, found 'one'"},
        {"evocc-space: 1\ncontrols: {}\n",
         "test:1:1: a space file needs a 'stage', such as 'stage: define'"},
        {"evocc-space: 1\nstage: ptx as\ncontrols: {}\n",
         "test:2:8: 'ptx as' is no stage; stages are define nvcc ptx ptxas gcc clang"},
        {"evocc-space: 1\nstage: ptx\n",
         "test:1:1: expected 'controls:', a mapping from names to controls"},
        {"evocc-space: 1\nstage: ptx\ncontrols: [a]\n",
         "test:3:11: expected 'controls:', a mapping from names to controls"},
        {"evocc-space: 1\nstage: ptx\ncontrol: {}\n",
         "test:3:1: unknown key 'control'; did you mean 'controls'?"},
        {"- 1\n", "test:1:1: expected a mapping, found a sequence"},
        {ONE "forbid: {a: 1}\n", "test:5:9: expected a list"},
        {ONE "constraints: a > 1\n", "test:5:14: expected a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i].yaml, cases[i].message);
    }
}

static void test_controls(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {HEAD "  a: 5\n", "test:4:6: expected a mapping, found '5'"},
        {HEAD "  a: {}\n", "test:4:6: control a needs a 'type'"},
        {HEAD "  a: {type: real}\n",
         "test:4:13: expected one of flag bool choice int pow2 float, found 'real'"},
        {HEAD "  a: {type: flag, rage: 1}\n",
         "test:4:19: unknown key 'rage'; did you mean 'range'?"},
        {HEAD "  a: {type: flag, range: [1, 2]}\n", "test:4:26: type flag has no 'range'"},
        {HEAD "  a: {type: pow2, range: [1, 2], step: 2}\n", "test:4:40: type pow2 has no 'step'"},
        {HEAD "  a: {type: choice}\n", "test:4:6: type choice needs 'values'"},
        {HEAD "  a: {type: int}\n", "test:4:6: type int needs 'range'"},
        {HEAD "  a: {type: choice, values: []}\n", "test:4:29: expected at least one value"},
        {HEAD "  a: {type: choice, values: [x, [y]]}\n",
         "test:4:33: expected a text, found a sequence"},
        {HEAD "  a: {type: choice, values: [x, x]}\n",
         "test:4:3: control a: value 'x' is there twice"},
        {HEAD "  a: {type: int, range: 5}\n", "test:4:25: expected a range [low, high]"},
        {HEAD "  a: {type: int, range: [1, 2, 3]}\n", "test:4:25: expected a range [low, high]"},
        {HEAD "  a: {type: int, range: [1, x]}\n",
         "test:4:29: expected an integer of 64 bits, found 'x'"},
        {HEAD "  a: {type: int, range: [9, 1]}\n",
         "test:4:3: control a: the range needs low <= high and a positive step"},
        {HEAD "  a: {type: int, range: [1, 9], step: 0}\n", "test:4:39: a step is at least 1"},
        {HEAD "  a: {type: pow2, range: [3, 9]}\n",
         "test:4:3: control a: the range needs a power of two as low, and low <= high"},
        {HEAD "  a: {type: float, range: [1, 9]}\n",
         "test:4:27: a float range has either 'step' or, evenly spaced in the logarithm, 'points'"},
        {HEAD "  a: {type: float, range: [1, 9], step: 1, points: 3}\n",
         "test:4:27: a float range has either 'step' or, evenly spaced in the logarithm, 'points'"},
        {HEAD "  a: {type: float, range: [1, 9], step: 0}\n", "test:4:41: a step is above 0"},
        {HEAD "  a: {type: float, range: [1, 9], points: 1}\n",
         "test:4:43: expected 2 to 1000000 points"},
        {HEAD "  a: {type: float, range: [0, 9], points: 3}\n",
         "test:4:3: control a: a logarithmic range needs low > 0 and at least two points"},
        {HEAD "  a: {type: int, range: [1, 9], default: 10}\n",
         "test:4:42: control a: value '10' is not 1, 2, ... 9"},
        {HEAD "  a: {type: flag, knockout: 2}\n", "test:4:29: expected a probability, 0 to 1"},
        {HEAD "  a: {type: flag, knockout: often}\n",
         "test:4:29: expected a finite number, found 'often'"},
        {HEAD "  a: {type: flag, numerics: fuzzy}\n",
         "test:4:29: expected one of exact rounding approximate, found 'fuzzy'"},
        {HEAD "  a: {type: flag, parent: b}\n  b: {type: flag}\n",
         "test:4:27: there is no control 'b'"},
        {HEAD "  b: {type: flag}\n  a: {type: bool, parent: b}\n",
         "test:5:3: control a: its values and default are not those of its parent define/b"},
        {HEAD "  a: {type: flag, enabled: false}\n",
         "test:4:6: 'enabled: false' and its reason 'why' belong together"},
        {HEAD "  a: {type: flag, why: none}\n",
         "test:4:6: 'enabled: false' and its reason 'why' belong together"},
        {HEAD "  a: {type: flag, enabled: off}\n",
         "test:4:28: expected true or false, found 'off'"},
        {HEAD "  a: {type: flag, arch: sm_90}\n",
         "test:4:3: control a: 'sm_90' is no condition on targets, such as '>= sm_100'"},
        {HEAD "  a=b: {type: flag}\n",
         "test:4:3: control 'a=b': names are ASCII without spaces, quotes and '='"},
        {HEAD "  a: {type: flag, stage: x}\n",
         "test:4:26: 'x' is no stage; stages are define nvcc ptx ptxas gcc clang"},
        {HEAD "  a: {type: flag, help: [x]}\n", "test:4:25: expected a text, found a sequence"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i].yaml, cases[i].message);
    }
}

static void test_rules(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {ONE "  b: {type: flag, when: {c: 1}}\n", "test:5:26: there is no control 'c'"},
        {ONE "  b: {type: flag, when: {a: 1, c: 2}}\n", "test:5:32: there is no control 'c'"},
        {ONE "  b: {type: flag, when: {a: [2, 10]}}\n",
         "test:5:33: control define/a: value '10' is not 1, 2, ... 9"},
        {ONE "  b: {type: flag, when: [a]}\n",
         "test:5:25: expected a mapping from controls to values"},
        {ONE "  b: {type: flag, when: {a: []}}\n", "test:5:29: expected at least one value"},
        {ONE "forbid:\n  - a\n", "test:6:5: expected a mapping from controls to values"},
        {ONE "forbid:\n  - {}\n", "test:6:5: a forbidden combination names no control"},
        {ONE "forbid:\n  - {a: 1}\n  - {a: 0}\n",
         "test:7:9: control define/a: value '0' is not 1, 2, ... 9"},
        {ONE "forbid:\n  - {a: 1, define/a: 2}\n",
         "test:6:5: control define/a is named twice in a forbidden combination"},
        {ONE "constraints:\n  - a > 1\n  - a < b\n", "test:7:9: there is no control 'b'"},
        {ONE "constraints:\n  - \"a < b\"\n", "test:6:10: there is no control 'b'"},
        {ONE "constraints: [a > 1, a ! 2]\n",
         "test:5:24: '!' has no place in a constraint; 'not equal' is ~=, negation is not"},
        {ONE "constraints:\n  - >\n    a > 1\n    and b\n",
         "test:7:1: line 1, column 11 of the constraint: there is no control 'b'"},
        {ONE "constraints:\n  - |\n    a > 1\n    and b\n", "test:8:9: there is no control 'b'"},
        {ONE "constraints:\n  - [a]\n", "test:6:5: expected a text, found a sequence"},
        {ONE "constraints:\n  - os.exit(a)\n", "test:6:7: '.' has no place in a constraint; there "
                                               "are no fields and no joined strings"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i].yaml, cases[i].message);
    }
}

enum { BUILTIN_GENES = 256 };

/* The compiled-in files are read, and every one of their controls can be sampled. */
static void test_builtins(void **state)
{
    (void)state;
    size_t count;
    const space_builtin *builtins = space_builtins(&count);
    assert_true(count >= 1);
    rng r;
    rng_seed(&r, 51);
    for (size_t i = 0; i < count; i++) {
        evocc_space *space;
        evocc_error error;
        assert_int_equal(strlen(builtins[i].text), builtins[i].length);
        if (space_builtin_load(&space, builtins[i].name, &error) != EVOCC_OK) {
            fail_msg("%s", error.message);
        }
        assert_int_equal(space_finish(space, NULL), EVOCC_OK);
        bool used[BUILTIN_GENES] = {false};
        assert_true(space_count(space) <= BUILTIN_GENES);
        for (int k = 0; k < 20000; k++) {
            int32_t genes[BUILTIN_GENES];
            assert_int_equal(space_sample(space, &r, genes, NULL), EVOCC_OK);
            for (size_t c = 0; c < space_count(space); c++) {
                used[c] = used[c] || genes[c] != SPACE_ABSENT;
            }
        }
        for (size_t c = 0; c < space_count(space); c++) {
            const space_control *control = space_get(space, c);
            assert_true(used[c]);
            assert_non_null(control->help);
            assert_non_null(control->option);
        }
        int32_t baseline[BUILTIN_GENES];
        genes_of(baseline, space, "");
        assert_int_equal(space_check(space, baseline, NULL), EVOCC_OK);
        space_free(space);
    }
    evocc_space *space;
    evocc_error error;
    assert_int_equal(space_builtin_load(&space, "cobol", &error), EVOCC_NOT_FOUND);
    assert_string_equal(error.message,
                        "there is no built-in space 'cobol'; there are: clang ptxas");
}

/* What the file of ptxas must say whatever else it comes to hold. */
static void test_ptxas(void **state)
{
    (void)state;
    evocc_space *space;
    int32_t genes[MAX_GENES];
    assert_int_equal(space_builtin_load(&space, "ptxas", NULL), EVOCC_OK);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *c = space_get(space, i);
        assert_int_equal(c->stage, SPACE_STAGE_PTXAS);
        assert_true(strncmp(c->option, "-", 1) == 0);
        const char *hole = strstr(c->option, "{}");
        assert_int_equal(hole != NULL, c->kind != SPACE_FLAG);
        assert_true(hole == NULL || strstr(hole + 1, "{}") == NULL);
    }
    /* ptxas ignores the level below -O3. */
    genes_of(genes, space, "ptxas/opt-level=1 ptxas/register-usage-level=10");
    assert_string_equal(text_of(space, genes), "ptxas/opt-level=1");
    assert_int_equal(space_get(space, space_find(space, "ptxas/fmad"))->numerics, SPACE_ROUNDING);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),  cmocka_unit_test(test_head),
        cmocka_unit_test(test_controls), cmocka_unit_test(test_rules),
        cmocka_unit_test(test_builtins), cmocka_unit_test(test_ptxas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
