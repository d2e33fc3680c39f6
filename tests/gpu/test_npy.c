/* .npy: what NumPy writes is read, what is written NumPy reads (the header compared byte for byte),
   everything else is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/npy.h"
#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <string.h>

static char *folder;
static char path[512];

static int begin(void **state)
{
    (void)state;
    evocc_error error;
    if (folder_temporary(&folder, &error) != EVOCC_OK) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/a.npy", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_remove(folder);
    mem_free(folder);
    return 0;
}

/* As numpy.save(path, numpy.arange(6, dtype=numpy.int16).reshape(2, 3)) of NumPy 1.24 writes it. */
static const char sample[] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }"
    "                                                          \n"
    "\x00\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00";
enum { SAMPLE = sizeof sample - 1, HEADER = 128 };

static void put(const char *bytes, size_t length)
{
    assert_int_equal(file_write(path, bytes, length, NULL), EVOCC_OK);
}

static void reads_what_numpy_writes(void **state)
{
    (void)state;
    assert_int_equal(SAMPLE, HEADER + 12);
    put(sample, SAMPLE);
    dtype type;
    npy_shape shape;
    assert_int_equal(npy_read_header(&type, &shape, path, NULL), EVOCC_OK);
    assert_int_equal(type, DTYPE_I16);
    assert_int_equal(shape.count, 2);
    assert_int_equal(shape.extents[1], 3);
    assert_int_equal(shape.elements, 6);
    void *data;
    assert_int_equal(npy_read(&data, path, DTYPE_I16, 6, NULL), EVOCC_OK);
    assert_int_equal(((int16_t *)data)[5], 5);
    mem_free(data);
}

static void writes_what_numpy_writes(void **state)
{
    (void)state;
    const int16_t data[] = {0, 1, 2, 3, 4, 5};
    const npy_shape shape = {{2, 3}, 2, 6};
    assert_int_equal(npy_write(path, DTYPE_I16, &shape, data, NULL), EVOCC_OK);
    char *text;
    size_t length;
    assert_int_equal(file_read(&text, &length, path, 1000, NULL), EVOCC_OK);
    assert_int_equal(length, SAMPLE);
    assert_memory_equal(text, sample, SAMPLE);
    mem_free(text);
}

static void other_types_and_shapes(void **state)
{
    (void)state;
    const uint16_t data[] = {0x3f80, 0xc049, 3};
    const npy_shape line = {{3}, 1, 3};
    const npy_shape single = {{0}, 0, 1};
    void *back;
    assert_int_equal(npy_write(path, DTYPE_BF16, &line, data, NULL), EVOCC_OK);
    assert_int_equal(npy_read(&back, path, DTYPE_BF16, 3, NULL), EVOCC_OK);
    assert_memory_equal(back, data, sizeof data);
    mem_free(back);
    assert_int_equal(npy_write(path, DTYPE_U16, &single, data, NULL), EVOCC_OK);
    assert_int_equal(npy_read(&back, path, DTYPE_U16, 1, NULL), EVOCC_OK);
    mem_free(back);
}

static void refuse(const char *bytes, size_t length, const char *reason)
{
    void *data;
    evocc_error error;
    put(bytes, length);
    assert_int_equal(npy_read(&data, path, DTYPE_I16, 6, &error), EVOCC_PARSE);
    if (strstr(error.message, reason) == NULL || strstr(error.message, path) == NULL) {
        fail_msg("%s", error.message);
    }
}

/* The sample with one word of its header replaced by another of the same length. */
static void refuse_with(const char *word, const char *other, const char *reason)
{
    char copy[SAMPLE + 1];
    memcpy(copy, sample, sizeof copy);
    for (size_t i = 0; i + strlen(word) < HEADER; i++) {
        if (memcmp(copy + i, word, strlen(word)) == 0) {
            memcpy(copy + i, other, strlen(word));
            break;
        }
    }
    refuse(copy, SAMPLE, reason);
}

static void refuses_everything_else(void **state)
{
    (void)state;
    refuse("", 0, "does not begin as one");
    refuse(sample, 9, "does not begin as one");
    refuse(sample, 60, "ends in its header");
    refuse(sample, SAMPLE - 1, "shorter or longer");
    char longer[SAMPLE + 1] = {0};
    memcpy(longer, sample, SAMPLE);
    refuse(longer, SAMPLE + 1, "shorter or longer");
    refuse_with("\x01", "\x07", "format version");
    refuse_with("'<i2'", "'>i2'", "type '>i2', which is not supported");
    refuse_with("'<i2'", "'<f2'", "holds f16, not i16");
    refuse_with("False", "True ", "Fortran order");
    refuse_with("(2, 3)", "(2, 4)", "holds 8 elements, not 6");
    refuse_with("(2, 3)", "(2; 3)", "header cannot be read");
    refuse_with("(2, 3)", "(2,-3)", "header cannot be read");
    refuse_with("'shape'", "'shope'", "header cannot be read");
    refuse_with("}", " ", "header cannot be read");
    refuse_with("(2, 3), }", "(2, 3)} x", "header cannot be read");
    evocc_error error;
    void *data;
    assert_int_equal(npy_read(&data, folder, DTYPE_I16, 6, &error), EVOCC_PARSE);
    assert_int_equal(npy_read(&data, "/nonexistent.npy", DTYPE_I16, 6, &error), EVOCC_IO);
}

static void nth_allocation_fails(void **state)
{
    (void)state;
    put(sample, SAMPLE);
    void *data = NULL;
    evocc_status status = EVOCC_NO_MEMORY;
    long n = 0;
    for (; status == EVOCC_NO_MEMORY && n < 20; n++) {
        mem_fail_after(n);
        status = npy_read(&data, path, DTYPE_I16, 6, NULL);
    }
    mem_fail_after(-1);
    assert_int_equal(status, EVOCC_OK);
    assert_true(n >= 2);
    mem_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_numpy_writes), cmocka_unit_test(writes_what_numpy_writes),
        cmocka_unit_test(other_types_and_shapes),  cmocka_unit_test(refuses_everything_else),
        cmocka_unit_test(nth_allocation_fails),
    };
    return cmocka_run_group_tests_name("npy", tests, begin, end);
}
