/*
 * cache.c: cache operators, eviction priorities and prefetch sizes of loads, stores and
 * asynchronous copies from and to global memory. Hints: they change where data are kept, never what
 * is read (PTX ISA 9.0, 9.7.9.1 Cache Operators, 9.7.9.2 Cache Eviction Priority Hints). `.cv` and
 * `.wt`, which are about visibility, are neither given nor taken away.
 */
#include "ptx/pass.h"
#include "util/error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one value stands for. */
typedef struct hint {
    const char *operator; /* ".cg" */
    const char *priority; /* ".L1::evict_last" */
    const char *prefetch; /* ".L2::128B" */
} hint;

/* One kind of access: a pass each. */
typedef struct kind {
    const char *opcode; /* "ld" */
    const char *site;   /* "ld": sites are b4.ld0, b4.ld1, ... */
    const char *const *values;
    const hint *hints; /* of values[i]; values[0] is "keep" */
    int32_t value_count;
} kind;

enum { KEEP = 0, MAX_SITES = 96, MAX_VALUES = 16 };

/* ---- Which instructions
 * ----------------------------------------------------------------------------- */

static bool begins_with_part(const char *opcode, const char *word)
{
    size_t length = strlen(word);
    return strncmp(opcode, word, length) == 0 && opcode[length] == '.';
}

/* Weak accesses to global memory by name, without a policy of their own. A generic address may mean
   another space, for which priorities and prefetching are not defined. */
static bool is_eligible(const ptx_module *m, const ptx_statement *s, const kind *k)
{
    static const char *const others[] = {".shared",       ".shared::cta", ".shared::cluster",
                                         ".local",        ".param",       ".param::func",
                                         ".param::entry", ".const",       ".volatile",
                                         ".relaxed",      ".acquire",     ".release",
                                         ".mmio",         ".async",       ".bulk",
                                         ".cv",           ".wt",          ".L2::cache_hint"};
    if (s->kind != PTX_INSTRUCTION) {
        return false;
    }
    const char *opcode = m->opcodes[s->opcode].text;
    if (!begins_with_part(opcode, k->opcode)) {
        return false;
    }
    if (strcmp(k->opcode, "cp.async") == 0) {
        return strstr(opcode, ".shared.global") != NULL && strstr(opcode, ".bulk") == NULL &&
               strstr(opcode, ".L2::cache_hint") == NULL;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (ptx_opcode_has(opcode, others[i])) {
            return false;
        }
    }
    return ptx_opcode_has(opcode, ".global") && strstr(opcode, ".L2::evict") == NULL;
}

/* ---- The new opcode
 * ------------------------------------------------------------------------------- */

