/*
 * convert.c: if-conversion: a short block that a branch jumps over is executed under the branch's
 * predicate instead. `@p bra L; B; L:` becomes B with `@!p` before each instruction (PTX
 * ISA 9.0, 9.3 Predicated Execution). Only arithmetic, weak loads and weak stores: what cares which
 * threads run together stays behind its branch.
 *
 * Runs behind everything that numbers blocks.
 */
#include "ptx/contraction.h"
#include "ptx/pass.h"
#include "util/error.h"

#include <string.h>

static const char *const values[] = {"off", "4", "8", "16", "32"};
static const uint32_t limits[] = {0, 4, 8, 16, 32};
enum { VALUE_COUNT = sizeof values / sizeof *values };

/* A branch, and the block behind it that it jumps over. */
typedef struct triangle {
    uint32_t branch; /* statement */
    uint32_t block;  /* of the module */
} triangle;

/* The last instruction of a block when it is a bra; NULL otherwise. */
static const ptx_statement *end_branch(const ptx_module *m, const ptx_block *block)
{
    const ptx_statement *last = NULL;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        last = m->statements[i].kind == PTX_INSTRUCTION ? &m->statements[i] : last;
    }
    return last != NULL && strncmp(m->opcodes[last->opcode].text, "bra", 3) == 0 &&
                   last->target != PTX_NONE
               ? last
               : NULL;
}

static void note_write(void *context, uint32_t register_id, bool write)
{
    uint32_t *guard = context;
    if (write && register_id == *guard) {
        *guard = PTX_NONE;
    }
}

/* Arithmetic, weak loads, weak stores: nothing that pins others or depends on other lanes. */
static bool may_guard(const ptx_module *m, const ptx_statement *s)
{
    const ptx_effect *effect = ptx_effect_of(m, s);
    if (s->guard != PTX_NONE || effect->barrier || ptx_reads_varying_special(m, s)) {
        return false;
    }
    for (int r = 0; r < PTX_RESOURCE_COUNT; r++) {
        bool memory = r == PTX_GLOBAL || r == PTX_SHARED || r == PTX_LOCAL || r == PTX_PARAM ||
                      r == PTX_READ_ONLY;
        if (effect->access[r] != PTX_ACCESS_NONE && !memory) {
            return false;
        }
    }
    return true;
}

/* The instructions of a block that can run under the guard; 0 when one cannot, or there is anything
   but instructions and lines. */
static uint32_t guardable(const ptx_module *m, const ptx_block *block, uint32_t guard)
{
    uint32_t count = 0;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_LOC || (s->kind == PTX_LABEL && !s->referenced)) {
            continue;
        }
        if (s->kind != PTX_INSTRUCTION || !may_guard(m, s)) {
            return 0;
        }
        ptx_visit_registers(m, s, note_write, &guard);
        if (guard == PTX_NONE) {
            return 0; /* it changes the predicate */
        }
        count++;
    }
    return count;
}

/* The statement hands a product without stated rounding on to another block. */
static bool hands_on(const ptx_facts *f, uint32_t statement)
{
    uint8_t type;
    const ptx_statement *s = &f->module->statements[statement];
    ptx_rounding_form form = ptx_rounding_form_of(&type, f->module, s);
    if ((form != PTX_PRODUCT && form != PTX_COPY) || !ptx_facts_may_contract(f, statement)) {
        return false;
    }
    uint32_t id = ptx_plain_register(f->module, s, 0);
    uint32_t local = id == PTX_NONE ? 0 : id - f->function->first_register;
    for (uint32_t i = f->use_start[local]; id != PTX_NONE && i < f->use_start[local + 1]; i++) {
        if (ptx_facts_block(f, f->uses[i]) != ptx_facts_block(f, statement)) {
            return true;
        }
    }
    return id == PTX_NONE;
}

/* Conversion makes one block of three, and ptxas joins products and sums of one block (it does so
   under a guard, too, but for guarded products): so neither stands in the block, and no product
   above is read from the block or behind it. */
static bool keeps_rounding(const ptx_facts *f, const triangle *t)
{
    const ptx_module *m = f->module;
    const ptx_block *inner = &m->blocks[t->block], *above = inner - 1;
    for (uint32_t i = inner->first; f->contracted != 0 && i < inner->first + inner->count; i++) {
        if (ptx_contraction_access(m, &m->statements[i], f->contracted) != PTX_ACCESS_NONE) {
            return false;
        }
    }
    for (uint32_t i = above->first; f->contracted != 0 && i < above->first + above->count; i++) {
        if (hands_on(f, i)) {
            return false;
        }
    }
    return true;
}

