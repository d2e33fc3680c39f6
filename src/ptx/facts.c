#include "ptx/facts.h"

#include "ptx/contraction.h"
#include "util/error.h"

#include <string.h>

const ptx_definition *ptx_facts_definition(const ptx_facts *facts, uint32_t register_id)
{
    return &facts->definitions[register_id - facts->function->first_register];
}

uint32_t ptx_facts_block(const ptx_facts *facts, uint32_t statement)
{
    return facts->block_of[statement - facts->function->first_statement];
}

/* ---- Building ---------------------------------------------------------------------------------
 */

typedef struct visit_context {
    ptx_facts *facts;
    uint32_t statement;
    uint32_t *last; /* of each register: the statement that read it last, so that it counts once */
    bool fill;      /* second round: write the uses down */
} visit_context;

static void visit_register(void *context, uint32_t id, bool write)
{
    visit_context *c = context;
    ptx_facts *f = c->facts;
    uint32_t local = id - f->function->first_register;
    if (write) {
        ptx_definition *d = &f->definitions[local];
        if (!c->fill && (d->count == 0 || d->statement != c->statement)) {
            d->count++;
            d->statement = c->statement;
        }
        return;
    }
    if (c->last[local] == c->statement) {
        return;
    }
    c->last[local] = c->statement;
    if (c->fill) {
        f->uses[f->use_start[local + 1]++] = c->statement;
    } else {
        f->use_start[local + 2]++;
    }
}

static void visit_all(ptx_facts *f, uint32_t *last, bool fill)
{
    for (uint32_t i = 0; i < f->function->register_count; i++) {
        last[i] = PTX_NONE;
    }
    for (uint32_t i = 0; i < f->function->statement_count; i++) {
        visit_context context = {f, f->function->first_statement + i, last, fill};
        ptx_visit_registers(f->module, &f->module->statements[context.statement], visit_register,
                            &context);
    }
}

static bool is_pure(const ptx_module *m, const ptx_function *f, const ptx_statement *s)
{
    return (ptx_effect_of(m, s)->pure || ptx_loads_entry_parameter(m, f, s)) &&
           !ptx_reads_varying_special(m, s);
}

static void judge_definitions(ptx_facts *f)
{
    const ptx_module *m = f->module;
    for (uint32_t i = 0; i < f->function->register_count; i++) {
        ptx_definition *d = &f->definitions[i];
        if (d->count != 1) {
            continue;
        }
        const ptx_statement *s = &m->statements[d->statement];
        const ptx_register *r = &m->registers[f->function->first_register + i];
        const ptx_operand *first = &m->operands[s->first_operand];
        d->block = ptx_facts_block(f, d->statement);
        d->single = s->guard == PTX_NONE;
        for (uint32_t l = 0; l < first->leaf_count; l++) {
            d->single = d->single && !m->leaves[first->first_leaf + l].component;
        }
        d->pure = d->single && !r->in_flight && m->scopes[r->scope].depth == 0 &&
                  m->scopes[s->scope].depth == 0 && first->shape == PTX_SHAPE_PLAIN &&
                  is_pure(m, f->function, s);
    }
}

static bool build(ptx_facts *f)
{
    uint32_t registers = f->function->register_count;
    uint32_t *last = mem_alloc((size_t)registers + 1, sizeof *last);
    f->definitions = mem_alloc((size_t)registers + 1, sizeof *f->definitions);
    f->use_start = mem_alloc((size_t)registers + 2, sizeof *f->use_start);
    f->block_of = mem_alloc((size_t)f->function->statement_count + 1, sizeof *f->block_of);
    bool good =
        last != NULL && f->definitions != NULL && f->use_start != NULL && f->block_of != NULL;
    if (good) {
        for (uint32_t b = 0; b < f->function->block_count; b++) {
            const ptx_block *block = &f->module->blocks[f->function->first_block + b];
            for (uint32_t i = 0; i < block->count; i++) {
                f->block_of[block->first + i - f->function->first_statement] = b;
            }
        }
        visit_all(f, last, false);
        for (uint32_t i = 2; i < registers + 2; i++) {
            f->use_start[i] += f->use_start[i - 1];
        }
        f->uses = mem_alloc((size_t)f->use_start[registers + 1] + 1, sizeof *f->uses);
        good = f->uses != NULL;
    }
    if (good) {
        visit_all(f, last, true);
        judge_definitions(f);
        f->contracted = ptx_contraction_types(f->module, f->function);
    }
    mem_free(last);
    return good;
}

