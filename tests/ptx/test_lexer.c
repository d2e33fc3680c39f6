#include "helpers.h"

#include "ptx/lexer.h"

/* Kinds as letters, tokens between bars: "w:ld d:.global". */
static void assert_tokens(const char *text, const char *expected)
{
    static const char letters[] = "ewdnsp";
    strbuf seen = {0};
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, text, (uint32_t)strlen(text));
    for (;;) {
        ptx_token token = ptx_lexer_next(&lexer);
        if (token.kind == PTX_TOKEN_END) {
            break;
        }
        strbuf_printf(&seen, "%s%c:%.*s", seen.length > 0 ? " " : "", letters[token.kind],
                      (int)(token.end - token.begin), text + token.begin);
    }
    assert_string_equal(strbuf_text(&seen), expected);
    assert_null(lexer.problem);
    strbuf_dispose(&seen);
}

static void assert_problem(const char *text, const char *problem, uint32_t at)
{
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, text, (uint32_t)strlen(text));
    while (ptx_lexer_next(&lexer).kind != PTX_TOKEN_END) {
    }
    assert_non_null(lexer.problem);
    assert_string_equal(lexer.problem, problem);
    assert_int_equal(lexer.problem_at, at);
}

static void test_tokens(void **state)
{
    (void)state;
    assert_tokens("ld.global.v4.b32 {%r1,%r2}, [%rd1+-16];",
                  "w:ld d:.global d:.v4 d:.b32 p:{ w:%r1 p:, w:%r2 p:} p:, p:[ w:%rd1 p:+ p:- n:16 "
                  "p:] p:;");
    assert_tokens("@!%p1 bra $L__BB0_2;", "p:@ p:! w:%p1 w:bra w:$L__BB0_2 p:;");
    assert_tokens("st.shared::cta.b8 .L2::128B", "w:st d:.shared::cta d:.b8 d:.L2::128B");
    assert_tokens("mov.u32 %r1, %tid.x;", "w:mov d:.u32 w:%r1 p:, w:%tid d:.x p:;");
    assert_tokens("_$_str[11] a$b %_x", "w:_$_str p:[ n:11 p:] w:a$b w:%_x");
}

static void test_numbers(void **state)
{
    (void)state;
    assert_tokens("0f3F800000 0d4000000000000000 0x1Fu 0b101 017 10U",
                  "n:0f3F800000 n:0d4000000000000000 n:0x1Fu n:0b101 n:017 n:10U");
    assert_tokens("1.5 1e-3 1.5E+10 8.7", "n:1.5 n:1e-3 n:1.5E+10 n:8.7");
    /* The sign after a hexadecimal digit e is an operator. */
    assert_tokens("0x1e-3 0f3F80000e-1", "n:0x1e p:- n:3 n:0f3F80000e p:- n:1");
    assert_tokens("5 % 3 5 %3", "n:5 p:% n:3 n:5 w:%3");
}

static void test_trivia(void **state)
{
    (void)state;
    assert_tokens("a // b ; { \"\r\nc /* d\n * e */ f", "w:a w:c w:f");
    assert_tokens("a/**/b/***/c", "w:a w:b w:c");
    assert_tokens("@@DWARF .byte 1, 2\nadd", "w:add");
    assert_tokens(".pragma \"a // b\";", "d:.pragma s:\"a // b\" p:;");
    assert_tokens(".file 1 \"C:\\\" x", "d:.file n:1 s:\"C:\\\" w:x"); /* no escapes */
    assert_tokens("", "");
    assert_tokens("// only", "");
}

static void test_operators(void **state)
{
    (void)state;
    assert_tokens("a<<b>>c<=d>=e==f!=g&&h||i|j", "w:a p:<< w:b p:>> w:c p:<= w:d p:>= w:e p:== w:f "
                                                 "p:!= w:g p:&& w:h p:|| w:i p:| w:j");
    assert_tokens(".reg .b32 %r<10>;", "d:.reg d:.b32 w:%r p:< n:10 p:> p:;");
}

static void test_problems(void **state)
{
    (void)state;
    assert_problem("a /* b", "a comment that nothing ends", 2);
    assert_problem("a \"b\nc\"", "a string that nothing ends", 2);
    assert_problem("#define X", "a preprocessor line; run the preprocessor first", 0);
    assert_problem("a\x01", "a character that PTX does not use", 1);
}

/* What skip_debug leaves. */
static void assert_left(const char *text, const char *expected)
{
    strbuf seen = {0};
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, text, (uint32_t)strlen(text));
    for (;;) {
        uint32_t end;
        ptx_token token = ptx_lexer_next(&lexer);
        if (token.kind == PTX_TOKEN_END) {
            break;
        }
        if (!ptx_lexer_skip_debug(&lexer, token, &end)) {
            strbuf_printf(&seen, "%s%.*s", seen.length > 0 ? " " : "",
                          (int)(token.end - token.begin), text + token.begin);
        }
    }
    assert_string_equal(strbuf_text(&seen), expected);
    strbuf_dispose(&seen);
}

static void test_debug(void **state)
{
    (void)state;
    assert_left(".loc 1 12 0\nret;", "ret ;");
    assert_left(".loc\t1 12 0, function_name $L__info_string0, inlined_at 1 5 3\nret;", "ret ;");
    assert_left(".loc 1 2 3, function_name $L+16, inlined_at 1 5 3 ret;", "ret ;");
    assert_left(".file 1 \"a.cu\", 1700000000, 1234\nx", "x");
    assert_left(".file\t1 \"/tmp\" \"a.cu\"\nx", "x");
    assert_left(".section .debug_abbrev { .b8 1 { .b8 2 } }\nx", "x");
    assert_left(".section\t.debug_loc\t{\t}\nx", "x");
    assert_left(".section .nv.info { x }", ".section .nv .info { x }");
    assert_left(".local .b8 x;", ".local .b8 x ;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_trivia),   cmocka_unit_test(test_operators),
        cmocka_unit_test(test_problems), cmocka_unit_test(test_debug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