/* Whether block b, jumped over by the block before it, can be converted. */
static bool find_triangle(triangle *out, const ptx_facts *facts, uint32_t b, uint32_t limit)
{
    const ptx_module *m = facts->module;
    const ptx_cfg *cfg = facts->cfg;
    const ptx_function *f = facts->function;
    if (b == 0 || b + 1 >= cfg->count || cfg->number[b] == PTX_NONE ||
        cfg->predecessor_start[b + 1] != cfg->predecessor_start[b] + 1 ||
        cfg->predecessor[cfg->predecessor_start[b]] != b - 1 ||
        cfg->successor_start[b + 1] != cfg->successor_start[b] + 1) {
        return false;
    }
    const ptx_statement *branch = end_branch(m, &m->blocks[f->first_block + b - 1]);
    if (branch == NULL || branch->guard == PTX_NONE || m->scopes[branch->scope].depth > 0 ||
        ptx_block_of(m, f, branch->target) != cfg->successor[cfg->successor_start[b]] ||
        ptx_block_of(m, f, branch->target) == b) {
        return false;
    }
    *out = (triangle){(uint32_t)(branch - m->statements), f->first_block + b};
    uint32_t count = guardable(m, &m->blocks[out->block], branch->guard);
    return count > 0 && count <= limit && keeps_rounding(facts, out);
}

/* "@p " or "@!p ": when the branch is not taken. */
static void write_guard(strbuf *out, const ptx_module *m, const ptx_statement *branch)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, m->text, m->length);
    lexer.position = branch->span.begin + 1;
    ptx_token predicate = ptx_lexer_next(&lexer);
    if (ptx_token_is(&lexer, predicate, "!")) {
        predicate = ptx_lexer_next(&lexer);
    }
    strbuf_printf(out, "@%s%.*s ", branch->guard_negated ? "" : "!",
                  (int)(predicate.end - predicate.begin), m->text + predicate.begin);
}

static void convert(ptx_edits *edits, const ptx_module *m, const triangle *t)
{
    const ptx_statement *branch = &m->statements[t->branch];
    const ptx_block *block = &m->blocks[t->block];
    ptx_edits_replace(edits, branch->span, "", 0);
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_INSTRUCTION) {
            write_guard(ptx_edits_begin(edits), m, branch);
            ptx_edits_finish(edits, (ptx_span){s->span.begin, s->span.begin});
        }
    }
}

static evocc_status enumerate(ptx_catalogue *c)
{
    ptx_facts *facts;
    triangle t;
    evocc_status status = ptx_facts_new(&facts, c->module, c->function, c->error);
    if (status != EVOCC_OK) {
        return status;
    }
    bool any = false;
    for (uint32_t b = 0; b < facts->cfg->count && !any; b++) {
        any = find_triangle(&t, facts, b, limits[VALUE_COUNT - 1]);
    }
    ptx_facts_free(facts);
    return any ? ptx_catalogue_add(c, "", values, VALUE_COUNT, 0, 1, c->pass->help) : EVOCC_OK;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *m, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        int32_t value;
        ptx_facts *facts;
        if (choices[i].site[0] != '\0') {
            return ptx_no_site(m, choices[i].setting, error);
        }
        status = ptx_choice_value(&value, &choices[i], values, VALUE_COUNT, error);
        if (status == EVOCC_OK) {
            status = ptx_facts_new(&facts, m, choices[i].function, error);
        }
        if (status != EVOCC_OK) {
            return status;
        }
        for (uint32_t b = 0; b < facts->cfg->count; b++) {
            triangle t;
            if (find_triangle(&t, facts, b, limits[value])) {
                convert(edits, m, &t);
            }
        }
        ptx_facts_free(facts);
    }
    return status;
}

const ptx_pass ptx_pass_convert = {
    .name = "convert",
    .help =
        "Blocks of at most so many instructions that a branch jumps over run under its predicate "
        "instead. Saves divergence and opens larger blocks to the scheduler.",
    .source = "PTX ISA 9.0, 9.3 (Predicated Execution)",
    .enumerate = enumerate,
    .apply = apply,
};
