/* Whether a file is for this compilation, and what its controls mean in a space. */
#include "example.h"

#include "ptx/ptx.h"
#include "util/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- Matching -------------------------------------------------------------------------------- */

#define OTHER_PTX "evocc-ptx-1:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

static acf *made(void)
{
    acf from = example();
    acf *file = NULL;
    assert_int_equal(acf_new(&file, &from, NULL), EVOCC_OK);
    return file;
}

static void mismatch(const acf_target *here, const char *message)
{
    acf *file = made();
    evocc_error error = {0};
    assert_int_equal(acf_match(file, here, &error), EVOCC_MISMATCH);
    assert_int_equal(error.status, EVOCC_MISMATCH);
    assert_string_equal(error.message, message);
    assert_int_equal(acf_match(file, here, NULL), EVOCC_MISMATCH);
    acf_free(file);
}

/* gcc and clang compile no PTX: their files are for all that is compiled under the same options. */
static void files_for_the_host_name_no_ptx(void **state)
{
    (void)state;
    static const char *const base[] = {"-O3", "-march=native"};
    static const acf_control controls[] = {{.full_name = "gcc/fipa-cp", .value = "false"}};
    acf from = {.target = {.compiler = "gcc",
                           .version = "12.2.0",
                           .arch = "x86_64-linux-gnu",
                           .kernel = "*",
                           .base = base,
                           .base_count = 2},
                .controls = controls,
                .control_count = 1};
    acf *file = NULL;
    acf *again = NULL;
    strbuf text = {0};
    evocc_error error = {0};
    assert_int_equal(acf_new(&file, &from, &error), EVOCC_OK);
    assert_string_equal(file->target.ptx, "");
    assert_int_equal(acf_write(&text, file, &error), EVOCC_OK);
    assert_null(strstr(text.data, "ptx"));
    assert_int_equal(acf_read(&again, text.data, text.length, "gcc.acf", &error), EVOCC_OK);
    assert_string_equal(again->digest, file->digest);

    acf_target here = from.target;
    here.kernel = NULL;
    assert_int_equal(acf_match(again, &here, &error), EVOCC_OK);
    here.arch = "aarch64-linux-gnu";
    assert_int_equal(acf_match(again, &here, &error), EVOCC_MISMATCH);
    here = from.target;
    here.compiler = "clang";
    assert_int_equal(acf_match(again, &here, &error), EVOCC_MISMATCH);
    acf_free(again);
    acf_free(file);
    strbuf_dispose(&text);

    from.target.ptx = EXAMPLE_PTX;
    assert_int_equal(acf_new(&file, &from, &error), EVOCC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "cannot name a PTX"));
    from.target.ptx = NULL;
    from.target.compiler = "ptxas";
    assert_int_equal(acf_new(&file, &from, &error), EVOCC_INVALID_ARGUMENT);
}

static void equal_targets_match(void **state)
{
    (void)state;
    acf *file = made();
    acf_target here = example().target;
    evocc_error error = {0};
    assert_int_equal(acf_match(file, &here, &error), EVOCC_OK);
    here.kernel = NULL; /* any */
    assert_int_equal(acf_match(file, &here, &error), EVOCC_OK);
    const char *sorted[] = {"--maxrregcount=128", "-O3"};
    here.base = sorted;
    assert_int_equal(acf_match(file, &here, &error), EVOCC_OK);
    acf_free(file);
}

static void every_field_counts(void **state)
{
    (void)state;
    acf_target here = example().target;
    here.compiler = "nvcc";
    mismatch(&here, "compiler: the file is for 'ptxas', this is 'nvcc'");
    here = example().target;
    here.version = "13.0.89";
    mismatch(&here, "version: the file is for '13.0.88', this is '13.0.89'");
    here = example().target;
    here.arch = "sm_90";
    mismatch(&here, "arch: the file is for 'sm_90a', this is 'sm_90'");
    here = example().target;
    here.kernel = "fb";
    mismatch(&here, "kernel: the file is for 'fa', this is 'fb'");
    here = example().target;
    here.ptx = OTHER_PTX;
    mismatch(&here, "ptx: the file is for '" EXAMPLE_PTX "', this is '" OTHER_PTX "'");
    here = example().target;
    here.base_count = 1;
    mismatch(&here, "base options: the file is for '--maxrregcount=128 -O3', this is '-O3'");
}

static void bases_are_multisets(void **state)
{
    (void)state;
    acf_target here = example().target;
    const char *doubled[] = {"-O3", "-O3"};
    here.base = doubled;
    mismatch(&here, "base options: the file is for '--maxrregcount=128 -O3', this is '-O3 -O3'");
    const char *more[] = {"-O3", "--maxrregcount=128", "-g"};
    here.base = more;
    here.base_count = 3;
    mismatch(&here, "base options: the file is for '--maxrregcount=128 -O3', this is "
                    "'-O3 --maxrregcount=128 -g'");
    here.base_count = 0;
    mismatch(&here, "base options: the file is for '--maxrregcount=128 -O3', this is ''");
}

