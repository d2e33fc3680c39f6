/*
 * The public functions of evocc.h, section "Kernels". A kernel is a study that only prepares: it
 * has a space and an evaluator, but no file and no search of its own.
 */
#include "study/internal.h"

#include "acf/acf.h"
#include "util/error.h"
#include "util/files.h"

#include <math.h>
#include <string.h>

struct evocc_kernel {
    study *study;
    char *environment;
    /* What the last compilation handed out. */
    evaluate_result result;
    evocc_metric metrics[EVALUATE_STATIC_COUNT];
    char *code;
};

/* ---- Open and free -------------------------------------------------------------------------- */

static evocc_status take_options(evocc_kernel_options *out, const evocc_kernel_options *options,
                                 evocc_error *error)
{
    size_t size = options->struct_size;
    *out = (evocc_kernel_options){0};
    if (size < offsetof(evocc_kernel_options, arch) || options->path == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "begin with EVOCC_KERNEL_OPTIONS, and name a PTX file");
    }
    memcpy(out, options, size < sizeof *out ? size : sizeof *out);
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = sizeof *out; i < size; i++) {
        if (bytes[i] != 0) {
            return error_set(error, EVOCC_UNSUPPORTED,
                             "an option is set that this version (%s) does not know",
                             evocc_version());
        }
    }
    return EVOCC_OK;
}

static evocc_status describe(evocc_kernel *kernel, evocc_error *error)
{
    const study *s = kernel->study;
    char ptx[PTX_NAME_SIZE];
    strbuf text = {0};
    ptx_normal_name(ptx, s->module);
    strbuf_printf(&text, "ptx %s\nkernel %s\narch %s\nptxas %s %s\n", ptx,
                  *s->kernel == '\0' ? ACF_ALL_KERNELS : s->kernel, s->arch, s->compiler.version,
                  s->compiler.path);
    for (size_t i = 0; i < s->canonical_base_count; i++) {
        strbuf_printf(&text, "option %s\n", s->canonical_base[i]);
    }
    strbuf_printf(&text, "numerics %s\n", s->allow_numerics ? "may change" : "exact");
    kernel->environment = strbuf_take(&text);
    return kernel->environment == NULL ? error_no_memory(error) : EVOCC_OK;
}

evocc_status evocc_kernel_open(evocc_kernel **out, const evocc_kernel_options *options,
                               evocc_error *error)
{
    evocc_kernel_options o;
    *out = NULL;
    evocc_status status = take_options(&o, options, error);
    if (status != EVOCC_OK) {
        return status;
    }
    evocc_kernel *kernel = mem_alloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return error_no_memory(error);
    }
    study_options inside = {
        .input_path = o.path,
        .arch = o.arch,
        .kernel = o.entry,
        .whole_module = o.whole_module,
        .base = o.arguments,
        .base_count = o.argument_count,
        .workers = 1,
        .deadline_s = o.timeout_s,
        .ptxas = o.ptxas,
        .allow_numerics = o.allow_numerics,
    };
    /* A study wants an objective; which one decides nothing here. */
    status = objective_list_add(&inside.objectives, "code_bytes", false, error);
    if (status == EVOCC_OK) {
        status = study_preview(&kernel->study, &inside, error);
    }
    if (status == EVOCC_OK) {
        status = describe(kernel, error);
    }
    if (status != EVOCC_OK) {
        evocc_kernel_free(kernel);
        return status;
    }
    *out = kernel;
    return EVOCC_OK;
}

static void forget_result(evocc_kernel *kernel)
{
    evaluate_result_dispose(&kernel->result);
    mem_free(kernel->code);
    kernel->code = NULL;
}

void evocc_kernel_free(evocc_kernel *kernel)
{
    if (kernel == NULL) {
        return;
    }
    forget_result(kernel);
    study_free(kernel->study);
    mem_free(kernel->environment);
    mem_free(kernel);
}

const evocc_space *evocc_kernel_space(const evocc_kernel *kernel)
{
    return study_space(kernel->study);
}

const char *evocc_kernel_environment(const evocc_kernel *kernel)
{
    return kernel->environment;
}

/* ---- Compile -------------------------------------------------------------------------------- */

static evocc_status candidate_text(strbuf *out, const evocc_kernel *kernel, const int32_t *genes,
                                   evocc_error *error)
{
    space_candidate_text(out, study_space(kernel->study), genes);
    return out->failed ? error_no_memory(error) : EVOCC_OK;
}

