/*
 * The study file as a study sees it: what is saved when it begins, compared when it goes on.
 */
#include "study/internal.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/files.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The study file
 * ------------------------------------------------------------------------------- */

/* What the study works on and with; compared by name when it is resumed. */
typedef struct environment_field {
    bool on_gpu;       /* only of studies that measure */
    const char *name;  /* in the study file */
    const char *words; /* in messages */
    const char *remedy;
    void (*text)(strbuf *out, const study *s);
} environment_field;

static void input_digest(strbuf *out, const study *s)
{
    char digest[HASH_SHA256_TEXT];
    hash_sha256(digest, s->input, s->input_length);
    strbuf_puts(out, digest);
}

static void compiler_version(strbuf *out, const study *s)
{
    strbuf_puts(out, s->compiler.version);
}

static void compiler_file(strbuf *out, const study *s)
{
    strbuf_printf(out, "%s, %" PRIu64 " bytes, mtime %" PRId64 " ns", s->compiler.path,
                  s->compiler.size_bytes, s->compiler.modified_ns);
}

static void space_text(strbuf *out, const study *s)
{
    char digest[HASH_SHA256_TEXT];
    space_digest(digest, s->space);
    strbuf_puts(out, digest);
}

static void workload_digest(strbuf *out, const study *s)
{
    strbuf_puts(out, s->kernel_run.digest);
}

static void front_end(strbuf *out, const study *s)
{
    strbuf_puts(out, s->kernel_run.front_end);
}

static void gpu_name(strbuf *out, const study *s)
{
    strbuf_puts(out, study_gpu(s)->name);
}

static void gpu_uuid(strbuf *out, const study *s)
{
    strbuf_puts(out, study_gpu(s)->uuid);
}

static void gpu_driver(strbuf *out, const study *s)
{
    const gpu_info *info = study_gpu(s);
    strbuf_printf(out, "%s, CUDA %d.%d", *info->driver != '\0' ? info->driver : "unknown",
                  info->cuda_version / 1000, info->cuda_version % 1000 / 10);
}

static const environment_field environment[] = {
    {true, "workload_sha256", "the workload, or a file that it names,", "restore it",
     workload_digest},
    {true, "front_end", "the compiler that makes the PTX", "use the old one", front_end},
    {false, "input_sha256", "the input file", "restore it", input_digest},
    {false, "compiler_version", "the version of ptxas", "name the old one with --ptxas",
     compiler_version},
    {false, "compiler_file", "the file of ptxas", "name the old one with --ptxas", compiler_file},
    {false, "space_sha256", "the search space", "use the evocc that started the study", space_text},
    {true, "gpu_name", "the GPU", "choose the old one with --gpu", gpu_name},
    {true, "gpu_uuid", "the GPU", "choose the old one with --gpu", gpu_uuid},
    {true, "gpu_driver", "the GPU's driver", "go back to the old one", gpu_driver},
};
enum { ENVIRONMENT_COUNT = sizeof environment / sizeof environment[0] };

static evocc_status check_environment(study *s, evocc_error *error)
{
    for (size_t i = 0; i < ENVIRONMENT_COUNT; i++) {
        const environment_field *field = &environment[i];
        if (field->on_gpu && study_gpu(s) == NULL) {
            continue;
        }
        strbuf now = {0};
        char *then = NULL;
        field->text(&now, s);
        evocc_status status =
            now.failed ? error_no_memory(error) : store_get(&then, s->store, field->name, error);
        if (status == EVOCC_OK && strcmp(then, strbuf_text(&now)) != 0) {
            status = error_set(error, EVOCC_MISMATCH,
                               "%s: %s has changed since the study began (was %s, is %s): %s, or "
                               "start a new study with --study",
                               s->path, field->words, then, strbuf_text(&now), field->remedy);
        }
        mem_free(then);
        strbuf_dispose(&now);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

static evocc_status set_number(study *s, const char *name, double value, evocc_error *error)
{
    strbuf text = {0};
    strbuf_number(&text, value);
    evocc_status status =
        text.failed ? error_no_memory(error) : store_set(s->store, name, strbuf_text(&text), error);
    strbuf_dispose(&text);
    return status;
}

static evocc_status set_integer(study *s, const char *name, uint64_t value, evocc_error *error)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return store_set(s->store, name, text, error);
}

/* The same file, from whatever folder it is asked for. */
static const char *absolute(study *s, const char *path)
{
    char folder[PATH_MAX];
    if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL) {
        return study_keep(s, path);
    }
    strbuf text = {0};
    strbuf_printf(&text, "%s/%s", folder, path);
    const char *kept = text.failed ? NULL : study_keep(s, strbuf_text(&text));
    strbuf_dispose(&text);
    return kept;
}

