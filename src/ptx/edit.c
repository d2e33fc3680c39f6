#include "ptx/edit.h"

#include "util/error.h"

#include <stdlib.h>

static size_t started(const ptx_edits *edits)
{
    return edits->count == 0
               ? 0
               : edits->items[edits->count - 1].text + edits->items[edits->count - 1].length;
}

strbuf *ptx_edits_begin(ptx_edits *edits)
{
    return &edits->texts;
}

void ptx_edits_finish(ptx_edits *edits, ptx_span span)
{
    size_t text = started(edits);
    if (!mem_grow(&edits->items, &edits->capacity, edits->count + 1, sizeof *edits->items)) {
        edits->failed = true;
        return;
    }
    edits->items[edits->count] = (ptx_edit){span, text, edits->texts.length - text, edits->count};
    edits->count++;
}

void ptx_edits_replace(ptx_edits *edits, ptx_span span, const char *text, size_t length)
{
    strbuf_append(&edits->texts, text, length);
    ptx_edits_finish(edits, span);
}

static int by_place(const void *left, const void *right)
{
    const ptx_edit *a = left, *b = right;
    if (a->span.begin != b->span.begin) {
        return a->span.begin < b->span.begin ? -1 : 1;
    }
    bool a_inserts = a->span.end == a->span.begin, b_inserts = b->span.end == b->span.begin;
    if (a_inserts != b_inserts) {
        return a_inserts ? -1 : 1;
    }
    return a->number < b->number ? -1 : 1;
}

/* Leaves out of the edit what it replaces by itself. */
static void trim(ptx_edit *e, const ptx_edits *edits, const ptx_module *module)
{
    const char *new = strbuf_text(&edits->texts) + e->text, *old = module->text;
    while (e->length > 0 && e->span.begin < e->span.end && *new == old[e->span.begin]) {
        new ++;
        e->text++;
        e->length--;
        e->span.begin++;
    }
    while (e->length > 0 && e->span.begin < e->span.end &&
           new[e->length - 1] == old[e->span.end - 1]) {
        e->length--;
        e->span.end--;
    }
}

evocc_status ptx_edits_apply(strbuf *out, ptx_edits *edits, const ptx_module *module,
                             evocc_error *error)
{
    if (edits->failed || edits->texts.failed) {
        return error_no_memory(error);
    }
    if (edits->count > 1) {
        qsort(edits->items, edits->count, sizeof *edits->items, by_place);
    }
    uint32_t done = 0;
    size_t kept = 0;
    for (size_t i = 0; i < edits->count; i++) {
        ptx_edit e = edits->items[i];
        if (e.span.begin < done) {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "%s: two rewritings change the same instruction", module->name);
        }
        strbuf_append(out, module->text + done, e.span.begin - done);
        strbuf_append(out, strbuf_text(&edits->texts) + e.text, e.length);
        done = e.span.end;
        trim(&e, edits, module);
        if (e.length > 0 || e.span.begin < e.span.end) {
            edits->items[kept++] = e;
        }
    }
    edits->count = kept;
    strbuf_append(out, module->text + done, module->length - done);
    return out->failed ? error_no_memory(error) : EVOCC_OK;
}

uint32_t ptx_shift_place(ptx_shift *shift, ptx_span span)
{
    const ptx_edits *edits = shift->edits;
    while (shift->next < edits->count && edits->items[shift->next].span.end <= span.begin) {
        const ptx_edit *e = &edits->items[shift->next++];
        shift->by += (uint32_t)e->length - (uint32_t)ptx_span_length(e->span);
    }
    bool changed = shift->next < edits->count && edits->items[shift->next].span.begin < span.end;
    return changed ? PTX_NONE : span.begin + shift->by;
}

bool ptx_shift_edited(const ptx_shift *shift, uint32_t end)
{
    return shift->next < shift->edits->count && shift->edits->items[shift->next].span.begin <= end;
}

void ptx_edits_dispose(ptx_edits *edits)
{
    mem_free(edits->items);
    strbuf_dispose(&edits->texts);
    *edits = (ptx_edits){0};
}
