/*
 * workload.c: studies of a workload. The file says what the user of a module alone says on the
 * command line, and how the kernel is run besides.
 *
 * A .cu goes through nvcc to PTX once for the defaults of the application parameters: that PTX is
 * what the study's PTX controls are listed from. Other values of the parameters give other PTX,
 * made when a candidate first has them and kept; PTX controls are dormant there.
 */
#include "study/internal.h"

#include "evaluate/evaluate_workload.h"
#include "gpu/build.h"
#include "util/error.h"
#include "util/files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_LIMIT = 256 << 20, NUMBERS_LIMIT = 1 << 30 };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

bool study_is_workload(const char *path)
{
    return (ends_with(path, ".yaml") || ends_with(path, ".yml")) && !study_is_program(path);
}

void study_kernel_dispose(study_kernel *k)
{
    for (size_t i = 0; i < k->gpu_count; i++) {
        gpu_close(k->gpus[i]);
    }
    for (size_t i = 0; i < k->variant_count; i++) {
        mem_free(k->variants[i].values);
        mem_free(k->variants[i].text);
        mem_free(k->variants[i].why);
        ptx_free(k->variants[i].module);
    }
    mem_free(k->variants);
    launcher_free(k->front);
    gpu_job_dispose(&k->job);
    workload_free(k->workload);
    *k = (study_kernel){0};
}

/* ---- The file -------------------------------------------------------------------------------- */

static evocc_status add_digest(strbuf *sum, const char *path, size_t limit, evocc_error *error)
{
    char *data = NULL;
    size_t length;
    char digest[HASH_SHA256_TEXT];
    evocc_status status = file_read(&data, &length, path, limit, error);
    if (status == EVOCC_OK) {
        hash_sha256(digest, data, length);
        strbuf_printf(sum, "%s\n", digest);
    }
    mem_free(data);
    return status;
}

/* Of the workload, the module and every .npy file. What a module includes shows in its PTX. */
static evocc_status digest_files(study *s, const char *path, evocc_error *error)
{
    study_kernel *k = &s->kernel_run;
    strbuf sum = {0};
    evocc_status status = add_digest(&sum, path, INPUT_LIMIT, error);
    if (status == EVOCC_OK) {
        status = add_digest(&sum, workload_get_module(k->workload)->path, INPUT_LIMIT, error);
    }
    for (size_t i = 0; i < k->job.shape_count; i++) {
        const gpu_shape *shape = &k->job.shapes[i];
        for (size_t a = 0; status == EVOCC_OK && a < shape->count; a++) {
            const char *files[] = {shape->arguments[a].file, shape->arguments[a].reference};
            for (size_t f = 0; status == EVOCC_OK && f < 2; f++) {
                status =
                    files[f] != NULL ? add_digest(&sum, files[f], NUMBERS_LIMIT, error) : EVOCC_OK;
            }
        }
    }
    if (status == EVOCC_OK && sum.failed) {
        status = error_no_memory(error);
    }
    if (status == EVOCC_OK) {
        hash_sha256(k->digest, strbuf_text(&sum), sum.length);
    }
    strbuf_dispose(&sum);
    return status;
}

/* What the workload says may not be said otherwise beside it. */
static evocc_status check_agreement(const study *s, const workload_module *m, evocc_error *error)
{
    const char *what = NULL;
    if (*s->kernel != '\0' && strcmp(s->kernel, m->kernel) != 0) {
        what = "--kernel";
    } else if (*s->arch != '\0' && *m->arch != '\0' && strcmp(s->arch, m->arch) != 0) {
        what = "--arch";
    }
    return what == NULL ? EVOCC_OK
                        : error_set(error, EVOCC_INVALID_ARGUMENT,
                                    "%s says %s itself: change it there, or leave %s away",
                                    s->input_path, what + 2, what);
}

static evocc_status take_options(study *s, const workload_module *m, evocc_error *error)
{
    size_t count = 0;
    while (m->ptxas[count] != NULL) {
        count++;
    }
    bool same = s->base_count == count;
    for (size_t i = 0; same && i < count; i++) {
        same = strcmp(s->base[i], m->ptxas[i]) == 0;
    }
    if (s->base_count > 0 && !same) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "%s: options of ptxas stand in the workload (options: {ptxas: [...]}), "
                         "not behind --",
                         s->input_path);
    }
    s->base = arena_alloc(&s->texts, count + 1, sizeof *s->base);
    for (size_t i = 0; s->base != NULL && i < count; i++) {
        s->base[i] = arena_strdup(&s->texts, m->ptxas[i]);
        if (s->base[i] == NULL) {
            return error_no_memory(error);
        }
    }
    s->base_count = count;
    return s->base != NULL ? EVOCC_OK : error_no_memory(error);
}

