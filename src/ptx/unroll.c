/*
 * unroll.c: unrolling. `.pragma "nounroll"` keeps ptxas from it (PTX ISA 9.0, 12); 2, 4 and 8 write
 * the body of a loop that is a single block that often, each copy followed by the loop's own test,
 * so that every turn does what it did and any number of turns is right: no remainder is needed.
 *
 * Runs last: it adds blocks.
 */
#include "ptx/cfg.h"
#include "ptx/facts.h"
#include "ptx/pass.h"
#include "util/error.h"

#include <stdio.h>
#include <string.h>

static const char *const values[] = {"keep", "nounroll", "2", "4", "8"};
enum { KEEP, NOUNROLL, TWICE, VALUE_COUNT = sizeof values / sizeof *values };

enum { MAX_SITES = 64, MAX_STATEMENTS = 4096 };

static bool is_header(const ptx_cfg *cfg, uint32_t b)
{
    return cfg->loop[b] == b;
}

/* ---- Copies
 * --------------------------------------------------------------------------------------- */

/* The branch back of a loop that is one block, when the body may be written again: no names are
   declared in it but registers of nested scopes, and nothing outside knows places in it. PTX_NONE
   otherwise. */
static uint32_t copyable_branch(const ptx_module *m, const ptx_cfg *cfg, uint32_t b)
{
    const ptx_block *block = &m->blocks[cfg->function->first_block + b];
    uint32_t branch = PTX_NONE;
    if (b + 1 >= cfg->count || !is_header(cfg, b) || block->count > MAX_STATEMENTS) {
        return PTX_NONE;
    }
    for (uint32_t i = ptx_block_body(m, block); i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        bool variable = s->kind == PTX_DECLARATION && (m->scopes[s->scope].depth == 0 ||
                                                       strncmp(ptx_at(m, s->span), ".reg", 4) != 0);
        bool open = (s->kind == PTX_OPEN || s->kind == PTX_CLOSE) &&
                    ptx_block_of(m, cfg->function, s->match) != b;
        if (variable || open || s->kind == PTX_DIRECTIVE ||
            (s->kind == PTX_LABEL && s->referenced)) {
            return PTX_NONE;
        }
        branch = s->kind == PTX_INSTRUCTION ? i : branch;
    }
    if (branch == PTX_NONE) {
        return PTX_NONE;
    }
    const ptx_statement *s = &m->statements[branch];
    bool back = strncmp(m->opcodes[s->opcode].text, "bra", 3) == 0 && s->guard != PTX_NONE &&
                s->target != PTX_NONE && m->scopes[s->scope].depth == 0 &&
                ptx_block_of(m, cfg->function, s->target) == b;
    return back ? branch : PTX_NONE;
}

/* The text of "@p bra L;" split: "@", "!" when negated, "p", " bra ". */
static void write_branch(strbuf *out, const ptx_module *m, const ptx_statement *s, bool negated,
                         const char *label)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, m->text, m->length);
    lexer.position = s->span.begin + 1;
    ptx_token predicate = ptx_lexer_next(&lexer);
    if (ptx_token_is(&lexer, predicate, "!")) {
        predicate = ptx_lexer_next(&lexer);
    }
    strbuf_printf(out, "@%s%.*s %s %s;", negated ? "!" : "", (int)(predicate.end - predicate.begin),
                  m->text + predicate.begin, m->opcodes[s->opcode].text, label);
}

static void write_body(strbuf *out, const ptx_module *m, uint32_t first, uint32_t branch)
{
    for (uint32_t i = first; i < branch; i++) {
        const ptx_statement *s = &m->statements[i];
        bool about_loop = s->kind == PTX_PRAGMA &&
                          (ptx_pragma_is(m, s, "nounroll") || ptx_pragma_is(m, s, "frequency"));
        if (s->kind != PTX_LABEL && !about_loop) {
            strbuf_puts(out, "\n\t");
            strbuf_append(out, ptx_at(m, s->span), ptx_span_length(s->span));
        }
    }
}

static bool text_has(const ptx_module *m, const char *word)
{
    return strstr(m->text, word) != NULL; /* the text has no NUL but the one behind it */
}

static void write_copies(ptx_edits *edits, const ptx_module *m, const ptx_block *block,
                         uint32_t branch, unsigned factor, uint32_t b)
{
    const ptx_statement *s = &m->statements[branch];
    char label[64];
    unsigned attempt = 0;
    do {
        snprintf(label, sizeof label, "$evocc_exit%u_%u", attempt++, b);
    } while (text_has(m, label));
    strbuf *text = ptx_edits_begin(edits);
    for (unsigned i = 1; i < factor; i++) {
        write_branch(text, m, s, !s->guard_negated, label);
        write_body(text, m, ptx_block_body(m, block), branch);
        strbuf_puts(text, "\n\t");
    }
    strbuf_append(text, ptx_at(m, s->span), ptx_span_length(s->span));
    strbuf_printf(text, "\n%s:", label);
    ptx_edits_finish(edits, s->span);
}

