/*
 * A module that is read again after edits (ptx_parse_edited) is the module that reading its whole
 * text gives: the same tables, or the same error.
 */
#include "helpers.h"

#include "ptx/edit.h"
#include "util/rng.h"

#include <dirent.h>
#include <stdio.h>

/* ---- The same module --------------------------------------------------------------------------
 */

#define SAME(a, b, field) assert_int_equal((a)->field, (b)->field)

static void assert_span(ptx_span a, ptx_span b)
{
    SAME(&a, &b, begin);
    SAME(&a, &b, end);
}

static void assert_same_statements(const ptx_module *a, const ptx_module *b)
{
    SAME(a, b, statement_count);
    for (size_t i = 0; i < a->statement_count; i++) {
        const ptx_statement *s = &a->statements[i], *t = &b->statements[i];
        assert_span(s->span, t->span);
        SAME(s, t, kind);
        SAME(s, t, guard_negated);
        SAME(s, t, referenced);
        SAME(s, t, scope);
        SAME(s, t, guard);
        SAME(s, t, opcode);
        SAME(s, t, opcode_at);
        SAME(s, t, first_operand);
        SAME(s, t, operand_count);
        SAME(s, t, loc);
        SAME(s, t, target);
        SAME(s, t, match);
    }
}

static void assert_same_operands(const ptx_module *a, const ptx_module *b)
{
    SAME(a, b, operand_count);
    SAME(a, b, leaf_count);
    for (size_t i = 0; i < a->operand_count; i++) {
        assert_span(a->operands[i].span, b->operands[i].span);
        SAME(&a->operands[i], &b->operands[i], first_leaf);
        SAME(&a->operands[i], &b->operands[i], leaf_count);
        SAME(&a->operands[i], &b->operands[i], shape);
    }
    for (size_t i = 0; i < a->leaf_count; i++) {
        assert_span(a->leaves[i].span, b->leaves[i].span);
        SAME(&a->leaves[i], &b->leaves[i], id);
        SAME(&a->leaves[i], &b->leaves[i], kind);
        SAME(&a->leaves[i], &b->leaves[i], component);
        SAME(&a->leaves[i], &b->leaves[i], sign);
    }
}

static void assert_same_functions(const ptx_module *a, const ptx_module *b)
{
    SAME(a, b, function_count);
    SAME(a, b, block_count);
    for (size_t i = 0; i < a->function_count; i++) {
        const ptx_function *f = &a->functions[i], *g = &b->functions[i];
        assert_span(f->name, g->name);
        assert_span(f->header, g->header);
        assert_span(f->body, g->body);
        SAME(f, g, entry);
        SAME(f, g, first_statement);
        SAME(f, g, statement_count);
        SAME(f, g, first_block);
        SAME(f, g, block_count);
        SAME(f, g, first_register);
        SAME(f, g, register_count);
        SAME(f, g, local_parameters);
    }
    for (size_t i = 0; i < a->block_count; i++) {
        SAME(&a->blocks[i], &b->blocks[i], first);
        SAME(&a->blocks[i], &b->blocks[i], count);
        SAME(&a->blocks[i], &b->blocks[i], function);
    }
}

static void assert_same_names(const ptx_module *a, const ptx_module *b)
{
    SAME(a, b, register_count);
    SAME(a, b, scope_count);
    SAME(a, b, opcode_count);
    for (size_t i = 0; i < a->register_count; i++) {
        assert_span(a->registers[i].name, b->registers[i].name);
        assert_span(a->registers[i].type, b->registers[i].type);
        SAME(&a->registers[i], &b->registers[i], scope);
        SAME(&a->registers[i], &b->registers[i], in_flight);
    }
    for (size_t i = 0; i < a->scope_count; i++) {
        SAME(&a->scopes[i], &b->scopes[i], parent);
        SAME(&a->scopes[i], &b->scopes[i], open);
        SAME(&a->scopes[i], &b->scopes[i], depth);
    }
    for (size_t i = 0; i < a->opcode_count; i++) {
        assert_string_equal(a->opcodes[i].text, b->opcodes[i].text);
        SAME(&a->opcodes[i].effect, &b->opcodes[i].effect, destination);
        SAME(&a->opcodes[i].effect, &b->opcodes[i].effect, barrier);
        SAME(&a->opcodes[i].effect, &b->opcodes[i].effect, pure);
    }
}

