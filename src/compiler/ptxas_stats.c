/*
 * ptxas_stats.c: the text of `ptxas -v`, read field by field.
 *
 *     ptxas info    : Compiling entry function 'fa' for 'sm_90a'
 *     ptxas info    : Function properties for fa
 *         8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
 *     ptxas info    : Used 255 registers, used 1 barriers, 8 bytes cumulative stack size
 *
 * Entries come in another order than in the file; device functions have a "Function properties"
 * paragraph only, before or after the entries. Fields are known by their words, never by their
 * place. Wording of 11.8, 12.0, 12.4, 12.9, 13.0 and 13.5 (tests/compiler/fixtures):
 *   - barriers are told from 12.9 on, zero included;
 *   - "bytes smem" is left out when it is zero (checked against .nv.shared of the cubin);
 *   - "cumulative stack size" (from 12.4 on) holds the callees' frames and is left out when it is
 *     zero or cannot be known (recursion, or -c); a warning says so before the entry, but not
 * in 12.9 and 13.0;
 *   - spills into shared memory (.pragma "enable_smem_spilling") are in no field of any version.
 */
#include "compiler/ptxas_stats.h"

#include "util/error.h"
#include "util/map.h"
#include "util/mem.h"

#include <string.h>

#define UNKNOWN (-1.0)
#define NONE ((size_t)-1)

/* What is said of an entry's stack beside its frame. */
typedef struct stack_told {
    double cumulative; /* UNKNOWN: not told */
    bool endless;      /* said to depend on what happens at run time */
} stack_told;

typedef struct reader {
    compiler_stats *out;
    stack_told *stacks; /* beside out->entries */
    size_t entry_capacity, stack_capacity;
    map by_name;
    size_t entry;      /* of the last "Compiling entry function" */
    size_t properties; /* of the last "Function properties for", until its line of numbers */
    bool failed;
} reader;

typedef struct slice {
    const char *text;
    size_t length;
} slice;

static bool take_prefix(slice *s, const char *prefix)
{
    size_t length = strlen(prefix);
    if (s->length < length || memcmp(s->text, prefix, length) != 0) {
        return false;
    }
    s->text += length;
    s->length -= length;
    return true;
}

static void skip_blanks(slice *s)
{
    while (s->length > 0 && (*s->text == ' ' || *s->text == '\t')) {
        s->text++;
        s->length--;
    }
}

static bool equals(slice s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.text, text, s.length) == 0;
}

/* Up to the character, which is dropped; all when it is not there. */
static slice cut(slice *rest, char end)
{
    const char *found = rest->length > 0 ? memchr(rest->text, end, rest->length) : NULL;
    slice head = {rest->text, found != NULL ? (size_t)(found - rest->text) : rest->length};
    size_t used = head.length + (found != NULL ? 1 : 0);
    rest->text += used;
    rest->length -= used;
    return head;
}

/* Digits only, below 10^15, so that a double holds it exactly. */
static bool take_number(double *out, slice *s)
{
    size_t digits = 0;
    double value = 0.0;
    while (digits < s->length && s->text[digits] >= '0' && s->text[digits] <= '9') {
        value = value * 10.0 + (double)(s->text[digits++] - '0');
    }
    s->text += digits;
    s->length -= digits;
    *out = value;
    return digits > 0 && digits <= 15;
}

/* "8 bytes spill stores" under "bytes spill stores"; "48+16 bytes smem", as old compilers wrote,
   is their sum. */
static bool take_field(double *out, slice field, const char *words)
{
    double value;
    skip_blanks(&field);
    if (!take_number(&value, &field)) {
        return false;
    }
    double more;
    if (take_prefix(&field, "+")) {
        if (!take_number(&more, &field)) {
            return false;
        }
        value += more;
    }
    if (!take_prefix(&field, " ") || !equals(field, words)) {
        return false;
    }
    *out = value;
    return true;
}

/* ---- Entries ----------------------------------------------------------------------------- */

static size_t find_or_add(reader *r, slice name, bool is_function)
{
    size_t index = map_get(&r->by_name, name.text, name.length);
    if (index != MAP_NONE) {
        compiler_entry_stats *known = &r->out->entries[index];
        known->is_function = known->is_function && is_function;
        return index;
    }
    index = r->out->count;
    char *copy = mem_strndup(name.text, name.length);
    if (copy == NULL ||
        !mem_grow(&r->out->entries, &r->entry_capacity, index + 1, sizeof *r->out->entries) ||
        !mem_grow(&r->stacks, &r->stack_capacity, index + 1, sizeof *r->stacks) ||
        !map_put(&r->by_name, copy, name.length, index)) {
        mem_free(copy);
        r->failed = true;
        return NONE;
    }
    r->stacks[index] = (stack_told){.cumulative = UNKNOWN};
    r->out->entries[index] = (compiler_entry_stats){.entry = copy,
                                                    .is_function = is_function,
                                                    .registers = UNKNOWN,
                                                    .stack_bytes = UNKNOWN,
                                                    .spill_store_bytes = UNKNOWN,
                                                    .spill_load_bytes = UNKNOWN,
                                                    .shared_bytes = UNKNOWN,
                                                    .barriers = UNKNOWN};
    r->out->count++;
    return index;
}

