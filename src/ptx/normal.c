#include "ptx/module.h"

#include "util/hash.h"

#include <stdio.h>
#include <string.h>

/* Hands the normal form on, piece by piece. */
static void walk(const ptx_module *module,
                 void (*put)(void *context, const char *bytes, size_t length), void *context)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, module->text, module->length);
    for (bool first = true;;) {
        uint32_t end;
        ptx_token token = ptx_lexer_next(&lexer);
        if (token.kind == PTX_TOKEN_END) {
            return;
        }
        if (ptx_lexer_skip_debug(&lexer, token, &end)) {
            continue;
        }
        if (!first) {
            put(context, " ", 1);
        }
        first = false;
        put(context, module->text + token.begin, token.end - token.begin);
    }
}

static void put_text(void *context, const char *bytes, size_t length)
{
    strbuf_append(context, bytes, length);
}

void ptx_normal_form(strbuf *out, const ptx_module *module)
{
    walk(module, put_text, out);
}

/* Hashed in pieces, so that a large module needs no second copy of itself; pieces of some size,
   since a call a token costs more than the digest. */
typedef struct hasher {
    hash_sha256_state state;
    size_t used;
    char buffer[4096];
} hasher;

static void put_hash(void *context, const char *bytes, size_t length)
{
    hasher *h = context;
    if (length > sizeof h->buffer - h->used) {
        hash_sha256_add(&h->state, h->buffer, h->used);
        h->used = 0;
    }
    if (length > sizeof h->buffer) {
        hash_sha256_add(&h->state, bytes, length);
        return;
    }
    memcpy(h->buffer + h->used, bytes, length);
    h->used += length;
}

void ptx_normal_name(char out[PTX_NAME_SIZE], const ptx_module *module)
{
    hasher h;
    h.used = 0;
    hash_sha256_init(&h.state);
    walk(module, put_hash, &h);
    hash_sha256_add(&h.state, h.buffer, h.used);
    char digest[HASH_SHA256_TEXT];
    hash_sha256_end(&h.state, digest);
    snprintf(out, PTX_NAME_SIZE, "evocc-ptx-1:%s", digest);
}