/* What a part of an opcode is to this pass. */
static bool is_operator(const char *part, size_t length)
{
    static const char *const words[] = {"ca", "cg", "cs", "lu", "wb"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == length && memcmp(part, words[i], length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_hint(const char *part, size_t length)
{
    return is_operator(part, length) ||
           (length > 4 && (memcmp(part, "L1::", 4) == 0 || memcmp(part, "L2::", 4) == 0));
}

/* Parts that come before the hints: the opcode itself, weak and the state space. */
static bool is_head(const char *part, size_t length, size_t index)
{
    static const char *const words[] = {"weak", "global", "async"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == length && memcmp(part, words[i], length) == 0) {
            return true;
        }
    }
    return index == 0;
}

/* ld.weak.global.OP.nc.PRIORITY.PREFETCH.v4.b32; cp.async.OP.shared.global.PREFETCH */
static void write_opcode(strbuf *out, const char *opcode, const hint *h)
{
    bool copy = begins_with_part(opcode, "cp.async"), headed = false, hinted = false;
    size_t index = 0;
    for (const char *part = opcode;; index++) {
        size_t length = strcspn(part, ".");
        bool head = is_head(part, length, index) && !(copy && index > 1);
        bool nc = length == 2 && memcmp(part, "nc", 2) == 0;
        if (!headed && !head) {
            strbuf_puts(out, h->operator);
            headed = true;
        }
        if (!hinted && !head && !nc && !copy && !is_hint(part, length)) {
            strbuf_puts(out, h->priority);
            strbuf_puts(out, h->prefetch);
            hinted = true;
        }
        if (!is_hint(part, length)) {
            strbuf_puts(out, index == 0 ? "" : ".");
            strbuf_append(out, part, length);
        }
        if (part[length] == '\0') {
            break;
        }
        part += length + 1;
    }
    if (copy) {
        strbuf_puts(out, h->prefetch);
    }
}

/* An asynchronous copy needs an operator; cg takes 16 bytes only. Read-only loads have no last use.
 */
static hint hint_for(const ptx_module *m, const ptx_statement *s, const kind *k, int32_t value)
{
    hint h = k->hints[value];
    const char *opcode = m->opcodes[s->opcode].text;
    if (strcmp(k->opcode, "cp.async") != 0) {
        /* ca and cg give the code of no operator there (ptxas 13.0, sm_75 to sm_120). */
        if (strcmp(h.operator, ".cs") != 0 && ptx_opcode_has(opcode, ".nc")) {
            h.operator= "";
        }
        return h;
    }
    bool cached = ptx_opcode_has(opcode, ".ca");
    ptx_span size =
        s->operand_count > 2 ? m->operands[s->first_operand + 2].span : (ptx_span){0, 0};
    bool sixteen = ptx_span_length(size) == 2 && memcmp(ptx_at(m, size), "16", 2) == 0;
    if (h.operator[0] == '\0' ||(strcmp(h.operator, ".cg") == 0 && !sixteen)) {
        h.operator= cached ? ".ca" : ".cg";
    }
    return h;
}

static ptx_span opcode_span(const ptx_module *m, const ptx_statement *s)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, m->text, m->length);
    lexer.position = s->opcode_at;
    ptx_span span = {s->opcode_at, ptx_lexer_next(&lexer).end};
    while (ptx_lexer_peek(&lexer).kind == PTX_TOKEN_DOT_WORD) {
        span.end = ptx_lexer_next(&lexer).end;
    }
    return span;
}

/* ---- The passes
 * ----------------------------------------------------------------------------------- */

/* Prefetching came with sm_75 (priorities with sm_70), that of 256 bytes with sm_80. */
static bool is_possible(const ptx_module *m, const kind *k, int32_t value)
{
    int target = ptx_target_number(m);
    return target >= 80 || (target >= 75 && strstr(k->values[value], "256B") == NULL);
}

/* Whether a value changes some access of the function. */
static bool changes_any(strbuf *text, const ptx_module *m, const ptx_function *f, const kind *k,
                        int32_t value)
{
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (!is_eligible(m, s, k)) {
            continue;
        }
        hint h = hint_for(m, s, k, value);
        strbuf_clear(text);
        write_opcode(text, m->opcodes[s->opcode].text, &h);
        if (strcmp(strbuf_text(text), m->opcodes[s->opcode].text) != 0) {
            return true;
        }
    }
    return false;
}

/* The values worth offering in a function, "keep" first; the number of them. */
static int32_t collect_values(const char **offered, bool *failed, const ptx_catalogue *c,
                              const kind *k)
{
    strbuf text = {0};
    int32_t count = 0;
    for (int32_t value = 0; value < k->value_count; value++) {
        if (is_possible(c->module, k, value) &&
            (value == KEEP || changes_any(&text, c->module, c->function, k, value))) {
            offered[count++] = k->values[value];
        }
    }
    *failed = text.failed;
    strbuf_dispose(&text);
    return count;
}

static evocc_status enumerate(ptx_catalogue *c, const kind *k)
{
    const ptx_module *m = c->module;
    const ptx_function *f = c->function;
    const char *values[MAX_VALUES];
    bool failed;
    int32_t value_count = collect_values(values, &failed, c, k);
    if (failed) {
        return error_no_memory(c->error);
    }
    if (value_count < 2) {
        return EVOCC_OK;
    }
    evocc_status status = EVOCC_OK;
    size_t sites = 0, added = 0;
    for (uint32_t i = f->first_statement; i < f->first_statement + f->statement_count; i++) {
        sites += is_eligible(m, &m->statements[i], k);
    }
    if (sites > 0) {
        status = ptx_catalogue_add(c, "", values, value_count, KEEP, 1, c->pass->help);
    }
    for (uint32_t b = 0; b < f->block_count; b++) {
        const ptx_block *block = &m->blocks[f->first_block + b];
        uint32_t number = 0;
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            if (!is_eligible(m, &m->statements[i], k) || added == MAX_SITES || status != EVOCC_OK) {
                continue;
            }
            char site[48];
            snprintf(site, sizeof site, "b%u.%s%u", b, k->site, number++);
            status = ptx_catalogue_add(c, site, values, value_count, KEEP,
                                       sites < MAX_SITES ? sites : MAX_SITES,
                                       "The same for this access alone.");
            added++;
        }
    }
    return status;
}

