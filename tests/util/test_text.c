#include "unit.h"

#include "util/text.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},     {"-1.5", -1.5}, {"+2", 2},          {".5", 0.5},    {"5.", 5},
                {"2e9", 2e9}, {"1E-3", 1e-3}, {"1.25e+2", 125.0}, {"1e-999", 0.0}};
    for (size_t i = 0; i < COUNT(good); i++) {
        double value = -77;
        assert_true(text_number(&value, good[i].text));
        assert_true(value == good[i].value);
    }
    static const char *const bad[] = {"",      ".",   "-",   "e5",  "1e",      "1e+",   "0x10",
                                      "nan",   "inf", " 1",  "1 ",  "1,5",     "1.2.3", "--1",
                                      "1e999", "1f",  "+-1", "1_0", "\xd9\xa1"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        double value = -77;
        assert_false(text_number(&value, bad[i]));
        assert_true(value == -77);
    }
}

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-1", -1},
                {"+12", 12},
                {"0x1F", 31},
                {"-0x10", -16},
                {"010", 10},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t value = -77;
        assert_true(text_integer(&value, good[i].text));
        assert_int_equal(value, good[i].value);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "0x",
                                      "1.0",
                                      "1e3",
                                      " 1",
                                      "1 ",
                                      "0b1",
                                      "0o7",
                                      "one",
                                      "--1",
                                      "1,000",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "0xg"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t value = -77;
        assert_false(text_integer(&value, bad[i]));
        assert_int_equal(value, -77);
    }
}

/* A program around us may have called setlocale; "1.5" stays one and a half. */
static void under_another_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < COUNT(names) && found == NULL; i++) {
        found = setlocale(LC_ALL, names[i]);
    }
    if (found == NULL) {
        skip(); /* no such locale is installed */
    }
    char text[32];
    snprintf(text, sizeof text, "%g", 1.5);
    assert_string_equal(text, "1,5");
    text_format_number(text, sizeof text, 17, 1.5);
    double value = 0;
    bool read = text_number(&value, "1.5");
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "1.5");
    assert_true(read && value == 1.5);
}

static void formatting(void **state)
{
    (void)state;
    char text[32];
    text_format_number(text, sizeof text, 3, -1.2345e-10);
    assert_string_equal(text, "-1.23e-10");
    text_format_number(text, 4, 6, 1.2345);
    assert_string_equal(text, "1.2");
}

static void distances(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t distance;
    } pairs[] = {{"", "", 0},
                 {"", "abc", 3},
                 {"abc", "abc", 0},
                 {"abc", "acb", 1},
                 {"kitten", "sitting", 3},
                 {"ca", "abc", 3},
                 {"abcd", "acbd", 1},
                 {"controls", "contrlos", 1}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        assert_int_equal(text_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
        assert_int_equal(text_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
    }
    char long_word[200];
    memset(long_word, 'x', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_int_equal(text_distance(long_word, ""), 63);
}

static void nearest(void **state)
{
    (void)state;
    static const char *const list[] = {"name", "domain", "default", "do", NULL};
    assert_string_equal(text_nearest("nmae", list), "name");
    assert_string_equal(text_nearest("defalt", list), "default");
    assert_string_equal(text_nearest("domains", list), "domain");
    assert_null(text_nearest("zzzzzz", list));
    assert_null(text_nearest("x", (const char *const[]){NULL}));
}

static void utf8(void **state)
{
    (void)state;
    assert_int_equal(text_utf8_length("a", 1), 1);
    assert_int_equal(text_utf8_length("\xc3\xa4", 2), 2);
    assert_int_equal(text_utf8_length("\xe2\x82\xac", 3), 3);
    assert_int_equal(text_utf8_length("\xf0\x9f\x98\x80", 4), 4);
    assert_int_equal(text_utf8_length("\xf4\x8f\xbf\xbf", 4), 4);
    assert_int_equal(text_utf8_length("", 0), 0);
    static const char *const bad[] = {"\x80",
                                      "\xc3",
                                      "\xc3(",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xe2\x82",
                                      "\xf0\x9f\x98"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(text_utf8_length(bad[i], strlen(bad[i])), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(integers),
        cmocka_unit_test(formatting),
        cmocka_unit_test(distances),
        cmocka_unit_test(nearest),
        cmocka_unit_test(utf8),
        cmocka_unit_test(under_another_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
