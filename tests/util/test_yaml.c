#include "unit.h"

#include "util/mem.h"
#include "util/strbuf.h"
#include "util/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARSE(text) parse(text, sizeof(text) - 1)

static yaml_document *parse(const char *text, size_t length)
{
    yaml_document *document = NULL;
    evocc_error error = {0};
    if (yaml_parse(&document, text, length, "x.yaml", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return document;
}

static const yaml_node *get(const yaml_document *document, const char *key)
{
    const yaml_node *node = yaml_get(yaml_root(document), key);
    assert_non_null(node);
    return node;
}

static void assert_place(const yaml_node *node, int line, int column)
{
    assert_int_equal(node->line, line);
    assert_int_equal(node->column, column);
}

/* ---- What is read ---------------------------------------------------------------------------- */

static void kinds_and_places(void **state)
{
    (void)state;
    yaml_document *document = PARSE("# a comment\n"
                                    "plain: word\n"
                                    "list: [x, 'y', \"z\"]\n"
                                    "inner:\n"
                                    "  deep: {k: v}\n"
                                    "block: |\n"
                                    "  one\n"
                                    "  two\n"
                                    "empty:\n"
                                    "'quoted key': 1\n");
    const yaml_node *root = yaml_root(document);
    assert_int_equal(root->kind, YAML_MAPPING);
    assert_int_equal(root->count, 6);
    assert_place(root, 2, 1);
    assert_string_equal(root->keys[5]->text, "quoted key");
    assert_true(root->keys[5]->quoted);
    assert_place(root->keys[5], 10, 1);
    assert_string_equal(get(document, "plain")->text, "word");
    assert_place(get(document, "plain"), 2, 8);
    const yaml_node *list = get(document, "list");
    assert_int_equal(list->kind, YAML_SEQUENCE);
    assert_int_equal(list->count, 3);
    assert_place(list, 3, 7);
    assert_false(list->items[0]->quoted);
    assert_true(list->items[1]->quoted);
    assert_string_equal(list->items[2]->text, "z");
    assert_place(list->items[1], 3, 11);
    assert_place(list->items[2], 3, 16);
    const yaml_node *deep = yaml_get(get(document, "inner"), "deep");
    assert_place(deep, 5, 9);
    assert_string_equal(yaml_get(deep, "k")->text, "v");
    assert_string_equal(get(document, "block")->text, "one\ntwo\n");
    assert_true(get(document, "block")->quoted);
    assert_string_equal(get(document, "empty")->text, "");
    assert_false(get(document, "empty")->quoted);
    assert_null(yaml_get(root, "absent"));
    assert_null(yaml_get(list, "x"));
    yaml_free(document);
}

static void json_is_read(void **state)
{
    (void)state;
    yaml_document *document = PARSE("{\"a\": [1, true, null], \"b\\u0041\": \"\\n\", \"c\": {}}\n");
    assert_int_equal(get(document, "a")->count, 3);
    assert_string_equal(get(document, "bA")->text, "\n");
    assert_int_equal(get(document, "c")->count, 0);
    yaml_free(document);
}

static void roots_of_each_kind(void **state)
{
    (void)state;
    yaml_document *document = PARSE("- a\n- b\n");
    assert_int_equal(yaml_root(document)->count, 2);
    yaml_free(document);
    document = PARSE("word");
    assert_string_equal(yaml_root(document)->text, "word");
    yaml_free(document);
    document = PARSE("--- {a: b}\n...\n# the end\n");
    assert_string_equal(get(document, "a")->text, "b");
    yaml_free(document);
    yaml_free(NULL);
}

static void line_ends_and_marks(void **state)
{
    (void)state;
    yaml_document *document = PARSE("\xef\xbb\xbf"
                                    "a: 1\r\nb: 2\r\n");
    assert_place(get(document, "a"), 1, 4);
    assert_place(get(document, "b"), 2, 4);
    assert_string_equal(get(document, "b")->text, "2");
    yaml_free(document);
    document = PARSE("\xc3\xa4: \xc3\xb6\n\xe2\x82\xac: {k: v}\n");
    assert_place(get(document, "\xc3\xa4"), 1, 4);
    assert_place(yaml_get(get(document, "\xe2\x82\xac"), "k"), 2, 8);
    yaml_free(document);
}

/* Only `length` bytes are read, whatever lies behind them. */
static void length_counts(void **state)
{
    (void)state;
    yaml_document *document = parse("a: 12", 4);
    assert_string_equal(get(document, "a")->text, "1");
    yaml_free(document);
}

static void nested(strbuf *text, int depth)
{
    for (int i = 0; i < depth; i++) {
        strbuf_putc(text, '[');
    }
    for (int i = 0; i < depth; i++) {
        strbuf_putc(text, ']');
    }
}

static void sixty_four_levels(void **state)
{
    (void)state;
    strbuf text = {0};
    nested(&text, 64);
    yaml_document *document = parse(text.data, text.length);
    int depth = 1;
    for (const yaml_node *node = yaml_root(document); node->count > 0; node = node->items[0]) {
        depth++;
    }
    assert_int_equal(depth, 64);
    yaml_free(document);
    strbuf_dispose(&text);
}

static void many_keys(void **state)
{
    (void)state;
    strbuf text = {0};
    for (int i = 0; i < 20000; i++) {
        strbuf_printf(&text, "k%d: [%d]\n", i, i);
    }
    yaml_document *document = parse(text.data, text.length);
    assert_int_equal(yaml_root(document)->count, 20000);
    assert_string_equal(yaml_root(document)->keys[19999]->text, "k19999");
    assert_string_equal(yaml_root(document)->items[777]->items[0]->text, "777");
    yaml_free(document);
    strbuf_dispose(&text);
}

/* ---- What is refused ------------------------------------------------------------------------- */

typedef struct refusal {
    const char *text;
    size_t length;
    const char *message;
} refusal;

#define REFUSAL(text, message)          \
    {                                   \
        text, sizeof(text) - 1, message \
    }

static const refusal refusals[] = {
    REFUSAL("a: &x 1\n", "1:4: anchors (&name) are not allowed"),
    REFUSAL("a: 1\nb:\n  - &x {c: d}\n", "3:5: anchors (&name) are not allowed"),
    REFUSAL("&x a: 1\n", "1:1: anchors (&name) are not allowed"),
    REFUSAL("a: [1, *x]\n", "1:8: aliases (*name) are not allowed"),
    REFUSAL("*x : 1\n", "1:1: aliases (*name) are not allowed"),
    REFUSAL("a: !!str x\n", "1:4: tags (!name) are not allowed"),
    REFUSAL("!t {a: 1}\n", "1:1: tags (!name) are not allowed"),
    REFUSAL("a: [!<x> y]\n", "1:5: tags (!name) are not allowed"),
    REFUSAL("a: 1\nb: 2\na: 3\n", "3:1: key 'a' was given before, in line 1"),
    REFUSAL("a: 1\n'a': 3\n", "2:1: key 'a' was given before, in line 1"),
    REFUSAL("b: {x: 1, y: 2, \"x\": 3}\n", "1:17: key 'x' was given before, in line 1"),
    REFUSAL("a:\n  <<: {b: 1}\n", "2:3: merge keys (<<) are not allowed; write the entries out"),
    REFUSAL("a: 1\n---\nb: 2\n", "2:1: a second document begins here; one is allowed in a file"),
    REFUSAL("a: 1\n...\nb: 2\n", "2:1: a second document begins here; one is allowed in a file"),
    REFUSAL("%YAML 1.2\n---\na: 1\n", "1:1: directives (%) are not allowed"),
    REFUSAL("# c\n\n%TAG ! x:\n---\na: 1\n", "3:1: directives (%) are not allowed"),
    REFUSAL("%ODD x\n---\na: 1\n", "1:1: directives (%) are not allowed"),
    REFUSAL("", "1:1: the text is empty"),
    REFUSAL("# only this\n", "2:1: the text is empty"),
    REFUSAL("? [a]\n: b\n", "1:3: a key must be a plain word or a quoted text"),
    REFUSAL("{{a: b}: c}\n", "1:2: a key must be a plain word or a quoted text"),
    REFUSAL(": x\n", "1:1: a key is missing before ':'"),
    REFUSAL("a: x\0y\n", "1:5: NUL byte"),
    REFUSAL("a: \"x\\0y\"\n", "1:4: NUL character in a text"),
    REFUSAL("a: b\nc: \xff\n", "2:4: byte 0xff is not UTF-8"),
    REFUSAL("a: \xc3", "1:4: byte 0xc3 is not UTF-8"),
    REFUSAL("\xc3\xa4: \xed\xa0\x80\n", "1:4: byte 0xed is not UTF-8"),
    REFUSAL("\xff\xfe"
            "a\0:\0",
            "1:1: byte 0xff is not UTF-8"),
    REFUSAL("a: \x01\n", "1:4: control character 0x01"),
    REFUSAL("a: \x7f\n", "1:4: control character 0x7f"),
    REFUSAL("a:\n\t- b\n", "2:1: tab character may not be used as indentation"),
    REFUSAL("a: b: c\n", "1:5: invalid nested block mapping on the same line"),
    REFUSAL("a: [1, 2\n", "2:1: flow sequence without a closing bracket"),
    REFUSAL("a: \"x\n", "1:5: double-quoted scalar without closing quote"),
    REFUSAL("a:\n  b: 1\n c: 2\n", "3:2: invalid indentation in mapping"),
    REFUSAL("a: |0\n  x\n", "1:1: not YAML from about here"),
    REFUSAL("a: @x\n", "1:4: plain scalar cannot start with '@'"),
};

static void refusals_name_the_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        yaml_document *document = NULL;
        evocc_error error = {0};
        char expected[256];
        snprintf(expected, sizeof expected, "best.acf:%s", refusals[i].message);
        evocc_status status =
            yaml_parse(&document, refusals[i].text, refusals[i].length, "best.acf", &error);
        if (status != EVOCC_PARSE || strcmp(error.message, expected) != 0) {
            fail_msg("%s\nexpected %s\ngot      %s", refusals[i].text, expected, error.message);
        }
        assert_null(document);
        assert_int_equal(
            yaml_parse(&document, refusals[i].text, refusals[i].length, "best.acf", NULL),
            EVOCC_PARSE);
    }
}