/* The statement that "b4.ld1" names. */
static evocc_status find_site(uint32_t *out, const ptx_module *m, const ptx_choice *choice,
                              const kind *k, evocc_error *error)
{
    const ptx_function *f = choice->function;
    char site[48];
    unsigned long block = choice->site[0] == 'b' ? strtoul(choice->site + 1, NULL, 10) : ULONG_MAX;
    if (block < f->block_count) {
        const ptx_block *b = &m->blocks[f->first_block + block];
        uint32_t number = 0;
        for (uint32_t i = b->first; i < b->first + b->count; i++) {
            if (!is_eligible(m, &m->statements[i], k)) {
                continue;
            }
            snprintf(site, sizeof site, "b%lu.%s%u", block, k->site, number++);
            if (strcmp(site, choice->site) == 0) {
                *out = i;
                return EVOCC_OK;
            }
        }
    }
    return ptx_no_site(m, choice->setting, error);
}

static evocc_status choose(int32_t *values, const ptx_module *m, const ptx_choice *choices,
                           size_t count, const kind *k, evocc_error *error)
{
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < count; i++) {
            const ptx_function *f = choices[i].function;
            int32_t value;
            uint32_t site = 0;
            if ((choices[i].site[0] != '\0') != (own == 1)) {
                continue;
            }
            evocc_status status =
                ptx_choice_value(&value, &choices[i], k->values, k->value_count, error);
            if (status == EVOCC_OK && !is_possible(m, k, value)) {
                status = error_set(error, EVOCC_INVALID_ARGUMENT, "%s: %s is not for %s",
                                   choices[i].setting->name, k->values[value], m->target);
            }
            if (status == EVOCC_OK && own == 1) {
                status = find_site(&site, m, &choices[i], k, error);
            }
            if (status != EVOCC_OK) {
                return status;
            }
            if (own == 1) {
                values[site] = value;
                continue;
            }
            for (uint32_t s = f->first_statement; s < f->first_statement + f->statement_count;
                 s++) {
                values[s] = is_eligible(m, &m->statements[s], k) ? value : KEEP;
            }
        }
    }
    return EVOCC_OK;
}