static evocc_status take_texts(study *s, const workload_module *m, evocc_error *error)
{
    strbuf words = {0};
    strbuf_puts(&words, "evocc compile ");
    strbuf_shell_word(&words, s->input_path);
    s->kernel_run.reproduce = words.failed ? NULL : study_keep(s, strbuf_text(&words));
    strbuf_dispose(&words);
    s->kernel = study_keep(s, m->kernel);
    s->arch = *m->arch != '\0' ? study_keep(s, m->arch) : s->arch;
    return s->kernel == NULL || s->arch == NULL || s->kernel_run.reproduce == NULL
               ? error_no_memory(error)
               : EVOCC_OK;
}

evocc_status study_read_workload(study *s, evocc_error *error)
{
    study_kernel *k = &s->kernel_run;
    const char *path = s->input_file != NULL ? s->input_file : s->input_path;
    evocc_status status = workload_read(&k->workload, path, error);
    if (status != EVOCC_OK) {
        return status;
    }
    const workload_module *m = workload_get_module(k->workload);
    status = check_agreement(s, m, error);
    if (status == EVOCC_OK) {
        status = take_options(s, m, error);
    }
    if (status == EVOCC_OK) {
        status = take_texts(s, m, error);
    }
    if (status == EVOCC_OK) {
        status = workload_resolve(&k->job, k->workload, NULL, error);
    }
    k->parameter_count = k->keep_parameters ? 0 : workload_parameter_count(k->workload);
    return status == EVOCC_OK ? digest_files(s, path, error) : status;
}

/* ---- The module ------------------------------------------------------------------------------ */

/* Who makes PTX of a .cu: another one may make other PTX. */
static evocc_status identify_front_end(study *s, evocc_error *error)
{
    char *path = NULL;
    file_identity id = {0};
    strbuf text = {0};
    if (workload_get_module(s->kernel_run.workload)->is_ptx) {
        s->kernel_run.front_end = "";
        return EVOCC_OK;
    }
    evocc_status status = compiler_find(&path, "nvcc", NULL, error);
    if (status == EVOCC_OK) {
        status = file_identify(&id, path, error);
    }
    if (status == EVOCC_OK) {
        strbuf_printf(&text, "%s, %" PRIu64 " bytes, mtime %" PRId64 " ns", id.path, id.size_bytes,
                      id.modified_ns);
        s->kernel_run.front_end = text.failed ? NULL : study_keep(s, strbuf_text(&text));
        status = s->kernel_run.front_end == NULL ? error_no_memory(error) : EVOCC_OK;
    }
    strbuf_dispose(&text);
    mem_free(id.path);
    mem_free(path);
    return status;
}

