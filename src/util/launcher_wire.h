/*
 * launcher_wire.h: what launcher.c and launcher_serve.c say to each other. Both sides run on one
 * machine: integers and doubles travel as they lie in memory.
 *
 * A frame: length of the body (4 bytes), kind (4 bytes), body. The helper's first frame is HELLO,
 * whose first field is the protocol's number; frames of another number cannot be read further.
 */
#ifndef UTIL_LAUNCHER_WIRE_H
#define UTIL_LAUNCHER_WIRE_H

#include "util/process.h"
#include "util/strbuf.h"

#define WIRE_PROTOCOL 2U
#define WIRE_HEADER 8
#define WIRE_BODY_LIMIT ((size_t)1 << 30)

typedef enum wire_kind {
    WIRE_HELLO = 1, /* protocol, status, os_errno, text: the folder, or the error's message */
    WIRE_START,     /* id, request */
    WIRE_CANCEL,    /* nothing */
    WIRE_LIMIT,     /* how many requests may run at a time; 0: all */
    WIRE_RESULT,    /* id, result */
    WIRE_FAILED,    /* id, status, os_errno, message: the request could not be carried out */
    /* For other conversations with the helper, which use the same frames for kinds of their own. */
    WIRE_OTHER = 64,
    WIRE_OTHER_LAST = 127
} wire_kind;

/* ---- Writing: frames are appended to a strbuf, whose sticky failure is checked at the end
 * -------- */

size_t wire_begin(strbuf *b, wire_kind kind); /* returns what wire_end wants */
void wire_end(strbuf *b, size_t begun);       /* a body above the limit makes b->failed */
void wire_put_u32(strbuf *b, uint32_t value);
void wire_put_u64(strbuf *b, uint64_t value);
void wire_put_double(strbuf *b, double value);
void wire_put_string(strbuf *b, const char *text); /* up to its NUL */
void wire_put_text(strbuf *b, const char *bytes, size_t length);
void wire_put_request(strbuf *b, const process_request *request);
void wire_put_result(strbuf *b, const process_result *result);
void wire_put_error(strbuf *b, const evocc_error *error);

/* ---- Reading: nothing is read beyond the body; `failed` is sticky
 * --------------------------------- */

typedef struct wire_reader {
    const char *at, *end;
    bool failed;
} wire_reader;

/* The first whole frame of the bytes: its size, header included, or 0 when more bytes are needed.
   SIZE_MAX when it is no frame. */
size_t wire_frame(wire_kind *kind, wire_reader *body, const char *bytes, size_t length);
uint32_t wire_get_u32(wire_reader *r);
uint64_t wire_get_u64(wire_reader *r);
double wire_get_double(wire_reader *r);
const char *wire_get_string(wire_reader *r);               /* as wire_get_text */
const char *wire_get_text(wire_reader *r, size_t *length); /* borrowed, NUL-terminated */
void wire_get_error(wire_reader *r, evocc_error *error);

/* Texts are borrowed from the body; the caller mem_frees *lists. False: malformed, or no memory. */
bool wire_get_request(wire_reader *r, process_request *request, const char ***lists);
bool wire_get_result(wire_reader *r, process_result *result);

#endif