/* Applies the edits and reads the result both ways; the module, or NULL where it is none. */
static ptx_module *assert_same_reading(const ptx_module *old, ptx_edits *edits)
{
    evocc_error first = {0}, second = {0};
    strbuf text = {0}, copy = {0};
    ptx_module *whole = NULL, *edited = NULL;
    assert_int_equal(ptx_edits_apply(&text, edits, old, &first), EVOCC_OK);
    strbuf_append(&copy, text.data, text.length);
    evocc_status status = ptx_parse(&whole, copy.data, copy.length, old->name, &first);
    if (status != ptx_parse_edited(&edited, old, edits, &text, &second)) {
        fail_msg("[%s] [%s] of\n%s", first.message, second.message, copy.data);
    }
    if (status == EVOCC_OK) {
        assert_string_equal(whole->text, edited->text);
        SAME(whole, edited, version);
        assert_span(whole->version_number, edited->version_number);
        assert_same_functions(whole, edited);
        assert_same_statements(whole, edited);
        assert_same_operands(whole, edited);
        assert_same_names(whole, edited);
    } else {
        assert_string_equal(first.message, second.message);
    }
    ptx_free(whole);
    strbuf_dispose(&copy);
    return edited;
}

/* ---- Random edits -----------------------------------------------------------------------------
 */

/* Texts that change what surrounds them means, where anything does. */
static const char *const inserted[] = {"\n\t",
                                       "add.u32 %r1, %r2, %r3;",
                                       ".reg .b32 %q<9>;",
                                       ".reg .b32 %r<99>;",
                                       ".reg .b64 %r1;",
                                       "{",
                                       "}",
                                       "{ .reg .b32 %r1; mov.u32 %r1, 7; }",
                                       "@%p1 bra L;",
                                       "L:",
                                       "$L__BB0_1:",
                                       ":",
                                       ";",
                                       ",",
                                       "/*",
                                       "*/",
                                       "//",
                                       "@",
                                       "@@",
                                       ".loc 1 2 3",
                                       ".loc 1 2 3\n",
                                       " 4",
                                       ", 5",
                                       "\"s\"",
                                       ".pragma \"x\";",
                                       "wgmma.mma_async.sync %r2, %r3;",
                                       "ret;",
                                       ".b32",
                                       "x",
                                       ".param .b32 r;",
                                       "}\n.entry z() {",
                                       ".visible .func g(.reg .b32 %r5) {",
                                       "%r4"};

static const ptx_statement *any_statement(const ptx_module *m, rng *random)
{
    return &m->statements[rng_below(random, m->statement_count)];
}

/* Where edits of passes begin and end, or anywhere. */
static uint32_t any_place(const ptx_module *m, rng *random)
{
    const ptx_statement *s = any_statement(m, random);
    uint64_t kind = rng_below(random, 8);
    return kind < 5    ? s->span.begin
           : kind == 5 ? s->span.end
           : kind == 6 ? m->functions[rng_below(random, m->function_count)].body.begin + 1
                       : (uint32_t)rng_below(random, m->length + 1);
}

static void add_edit(ptx_edits *edits, const ptx_module *m, rng *random)
{
    enum { INSERTED = sizeof inserted / sizeof *inserted };
    const ptx_statement *s = any_statement(m, random), *t = any_statement(m, random);
    uint32_t place = any_place(m, random);
    const char *word = inserted[rng_below(random, INSERTED)];
    ptx_span at = {place, place};
    const char *text = word;
    size_t length = strlen(word);
    switch (rng_below(random, 5)) {
    case 0: /* a copy of another statement in front of it */
        text = ptx_at(m, t->span);
        length = ptx_span_length(t->span);
        break;
    case 1: /* in its place */
        at = s->span;
        text = ptx_at(m, t->span);
        length = ptx_span_length(t->span);
        break;
    case 2: /* nothing in its place */
        at = s->span;
        length = 0;
        break;
    case 3: /* a stretch in the place of itself, less a part */
        at = (ptx_span){s->span.begin, s->span.end};
        text = ptx_at(m, at);
        length = rng_below(random, ptx_span_length(at) + 1);
        break;
    default:
        break;
    }
    ptx_edits_replace(edits, at, text, length);
}

