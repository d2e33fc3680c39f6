#include "differential.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/mem.h"

#include <string.h>
#include <unistd.h>

#define INPUT_NAME "candidate.ptx"
#define OUTPUT_NAME "candidate.cubin"
static const double deadline_s = 60;
enum { PTX_LIMIT = 64 << 20, CUBIN_LIMIT = 64 << 20, MESSAGE_SIZE = 400 };

/* ---- The workload ---------------------------------------------------------------------------- */

/* PTX of a .cu module was made before (make-ptx): its name in the folder of such. */
static char *ptx_path(const bench *b, const workload_module *m)
{
    if (m->is_ptx) {
        return mem_strdup(m->path);
    }
    strbuf name = {0};
    const char *base = path_base(m->path);
    strbuf_printf(&name, "%s/%.*s.ptx", b->ptx_folder, (int)strcspn(base, "."), base);
    return strbuf_take(&name);
}

static evocc_status read_module(subject *s, const bench *b, const workload_module *m,
                                evocc_error *error)
{
    char *path = ptx_path(b, m);
    char *text = NULL;
    size_t length;
    evocc_status status =
        path != NULL ? file_read(&text, &length, path, PTX_LIMIT, error) : error_no_memory(error);
    if (status == EVOCC_OK) {
        status = ptx_parse(&s->module, text, length, path, error);
    }
    mem_free(text);
    mem_free(path);
    return status;
}

static bool is_exact(const space_control *control, void *context)
{
    (void)context;
    return control->numerics == SPACE_EXACT;
}

