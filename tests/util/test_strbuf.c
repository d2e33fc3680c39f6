#include "unit.h"

#include "util/mem.h"
#include "util/rng.h"
#include "util/strbuf.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void appending(void **state)
{
    (void)state;
    strbuf b = {0};
    assert_string_equal(strbuf_text(&b), "");
    strbuf_append(&b, "a\0b", 3);
    strbuf_puts(&b, "c");
    strbuf_putc(&b, 'd');
    strbuf_printf(&b, "%d-%s", 7, "e");
    assert_int_equal(b.length, 8);
    assert_memory_equal(b.data, "a\0bcd7-e", 9);
    strbuf_clear(&b);
    assert_string_equal(strbuf_text(&b), "");
    strbuf_append(&b, NULL, 0);
    assert_int_equal(b.length, 0);
    char *text = strbuf_take(&b);
    assert_string_equal(text, "");
    mem_free(text);
    text = strbuf_take(&b);
    assert_string_equal(text, "");
    mem_free(text);
    strbuf_dispose(&b);
}

static void build(strbuf *b)
{
    for (int i = 0; i < 200; i++) {
        strbuf_printf(b, "%d,", i);
        strbuf_json_string(b, "\"x\"");
        strbuf_number(b, i / 7.0);
        strbuf_shell_word(b, "it's");
    }
}

static void failure_is_sticky(void **state)
{
    (void)state;
    strbuf whole = {0};
    build(&whole);
    assert_false(whole.failed);
    bool failed = true;
    for (long n = 0; failed; n++) {
        strbuf b = {0};
        mem_fail_after(n);
        build(&b);
        mem_fail_after(-1);
        failed = b.failed;
        char *text = strbuf_take(&b);
        assert_int_equal(text == NULL, failed);
        assert_null(b.data);
        if (text != NULL) {
            assert_int_equal(n > 3, 1);
            assert_string_equal(text, whole.data);
        }
        mem_free(text);
    }
    strbuf_dispose(&whole);
    strbuf huge = {0};
    strbuf_append(&huge, "", PTRDIFF_MAX);
    assert_true(huge.failed);
    strbuf_puts(&huge, "x");
    assert_int_equal(huge.length, 0);
    strbuf_dispose(&huge);
}

static void json(void **state)
{
    (void)state;
    strbuf b = {0};
    strbuf_json_string(&b, "q\" b\\ n\n t\t 1\x01 7\x7f \xc3\xa4");
    assert_string_equal(b.data, "\"q\\\" b\\\\ n\\n t\\u0009 1\\u0001 7\\u007f \xc3\xa4\"");
    strbuf_clear(&b);
    strbuf_json_string(&b, "a\xff\xc3z\xed\xa0\x80"); /* no UTF-8: JSON has no word for it */
    assert_string_equal(b.data, "\"a\\ufffd\\ufffdz\\ufffd\\ufffd\\ufffd\"");
    strbuf_dispose(&b);
}

static void assert_number(double value, const char *expected)
{
    strbuf b = {0};
    strbuf_number(&b, value);
    assert_string_equal(strbuf_text(&b), expected);
    strbuf_dispose(&b);
}

static void numbers(void **state)
{
    (void)state;
    assert_number(0, "0");
    assert_number(-0.0, "-0");
    assert_number(0.1, "0.1");
    assert_number(1.8159e-3, "0.0018159");
    assert_number(100000, "100000");
    assert_number(1e15, "1e+15");
    assert_number(0.1 + 0.2, "0.30000000000000004");
    assert_number(DBL_MAX, "1.7976931348623157e+308");
    assert_number(5e-324, "5e-324");
    assert_number((double)NAN, "null");
    assert_number(-HUGE_VAL, "null");
}

/* Digits from the first to the last that is not zero. */
static int significant(const char *text)
{
    int digits = 0;
    int last = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9') {
            digits += digits > 0 || *text != '0';
            last = *text != '0' ? digits : last;
        }
    }
    return last;
}

/* Exact, with no digit too many, against trying every precision. */
static void numbers_come_back(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rng_next(&r);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (i % 2 == 0) {
            value = (double)(int64_t)(bits >> (bits % 60)) / 1000;
        }
        if (!isfinite(value)) {
            continue;
        }
        strbuf b = {0};
        strbuf_number(&b, value);
        double back = strtod(b.data, NULL);
        assert_memory_equal(&back, &value, sizeof value);
        char plain[40];
        int digits = 0;
        do {
            snprintf(plain, sizeof plain, "%.*g", ++digits, value);
        } while (strtod(plain, NULL) != value);
        assert_int_equal(significant(b.data), significant(plain));
        strbuf_dispose(&b);
    }
}

static void shell_words(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"plain-1.2/x=y", "plain-1.2/x=y"},
        {"", "''"},
        {"a b", "'a b'"},
        {"it's", "'it'\\''s'"},
        {"$x", "'$x'"},
        {"a\nb", "'a\nb'"},
        {"*", "'*'"},
        {"\"", "'\"'"},
        {"~", "'~'"},
        {"#x", "'#x'"},
        {"a;b", "'a;b'"},
        {"\xc3\xa4", "'\xc3\xa4'"},
    };
    for (size_t i = 0; i < COUNT(words); i++) {
        strbuf b = {0};
        strbuf_shell_word(&b, words[i][0]);
        assert_string_equal(b.data, words[i][1]);
        strbuf_dispose(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appending),   cmocka_unit_test(failure_is_sticky),
        cmocka_unit_test(json),        cmocka_unit_test(numbers),
        cmocka_unit_test(shell_words), cmocka_unit_test(numbers_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
