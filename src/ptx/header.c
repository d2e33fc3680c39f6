/*
 * header.c: what is said about a whole entry: its register bound, how many blocks shall fit on a
 * multiprocessor, and where registers are spilled to. A directive that is there is replaced, never
 * doubled. No value asks for more registers than the entry's stated block size leaves, so that no
 * launch fails that the original allows.
 */
#include "ptx/pass.h"
#include "util/error.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_BLOCK = 1024 };

/* A directive of the header and its numbers; end 0: not there. */
typedef struct directive {
    ptx_span span;
    unsigned long product; /* of its numbers */
} directive;

static directive find_directive(const ptx_module *m, const ptx_function *f, const char *word)
{
    directive found = {{0, 0}, 1};
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, m->text, f->header.end);
    lexer.position = f->header.begin;
    for (ptx_token t = ptx_lexer_next(&lexer); t.kind != PTX_TOKEN_END;
         t = ptx_lexer_next(&lexer)) {
        if (!ptx_token_is(&lexer, t, word)) {
            continue;
        }
        found.span = (ptx_span){t.begin, t.end};
        for (;;) {
            ptx_token next = ptx_lexer_peek(&lexer);
            if (next.kind == PTX_TOKEN_NUMBER) {
                found.product *= strtoul(m->text + next.begin, NULL, 0);
                found.span.end = next.end;
            } else if (!ptx_token_is(&lexer, next, ",")) {
                return found;
            }
            ptx_lexer_next(&lexer);
        }
    }
    return found;
}

uint32_t ptx_block_threads(const ptx_module *m, const ptx_function *f)
{
    directive exact = find_directive(m, f, ".reqntid"), most = find_directive(m, f, ".maxntid");
    unsigned long threads = exact.span.end != 0  ? exact.product
                            : most.span.end != 0 ? most.product
                                                 : 0;
    return threads <= LARGEST_BLOCK ? (uint32_t)threads : 0;
}

/* The most registers a thread may take so that a block of this size still fits: a multiprocessor
   has 65,536, given to warps in units of 256, and warps go to its four quarters alike (CUDA C++
   Programming Guide, "Compute Capabilities"; the same from sm_75 to sm_120). Observed with ptxas
   13.0: .maxnreg beats .reqntid, so it is up to us: 1,024 threads under .maxnreg 128 compile to a
   kernel that cannot be launched. */
static unsigned long most_registers(uint32_t threads)
{
    enum { FILE_SIZE = 65536, UNIT = 256, WARP = 32, QUARTERS = 4, MOST = 255 };
    if (threads == 0) {
        return MOST; /* the study refuses candidates that take more than the original */
    }
    unsigned long warps = (threads + WARP - 1) / WARP;
    warps = (warps + QUARTERS - 1) / QUARTERS * QUARTERS;
    unsigned long registers = FILE_SIZE / warps / UNIT * UNIT / WARP;
    return registers < MOST ? registers : MOST;
}

/* Threads that a multiprocessor holds at a time (the same guide); beyond it ptxas ignores
   .minnctapersm. The smaller number for a target that is not known. */
static unsigned long most_threads(const ptx_module *m)
{
    static const int large[] = {80, 90, 100, 103};
    int target = ptx_target_number(m);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        if (target == large[i]) {
            return 2048;
        }
    }
    return target > 75 ? 1536 : 1024;
}

/* setmaxnreg moves registers of a pool whose size follows from the bound (PTX ISA, setmaxnreg): one
   that is too small stops the kernel for ever. */
static bool may_bound(const ptx_module *m)
{
    return !ptx_uses_opcode(m, "setmaxnreg");
}

/* The most registers a thread may have with which a wgmma of the entry cannot be compiled. ptxas
   13.0.88 needs those of the accumulators and of the first factor, where that is in registers, and
   26 more ("(C7602) Insufficient registers"): so tried for accumulators of 2 to 128. */
