/*
 * Rewriting and dependence keeping: PTX that reads well is rewritten under settings that the input
 * itself chooses, parsed again, and held to computing the same (ptx_check).
 *
 * Input: up to 32 bytes that draw the settings, a NUL, then PTX. Without a NUL the PTX is a kernel
 * of our own around the bytes as its body, so that a mutation changes instructions and not only
 * breaks the frame. What no compiler would accept is passed over before anything dear is done with
 * it: fuzz_ptx.c has such input rewritten, too. What is left may be refused, whole.
 */
#include "fuzz.h"

#include <string.h>

#include "ptx/checker.h"
#include "util/mem.h"

static const char frame_head[] =
    ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 s[1024];\n"
    ".global .align 16 .b8 g[1024];\n.visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
    ".reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .f32 %f<9>;\n.reg .pred %p<5>;\n.reg .b16 %h<5>;\n"
    "ld.param.u64 %d1,[a];\nld.param.u32 %r1,[n];\n";
static const char frame_tail[] = "\nret;\n}\n";

/* Whether every name a jump can mean is one place: ptxas refuses a label that is there twice, and
   so what such a text computes is not defined. Scopes are not told apart. */
static bool labels_differ(const ptx_module *m)
{
    for (size_t i = 0; i < m->statement_count; i++) {
        const ptx_statement *a = &m->statements[i];
        for (size_t j = 0; a->kind == PTX_LABEL && j < i; j++) {
            const ptx_statement *b = &m->statements[j];
            if (b->kind == PTX_LABEL && ptx_span_length(a->span) == ptx_span_length(b->span) &&
                memcmp(ptx_at(m, a->span), ptx_at(m, b->span), ptx_span_length(a->span)) == 0) {
                return false;
            }
        }
    }
    return true;
}

static bool is_address_taker(const char *opcode)
{
    static const char *const words[] = {"mov", "cvta", "mapa", "isspacep", "tex"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(opcode, words[i], strlen(words[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether arithmetic has operands that arithmetic can have. */
static bool operands_are_sane(const ptx_module *m)
{
    for (size_t i = 0; i < m->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind != PTX_INSTRUCTION || !ptx_effect_of(m, s)->pure ||
            is_address_taker(m->opcodes[s->opcode].text)) {
            continue;
        }
        if (s->operand_count < 2) {
            return false; /* arithmetic on nothing */
        }
        for (uint32_t o = 0; o < s->operand_count; o++) {
            const ptx_operand *operand = &m->operands[s->first_operand + o];
            if (operand->shape == PTX_SHAPE_OTHER || operand->leaf_count == 0) {
                return false;
            }
            for (uint32_t l = 0; l < operand->leaf_count; l++) {
                uint8_t kind = m->leaves[operand->first_leaf + l].kind;
                if (kind == PTX_LEAF_SYMBOL || kind == PTX_LEAF_SPECIAL ||
                    (o == 0 && kind != PTX_LEAF_REGISTER && kind != PTX_LEAF_SINK)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Bytes of the input in turn; zeros behind its end. */
typedef struct chooser {
    const uint8_t *data;
    size_t size, next;
} chooser;

static uint8_t choose(chooser *c)
{
    uint8_t byte = c->size == 0 ? 0 : c->data[c->next % c->size];
    return (uint8_t)(byte + 31 * (c->next++ / (c->size + 1)));
}

/* Each control: absent, or one of its values. */
static size_t draw(ptx_setting *settings, strbuf *texts, const evocc_space *space, chooser *c)
{
    size_t count = 0;
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        uint8_t byte = choose(c);
        if (byte % 3 == 0) {
            continue;
        }
        space_value_text(&texts[i], control, byte / 3 % control->size);
        settings[count].name = control->name;
        settings[count++].value = strbuf_text(&texts[i]);
    }
    return count;
}

static void check_settings(const ptx_module *module, const ptx_setting *settings, size_t count)
{
    evocc_error error;
    strbuf text = {0}, checked = {0};
    ptx_module *again = NULL;
    if (ptx_rewrite(&text, module, settings, count, &error) != EVOCC_OK) {
        FUZZ_REQUIRE(error.status == EVOCC_INVALID_ARGUMENT && text.length == 0);
    } else {
        FUZZ_REQUIRE(ptx_parse(&again, strbuf_text(&text), text.length, "rewritten", &error) ==
                     EVOCC_OK);
        FUZZ_REQUIRE(ptx_entry_count(again) == ptx_entry_count(module));
        if (ptx_check(module, again, &error) != EVOCC_OK &&
            ptx_rewrite_checked(&checked, module, settings, count, &error) != EVOCC_OK) {
            fprintf(stderr, "%s\n", error.message);
            for (size_t i = 0; i < count; i++) {
                fprintf(stderr, "ptx/%s=%s ", settings[i].name, settings[i].value);
            }
            fprintf(stderr, "\n%s", strbuf_text(&text));
            bool computes_the_same = false;
            FUZZ_REQUIRE(computes_the_same);
        }
    }
    ptx_free(again);
    strbuf_dispose(&text);
    strbuf_dispose(&checked);
}

static void check_entry(const ptx_module *module, const char *entry, chooser *c)
{
    evocc_error error;
    const ptx_limits limits = {.max_version = 90};
    evocc_space *space = NULL;
    FUZZ_REQUIRE(space_new(&space, &error) == EVOCC_OK);
    if (ptx_add_controls(space, module, entry, &limits, &error) == EVOCC_OK &&
        space_count(space) > 0 && space_count(space) < 500) {
        size_t n = space_count(space);
        ptx_setting *settings = mem_alloc(n, sizeof *settings);
        strbuf *texts = mem_alloc(n, sizeof *texts);
        FUZZ_REQUIRE(settings && texts);
        check_settings(module, settings, draw(settings, texts, space, c));
        for (size_t i = 0; i < n; i++) {
            strbuf_dispose(&texts[i]);
        }
        mem_free(texts);
        mem_free(settings);
    }
    space_free(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    evocc_error error;
    ptx_module *module = NULL;
    strbuf text = {0};
    const uint8_t *end = size == 0 ? NULL : memchr(data, 0, size < 33 ? size : 33);
    size_t choices = end == NULL ? (size < 8 ? size : 8) : (size_t)(end - data);
    chooser c = {.data = data, .size = choices};
    if (end != NULL) {
        strbuf_append(&text, end + 1, size - choices - 1);
    } else {
        strbuf_puts(&text, frame_head);
        strbuf_append(&text, data + choices, size - choices);
        strbuf_puts(&text, frame_tail);
    }
    if (ptx_parse(&module, strbuf_text(&text), text.length, "fuzz", &error) == EVOCC_OK) {
        bool sane = operands_are_sane(module) && labels_differ(module);
        for (size_t i = 0; sane && i < ptx_entry_count(module) && i < 2; i++) {
            check_entry(module, ptx_entry_name(module, i), &c);
        }
        ptx_free(module);
    }
    strbuf_dispose(&text);
    return 0;
}
