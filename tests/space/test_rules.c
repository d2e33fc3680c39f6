/* Conditions, exceptions to wide forms, forbidden combinations, copying. */
#include "helpers.h"

#define HEAD "evocc-space: 1\nstage: define\ncontrols:\n"

static void assert_canonical(const evocc_space *space, const char *from, const char *to)
{
    int32_t genes[MAX_GENES];
    genes_of(genes, space, from);
    assert_string_equal(text_of(space, genes), to);
}

static void assert_allowed(const evocc_space *space, const char *candidate, const char *refusal)
{
    int32_t genes[MAX_GENES];
    evocc_error error;
    genes_of(genes, space, candidate);
    evocc_status status = space_check(space, genes, &error);
    assert_int_equal(status, space_check(space, genes, NULL));
    if (refusal == NULL) {
        assert_int_equal(status, EVOCC_OK);
    } else {
        assert_int_equal(status, EVOCC_REFUSED);
        assert_string_equal(error.message, refusal);
    }
}

static void test_defaults_and_dormancy(void **state)
{
    (void)state;
    evocc_space *space =
        space_of(HEAD "  mode: {type: choice, values: [a, b, c], default: a}\n"
                      "  deep: {type: int, range: [1, 9], default: 1,\n"
                      "         when: {mid: [\"on\"]}}\n"
                      "  mid: {type: flag, when: {mode: [b, c]}}\n"
                      "  word: {type: choice, values: [x, y], when: {mid: absent}}\n");
    assert_canonical(space, "mode=a deep=1", "");
    assert_canonical(space, "mode=b mid=on deep=3", "mode=b deep=3 mid=on");
    assert_canonical(space, "mode=b deep=3", "mode=b"); /* mid absent */
    assert_canonical(space, "mid=on deep=3", "");       /* a chain: mid dormant, so deep too */
    assert_canonical(space, "mode=c word=x", "mode=c word=x");
    assert_canonical(space, "mode=c word=x mid=on", "mode=c mid=on");
    int32_t genes[4] = {0, 8, 7, -9}; /* outside the domains: absent */
    space_canonicalise(space, genes);
    assert_string_equal(text_of(space, genes), "");
    genes_of(genes, space, "mode=b mid=on");
    assert_true(space_is_active(space, genes, 1));
    assert_false(space_is_active(space, genes, 3));
    assert_int_equal(space_effective(space, genes, 1), 0);
    assert_int_equal(space_effective(space, genes, 3), SPACE_ABSENT);
    space_free(space);
}

static void test_condition_on_default(void **state)
{
    (void)state;
    /* Naming the default and naming absent are the same. */
    evocc_space *space = space_of(HEAD "  level: {type: int, range: [0, 3], default: 3}\n"
                                       "  a: {type: flag, when: {level: 3}}\n"
                                       "  b: {type: flag, when: {level: absent}}\n"
                                       "  c: {type: flag, when: {level: [0, 1], a: absent}}\n");
    assert_canonical(space, "a=on b=on c=on", "a=on b=on");
    assert_canonical(space, "level=1 a=on b=on c=on", "level=1 c=on");
    assert_canonical(space, "level=2 a=on b=on c=on", "level=2");
    space_free(space);
}

static void test_exceptions(void **state)
{
    (void)state;
    const char *controls =
        HEAD "  order: {type: choice, values: [original, late, early], default: original}\n"
             "  order.b1: {type: choice, values: [original, late, early], default: original,\n"
             "             parent: order}\n"
             "  order.b1.x: {type: choice, values: [original, late, early], default: original,\n"
             "               parent: order.b1}\n";
    evocc_space *space = space_of(controls);
    assert_canonical(space, "order=late order.b1=late", "order=late");
    assert_canonical(space, "order=late order.b1=original", "order=late order.b1=original");
    assert_canonical(space, "order.b1=original", "");
    assert_canonical(space, "order=late order.b1=early order.b1.x=late",
                     "order=late order.b1=early order.b1.x=late");
    assert_canonical(space, "order=late order.b1.x=late", "order=late");
    assert_canonical(space, "order.b1=early order.b1.x=early", "order.b1=early");
    int32_t genes[3];
    genes_of(genes, space, "order=late order.b1=early");
    assert_int_equal(space_effective(space, genes, 2), 2);
    space_free(space);
}

