/*
 * program.c: studies of a program of the host. Its file says how it is built, run and checked; the
 * controls are the compiler's own.
 */
#include "study/internal.h"

#include "evaluate/evaluate_program.h"
#include "util/error.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool study_is_program(const char *path)
{
    return program_is_one(path);
}

static evocc_status canonical_base(study *s, evocc_error *error)
{
    const program *p = s->program;
    compiler_command command = {0};
    for (size_t i = 0; i < s->base_count; i++) {
        compiler_command_add(&command, s->base[i]);
    }
    compiler_command_add(&command, "input.c");
    compiler_invocation read = {0};
    evocc_status status =
        command.failed ? error_no_memory(error)
                       : s->host->read_command(&read, (int)command.count, command.argv, error);
    if (status == EVOCC_OK && !read.understood) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "%s: base: %s", p->path, read.why_not);
    }
    if (status == EVOCC_OK) {
        s->canonical_base = arena_alloc(&s->texts, read.base_count + 1, sizeof *s->canonical_base);
        status = s->canonical_base != NULL ? EVOCC_OK : error_no_memory(error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < read.base_count; i++) {
        s->canonical_base[i] = study_keep(s, read.base[i]);
        status = s->canonical_base[i] != NULL ? EVOCC_OK : error_no_memory(error);
    }
    s->canonical_base_count = status == EVOCC_OK ? read.base_count : 0;
    compiler_invocation_dispose(&read);
    compiler_command_dispose(&command);
    return status;
}

static evocc_status copy_base(study *s, evocc_error *error)
{
    const program_words *base = &s->program->base;
    s->base = arena_alloc(&s->texts, base->count + 1, sizeof *s->base);
    s->base_count = 0;
    for (size_t i = 0; s->base != NULL && i < base->count; i++) {
        s->base[i] = arena_strdup(&s->texts, base->items[i]);
        if (s->base[i] == NULL) {
            return error_no_memory(error);
        }
        s->base_count++;
    }
    return s->base != NULL ? canonical_base(s, error) : error_no_memory(error);
}

static evocc_status read_file(study *s, evocc_error *error)
{
    const char *path = s->input_file != NULL ? s->input_file : s->input_path;
    if (s->base_count > 0 && s->store == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "options of the compiler stand in the program file, as `base`, not behind "
                         "--");
    }
    evocc_status status = program_read(&s->program, path, error);
    if (status == EVOCC_OK) {
        s->input = mem_strdup(s->program->digest);
        s->input_length = sizeof s->program->digest - 1;
        s->host = compiler_by_name(s->program->compiler);
        s->kernel = "";
        s->whole_module = true;
        status = s->input != NULL ? copy_base(s, error) : error_no_memory(error);
    }
    return status;
}

static evocc_status find_compiler(study *s, const char *given, evocc_error *error)
{
    char *path = NULL;
    const char *named = given != NULL ? given : s->program->compiler_path;
    evocc_status status = compiler_find(&path, s->host->name, named, error);
    if (status == EVOCC_OK) {
        status = launcher_new(&s->launcher, error);
    }
    if (status == EVOCC_OK) {
        status = s->host->identify(&s->compiler, s->launcher, path, error);
    }
    if (status == EVOCC_OK) {
        s->arch = study_keep(s, s->compiler.default_arch);
        status = s->arch != NULL ? EVOCC_OK : error_no_memory(error);
    }
    mem_free(path);
    return status;
}

static bool keep_control(const space_control *control, void *context)
{
    const study *s = context;
    return control->numerics == SPACE_EXACT || s->allow_numerics;
}

static evocc_status make_space(study *s, evocc_error *error)
{
    evocc_space *options = NULL;
    evocc_status status = space_new(&s->space, error);
    if (status == EVOCC_OK) {
        status = s->host->make_space(&options, s->launcher, &s->compiler, s->arch, s->base,
                                     s->base_count, error);
    }
    if (status == EVOCC_OK) {
        status = space_add_all(s->space, options, keep_control, s, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(s->space, error);
    }
    space_free(options);
    return status;
}

static bool wants(const study *s, const char *metric)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        if (strcmp(s->objectives.items[i].metric, metric) == 0) {
            return true;
        }
    }
    return false;
}

static evocc_status check_objectives(const study *s, evocc_error *error)
{
    const program *p = s->program;
    static const char *const known[] = {"runtime", "code_bytes", "compile_time", "score"};
    for (size_t i = 0; i < s->objectives.count; i++) {
        const char *name = s->objectives.items[i].metric;
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            found = found || strcmp(name, known[k]) == 0;
        }
        if (!found) {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "a program has no metric '%s'; it has runtime, code_bytes, "
                             "compile_time, score",
                             name);
        }
    }
    if (wants(s, "runtime") && p->run.count == 0) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "%s: runtime needs a `run` command in the file", p->path);
    }
    if (wants(s, "score") && p->score == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "%s: score needs a `score` in the file: the text before the number",
                         p->path);
    }
    return EVOCC_OK;
}

static evocc_status make_evaluator(study *s, evocc_error *error)
{
    const evaluate_program_options options = {
        .program = s->program,
        .compiler = s->host,
        .identity = &s->compiler,
        .space = s->space,
        .launcher = s->launcher,
        .workers = s->workers,
        .time = wants(s, "runtime"),
    };
    size_t count;
    memcpy(s->metric_rows, evaluate_metrics(&count),
           EVALUATE_METRIC_COUNT * sizeof *s->metric_rows);
    s->metric_count = EVALUATE_METRIC_COUNT;
    evocc_status status = evaluate_program_new(&s->compiling, &options, error);
    s->evaluator = s->compiling;
    return status;
}

evocc_status study_prepare_program(study *s, const char *given, evocc_error *error)
{
    evocc_status status = read_file(s, error);
    if (status == EVOCC_OK) {
        status = check_objectives(s, error);
    }
    if (status == EVOCC_OK) {
        status = find_compiler(s, given, error);
    }
    if (status == EVOCC_OK) {
        status = make_space(s, error);
    }
    return status == EVOCC_OK ? make_evaluator(s, error) : status;
}

/* ---- The end of the study ------------------------------------------------------------------ */

evocc_status study_compare_program(bool *failed, char detail[EVOCC_ERROR_SIZE], study *s,
                                   const char *candidate, const stats_plan *plan, int wake_fd,
                                   study_program_pair *each, void *context, evocc_error *error)
{
    evocc_outcome outcome = EVOCC_OUTCOME_OK;
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    evocc_status status = genes != NULL ? space_candidate_parse(genes, s->space, candidate, error)
                                        : error_no_memory(error);
    if (status == EVOCC_OK) {
        status = evaluate_program_compare(&outcome, detail, s->evaluator, genes, plan, wake_fd,
                                          each, context, error);
    }
    *failed = outcome != EVOCC_OUTCOME_OK;
    mem_free(genes);
    return status;
}

const compiler *study_compiler(const study *s)
{
    return s->host != NULL ? s->host : &compiler_ptxas;
}

evocc_status study_build_code(char **out, size_t *length, study *s, const int32_t *genes,
                              evocc_error *error)
{
    return s->program != NULL ? evaluate_program_code(out, length, s->compiling, genes, error)
                              : evaluate_static_cubin(out, length, s->compiling, genes, error);
}
