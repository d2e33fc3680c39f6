/*
 * edit.h: changes to a module's text, collected by a pass and applied at once. What no edit covers
 * stays byte for byte, and is not parsed again.
 */
#ifndef PTX_EDIT_H
#define PTX_EDIT_H

#include "ptx/module.h"

typedef struct ptx_edit {
    ptx_span span;       /* of the module's text, to be replaced */
    size_t text, length; /* in ptx_edits.texts: what it becomes */
    size_t number;       /* keeps insertions at one place in order */
} ptx_edit;

/* Zero-initialised is empty. */
typedef struct ptx_edits {
    ptx_edit *items;
    size_t count, capacity;
    strbuf texts; /* replacements, one after the other */
    bool failed;  /* sticky: out of memory, or two edits cover the same bytes */
} ptx_edits;

/* Replaces the bytes of `span` (empty: inserts before span.begin). Insertions at one place appear
   in the order they were made. Replacements must not overlap. */
void ptx_edits_replace(ptx_edits *edits, ptx_span span, const char *text, size_t length);

/* For long replacements: append to the returned buffer, then call _finish. */
strbuf *ptx_edits_begin(ptx_edits *edits);
void ptx_edits_finish(ptx_edits *edits, ptx_span span);

/* The edited text, appended. EVOCC_NO_MEMORY when anything failed. The edits are then in the order
   of the text and cover only bytes that change; there may be none. */
evocc_status ptx_edits_apply(strbuf *out, ptx_edits *edits, const ptx_module *module,
                             evocc_error *error);
void ptx_edits_dispose(ptx_edits *edits);

/* Where things of the old text are in the edited one, asked for in their order. */
typedef struct ptx_shift {
    const ptx_edits *edits; /* applied */
    size_t next;            /* first edit that is not wholly before the thing asked for last */
    uint32_t by;            /* of all edits before that one, modulo 2^32 */
} ptx_shift;

/* The new place of a span, or PTX_NONE when an edit changes bytes of it. */
uint32_t ptx_shift_place(ptx_shift *shift, ptx_span span);
/* True when an edit behind the start of the span asked for last begins at or before `end`. */
bool ptx_shift_edited(const ptx_shift *shift, uint32_t end);

/* As ptx_parse of `text`, which is `old` after these edits; reads only what they changed. Takes the
   text over, whatever the outcome. */
evocc_status ptx_parse_edited(ptx_module **out, const ptx_module *old, const ptx_edits *edits,
                              strbuf *text, evocc_error *error);

#endif
