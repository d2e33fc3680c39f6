/*
 * The order pass against a judge of its own: lines of text, registers found by their %, rules
 * written once more in their plainest form, all pairs compared. Quadratic, and shares no code with
 * src/ptx.
 */
#include "helpers.h"

#include "ptx/schedule.h"
#include "util/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const orders[] = {"late",  "early", "pressure", "seed1", "seed2", "seed3",
                                     "seed4", "seed5", "seed6",    "seed7", "seed8"};
enum {
    ORDERS = sizeof orders / sizeof *orders,
    MAX_LINES = 4096,
    WORDS = 64,
    REGISTERS = 64 * WORDS
};

/* ---- The judge ------------------------------------------------------------------------------- */

/* One instruction: its text without comment and surrounding space, and what it touches. */
typedef struct line {
    char *text;
    int block;
    uint64_t reads[WORDS], writes[WORDS];
    bool matrix; /* names a register that some wgmma names */
} line;

typedef struct judged {
    line *lines;
    size_t count;
    int blocks;
    uint64_t matrix[WORDS];
} judged;

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Behind a guard. */
static const char *opcode_in(const char *text)
{
    if (*text == '@') {
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
    }
    return text;
}

/* A number for "%r12", "%rd3", "%p1": kinds r, rd, p and others side by side. */
static size_t register_number(const char *name)
{
    static const char *const kinds[] = {"%rd", "%rs", "%r", "%f", "%p", "%h"};
    static const size_t starts[] = {2000, 3000, 0, 3200, 3600, 3800};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i]);
        if (begins(name, kinds[i]) && name[length] >= '0' && name[length] <= '9') {
            size_t number = starts[i] + (size_t)atoi(name + length);
            assert_true(number < REGISTERS && (i != 2 || number < starts[0]));
            return number;
        }
    }
    return REGISTERS; /* %tid and its kin */
}

static void set(uint64_t *bits, size_t number)
{
    bits[number / 64] |= (uint64_t)1 << (number % 64);
}

static void add_registers(uint64_t *bits, const char *from, const char *to)
{
    for (const char *p = from; p < to; p++) {
        if (*p == '%' && register_number(p) < REGISTERS) {
            set(bits, register_number(p));
        }
    }
}

static bool has_destination(const char *opcode)
{
    static const char *const none[] = {
        "st.",  "cp.async", "bar.",        "bra",          "ret",        "membar",   "fence",
        "red.", "prefetch", "wgmma.fence", "wgmma.commit", "wgmma.wait", "mbarrier", "stmatrix"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (begins(opcode, none[i])) {
            return false;
        }
    }
    return true;
}

static void judge_registers(line *l)
{
    const char *opcode = opcode_in(l->text);
    const char *operands = opcode + strcspn(opcode, " \t;");
    const char *end = operands + strlen(operands), *first_end = operands;
    for (int depth = 0; first_end < end && !(depth == 0 && *first_end == ','); first_end++) {
        depth += *first_end == '{';
        depth -= *first_end == '}';
    }
    bool guarded = opcode != l->text;
    add_registers(l->reads, l->text, opcode);
    add_registers(l->reads, has_destination(opcode) ? first_end : operands, end);
    if (has_destination(opcode)) {
        add_registers(l->writes, operands, first_end);
        if (guarded || begins(opcode, "wgmma")) {
            add_registers(l->reads, operands, first_end);
        }
    }
}

static bool meets(const uint64_t *a, const uint64_t *b)
{
    for (size_t i = 0; i < WORDS; i++) {
        if ((a[i] & b[i]) != 0) {
            return true;
        }
    }
    return false;
}

static bool has(const line *l, const char *part)
{
    return strstr(opcode_in(l->text), part) != NULL;
}

static bool is(const line *l, const char *opcode)
{
    return begins(opcode_in(l->text), opcode);
}

/* 'g' global, 's' shared, 'p' parameters, 0 none; capital: writes. */
static char memory_of(const line *l)
{
    if (is(l, "ldmatrix") || is(l, "ld.shared")) {
        return 's';
    }
    if (is(l, "ld.global")) {
        return 'g';
    }
    if (is(l, "ld.param")) {
        return 'p';
    }
    return is(l, "st.shared") ? 'S' : is(l, "st.global") ? 'G' : 0;
}

