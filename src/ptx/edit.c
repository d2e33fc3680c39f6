#include "ptx/edit.h"

#include "util/error.h"

#include <stdlib.h>

struct ptx_edit {
    ptx_span span;
    size_t text, length; /* in ptx_edits.texts */
    size_t number;       /* keeps insertions at one place in order */
};

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
    edits->items[edits->count] =
        (struct ptx_edit){span, text, edits->texts.length - text, edits->count};
    edits->count++;
}

void ptx_edits_replace(ptx_edits *edits, ptx_span span, const char *text, size_t length)
{
    strbuf_append(&edits->texts, text, length);
    ptx_edits_finish(edits, span);
}

static int by_place(const void *left, const void *right)
{
    const struct ptx_edit *a = left, *b = right;
    if (a->span.begin != b->span.begin) {
        return a->span.begin < b->span.begin ? -1 : 1;
    }
    bool a_inserts = a->span.end == a->span.begin, b_inserts = b->span.end == b->span.begin;
    if (a_inserts != b_inserts) {
        return a_inserts ? -1 : 1;
    }
    return a->number < b->number ? -1 : 1;
}

evocc_status ptx_edits_apply(strbuf *out, ptx_edits *edits, const ptx_module *module,
                             evocc_error *error)
{
    if (edits->count > 1) {
        qsort(edits->items, edits->count, sizeof *edits->items, by_place);
    }
    uint32_t done = 0;
    for (size_t i = 0; i < edits->count; i++) {
        const struct ptx_edit *e = &edits->items[i];
        if (e->span.begin < done) {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "%s: two rewritings change the same instruction", module->name);
        }
        strbuf_append(out, module->text + done, e->span.begin - done);
        strbuf_append(out, strbuf_text(&edits->texts) + e->text, e->length);
        done = e->span.end;
    }
    strbuf_append(out, module->text + done, module->length - done);
    return edits->failed || edits->texts.failed || out->failed ? error_no_memory(error) : EVOCC_OK;
}

void ptx_edits_dispose(ptx_edits *edits)
{
    mem_free(edits->items);
    strbuf_dispose(&edits->texts);
    *edits = (ptx_edits){0};
}
