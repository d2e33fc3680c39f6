/* Expressions: what they mean, what is refused and where, and that nothing else gets through. */
#include "helpers.h"

#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD                                                                 \
    "evocc-space: 1\nstage: define\ncontrols:\n"                             \
    "  x: {type: int, range: [0, 100], default: 3}\n"                        \
    "  y: {type: pow2, range: [1, 64], default: 4}\n"                        \
    "  ratio: {type: float, range: [0, 1], step: 0.25, default: 0.5}\n"      \
    "  on-off: {type: flag}\n"                                               \
    "  yes.no: {type: bool, default: \"false\"}\n"                           \
    "  word: {type: choice, values: [late, \"24\", early], default: late}\n" \
    "  free: {type: int, range: [1, 9]}\n"                                   \
    "  end: {type: int, range: [1, 9], default: 1}\n"

static evocc_space *unfinished(void)
{
    evocc_space *space;
    assert_int_equal(space_parse(&space, HEAD, strlen(HEAD), "test", NULL), EVOCC_OK);
    return space;
}

/* Whether the constraint admits the candidate; `expected` EVOCC_OK or EVOCC_REFUSED. */
static void assert_result(const char *constraint, const char *candidate, evocc_status expected)
{
    evocc_space *space = unfinished();
    evocc_error error;
    int32_t genes[MAX_GENES];
    if (space_add_constraint(space, constraint, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    genes_of(genes, space, candidate);
    if (space_check(space, genes, &error) != expected) {
        fail_msg("%s under '%s': unexpected result", constraint, candidate);
    }
    space_free(space);
}

static void test_meaning(void **state)
{
    (void)state;
    assert_result("x * y <= 12", "", EVOCC_OK); /* defaults */
    assert_result("x * y <= 12", "x=4", EVOCC_REFUSED);
    assert_result("x * y\n <= 2 ^ 10 and\n x % y == 0", "x=64 y=16", EVOCC_OK);
    assert_result("x // y == 1 and x / y == 1.5", "x=6", EVOCC_OK);
    assert_result("ratio * 4 == 3", "ratio=0.75", EVOCC_OK);
    assert_result("not on_off", "", EVOCC_OK);
    assert_result("not on_off", "on-off=on", EVOCC_REFUSED);
    assert_result("on_off == false", "", EVOCC_OK);
    assert_result("yes_no or x ~= 5", "x=5 yes.no=true", EVOCC_OK);
    assert_result("yes_no or x ~= 5", "x=5", EVOCC_REFUSED);
    assert_result("word ~= 'late' or x == 3", "x=4", EVOCC_REFUSED);
    assert_result("word ~= \"24\" or x == 3", "word=24 x=9", EVOCC_OK); /* 24 is a number */
    assert_result("word ~= 24 or x == 3", "word=24 x=9", EVOCC_REFUSED);
    assert_result("word == 'early' or word == 'late' or word > 20", "word=24", EVOCC_OK);
    assert_result("free == nil or free * 2 > 4", "", EVOCC_OK);
    assert_result("free == nil or free * 2 > 4", "free=3", EVOCC_OK);
    assert_result("free == nil or free * 2 > 4", "free=2", EVOCC_REFUSED);
    assert_result("define_end == 1", "", EVOCC_OK);
    assert_result("y - -y > ~x & 0xf | 1 << 2 >> 1 ~ 3", "", EVOCC_REFUSED);
    assert_result("- x < 0 and - - x > 0 and not (not (x > 2))", "", EVOCC_OK);
    assert_result("x < 1e3 and x > .5 and x < 5. and x > 1e-1 and x ~= 0x10", "", EVOCC_OK);
}

static void test_failing_expressions(void **state)
{
    (void)state;
    evocc_space *space = unfinished();
    evocc_error error;
    int32_t genes[MAX_GENES];
    assert_int_equal(space_add_constraint(space, "free * 2 > 4", NULL), EVOCC_OK);
    assert_int_equal(space_add_constraint(space, "x ~= 7 or 'late'", NULL), EVOCC_OK);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    genes_of(genes, space, "");
    assert_int_equal(space_check(space, genes, &error), EVOCC_REFUSED);
    assert_string_equal(error.message,
                        "constraint 'free * 2 > 4' fails: attempt to perform arithmetic on a nil "
                        "value (local 'free') (define/free=absent)");
    genes_of(genes, space, "free=3 x=7");
    assert_int_equal(space_check(space, genes, &error), EVOCC_REFUSED);
    assert_string_equal(error.message,
                        "constraint 'x ~= 7 or 'late'' fails: it gives a string, not "
                        "true or false (define/x=7)");
    space_free(space);
}

static void assert_bad(const char *constraint, int line, int column, const char *message)
{
    evocc_space *space = unfinished();
    evocc_error error;
    char expected[600];
    snprintf(expected, sizeof expected, "constraint '%.200s': line %d, column %d: %s", constraint,
             line, column, message);
    for (char *p = expected; *p != '\0'; p++) {
        *p = *p == '\n' || *p == '\t' ? ' ' : *p < ' ' ? '?' : *p;
    }
    assert_int_equal(space_add_constraint(space, constraint, &error), EVOCC_PARSE);
    assert_string_equal(error.message, expected);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK); /* still usable */
    space_free(space);
}

static void test_syntax(void **state)
{
    (void)state;
    const char *operand = "a control, a number or '('";
    char text[200];
    snprintf(text, sizeof text, "the constraint ends where %s should stand", operand);
    assert_bad("", 1, 1, text);
    assert_bad("x +", 1, 4, text);
    assert_bad("x +\n  ", 2, 3, text);
    snprintf(text, sizeof text, "%s should stand here, not '*'", operand);
    assert_bad("x * * y", 1, 5, text);
    snprintf(text, sizeof text, "%s should stand here, not ')'", operand);
    assert_bad("x > ()", 1, 6, text);
    assert_bad("x y", 1, 3, "an operator should stand here, not 'y'");
    assert_bad("x > 3)", 1, 6, "')' without '('");
    assert_bad("((x > 3)", 1, 9, "')' is missing");
    assert_bad("x <\n\ty and z", 2, 8, "there is no control 'z'");
    assert_bad("on-off", 1, 1, "there is no control 'on'");
    assert_bad("1 < 2", 1, 1, "a constraint must name a control");
    assert_bad("end > 1", 1, 1,
               "'end' is a word of Lua; a control of that name is written with its stage, as in "
               "define_end");
    assert_bad("x = 3", 1, 3, "'=' has no place in a constraint; equality is ==");
    assert_bad("x != 3", 1, 3,
               "'!' has no place in a constraint; 'not equal' is ~=, negation is not");
    assert_bad("x > 3 -- y", 1, 7, "'--' begins a comment in Lua; write '- -'");
    assert_bad("x > 3x", 1, 5, "'3x' is not a number");
    assert_bad("x > 1e", 1, 5, "'1e' is not a number");
    assert_bad("x > 1..2", 1, 5, "'1..2' is not a number");
    assert_bad("x > 1e999", 1, 5, "'1e999' is not a number");
    assert_bad("word == 'late", 1, 9, "a string ends on its line and holds no backslash");
    assert_bad("word == 'la\\te'", 1, 9, "a string ends on its line and holds no backslash");
    assert_bad("x > \x01", 1, 5, "byte 0x01 has no place in a constraint");
    assert_bad("x > y and define_x > 1", 1, 11, "control define/x is named in two ways");
    assert_bad("x % y", 1, 1,
               "with every control at its default: it gives a number, not true or false");
    assert_bad("x < y < 9", 1, 1,
               "with every control at its default: attempt to compare boolean with number");
    assert_bad("x // 0 == 1", 1, 1, "with every control at its default: attempt to divide by zero");
    assert_bad("'1' + x > 0", 1, 1,
               "with every control at its default: attempt to perform arithmetic on a string value "
               "(constant '1')");
}

/* Ways out of an expression. None may reach Lua; all must be refused by the grammar. */
static void test_attacks(void **state)
{
    (void)state;
    static const char *const attacks[] = {
        "x() == 1",
        "print(x)",
        "('x'):rep(1000000000) == x",
        "(x)(y)",
        "x'y' == 1",
        "x\"y\" == 1",
        "x{1} == 1",
        "{x} == 1",
        "#'abc' == x",
        "'a' .. 'b' == x",
        "x.y == 1",
        "x[1] == 1",
        "x:y() == 1",
        "_G == x",
        "_ENV == x",
        "os.execute('true') == x",
        "string.rep('x', 1 << 40) == x",
        "(function() while true do end end)() == x",
        "function() return x end",
        "x) while true do end return (x",
        "x) -- (",
        "x == 1; while true do end",
        "x == 1 goto a ::a::",
        "x == [[long]]",
        "x == [==[ long ]==]",
        "x == ...",
        "... == x",
        "setmetatable({}, {__index = x})",
        "x == 1 return 2",
        "local z = 1",
        "x == '\\u{10}'",
        "x == '\n'",
        "x <const> == 1",
        "x ? 1 : 2",
        "x == 1 \\ 2",
        "`x` == 1",
        "x @ 1",
        "$x == 1",
        "\x1bLua == x",
    };
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        evocc_space *space = unfinished();
        evocc_error error;
        if (space_add_constraint(space, attacks[i], &error) != EVOCC_PARSE) {
            fail_msg("not refused: %s", attacks[i]);
        }
        space_free(space);
    }
}