static void fill_in(evocc_compilation *out, evocc_kernel *kernel, size_t code_length)
{
    const evaluate_result *r = &kernel->result;
    size_t all;
    const evaluate_metric_info *infos = evaluate_metrics(&all);
    for (size_t i = 0; i < EVALUATE_STATIC_COUNT; i++) {
        kernel->metrics[i] = (evocc_metric){infos[i].name, r->metrics[i]};
    }
    evocc_compilation filled = {
        .struct_size = out->struct_size,
        .outcome = r->outcome,
        .metrics = kernel->metrics,
        .metric_count = r->outcome == EVOCC_OUTCOME_OK ? EVALUATE_STATIC_COUNT : 0,
        .detail = r->detail,
        .command = r->command,
        .code_hash = r->code_hash,
        .wall_s = r->wall_s,
        .code = kernel->code,
        .code_length = code_length,
    };
    memcpy(out, &filled, out->struct_size < sizeof filled ? out->struct_size : sizeof filled);
}

evocc_status evocc_kernel_compile(evocc_compilation *out, evocc_kernel *kernel,
                                  const int32_t *genes, bool with_code, evocc_error *error)
{
    if (out->struct_size < offsetof(evocc_compilation, detail)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "struct_size is %zu: begin with EVOCC_COMPILATION", out->struct_size);
    }
    strbuf text = {0};
    size_t length = 0;
    forget_result(kernel);
    evocc_status status = candidate_text(&text, kernel, genes, error);
    if (status == EVOCC_OK) {
        status = study_evaluate(&kernel->result, kernel->study, strbuf_text(&text), error);
    }
    if (status == EVOCC_OK && with_code && kernel->result.outcome == EVOCC_OUTCOME_OK) {
        status = study_compile(&kernel->code, &length, kernel->study, strbuf_text(&text), error);
    }
    if (status == EVOCC_OK) {
        fill_in(out, kernel, length);
    }
    strbuf_dispose(&text);
    return status;
}

/* ---- Save and load -------------------------------------------------------------------------- */

/* Only a file that is one of ours may be replaced. */
static evocc_status check_place(const char *path, evocc_error *error)
{
    char *text = NULL;
    size_t length = 0;
    if (!file_exists(path)) {
        return EVOCC_OK;
    }
    evocc_status status = file_read(&text, &length, path, ACF_SIZE_LIMIT, error);
    if (status == EVOCC_OK && length > 0 && !acf_is_ours(text, length)) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT,
                           "%s exists and is no ACF, so it is not replaced", path);
    }
    mem_free(text);
    return status;
}

/* The metrics of one compilation that does not fail. */
static evocc_status compile_metrics(double *metrics, char *code_hash, evocc_kernel *kernel,
                                    const char *candidate, evocc_error *error)
{
    evaluate_result result = {0};
    evocc_status status = study_evaluate(&result, kernel->study, candidate, error);
    if (status == EVOCC_OK && result.outcome != EVOCC_OUTCOME_OK) {
        status = error_set(error, EVOCC_PROCESS, "%s: %s",
                           *candidate == '\0' ? "the baseline does not compile"
                                              : "the candidate does not compile",
                           result.detail);
    }
    if (status == EVOCC_OK) {
        memcpy(metrics, result.metrics, EVALUATE_STATIC_COUNT * sizeof *metrics);
        memcpy(code_hash, result.code_hash, sizeof result.code_hash);
    }
    evaluate_result_dispose(&result);
    return status;
}

/* What the compiler counts; times differ from run to run and say nothing here. */
static size_t known_metrics(acf_metric *out, const double *baseline, const double *tuned)
{
    size_t count = 0;
    size_t all;
    const evaluate_metric_info *infos = evaluate_metrics(&all);
    for (size_t i = 0; i < EVALUATE_STATIC_COUNT; i++) {
        if (!isnan(baseline[i]) && !isnan(tuned[i]) && i != EVALUATE_COMPILE_TIME) {
            out[count++] =
                (acf_metric){.name = infos[i].name, .baseline = baseline[i], .tuned = tuned[i]};
        }
    }
    return count;
}