/* "    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads" */
static void read_properties(reader *r, slice line)
{
    if (r->properties == NONE) {
        return;
    }
    compiler_entry_stats *entry = &r->out->entries[r->properties];
    while (line.length > 0) {
        slice field = cut(&line, ',');
        (void)(take_field(&entry->stack_bytes, field, "bytes stack frame") ||
               take_field(&entry->spill_store_bytes, field, "bytes spill stores") ||
               take_field(&entry->spill_load_bytes, field, "bytes spill loads"));
    }
    r->properties = NONE;
}

/* "32 registers, used 1 barriers, 944 bytes cumulative stack size, 256 bytes smem, 360 bytes
   cmem[0]", after "Used " */
static void read_used(reader *r, slice line)
{
    if (r->entry == NONE) {
        return;
    }
    compiler_entry_stats *entry = &r->out->entries[r->entry];
    double shared = 0.0;
    while (line.length > 0) {
        slice field = cut(&line, ',');
        skip_blanks(&field);
        (void)take_prefix(&field, "used ");
        (void)(take_field(&entry->registers, field, "registers") ||
               take_field(&entry->barriers, field, "barriers") ||
               take_field(&r->stacks[r->entry].cumulative, field, "bytes cumulative stack size") ||
               take_field(&shared, field, "bytes smem"));
    }
    if (entry->registers >= 0.0) {
        entry->shared_bytes = shared;
    }
}

/* "Stack size for entry function 'deep' cannot be statically determined" */
static void read_warning(reader *r, slice line)
{
    if (take_prefix(&line, "Stack size for entry function '")) {
        size_t index = find_or_add(r, cut(&line, '\''), false);
        if (index != NONE) {
            r->stacks[index].endless = true;
        }
    }
}

/* "ptxas info    : ", where the first word is whatever name ptxas was started under; nvcc hands on
   what the linker says in the same form. */
static bool take_head(slice *line, const char *kind)
{
    slice rest = *line;
    if (take_prefix(&rest, "nvlink ")) {
        return false;
    }
    while (rest.length > 0 && rest.text[0] != ' ') {
        rest.text++;
        rest.length--;
    }
    skip_blanks(&rest);
    if (!take_prefix(&rest, kind)) {
        return false;
    }
    skip_blanks(&rest);
    if (!take_prefix(&rest, ":")) {
        return false;
    }
    skip_blanks(&rest);
    *line = rest;
    return true;
}

static void read_line(reader *r, slice line)
{
    if (line.length > 0 && line.text[line.length - 1] == '\r') {
        line.length--;
    }
    if (line.length > 0 && (line.text[0] == ' ' || line.text[0] == '\t')) {
        read_properties(r, line);
    } else if (take_head(&line, "warning")) {
        read_warning(r, line);
    } else if (!take_head(&line, "info")) {
        return;
    } else if (take_prefix(&line, "Compiling entry function '")) {
        r->entry = find_or_add(r, cut(&line, '\''), false);
    } else if (take_prefix(&line, "Function properties for ")) {
        r->properties = find_or_add(r, line, true);
    } else if (take_prefix(&line, "Used ")) {
        read_used(r, line);
    }
}

static void read_text(reader *r, const char *text)
{
    slice rest = {text, text != NULL ? strlen(text) : 0};
    while (rest.length > 0 && !r->failed) {
        read_line(r, cut(&rest, '\n'));
    }
}

/* Without a cumulative size the frame is all there is to an entry's stack only if nothing it may
   call has one. */
static void settle_stacks(compiler_stats *stats, const stack_told *told)
{
    bool callees = false;
    for (size_t i = 0; i < stats->count; i++) {
        callees = callees || (stats->entries[i].is_function && stats->entries[i].stack_bytes > 0.0);
    }
    for (size_t i = 0; i < stats->count; i++) {
        compiler_entry_stats *entry = &stats->entries[i];
        if (told[i].endless || (told[i].cumulative < 0.0 && callees && !entry->is_function)) {
            entry->stack_bytes = UNKNOWN;
        } else if (told[i].cumulative >= 0.0) {
            entry->stack_bytes = told[i].cumulative;
        }
    }
}

evocc_status ptxas_read_stats(compiler_stats *out, const char *output, const char *errors,
                              evocc_error *error)
{
    *out = (compiler_stats){0};
    reader r = {.out = out, .entry = NONE, .properties = NONE};
    read_text(&r, output);
    read_text(&r, errors);
    if (!r.failed) {
        settle_stacks(out, r.stacks);
    }
    mem_free(r.stacks);
    map_dispose(&r.by_name);
    if (r.failed) {
        compiler_stats_dispose(out);
        return error_no_memory(error);
    }
    return EVOCC_OK;
}