/* Names that are not controls do not exist, even such as Lua would know. */
static void test_no_globals(void **state)
{
    (void)state;
    assert_bad("_ENV == x", 1, 1, "there is no control '_ENV'");
    assert_bad("x == _VERSION", 1, 6, "there is no control '_VERSION'");
}

static char *repeated(const char *head, const char *part, size_t count, const char *tail)
{
    strbuf text = {0};
    strbuf_puts(&text, head);
    for (size_t i = 0; i < count; i++) {
        strbuf_puts(&text, part);
    }
    strbuf_puts(&text, tail);
    return strbuf_take(&text);
}

/* Size is bounded, and so are time and memory. */
static void test_limits(void **state)
{
    (void)state;
    evocc_space *space = unfinished();
    evocc_error error;
    char *text = repeated("x > 0", " and x > 0", 1000, "");
    assert_int_equal(space_add_constraint(space, text, &error), EVOCC_PARSE);
    assert_non_null(strstr(error.message, "a constraint has at most 8192 characters"));
    mem_free(text);
    text = repeated("x > 0", " and x > 0", 800, "");
    assert_int_equal(space_add_constraint(space, text, &error), EVOCC_OK);
    mem_free(text);
    text = repeated("", "(", 65, "x");
    assert_int_equal(space_add_constraint(space, text, &error), EVOCC_PARSE);
    assert_non_null(strstr(error.message, "more than 64 parentheses deep"));
    mem_free(text);
    /* Lua's own limit on nested operators, reported and not run into. */
    text = repeated("", "not ", 1000, "x");
    assert_int_equal(space_add_constraint(space, text, &error), EVOCC_PARSE);
    assert_non_null(strstr(error.message, "overflow"));
    mem_free(text);
    text = repeated("x", " ^ x", 1500, " > 0");
    assert_int_equal(space_add_constraint(space, text, &error), EVOCC_PARSE);
    mem_free(text);
    text = repeated("x > 2", "^1e308", 20, "");
    assert_int_equal(space_add_constraint(space, text, NULL), EVOCC_OK);
    mem_free(text);
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    int32_t genes[MAX_GENES];
    genes_of(genes, space, "");
    double start_s = clock_now_s();
    for (int i = 0; i < 100; i++) {
        space_check(space, genes, NULL);
    }
    assert_true(clock_now_s() - start_s < 1.0); /* 800 comparisons each: milliseconds in all */
    space_free(space);
}

