#include "support.h"

#include "util/mem.h"
#include "util/rng.h"

#include <stdio.h>
#include <string.h>

typedef struct numbers {
    double registers, stack, stores, loads, shared, barriers;
} numbers;

static void check(const compiler_entry_stats *s, numbers expected)
{
    assert_non_null(s);
    assert_true(s->registers == expected.registers);
    assert_true(s->stack_bytes == expected.stack);
    assert_true(s->spill_store_bytes == expected.stores);
    assert_true(s->spill_load_bytes == expected.loads);
    assert_true(s->shared_bytes == expected.shared);
    assert_true(s->barriers == expected.barriers);
}

static compiler_stats parse(const char *text)
{
    compiler_stats stats;
    assert_int_equal(compiler_ptxas.read_stats(&stats, "", text, NULL), EVOCC_OK);
    return stats;
}

static compiler_stats parse_fixture(const char *version, const char *what)
{
    char path[512];
    snprintf(path, sizeof path, FIXTURES "stats/%s-%s.txt", version, what);
    char *text = support_read(path, NULL);
    compiler_stats stats = parse(text);
    mem_free(text);
    return stats;
}

/* Real outputs, `ptxas -v -arch=sm_80 -maxrregcount=32 heavy.ptx` and so on. */
static void test_real_outputs(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        numbers limited, light, relocatable;
    } rows[] = {
        {"11.8.89", {32, 920, 1580, 1884, 256, -1}, {6, 0, 0, 0, 0, -1}, {94, -1, 0, 0, 256, -1}},
        {"12.0.140", {32, 920, 1580, 1884, 256, -1}, {6, 0, 0, 0, 0, -1}, {94, -1, 0, 0, 256, -1}},
        {"12.4.131", {32, 920, 1576, 1880, 256, -1}, {6, 0, 0, 0, 0, -1}, {94, -1, 0, 0, 256, -1}},
        {"12.9.86", {32, 944, 1600, 1932, 256, 1}, {6, 0, 0, 0, 0, 0}, {94, -1, 0, 0, 256, 1}},
        {"13.0.88", {32, 944, 1600, 1932, 256, 1}, {6, 0, 0, 0, 0, 0}, {94, -1, 0, 0, 256, 1}},
        {"13.5.37", {32, 944, 1600, 1932, 256, 1}, {6, 0, 0, 0, 0, 0}, {94, -1, 0, 0, 256, 1}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        compiler_stats stats = parse_fixture(rows[i].version, "limited");
        assert_int_equal(stats.count, 3);
        check(compiler_stats_find(&stats, "heavy"), rows[i].limited);
        check(compiler_stats_find(&stats, "light"), rows[i].light);
        assert_null(compiler_stats_find(&stats, "helper")); /* a function */
        compiler_stats_dispose(&stats);

        /* -c: the helper is not inlined, and nobody adds its frame up. */
        stats = parse_fixture(rows[i].version, "relocatable");
        check(compiler_stats_find(&stats, "heavy"), rows[i].relocatable);
        compiler_stats_dispose(&stats);

        stats = parse_fixture(rows[i].version, "recursive");
        const compiler_entry_stats *deep = compiler_stats_find(&stats, "deep");
        assert_true(deep != NULL && deep->stack_bytes < 0.0 && deep->registers == 24.0);
        assert_int_equal(stats.count, 2);
        assert_true(stats.entries[1].is_function && stats.entries[1].spill_load_bytes == 16.0);
        compiler_stats_dispose(&stats);
    }
}

/* What .pragma "enable_smem_spilling" does to the numbers: 20,480 bytes more of shared memory. */
static void test_spills_to_shared(void **state)
{
    (void)state;
    compiler_stats stats = parse_fixture("13.0.88", "smem_spill");
    check(compiler_stats_find(&stats, "heavy"), (numbers){32, 840, 1292, 1480, 20736, 1});
    compiler_stats_dispose(&stats);
}

static const char head[] = "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
                           "ptxas info    : Function properties for k\n";

