/*
 * text.h: reading numbers the same way under every locale, and the nearest word for messages.
 */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole text as a finite decimal number ("-1.5", ".5", "2e9"); false when it is anything else
   (hexadecimal, nan, blanks around it) or lies beyond a double. Underflow gives the nearest. */
bool text_number(double *out, const char *text);

/* The whole text as an integer, decimal or 0x hexadecimal, with an optional sign; false otherwise.
 */
bool text_integer(int64_t *out, const char *text);

/* Like snprintf of "%.*g", but always with '.' for the decimal point. */
void text_format_number(char *out, size_t size, int digits, double value);

/* Edits (insert, delete, replace, swap of neighbours) from a to b. Words above 63 bytes count as
   their first 63. */
size_t text_distance(const char *a, const char *b);

/* The word of the NULL-terminated list that `word` most likely meant; NULL when none is near. */
const char *text_nearest(const char *word, const char *const *list);

/* The length of the UTF-8 character at text (1 to 4), or 0 when it is not one (overlong forms,
   surrogates, beyond U+10FFFF, cut short). */
size_t text_utf8_length(const char *text, size_t length);

#endif