static unsigned long too_few_registers(const ptx_module *m, const ptx_function *f)
{
    enum { BESIDES = 26 };
    unsigned long most = 0;
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_INSTRUCTION && s->operand_count > 1 &&
            strncmp(m->opcodes[s->opcode].text, "wgmma.mma_async.", 16) == 0) {
            const ptx_operand *operands = &m->operands[s->first_operand];
            unsigned long needed = operands[0].leaf_count + BESIDES;
            needed += operands[1].shape == PTX_SHAPE_VECTOR ? operands[1].leaf_count : 0;
            most = needed - 1 > most ? needed - 1 : most;
        }
    }
    return most;
}

/* The values from above `over` up to `limit`. */
static evocc_status enumerate_numbers(ptx_catalogue *c, const char *const *values, size_t count,
                                      unsigned long over, unsigned long limit)
{
    size_t first = 0, end = 0;
    while (first < count && strtoul(values[first], NULL, 10) <= over) {
        first++;
    }
    while (end < count && strtoul(values[end], NULL, 10) <= limit) {
        end++;
    }
    return first >= end ? EVOCC_OK
                        : ptx_catalogue_add(c, "", values + first, (int32_t)(end - first),
                                            SPACE_ABSENT, 1, c->pass->help);
}

/* One number a function: the directive replaced, or put before the {. */
static evocc_status apply_numbers(ptx_edits *edits, const ptx_module *m, const ptx_choice *choices,
                                  size_t count, const char *word, const char *const *values,
                                  int32_t value_count, evocc_error *error)
{
    for (size_t i = 0; i < count; i++) {
        int32_t value;
        if (choices[i].site[0] != '\0') {
            return ptx_no_site(m, choices[i].setting, error);
        }
        evocc_status status = ptx_choice_value(&value, &choices[i], values, value_count, error);
        if (status != EVOCC_OK) {
            return status;
        }
        directive old = find_directive(m, choices[i].function, word);
        bool there = old.span.end != 0;
        uint32_t place = choices[i].function->header.end;
        strbuf_printf(ptx_edits_begin(edits), there ? "%s %s" : "%s %s\n", word, values[value]);
        ptx_edits_finish(edits, there ? old.span : (ptx_span){place, place});
    }
    return EVOCC_OK;
}

/* ---- maxnreg
 * ----------------------------------------------------------------------------------------- */

static const char *const register_values[] = {"32",  "40",  "48",  "56",  "64",  "72",
                                              "80",  "96",  "112", "128", "144", "160",
                                              "168", "192", "208", "224", "240", "255"};
enum { REGISTER_VALUES = sizeof register_values / sizeof *register_values };

static evocc_status maxnreg_enumerate(ptx_catalogue *c)
{
    uint32_t threads = ptx_block_threads(c->module, c->function);
    return enumerate_numbers(c, register_values, REGISTER_VALUES,
                             too_few_registers(c->module, c->function),
                             may_bound(c->module) ? most_registers(threads) : 0);
}

static evocc_status maxnreg_apply(ptx_edits *edits, const ptx_module *module,
                                  const ptx_choice *choices, size_t count, evocc_error *error)
{
    return apply_numbers(edits, module, choices, count, ".maxnreg", register_values,
                         REGISTER_VALUES, error);
}

const ptx_pass ptx_pass_maxnreg = {
    .name = "maxnreg",
    .help = "The most registers a thread may have: more blocks at a time against spilling. Beats "
            "-maxrregcount.",
    .source = "PTX ISA 9.0, 11.4 (Performance-Tuning Directives: .maxnreg)",
    .enumerate = maxnreg_enumerate,
    .apply = maxnreg_apply,
};

/* ---- minnctapersm
 * ------------------------------------------------------------------------------------- */

static const char *const block_values[] = {"1", "2", "3", "4", "5", "6", "8", "12", "16"};
enum { BLOCK_VALUES = sizeof block_values / sizeof *block_values };

/* Without .maxntid or .reqntid ptxas ignores it. */
static evocc_status minnctapersm_enumerate(ptx_catalogue *c)
{
    uint32_t threads = ptx_block_threads(c->module, c->function);
    unsigned long most =
        threads == 0 || !may_bound(c->module) ? 0 : most_threads(c->module) / threads;
    while (most > 0 &&
           most_registers(threads * (uint32_t)most) <= too_few_registers(c->module, c->function)) {
        most--;
    }
    return enumerate_numbers(c, block_values, BLOCK_VALUES, 0, most);
}