/* An unknown version never matches, not even an unknown version. */
static void unknown_matches_nothing(void **state)
{
    (void)state;
    acf_target here = example().target;
    here.version = "";
    mismatch(&here, "version: it is unknown here, and unknown matches nothing");
    here.version = NULL;
    mismatch(&here, "version: it is unknown here, and unknown matches nothing");
    here = example().target;
    here.ptx = NULL;
    mismatch(&here, "ptx: it is unknown here, and unknown matches nothing");
    here = example().target;
    here.arch = "";
    mismatch(&here, "arch: it is unknown here, and unknown matches nothing");
    acf unknown = example();
    unknown.target.version = "";
    acf_target same = unknown.target;
    evocc_error error = {0};
    assert_int_equal(acf_match(&unknown, &same, &error), EVOCC_MISMATCH);
}

/* ---- Genes ----------------------------------------------------------------------------------- */

static evocc_space *small_space(void)
{
    evocc_space *space = NULL;
    static const char *const orders[] = {"original", "late", "early"};
    const space_control controls[] = {
        {.stage = SPACE_STAGE_PTXAS,
         .name = "register-usage-level",
         .help = "How hard ptxas tries to use few registers. Higher values use more of them.",
         .option = "--register-usage-level={}",
         .kind = SPACE_INT,
         .low = 0,
         .high = 10,
         .step = 1,
         .size = 11,
         .default_index = 5,
         .parent = SPACE_ABSENT},
        {.stage = SPACE_STAGE_PTXAS,
         .name = "use-fast-math",
         .help = "Approximate.",
         .option = "--fast",
         .kind = SPACE_FLAG,
         .numerics = SPACE_APPROXIMATE,
         .size = 1,
         .default_index = SPACE_ABSENT,
         .parent = SPACE_ABSENT},
        {.stage = SPACE_STAGE_PTX,
         .name = "order@fa.b4",
         .help = "Order of instructions.",
         .kind = SPACE_CHOICE,
         .choices = orders,
         .size = 3,
         .default_index = 0,
         .parent = SPACE_ABSENT},
    };
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++) {
        evocc_error error = {0};
        if (space_add(space, &controls[i], &error) != EVOCC_OK) {
            fail_msg("%s", error.message);
        }
    }
    assert_int_equal(space_finish(space, NULL), EVOCC_OK);
    return space;
}

/* The genes of one control in the small space, read from a file whose controls stand in line 2. */
static evocc_status genes_of(int32_t genes[3], const evocc_space *space, const char *name,
                             const char *value, bool allow_numerics, evocc_error *error)
{
    const acf_control control = {.full_name = name, .value = value, .line = 2, .column = 3};
    acf file = example();
    file.name = "best.acf";
    file.controls = &control;
    file.control_count = 1;
    for (int i = 0; i < 3; i++) {
        genes[i] = 77;
    }
    return acf_genes(genes, &file, space, allow_numerics, error);
}

static void controls_become_genes(void **state)
{
    (void)state;
    evocc_space *space = small_space();
    int32_t genes[3];
    evocc_error error = {0};
    assert_int_equal(genes_of(genes, space, "ptxas/register-usage-level", "7", false, &error),
                     EVOCC_OK);
    assert_int_equal(genes[0], 7);
    assert_int_equal(genes[1], SPACE_ABSENT);
    assert_int_equal(genes[2], SPACE_ABSENT);
    assert_int_equal(genes_of(genes, space, "ptx/order@fa.b4", "late", false, &error), EVOCC_OK);
    assert_int_equal(genes[2], 1);
    /* A value that is the default is no control at all. */
    assert_int_equal(genes_of(genes, space, "ptxas/register-usage-level", "5", false, &error),
                     EVOCC_OK);
    assert_int_equal(genes[0], SPACE_ABSENT);
    space_free(space);
}

static void strangers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        evocc_status status;
        const char *message;
    } list[] = {
        {"ptxas/shell", "1", EVOCC_NOT_FOUND,
         "best.acf:2:3: control 'ptxas/shell' does not exist here"},
        {"nvcc/register-usage-level", "7", EVOCC_NOT_FOUND, "best.acf:2:3: control 'nvcc/"},
        {"ptx/order@fa.b5", "late", EVOCC_NOT_FOUND, "best.acf:2:3: control 'ptx/order@fa.b5'"},
        {"ptxas/register-usage-level", "11", EVOCC_INVALID_ARGUMENT, "best.acf:2:3: "},
        {"ptxas/register-usage-level", "07", EVOCC_INVALID_ARGUMENT, "best.acf:2:3: "},
        {"ptxas/register-usage-level", "7.0", EVOCC_INVALID_ARGUMENT, "best.acf:2:3: "},
        {"ptxas/register-usage-level", "-1", EVOCC_INVALID_ARGUMENT, "best.acf:2:3: "},
        {"ptx/order@fa.b4", "latest", EVOCC_INVALID_ARGUMENT, "best.acf:2:3: "},
        {"ptxas/use-fast-math", "on", EVOCC_REFUSED,
         "best.acf:2:3: control 'ptxas/use-fast-math' may change the results"},
    };
    evocc_space *space = small_space();
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        int32_t genes[3];
        evocc_error error = {0};
        evocc_status status = genes_of(genes, space, list[i].name, list[i].value, false, &error);
        if (status != list[i].status || error.status != list[i].status ||
            strncmp(error.message, list[i].message, strlen(list[i].message)) != 0) {
            fail_msg("%s=%s gave %d '%s'", list[i].name, list[i].value, status, error.message);
        }
        assert_int_equal(genes[0], 77); /* left as they were */
    }
    int32_t genes[3];
    assert_int_equal(genes_of(genes, space, "ptxas/use-fast-math", "on", true, NULL), EVOCC_OK);
    assert_int_equal(genes[1], 0);
    space_free(space);
}