static void test_ambiguous_names(void **state)
{
    (void)state;
    evocc_space *space = unfinished();
    evocc_error error;
    space_control c = {.stage = SPACE_STAGE_PTX,
                       .name = "x",
                       .kind = SPACE_BOOL,
                       .default_index = 0,
                       .parent = SPACE_ABSENT};
    assert_int_equal(space_add(space, &c, NULL), EVOCC_OK);
    c.name = "on.off"; /* the identifier of on-off */
    c.stage = SPACE_STAGE_DEFINE;
    assert_int_equal(space_add(space, &c, NULL), EVOCC_OK);
    assert_int_equal(space_add_constraint(space, "y > 1 and x", &error), EVOCC_PARSE);
    assert_string_equal(error.message, "constraint 'y > 1 and x': line 1, column 11: 'x' may be "
                                       "define/x or ptx/x");
    assert_int_equal(space_add_constraint(space, "not on_off", &error), EVOCC_PARSE);
    assert_string_equal(error.message, "constraint 'not on_off': line 1, column 5: 'on_off' may be "
                                       "define/on-off or define/on.off");
    assert_int_equal(space_add_constraint(space, "define_x > 1 and not ptx_x", NULL), EVOCC_OK);
    space_free(space);
}

static void test_many_names(void **state)
{
    (void)state;
    strbuf text = {0};
    strbuf_puts(&text, "x > 1");
    for (int i = 0; i < 100; i++) {
        strbuf_printf(&text, " and c%d", i);
    }
    evocc_space *space = unfinished();
    evocc_error error;
    assert_int_equal(space_add_constraint(space, strbuf_text(&text), &error), EVOCC_PARSE);
    assert_non_null(strstr(error.message, "a constraint names at most 100 controls"));
    strbuf_dispose(&text);
    space_free(space);
}