static bool is_wait(const line *l)
{
    return is(l, "bar.") || is(l, "fence") || is(l, "membar") || is(l, "cp.async.wait") ||
           is(l, "wgmma.fence") || is(l, "wgmma.wait");
}

static bool is_copy(const line *l)
{
    return is(l, "cp.async.c") && !is(l, "cp.async.commit");
}

static bool memory_conflict(const line *a, const line *b)
{
    char x = memory_of(a), y = memory_of(b);
    if (is_wait(a) && (y != 0 && y != 'p')) {
        return true;
    }
    if (is_copy(a) &&
        (y == 's' || y == 'S' || y == 'G' || is_wait(b) || is(b, "cp.async.commit"))) {
        return true;
    }
    if (is(a, "wgmma.mma") && y == 'S') {
        return true;
    }
    return (x == 'S' && (y == 's' || y == 'S')) || (x == 'G' && (y == 'g' || y == 'G'));
}

static bool converges(const line *l)
{
    return has(l, ".sync") && !is(l, "ldmatrix") && !is(l, "mma");
}

static bool conflict(const line *a, const line *b)
{
    bool waits = is_wait(a) && is_wait(b);
    bool groups = is(a, "cp.async.commit") && (is(b, "cp.async.commit") || is_wait(b));
    bool lanes = converges(a) && (converges(b) || is(b, "ldmatrix") || is(b, "mma"));
    bool in_flight = (is(a, "wgmma.fence") || is(a, "wgmma.wait")) && b->matrix;
    return waits || groups || lanes || in_flight || memory_conflict(a, b);
}

/* Either order of the two is allowed only when this is false. */
static bool must_keep(const line *a, const line *b)
{
    return meets(a->writes, b->reads) || meets(a->reads, b->writes) ||
           meets(a->writes, b->writes) || conflict(a, b) || conflict(b, a) || is(a, "bra") ||
           is(b, "bra") || is(b, "ret");
}

static void add_line(judged *j, const char *text, size_t length)
{
    assert_true(j->count < MAX_LINES);
    line *l = &j->lines[j->count++];
    l->text = mem_strndup(text, length);
    l->block = j->blocks;
    judge_registers(l);
    if (is(l, "wgmma.mma")) {
        add_registers(j->matrix, l->text, l->text + length);
    }
}

/* Reads the body of the only entry line by line. */
static judged judge(const char *text)
{
    judged j = {.lines = mem_alloc(MAX_LINES, sizeof(line))};
    bool inside = false;
    for (const char *p = text; *p != '\0' && !begins(p, "}"); p += strcspn(p, "\n"), p += *p != 0) {
        inside = inside || *p == '{';
        const char *start = p + strspn(p, " \t"), *end = p + strcspn(p, "\n");
        for (const char *comment = start; comment < end; comment++) {
            end = begins(comment, "//") ? comment : end;
        }
        while (end > start && (end[-1] == ' ' || end[-1] == '\t')) {
            end--;
        }
        if (!inside || end == start || *start == '.' || *start == '{') {
            continue;
        }
        if (end[-1] == ':') {
            /* Blocks begin at the labels that branches name. */
            j.blocks += begins(start, "$L__BB");
            continue;
        }
        add_line(&j, start, (size_t)(end - start));
        j.blocks += is(&j.lines[j.count - 1], "bra");
    }
    for (size_t i = 0; i < j.count; i++) {
        j.lines[i].matrix = meets(j.lines[i].reads, j.matrix) || meets(j.lines[i].writes, j.matrix);
    }
    return j;
}

static void judged_dispose(judged *j)
{
    for (size_t i = 0; i < j->count; i++) {
        mem_free(j->lines[i].text);
    }
    mem_free(j->lines);
}

/* must[i * count + j] for i < j: the judge's verdicts on the original, computed once. */
static bool *verdicts(const judged *j)
{
    bool *must = mem_alloc(j->count * j->count, sizeof *must);
    for (size_t a = 0; a < j->count; a++) {
        for (size_t b = a + 1; b < j->count && j->lines[a].block == j->lines[b].block; b++) {
            must[a * j->count + b] = must_keep(&j->lines[a], &j->lines[b]);
        }
    }
    return must;
}

