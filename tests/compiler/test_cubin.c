#include "support.h"

#include "util/files.h"
#include "util/mem.h"
#include "util/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const versions[] = {"11.8.89", "12.0.140", "12.4.131",
                                       "12.9.86", "13.0.88",  "13.5.37"};

static char *fixture(const char *version, size_t *length)
{
    char path[512];
    snprintf(path, sizeof path, FIXTURES "cubins/two-%s.cubin", version);
    return support_read(path, length);
}

static void test_real_cubins(void **state)
{
    (void)state;
    /* As `readelf -S` shows them. */
    static const double a_bytes[] = {384, 384, 256, 256, 256, 256};
    char last[HASH_SHA256_TEXT] = "";
    for (size_t i = 0; i < COUNT(versions); i++) {
        size_t length = 0;
        char *data = fixture(versions[i], &length);
        cubin_info a, b, all;
        evocc_error error;
        assert_int_equal(cubin_read(&a, data, length, "a", &error), EVOCC_OK);
        assert_int_equal(cubin_read(&b, data, length, "b", &error), EVOCC_OK);
        assert_int_equal(cubin_read(&all, data, length, NULL, &error), EVOCC_OK);
        assert_true(a.code_bytes == a_bytes[i] && b.code_bytes == 128.0);
        assert_true(all.code_bytes == a.code_bytes + b.code_bytes);
        assert_string_equal(a.hash, b.hash);
        assert_string_equal(a.hash, all.hash);
        assert_int_equal(strlen(a.hash), 64);
        assert_string_not_equal(a.hash, last);
        memcpy(last, a.hash, sizeof last);
        assert_int_equal(cubin_read(&a, data, length, "c", &error), EVOCC_NOT_FOUND);
        assert_non_null(strstr(error.message, "'c'"));
        assert_string_equal(a.hash, last); /* as it was */
        mem_free(data);
    }
}

static void test_not_a_cubin(void **state)
{
    (void)state;
    cubin_info info;
    evocc_error error;
    assert_int_equal(cubin_read(&info, "", 0, NULL, &error), EVOCC_PARSE);
    assert_int_equal(cubin_read(&info, "\177ELF", 4, NULL, &error), EVOCC_PARSE);
    char text[200] = "!<arch>\n";
    assert_int_equal(cubin_read(&info, text, sizeof text, NULL, &error), EVOCC_PARSE);
    size_t length = 0;
    char *self = support_read("/proc/self/exe", &length);
    assert_int_equal(cubin_read(&info, self, length, NULL, &error), EVOCC_PARSE);
    assert_non_null(strstr(error.message, "machine"));
    mem_free(self);
}

/* What is left of a file cut short is never taken for a whole one, save where only the program
   headers at its end are missing: they repeat what the sections say. */
static void test_cut_short(void **state)
{
    (void)state;
    size_t length = 0;
    char *data = fixture("13.0.88", &length);
    cubin_info whole;
    assert_int_equal(cubin_read(&whole, data, length, "a", NULL), EVOCC_OK);
    for (size_t cut = 0; cut < length; cut++) {
        char *part = mem_alloc(cut > 0 ? cut : 1, 1);
        memcpy(part, data, cut);
        cubin_info info;
        evocc_status status = cubin_read(&info, part, cut, "a", NULL);
        if (status == EVOCC_OK) {
            assert_string_equal(info.hash, whole.hash);
        } else {
            assert_true(status == EVOCC_PARSE);
        }
        mem_free(part);
    }
    mem_free(data);
}

static void test_hostile_bytes(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 11);
    for (size_t v = 0; v < COUNT(versions); v++) {
        size_t length = 0;
        char *data = fixture(versions[v], &length);
        char *copy = mem_alloc(length, 1);
        for (int round = 0; round < 1500; round++) {
            memcpy(copy, data, length);
            for (uint64_t flips = 1 + rng_below(&r, 8); flips > 0; flips--) {
                /* Headers and tables, where the offsets are, more often than code. */
                size_t range = rng_chance(&r, 0.5) ? 64 : length;
                size_t at = (size_t)rng_below(&r, range);
                at = range == 64 && rng_chance(&r, 0.8) ? length - 1 - (size_t)rng_below(&r, 2000)
                                                        : at;
                copy[at] = (char)rng_next(&r);
            }
            cubin_info info;
            evocc_error error;
            evocc_status status = cubin_read(&info, copy, length, "a", &error);
            assert_true(status == EVOCC_OK || status == EVOCC_PARSE || status == EVOCC_NOT_FOUND);
        }
        mem_free(copy);
        mem_free(data);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    size_t length = 0;
    char *data = fixture("13.0.88", &length);
    long failed = 0;
    for (;; failed++) {
        cubin_info info;
        mem_fail_after(failed);
        evocc_status status = cubin_read(&info, data, length, "a", NULL);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
    }
    assert_true(failed >= 1); /* arenas: one chunk */
    mem_free(data);
}

/* ---- With the ptxas of this machine ------------------------------------------------------ */

typedef struct bench {
    char *ptxas, *folder;
    int count;
} bench;

