/*
 * strbuf.h: a growing byte string with sticky failure: append freely, check `failed` once.
 */
#ifndef UTIL_STRBUF_H
#define UTIL_STRBUF_H

#include <evocc/evocc.h>

/* Zero-initialised is empty and ready. `data` is NUL-terminated once anything was appended; use
   strbuf_text for a pointer that is never NULL. */
typedef struct strbuf {
    char *data;
    size_t length, capacity;
    bool failed;
} strbuf;

void strbuf_append(strbuf *b, const void *bytes, size_t length);
void strbuf_puts(strbuf *b, const char *text);
void strbuf_putc(strbuf *b, char c);
void strbuf_printf(strbuf *b, const char *format, ...) EVOCC_PRINTF(2, 3);

/* A JSON string with its quotes (RFC 8259); each byte that is not UTF-8 becomes U+FFFD. */
void strbuf_json_string(strbuf *b, const char *text);

/* The fewest decimal digits that read back to the same double; "null" when it is not finite. */
void strbuf_number(strbuf *b, double value);

/* A word as a POSIX shell would need it typed: quoted only where necessary. */
void strbuf_shell_word(strbuf *b, const char *word);

const char *strbuf_text(const strbuf *b);
void strbuf_clear(strbuf *b); /* keeps the memory; failed stays */
char *strbuf_take(strbuf *b); /* the caller's, mem_free; NULL when failed; b is empty afterwards */
void strbuf_dispose(strbuf *b);

#endif
