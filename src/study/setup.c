#include "study/internal.h"

#include "evaluate/evaluate_workload.h"
#include "util/error.h"
#include "util/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_LIMIT = 256 << 20 };

void study_free(study *s)
{
    if (s == NULL) {
        return;
    }
    search_free(s->search);
    if (s->evaluator != NULL && s->evaluator != s->compiling) {
        s->evaluator->class->free(s->evaluator);
    }
    if (s->compiling != NULL) {
        s->compiling->class->free(s->compiling);
    }
    study_kernel_dispose(&s->kernel_run);
    launcher_free(s->launcher);
    if (s->worthless) {
        store_discard(s->store);
    } else {
        store_free(s->store);
    }
    space_free(s->space);
    compiler_identity_dispose(&s->compiler);
    program_free(s->program);
    ptx_free(s->module);
    mem_free(s->input);
    mem_free(s->known);
    map_dispose(&s->codes);
    arena_dispose(&s->texts);
    mem_free(s);
}

const char *study_keep(study *s, const char *text)
{
    return arena_strdup(&s->texts, text == NULL ? "" : text);
}

/* ---- Input and kernel ---------------------------------------------------------------------------
 */

static evocc_status read_input(study *s, evocc_error *error)
{
    if (study_is_workload(s->input_path)) {
        evocc_status read = study_read_workload(s, error);
        return read == EVOCC_OK ? study_read_module(s, error) : read;
    }
    const char *path = s->input_file != NULL ? s->input_file : s->input_path;
    evocc_status status = file_read(&s->input, &s->input_length, path, INPUT_LIMIT, error);
    if (status != EVOCC_OK) {
        return status;
    }
    return ptx_parse(&s->module, s->input, s->input_length, s->input_path, error);
}

static evocc_status name_kernels(const study *s, const char *problem, evocc_error *error)
{
    strbuf names = {0};
    size_t count = ptx_entry_count(s->module);
    for (size_t i = 0; i < count && names.length < 300; i++) {
        strbuf_printf(&names, "%s%s", i == 0 ? "" : ", ", ptx_entry_name(s->module, i));
    }
    evocc_status status =
        error_set(error, EVOCC_INVALID_ARGUMENT, "%s %s: it has %zu: %s%s", s->input_path, problem,
                  count, strbuf_text(&names), names.length < 300 ? "" : ", ...");
    strbuf_dispose(&names);
    return status;
}

/* Settles which entry is tuned; "" means all of them. */
static evocc_status choose_kernel(study *s, evocc_error *error)
{
    size_t count = ptx_entry_count(s->module);
    if (count == 0) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "%s has no kernel: evocc tunes a .entry with a body", s->input_path);
    }
    if (*s->kernel != '\0') {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(ptx_entry_name(s->module, i), s->kernel) == 0) {
                return EVOCC_OK;
            }
        }
        char problem[200];
        snprintf(problem, sizeof problem, "has no kernel '%s'", s->kernel);
        return name_kernels(s, problem, error);
    }
    if (count == 1) {
        s->kernel = study_keep(s, ptx_entry_name(s->module, 0));
        return s->kernel == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    return s->whole_module
               ? EVOCC_OK
               : name_kernels(s,
                              "has more than one kernel; choose with --kernel NAME, or count all "
                              "with --whole-module",
                              error);
}

/* ---- Compiler and space
 * --------------------------------------------------------------------------- */

static evocc_status check_compiler(const study *s, evocc_error *error)
{
    const compiler_identity *c = &s->compiler;
    if (!compiler_accepts_arch(c, s->arch)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "%s (%s) does not know the architecture '%s'; it knows: %s", c->path,
                         c->version, s->arch, c->archs);
    }
    int version = ptx_version(s->module);
    if (c->max_ptx_version > 0 && version > c->max_ptx_version) {
        return error_set(
            error, EVOCC_UNSUPPORTED,
            "%s is PTX %d.%d, but %s (%s) reads at most %d.%d: name a newer ptxas with "
            "--ptxas",
            s->input_path, version / 10, version % 10, c->path, c->version, c->max_ptx_version / 10,
            c->max_ptx_version % 10);
    }
    return EVOCC_OK;
}

static evocc_status find_compiler(study *s, const char *given, evocc_error *error)
{
    char *path = NULL;
    evocc_status status = compiler_find(&path, "ptxas", given, error);
    if (status == EVOCC_OK && s->launcher == NULL) {
        status = launcher_new(&s->launcher, error);
    }
    if (status == EVOCC_OK) {
        status = compiler_ptxas.identify(&s->compiler, s->launcher, path, error);
    }
    mem_free(path);
    return status == EVOCC_OK ? check_compiler(s, error) : status;
}

