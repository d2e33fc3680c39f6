/* Programs of the host: their file, their outputs, and what becomes of candidates that go wrong. */
#include "../compiler/support.h"

#include "evaluate/evaluate_program.h"

#include "util/files.h"
#include "util/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What goes wrong is chosen by a macro that a control sets. */
static const char source[] =
    "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
    "#ifdef MODE_broken\n#error broken on purpose\n#endif\n"
    "int main(void)\n{\n"
    "    volatile unsigned sum = 0;\n"
    "    unsigned rounds = 3000000;\n"
    "#ifdef MODE_slow\n    rounds *= 40;\n#endif\n"
    "    for (unsigned i = 0; i < rounds; i++) sum += i ^ (i >> 3);\n"
    "#ifdef MODE_hang\n    for (;;) pause();\n#endif\n"
    "#ifdef MODE_crash\n    raise(SIGSEGV);\n#endif\n"
    "#ifdef MODE_leave\n    return 3;\n#endif\n"
    "#ifdef MODE_wrong\n    printf(\"value 1.5\\n\");\n"
    "#elif defined(MODE_near)\n    printf(\"value 1.2500001\\n\");\n"
    "#elif defined(MODE_restless)\n    printf(\"value %d\\n\", (int)getpid());\n"
    "#else\n    printf(\"value 1.25\\n\");\n#endif\n"
    "    FILE *file = fopen(\"result.txt\", \"w\");\n"
    "#ifndef MODE_silent\n"
    "    if (file != NULL) fprintf(file, \"done\\n\");\n"
    "#endif\n"
    "    return file == NULL || fclose(file) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;\n}\n";

typedef struct bench {
    char *folder, *compiler;
    launcher *launcher;
    compiler_identity identity;
    evocc_space *space;
    program *program;
    evaluator *e;
} bench;

static void require(evocc_status status, const evocc_error *error)
{
    if (status != EVOCC_OK) {
        fail_msg("%s", error->message);
    }
}

static void make_space(bench *b)
{
    static const char text[] =
        "evocc-space: 1\nstage: gcc\nsource: this test\ncontrols:\n"
        "  mode: {type: choice, values: [same, broken, slow, hang, crash, leave, wrong, near,\n"
        "    restless, silent], option: \"-DMODE_{}\"}\n"
        "  level: {type: choice, values: [\"1\", \"2\"], option: \"-O{}\"}\n";
    evocc_error error;
    require(space_parse(&b->space, text, sizeof text - 1, "test", &error), &error);
    require(space_finish(b->space, &error), &error);
}

/* `more` is added to the file of the program. */
static void open_bench(bench *b, const char *more)
{
    evocc_error error = {0};
    *b = (bench){.folder = support_folder()};
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    if (compiler_find(&b->compiler, "gcc", NULL, NULL) != EVOCC_OK) {
        print_message("no gcc on this machine\n");
        support_remove(b->folder);
        skip();
    }
    strbuf text = {0};
    strbuf_printf(&text,
                  "evocc-program: 1\ncompiler: gcc\nbase: [-O1]\nsources: [main.c]\n"
                  "outputs: [stdout, result.txt]\nrepeats: 2\n%s",
                  more);
    support_write(b->folder, "main.c", source);
    support_write(b->folder, "program.yaml", strbuf_text(&text));
    strbuf_dispose(&text);
    char *path = path_join(b->folder, "program.yaml");
    assert_true(program_is_one(path));
    require(program_read(&b->program, path, &error), &error);
    mem_free(path);
    require(launcher_new(&b->launcher, &error), &error);
    require(compiler_gcc.identify(&b->identity, b->launcher, b->compiler, &error), &error);
    make_space(b);
    const evaluate_program_options options = {.program = b->program,
                                              .compiler = &compiler_gcc,
                                              .identity = &b->identity,
                                              .space = b->space,
                                              .launcher = b->launcher,
                                              .workers = 2,
                                              .time = true};
    require(evaluate_program_new(&b->e, &options, &error), &error);
}

static void close_bench(bench *b)
{
    if (b->e != NULL) {
        b->e->class->free(b->e);
    }
    space_free(b->space);
    program_free(b->program);
    compiler_identity_dispose(&b->identity);
    launcher_free(b->launcher);
    mem_free(b->compiler);
    support_remove(b->folder);
}

static evocc_status try(bench *b, const char *candidate, evaluate_result *result,
                        evocc_error *error)
{
    int32_t genes[2];
    require(space_candidate_parse(genes, b->space, candidate, error), error);
    require(b->e->class->submit(b->e, 7, genes, error), error);
    return b->e->class->wait(b->e, -1, -1, result, error);
}