evocc_status ptx_facts_new(ptx_facts **out, const ptx_module *module, const ptx_function *function,
                           evocc_error *error)
{
    ptx_facts *f = mem_alloc(1, sizeof *f);
    if (f == NULL) {
        return error_no_memory(error);
    }
    f->module = module;
    f->function = function;
    evocc_status status = ptx_cfg_new(&f->cfg, module, function, error);
    if (status == EVOCC_OK && !build(f)) {
        status = error_no_memory(error);
    }
    if (status != EVOCC_OK) {
        ptx_facts_free(f);
        return status;
    }
    *out = f;
    return EVOCC_OK;
}

void ptx_facts_free(ptx_facts *f)
{
    if (f == NULL) {
        return;
    }
    ptx_cfg_free(f->cfg);
    mem_free(f->definitions);
    mem_free(f->use_start);
    mem_free(f->uses);
    mem_free(f->block_of);
    mem_free(f);
}

/* ---- Slices -----------------------------------------------------------------------------------
 */

/* Adds what `statement` needs and then the statement. At most PTX_SLICE_MAX deep, as every level
   adds one. `known` is true where the value at hand dominates: a definition must lie above its use.
 */
static bool add_slice(ptx_slice *slice, const ptx_facts *f, uint32_t statement, uint32_t depth)
{
    const ptx_module *m = f->module;
    const ptx_statement *s = &m->statements[statement];
    for (uint32_t i = 0; i < slice->count; i++) {
        if (slice->statements[i] == statement) {
            return true;
        }
    }
    for (uint32_t o = 1; o < s->operand_count; o++) {
        const ptx_operand *operand = &m->operands[s->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind != PTX_LEAF_REGISTER) {
                continue;
            }
            const ptx_definition *d = ptx_facts_definition(f, leaf->id);
            uint32_t block = ptx_facts_block(f, statement);
            bool above = d->block == block ? d->statement < statement
                                           : ptx_cfg_dominates(f->cfg, d->block, block);
            if (!d->single || !above || m->registers[leaf->id].in_flight) {
                return false;
            }
            bool repeat = d->pure && depth > 1 && !ptx_facts_may_contract(f, d->statement);
            if (repeat && !add_slice(slice, f, d->statement, depth - 1)) {
                return false;
            }
        }
    }
    if (slice->count == PTX_SLICE_MAX) {
        return false;
    }
    slice->statements[slice->count++] = statement;
    return true;
}

bool ptx_facts_slice(ptx_slice *out, const ptx_facts *facts, uint32_t register_id, uint32_t depth)
{
    const ptx_definition *d = ptx_facts_definition(facts, register_id);
    out->count = 0;
    uint32_t levels = depth < PTX_SLICE_MAX ? depth : PTX_SLICE_MAX;
    return d->pure && !ptx_facts_may_contract(facts, d->statement) &&
           add_slice(out, facts, d->statement, levels);
}

/* ---- Names ------------------------------------------------------------------------------------
 */

static bool is_value(const ptx_facts *f, const ptx_statement *s)
{
    if (s->kind != PTX_INSTRUCTION || s->operand_count == 0) {
        return false;
    }
    const ptx_operand *first = &f->module->operands[s->first_operand];
    const ptx_leaf *leaf = &f->module->leaves[first->first_leaf];
    return first->shape == PTX_SHAPE_PLAIN && leaf->kind == PTX_LEAF_REGISTER &&
           ptx_facts_definition(f, leaf->id)->pure;
}

uint32_t ptx_facts_value(const ptx_facts *f, uint32_t number)
{
    for (uint32_t i = 0; i < f->function->statement_count; i++) {
        const ptx_statement *s = &f->module->statements[f->function->first_statement + i];
        if (is_value(f, s) && number-- == 0) {
            return f->module->leaves[f->module->operands[s->first_operand].first_leaf].id;
        }
    }
    return PTX_NONE;
}

uint32_t ptx_facts_find(const ptx_facts *f, const char *name, size_t length)
{
    const ptx_module *m = f->module;
    for (uint32_t i = 0; i < f->function->register_count; i++) {
        uint32_t id = f->function->first_register + i;
        const ptx_register *r = &m->registers[id];
        if (m->scopes[r->scope].depth == 0 && ptx_span_length(r->name) == length &&
            memcmp(ptx_at(m, r->name), name, length) == 0) {
            return id;
        }
    }
    return PTX_NONE;
}