/* As no edits of a pass do. */
static bool overlap(const ptx_edits *edits)
{
    for (size_t i = 0; i < edits->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const ptx_span a = edits->items[i].span, b = edits->items[j].span;
            if (a.begin < b.end && b.begin < a.end) {
                return true;
            }
            bool inside = (a.begin == a.end && b.begin < a.begin && a.begin < b.end) ||
                          (b.begin == b.end && a.begin < b.begin && b.begin < a.end);
            if (inside) {
                return true;
            }
        }
    }
    return false;
}

/* Rounds of edits, each on what the one before left; from the original again when that was no
   module. */
static size_t assert_edits(const char *path, int rounds)
{
    rng random;
    size_t good = 0;
    ptx_module *module = module_of_file(path), *current = NULL;
    rng_seed(&random, 7);
    for (int i = 0; i < rounds; i++) {
        const ptx_module *m = current != NULL ? current : module;
        ptx_edits edits = {0};
        uint64_t count = rng_below(&random, 5);
        for (uint64_t k = 0; k <= count; k++) {
            add_edit(&edits, m, &random);
        }
        if (m->statement_count > 0 && !overlap(&edits)) {
            ptx_module *next = assert_same_reading(m, &edits);
            ptx_free(current);
            current = next != NULL && next->statement_count > 0 && i % 4 != 3 ? next : NULL;
            if (current == NULL) {
                ptx_free(next);
            }
            good += next != NULL;
        }
        ptx_edits_dispose(&edits);
    }
    ptx_free(current);
    ptx_free(module);
    return good;
}

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        assert_true(assert_edits(example_paths[i], 24) > 3);
    }
}

static void test_corpus(void **state)
{
    (void)state;
    size_t files = 0, good = 0;
    DIR *folder = opendir(EVOCC_SOURCE_DIR "/tests/ptx/data/corpus");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "tests/ptx/data/corpus/%s", entry->d_name);
        if (strstr(entry->d_name, ".ptx") != NULL) {
            good += assert_edits(path, 100);
            files++;
        }
    }
    closedir(folder);
    assert_true(files >= 16 && good > 300);
}

/* ---- Out of memory ----------------------------------------------------------------------------
 */

static void test_memory(void **state)
{
    (void)state;
    char *text =
        kernel_of("add.u32 %r1, %r2, %r3;\n@%p1 bra DONE;\n{ .reg .b32 t; mov.u32 t, 1; }");
    ptx_module *module = module_of(text);
    evocc_status status = EVOCC_NO_MEMORY;
    for (long nth = 0; status == EVOCC_NO_MEMORY; nth++) {
        assert_true(nth < 200);
        evocc_error error;
        ptx_edits edits = {0};
        strbuf edited = {0};
        ptx_module *next = NULL;
        uint32_t place = module->statements[module->statement_count - 1].span.begin;
        static const char added[] = ".reg .b32 %y<3>; add.u32 %y1, %y2, 1;";
        ptx_edits_replace(&edits, (ptx_span){place, place}, added, sizeof added - 1);
        assert_int_equal(ptx_edits_apply(&edited, &edits, module, &error), EVOCC_OK);
        mem_fail_after(nth);
        status = ptx_parse_edited(&next, module, &edits, &edited, &error);
        mem_fail_after(-1);
        assert_true(status == EVOCC_OK ? next != NULL : next == NULL);
        assert_null(edited.data);
        ptx_free(next);
        ptx_edits_dispose(&edits);
    }
    assert_int_equal(status, EVOCC_OK);
    ptx_free(module);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples),
                                       cmocka_unit_test(test_corpus),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