/* Deep nesting of every sort ends at once and in time that grows with the text alone. */
static void deep_nesting_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *place;
    } sorts[] = {{"[", "x:1:65: nested more than 64 levels deep"},
                 {"{a: ", "x:1:257: nested more than 64 levels deep"},
                 {"- ", "x:1:129: nested more than 64 levels deep"},
                 {"? ", "x:1:3: a key must be a plain word or a quoted text"},
                 {"{", "x:1:2: a key must be a plain word or a quoted text"}};
    for (size_t i = 0; i < COUNT(sorts); i++) {
        strbuf text = {0};
        while (text.length < 200000) {
            strbuf_puts(&text, sorts[i].unit);
        }
        yaml_document *document = NULL;
        evocc_error error;
        assert_int_equal(yaml_parse(&document, text.data, text.length, "x", &error), EVOCC_PARSE);
        assert_string_equal(error.message, sorts[i].place);
        strbuf_dispose(&text);
    }
}

/* The library below us writes its own diagnostics to stderr unless it is kept from it. */
static void nothing_is_printed(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int old = dup(STDERR_FILENO);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    for (size_t i = 0; i < COUNT(refusals); i++) {
        yaml_document *document;
        evocc_error error;
        yaml_parse(&document, refusals[i].text, refusals[i].length, "x", &error);
    }
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    close(old);
    assert_int_equal(lseek(fileno(file), 0, SEEK_END), 0);
    fclose(file);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char text[] = "a: [1, {b: c, d: e}]\nf: {g: 'h'}\ni:\n- j\n- k\n";
    bool failed = true;
    long n;
    for (n = 0; failed; n++) {
        yaml_document *document = NULL;
        evocc_error error;
        mem_fail_after(n);
        evocc_status status = yaml_parse(&document, text, sizeof text - 1, "x", &error);
        mem_fail_after(-1);
        failed = status != EVOCC_OK;
        if (failed) {
            assert_int_equal(status, EVOCC_NO_MEMORY);
            assert_null(document);
        } else {
            yaml_free(document);
        }
    }
    assert_true(n > 5);
}

