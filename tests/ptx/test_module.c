#include "helpers.h"

#include <stdio.h>

static void assert_unchanged(const char *text, size_t length)
{
    evocc_error error;
    ptx_module *module;
    if (ptx_parse(&module, text, length, "t.ptx", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    strbuf printed = {0}, same = {0};
    ptx_print(&printed, module);
    assert_int_equal(printed.length, length);
    assert_memory_equal(printed.data, text, length);
    assert_int_equal(ptx_rewrite(&same, module, NULL, 0, &error), EVOCC_OK);
    assert_int_equal(same.length, length);
    assert_memory_equal(same.data, text, length);
    strbuf_dispose(&printed);
    strbuf_dispose(&same);
    ptx_free(module);
}

static char *with_crlf(const char *text)
{
    strbuf out = {0};
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            strbuf_putc(&out, '\r');
        }
        strbuf_putc(&out, *text);
    }
    return strbuf_take(&out);
}

static const char *const data_paths[] = {"tests/ptx/data/odd.ptx"};

static void test_byte_for_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLE_COUNT + 1; i++) {
        size_t length;
        char *text = text_of_file(i < EXAMPLE_COUNT ? example_paths[i] : data_paths[0], &length);
        assert_unchanged(text, length);
        char *crlf = with_crlf(text);
        assert_unchanged(crlf, strlen(crlf));
        mem_free(crlf);
        mem_free(text);
    }
}

static void test_examples(void **state)
{
    (void)state;
    static const char *const names[] = {"fa", "fa", "ln", "mm"};
    static const uint32_t blocks[] = {4, 4, 1, 4};
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        ptx_module *m = module_of_file(example_paths[i]);
        assert_int_equal(ptx_version(m), 87);
        assert_string_equal(ptx_target(m), "sm_90a");
        assert_int_equal(ptx_entry_count(m), 1);
        assert_string_equal(ptx_entry_name(m, 0), names[i]);
        assert_int_equal(m->functions[0].block_count, blocks[i]);
        for (size_t o = 0; o < m->opcode_count; o++) {
            if (strcmp(m->opcodes[o].effect.reason != NULL ? m->opcodes[o].effect.reason : "",
                       "unknown opcode") == 0) {
                fail_msg("unknown opcode %s", m->opcodes[o].text);
            }
        }
        ptx_free(m);
    }
}

static const ptx_statement *find_instruction(const ptx_module *m, const char *opcode, int skip)
{
    for (size_t i = 0; i < m->statement_count; i++) {
        const ptx_statement *s = &m->statements[i];
        if (s->kind == PTX_INSTRUCTION && strcmp(m->opcodes[s->opcode].text, opcode) == 0 &&
            skip-- == 0) {
            return s;
        }
    }
    fail_msg("no %s", opcode);
    return NULL;
}

static const char *label_of(const ptx_module *m, const ptx_statement *jump)
{
    static char name[64];
    assert_true(jump->target != PTX_NONE);
    ptx_span span = m->statements[jump->target].span;
    snprintf(name, sizeof name, "%.*s@%u", (int)ptx_span_length(span), ptx_at(m, span),
             jump->target);
    return name;
}

static void test_odd(void **state)
{
    (void)state;
    ptx_module *m = module_of_file(data_paths[0]);
    assert_int_equal(m->function_count, 3);
    assert_int_equal(ptx_entry_count(m), 1);
    assert_string_equal(ptx_entry_name(m, 0), "odd");
    const ptx_function *f = ptx_find_entry(m, "odd", 3);
    assert_non_null(f);
    assert_memory_equal(ptx_at(m, f->header), ".weak", 5);
    assert_int_equal(m->text[f->body.begin], '{');
    assert_int_equal(m->text[f->body.end - 1], '}');

    /* White space within an opcode changes nothing. */
    const ptx_statement *mov = find_instruction(m, "mov.u32", 0);
    assert_int_equal(mov->operand_count, 2);
    const ptx_leaf *tid = &m->leaves[m->operands[mov->first_operand + 1].first_leaf];
    assert_int_equal(tid->kind, PTX_LEAF_SPECIAL);

    /* The two loops named LOOP are different labels; %p1 within them is not the outer one. */
    char first[64], second[64];
    snprintf(first, sizeof first, "%s", label_of(m, find_instruction(m, "bra", 1)));
    snprintf(second, sizeof second, "%s", label_of(m, find_instruction(m, "bra", 2)));
    assert_memory_equal(first, "LOOP:", 5);
    assert_memory_equal(second, "LOOP:", 5);
    assert_string_not_equal(first, second);
    uint32_t outer = find_instruction(m, "bra", 0)->guard;
    uint32_t inner = find_instruction(m, "bra", 1)->guard;
    assert_true(outer != PTX_NONE && inner != PTX_NONE && outer != inner);

    const ptx_statement *brx = find_instruction(m, "brx.idx", 0);
    assert_memory_equal(label_of(m, brx), "$L_targets:", 11);
    const ptx_statement *tex = find_instruction(m, "tex.2d.v4.f32.s32", 0);
    assert_int_equal(m->operands[tex->first_operand].shape, PTX_SHAPE_VECTOR);
    assert_int_equal(m->operands[tex->first_operand].leaf_count, 4);
    assert_int_equal(m->operands[tex->first_operand + 1].shape, PTX_SHAPE_ADDRESS);
    const ptx_statement *setp = find_instruction(m, "setp.lt.and.s32", 0);
    assert_int_equal(m->operands[setp->first_operand].shape, PTX_SHAPE_PAIR);
    assert_int_equal(setp->operand_count, 4);
    const ptx_leaf *done = &m->leaves[m->operands[setp->first_operand + 3].first_leaf];
    assert_int_equal(done->kind, PTX_LEAF_REGISTER);
    assert_int_equal(done->sign, '!');
    ptx_free(m);
}