/* The PTX at these values of the parameters (NULL: the defaults). */
static evocc_status make_module(char **text, size_t *length, ptx_module **module, study *s,
                                launcher *l, const int64_t *values, evocc_error *error)
{
    char *path = NULL;
    const workload *w = s->kernel_run.workload;
    evocc_status status = gpu_build_ptx(&path, w, values, l, error);
    if (status == EVOCC_OK) {
        status = file_read(text, length, path, INPUT_LIMIT, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_parse(module, *text, *length, workload_get_module(w)->path, error);
    }
    mem_free(path);
    return status;
}

evocc_status study_read_module(study *s, evocc_error *error)
{
    evocc_status status = identify_front_end(s, error);
    if (status == EVOCC_OK) {
        status = launcher_new(&s->launcher, error);
    }
    return status == EVOCC_OK
               ? make_module(&s->input, &s->input_length, &s->module, s, s->launcher, NULL, error)
               : status;
}

/* ---- Application parameters ------------------------------------------------------------------ */

evocc_status study_add_parameters(study *s, evocc_error *error)
{
    return s->kernel_run.parameter_count > 0
               ? workload_add_controls(s->space, s->kernel_run.workload, error)
               : EVOCC_OK;
}

evocc_status study_bind_ptx_controls(study *s, size_t first, evocc_error *error)
{
    static const char *const absent[] = {"absent"};
    const workload *w = s->kernel_run.workload;
    size_t parameters = s->kernel_run.parameter_count;
    for (size_t i = first; parameters > 0 && i < space_count(s->space); i++) {
        for (size_t p = 0; p < parameters; p++) {
            char name[100];
            snprintf(name, sizeof name, "define/%.80s", workload_get_parameter(w, p)->name);
            const space_term term = {.control = name, .values = absent, .value_count = 1};
            evocc_status status =
                space_add_condition(s->space, space_get(s->space, i)->full_name, &term, error);
            if (status != EVOCC_OK) {
                return status;
            }
        }
    }
    return EVOCC_OK;
}

/* The values of the parameters in a candidate; *changed: not all are the defaults. They are the
   first controls of the space, in the workload's order. */
static evocc_status parameter_values(int64_t **out, bool *changed, const study *s,
                                     const int32_t *genes, evocc_error *error)
{
    const workload *w = s->kernel_run.workload;
    size_t count = workload_parameter_count(w);
    int64_t *values = mem_alloc(count + 1, sizeof *values);
    *changed = false;
    for (size_t i = 0; values != NULL && i < count; i++) {
        const workload_parameter *p = workload_get_parameter(w, i);
        size_t index = genes[i] == SPACE_ABSENT ? p->default_index : (size_t)genes[i];
        *changed = *changed || index != p->default_index;
        values[i] = p->values[index];
    }
    *out = values;
    return values != NULL ? EVOCC_OK : error_no_memory(error);
}

static const study_variant *find_variant(const study *s, const int64_t *values)
{
    const study_kernel *k = &s->kernel_run;
    size_t bytes = workload_parameter_count(k->workload) * sizeof *values;
    for (size_t i = 0; i < k->variant_count; i++) {
        if (memcmp(k->variants[i].values, values, bytes) == 0) {
            return &k->variants[i];
        }
    }
    return NULL;
}

/* Takes over what `made` owns, the values included, whatever comes back. */
static evocc_status keep_variant(study *s, int64_t *values, gpu_variant *made, evocc_error *error)
{
    study_kernel *k = &s->kernel_run;
    evocc_error why = {0};
    study_variant v = {.values = values, .text = made->text, .why = made->why};
    const char *path = workload_get_module(k->workload)->path;
    evocc_status status = EVOCC_OK;
    if (made->text != NULL &&
        ptx_parse(&v.module, made->text, made->length, path, &why) != EVOCC_OK) {
        v.why = mem_strdup(why.message);
        status = v.why != NULL ? EVOCC_OK : error_no_memory(error);
    }
    if (status == EVOCC_OK &&
        !mem_grow(&k->variants, &k->variant_capacity, k->variant_count + 1, sizeof v)) {
        status = error_no_memory(error);
    }
    if (status != EVOCC_OK) {
        mem_free(v.values);
        mem_free(v.text);
        mem_free(v.why);
        ptx_free(v.module);
        return status;
    }
    k->variants[k->variant_count++] = v;
    return EVOCC_OK;
}

/* Takes the values over. The one launcher is busy compiling, so the front end has another. */
static evocc_status make_variants(study *s, int64_t **values, size_t count, int wake_fd,
                                  evocc_error *error)
{
    study_kernel *k = &s->kernel_run;
    gpu_variant *made = mem_alloc(count + 1, sizeof *made);
    evocc_status status = made != NULL ? EVOCC_OK : error_no_memory(error);
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        made[i].values = values[i];
    }
    if (status == EVOCC_OK && k->front == NULL) {
        status = launcher_new(&k->front, error);
    }
    if (status == EVOCC_OK && count > 0) {
        status = gpu_build_variants(made, count, k->workload, k->front, s->workers, wake_fd, error);
    }
    for (size_t i = 0; i < count; i++) {
        if (status == EVOCC_OK) {
            status = keep_variant(s, values[i], &made[i], error);
        } else {
            mem_free(values[i]);
            mem_free(made != NULL ? made[i].text : NULL);
            mem_free(made != NULL ? made[i].why : NULL);
        }
    }
    mem_free(made);
    return status;
}

/* More than this are made one by one, as candidates have them. */
enum { VARIANTS_AHEAD = 256 };

/* The next assignment of the parameters, counting up; false behind the last. */
static bool next_assignment(int32_t *genes, const study *s)
{
    size_t count = workload_parameter_count(s->kernel_run.workload);
    for (size_t i = 0; i < count; i++) {
        if (++genes[i] < space_get(s->space, i)->size) {
            return true;
        }
        genes[i] = 0;
    }
    return false;
}

static double assignment_count(const workload *w)
{
    double product = 1;
    for (size_t i = 0; i < workload_parameter_count(w); i++) {
        product *= (double)workload_get_parameter(w, i)->value_count;
    }
    return product;
}

/* Those that the constraints allow and that are not the defaults. *count of them, whose values are
   the caller's to free. */
static evocc_status list_assignments(int64_t **out, size_t *count, const study *s,
                                     evocc_error *error)
{
    size_t controls = space_count(s->space);
    size_t parameters = workload_parameter_count(s->kernel_run.workload);
    int32_t *all = mem_alloc(controls + 1, sizeof *all);
    int32_t *canonical = mem_alloc(controls + 1, sizeof *canonical);
    evocc_status status = all != NULL && canonical != NULL ? EVOCC_OK : error_no_memory(error);
    for (size_t i = parameters; status == EVOCC_OK && i < controls; i++) {
        all[i] = SPACE_ABSENT;
    }
    for (bool more = true; status == EVOCC_OK && more; more = next_assignment(all, s)) {
        bool changed;
        memcpy(canonical, all, controls * sizeof *all);
        space_canonicalise(s->space, canonical);
        if (space_check(s->space, canonical, NULL) != EVOCC_OK) {
            continue;
        }
        status = parameter_values(&out[*count], &changed, s, canonical, error);
        if (status == EVOCC_OK && (!changed || find_variant(s, out[*count]) != NULL)) {
            mem_free(out[*count]);
        } else if (status == EVOCC_OK) {
            (*count)++;
        }
    }
    mem_free(all);
    mem_free(canonical);
    return status;
}