/* The user's own options in the form that ACFs and the wrapper compare. */
static evocc_status canonical_base(study *s, evocc_error *error)
{
    compiler_command command = {0};
    for (size_t i = 0; i < s->base_count; i++) {
        compiler_command_add(&command, s->base[i]);
    }
    compiler_command_add(&command, "kernel.ptx"); /* any: its name is no option */
    if (command.failed) {
        compiler_command_dispose(&command);
        return error_no_memory(error);
    }
    compiler_invocation read = {0};
    evocc_status status =
        compiler_ptxas.read_command(&read, (int)command.count, command.argv, error);
    if (status == EVOCC_OK && !read.understood) {
        status =
            error_set(error, EVOCC_INVALID_ARGUMENT, "ptxas options after --: %s", read.why_not);
    } else if (status == EVOCC_OK && read.output != NULL) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT,
                           "ptxas options after --: -o is evocc's own and stands before the --");
    } else if (status == EVOCC_OK && *read.arch != '\0') {
        status = error_set(error, EVOCC_INVALID_ARGUMENT,
                           "ptxas options after --: the architecture is stated with --arch, before "
                           "the --");
    }
    if (status == EVOCC_OK) {
        s->canonical_base = arena_alloc(&s->texts, read.base_count + 1, sizeof *s->canonical_base);
        for (size_t i = 0; s->canonical_base != NULL && i < read.base_count; i++) {
            s->canonical_base[i] = study_keep(s, read.base[i]);
        }
        s->canonical_base_count = read.base_count;
        status = s->canonical_base == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    compiler_invocation_dispose(&read);
    compiler_command_dispose(&command);
    return status;
}

static evocc_status add_ptx_controls(study *s, evocc_error *error)
{
    ptx_limits limits = {.max_version = s->compiler.max_ptx_version,
                         .searched_only = true,
                         .allow_numerics = s->allow_numerics};
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < ptx_entry_count(s->module) && status == EVOCC_OK; i++) {
        const char *entry = ptx_entry_name(s->module, i);
        if (*s->kernel == '\0' || strcmp(s->kernel, entry) == 0) {
            status = ptx_add_controls(s->space, s->module, entry, &limits, error);
        }
    }
    return status;
}

static bool in_group(const space_control *control, const char *group)
{
    return control->group != NULL && strcmp(control->group, group) == 0;
}

/* Levels of optimisation are left out where they change results; bounds on registers where they
   size the pool that setmaxnreg draws on (PTX ISA, "setmaxnreg"): a pool that is too small stops
   the kernel for ever. */
static bool keep_control(const space_control *control, void *context)
{
    const study *s = context;
    bool exact =
        control->numerics == SPACE_EXACT && (s->levels_exact || !in_group(control, "effort"));
    return (exact || s->allow_numerics) &&
           !(in_group(control, "registers") && ptx_uses_opcode(s->module, "setmaxnreg"));
}

/* ptxas options reach the whole module: with several entries they are searched only when all of
   them count. */
