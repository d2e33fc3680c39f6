#include "ptx/facts.h"
#include "ptx/pass.h"

#include "util/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they run: first what numbers instructions of the original, then what adds
   instructions, then what orders them. */
static const ptx_pass *const passes[] = {
    &ptx_pass_load_cache, &ptx_pass_store_cache, &ptx_pass_copy_cache, &ptx_pass_vector,
    &ptx_pass_range,      &ptx_pass_coherent,    &ptx_pass_slice,      &ptx_pass_remat,
    &ptx_pass_sink,       &ptx_pass_reassociate, &ptx_pass_mad,        &ptx_pass_shift,
    &ptx_pass_field,      &ptx_pass_lop3,        &ptx_pass_swap,       &ptx_pass_divide,
    &ptx_pass_root,       &ptx_pass_flush,       &ptx_pass_contract,   &ptx_pass_order,
    &ptx_pass_fence,      &ptx_pass_frequency,   &ptx_pass_maxnreg,    &ptx_pass_minnctapersm,
    &ptx_pass_smem_spill, &ptx_pass_unroll,      &ptx_pass_convert,    &ptx_pass_polarity};
enum { PASS_COUNT = sizeof passes / sizeof *passes };

/* ---- Controls -------------------------------------------------------------------------------- */

/* A random candidate has about this many exceptions of a pass, however many sites there are. */
static const double EXCEPTIONS = 0.5;

static double wide_share(const ptx_pass *pass)
{
    return pass->sampled > 0 ? pass->sampled : 0.12;
}

evocc_status ptx_catalogue_add(ptx_catalogue *c, const char *site, const char *const *values,
                               int32_t value_count, int32_t default_index, size_t sites,
                               const char *help)
{
    const ptx_module *m = c->module;
    ptx_span entry = c->function->name;
    strbuf name = {0}, group = {0};
    strbuf_printf(&name, "%s@%.*s%s%s", c->pass->name, (int)ptx_span_length(entry),
                  ptx_at(m, entry), site[0] == '\0' ? "" : ".", site);
    strbuf_printf(&group, "%s@%.*s", c->pass->name, (int)ptx_span_length(entry), ptx_at(m, entry));
    evocc_status status = EVOCC_NO_MEMORY;
    if (!name.failed && !group.failed) {
        bool wide = site[0] == '\0';
        space_control control = {
            .stage = SPACE_STAGE_PTX,
            .name = name.data,
            .help = help,
            .source = c->pass->source,
            .off_because = c->pass->off_because,
            .kind = SPACE_CHOICE,
            .numerics = c->numerics,
            .choices = values,
            .size = value_count,
            .default_index = default_index,
            .knockout = wide ? 1.0 - wide_share(c->pass) : 1.0 - EXCEPTIONS / (double)(sites + 1),
            .parent = wide ? SPACE_ABSENT : c->wide,
            .group = group.data,
        };
        status = space_add(c->space, &control, c->error);
        if (status == EVOCC_OK && wide) {
            c->wide = (int32_t)space_count(c->space) - 1;
        }
    } else {
        error_no_memory(c->error);
    }
    strbuf_dispose(&name);
    strbuf_dispose(&group);
    return status;
}

evocc_status ptx_catalogue_unrolling(bool *offered, ptx_catalogue *c)
{
    if (c->unrolls_exactly < 0) {
        bool exact;
        evocc_status status = ptx_unrolls_exactly(&exact, c->module, c->function, c->error);
        if (status != EVOCC_OK) {
            return status;
        }
        c->unrolls_exactly = exact;
    }
    *offered = c->unrolls_exactly == 1 || (c->limits != NULL && c->limits->allow_numerics);
    if (c->unrolls_exactly == 0 && c->numerics == SPACE_EXACT) {
        c->numerics = SPACE_ROUNDING;
    }
    return EVOCC_OK;
}

static bool is_possible(const ptx_pass *pass, const ptx_module *module, const ptx_limits *limits)
{
    if (pass->numerics != SPACE_EXACT && (limits == NULL || !limits->allow_numerics)) {
        return false;
    }
    if (pass->off_because != NULL && limits != NULL && limits->searched_only) {
        return false;
    }
    if (limits != NULL && limits->wants != NULL && !limits->wants(limits->context, pass->name)) {
        return false;
    }
    return pass->min_version <= module->version ||
           (limits != NULL && pass->min_version <= limits->max_version);
}

