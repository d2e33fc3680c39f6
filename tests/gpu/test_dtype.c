/* Element types against values worked out by hand, and every bit pattern of the small ones there
   and back; initial contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/dtype.h"
#include "gpu/fill.h"

#include <math.h>
#include <string.h>

static uint64_t bits_of(dtype type, double value)
{
    uint64_t bits = 0;
    dtype_write(type, &bits, value);
    return bits;
}

static void names(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        dtype back;
        assert_true(dtype_parse(&back, dtype_name((dtype)i)));
        assert_int_equal(back, i);
    }
    dtype type;
    assert_false(dtype_parse(&type, "float"));
    assert_int_equal(dtype_bytes(DTYPE_BF16), 2);
    assert_true(dtype_is_float(DTYPE_E4M3));
    assert_false(dtype_is_float(DTYPE_U64));
}

static void known_values(void **state)
{
    (void)state;
    static const struct {
        dtype type;
        double value;
        uint64_t bits;
    } cases[] = {
        {DTYPE_F16, 1, 0x3c00},
        {DTYPE_F16, -2, 0xc000},
        {DTYPE_F16, 65504, 0x7bff},
        {DTYPE_F16, 65519.99, 0x7bff},
        {DTYPE_F16, 65520, 0x7c00},
        {DTYPE_F16, 6e-8, 0x0001},
        {DTYPE_F16, 2.9e-8, 0x0000},
        {DTYPE_F16, 1.0 + 0x1p-11, 0x3c00},
        {DTYPE_F16, 1 + 3 * 0x1p-11, 0x3c02},
        {DTYPE_F16, 0x1p-14 - 0x1p-26, 0x0400},
        {DTYPE_BF16, 1, 0x3f80},
        {DTYPE_BF16, -3.140625, 0xc049},
        {DTYPE_BF16, 3.4e38, 0x7f80},
        {DTYPE_BF16, 3.38e38, 0x7f7e},
        {DTYPE_E4M3, 1, 0x38},
        {DTYPE_E4M3, 448, 0x7e},
        {DTYPE_E4M3, 1000, 0x7e},
        {DTYPE_E4M3, -0.001953125, 0x81},
        {DTYPE_E4M3, 17, 0x58},
        {DTYPE_E5M2, 57344, 0x7b},
        {DTYPE_E5M2, 1e6, 0x7b},
        {DTYPE_E5M2, 1.25, 0x3d},
        {DTYPE_I8, -129, 0x80},
        {DTYPE_I8, 127.9, 0x7f},
        {DTYPE_U8, -1, 0},
        {DTYPE_U8, 300, 0xff},
        {DTYPE_I16, -2, 0xfffe},
        {DTYPE_U32, 4294967295.0, 0xffffffff},
        {DTYPE_I64, -1, UINT64_MAX},
        {DTYPE_U64, 1e30, UINT64_MAX},
        {DTYPE_F32, 0.1, 0x3dcccccd},
        {DTYPE_F64, 1, 0x3ff0000000000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bits = bits_of(cases[i].type, cases[i].value);
        if (bits != cases[i].bits) {
            fail_msg("%s %.9g: 0x%llx, not 0x%llx", dtype_name(cases[i].type), cases[i].value,
                     (unsigned long long)bits, (unsigned long long)cases[i].bits);
        }
    }
    assert_true(isinf(dtype_read(DTYPE_F16, &(uint16_t){0x7c00})));
    assert_true(isnan(dtype_read(DTYPE_BF16, &(uint16_t){0xffa5})));
    assert_true(isnan(dtype_read(DTYPE_E4M3, &(uint8_t){0xff})));
    assert_true(isnan(dtype_read(DTYPE_E5M2, &(uint8_t){0x7f})));
}

/* What was read is written back as it was, NaNs' payloads aside. */
static void every_small_pattern(void **state)
{
    (void)state;
    static const dtype types[] = {DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2};
    for (size_t k = 0; k < 4; k++) {
        uint32_t count = dtype_bytes(types[k]) == 1 ? 256 : 65536;
        double previous = -1;
        for (uint32_t bits = 0; bits < count; bits++) {
            double value = dtype_read(types[k], &bits);
            if (!isnan(value)) {
                assert_int_equal(bits_of(types[k], value), bits);
            }
            if (bits < count / 2 && !isnan(value)) {
                assert_true(value > previous); /* patterns are in the order of values */
                previous = value;
            }
        }
    }
}