/* Compiles the text as folder/<name> and returns the hash; "" when it does not compile. */
static void compile(char hash[HASH_SHA256_TEXT], bench *b, const char *name, const char *text,
                    const char *arch, const char *option)
{
    char output[32];
    snprintf(output, sizeof output, "out%d.cubin", b->count++);
    support_write(b->folder, name, text);
    const char *argv[] = {b->ptxas, "-arch", arch, name, "-o", output, option, NULL};
    process_result result = support_run(b->folder, argv);
    hash[0] = '\0';
    if (result.end == PROCESS_EXITED && result.exit_status == 0) {
        char *path = path_join(b->folder, output);
        size_t length = 0;
        char *data = support_read(path, &length);
        cubin_info info;
        evocc_error error;
        if (cubin_read(&info, data, length, NULL, &error) != EVOCC_OK) {
            fail_msg("%s", error.message);
        }
        memcpy(hash, info.hash, sizeof info.hash);
        mem_free(data);
        mem_free(path);
    }
    process_result_dispose(&result);
}

/* The text with one passage replaced; mem_free. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *found = strstr(text, from);
    assert_non_null(found);
    strbuf out = {0};
    strbuf_append(&out, text, (size_t)(found - text));
    strbuf_puts(&out, to);
    strbuf_puts(&out, found + strlen(from));
    return strbuf_take(&out);
}

static void check_equal_code(bench *b, const char *text, const char *arch)
{
    char base[HASH_SHA256_TEXT], other[HASH_SHA256_TEXT];
    compile(base, b, "one.ptx", text, arch, NULL);
    if (base[0] == '\0') {
        print_message("this ptxas does not know %s\n", arch);
        return;
    }
    static const char *const silent[] = {"-v", "-w", "-lineinfo", "-m64", "--fmad=true", "-O3"};
    for (size_t i = 0; i < COUNT(silent); i++) {
        compile(other, b, "one.ptx", text, arch, silent[i]);
        if (strcmp(other, base) != 0) {
            fail_msg("%s changes the code for %s", silent[i], arch);
        }
    }
    compile(other, b, "another name.ptx", text, arch, NULL);
    assert_string_equal(other, base);
    char *commented = replaced(text, "ret;", "/* done */ ret; // here");
    compile(other, b, "one.ptx", commented, arch, "-lineinfo");
    assert_string_equal(other, base);
    mem_free(commented);
}

static void test_equal_code(void **state)
{
    (void)state;
    bench b = {.ptxas = support_real_ptxas()};
    SKIP_WITHOUT_PTXAS(b.ptxas);
    b.folder = support_folder();
    char *two = support_read(FIXTURES "two.ptx", NULL);
    check_equal_code(&b, two, "sm_80");
    check_equal_code(&b, two, "sm_90a");
    check_equal_code(&b, two, "sm_100");
    char *heavy = support_read(FIXTURES "heavy.ptx", NULL);
    check_equal_code(&b, heavy, "sm_80");
    mem_free(heavy);
    mem_free(two);
    support_remove(b.folder);
    mem_free(b.ptxas);
}

/* Everything that the driver loads counts: not only instructions. */
static void test_other_code(void **state)
{
    (void)state;
    bench b = {.ptxas = support_real_ptxas()};
    SKIP_WITHOUT_PTXAS(b.ptxas);
    b.folder = support_folder();
    char *two = support_read(FIXTURES "two.ptx", NULL);
    static const struct {
        const char *what, *from, *to;
    } edits[] = {
        {"an instruction", "add.f32", "mul.f32"},
        {"an initialiser", "0f40000000", "0f40000001"},
        {"a constant", "{5, 7}", "{5, 8}"},
        {"a launch property", ".maxntid 128", ".maxntid 64"},
        {"shared memory", "tile[32]", "tile[64]"},
        {"a parameter", ".param .u32 n)", ".param .u32 n, .param .u32 more)"},
        {"the other entry", "%ctaid.x", "%ctaid.y"},
        {"the size of a global", "table[4] = {0f3F800000, ",
         "table[5] = {0f3F800000, 0f00000000, "},
    };
    char base[HASH_SHA256_TEXT], other[HASH_SHA256_TEXT];
    compile(base, &b, "one.ptx", two, "sm_80", NULL);
    assert_string_not_equal(base, "");
    for (size_t i = 0; i < COUNT(edits); i++) {
        char *text = replaced(two, edits[i].from, edits[i].to);
        compile(other, &b, "one.ptx", text, "sm_80", NULL);
        if (other[0] == '\0' || strcmp(other, base) == 0) {
            fail_msg("%s does not count", edits[i].what);
        }
        mem_free(text);
    }
    static const char *const options[] = {"-O0", "-c", "-g", "-maxntid=32"};
    for (size_t i = 0; i < COUNT(options); i++) {
        compile(other, &b, "one.ptx", two, "sm_80", options[i]);
        if (other[0] != '\0') { /* an older ptxas may not know it */
            assert_string_not_equal(other, base);
        }
    }
    compile(other, &b, "one.ptx", two, "sm_86", NULL);
    assert_string_not_equal(other, base);
    mem_free(two);
    support_remove(b.folder);
    mem_free(b.ptxas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_cubins),   cmocka_unit_test(test_not_a_cubin),
        cmocka_unit_test(test_cut_short),     cmocka_unit_test(test_hostile_bytes),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_equal_code),
        cmocka_unit_test(test_other_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