/* The one thing that can make the interpreter large: the words of choices. */
static void test_memory_cap(void **state)
{
    (void)state;
    enum { WORDS = 300000, LENGTH = 48 };
    char *texts = mem_alloc(WORDS, LENGTH);
    const char **words = mem_alloc(WORDS, sizeof *words);
    for (size_t i = 0; i < WORDS; i++) {
        snprintf(texts + i * LENGTH, LENGTH, "a-rather-long-word-number-%019zu", i);
        words[i] = texts + i * LENGTH;
    }
    evocc_space *space = unfinished();
    evocc_error error;
    space_control c = {.name = "many",
                       .kind = SPACE_CHOICE,
                       .choices = words,
                       .size = WORDS,
                       .default_index = 0,
                       .parent = SPACE_ABSENT};
    assert_int_equal(space_add(space, &c, NULL), EVOCC_OK);
    assert_int_equal(space_add_constraint(space, "many ~= 'x'", &error), EVOCC_NO_MEMORY);
    assert_string_equal(error.message, "constraints have at most 16 MiB");
    assert_int_equal(space_add_constraint(space, "x > 2", &error), EVOCC_OK); /* goes on */
    space_free(space);
    mem_free(words);
    mem_free(texts);
}

/* Every mixture of tokens is either refused with a place, or evaluates to something. */
static void test_random_tokens(void **state)
{
    (void)state;
    static const char *const tokens[] = {
        "x",    "y",  "ratio", "word", "free", "on_off", "z",  "1",  "0", "2.5", "'late'", "nil",
        "true", "(",  ")",     "+",    "-",    "*",      "/",  "//", "%", "^",   "and",    "or",
        "not",  "==", "~=",    "<",    ">=",   "<<",     ">>", "&",  "|", "~",   "..",     "=",
    };
    rng r;
    rng_seed(&r, 5);
    int accepted = 0;
    for (int round = 0; round < 4000; round++) {
        strbuf text = {0};
        size_t length = 1 + (size_t)rng_below(&r, 9);
        for (size_t i = 0; i < length; i++) {
            strbuf_puts(&text, tokens[rng_below(&r, sizeof tokens / sizeof *tokens)]);
            strbuf_puts(&text, rng_chance(&r, 0.7) ? " " : "");
        }
        strbuf_puts(&text, rng_chance(&r, 0.5) ? " > 1" : "");
        evocc_space *space = unfinished();
        evocc_error error;
        evocc_status status = space_add_constraint(space, strbuf_text(&text), &error);
        assert_true(status == EVOCC_OK || status == EVOCC_PARSE);
        if (status == EVOCC_OK) {
            int32_t genes[MAX_GENES];
            assert_int_equal(space_finish(space, NULL), EVOCC_OK);
            for (int k = 0; k < 5; k++) {
                random_genes(genes, space, &r);
                space_canonicalise(space, genes);
                status = space_check(space, genes, &error);
                assert_true(status == EVOCC_OK || status == EVOCC_REFUSED);
            }
            accepted++;
        }
        space_free(space);
        strbuf_dispose(&text);
    }
    assert_true(accepted > 40); /* the test does reach the evaluator */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),       cmocka_unit_test(test_failing_expressions),
        cmocka_unit_test(test_syntax),        cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_no_globals),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_random_tokens), cmocka_unit_test(test_ambiguous_names),
        cmocka_unit_test(test_many_names),    cmocka_unit_test(test_memory_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