static evocc_status save_texts(study *s, evocc_error *error)
{
    strbuf base = {0};
    strbuf objectives = {0};
    for (size_t i = 0; i < s->base_count; i++) {
        strbuf_printf(&base, "%s\n", s->base[i]);
    }
    objective_list_text(&objectives, &s->objectives);
    char started[CLOCK_TEXT];
    clock_utc_text(started);
    const struct {
        const char *name, *value;
    } settings[] = {
        {"evocc_version", evocc_version()},
        {"started_utc", started},
        {"input_path", s->input_path},
        {"seeds", s->seeds},
        {"input_file", s->input_file},
        {"output", absolute(s, s->output)},
        {"arch", s->arch},
        {"kernel", s->kernel},
        {"whole_module", s->whole_module ? "yes" : "no"},
        {"allow_numerics", s->allow_numerics ? "yes" : "no"},
        {"keep_parameters", s->kernel_run.keep_parameters ? "yes" : "no"},
        {"base", strbuf_text(&base)},
        {"objectives", strbuf_text(&objectives)},
        {"compiler", study_compiler(s)->name},
        {"compiler_path", s->compiler.path},
    };
    evocc_status status = base.failed || objectives.failed ? error_no_memory(error) : EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < sizeof settings / sizeof settings[0]; i++) {
        status = settings[i].value == NULL
                     ? error_no_memory(error)
                     : store_set(s->store, settings[i].name, settings[i].value, error);
    }
    strbuf_dispose(&base);
    strbuf_dispose(&objectives);
    return status;
}