/* Where each original line went; the kth of several equal lines is the kth there. */
static void match(size_t *places, const judged *before, const judged *after)
{
    bool *taken = mem_alloc(after->count, sizeof *taken);
    assert_int_equal(before->count, after->count);
    for (size_t i = 0; i < before->count; i++) {
        size_t k = 0;
        while (k < after->count && (taken[k] || after->lines[k].block != before->lines[i].block ||
                                    strcmp(after->lines[k].text, before->lines[i].text) != 0)) {
            k++;
        }
        if (k == after->count) {
            fail_msg("lost: %s", before->lines[i].text);
        }
        taken[k] = true;
        places[i] = k;
    }
    mem_free(taken);
}

/* Asserts that `after` is an allowed order of `before`; returns how many lines moved. */
static size_t assert_allowed(const judged *before, const bool *must, const char *after_text)
{
    judged after = judge(after_text);
    size_t *places = mem_alloc(before->count, sizeof *places);
    size_t moved = 0;
    match(places, before, &after);
    for (size_t a = 0; a < before->count; a++) {
        moved += places[a] != a;
        for (size_t b = a + 1; b < before->count; b++) {
            if (must[a * before->count + b] && places[a] > places[b]) {
                fail_msg("swapped: %s  %s", before->lines[a].text, before->lines[b].text);
            }
        }
    }
    mem_free(places);
    judged_dispose(&after);
    return moved;
}

/* ---- Tests ------------------------------------------------------------------------------------
 */

static void test_examples(void **state)
{
    (void)state;
    static const char *const names[] = {"order@fa", "order@fa", "order@ln", "order@mm"};
    for (size_t i = 0; i < EXAMPLE_COUNT; i++) {
        size_t length;
        char *text = text_of_file(example_paths[i], &length);
        ptx_module *module = module_of(text);
        judged before = judge(text);
        bool *must = verdicts(&before);
        for (size_t o = 0; o < ORDERS; o++) {
            char *out = rewritten(module, names[i], orders[o]);
            size_t moved = assert_allowed(&before, must, out);
            assert_true(moved * 4 > before.count); /* it does something */
            char *again = rewritten(module, names[i], orders[o]);
            assert_string_equal(out, again);
            mem_free(again);
            mem_free(out);
        }
        mem_free(must);
        judged_dispose(&before);
        ptx_free(module);
        mem_free(text);
    }
}

/* The judge can fail: a legal text with two dependent lines exchanged is found out. */
static bool judge_accepts(const char *before_text, const char *after_text)
{
    judged before = judge(before_text), after = judge(after_text);
    bool *must = verdicts(&before);
    size_t *places = mem_alloc(before.count, sizeof *places);
    match(places, &before, &after);
    bool good = true;
    for (size_t a = 0; a < before.count; a++) {
        for (size_t b = a + 1; b < before.count; b++) {
            good = good && (!must[a * before.count + b] || places[a] < places[b]);
        }
    }
    mem_free(places);
    mem_free(must);
    judged_dispose(&before);
    judged_dispose(&after);
    return good;
}

static void test_judge(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"add.s32 %r1, %r2, 1;", "add.s32 %r3, %r1, 1;"},
        {"st.shared.b32 [%r1], %r2;", "ld.shared.b32 %r3, [%r4];"},
        {"bar.sync 0;", "ld.shared.b32 %r3, [%r4];"},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "cp.async.commit_group;"},
        {"@%p1 mov.b32 %r1, 1;", "@!%p1 mov.b32 %r1, 2;"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char right[256], wrong[256];
        snprintf(right, sizeof right, "{\n\t%s\n\t%s\n\tret;\n}\n", pairs[i][0], pairs[i][1]);
        snprintf(wrong, sizeof wrong, "{\n\t%s\n\t%s\n\tret;\n}\n", pairs[i][1], pairs[i][0]);
        assert_true(judge_accepts(right, right));
        assert_false(judge_accepts(right, wrong));
    }
}