static evocc_status minnctapersm_apply(ptx_edits *edits, const ptx_module *module,
                                       const ptx_choice *choices, size_t count, evocc_error *error)
{
    return apply_numbers(edits, module, choices, count, ".minnctapersm", block_values, BLOCK_VALUES,
                         error);
}

const ptx_pass ptx_pass_minnctapersm = {
    .name = "minnctapersm",
    .help =
        "How many blocks shall fit on a multiprocessor at a time; bounds the registers. 1 lifts "
        "ptxas's own restraint.",
    .source = "PTX ISA 9.0, 11.4 (Performance-Tuning Directives: .minnctapersm)",
    .min_version = 20,
    .enumerate = minnctapersm_enumerate,
    .apply = minnctapersm_apply,
};

/* ---- smem-spill
 * ------------------------------------------------------------------------------------------ */

static const char *const spill_values[] = {"on"};

/* ptxas: "not allowed for per-function compilation modes", where the space has that option. */
static evocc_status forbid_fast_compile(ptx_catalogue *c, const char *name)
{
    static const char option[] = "ptxas/Ofast-compile";
    static const char *const fast[] = {"mid"};
    const space_term terms[] = {{name, spill_values, 1}, {option, fast, 1}};
    return space_find(c->space, option) == (size_t)-1
               ? EVOCC_OK
               : space_add_forbidden(c->space, terms, 2, c->error);
}

/* Fatal with dynamic shared memory, and pointless to say twice. Nor where warps trade registers. */
static bool may_spill(const ptx_module *m, const ptx_function *f)
{
    if (!may_bound(m)) {
        return false;
    }
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, m->text, m->length);
    bool external = false;
    for (ptx_token t = ptx_lexer_next(&lexer); t.kind != PTX_TOKEN_END;
         t = ptx_lexer_next(&lexer)) {
        if (external && ptx_token_is(&lexer, t, ".shared")) {
            return false;
        }
        external = ptx_token_is(&lexer, t, ".extern");
    }
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_PRAGMA && ptx_pragma_is(m, s, "enable_smem_spilling")) {
            return false;
        }
    }
    return true;
}

static evocc_status spill_enumerate(ptx_catalogue *c)
{
    /* Without a block size ptxas would set aside shared memory for the largest one. */
    if (!may_spill(c->module, c->function) || ptx_block_threads(c->module, c->function) == 0) {
        return EVOCC_OK;
    }
    evocc_status status = ptx_catalogue_add(c, "", spill_values, 1, SPACE_ABSENT, 1, c->pass->help);
    return status == EVOCC_OK
               ? forbid_fast_compile(c, space_get(c->space, (size_t)c->wide)->full_name)
               : status;
}

static evocc_status spill_apply(ptx_edits *edits, const ptx_module *m, const ptx_choice *choices,
                                size_t count, evocc_error *error)
{
    for (size_t i = 0; i < count; i++) {
        int32_t value;
        if (choices[i].site[0] != '\0' || !may_spill(m, choices[i].function)) {
            return ptx_no_site(m, choices[i].setting, error);
        }
        evocc_status status = ptx_choice_value(&value, &choices[i], spill_values, 1, error);
        if (status != EVOCC_OK) {
            return status;
        }
        uint32_t place = choices[i].function->body.begin + 1;
        static const char text[] = "\n\t.pragma \"enable_smem_spilling\";";
        ptx_edits_replace(edits, (ptx_span){place, place}, text, sizeof text - 1);
    }
    return EVOCC_OK;
}

const ptx_pass ptx_pass_smem_spill = {
    .name = "smem-spill",
    .help =
        "Registers that do not fit are spilled to shared memory where there is room, instead of "
        "local memory. For kernels that spill; fatal with ptxas --Ofast-compile. Not searched by "
        "itself.",
    .off_because = "changed no code in any kernel tried that admits it: none of them spills",
    .source = "PTX ISA 9.0, 12 (Descriptions of .pragma Strings: \"enable_smem_spilling\")",
    .min_version = 90, /* ptxas 13.0 takes it from 8.7 on, the ISA from 9.0 */
    .enumerate = spill_enumerate,
    .apply = spill_apply,
};