static void test_cycles(void **state)
{
    (void)state;
    assert_refused(HEAD "  a: {type: flag, when: {b: \"on\"}}\n"
                        "  b: {type: flag, when: {c: \"on\"}}\n"
                        "  c: {type: flag, when: {a: \"on\"}}\n",
                   "test:6:26: control define/c: its conditions lead back to itself");
    assert_refused(HEAD "  a: {type: flag, when: {a: \"on\"}}\n",
                   "test:4:26: control define/a: its conditions lead back to itself");
    /* Through a parent. */
    assert_refused(HEAD "  wide: {type: flag, when: {site: \"on\"}}\n"
                        "  site: {type: flag, parent: wide}\n",
                   "test:4:29: control define/wide: its conditions lead back to itself");
}

static void test_forbidden(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  a: {type: int, range: [1, 4], default: 1}\n"
                                       "  b: {type: choice, values: [x, y, z]}\n"
                                       "  c: {type: flag}\n"
                                       "forbid:\n"
                                       "  - {a: 1, b: [x, y]}\n"
                                       "  - {c: absent, a: 4}\n");
    assert_allowed(space, "", NULL);
    assert_allowed(space, "b=x", "forbidden combination: define/a=1, define/b=x");
    assert_allowed(space, "b=z", NULL);
    assert_allowed(space, "a=2 b=x", NULL);
    assert_allowed(space, "a=4 b=x", "forbidden combination: define/c=absent, define/a=4");
    assert_allowed(space, "a=4 b=x c=on", NULL);
    space_free(space);
}