static void test_variants(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        numbers expected;
    } rows[] = {
        /* sizes in two parts, textures: CUDA 5 to 7 */
        {"    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
         "ptxas info    : Used 7 registers, 48+16 bytes smem, 344 bytes cmem[0], 1 textures\n",
         {7, 16, 4, 8, 64, -1}},
        {"    16 bytes cumulative stack size, 4 bytes spill stores\n", {-1, -1, 4, -1, -1, -1}},
        /* any order, unknown fields between, line ends of another system */
        {"\t8 bytes spill loads, 9 bytes of moon, 4 bytes spill stores, 16 bytes stack frame\r\n"
         "ptxas info    : Used 3 bytes lmem, 12 bytes smem, used 2 barriers, used 7 registers\r\n",
         {7, 16, 4, 8, 12, 2}},
        /* used line before the properties' line */
        {"ptxas info    : Used 9 registers\n    1 bytes stack frame\n", {9, 1, -1, -1, 0, -1}},
        /* no numbers, numbers that are none */
        {"    many bytes stack frame, -4 bytes spill stores, 4.5 bytes spill loads\n"
         "ptxas info    : Used x registers\n",
         {-1, -1, -1, -1, -1, -1}},
        {"    99999999999999999999 bytes stack frame, 4bytes spill stores\n",
         {-1, -1, -1, -1, -1, -1}},
        /* the first indented line ends the paragraph */
        {"    4 bytes stack frame\n    5 bytes stack frame\n", {-1, 4, -1, -1, -1, -1}},
        {"ptxas info    : Used 1 registers, 4 bytes cumulative stack size\n",
         {1, 4, -1, -1, 0, -1}},
        {"ptxas warning : Stack size for entry function 'k' cannot be statically determined\n"
         "ptxas info    : Used 1 registers, 4 bytes cumulative stack size\n",
         {1, -1, -1, -1, 0, -1}},
        /* a ptxas under another name */
        {"    4 bytes stack frame\nptxas-13.0 info    : Used 5 registers\n", {5, 4, -1, -1, 0, -1}},
        /* somebody else's lines */
        {"nvlink info    : Used 1 registers\nUsed 2 registers\nptxas info : used\n",
         {-1, -1, -1, -1, -1, -1}},
        {"ptxas info    : Compile time = 1.0 ms\nptxas info    :\nptxas info\n",
         {-1, -1, -1, -1, -1, -1}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", head, rows[i].text);
        compiler_stats stats = parse(text);
        check(compiler_stats_find(&stats, "k"), rows[i].expected);
        compiler_stats_dispose(&stats);
    }
}

static void test_both_streams(void **state)
{
    (void)state;
    compiler_stats stats;
    assert_int_equal(
        compiler_ptxas.read_stats(&stats, head, "ptxas info : Used 5 registers\n", NULL), EVOCC_OK);
    assert_true(compiler_stats_find(&stats, "k")->registers == 5.0);
    compiler_stats_dispose(&stats);
    assert_int_equal(compiler_ptxas.read_stats(&stats, NULL, NULL, NULL), EVOCC_OK);
    assert_int_equal(stats.count, 0);
}

/* A function that turns out to be an entry counts as one, whatever is said first. */
static void test_function_then_entry(void **state)
{
    (void)state;
    compiler_stats stats = parse("ptxas info    : Function properties for k\n"
                                 "    8 bytes stack frame, 1 bytes spill stores\n"
                                 "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
                                 "ptxas info    : Used 5 registers\n");
    check(compiler_stats_find(&stats, "k"), (numbers){5, 8, 1, -1, 0, -1});
    compiler_stats_dispose(&stats);
}

/* Pieces of real lines in any sequence, and plain noise: no crash, no negative count of anything
   but unknown. */
static void test_noise(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "ptxas info    : ",
        "Compiling entry function '",
        "k",
        "'",
        " for 'sm_80'",
        "\n",
        "Function properties for ",
        "    ",
        "8",
        "184467440737095516150",
        "+",
        " bytes stack frame",
        ", ",
        " bytes spill stores",
        " registers",
        "Used ",
        "used ",
        " barriers",
        "\r",
        "\t",
        "ptxas warning : Stack size for entry function '",
        " bytes cumulative stack size",
        " bytes smem",
        ":",
        " ",
        "\x01\xff",
    };
    rng r;
    rng_seed(&r, 7);
    for (int round = 0; round < 3000; round++) {
        char text[2048] = "";
        size_t length = 0;
        for (int i = 0; i < 60; i++) {
            const char *piece = pieces[rng_below(&r, COUNT(pieces))];
            memcpy(text + length, piece, strlen(piece) + 1);
            length += strlen(piece);
        }
        compiler_stats stats = parse(text);
        for (size_t i = 0; i < stats.count; i++) {
            const compiler_entry_stats *s = &stats.entries[i];
            assert_non_null(s->entry);
            assert_true(s->registers >= 0.0 || s->registers == -1.0);
            assert_true(s->stack_bytes >= 0.0 || s->stack_bytes == -1.0);
            assert_true(s->shared_bytes >= 0.0 || s->shared_bytes == -1.0);
        }
        compiler_stats_dispose(&stats);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    char *text = support_read(FIXTURES "stats/13.0.88-limited.txt", NULL);
    int failed = 0;
    for (long n = 0; n < 100; n++) {
        compiler_stats stats;
        mem_fail_after(n);
        evocc_status status = compiler_ptxas.read_stats(&stats, "", text, NULL);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            compiler_stats_dispose(&stats);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
        assert_null(stats.entries);
        failed++;
    }
    assert_true(failed >= 4 && failed < 100);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_outputs),  cmocka_unit_test(test_spills_to_shared),
        cmocka_unit_test(test_variants),      cmocka_unit_test(test_both_streams),
        cmocka_unit_test(test_noise),         cmocka_unit_test(test_function_then_entry),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
