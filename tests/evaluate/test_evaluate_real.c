/* The whole way with the ptxas of this machine on the examples: genes to machine code and back. */
#include "../compiler/support.h"

#include "evaluate/evaluate.h"

#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES EVOCC_SOURCE_DIR "/examples/"
enum { CANDIDATES = 12 };

typedef struct bench {
    char *folder, *ptxas, *path;
    launcher *launcher;
    compiler_identity identity;
    ptx_module *module;
    evocc_space *space;
    evaluator *e;
} bench;

static void require(evocc_status status, const evocc_error *error)
{
    if (status != EVOCC_OK) {
        fail_msg("%s", error->message);
    }
}

static void open_bench(bench *b, const char *file)
{
    evocc_error error;
    *b = (bench){.ptxas = support_real_ptxas()};
    SKIP_WITHOUT_PTXAS(b->ptxas);
    b->folder = support_folder();
    setenv("EVOCC_HELPER", HELPER_PROGRAM, 1);
    require(launcher_new(&b->launcher, &error), &error);
    require(compiler_ptxas.identify(&b->identity, b->launcher, b->ptxas, &error), &error);
    b->path = path_join(EXAMPLES, file);
    size_t length = 0;
    char *text = support_read(b->path, &length);
    require(ptx_parse(&b->module, text, length, file, &error), &error);
    mem_free(text);
    evocc_space *options = NULL;
    require(space_new(&b->space, &error), &error);
    require(
        compiler_ptxas.make_space(&options, b->launcher, &b->identity, "sm_90a", NULL, 0, &error),
        &error);
    require(space_add_all(b->space, options, NULL, NULL, &error), &error);
    space_free(options);
    ptx_limits limits = {.max_version = b->identity.max_ptx_version};
    require(ptx_add_controls(b->space, b->module, ptx_entry_name(b->module, 0), &limits, &error),
            &error);
    require(space_finish(b->space, &error), &error);
}

static void open_evaluator(bench *b, size_t workers)
{
    evocc_error error;
    evaluate_static_options options = {.module = b->module,
                                       .module_path = b->path,
                                       .entry = ptx_entry_name(b->module, 0),
                                       .arch = "sm_90a",
                                       .ptxas = &b->identity,
                                       .space = b->space,
                                       .launcher = b->launcher,
                                       .workers = workers};
    require(evaluate_static_new(&b->e, &options, &error), &error);
}

static void close_bench(bench *b)
{
    if (b->e != NULL) {
        b->e->class->free(b->e);
    }
    space_free(b->space);
    ptx_free(b->module);
    compiler_identity_dispose(&b->identity);
    launcher_free(b->launcher);
    mem_free(b->path);
    mem_free(b->ptxas);
    support_remove(b->folder);
}

static int32_t *absent(const bench *b)
{
    int32_t *genes = mem_alloc(space_count(b->space) + 1, sizeof *genes);
    for (size_t i = 0; i < space_count(b->space); i++) {
        genes[i] = SPACE_ABSENT;
    }
    return genes;
}

static evaluate_result evaluate(bench *b, const int32_t *genes)
{
    evaluate_result r = {0};
    evocc_error error;
    require(b->e->class->submit(b->e, 1, genes, &error), &error);
    require(b->e->class->wait(b->e, 300.0, -1, &r, &error), &error);
    return r;
}

/* Same code by the evaluator, by the artifact, and by the plain command line of a build. */
static void check_baseline(bench *b, const evaluate_result *r, const int32_t *genes)
{
    char *code = NULL;
    size_t length = 0;
    evocc_error error;
    cubin_info info;
    require(evaluate_static_cubin(&code, &length, b->e, genes, &error), &error);
    require(cubin_read(&info, code, length, NULL, &error), &error);
    assert_string_equal(info.hash, r->code_hash);
    mem_free(code);
    process_result run = support_run(
        b->folder, (const char *[]){b->ptxas, "-arch=sm_90a", b->path, "-o", "plain.cubin", NULL});
    assert_int_equal(run.exit_status, 0);
    process_result_dispose(&run);
    char *path = path_join(b->folder, "plain.cubin");
    char *plain = support_read(path, &length);
    require(cubin_read(&info, plain, length, ptx_entry_name(b->module, 0), &error), &error);
    assert_string_equal(info.hash, r->code_hash);
    assert_true(info.code_bytes == r->metrics[EVALUATE_CODE_BYTES]);
    mem_free(plain);
    mem_free(path);
}

