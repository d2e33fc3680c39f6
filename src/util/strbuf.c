#include "util/strbuf.h"

#include "util/mem.h"
#include "util/text.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(strbuf *b, size_t more)
{
    if (b->failed || more >= PTRDIFF_MAX - b->length ||
        !mem_grow(&b->data, &b->capacity, b->length + more + 1, 1)) {
        b->failed = true;
    }
    return !b->failed;
}

void strbuf_append(strbuf *b, const void *bytes, size_t length)
{
    if (reserve(b, length)) {
        if (length > 0) {
            memcpy(b->data + b->length, bytes, length);
        }
        b->length += length;
        b->data[b->length] = '\0';
    }
}

void strbuf_puts(strbuf *b, const char *text)
{
    strbuf_append(b, text, strlen(text));
}

void strbuf_putc(strbuf *b, char c)
{
    strbuf_append(b, &c, 1);
}

void strbuf_printf(strbuf *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !reserve(b, (size_t)length)) {
        b->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(b->data + b->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    b->length += (size_t)length;
}

void strbuf_json_string(strbuf *b, const char *text)
{
    strbuf_putc(b, '"');
    for (size_t left = strlen(text); left > 0;) {
        unsigned char c = (unsigned char)*text;
        size_t step = text_utf8_length(text, left);
        if (step == 0) {
            strbuf_puts(b, "\\ufffd");
            step = 1;
        } else if (c == '"' || c == '\\') {
            strbuf_printf(b, "\\%c", c);
        } else if (c == '\n') {
            strbuf_puts(b, "\\n");
        } else if (c < 0x20 || c == 0x7f) {
            strbuf_printf(b, "\\u%04x", c);
        } else {
            strbuf_append(b, text, step);
        }
        text += step;
        left -= step;
    }
    strbuf_putc(b, '"');
}

void strbuf_number(strbuf *b, double value)
{
    if (!isfinite(value)) {
        strbuf_puts(b, "null");
        return;
    }
    /* What 15 digits can say comes back from a double unharmed and %g drops the zeros behind it, so
       that fewer need no try; subnormal numbers alone have less. */
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    char text[40];
    double back;
    do {
        text_format_number(text, sizeof text, digits, value);
    } while (digits++ < 17 && !(text_number(&back, text) && back == value));
    strbuf_puts(b, text);
}

void strbuf_shell_word(strbuf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        strbuf_puts(b, word);
        return;
    }
    strbuf_putc(b, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            strbuf_puts(b, "'\\''");
        } else {
            strbuf_putc(b, *word);
        }
    }
    strbuf_putc(b, '\'');
}

const char *strbuf_text(const strbuf *b)
{
    return b->data == NULL ? "" : b->data;
}

void strbuf_clear(strbuf *b)
{
    b->length = 0;
    if (b->data != NULL) {
        b->data[0] = '\0';
    }
}

char *strbuf_take(strbuf *b)
{
    char *text = NULL;
    if (!b->failed) {
        text = b->data != NULL ? b->data : mem_strdup("");
    } else {
        mem_free(b->data);
    }
    *b = (strbuf){0};
    return text;
}

void strbuf_dispose(strbuf *b)
{
    mem_free(b->data);
    *b = (strbuf){0};
}