/* First instruction of each block of the first entry, as "opcode opcode ...". */
static void assert_blocks(const char *body, const char *expected)
{
    char *text = kernel_of(body);
    ptx_module *m = module_of(text);
    strbuf seen = {0};
    for (uint32_t b = 0; b < m->functions[0].block_count; b++) {
        const ptx_block *block = &m->blocks[b];
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            if (m->statements[i].kind == PTX_INSTRUCTION) {
                strbuf_printf(&seen, "%s%s", b > 0 ? " " : "",
                              m->opcodes[m->statements[i].opcode].text);
                break;
            }
        }
    }
    assert_string_equal(strbuf_text(&seen), expected);
    strbuf_dispose(&seen);
    ptx_free(m);
    mem_free(text);
}

static void test_blocks(void **state)
{
    (void)state;
    assert_blocks("", "ret");
    assert_blocks("mov.b32 %r1, 1; bra DONE;", "mov.b32 ret");
    assert_blocks("mov.b32 %r1, 1; @%p1 bra DONE; add.s32 %r1, %r1, 1;", "mov.b32 add.s32 ret");
    /* A label that nothing names marks a place and starts no block. */
    assert_blocks("mov.b32 %r1, 1; $L__tmp1: add.s32 %r1, %r1, 1; @%p1 bra DONE;", "mov.b32 ret");
    /* No block without instructions. */
    assert_blocks("TOP: mov.b32 %r1, 1; @%p1 bra TOP; L2: L3: @%p1 bra L2; @%p1 bra L3;",
                  "mov.b32 bra bra ret");
    assert_blocks("@%p1 exit; @%p1 ret; trap; bar.sync 0; call foo; exit;",
                  "exit ret trap bar.sync ret");
    assert_blocks("{ @%p1 bra IN; { add.s32 %r1, %r1, 1; } IN: mul.lo.s32 %r1, %r1, 3; }",
                  "bra add.s32 mul.lo.s32");
}

static void assert_same_name(const char *a, const char *b, bool same)
{
    ptx_module *first = module_of(a), *second = module_of(b);
    char one[PTX_NAME_SIZE], two[PTX_NAME_SIZE];
    strbuf form_one = {0}, form_two = {0};
    ptx_normal_name(one, first);
    ptx_normal_name(two, second);
    ptx_normal_form(&form_one, first);
    ptx_normal_form(&form_two, second);
    assert_int_equal(strcmp(one, two) == 0, same);
    assert_int_equal(strcmp(strbuf_text(&form_one), strbuf_text(&form_two)) == 0, same);
    strbuf_dispose(&form_one);
    strbuf_dispose(&form_two);
    ptx_free(first);
    ptx_free(second);
}

#define HEAD ".version 8.7\n.target sm_90a\n"