evocc_status ptx_add_controls(evocc_space *space, const ptx_module *module, const char *entry,
                              const ptx_limits *limits, evocc_error *error)
{
    const ptx_function *function = ptx_find_entry(module, entry, strlen(entry));
    if (function == NULL) {
        return error_set(error, EVOCC_NOT_FOUND, "%s: no entry %s", module->name, entry);
    }
    ptx_catalogue catalogue = {.space = space,
                               .module = module,
                               .function = function,
                               .limits = limits,
                               .error = error,
                               .unrolls_exactly = -1};
    for (size_t i = 0; i < PASS_COUNT; i++) {
        if (!is_possible(passes[i], module, limits)) {
            continue;
        }
        catalogue.pass = passes[i];
        catalogue.numerics = passes[i]->numerics;
        catalogue.wide = SPACE_ABSENT;
        evocc_status status = passes[i]->enumerate(&catalogue);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

/* ---- Settings -------------------------------------------------------------------------------- */

evocc_status ptx_choice_value(int32_t *out, const ptx_choice *choice, const char *const *values,
                              int32_t value_count, evocc_error *error)
{
    for (int32_t i = 0; i < value_count; i++) {
        if (strcmp(choice->setting->value, values[i]) == 0) {
            *out = i;
            return EVOCC_OK;
        }
    }
    return error_set(error, EVOCC_INVALID_ARGUMENT, "%s: no value %s", choice->setting->name,
                     choice->setting->value);
}

evocc_status ptx_no_site(const ptx_module *module, const ptx_setting *setting, evocc_error *error)
{
    return error_set(error, EVOCC_NOT_FOUND, "%s: no site %s in it", module->name, setting->name);
}

evocc_status ptx_choice_number(uint32_t *out, const ptx_module *module, const ptx_choice *choice,
                               const char *prefix, evocc_error *error)
{
    size_t length = strlen(prefix);
    const char *digits = choice->site + length;
    bool canonical = strncmp(choice->site, prefix, length) == 0 && *digits != '\0' &&
                     strspn(digits, "0123456789") == strlen(digits) && strlen(digits) <= 9 &&
                     (*digits != '0' || digits[1] == '\0');
    if (!canonical) {
        return ptx_no_site(module, choice->setting, error);
    }
    *out = (uint32_t)strtoul(digits, NULL, 10);
    return EVOCC_OK;
}

evocc_status ptx_choice_block(uint32_t *out, const ptx_module *module, const ptx_choice *choice,
                              evocc_error *error)
{
    uint32_t block;
    evocc_status status = ptx_choice_number(&block, module, choice, "b", error);
    if (status == EVOCC_OK && block >= choice->function->block_count) {
        status = ptx_no_site(module, choice->setting, error);
    }
    if (status == EVOCC_OK) {
        *out = choice->function->first_block + block;
    }
    return status;
}

uint32_t ptx_block_body(const ptx_module *module, const ptx_block *block)
{
    uint32_t first = block->first;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        if (module->statements[i].kind == PTX_INSTRUCTION) {
            break;
        }
        first = module->statements[i].kind == PTX_LABEL ? i + 1 : first;
    }
    return first;
}

uint32_t ptx_block_start(const ptx_module *module, const ptx_block *block)
{
    uint32_t start = block->first;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        uint8_t kind = module->statements[i].kind;
        if (kind == PTX_INSTRUCTION) {
            break;
        }
        if (kind != PTX_PRAGMA && kind != PTX_LOC) {
            start = i + 1;
        }
    }
    return start;
}

const ptx_pass *ptx_pass_at(size_t index)
{
    return index < PASS_COUNT ? passes[index] : NULL;
}

/* ---- For people ------------------------------------------------------------------------------ */

bool ptx_kind_at(ptx_kind *out, size_t index)
{
    if (index >= PASS_COUNT) {
        return false;
    }
    const ptx_pass *p = passes[index];
    *out = (ptx_kind){p->name, p->help, p->source, p->off_because, p->min_version};
    return true;
}

bool ptx_kind_of(ptx_kind *out, const char *control)
{
    size_t length = strcspn(control, "@");
    for (size_t i = 0; ptx_kind_at(out, i); i++) {
        if (strlen(out->name) == length && strncmp(out->name, control, length) == 0) {
            return true;
        }
    }
    return false;
}