static evocc_status save_numbers(study *s, evocc_error *error)
{
    search_progress progress;
    search_get_progress(&progress, s->search);
    const struct {
        const char *name;
        uint64_t value;
    } settings[] = {
        {"pool_size", s->search_options.pool_size},
        {"cull_size", s->search_options.cull_size},
        {"generations", s->search_options.generations},
        {"seed", s->search_options.seed},
        {"lag", s->search_options.lag},
        {"max_trials", s->search_options.max_trials},
        {"stale_generations", s->search_options.stale_generations},
        {"survival", (uint64_t)s->search_options.survival},
        {"prescreen", s->search_options.prescreen},
        {"budget", progress.budget},
    };
    evocc_status status = set_number(s, "mutate_rate", s->search_options.mutate_rate, error);
    if (status == EVOCC_OK) {
        status = set_number(s, "deadline_s", s->deadline_s, error);
    }
    if (status == EVOCC_OK) {
        status = set_number(s, "max_time_s", s->max_time_s, error);
    }
    if (status == EVOCC_OK) {
        status = set_number(s, "target", s->target, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < sizeof settings / sizeof settings[0]; i++) {
        status = set_integer(s, settings[i].name, settings[i].value, error);
    }
    return status;
}

/* "complete" comes last: a file without it was never a study. */
static evocc_status save(study *s, evocc_error *error)
{
    evocc_status status = save_texts(s, error);
    if (status == EVOCC_OK) {
        status = save_numbers(s, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < ENVIRONMENT_COUNT; i++) {
        if (environment[i].on_gpu && study_gpu(s) == NULL) {
            continue;
        }
        strbuf text = {0};
        environment[i].text(&text, s);
        status = text.failed ? error_no_memory(error)
                             : store_set(s->store, environment[i].name, strbuf_text(&text), error);
        strbuf_dispose(&text);
    }
    if (status == EVOCC_OK) {
        status = store_put_artifact(s->store, "input", s->input, s->input_length, error);
    }
    return status == EVOCC_OK ? store_set(s->store, "complete", "yes", error) : status;
}

/* ---- New studies
 * ----------------------------------------------------------------------------------- */

/* <input name><ending> in the current folder. */
static const char *named_after_input(study *s, const char *ending)
{
    const char *name = path_base(s->input_path);
    const char *dot = strrchr(name, '.');
    size_t stem = dot == NULL || dot == name ? strlen(name) : (size_t)(dot - name);
    size_t length = strlen(ending) + 1;
    char *path = arena_alloc(&s->texts, stem + length, 1);
    if (path != NULL) {
        memcpy(path, name, stem);
        memcpy(path + stem, ending, length);
    }
    return path;
}

static evocc_status copy_options(study *s, const study_options *options, evocc_error *error)
{
    s->input_path = study_keep(s, options->input_path);
    s->arch = study_keep(s, options->arch);
    s->kernel = study_keep(s, options->kernel);
    s->base = arena_alloc(&s->texts, options->base_count + 1, sizeof *s->base);
    s->path = options->study_path == NULL ? named_after_input(s, ".db")
                                          : study_keep(s, options->study_path);
    const char *ending = options->objectives.count > 1 ? ".front" : ".acf";
    s->output = options->output_path == NULL ? named_after_input(s, ending)
                                             : study_keep(s, options->output_path);
    s->input_file = absolute(s, s->input_path);
    if (s->output == NULL || s->input_file == NULL || s->input_path == NULL || s->arch == NULL ||
        s->kernel == NULL || s->base == NULL || s->path == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < options->base_count; i++) {
        s->base[i] = arena_strdup(&s->texts, options->base[i]);
        if (s->base[i] == NULL) {
            return error_no_memory(error);
        }
    }
    s->base_count = options->base_count;
    s->whole_module = options->whole_module;
    s->is_program = study_is_program(s->input_path);
    s->allow_numerics = options->allow_numerics;
    s->kernel_run.device = study_keep(s, options->gpu);
    s->kernel_run.keep_parameters = options->keep_parameters;
    s->objectives = options->objectives;
    s->workers = options->workers;
    s->deadline_s = options->deadline_s;
    /* Written out, so that a study goes on as it began should the defaults ever change. */
    enum { POOL_SIZE = 32, CULL_SIZE = 24, GENERATIONS = 20 };
    /* Where a GPU measures, candidates to come are compiled meanwhile. So many are under way that
       16 cores keep a GPU busy that takes 40 a second, at 0.2 s a compilation and as many waiting.
     */
    enum { LAG = 24 };
    s->search_options = (search_options){
        .pool_size = options->pool_size > 0 ? options->pool_size : POOL_SIZE,
        .cull_size = options->cull_size > 0 ? options->cull_size : CULL_SIZE,
        .generations = options->generations > 0 ? options->generations : GENERATIONS,
        .mutate_rate = options->mutate_rate > 0 ? options->mutate_rate : 0.1,
        .seed = options->seed,
        .lag = options->lag_given                                   ? options->lag
               : !s->is_program && study_is_workload(s->input_path) ? LAG
                                                                    : 0,
        .max_trials = options->max_trials,
        .stale_generations = options->stale_generations,
        .survival = options->survival,
        .prescreen = options->prescreen,
    };
    s->max_time_s = options->max_time_s;
    s->target = options->target;
    return s->kernel_run.device != NULL ? EVOCC_OK : error_no_memory(error);
}

/* Objectives that are there by themselves. */
static evocc_status default_objectives(study *s, evocc_error *error)
{
    return s->objectives.count == 0 && (s->is_program || study_is_workload(s->input_path))
               ? objective_list_add(&s->objectives, "runtime", false, error)
               : EVOCC_OK;
}

evocc_status study_preview(study **out, const study_options *options, evocc_error *error)
{
    study *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = copy_options(s, options, error);
    if (status == EVOCC_OK) {
        status = study_read_seeds(s, options, error);
    }
    if (status == EVOCC_OK) {
        status = default_objectives(s, error);
    }
    if (status == EVOCC_OK && s->objectives.count == 0) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT,
                           "a study needs an objective: --minimize METRIC");
    }
    if (status == EVOCC_OK) {
        status = study_prepare(s, options->ptxas, error);
    }
    if (status != EVOCC_OK) {
        study_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

evocc_status study_create(study **out, const study_options *options, evocc_error *error)
{
    study *s = NULL;
    evocc_status status = study_preview(&s, options, error);
    if (status == EVOCC_OK) {
        status = study_check_output(s, error);
    }
    if (status == EVOCC_OK && s->kernel_run.workload != NULL) {
        status = study_open_gpu(s, error);
    }
    if (status == EVOCC_OK) {
        status = store_create(&s->store, s->path, error);
    }
    if (status == EVOCC_OK) {
        status = save(s, error);
        s->worthless = status != EVOCC_OK;
    }
    if (status != EVOCC_OK) {
        study_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}

/* ---- Resumed studies
 * -------------------------------------------------------------------------------- */

static evocc_status load_text(const char **out, study *s, const char *name, evocc_error *error)
{
    char *value = NULL;
    evocc_status status = store_get(&value, s->store, name, error);
    if (status == EVOCC_OK) {
        *out = study_keep(s, value);
        mem_free(value);
        status = *out == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    return status;
}

static evocc_status load_size(size_t *out, study *s, const char *name, evocc_error *error)
{
    const char *text = "";
    evocc_status status = load_text(&text, s, name, error);
    *out = (size_t)strtoull(text, NULL, 10);
    return status;
}

static evocc_status load_number(double *out, study *s, const char *name, evocc_error *error)
{
    const char *text = "";
    evocc_status status = load_text(&text, s, name, error);
    *out = strtod(text, NULL);
    return status;
}

static evocc_status load_base(study *s, evocc_error *error)
{
    const char *text = "";
    evocc_status status = load_text(&text, s, "base", error);
    if (status != EVOCC_OK) {
        return status;
    }
    size_t count = 0;
    for (const char *c = text; *c != '\0'; c++) {
        count += *c == '\n';
    }
    s->base = arena_alloc(&s->texts, count + 1, sizeof *s->base);
    if (s->base == NULL) {
        return error_no_memory(error);
    }
    for (; s->base_count < count; s->base_count++) {
        size_t length = strcspn(text, "\n");
        s->base[s->base_count] = arena_strndup(&s->texts, text, length);
        if (s->base[s->base_count] == NULL) {
            return error_no_memory(error);
        }
        text += length + 1;
    }
    return EVOCC_OK;
}

static evocc_status load_texts(study *s, evocc_error *error)
{
    const char *whole = "";
    const char *numerics = "";
    const char *compiler_name = "";
    const char *objectives = "";
    const struct {
        const char *name;
        const char **out;
    } texts[] = {
        {"input_path", &s->input_path},
        {"input_file", &s->input_file},
        {"arch", &s->arch},
        {"kernel", &s->kernel},
        {"whole_module", &whole},
        {"compiler", &compiler_name},
        {"allow_numerics", &numerics},
        {"objectives", &objectives},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        evocc_status status = load_text(texts[i].out, s, texts[i].name, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    s->whole_module = strcmp(whole, "yes") == 0;
    s->is_program = strcmp(compiler_name, compiler_ptxas.name) != 0;
    s->allow_numerics = strcmp(numerics, "yes") == 0;
    const char *keep = "";
    s->kernel_run.keep_parameters =
        load_text(&keep, s, "keep_parameters", NULL) == EVOCC_OK && strcmp(keep, "yes") == 0;
    return objective_list_parse(&s->objectives, objectives, error);
}

/* What a study begun by an older evocc does not state is 0: it had no such setting. */
static void load_search(study *s)
{
    size_t stale = 0;
    size_t survival = 0;
    size_t prescreen = 0;
    size_t trials = 0;
    const struct {
        const char *name;
        size_t *out;
    } sizes[] = {
        {"time_up_at", &s->time_up_at}, {"lag", &s->search_options.lag}, {"max_trials", &trials},
        {"stale_generations", &stale},  {"survival", &survival},         {"prescreen", &prescreen},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (load_size(sizes[i].out, s, sizes[i].name, NULL) != EVOCC_OK) {
            *sizes[i].out = 0;
        }
    }
    s->search_options.max_trials = trials;
    s->search_options.stale_generations = (uint32_t)stale;
    s->search_options.survival = (search_survival)survival;
    s->search_options.prescreen = prescreen != 0;
    if (load_number(&s->max_time_s, s, "max_time_s", NULL) != EVOCC_OK) {
        s->max_time_s = 0;
    }
    if (load_text(&s->seeds, s, "seeds", NULL) != EVOCC_OK) {
        s->seeds = "";
    }
    if (load_number(&s->target, s, "target", NULL) != EVOCC_OK) {
        s->target = 0;
    }
}

static evocc_status load_numbers(study *s, evocc_error *error)
{
    size_t seed = 0;
    const struct {
        const char *name;
        size_t *out;
    } sizes[] = {
        {"pool_size", &s->search_options.pool_size},
        {"cull_size", &s->search_options.cull_size},
        {"generations", &s->search_options.generations},
        {"seed", &seed},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        evocc_status status = load_size(sizes[i].out, s, sizes[i].name, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    s->search_options.seed = seed;
    load_search(s);
    evocc_status status = load_number(&s->search_options.mutate_rate, s, "mutate_rate", error);
    if (status == EVOCC_OK) {
        status = load_number(&s->deadline_s, s, "deadline_s", error);
    }
    if (load_number(&s->elapsed_before_s, s, "elapsed_s", NULL) != EVOCC_OK) {
        s->elapsed_before_s = 0; /* stopped before its first trial */
    }
    return status;
}

/* Equal code is not measured again because a study was broken off in between. */
static evocc_status tell_evaluator(study *s, const store_trial *trial, const double *metrics,
                                   evocc_error *error)
{
    evaluator *e = s->evaluator;
    if (e->class->know == NULL) {
        return EVOCC_OK;
    }
    evaluate_result result = {.outcome = trial->outcome};
    size_t length = strlen(trial->code_hash);
    memcpy(result.code_hash, trial->code_hash,
           length < sizeof result.code_hash ? length : sizeof result.code_hash - 1);
    memcpy(result.metrics, metrics, sizeof result.metrics);
    result.detail = mem_strdup(trial->detail);
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    evocc_status status = genes == NULL || result.detail == NULL
                              ? error_no_memory(error)
                              : space_candidate_parse(genes, s->space, trial->candidate, error);
    if (status == EVOCC_OK) {
        status = e->class->know(e, genes, &result, error);
    }
    mem_free(genes);
    evaluate_result_dispose(&result);
    return status;
}

static evocc_status note_known(const store_trial *trial, void *context, evocc_error *error)
{
    study *s = context;
    if (trial->id >= s->known_count) {
        size_t capacity = s->known_count;
        size_t old = s->known_count;
        if (trial->id > UINT32_MAX ||
            !mem_grow(&s->known, &capacity, (size_t)trial->id + 1, sizeof *s->known)) {
            return error_no_memory(error);
        }
        memset(s->known + old, 0, (capacity - old) * sizeof *s->known);
        s->known_count = capacity;
    }
    study_known *known = &s->known[trial->id];
    known->present = true;
    known->outcome = trial->outcome;
    known->candidate = hash128_of(trial->candidate, strlen(trial->candidate), 0);
    double metrics[EVALUATE_METRICS_MAX];
    size_t count;
    const evaluate_metric_info *infos = study_metrics(s, &count);
    for (size_t i = 0; i < EVALUATE_METRICS_MAX; i++) {
        metrics[i] = (double)NAN;
        for (size_t m = 0; m < trial->metric_count; m++) {
            if (i < count && strcmp(trial->metric_names[m], infos[i].name) == 0) {
                metrics[i] = trial->metrics[m];
            }
        }
    }
    study_objective_values(known->values, s, metrics);
    size_t length = strlen(trial->code_hash);
    if (length > 0 && map_get(&s->codes, trial->code_hash, length) == MAP_NONE) {
        const char *key = study_keep(s, trial->code_hash);
        if (key == NULL || !map_put(&s->codes, key, length, (size_t)trial->id)) {
            return error_no_memory(error);
        }
    }
    s->shared += trial->shared;
    return tell_evaluator(s, trial, metrics, error);
}

/* The same GPU, under whatever index it is to be found now. */
static evocc_status load_gpu(study *s, const char *device, evocc_error *error)
{
    if (device != NULL || s->is_program || !study_is_workload(s->input_path)) {
        s->kernel_run.device = study_keep(s, device);
        return s->kernel_run.device != NULL ? EVOCC_OK : error_no_memory(error);
    }
    return load_text(&s->kernel_run.device, s, "gpu_uuid", error);
}

/* Opens it. One that is not there any more has changed. */
static evocc_status find_gpu(study *s, bool chosen, evocc_error *error)
{
    evocc_error why = {0};
    evocc_status status = s->kernel_run.workload != NULL ? study_open_gpu(s, &why) : EVOCC_OK;
    if (status == EVOCC_NOT_FOUND && !chosen) {
        return error_set(error, EVOCC_MISMATCH,
                         "%s: the GPU has changed since the study began: %s: choose the old one "
                         "with --gpu, or start a new study with --study",
                         s->path, why.message);
    }
    return status == EVOCC_OK ? EVOCC_OK : error_set(error, status, "%s", why.message);
}

/* What the study began with, unless the caller says otherwise. */
static evocc_status load_places(study *s, const char **ptxas, const char *output,
                                evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    if (*ptxas == NULL) {
        status = load_text(ptxas, s, "compiler_path", error);
    }
    if (status == EVOCC_OK && output == NULL) {
        return load_text(&s->output, s, "output", error);
    }
    s->output = study_keep(s, output);
    return status == EVOCC_OK && s->output == NULL ? error_no_memory(error) : status;
}

evocc_status study_resume(study **out, const char *path, const char *ptxas, const char *device,
                          const char *output_path, size_t workers, evocc_error *error)
{
    study *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    s->workers = workers;
    s->path = study_keep(s, path);
    char *complete = NULL;
    evocc_status status =
        s->path == NULL ? error_no_memory(error) : store_open(&s->store, path, error);
    if (status == EVOCC_OK && store_get(&complete, s->store, "complete", NULL) != EVOCC_OK) {
        status = error_set(error, EVOCC_DAMAGED,
                           "%s: the study was stopped before it began; remove the file and start "
                           "again",
                           path);
    }
    mem_free(complete);
    if (status == EVOCC_OK) {
        status = load_texts(s, error);
    }
    if (status == EVOCC_OK) {
        status = load_base(s, error);
    }
    if (status == EVOCC_OK) {
        status = load_numbers(s, error);
    }
    if (status == EVOCC_OK) {
        status = load_places(s, &ptxas, output_path, error);
    }
    if (status == EVOCC_OK) {
        status = load_gpu(s, device, error);
    }
    if (status == EVOCC_OK) {
        status = study_prepare(s, ptxas, error);
    }
    if (status == EVOCC_OK) {
        status = find_gpu(s, device != NULL, error);
    }
    if (status == EVOCC_OK) {
        status = check_environment(s, error);
    }
    if (status == EVOCC_OK) {
        status = study_check_output(s, error);
    }
    if (status == EVOCC_OK) {
        status = store_each_trial(s->store, note_known, s, error);
    }
    if (status != EVOCC_OK) {
        study_free(s);
        return status;
    }
    *out = s;
    return EVOCC_OK;
}