static evaluate_result evaluate(bench *b, const char *candidate)
{
    evocc_error error = {0};
    evaluate_result result = {0};
    require(try(b, candidate, &result, &error), &error);
    assert_int_equal(result.id, 7);
    return result;
}

static void expect(bench *b, const char *candidate, evocc_outcome outcome, const char *part)
{
    evaluate_result r = evaluate(b, candidate);
    if (r.outcome != outcome || strstr(r.detail, part) == NULL) {
        fail_msg("%s: %s: %s", candidate, evocc_outcome_name(r.outcome), r.detail);
    }
    evaluate_result_dispose(&r);
}

/* ---- Candidates -------------------------------------------------------------------------- */

static void test_good_candidates_are_measured(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, "");
    evaluate_result baseline = evaluate(&b, "");
    assert_int_equal(baseline.outcome, EVOCC_OUTCOME_OK);
    assert_true(baseline.metrics[EVALUATE_RUNTIME] > 0);
    assert_true(baseline.metrics[EVALUATE_CODE_BYTES] > 100);
    assert_true(baseline.metrics[EVALUATE_COMPILE_TIME] > 0);
    assert_true(isnan(baseline.metrics[EVALUATE_REGISTERS]));
    assert_int_equal(baseline.sample_count, 10);
    assert_non_null(strstr(baseline.command, "-O1"));
    assert_non_null(strstr(baseline.command, "./program"));

    evaluate_result other = evaluate(&b, "gcc/level=2");
    assert_int_equal(other.outcome, EVOCC_OUTCOME_OK);
    assert_true(other.metrics[EVALUATE_RUNTIME] > 0);
    assert_non_null(strstr(other.command, "-O1 -O2"));

    /* The same code: the same measurement, whatever the words were. */
    evaluate_result same = evaluate(&b, "gcc/mode=same");
    assert_string_equal(same.code_hash, baseline.code_hash);
    assert_true(same.metrics[EVALUATE_RUNTIME] == baseline.metrics[EVALUATE_RUNTIME]);
    assert_int_equal(same.sample_count, 0);
    evaluate_result_dispose(&baseline);
    evaluate_result_dispose(&other);
    evaluate_result_dispose(&same);
    close_bench(&b);
}

static void test_what_goes_wrong_is_a_result(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, "timeout: 2\n");
    expect(&b, "", EVOCC_OUTCOME_OK, "");
    expect(&b, "gcc/mode=broken", EVOCC_OUTCOME_COMPILE_FAILED, "broken on purpose");
    expect(&b, "gcc/mode=wrong", EVOCC_OUTCOME_WRONG_OUTPUT, "stdout differs");
    expect(&b, "gcc/mode=near", EVOCC_OUTCOME_WRONG_OUTPUT, "stdout differs");
    expect(&b, "gcc/mode=silent", EVOCC_OUTCOME_WRONG_OUTPUT, "result.txt differs");
    expect(&b, "gcc/mode=leave", EVOCC_OUTCOME_WRONG_OUTPUT, "exit status 3");
    expect(&b, "gcc/mode=crash", EVOCC_OUTCOME_LAUNCH_FAILED, "signal 11");
    expect(&b, "gcc/mode=hang", EVOCC_OUTCOME_RUN_TIMEOUT, "not done after 2 s");
    evaluate_result slow = evaluate(&b, "gcc/mode=slow");
    assert_int_equal(slow.outcome, EVOCC_OUTCOME_OK);
    assert_int_equal(slow.sample_count, 1); /* clearly slow: not worth pairs */
    evaluate_result_dispose(&slow);
    close_bench(&b);
}

static void test_tolerance(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, "tolerance: 1.0e-5\n");
    expect(&b, "", EVOCC_OUTCOME_OK, "");
    expect(&b, "gcc/mode=near", EVOCC_OUTCOME_OK, "");
    expect(&b, "gcc/mode=wrong", EVOCC_OUTCOME_WRONG_OUTPUT, "word 2 is '1.5'");
    close_bench(&b);
}