/* ---- Typed access ---------------------------------------------------------------------------- */

static yaml_document *typed(void)
{
    return PARSE("text: word\n"
                 "quoted: '12'\n"
                 "integer: -12\n"
                 "hex: 0x1f\n"
                 "number: 2.5e-3\n"
                 "yes: true\n"
                 "no: false\n"
                 "old: yes\n"
                 "null: ~\n"
                 "empty:\n"
                 "list: []\n"
                 "map: {}\n"
                 "large: 9223372036854775808\n"
                 "inf: .inf\n");
}

static void typed_access(void **state)
{
    (void)state;
    yaml_document *document = typed();
    const char *text;
    int64_t integer;
    double number;
    bool truth;
    assert_int_equal(yaml_text(&text, document, get(document, "text"), NULL), EVOCC_OK);
    assert_string_equal(text, "word");
    assert_int_equal(yaml_text(&text, document, get(document, "quoted"), NULL), EVOCC_OK);
    assert_int_equal(yaml_text(&text, document, get(document, "integer"), NULL), EVOCC_OK);
    assert_string_equal(text, "-12");
    assert_int_equal(yaml_integer(&integer, document, get(document, "integer"), NULL), EVOCC_OK);
    assert_int_equal(integer, -12);
    assert_int_equal(yaml_integer(&integer, document, get(document, "hex"), NULL), EVOCC_OK);
    assert_int_equal(integer, 31);
    assert_int_equal(yaml_number(&number, document, get(document, "number"), NULL), EVOCC_OK);
    assert_true(number == 2.5e-3);
    assert_int_equal(yaml_number(&number, document, get(document, "integer"), NULL), EVOCC_OK);
    assert_true(number == -12);
    assert_int_equal(yaml_bool(&truth, document, get(document, "yes"), NULL), EVOCC_OK);
    assert_true(truth);
    assert_int_equal(yaml_bool(&truth, document, get(document, "no"), NULL), EVOCC_OK);
    assert_false(truth);
    yaml_free(document);
}

