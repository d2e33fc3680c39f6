/* program_output.c: what a program wrote: whether it is right, and the number in it. */
#include "evaluate/program.h"

#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One word between blanks; empty at the end. */
static const char *next_word(size_t *length, const char **at, const char *end)
{
    static const char blanks[] = " \t\r\n,";
    const char *from = *at;
    while (from < end && memchr(blanks, *from, sizeof blanks - 1) != NULL) {
        from++;
    }
    const char *to = from;
    while (to < end && memchr(blanks, *to, sizeof blanks - 1) == NULL) {
        to++;
    }
    *at = to;
    *length = (size_t)(to - from);
    return from;
}

static bool word_number(double *out, const char *word, size_t length)
{
    char copy[64];
    if (length == 0 || length >= sizeof copy) {
        return false;
    }
    memcpy(copy, word, length);
    copy[length] = '\0';
    return text_number(out, copy);
}

static bool words_equal(double tolerance, const char *a, size_t a_length, const char *b,
                        size_t b_length)
{
    double x;
    double y;
    if (a_length == b_length && memcmp(a, b, a_length) == 0) {
        return true;
    }
    return word_number(&x, a, a_length) && word_number(&y, b, b_length) &&
           fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
}

static bool equal_words(double tolerance, const char *a, size_t a_length, const char *b,
                        size_t b_length, const char *name, char *why, size_t size)
{
    const char *a_end = a + a_length;
    const char *b_end = b + b_length;
    for (size_t count = 1;; count++) {
        size_t x_length;
        size_t y_length;
        const char *x = next_word(&x_length, &a, a_end);
        const char *y = next_word(&y_length, &b, b_end);
        if (!words_equal(tolerance, x, x_length, y, y_length)) {
            snprintf(why, size, "%s: word %zu is '%.*s', the baseline's is '%.*s'", name, count,
                     (int)(y_length < 40 ? y_length : 40), y, (int)(x_length < 40 ? x_length : 40),
                     x);
            return false;
        }
        if (x_length == 0) {
            return true;
        }
    }
}

bool program_output_equal(const program *p, const char *name, const char *expected,
                          size_t expected_length, const char *got, size_t got_length, char *why,
                          size_t size)
{
    if (p->tolerance > 0) {
        return equal_words(p->tolerance, expected, expected_length, got, got_length, name, why,
                           size);
    }
    size_t shorter = expected_length < got_length ? expected_length : got_length;
    size_t same = 0;
    while (same < shorter && expected[same] == got[same]) {
        same++;
    }
    if (same == expected_length && same == got_length) {
        return true;
    }
    snprintf(why, size, "%s differs from the baseline's at byte %zu (of %zu; the baseline has %zu)",
             name, same + 1, got_length, expected_length);
    return false;
}

double program_score(const program *p, const char *output)
{
    const char *found = p->score != NULL ? strstr(output, p->score) : NULL;
    double value = (double)NAN;
    if (found != NULL) {
        const char *at = found + strlen(p->score);
        size_t length;
        const char *end = at + strlen(at);
        const char *word = next_word(&length, &at, end);
        if (!word_number(&value, word, length)) {
            value = (double)NAN;
        }
    }
    return value;
}