static void test_baselines_that_do_not_do(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, "");
    close_bench(&b);
    static const struct {
        const char *define, *part;
        evocc_outcome outcome;
    } cases[] = {
        {"-DMODE_restless", "two runs of the baseline do not agree", EVOCC_OUTCOME_UNSTABLE},
        {"-DMODE_leave", "exit status 3", EVOCC_OUTCOME_LAUNCH_FAILED},
        {"-DMODE_crash", "signal 11", EVOCC_OUTCOME_LAUNCH_FAILED},
        {"-DMODE_broken", "broken on purpose", EVOCC_OUTCOME_COMPILE_FAILED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        open_bench(&b, "");
        const char *base[] = {"-O1", cases[i].define, NULL};
        b.program->base = (program_words){base, 2};
        expect(&b, "", cases[i].outcome, cases[i].part);
        close_bench(&b);
    }
}

static void test_a_score_is_read(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, "score: \"value\"\n");
    evaluate_result r = evaluate(&b, "");
    assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
    evaluate_result_dispose(&r);
    r = evaluate(&b, "gcc/level=2");
    assert_true(r.metrics[EVALUATE_SCORE] == 1.25);
    evaluate_result_dispose(&r);
    close_bench(&b);
}

/* ---- The machine's faults ------------------------------------------------------------------ */

static void use_compiler(bench *b, const char *script)
{
    support_write(b->folder, "fake-gcc", script);
    char *path = path_join(b->folder, "fake-gcc");
    assert_int_equal(chmod(path, 0755), 0);
    mem_free(b->identity.path);
    b->identity.path = path;
}

static void test_a_full_disk_stops_the_study(void **state)
{
    (void)state;
    bench b;
    evaluate_result result = {0};
    evocc_error error = {0};
    open_bench(&b, "");
    use_compiler(&b, "#!/bin/sh\necho 'fatal error: x.s: No space left on device' >&2\nexit 1\n");
    assert_int_equal(try(&b, "", &result, &error), EVOCC_IO);
    assert_non_null(strstr(error.message, "TMPDIR"));
    close_bench(&b);
}

static void test_a_lost_compiler_stops_the_study(void **state)
{
    (void)state;
    bench b;
    evaluate_result result = {0};
    evocc_error error = {0};
    open_bench(&b, "");
    mem_free(b.identity.path);
    b.identity.path = mem_strdup("/nowhere/gcc");
    assert_int_equal(try(&b, "", &result, &error), EVOCC_PROCESS);
    assert_non_null(strstr(error.message, "can no longer be run"));
    close_bench(&b);
}

static void test_a_build_that_makes_nothing(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, "");
    use_compiler(&b, "#!/bin/sh\nexit 0\n");
    expect(&b, "", EVOCC_OUTCOME_COMPILER_CRASHED, "reported success, but");
    close_bench(&b);
    open_bench(&b, "");
    use_compiler(&b, "#!/bin/sh\necho no ELF file >program\n");
    expect(&b, "", EVOCC_OUTCOME_COMPILER_CRASHED, "no ELF file");
    close_bench(&b);
}

/* ---- Pairs ------------------------------------------------------------------------------- */

static evocc_status count_pair(void *context, double baseline_s, double tuned_s, evocc_error *error)
{
    (void)error;
    size_t *count = context;
    assert_true(baseline_s > 0 && tuned_s > 0);
    ++*count;
    return EVOCC_OK;
}

static void test_pairs_at_the_end(void **state)
{
    (void)state;
    bench b;
    evocc_error error = {0};
    char detail[EVOCC_ERROR_SIZE];
    evocc_outcome outcome;
    size_t count = 0;
    int32_t genes[2];
    open_bench(&b, "clock: cpu\n");
    expect(&b, "", EVOCC_OUTCOME_OK, "");
    const stats_plan plan = {.min_pairs = 6, .max_pairs = 6};
    require(space_candidate_parse(genes, b.space, "gcc/level=2", &error), &error);
    require(evaluate_program_compare(&outcome, detail, b.e, genes, &plan, -1, count_pair, &count,
                                     &error),
            &error);
    assert_int_equal(outcome, EVOCC_OUTCOME_OK);
    assert_int_equal(count, 6);
    require(space_candidate_parse(genes, b.space, "gcc/mode=wrong", &error), &error);
    require(evaluate_program_compare(&outcome, detail, b.e, genes, &plan, -1, count_pair, &count,
                                     &error),
            &error);
    assert_int_equal(outcome, EVOCC_OUTCOME_WRONG_OUTPUT);
    assert_int_equal(count, 6);
    close_bench(&b);
}