static evocc_status make_space(study *s, evocc_error *error)
{
    evocc_space *options = NULL;
    evocc_status status = space_new(&s->space, error);
    if (status == EVOCC_OK) {
        status = study_add_parameters(s, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_unrolling_is_exact(&s->levels_exact, s->module, error);
    }
    if (status == EVOCC_OK && (s->whole_module || ptx_entry_count(s->module) == 1)) {
        status = compiler_ptxas.make_space(&options, s->launcher, &s->compiler, s->arch, s->base,
                                           s->base_count, error);
        if (status == EVOCC_OK) {
            status = space_add_all(s->space, options, keep_control, s, error);
        }
    }
    size_t before = status == EVOCC_OK ? space_count(s->space) : 0;
    if (status == EVOCC_OK) {
        status = add_ptx_controls(s, error);
    }
    if (status == EVOCC_OK) {
        status = study_bind_ptx_controls(s, before, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(s->space, error);
    }
    space_free(options);
    return status;
}

static evocc_status make_evaluator(study *s, evocc_error *error)
{
    evaluate_static_options options = {
        .module = s->module,
        .module_path = s->input_path,
        .entry = s->whole_module ? NULL : s->kernel,
        .arch = s->arch,
        .ptxas = &s->compiler,
        .base = s->base,
        .base_count = s->base_count,
        .space = s->space,
        .launcher = s->launcher,
        .workers = s->workers,
        .ahead = s->workers, /* one more for each core: ready when it is free */
        .deadline_s = s->deadline_s,
    };
    size_t all;
    memcpy(s->metric_rows, evaluate_metrics(&all), EVALUATE_STATIC_COUNT * sizeof *s->metric_rows);
    s->metric_count = EVALUATE_STATIC_COUNT;
    evocc_status status = EVOCC_OK;
    if (s->kernel_run.workload != NULL) {
        options.keep_code = true;
        options.reproduce = s->kernel_run.reproduce;
        options.module_of = s->kernel_run.parameter_count > 0 ? study_module_of : NULL;
        options.context = s;
        status = evaluate_workload_metrics(s->metric_rows, &s->metric_count, &s->kernel_run.job,
                                           &s->texts, error);
    }
    if (status == EVOCC_OK) {
        status = evaluate_static_new(&s->compiling, &options, error);
    }
    s->evaluator = s->compiling;
    return status;
}

/* What an objective names must be among what the trials will have. */
static evocc_status check_objectives(const study *s, evocc_error *error)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        const char *name = s->objectives.items[i].metric;
        bool found = false;
        for (size_t m = 0; m < s->metric_count; m++) {
            found = found || strcmp(s->metric_rows[m].name, name) == 0;
        }
        if (!found && s->kernel_run.workload == NULL) {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "%s is measured on a GPU, and that needs a workload: evocc tune "
                             "WORKLOAD.yaml (docs/workload.md)",
                             name);
        }
        if (!found) {
            return error_set(error, EVOCC_INVALID_ARGUMENT,
                             "there is no metric '%s': %s has no shape of this name", name,
                             s->input_path);
        }
    }
    return EVOCC_OK;
}

/* A single count that is to fall has nothing left to gain at 0: the search may end there. */
static bool ends_at_none(const study *s)
{
    const evaluate_metric_info *info = evaluate_metric_find(s->objectives.items[0].metric);
    return s->objectives.count == 1 && !s->objectives.items[0].maximize && info != NULL &&
           (*info->unit == '\0' || strcmp(info->unit, "bytes") == 0);
}

static evocc_status make_search(study *s, evocc_error *error)
{
    search_objective objectives[OBJECTIVE_COUNT_MAX];
    for (size_t i = 0; i < s->objectives.count; i++) {
        objectives[i] = (search_objective){.maximize = s->objectives.items[i].maximize,
                                           .weight = s->objectives.items[i].weight};
    }
    objectives[0].has_target = s->target != 0 || ends_at_none(s);
    objectives[0].target = s->target;
    search_options options = s->search_options;
    options.objectives = objectives;
    options.objective_count = s->objectives.count;
    size_t count = study_seed_count(s);
    size_t genes = space_count(s->space);
    int32_t *rows = mem_alloc(count * genes + 1, sizeof *rows);
    const int32_t **seeds = mem_alloc(count + 1, sizeof *seeds);
    evocc_status status =
        rows == NULL || seeds == NULL ? error_no_memory(error) : study_adapt_seeds(rows, s, error);
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        seeds[i] = rows + i * genes;
    }
    options.seeds = seeds;
    options.seed_count = count;
    status = status == EVOCC_OK ? search_new(&s->search, s->space, &options, error) : status;
    mem_free(seeds);
    mem_free(rows);
    return status;
}

evocc_status study_prepare(study *s, const char *ptxas, evocc_error *error)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (s->workers == 0) {
        s->workers = cores > 0 ? (size_t)cores : 1;
    }
    if (s->is_program) {
        evocc_status made = study_prepare_program(s, ptxas, error);
        return made == EVOCC_OK ? make_search(s, error) : made;
    }
    evocc_status status = read_input(s, error);
    if (status == EVOCC_OK && *s->arch == '\0') {
        s->arch = study_keep(s, ptx_target(s->module));
        status = s->arch == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    if (status == EVOCC_OK) {
        status = choose_kernel(s, error);
    }
    if (status == EVOCC_OK) {
        status = find_compiler(s, ptxas, error);
    }
    if (status == EVOCC_OK) {
        status = canonical_base(s, error);
    }
    if (status == EVOCC_OK) {
        status = make_space(s, error);
    }
    if (status == EVOCC_OK) {
        status = make_evaluator(s, error);
    }
    if (status == EVOCC_OK) {
        status = check_objectives(s, error);
    }
    return status == EVOCC_OK ? make_search(s, error) : status;
}