/* Random straight-line kernels of everything the judge knows. */
static void random_instruction(strbuf *out, rng *r)
{
    unsigned a = (unsigned)rng_below(r, 12), b = (unsigned)rng_below(r, 12),
             c = (unsigned)rng_below(r, 12), p = (unsigned)rng_below(r, 3);
    const char *guard = rng_chance(r, 0.2) ? (rng_chance(r, 0.5) ? "@%p1 " : "@!%p2 ") : "";
    strbuf_printf(out, "\t%s", guard);
    switch (rng_below(r, 14)) {
    case 0:
        strbuf_printf(out, "ld.global.b32 %%r%u, [%%rd%u];\n", a, b);
        break;
    case 1:
        strbuf_printf(out, "st.global.b32 [%%rd%u], %%r%u;\n", a, b);
        break;
    case 2:
        strbuf_printf(out, "ld.shared.v2.b32 {%%r%u, %%r%u}, [%%r%u];\n", a, a + 12, b);
        break;
    case 3:
        strbuf_printf(out, "st.shared.b32 [%%r%u], %%r%u;\n", a, b);
        break;
    case 4:
        strbuf_printf(out, "setp.lt.s32 %%p%u, %%r%u, %%r%u;\n", p, a, b);
        break;
    case 5:
        strbuf_printf(out, "cp.async.cg.shared.global [%%r%u], [%%rd%u], 16;\n", a, b);
        break;
    case 6:
        strbuf_puts(out,
                    rng_chance(r, 0.5) ? "cp.async.commit_group;\n" : "cp.async.wait_group 0;\n");
        break;
    case 7:
        strbuf_puts(out, rng_chance(r, 0.3) ? "bar.sync 0;\n" : "mov.u32 %r3, %tid.x;\n");
        break;
    case 8:
        strbuf_printf(out, "shfl.sync.bfly.b32 %%r%u, %%r%u, 1, 31, -1;\n", a, b);
        break;
    case 9:
        strbuf_printf(out, "cvt.u64.u32 %%rd%u, %%r%u;\n", a, b);
        break;
    default:
        strbuf_printf(out, "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;\n", a, b, c, b);
        break;
    }
}

static void test_random(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 20251130);
    for (int round = 0; round < 150; round++) {
        strbuf body = {0};
        uint64_t count = 2 + rng_below(&r, 60);
        for (uint64_t i = 0; i < count; i++) {
            random_instruction(&body, &r);
        }
        char *text = kernel_of(strbuf_text(&body));
        ptx_module *module = module_of(text);
        judged before = judge(text);
        bool *must = verdicts(&before);
        for (size_t o = 0; o < ORDERS; o++) {
            char *out = rewritten(module, "order@k", orders[o]);
            assert_allowed(&before, must, out);
            mem_free(out);
        }
        mem_free(must);
        judged_dispose(&before);
        ptx_free(module);
        mem_free(text);
        strbuf_dispose(&body);
    }
}

static void assert_order(const char *body, const char *value, const char *expected)
{
    char *text = kernel_of(body);
    ptx_module *module = module_of(text);
    char *out = rewritten(module, "order@k", value);
    if (strstr(out, expected) == NULL) {
        fail_msg("%s: expected %s in %s", value, expected, out);
    }
    mem_free(out);
    ptx_free(module);
    mem_free(text);
}

static void test_meaning(void **state)
{
    (void)state;
    assert_order(
        "mov.b32 %r1, 1;\nmov.b32 %r2, 2;\nst.shared.b32 [s], %r2;\nst.shared.b32 [s], %r1;",
        "late",
        "mov.b32 %r2, 2;\n\tst.shared.b32 [s], %r2;\n\tmov.b32 %r1, 1;\n\tst.shared.b32 [s], %r1;");
    assert_order(
        "mov.b32 %r1, 1;\nadd.s32 %r3, %r1, 1;\nmov.u64 %rd1, g;\nld.global.b32 %r2, [%rd1];",
        "early", "mov.u64 %rd1, g;\n\tld.global.b32 %r2, [%rd1];\n\tmov.b32 %r1, 1;");
    /* Two chains: pressure finishes one before it starts the other. */
    assert_order(
        "ld.shared.b32 %r1, [s];\nld.shared.b32 %r2, [s+4];\nld.shared.b32 %r3, [s+8];\n"
        "ld.shared.b32 %r4, [s+12];\nadd.s32 %r5, %r1, %r2;\nadd.s32 %r6, %r3, %r4;\n"
        "st.global.b32 [g], %r5;\nst.global.b32 [g+4], %r6;",
        "pressure",
        "ld.shared.b32 %r2, [s+4];\n\tadd.s32 %r5, %r1, %r2;\n\tst.global.b32 [g], %r5;\n\t"
        "ld.shared.b32 %r3, [s+8];");
}