evocc_status study_make_variants(study *s, int wake_fd, evocc_error *error)
{
    const workload *w = s->kernel_run.workload;
    int64_t *values[VARIANTS_AHEAD];
    size_t count = 0;
    if (s->kernel_run.parameter_count == 0 || assignment_count(w) > VARIANTS_AHEAD) {
        return EVOCC_OK;
    }
    evocc_status status = list_assignments(values, &count, s, error);
    if (status != EVOCC_OK) {
        for (size_t i = 0; i < count; i++) {
            mem_free(values[i]);
        }
        return status;
    }
    return make_variants(s, values, count, wake_fd, error);
}

evocc_status study_module_of(const ptx_module **out, void *context, const int32_t *genes,
                             evocc_error *error)
{
    study *s = context;
    int64_t *values;
    bool changed;
    evocc_status status = parameter_values(&values, &changed, s, genes, error);
    if (status != EVOCC_OK) {
        return status;
    }
    const study_variant *v = changed ? find_variant(s, values) : NULL;
    if (!changed || v != NULL) {
        mem_free(values);
    } else {
        status = make_variants(s, &values, 1, -1, error);
        v = status == EVOCC_OK ? &s->kernel_run.variants[s->kernel_run.variant_count - 1] : NULL;
    }
    if (status != EVOCC_OK) {
        return status;
    }
    *out = v != NULL ? v->module : s->module;
    return *out != NULL ? EVOCC_OK : error_set(error, EVOCC_PROCESS, "%s", v->why);
}

evocc_status study_launches_of(gpu_launch **out, void *context, const int32_t *genes,
                               evocc_error *error)
{
    const study *s = context;
    const study_kernel *k = &s->kernel_run;
    gpu_job job = {0};
    int64_t *values;
    bool changed;
    *out = NULL;
    if (k->parameter_count == 0) {
        return EVOCC_OK;
    }
    evocc_status status = parameter_values(&values, &changed, s, genes, error);
    if (status == EVOCC_OK && changed) {
        status = workload_resolve(&job, k->workload, values, error);
    }
    if (status == EVOCC_OK && changed) {
        *out = mem_alloc(job.shape_count, sizeof **out);
        for (size_t i = 0; *out != NULL && i < job.shape_count; i++) {
            (*out)[i] = job.shapes[i].launch;
        }
        status = *out != NULL ? EVOCC_OK : error_no_memory(error);
    }
    gpu_job_dispose(&job);
    mem_free(values);
    return status;
}

/* ---- The GPU --------------------------------------------------------------------------------- */

const gpu_info *study_gpu(const study *s)
{
    return s->kernel_run.gpu_count > 0 ? gpu_get_info(s->kernel_run.gpus[0]) : NULL;
}

static bool wants_energy(const study *s)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        const char *name = s->objectives.items[i].metric;
        if (strcmp(name, "energy") == 0 || strcmp(name, "power") == 0) {
            return true;
        }
    }
    return false;
}

evocc_status study_open_gpu(study *s, evocc_error *error)
{
    study_kernel *k = &s->kernel_run;
    const char *device = *k->device != '\0' ? k->device : NULL;
    evocc_status status = gpu_open(&k->gpus[0], device, error);
    if (status != EVOCC_OK) {
        return status;
    }
    k->gpu_count = 1;
    const gpu_info *info = gpu_get_info(k->gpus[0]);
    if (wants_energy(s) && !info->has_energy) {
        return error_set(error, EVOCC_UNSUPPORTED,
                         "%s does not tell its energy%s: leave it out of "
                         "the objectives",
                         info->name, info->is_mig ? " (a MIG instance shares its counter)" : "");
    }
    const evaluate_workload_options options = {
        .compiling = s->compiling,
        .launcher = s->launcher,
        .space = s->space,
        .job = &k->job,
        .gpus = k->gpus,
        .gpu_count = k->gpu_count,
        .ahead = s->search_options.lag,
        .energy = wants_energy(s),
        .launches_of = k->parameter_count > 0 ? study_launches_of : NULL,
        .context = s,
    };
    s->evaluator = NULL;
    status = evaluate_workload_new(&s->evaluator, &options, error);
    if (status != EVOCC_OK) {
        s->evaluator = s->compiling;
    }
    return status;
}