static evocc_status make_space(subject *s, const bench *b, const workload_module *m,
                               evocc_error *error)
{
    evocc_space *options = NULL;
    size_t base = 0;
    for (; m->ptxas[base] != NULL;) {
        base++;
    }
    char *const *words = (char *const *)(uintptr_t)m->ptxas; /* they are only read */
    const ptx_limits limits = {.max_version = b->ptxas.max_ptx_version};
    evocc_status status = space_new(&s->space, error);
    if (status == EVOCC_OK) {
        status = compiler_ptxas.make_space(&options, b->launcher, &b->ptxas, m->arch, words, base,
                                           error);
    }
    if (status == EVOCC_OK) {
        status = space_add_all(s->space, options, is_exact, NULL, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_add_controls(s->space, s->module, m->kernel, &limits, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(s->space, error);
    }
    space_free(options);
    return status;
}

static evocc_status add_to_kind(subject *s, size_t control, evocc_error *error)
{
    const space_control *c = space_get(s->space, control);
    int length = (int)(c->stage == SPACE_STAGE_PTX ? strcspn(c->name, "@") : strlen(c->name));
    char name[sizeof s->kinds->name];
    snprintf(name, sizeof name, "%s%.*s", c->stage == SPACE_STAGE_PTX ? "" : "ptxas ", length,
             c->name);
    size_t i = 0;
    for (; i < s->kind_count && strcmp(s->kinds[i].name, name) != 0;) {
        i++;
    }
    if (!mem_grow(&s->kinds, &s->kind_capacity, i + 1, sizeof *s->kinds)) {
        return error_no_memory(error);
    }
    kind *k = &s->kinds[i];
    if (i == s->kind_count) {
        *k = (kind){0};
        memcpy(k->name, name, sizeof name);
        s->kind_count++;
    }
    if (!mem_grow(&k->controls, &k->capacity, k->count + 1, sizeof *k->controls)) {
        return error_no_memory(error);
    }
    k->controls[k->count++] = control;
    return EVOCC_OK;
}

evocc_status subject_open(subject *s, const bench *b, const char *path, evocc_error *error)
{
    *s = (subject){0};
    const char *base = path_base(path);
    snprintf(s->name, sizeof s->name, "%.*s", (int)strcspn(base, "."), base);
    evocc_status status = workload_read(&s->workload, path, error);
    if (status == EVOCC_OK) {
        status = workload_resolve(&s->job, s->workload, NULL, error);
    }
    if (status == EVOCC_OK) {
        status = read_module(s, b, workload_get_module(s->workload), error);
    }
    if (status == EVOCC_OK) {
        status = make_space(s, b, workload_get_module(s->workload), error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < space_count(s->space); i++) {
        status = add_to_kind(s, i, error);
    }
    return status;
}

void subject_dispose(subject *s)
{
    for (size_t i = 0; i < s->kind_count; i++) {
        mem_free(s->kinds[i].controls);
    }
    mem_free(s->kinds);
    space_free(s->space);
    ptx_free(s->module);
    gpu_job_dispose(&s->job);
    workload_free(s->workload);
    *s = (subject){0};
}

/* ---- The tools ------------------------------------------------------------------------------- */

static evocc_status open_slots(bench *b, evocc_error *error)
{
    b->slots = mem_alloc(b->workers, sizeof *b->slots);
    evocc_status status = b->slots != NULL ? EVOCC_OK : error_no_memory(error);
    for (size_t i = 0; status == EVOCC_OK && i < b->workers; i++) {
        char name[32];
        slot *s = &b->slots[i];
        snprintf(name, sizeof name, "worker-%zu", i);
        s->trial = SIZE_MAX;
        s->folder = path_join(launcher_folder(b->launcher), name);
        s->input = s->folder != NULL ? path_join(s->folder, INPUT_NAME) : NULL;
        s->output = s->folder != NULL ? path_join(s->folder, OUTPUT_NAME) : NULL;
        status = s->input != NULL && s->output != NULL ? folder_make(s->folder, error)
                                                       : error_no_memory(error);
    }
    return status;
}

evocc_status bench_open(bench *b, evocc_error *error)
{
    char *path = NULL;
    evocc_status status = compiler_find(&path, "ptxas", b->ptxas_path, error);
    if (status == EVOCC_OK) {
        status = launcher_new(&b->launcher, error);
    }
    if (status == EVOCC_OK) {
        status = compiler_ptxas.identify(&b->ptxas, b->launcher, path, error);
    }
    if (status == EVOCC_OK) {
        status = open_slots(b, error);
    }
    if (status == EVOCC_OK && b->use_gpu) {
        status = gpu_open(&b->gpu, NULL, error);
    }
    mem_free(path);
    return status;
}

void bench_close(bench *b)
{
    for (size_t i = 0; b->slots != NULL && i < b->workers; i++) {
        mem_free(b->slots[i].folder);
        mem_free(b->slots[i].input);
        mem_free(b->slots[i].output);
    }
    mem_free(b->slots);
    gpu_close(b->gpu);
    launcher_free(b->launcher);
    compiler_identity_dispose(&b->ptxas);
}

/* ---- Compiling ------------------------------------------------------------------------------- */

evocc_status subject_rewrite(strbuf *out, const subject *s, const int32_t *genes,
                             evocc_error *error)
{
    size_t count = 0;
    arena texts = {0};
    ptx_setting *settings = mem_alloc(space_count(s->space) + 1, sizeof *settings);
    bool memory = settings != NULL;
    for (size_t i = 0; memory && i < space_count(s->space); i++) {
        const space_control *control = space_get(s->space, i);
        if (control->stage == SPACE_STAGE_PTX && genes[i] != SPACE_ABSENT) {
            strbuf value = {0};
            space_value_text(&value, control, genes[i]);
            const char *text = arena_strdup(&texts, strbuf_text(&value));
            memory = text != NULL && !value.failed;
            settings[count++] = (ptx_setting){control->name, text};
            strbuf_dispose(&value);
        }
    }
    evocc_status status =
        memory ? ptx_rewrite(out, s->module, settings, count, error) : error_no_memory(error);
    arena_dispose(&texts);
    mem_free(settings);
    return status;
}

static void make_command(compiler_command *command, const bench *b, const subject *s,
                         const int32_t *genes)
{
    const workload_module *m = workload_get_module(s->workload);
    compiler_command_add(command, b->ptxas.path);
    compiler_command_add(command, "-arch");
    compiler_command_add(command, m->arch);
    for (size_t i = 0; m->ptxas[i] != NULL; i++) {
        compiler_command_add(command, m->ptxas[i]);
    }
    compiler_ptxas.render(command, s->space, genes);
    compiler_command_add(command, INPUT_NAME);
    compiler_command_add(command, "-o");
    compiler_command_add(command, OUTPUT_NAME);
}

static void set_detail(trial *t, trial_state state, const char *text)
{
    mem_free(t->detail);
    t->state = state;
    t->detail = mem_strndup(text, MESSAGE_SIZE);
    for (char *at = t->detail; at != NULL && *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
    }
}

/* Into a free slot, unless there is nothing to compile. */
static evocc_status start(bench *b, const subject *s, slot *where, trial *trials, size_t index,
                          evocc_error *error)
{
    strbuf text = {0};
    evocc_error why = {0};
    compiler_command command = {0};
    trial *t = &trials[index];
    evocc_status status = subject_rewrite(&text, s, t->genes, &why);
    if (status != EVOCC_OK) {
        set_detail(t, TRIAL_REFUSED, why.message);
        strbuf_dispose(&text);
        return status == EVOCC_NO_MEMORY ? error_no_memory(error) : EVOCC_OK;
    }
    make_command(&command, b, s, t->genes);
    (void)unlink(where->output); /* ptxas leaves an earlier one when it fails */
    status = command.failed ? error_no_memory(error)
                            : file_write(where->input, text.data, text.length, error);
    if (status == EVOCC_OK) {
        const process_request request = {.argv = (const char *const *)command.argv,
                                         .folder = where->folder,
                                         .deadline_s = deadline_s};
        status = launcher_submit(b->launcher, (uint64_t)(where - b->slots), &request, error);
    }
    if (status == EVOCC_OK) {
        where->trial = index;
    }
    compiler_command_dispose(&command);
    strbuf_dispose(&text);
    return status;
}

static evocc_status finish(const subject *s, const slot *from, trial *t, const process_result *r,
                           evocc_error *error)
{
    cubin_info info;
    evocc_error why = {0};
    const char *kernel = workload_get_module(s->workload)->kernel;
    if (r->end == PROCESS_TIMED_OUT) {
        set_detail(t, TRIAL_FAILED, "the compiler did not end in time");
        return EVOCC_OK;
    }
    if (r->end != PROCESS_EXITED || r->exit_status != 0) {
        set_detail(t, TRIAL_FAILED,
                   r->errors != NULL && *r->errors != '\0' ? r->errors : "it crashed");
        return EVOCC_OK;
    }
    evocc_status status = file_read(&t->code, &t->length, from->output, CUBIN_LIMIT, error);
    if (status != EVOCC_OK) {
        return status;
    }
    if (cubin_read(&info, t->code, t->length, kernel, &why) != EVOCC_OK) {
        set_detail(t, TRIAL_FAILED, why.message);
        return EVOCC_OK;
    }
    memcpy(t->hash, info.hash, sizeof t->hash);
    t->state = TRIAL_CODE;
    return EVOCC_OK;
}

static evocc_status wait_one(bench *b, const subject *s, trial *trials, evocc_error *error)
{
    uint64_t id = 0;
    process_result r = {0};
    evocc_status status = launcher_wait(b->launcher, -1, -1, &id, &r, error);
    if (status == EVOCC_OK) {
        slot *from = &b->slots[id];
        status = finish(s, from, &trials[from->trial], &r, error);
        from->trial = SIZE_MAX;
    }
    process_result_dispose(&r);
    return status;
}

static slot *free_slot(bench *b)
{
    for (size_t i = 0; i < b->workers; i++) {
        if (b->slots[i].trial == SIZE_MAX) {
            return &b->slots[i];
        }
    }
    return NULL;
}

evocc_status compile_trials(bench *b, const subject *s, trial *trials, size_t count, double end_s,
                            evocc_error *error)
{
    size_t next = 0;
    evocc_status status = EVOCC_OK;
    while (status == EVOCC_OK) {
        bool more = next < count && clock_now_s() < end_s;
        slot *where = more ? free_slot(b) : NULL;
        if (where != NULL) {
            status = start(b, s, where, trials, next++, error);
        } else if (launcher_count(b->launcher) > 0) {
            status = wait_one(b, s, trials, error);
        } else {
            break;
        }
    }
    return status;
}