/* Lines travel with their instructions. */
static void test_lines(void **state)
{
    (void)state;
    char *text = kernel_of(".loc 1 10 0\nmov.b32 %r1, 1;\n.loc 1 20 0\nmov.b32 %r2, 2;\n"
                           "st.shared.b32 [s], %r2;\n.loc 1 30 0\nst.shared.b32 [s], %r1;");
    ptx_module *module = module_of(text);
    char *out = rewritten(module, "order@k", "late");
    assert_non_null(strstr(out, ".loc 1 20 0\n\tmov.b32 %r2, 2;\n\tst.shared.b32 [s], %r2;\n\t"
                                ".loc 1 10 0\n\tmov.b32 %r1, 1;\n\t.loc 1 30 0\n\t"
                                "st.shared.b32 [s], %r1;"));
    mem_free(out);
    ptx_free(module);
    mem_free(text);
}

static void assert_rewrite_error(const ptx_module *module, const char *name, const char *value,
                                 evocc_status status, const char *message)
{
    evocc_error error;
    strbuf out = {0};
    const ptx_setting setting = {name, value};
    assert_int_equal(ptx_rewrite(&out, module, &setting, 1, &error), status);
    assert_string_equal(error.message, message);
    assert_int_equal(out.length, 0);
    strbuf_dispose(&out);
}

static void test_settings(void **state)
{
    (void)state;
    char *text = kernel_of("mov.b32 %r1, 1;\n@%p1 bra DONE;\nmov.b32 %r2, 1;\nmov.b32 %r3, 1;");
    ptx_module *module = module_of(text);
    static const char *const missing[] = {"order@x",  "order@k.b9",  "order@k.b",  "order@k.b01",
                                          "order@k.", "order@k.b0x", "order@k.c0", "orders@k",
                                          "order",    "order@",      "@k",         "order@k.b-1"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char message[128];
        snprintf(message, sizeof message, "test.ptx: no site %s in it", missing[i]);
        assert_rewrite_error(module, missing[i], "late", EVOCC_NOT_FOUND, message);
    }
    assert_rewrite_error(module, "order@k", "sideways", EVOCC_INVALID_ARGUMENT,
                         "order@k: no value sideways");
    evocc_error error;
    strbuf out = {0};
    const ptx_setting twice[] = {{"order@k", "late"}, {"order@k", "early"}};
    assert_int_equal(ptx_rewrite(&out, module, twice, 2, &error), EVOCC_INVALID_ARGUMENT);
    assert_string_equal(error.message, "order@k is set twice");
    /* A block's own order is an exception to the wide one. */
    const ptx_setting own[] = {
        {"order@k.b0", "original"}, {"order@k.b1", "original"}, {"order@k", "seed8"}};
    assert_int_equal(ptx_rewrite(&out, module, own, 3, &error), EVOCC_OK);
    assert_string_equal(strbuf_text(&out), text);
    strbuf_dispose(&out);
    ptx_free(module);
    mem_free(text);
}

/* 100,000 instructions in one block, mostly arithmetic: no worse than a few times 50,000. */
static double time_order(size_t count, const char *value)
{
    rng r;
    rng_seed(&r, 7);
    strbuf body = {0};
    for (size_t i = 0; i < count; i++) {
        random_instruction(&body, &r);
    }
    char *text = kernel_of(strbuf_text(&body));
    ptx_module *module = module_of(text);
    /* Our own processor time: what else the machine does is not what is tested. */
    clock_t start = clock();
    mem_free(rewritten(module, "order@k", value));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    ptx_free(module);
    mem_free(text);
    strbuf_dispose(&body);
    return seconds;
}

static void test_growth(void **state)
{
    (void)state;
    static const char *const some[] = {"late", "pressure", "seed8"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        double small = time_order(10000, some[i]), large = time_order(100000, some[i]);
        /* Quadratic would be 100; the slack is for noisy machines. */
        assert_true(large < 40 * small + 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judge),  cmocka_unit_test(test_examples),
        cmocka_unit_test(test_random), cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_lines),  cmocka_unit_test(test_settings),
        cmocka_unit_test(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