static void scalars_from_text(void **state)
{
    (void)state;
    uint64_t bits = 0;
    assert_true(dtype_write_text(DTYPE_I64, &bits, "-9007199254740993"));
    assert_true((int64_t)bits == INT64_C(-9007199254740993));
    bits = 0;
    assert_true(dtype_write_text(DTYPE_U32, &bits, "0xffffffff"));
    assert_int_equal(bits, 0xffffffff);
    assert_false(dtype_write_text(DTYPE_U32, &bits, "-1"));
    assert_false(dtype_write_text(DTYPE_I8, &bits, "128"));
    assert_false(dtype_write_text(DTYPE_U64, &bits, "-1"));
    assert_false(dtype_write_text(DTYPE_I32, &bits, "1.5"));
    assert_false(dtype_write_text(DTYPE_F32, &bits, "one"));
    bits = 0;
    assert_true(dtype_write_text(DTYPE_F32, &bits, "1.5"));
    assert_int_equal(bits, 0x3fc00000);
}

enum { COUNT = 20000 };

static void contents(float *out, gpu_init init, double first, double second, uint64_t seed,
                     uint64_t stream)
{
    const gpu_argument a = {.name = "a",
                            .is_buffer = true,
                            .type = DTYPE_F32,
                            .elements = COUNT,
                            .init = init,
                            .first = first,
                            .second = second};
    assert_int_equal(fill_buffer(out, &a, seed, stream, NULL), EVOCC_OK);
}

static void initial_contents(void **state)
{
    (void)state;
    static float a[COUNT];
    static float b[COUNT];
    contents(a, GPU_NORMAL, 2, 0.5, 1, 0);
    contents(b, GPU_NORMAL, 2, 0.5, 1, 0);
    assert_memory_equal(a, b, sizeof a);
    contents(b, GPU_NORMAL, 2, 0.5, 1, 1);
    assert_true(memcmp(a, b, sizeof a) != 0);
    contents(b, GPU_NORMAL, 2, 0.5, 2, 0);
    assert_true(memcmp(a, b, sizeof a) != 0);
    double sum = 0;
    double squares = 0;
    size_t beyond = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double z = ((double)a[i] - 2) / 0.5;
        sum += z;
        squares += z * z;
        beyond += fabs(z) > 1.959964;
    }
    /* Four standard errors of mean, variance and a 5 % tail. */
    assert_true(fabs(sum / COUNT) < 4 / sqrt(COUNT));
    assert_true(fabs(squares / COUNT - 1) < 4 * sqrt(2.0 / COUNT));
    assert_true(fabs((double)beyond / COUNT - 0.05) < 4 * sqrt(0.05 * 0.95 / COUNT));
    contents(a, GPU_UNIFORM, -1, 3, 1, 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(a[i] >= -1 && a[i] <= 3);
    }
    contents(a, GPU_IOTA, 5, 2, 1, 0);
    assert_true(a[0] == 5 && a[4999] == 5 + 2 * 4999.0F && a[COUNT - 1] == 5 + 2 * 19999.0F);
    contents(a, GPU_CONSTANT, 7, 0, 1, 0);
    assert_true(a[0] == 7 && a[COUNT - 1] == 7);
    contents(a, GPU_ZEROS, 7, 0, 1, 0);
    assert_true(a[0] == 0 && a[COUNT - 1] == 0);
}

static void uniform_integers_reach_both_ends(void **state)
{
    (void)state;
    static int8_t values[COUNT];
    const gpu_argument a = {.is_buffer = true,
                            .type = DTYPE_I8,
                            .elements = COUNT,
                            .init = GPU_UNIFORM,
                            .first = -2,
                            .second = 2};
    size_t counts[5] = {0};
    assert_int_equal(fill_buffer(values, &a, 1, 0, NULL), EVOCC_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_in_range(values[i] + 2, 0, 4);
        counts[values[i] + 2]++;
    }
    for (size_t i = 0; i < 5; i++) {
        assert_in_range(counts[i], 3770, 4230); /* four standard errors */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_small_pattern),
        cmocka_unit_test(scalars_from_text),
        cmocka_unit_test(initial_contents),
        cmocka_unit_test(uniform_integers_reach_both_ends),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
