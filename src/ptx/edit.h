/*
 * edit.h: changes to a module's text, collected by a pass and applied at once. What no edit covers
 * stays byte for byte.
 */
#ifndef PTX_EDIT_H
#define PTX_EDIT_H

#include "ptx/module.h"

/* Zero-initialised is empty. */
typedef struct ptx_edits {
    struct ptx_edit *items;
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

/* The edited text, appended. EVOCC_NO_MEMORY when anything failed. */
evocc_status ptx_edits_apply(strbuf *out, ptx_edits *edits, const ptx_module *module,
                             evocc_error *error);
void ptx_edits_dispose(ptx_edits *edits);

#endif
