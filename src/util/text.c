#include "util/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [-+]? ([0-9]+ (. [0-9]*)? | . [0-9]+) ([eE] [-+]? [0-9]+)? */
static bool is_decimal(const char *s)
{
    s += *s == '-' || *s == '+';
    size_t digits = 0;
    for (; is_digit(*s); s++) {
        digits++;
    }
    if (*s == '.') {
        for (s++; is_digit(*s); s++) {
            digits++;
        }
    }
    if (digits == 0) {
        return false;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        if (!is_digit(*s)) {
            return false;
        }
        while (is_digit(*s)) {
            s++;
        }
    }
    return *s == '\0';
}

bool text_number(double *out, const char *text)
{
    if (!is_decimal(text)) {
        return false;
    }
    /* The "C" locale always exists, and the switch is this thread's alone. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return false;
    }
    locale_t old = uselocale(plain);
    double value = strtod(text, NULL);
    uselocale(old);
    freelocale(plain);
    if (!isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool text_integer(int64_t *out, const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    const char *allowed = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
    digits += hexadecimal ? 2 : 0;
    if (*digits == '\0' || digits[strspn(digits, allowed)] != '\0') {
        return false;
    }
    errno = 0;
    long long value = strtoll(text, NULL, hexadecimal ? 16 : 10);
    if (errno != 0) {
        return false;
    }
    *out = value;
    return true;
}

void text_format_number(char *out, size_t size, int digits, double value)
{
    char local[64];
    snprintf(local, sizeof local, "%.*g", digits, value);
    size_t used = 0;
    for (const char *s = local; *s != '\0' && used + 1 < size; s++) {
        /* What is not ASCII of a number is the locale's decimal point, perhaps of several bytes. */
        bool point = strchr("0123456789+-einfa", *s) == NULL;
        if (!point || used == 0 || out[used - 1] != '.') {
            out[used++] = point ? '.' : *s;
        }
    }
    out[used] = '\0';
}

enum { WORD_LIMIT = 63 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment (Damerau's edits, no substring edited twice), three rows at a time. */
size_t text_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, WORD_LIMIT);
    size_t b_length = strnlen(b, WORD_LIMIT);
    size_t rows[3][WORD_LIMIT + 1];
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] =
                smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = smaller(row[j], rows[(i - 2) % 3][j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

const char *text_nearest(const char *word, const char *const *list)
{
    const char *best = NULL;
    /* More than a third of the letters wrong is another word. */
    size_t best_distance = strnlen(word, WORD_LIMIT) / 3 + 1;
    for (; *list != NULL; list++) {
        size_t distance = text_distance(word, *list);
        if (distance < best_distance ||
            (best == NULL && distance == best_distance && distance == 1)) {
            best = *list;
            best_distance = distance;
        }
    }
    return best;
}

size_t text_utf8_length(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0) {
        return 0;
    }
    if (s[0] < 0x80) {
        return 1;
    }
    size_t count = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
                   : s[0] >= 0xe0 && s[0] <= 0xef ? 3
                   : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                  : 0;
    if (count > length) {
        return 0;
    }
    for (size_t i = 1; i < count; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] > 0x9f;
    bool beyond = s[0] == 0xf4 && s[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : count;
}