static evocc_status list_controls(acf_control **out, size_t *out_count, arena *texts,
                                  const evocc_space *space, const int32_t *genes,
                                  evocc_error *error)
{
    size_t count = 0;
    acf_control *controls = arena_alloc(texts, space_count(space) + 1, sizeof *controls);
    for (size_t i = 0; controls != NULL && i < space_count(space); i++) {
        if (genes[i] == SPACE_ABSENT) {
            continue;
        }
        const space_control *control = space_get(space, i);
        strbuf text = {0};
        space_value_text(&text, control, genes[i]);
        const char *value = text.failed ? NULL : arena_strdup(texts, strbuf_text(&text));
        strbuf_dispose(&text);
        if (value == NULL) {
            return error_no_memory(error);
        }
        controls[count++] = (acf_control){.full_name = control->full_name, .value = value};
    }
    *out = controls;
    *out_count = count;
    return controls == NULL ? error_no_memory(error) : EVOCC_OK;
}

static acf_target target_of(const study *s, const char *ptx)
{
    return (acf_target){.compiler = compiler_ptxas.name,
                        .version = s->compiler.version,
                        .arch = s->arch,
                        .kernel = *s->kernel == '\0' ? ACF_ALL_KERNELS : s->kernel,
                        .base = s->canonical_base,
                        .base_count = s->canonical_base_count,
                        .ptx = ptx};
}

static evocc_status write_acf(const acf *contents, const char *path, evocc_error *error)
{
    acf *file = NULL;
    strbuf text = {0};
    evocc_status status = acf_new(&file, contents, error);
    if (status == EVOCC_OK) {
        status = acf_write(&text, file, error);
    }
    if (status == EVOCC_OK) {
        status = file_write_atomic(path, text.data, text.length, error);
    }
    acf_free(file);
    strbuf_dispose(&text);
    return status;
}

evocc_status evocc_kernel_save(evocc_kernel *kernel, const int32_t *genes, const char *path,
                               evocc_error *error)
{
    const study *s = kernel->study;
    arena texts = {0};
    strbuf text = {0};
    strbuf found = {0};
    char ptx[PTX_NAME_SIZE];
    char code_hash[HASH_SHA256_TEXT];
    double baseline[EVALUATE_STATIC_COUNT];
    double tuned[EVALUATE_STATIC_COUNT];
    acf_metric metrics[EVALUATE_STATIC_COUNT];
    acf_control *controls = NULL;
    size_t control_count = 0;
    forget_result(kernel);
    ptx_normal_name(ptx, s->module);
    evocc_status status = check_place(path, error);
    if (status == EVOCC_OK) {
        status = candidate_text(&text, kernel, genes, error);
    }
    if (status == EVOCC_OK && text.length == 0) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT,
                           "%s: the candidate is the baseline, which needs no file", path);
    }
    if (status == EVOCC_OK) {
        status = compile_metrics(baseline, code_hash, kernel, "", error);
    }
    if (status == EVOCC_OK) {
        status = compile_metrics(tuned, code_hash, kernel, strbuf_text(&text), error);
    }
    if (status == EVOCC_OK) {
        status = list_controls(&controls, &control_count, &texts, study_space(s), genes, error);
    }
    if (status == EVOCC_OK) {
        strbuf_printf(&found, "evocc: %s\ncode: sha256:%s\n", evocc_version(), code_hash);
        acf contents = {.target = target_of(s, ptx),
                        .controls = controls,
                        .control_count = control_count,
                        .metrics = metrics,
                        .metric_count = known_metrics(metrics, baseline, tuned),
                        .found_extra = strbuf_text(&found)};
        status = found.failed ? error_no_memory(error) : write_acf(&contents, path, error);
    }
    arena_dispose(&texts);
    strbuf_dispose(&text);
    strbuf_dispose(&found);
    return status;
}

evocc_status evocc_kernel_load(int32_t *genes, const evocc_kernel *kernel, const char *path,
                               evocc_error *error)
{
    const study *s = kernel->study;
    char *text = NULL;
    size_t length = 0;
    acf *file = NULL;
    char ptx[PTX_NAME_SIZE];
    ptx_normal_name(ptx, s->module);
    acf_target here = target_of(s, ptx);
    evocc_status status = file_read(&text, &length, path, ACF_SIZE_LIMIT, error);
    if (status == EVOCC_OK) {
        status = acf_read(&file, text, length, path, error);
    }
    if (status == EVOCC_OK) {
        status = acf_match(file, &here, error);
    }
    if (status == EVOCC_OK) {
        status = acf_genes(genes, file, study_space(s), s->allow_numerics, error);
    }
    acf_free(file);
    mem_free(text);
    return status;
}
