#include "ptx/module.h"

#include "util/hash.h"

#include <stdio.h>

void ptx_normal_form(strbuf *out, const ptx_module *module)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, module->text, module->length);
    bool first = true;
    for (;;) {
        uint32_t end;
        ptx_token token = ptx_lexer_next(&lexer);
        if (token.kind == PTX_TOKEN_END) {
            return;
        }
        if (ptx_lexer_skip_debug(&lexer, token, &end)) {
            continue;
        }
        if (!first) {
            strbuf_putc(out, ' ');
        }
        first = false;
        strbuf_append(out, module->text + token.begin, token.end - token.begin);
    }
}

void ptx_normal_name(char out[PTX_NAME_SIZE], const ptx_module *module)
{
    /* Hashed token by token, so that a large module needs no second copy of itself. */
    hash_sha256_state state;
    hash_sha256_init(&state);
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, module->text, module->length);
    bool first = true;
    for (;;) {
        uint32_t end;
        ptx_token token = ptx_lexer_next(&lexer);
        if (token.kind == PTX_TOKEN_END) {
            break;
        }
        if (ptx_lexer_skip_debug(&lexer, token, &end)) {
            continue;
        }
        if (!first) {
            hash_sha256_add(&state, " ", 1);
        }
        first = false;
        hash_sha256_add(&state, module->text + token.begin, token.end - token.begin);
    }
    char digest[HASH_SHA256_TEXT];
    hash_sha256_end(&state, digest);
    snprintf(out, PTX_NAME_SIZE, "evocc-ptx-1:%s", digest);
}
