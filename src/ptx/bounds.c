#include "ptx/module.h"

#include <stdio.h>
#include <string.h>

/* PTX ISA, "Performance-Tuning Directives": with either of them the compiler keeps the registers of
   a thread low enough for a block of that size. */
bool ptx_entry_bounds_threads(const ptx_module *module, const char *entry)
{
    const ptx_function *f = ptx_find_entry(module, entry, strlen(entry));
    if (f == NULL) {
        return false;
    }
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, ptx_at(module, f->header), (uint32_t)ptx_span_length(f->header));
    for (;;) {
        ptx_token token = ptx_lexer_next(&lexer);
        if (token.kind == PTX_TOKEN_END) {
            return false;
        }
        if (ptx_token_is(&lexer, token, ".maxntid") || ptx_token_is(&lexer, token, ".reqntid")) {
            return true;
        }
    }
}

bool ptx_uses_opcode(const ptx_module *module, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < module->opcode_count; i++) {
        const char *text = module->opcodes[i].text;
        if (strncmp(text, name, length) == 0 && (text[length] == '.' || text[length] == '\0')) {
            return true;
        }
    }
    return false;
}

int ptx_target_number(const ptx_module *module)
{
    int number = 0;
    return sscanf(module->target, "sm_%d", &number) == 1 ? number : 0;
}
