/*
 * forms.h: the frame for passes that rewrite single instructions into other forms of the same
 * value. Such a pass is a function that writes the new text of one instruction, and a list of its
 * modes.
 *
 * Values of its controls: "off"; each mode ("split": wherever it applies); each mode with 1 to 4
 * behind it: a seeded choice of half (1, 2) or an eighth (3, 4) of the places. Sites are blocks.
 * Offered is what applies somewhere: no mode without places, no share of a handful.
 */
#ifndef PTX_FORMS_H
#define PTX_FORMS_H

#include "ptx/graft.h"
#include "ptx/pass.h"

/* Appends the new text of statement `s` in this mode, or returns false and appends nothing. */
typedef bool ptx_form(strbuf *out, ptx_graft *graft, uint32_t statement, int32_t mode);

typedef struct ptx_forms {
    ptx_form *form;
    const char *const *values; /* "off", then for each mode: mode, mode1, mode2, mode3, mode4 */
    int32_t value_count;
} ptx_forms;

#define PTX_FORM_VALUES(mode) mode, mode "1", mode "2", mode "3", mode "4"
enum { PTX_FORM_VARIANTS = 5 };

evocc_status ptx_forms_enumerate(ptx_catalogue *catalogue, const ptx_forms *forms);
evocc_status ptx_forms_apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                             size_t count, const ptx_forms *forms, evocc_error *error);

/* ---- For the forms
 * ------------------------------------------------------------------------------- */

/* True when the opcode is exactly one of these words, NULL-terminated. */
bool ptx_form_opcode(const ptx_module *module, const ptx_statement *statement,
                     const char *const *words);
/* Type of an integer opcode: its last part, ".s32"; NULL when it is no plain integer type. */
const char *ptx_form_integer_type(const ptx_module *module, const ptx_statement *statement);
/* Bits of a type text, 0 when it has none. */
unsigned ptx_form_width(const char *type);

/* The guard with a space behind it, or nothing. */
void ptx_form_guard(strbuf *out, const ptx_module *module, const ptx_statement *statement);
/* The text of operand i. */
void ptx_form_operand(strbuf *out, const ptx_module *module, const ptx_statement *statement,
                      uint32_t i);
/* ", " and the operand. */
void ptx_form_next(strbuf *out, const ptx_module *module, const ptx_statement *statement,
                   uint32_t i);

/* Operand i as a non-negative literal. */
bool ptx_form_literal(uint64_t *out, const ptx_module *module, const ptx_statement *statement,
                      uint32_t i);

/* The pure instruction that alone defines plain operand i, when what it reads is the same here as
   there: every register it names is defined once, and at the level of the body, as is the
   statement. NULL otherwise. */
const ptx_statement *ptx_form_source(const ptx_facts *facts, const ptx_statement *statement,
                                     uint32_t i);

#endif