/* ---- The pass
 * -------------------------------------------------------------------------------------- */

static bool has_nounroll(const ptx_module *m, const ptx_block *block)
{
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_INSTRUCTION) {
            return false;
        }
        if (s->kind == PTX_PRAGMA && ptx_pragma_is(m, s, "nounroll")) {
            return true;
        }
    }
    return false;
}

static void do_loop(ptx_edits *edits, const ptx_module *m, const ptx_cfg *cfg, uint32_t b,
                    int32_t value)
{
    const ptx_block *block = &m->blocks[cfg->function->first_block + b];
    if (value == NOUNROLL && !has_nounroll(m, block)) {
        static const char text[] = ".pragma \"nounroll\";\n\t";
        uint32_t place = m->statements[ptx_block_start(m, block)].span.begin;
        ptx_edits_replace(edits, (ptx_span){place, place}, text, sizeof text - 1);
    }
    if (value >= TWICE) {
        uint32_t branch = copyable_branch(m, cfg, b);
        if (branch != PTX_NONE) {
            write_copies(edits, m, block, branch, 2u << (value - TWICE), b);
        }
    }
}

static evocc_status enumerate(ptx_catalogue *c)
{
    bool offered;
    ptx_cfg *cfg;
    evocc_status status = ptx_catalogue_unrolling(&offered, c);
    if (status != EVOCC_OK || !offered) {
        return status;
    }
    status = ptx_cfg_new(&cfg, c->module, c->function, c->error);
    if (status != EVOCC_OK) {
        return status;
    }
    uint32_t loops = 0, added = 0;
    for (uint32_t b = 0; b < cfg->count; b++) {
        loops += is_header(cfg, b);
    }
    if (loops > 0) {
        status = ptx_catalogue_add(c, "", values, VALUE_COUNT, KEEP, 1, c->pass->help);
    }
    for (uint32_t b = 0; b < cfg->count && status == EVOCC_OK && loops > 1; b++) {
        if (is_header(cfg, b) && added++ < MAX_SITES) {
            char site[32];
            snprintf(site, sizeof site, "loop.b%u", b);
            status = ptx_catalogue_add(c, site, values, VALUE_COUNT, KEEP, loops,
                                       "The same for the loop that begins at this block.");
        }
    }
    ptx_cfg_free(cfg);
    return status;
}

static evocc_status choose(int32_t *chosen, const ptx_module *m, const ptx_cfg *cfg,
                           const ptx_choice *choices, size_t count, evocc_error *error)
{
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < count; i++) {
            int32_t value;
            uint32_t header = 0;
            if (choices[i].function != cfg->function ||
                (choices[i].site[0] != '\0') != (own == 1)) {
                continue;
            }
            evocc_status status = ptx_choice_value(&value, &choices[i], values, VALUE_COUNT, error);
            if (status == EVOCC_OK && own == 1) {
                status = ptx_choice_number(&header, m, &choices[i], "loop.b", error);
            }
            if (status == EVOCC_OK && own == 1 &&
                (header >= cfg->count || !is_header(cfg, header))) {
                status = ptx_no_site(m, choices[i].setting, error);
            }
            if (status != EVOCC_OK) {
                return status;
            }
            for (uint32_t b = 0; b < cfg->count; b++) {
                if (is_header(cfg, b) && (own == 0 || b == header)) {
                    chosen[b] = value;
                }
            }
        }
    }
    return EVOCC_OK;
}

static evocc_status apply_function(ptx_edits *edits, const ptx_module *m, const ptx_function *f,
                                   const ptx_choice *choices, size_t count, evocc_error *error)
{
    ptx_cfg *cfg = NULL;
    int32_t *chosen = mem_alloc(f->block_count + 1, sizeof *chosen);
    evocc_status status = chosen == NULL ? error_no_memory(error) : ptx_cfg_new(&cfg, m, f, error);
    if (status == EVOCC_OK) {
        status = choose(chosen, m, cfg, choices, count, error);
    }
    for (uint32_t b = 0; b < f->block_count && status == EVOCC_OK; b++) {
        do_loop(edits, m, cfg, b, chosen[b]);
    }
    ptx_cfg_free(cfg);
    mem_free(chosen);
    return status;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || choices[j].function == choices[i].function;
        }
        if (!seen) {
            status = apply_function(edits, module, choices[i].function, choices, count, error);
        }
    }
    return status;
}

const ptx_pass ptx_pass_unroll = {
    .name = "unroll",
    .help = "Loops: nounroll keeps ptxas from unrolling them; 2, 4 and 8 write the body of a loop "
            "that is one block that often, with every test.",
    .source = "PTX ISA 9.0, 12 (Descriptions of .pragma Strings: \"nounroll\"), 9.7.12 (bra)",
    .enumerate = enumerate,
    .apply = apply,
};