static void test_building_errors(void **state)
{
    (void)state;
    evocc_space *space;
    evocc_error error;
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    space_control c = {.name = "a", .kind = SPACE_BOOL, .default_index = 0, .parent = SPACE_ABSENT};
    assert_int_equal(space_add(space, &c, NULL), EVOCC_OK);
    c.stage = SPACE_STAGE_PTX;
    assert_int_equal(space_add(space, &c, NULL), EVOCC_OK);
    c.name = "b";
    assert_int_equal(space_add(space, &c, NULL), EVOCC_OK);
    const char *const yes[] = {"true"}, *const maybe[] = {"maybe"};
    space_term term = {"a", yes, 1};
    assert_int_equal(space_add_condition(space, "b", &term, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "control 'a' may be define/a or ptx/a");
    term.control = "ptx/a";
    term.values = maybe;
    assert_int_equal(space_add_condition(space, "b", &term, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "control ptx/a: value 'maybe' is not one of false true");
    term.value_count = 0;
    assert_int_equal(space_add_condition(space, "b", &term, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "control ptx/a: a rule names none of its values");
    assert_int_equal(space_add_condition(space, "none", &term, &error), EVOCC_NOT_FOUND);
    assert_string_equal(error.message, "there is no control 'none'");
    space_term twice[] = {{"b", yes, 1}, {"ptx/b", yes, 1}};
    assert_int_equal(space_add_forbidden(space, twice, 2, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "control ptx/b is named twice in a forbidden combination");
    assert_int_equal(space_add_forbidden(space, twice, 0, &error), EVOCC_INVALID_ARGUMENT);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_INVALID_ARGUMENT);
    assert_int_equal(space_add(space, &c, &error), EVOCC_INVALID_ARGUMENT);
    assert_int_equal(space_add_forbidden(space, twice, 1, &error), EVOCC_INVALID_ARGUMENT);
    assert_int_equal(space_add_condition(space, "b", twice, &error), EVOCC_INVALID_ARGUMENT);
    assert_int_equal(space_add_constraint(space, "b", &error), EVOCC_INVALID_ARGUMENT);
    int32_t genes[3] = {SPACE_ABSENT, SPACE_ABSENT, 1};
    assert_int_equal(space_check(space, genes, NULL), EVOCC_OK); /* no rule came in */
    space_free(space);
}

static bool keep_unless(const space_control *control, void *context)
{
    return strcmp(control->name, context) != 0;
}

static evocc_space *copy_without(const evocc_space *from, const char *name)
{
    evocc_space *space;
    char context[64];
    strcpy(context, name);
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    assert_int_equal(space_add_all(space, from, keep_unless, context, NULL), EVOCC_OK);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    return space;
}

static void test_copy(void **state)
{
    (void)state;
    evocc_space *space = space_of(HEAD "  level: {type: int, range: [0, 3], default: 3}\n"
                                       "  fast: {type: flag, when: {level: [2, 3]}}\n"
                                       "  slow: {type: flag, when: {level: 0}}\n"
                                       "  slower: {type: flag, when: {slow: \"on\"}}\n"
                                       "  wide: {type: bool, default: \"true\"}\n"
                                       "  site: {type: bool, default: \"true\", parent: wide}\n"
                                       "  word: {type: choice, values: [x, y], default: x}\n"
                                       "forbid:\n"
                                       "  - {level: 3, fast: \"on\", word: y}\n"
                                       "  - {level: 1, word: y}\n"
                                       "constraints:\n"
                                       "  - word == 'x' or wide or level > 1\n");
    evocc_space *all = copy_without(space, "");
    char digest[2][HASH_SHA256_TEXT];
    space_digest(digest[0], space);
    space_digest(digest[1], all);
    assert_string_equal(digest[0], digest[1]);
    assert_allowed(all, "level=1 wide=false word=y",
                   "forbidden combination: define/level=1, define/word=y");
    assert_allowed(all, "level=0 wide=false word=y",
                   "constraint 'word == 'x' or wide or level > 1' does not hold (define/word=y, "
                   "define/wide=false, define/level=0)");
    space_free(all);

    evocc_space *part = copy_without(space, "level");
    /* level is 3 for ever: fast is always active; slow, and slower with it, never. */
    assert_int_equal(space_count(part), 4);
    assert_canonical(part, "fast=on", "fast=on");
    assert_true(space_find(part, "define/slow") == (size_t)-1);
    assert_true(space_find(part, "define/slower") == (size_t)-1);
    assert_allowed(part, "fast=on word=y", "forbidden combination: define/fast=on, define/word=y");
    assert_allowed(part, "wide=false word=y", NULL); /* the constraint is gone */
    space_free(part);

    part = copy_without(space, "wide");
    assert_canonical(part, "site=false", "site=false");
    assert_int_equal(space_get(part, space_find(part, "define/site"))->parent, SPACE_ABSENT);
    space_free(part);
    space_free(space);
}

static void test_digest(void **state)
{
    (void)state;
    static const char *const spaces[] = {
        HEAD "  a: {type: int, range: [1, 4], default: 1}\n  b: {type: flag}\n",
        HEAD "  a: {type: int, range: [1, 5], default: 1}\n  b: {type: flag}\n",
        HEAD "  a: {type: int, range: [1, 4], default: 2}\n  b: {type: flag}\n",
        HEAD "  a: {type: int, range: [1, 4], default: 1}\n  b: {type: flag, when: {a: 1}}\n",
        HEAD "  a: {type: int, range: [1, 4], default: 1}\n  b: {type: flag, when: {a: 2}}\n",
        HEAD "  a: {type: int, range: [1, 4], default: 1}\n  b: {type: flag}\nforbid: [{a: 1}]\n",
        HEAD "  a: {type: int, range: [1, 4], default: 1}\n  b: {type: flag}\n"
             "constraints: [a > 1]\n",
        HEAD "  a: {type: int, range: [1, 4], default: 1, option: \"-x{}\"}\n  b: {type: flag}\n",
    };
    enum { COUNT = sizeof spaces / sizeof *spaces };
    char digests[COUNT][HASH_SHA256_TEXT];
    for (size_t i = 0; i < COUNT; i++) {
        evocc_space *space = space_of(spaces[i]);
        space_digest(digests[i], space);
        assert_int_equal(strlen(digests[i]), 64);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(digests[i], digests[k]);
        }
        space_free(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_and_dormancy),
        cmocka_unit_test(test_condition_on_default),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_building_errors),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