static void test_baselines(void **state)
{
    (void)state;
    /* What ptxas 13.0.88 -v says; other releases spill other amounts. */
    static const struct {
        const char *file;
        double registers, spill_bytes;
    } rows[] = {{"triton_attention_128x64_w4_sm90a.ptx", 255, 16},
                {"triton_attention_128x128_w4_sm90a.ptx", 255, 80},
                {"triton_layernorm_8192_w8_sm90a.ptx", 108, 0},
                {"triton_matmul_128x256x64_w8_sm90a.ptx", 198, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        bench b;
        open_bench(&b, rows[i].file);
        open_evaluator(&b, 1);
        int32_t *genes = absent(&b);
        evaluate_result r = evaluate(&b, genes);
        assert_int_equal(r.outcome, EVOCC_OUTCOME_OK);
        for (size_t m = 0; m < EVALUATE_STATIC_COUNT; m++) {
            assert_true(r.metrics[m] >= 0.0);
        }
        if (strcmp(b.identity.version, "13.0.88") == 0) {
            assert_true(r.metrics[EVALUATE_REGISTERS] == rows[i].registers);
            assert_true(r.metrics[EVALUATE_SPILL_BYTES] == rows[i].spill_bytes);
        }
        assert_true(r.metrics[EVALUATE_COMPILE_TIME] > 0.0);
        check_baseline(&b, &r, genes);
        evocc_error error;
        if (i == 0) {
            require(evaluate_canary(b.e, b.space, r.code_hash, &error), &error);
        }
        evaluate_result_dispose(&r);
        mem_free(genes);
        close_bench(&b);
    }
}

typedef struct found {
    evocc_outcome outcome;
    double metrics[EVALUATE_STATIC_COUNT];
    char code_hash[HASH_SHA256_TEXT], *detail;
} found;

/* Fills in `out` by id, whatever order the results come in. */
static void evaluate_all(bench *b, int32_t *const *genes, found *out, size_t workers)
{
    open_evaluator(b, workers);
    size_t next = 0;
    evocc_error error;
    for (size_t done = 0; done < CANDIDATES;) {
        if (next < CANDIDATES && b->e->in_flight < b->e->capacity) {
            require(b->e->class->submit(b->e, next, genes[next], &error), &error);
            next++;
            continue;
        }
        evaluate_result r = {0};
        require(b->e->class->wait(b->e, 300.0, -1, &r, &error), &error);
        assert_true(r.id < CANDIDATES && out[r.id].detail == NULL);
        out[r.id].outcome = r.outcome;
        out[r.id].detail = mem_strdup(r.detail);
        memcpy(out[r.id].metrics, r.metrics, sizeof out[r.id].metrics);
        memcpy(out[r.id].code_hash, r.code_hash, sizeof r.code_hash);
        evaluate_result_dispose(&r);
        done++;
    }
    b->e->class->free(b->e);
    b->e = NULL;
}

/* Any number of workers gives the same numbers; only compile_time is measured anew. */
static void test_workers_agree(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, "triton_layernorm_8192_w8_sm90a.ptx");
    int32_t *genes[CANDIDATES];
    rng r;
    rng_seed(&r, 3);
    for (size_t i = 0; i < CANDIDATES; i++) {
        genes[i] = absent(&b);
        assert_int_equal(space_sample(b.space, &r, genes[i], NULL), EVOCC_OK);
    }
    memcpy(genes[5], genes[4], space_count(b.space) * sizeof *genes[5]);
    found *one = mem_alloc(CANDIDATES, sizeof *one);
    found *many = mem_alloc(CANDIDATES, sizeof *many);
    evaluate_all(&b, genes, one, 1);
    evaluate_all(&b, genes, many, 4);
    size_t good = 0;
    size_t different = 0;
    for (size_t i = 0; i < CANDIDATES; i++) {
        assert_int_equal(one[i].outcome, many[i].outcome);
        assert_string_equal(one[i].code_hash, many[i].code_hash);
        assert_string_equal(one[i].detail, many[i].detail);
        assert_memory_equal(one[i].metrics, many[i].metrics,
                            EVALUATE_COMPILE_TIME * sizeof *one[i].metrics);
        good += one[i].outcome == EVOCC_OUTCOME_OK;
        different += i > 0 && strcmp(one[i].code_hash, one[0].code_hash) != 0;
        mem_free(one[i].detail);
        mem_free(many[i].detail);
        mem_free(genes[i]);
    }
    print_message("%zu of %d candidates compile, %zu of them to other code than the first\n", good,
                  CANDIDATES, different);
    assert_true(good >= CANDIDATES / 2 && different >= CANDIDATES / 4);
    mem_free(one);
    mem_free(many);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_baselines),
        cmocka_unit_test(test_workers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