static void forbidden_combinations_are_refused(void **state)
{
    (void)state;
    evocc_space *space = NULL;
    evocc_error error = {0};
    assert_int_equal(space_new(&space, NULL), EVOCC_OK);
    static const char *const names[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        const space_control control = {.stage = SPACE_STAGE_PTXAS,
                                       .name = names[i],
                                       .help = "A number.",
                                       .option = "--x={}",
                                       .kind = SPACE_INT,
                                       .low = 0,
                                       .high = 9,
                                       .step = 1,
                                       .size = 10,
                                       .default_index = 0,
                                       .parent = SPACE_ABSENT};
        assert_int_equal(space_add(space, &control, &error), EVOCC_OK);
    }
    assert_int_equal(space_add_constraint(space, "a + b < 10", &error), EVOCC_OK);
    assert_int_equal(space_finish(space, &error), EVOCC_OK);
    const acf_control controls[] = {{.full_name = "ptxas/a", .value = "5"},
                                    {.full_name = "ptxas/b", .value = "5"}};
    acf file = example();
    file.controls = controls;
    file.control_count = 2;
    int32_t genes[2] = {77, 77};
    assert_int_equal(acf_genes(genes, &file, space, false, &error), EVOCC_REFUSED);
    assert_int_equal(genes[0], 77);
    file.control_count = 1;
    assert_int_equal(acf_genes(genes, &file, space, false, &error), EVOCC_OK);
    space_free(space);
}

/* ---- Showing --------------------------------------------------------------------------------- */

static void shows_for_people(void **state)
{
    (void)state;
    acf *file = made();
    evocc_space *space = small_space();
    strbuf out = {0};
    acf_show(&out, file, space);
    /* Of rewritings the space need not know, their kind tells the help; once for several in a row.
     */
    ptx_kind kind;
    assert_true(ptx_kind_of(&kind, "frequency@fa.b4"));
    const char *text = strbuf_text(&out);
    assert_non_null(strstr(text,
                           "For\n"
                           "  compiler  ptxas 13.0.88\n"
                           "  target    sm_90a\n"
                           "  kernel    fa\n"
                           "  options   --maxrregcount=128 -O3\n"
                           "  code      " EXAMPLE_PTX "\n"
                           "\nGained\n"
                           "  spill_bytes  16 -> 0  (-100.00 %)\n"
                           "  runtime      0.0018159 -> 0.0017264  (-4.93 %)  speed-up 1.0519, "
                           "interval 1.0497 to 1.0541, 40 pairs\n"
                           "\nFound\n"
                           "  device: NVIDIA H200\n"
                           "  trials: 488\n"
                           "\nControls (3)\n"
                           "  ptx/frequency@fa.b4 = 8\n      "));
    assert_non_null(
        strstr(text, "  ptx/order@fa.b4 = late  (default original)\n"
                     "      Order of instructions.\n"
                     "  ptxas/register-usage-level = 7  (default 5)\n"
                     "      How hard ptxas tries to use few registers. Higher values use more of\n"
                     "      them.\n"));
    char first_words[20];
    snprintf(first_words, sizeof first_words, "%s", kind.help);
    assert_non_null(strstr(text, first_words));
    strbuf_clear(&out);
    acf_show(&out, file, NULL);
    assert_null(strstr(strbuf_text(&out), "not known here"));
    assert_non_null(strstr(strbuf_text(&out), "  ptx/order@fa.b4 = late\n"));
    strbuf_dispose(&out);
    space_free(space);
    acf_free(file);
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    evocc_space *space = small_space();
    bool done = false;
    for (long n = 0; !done; n++) {
        assert_true(n < 1000);
        int32_t genes[3];
        evocc_error error = {0};
        mem_fail_after(n);
        evocc_status status = genes_of(genes, space, "ptx/order@fa.b4", "late", false, &error);
        mem_fail_after(-1);
        done = status == EVOCC_OK;
        assert_true(done || status == EVOCC_NO_MEMORY);
        assert_int_equal(genes[2], done ? 1 : 77);
    }
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_for_the_host_name_no_ptx),
        cmocka_unit_test(equal_targets_match),
        cmocka_unit_test(every_field_counts),
        cmocka_unit_test(bases_are_multisets),
        cmocka_unit_test(unknown_matches_nothing),
        cmocka_unit_test(controls_become_genes),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(forbidden_combinations_are_refused),
        cmocka_unit_test(shows_for_people),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
