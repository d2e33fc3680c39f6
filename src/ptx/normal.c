#include "ptx/module.h"

#include "util/error.h"
#include "util/hash.h"

#include <stdio.h>
#include <string.h>

/* Bytes are handed on in pieces of some size: a call a token costs more than a digest of it. */
typedef struct writer {
    void (*put)(void *context, const char *bytes, size_t length);
    void *context;
    size_t used;
    char buffer[4096];
} writer;

static void flush(writer *w)
{
    w->put(w->context, w->buffer, w->used);
    w->used = 0;
}

static void write_token(writer *w, const char *bytes, size_t length)
{
    if (length > sizeof w->buffer - w->used) {
        flush(w);
    }
    if (length > sizeof w->buffer) {
        w->put(w->context, bytes, length);
        return;
    }
    memcpy(w->buffer + w->used, bytes, length);
    w->used += length;
}

/* The normal form of all tokens up to the end of the text or a problem. */
static void walk(ptx_lexer *lexer, void (*put)(void *context, const char *bytes, size_t length),
                 void *context)
{
    writer w;
    w.put = put;
    w.context = context;
    w.used = 0;
    for (bool first = true;;) {
        uint32_t end;
        ptx_token token = ptx_lexer_next(lexer);
        if (token.kind == PTX_TOKEN_END) {
            flush(&w);
            return;
        }
        if (token.kind == PTX_TOKEN_DOT_WORD && ptx_lexer_skip_debug(lexer, token, &end)) {
            continue;
        }
        if (!first) {
            write_token(&w, " ", 1);
        }
        first = false;
        write_token(&w, lexer->text + token.begin, token.end - token.begin);
    }
}

static void put_text(void *context, const char *bytes, size_t length)
{
    strbuf_append(context, bytes, length);
}

void ptx_normal_form(strbuf *out, const ptx_module *module)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, module->text, module->length);
    walk(&lexer, put_text, out);
}

static void put_hash(void *context, const char *bytes, size_t length)
{
    hash_sha256_add(context, bytes, length);
}

static void name_of(char out[PTX_NAME_SIZE], ptx_lexer *lexer)
{
    hash_sha256_state state;
    char digest[HASH_SHA256_TEXT];
    hash_sha256_init(&state);
    walk(lexer, put_hash, &state);
    hash_sha256_end(&state, digest);
    snprintf(out, PTX_NAME_SIZE, "evocc-ptx-1:%s", digest);
}

void ptx_normal_name(char out[PTX_NAME_SIZE], const ptx_module *module)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, module->text, module->length);
    name_of(out, &lexer);
}

evocc_status ptx_name_text(char out[PTX_NAME_SIZE], const char *text, size_t length,
                           const char *name, evocc_error *error)
{
    ptx_lexer lexer;
    if (length > INT32_MAX) {
        return error_set(error, EVOCC_UNSUPPORTED, "%s: larger than 2 GB", name);
    }
    ptx_lexer_init(&lexer, text, (uint32_t)length);
    name_of(out, &lexer);
    if (lexer.problem != NULL) {
        int line, column;
        ptx_locate(&line, &column, text, lexer.problem_at);
        return error_set(error, EVOCC_PARSE, "%s:%d:%d: %s", name, line, column, lexer.problem);
    }
    return EVOCC_OK;
}