static void test_normal_form(void **state)
{
    (void)state;
    const char *plain = HEAD ".entry k(){ .reg .b32 %r<2>; mov.b32 %r1, 1; ret; }";
    ptx_module *m = module_of(plain);
    strbuf form = {0};
    ptx_normal_form(&form, m);
    assert_string_equal(strbuf_text(&form),
                        ".version 8.7 .target sm_90a .entry k ( ) { .reg .b32 %r < "
                        "2 > ; mov .b32 %r1 , 1 ; ret ; }");
    char name[PTX_NAME_SIZE], digest[HASH_SHA256_TEXT];
    ptx_normal_name(name, m);
    hash_sha256(digest, form.data, form.length);
    assert_memory_equal(name, "evocc-ptx-1:", 12);
    assert_string_equal(name + 12, digest);
    strbuf_dispose(&form);
    ptx_free(m);

    assert_same_name(
        plain, HEAD "// c\n.entry k ( ) {\r\n.reg .b32 %r<2>;\t/* c */mov.b32 %r1,1;ret;}\n", true);
    assert_same_name(plain,
                     HEAD ".file 1 \"a.cu\"\n.entry k(){ .reg .b32 %r<2>;\n.loc 1 2 3\n"
                          "mov.b32 %r1, 1; ret; }\n.section .debug_str { .b8 1 }\n",
                     true);
    assert_same_name(plain, HEAD ".entry k(){ .reg .b32 %r<2>; mov.b32 %r1, 2; ret; }", false);
    assert_same_name(plain, HEAD ".entry k(){ .reg .b32 %r<2>; mov.u32 %r1, 1; ret; }", false);
    assert_same_name(plain, HEAD ".entry k(){ .reg .b32 %r<2>; X: mov.b32 %r1, 1; ret; }", false);
    assert_same_name(
        plain, HEAD ".entry k(){ .reg .b32 %r<2>; .pragma \"nounroll\"; mov.b32 %r1, 1; ret; }",
        false);
    assert_same_name(
        plain, ".version 8.6\n.target sm_90a\n.entry k(){ .reg .b32 %r<2>; mov.b32 %r1, 1; ret; }",
        false);
    /* Every byte outside comments and white space counts. */
    size_t length = strlen(plain);
    for (size_t i = strlen(HEAD); i < length; i++) {
        char changed[256];
        evocc_error error;
        ptx_module *other;
        memcpy(changed, plain, length + 1);
        if (changed[i] == ' ' || (changed[i] == '%' && changed[i + 1] != 'r')) {
            continue;
        }
        changed[i] = changed[i] == '2' ? '3' : '2';
        if (ptx_parse(&other, changed, length, "t", &error) == EVOCC_OK) {
            ptx_free(other);
            assert_same_name(plain, changed, false);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refused("", "t.ptx:1:1: the file is empty; is this PTX, as nvcc -ptx writes it?");
    assert_refused(" \n\t", "t.ptx:1:1: the file is empty; is this PTX, as nvcc -ptx writes it?");
    assert_refused("hello",
                   "t.ptx:1:1: no .version and .target; is this PTX, as nvcc -ptx writes it?");
    assert_refused(".version 8.7\n",
                   "t.ptx:1:1: no .version and .target; is this PTX, as nvcc -ptx writes it?");
    assert_refused(".version x\n", "t.ptx:1:10: .version needs a number such as 8.7");
    assert_refused(
        HEAD ".entry k() { ret; // caf\xc3\xa9\n}",
        "t.ptx:3:25: byte 0xc3 is not ASCII, which ptxas refuses even in comments; remove it");
    assert_refused(HEAD ".entry k() { ret;", "t.ptx:3:18: the text ends within a function body");
    assert_refused(HEAD ".entry k(", "t.ptx:3:10: the text ends within a function header");
    assert_refused(HEAD ".entry k() { bra X; }", "t.ptx:3:18: no label X in this function");
    assert_refused(HEAD ".entry k() { @%p1 ret; }",
                   "t.ptx:3:15: the predicate %p1 is not declared");
    assert_refused(HEAD ".entry k() { ret; } }", "t.ptx:3:21: a } that closes nothing");
    assert_refused(HEAD ".entry k() { /* ret; }", "t.ptx:3:14: a comment that nothing ends");
    assert_refused(HEAD ".entry () { }", "t.ptx:3:11: a function without a name");
    assert_refused(HEAD ".entry k() { 3; }", "t.ptx:3:14: expected an instruction");
    strbuf deep = {0};
    strbuf_puts(&deep, HEAD ".entry k() {");
    for (int i = 0; i < 100000; i++) {
        strbuf_puts(&deep, "{");
    }
    assert_refused(strbuf_text(&deep), "t.ptx:3:213: more than 200 scopes within each other");
    strbuf_dispose(&deep);
}

/* Every allocation may fail; nothing leaks, nothing is half done. */
static void test_no_memory(void **state)
{
    (void)state;
    size_t length;
    char *text = text_of_file(data_paths[0], &length);
    ptx_module *module = NULL;
    for (long n = 0;; n++) {
        evocc_error error;
        mem_fail_after(n);
        evocc_status status = ptx_parse(&module, text, length, "t", &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
        assert_null(module);
    }
    for (long n = 0;; n++) {
        evocc_error error;
        strbuf out = {0};
        const ptx_setting settings[] = {{"order@odd", "pressure"}, {"frequency@odd", "loops4"}};
        mem_fail_after(n);
        evocc_status status = ptx_rewrite(&out, module, settings, 2, &error);
        mem_fail_after(-1);
        strbuf_dispose(&out);
        if (status == EVOCC_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
    }
    ptx_free(module);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_byte_for_byte), cmocka_unit_test(test_examples),
        cmocka_unit_test(test_odd),           cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_normal_form),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