static evocc_status apply(ptx_edits *edits, const ptx_module *m, const ptx_choice *choices,
                          size_t count, const kind *k, evocc_error *error)
{
    int32_t *values = mem_alloc(m->statement_count, sizeof *values);
    if (values == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = choose(values, m, choices, count, k, error);
    for (uint32_t i = 0; i < m->statement_count && status == EVOCC_OK; i++) {
        if (values[i] != KEEP) {
            const ptx_statement *s = &m->statements[i];
            hint h = hint_for(m, s, k, values[i]);
            write_opcode(ptx_edits_begin(edits), m->opcodes[s->opcode].text, &h);
            ptx_edits_finish(edits, opcode_span(m, s));
        }
    }
    mem_free(values);
    return status;
}

/* L1::evict_first is left out, being the code of cs, and L1::evict_normal, being that of no hint
   (ptxas 13.0, sm_75 to sm_120, loads, read-only loads and stores). */

/* ---- Loads
 * ------------------------------------------------------------------------------------------ */

static const char *const load_values[] = {"keep",
                                          "plain",
                                          "ca",
                                          "cg",
                                          "cs",
                                          "lu",
                                          "evict_last",
                                          "evict_unchanged",
                                          "no_allocate",
                                          "L2_64B",
                                          "L2_128B",
                                          "L2_256B",
                                          "no_allocate_L2_256B"};
static const hint load_hints[] = {{"", "", ""},
                                  {"", "", ""},
                                  {".ca", "", ""},
                                  {".cg", "", ""},
                                  {".cs", "", ""},
                                  {".lu", "", ""},
                                  {"", ".L1::evict_last", ""},
                                  {"", ".L1::evict_unchanged", ""},
                                  {"", ".L1::no_allocate", ""},
                                  {"", "", ".L2::64B"},
                                  {"", "", ".L2::128B"},
                                  {"", "", ".L2::256B"},
                                  {"", ".L1::no_allocate", ".L2::256B"}};
_Static_assert(sizeof load_values / sizeof *load_values <= MAX_VALUES, "room for all");
_Static_assert(sizeof load_values / sizeof *load_values == sizeof load_hints / sizeof *load_hints,
               "a hint for each value");
static const kind loads = {"ld", "ld", load_values, load_hints,
                           sizeof load_values / sizeof *load_values};

static evocc_status load_enumerate(ptx_catalogue *c)
{
    return enumerate(c, &loads);
}

static evocc_status load_apply(ptx_edits *edits, const ptx_module *module,
                               const ptx_choice *choices, size_t count, evocc_error *error)
{
    return apply(edits, module, choices, count, &loads, error);
}

const ptx_pass ptx_pass_load_cache = {
    .name = "load-cache",
    .help =
        "Cache operator, eviction priority or prefetch size of loads from global memory. Matters "
        "when the caches are contended.",
    .source = "PTX ISA 9.0, 9.7.9.1, 9.7.9.2 (cache operators and eviction priorities), ld",
    .min_version = 74,
    .enumerate = load_enumerate,
    .apply = load_apply,
};

/* ---- Stores
 * ----------------------------------------------------------------------------------------- */

static const char *const store_values[] = {
    "keep", "plain", "wb", "cg", "cs", "evict_last", "evict_unchanged", "no_allocate"};
static const hint store_hints[] = {{"", "", ""},
                                   {"", "", ""},
                                   {".wb", "", ""},
                                   {".cg", "", ""},
                                   {".cs", "", ""},
                                   {"", ".L1::evict_last", ""},
                                   {"", ".L1::evict_unchanged", ""},
                                   {"", ".L1::no_allocate", ""}};
_Static_assert(sizeof store_values / sizeof *store_values ==
                   sizeof store_hints / sizeof *store_hints,
               "a hint for each value");
static const kind stores = {"st", "st", store_values, store_hints,
                            sizeof store_values / sizeof *store_values};

static evocc_status store_enumerate(ptx_catalogue *c)
{
    return enumerate(c, &stores);
}

static evocc_status store_apply(ptx_edits *edits, const ptx_module *module,
                                const ptx_choice *choices, size_t count, evocc_error *error)
{
    return apply(edits, module, choices, count, &stores, error);
}

const ptx_pass ptx_pass_store_cache = {
    .name = "store-cache",
    .help = "Cache operator or eviction priority of stores to global memory. Matters when what is "
            "written drives out what is read.",
    .source = "PTX ISA 9.0, 9.7.9.1, 9.7.9.2 (cache operators and eviction priorities), st",
    .min_version = 74,
    .enumerate = store_enumerate,
    .apply = store_apply,
};

/* ---- Copies
 * ----------------------------------------------------------------------------------------- */

static const char *const copy_values[] = {"keep", "ca", "cg", "L2_64B", "L2_128B", "L2_256B"};
static const hint copy_hints[] = {{"", "", ""},          {".ca", "", ""},
                                  {".cg", "", ""},       {"", "", ".L2::64B"},
                                  {"", "", ".L2::128B"}, {"", "", ".L2::256B"}};
_Static_assert(sizeof copy_values / sizeof *copy_values == sizeof copy_hints / sizeof *copy_hints,
               "a hint for each value");
static const kind copies = {"cp.async", "cp", copy_values, copy_hints,
                            sizeof copy_values / sizeof *copy_values};

static evocc_status copy_enumerate(ptx_catalogue *c)
{
    return enumerate(c, &copies);
}

static evocc_status copy_apply(ptx_edits *edits, const ptx_module *module,
                               const ptx_choice *choices, size_t count, evocc_error *error)
{
    return apply(edits, module, choices, count, &copies, error);
}

const ptx_pass ptx_pass_copy_cache = {
    .name = "copy-cache",
    .help = "Cache level or prefetch size of asynchronous copies from global to shared memory.",
    .source = "PTX ISA 9.0, 9.7.9.25 (cp.async)",
    .min_version = 74,
    .enumerate = copy_enumerate,
    .apply = copy_apply,
};