typedef evocc_status reader_of(const yaml_document *document, const yaml_node *node,
                               evocc_error *error);

static evocc_status as_text(const yaml_document *d, const yaml_node *n, evocc_error *error)
{
    const char *out;
    return yaml_text(&out, d, n, error);
}

static evocc_status as_integer(const yaml_document *d, const yaml_node *n, evocc_error *error)
{
    int64_t out;
    return yaml_integer(&out, d, n, error);
}

static evocc_status as_number(const yaml_document *d, const yaml_node *n, evocc_error *error)
{
    double out;
    return yaml_number(&out, d, n, error);
}

static evocc_status as_bool(const yaml_document *d, const yaml_node *n, evocc_error *error)
{
    bool out;
    return yaml_bool(&out, d, n, error);
}

static void typed_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        reader_of *read;
        const char *message;
    } cases[] = {
        {"list", as_text, "x.yaml:11:7: expected a text, found a sequence"},
        {"null", as_text, "x.yaml:9:7: expected a text, found '~'"},
        {"empty", as_text, "x.yaml:10:1: expected a text, found nothing"},
        {"text", as_integer, "x.yaml:1:7: expected an integer of 64 bits, found 'word'"},
        {"quoted", as_integer, "x.yaml:2:9: expected an integer of 64 bits, found \"12\""},
        {"number", as_integer, "x.yaml:5:9: expected an integer of 64 bits, found '2.5e-3'"},
        {"large", as_integer,
         "x.yaml:13:8: expected an integer of 64 bits, found '9223372036854775808'"},
        {"map", as_integer, "x.yaml:12:6: expected an integer of 64 bits, found a mapping"},
        {"inf", as_number, "x.yaml:14:6: expected a finite number, found '.inf'"},
        {"quoted", as_number, "x.yaml:2:9: expected a finite number, found \"12\""},
        {"list", as_number, "x.yaml:11:7: expected a finite number, found a sequence"},
        {"old", as_bool, "x.yaml:8:6: expected true or false, found 'yes'"},
        {"map", as_bool, "x.yaml:12:6: expected true or false, found a mapping"},
    };
    yaml_document *document = typed();
    for (size_t i = 0; i < COUNT(cases); i++) {
        evocc_error error;
        const yaml_node *node = get(document, cases[i].key);
        assert_int_equal(cases[i].read(document, node, &error), EVOCC_PARSE);
        assert_string_equal(error.message, cases[i].message);
    }
    yaml_free(document);
}

static void only_known_keys(void **state)
{
    (void)state;
    static const char *const allowed[] = {"name", "domain", "default", NULL};
    evocc_error error;
    yaml_document *document = PARSE("name: x\ndomian: y\n");
    assert_int_equal(yaml_only_keys(document, yaml_root(document), allowed, &error), EVOCC_PARSE);
    assert_string_equal(error.message, "x.yaml:2:1: unknown key 'domian'; did you mean 'domain'?");
    yaml_free(document);
    document = PARSE("{zzz: 1}");
    assert_int_equal(yaml_only_keys(document, yaml_root(document), allowed, &error), EVOCC_PARSE);
    assert_string_equal(error.message, "x.yaml:1:2: unknown key 'zzz'");
    yaml_free(document);
    document = PARSE("{default: 1, name: 2}");
    assert_int_equal(yaml_only_keys(document, yaml_root(document), allowed, &error), EVOCC_OK);
    yaml_free(document);
    document = PARSE("[a]");
    assert_int_equal(yaml_only_keys(document, yaml_root(document), allowed, &error), EVOCC_PARSE);
    assert_string_equal(error.message, "x.yaml:1:1: expected a mapping, found a sequence");
    yaml_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_places),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(roots_of_each_kind),
        cmocka_unit_test(line_ends_and_marks),
        cmocka_unit_test(length_counts),
        cmocka_unit_test(sixty_four_levels),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(refusals_name_the_place),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(nothing_is_printed),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(typed_access),
        cmocka_unit_test(typed_refusals),
        cmocka_unit_test(only_known_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