static void test_the_code_of_a_candidate(void **state)
{
    (void)state;
    bench b;
    evocc_error error = {0};
    char *code = NULL;
    size_t length = 0;
    int32_t genes[2];
    open_bench(&b, "");
    require(space_candidate_parse(genes, b.space, "gcc/level=2", &error), &error);
    require(evaluate_program_code(&code, &length, b.e, genes, &error), &error);
    assert_memory_equal(code, "\177ELF", 4);
    mem_free(code);
    require(space_candidate_parse(genes, b.space, "gcc/mode=broken", &error), &error);
    assert_int_equal(evaluate_program_code(&code, &length, b.e, genes, &error), EVOCC_PROCESS);
    close_bench(&b);
}

/* ---- The file ---------------------------------------------------------------------------- */

static void test_files_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"evocc-program: 2\ncompiler: gcc\nsources: [a.c]\n", "reads version 1"},
        {"evocc-program: 1\nsources: [a.c]\n", "`compiler` is missing"},
        {"evocc-program: 1\ncompiler: tcc\nsources: [a.c]\n", ":2:11: compiler is gcc or clang"},
        {"evocc-program: 1\ncompiler: gcc\n", "either `sources` or `build`"},
        {"evocc-program: 1\ncompiler: gcc\nsources: []\n", "no source files"},
        {"evocc-program: 1\ncompiler: gcc\nsources: gcc a.c\n", "a list of words"},
        {"evocc-program: 1\ncompiler: gcc\nbuild: [[make]]\ncode: [a]\n", "{options}"},
        {"evocc-program: 1\ncompiler: gcc\nbuild: [[\"{options}\"]]\n", "`code` must name"},
        {"evocc-program: 1\ncompiler: gcc\nsources: [a.c]\noutputs: [/etc/passwd]\n",
         "in the folder in which the program runs"},
        {"evocc-program: 1\ncompiler: gcc\nsources: [a.c]\noutputs: []\n", "nothing tells"},
        {"evocc-program: 1\ncompiler: gcc\nsources: [a.c]\nclock: sun\n", "wall or cpu"},
        {"evocc-program: 1\ncompiler: gcc\nsources: [a.c]\nrepeats: 0\n", "1 to 100"},
        {"evocc-program: 1\ncompiler: gcc\nsources: [a.c]\ntimeout: -1\n", "below 0"},
        {"evocc-program: 1\ncompiler: gcc\nsources: [a.c]\nstdin: missing\n", "missing"},
        {"evocc-program: 1\ncompiler: gcc\nsorces: [a.c]\n", "sources"},
    };
    char *folder = support_folder();
    char *path = path_join(folder, "program.yaml");
    for (size_t i = 0; i < COUNT(cases); i++) {
        program *p = NULL;
        evocc_error error = {0};
        support_write(folder, "program.yaml", cases[i].text);
        assert_int_not_equal(program_read(&p, path, &error), EVOCC_OK);
        if (strstr(error.message, cases[i].part) == NULL) {
            fail_msg("'%s' does not say '%s'", error.message, cases[i].part);
        }
    }
    mem_free(path);
    support_remove(folder);
}

static void test_reading_survives_lack_of_memory(void **state)
{
    (void)state;
    char *folder = support_folder();
    char *path = path_join(folder, "program.yaml");
    support_write(folder, "in.txt", "1 2 3\n");
    support_write(folder, "program.yaml",
                  "evocc-program: 1\ncompiler: gcc\nbase: [-O2]\nbuild:\n"
                  "  - [\"{compiler}\", \"{options}\", \"{here}/a.c\", -o, a]\n"
                  "run: [./a]\ncode: [a]\nstdin: in.txt\nenv: {A: b}\noutputs: [stdout, x]\n");
    evocc_status status = EVOCC_NO_MEMORY;
    for (long n = 0; status == EVOCC_NO_MEMORY; n++) {
        program *p = NULL;
        assert_true(n < 5000);
        mem_fail_after(n);
        status = program_read(&p, path, NULL);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            assert_int_equal(p->input_length, 6);
            assert_true(p->environment.count > 0);
            program_free(p);
        }
    }
    assert_int_equal(status, EVOCC_OK);
    mem_free(path);
    support_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_candidates_are_measured),
        cmocka_unit_test(test_what_goes_wrong_is_a_result),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_baselines_that_do_not_do),
        cmocka_unit_test(test_a_score_is_read),
        cmocka_unit_test(test_a_full_disk_stops_the_study),
        cmocka_unit_test(test_a_lost_compiler_stops_the_study),
        cmocka_unit_test(test_a_build_that_makes_nothing),
        cmocka_unit_test(test_pairs_at_the_end),
        cmocka_unit_test(test_the_code_of_a_candidate),
        cmocka_unit_test(test_files_that_are_refused),
        cmocka_unit_test(test_reading_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
