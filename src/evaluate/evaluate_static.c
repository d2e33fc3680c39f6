/*
 * evaluate_static.c: genes -> settings -> rewritten PTX -> ptxas -> statistics, machine code,
 * metrics.
 *
 * Each slot has a folder of its own in the launcher's, with always the same two file names, so that
 * messages do not depend on who compiled what. More slots than workers: candidates are rewritten
 * ahead, and a core never waits for the next. Results of a slot:
 *
 *     FREE -> RUNNING (or waiting in the launcher to run) -> (collected) FREE
 *     FREE -> WAITING for the slot that compiles the very same -> READY -> FREE
 *     FREE -> READY, when it was compiled before or is rejected -> FREE
 *
 * A memo (finding.h) keeps what became of every compilation, under a hash of text and options.
 */
#include "evaluate/compile_outcome.h"
#include "evaluate/evaluate.h"
#include "evaluate/finding.h"
#include "evaluate/launch.h"
#include "evaluate/reproduce.h"

#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INPUT_NAME "candidate.ptx"
#define OUTPUT_NAME "candidate.cubin"
static const double default_deadline_s = 600.0;
enum { CUBIN_LIMIT_BYTES = 1 << 30 };

typedef enum slot_state { FREE, RUNNING, WAITING, READY } slot_state;

typedef struct slot {
    slot_state state;
    uint64_t id;
    size_t leader; /* of WAITING: the slot that compiles the same */
    char *folder, *input, *output;
    char *command; /* for a person; the result takes it */
    hash128 key;
    bool may_spill_to_shared;
    bool baseline; /* all genes absent */
    const ptx_module *module;
    finding found; /* of READY */
    char detail[EVOCC_ERROR_SIZE];
    char *code; /* of what was compiled last, if it is kept; the result takes it */
    size_t code_length;
} slot;

typedef struct static_evaluator {
    evaluator base;
    evaluate_static_options o;
    slot *slots;
    memo known;
    launch_limits limits;  /* of the baseline, once it was compiled */
    ptx_setting *settings; /* room for one of every control */
    strbuf text;           /* of the candidate at hand; kept for its memory */
} static_evaluator;

static static_evaluator *self_of(evaluator *e)
{
    return (static_evaluator *)e;
}

/* ---- What a compilation is told ---------------------------------------------------------- */

/* The PTX settings of a candidate; their texts live in `texts`. (size_t)-1: out of memory. */
static size_t ptx_settings(static_evaluator *self, arena *texts, const int32_t *genes)
{
    size_t count = 0;
    for (size_t i = 0; i < space_count(self->o.space); i++) {
        const space_control *control = space_get(self->o.space, i);
        if (control->stage != SPACE_STAGE_PTX || genes[i] == SPACE_ABSENT) {
            continue;
        }
        strbuf value = {0};
        space_value_text(&value, control, genes[i]);
        const char *text = value.failed ? NULL : arena_strdup(texts, strbuf_text(&value));
        strbuf_dispose(&value);
        if (text == NULL) {
            return (size_t)-1;
        }
        self->settings[count++] = (ptx_setting){control->name, text};
    }
    return count;
}

/* self->text becomes the PTX of the candidate. PTX controls belong to the module at the defaults of
   all parameters and are dormant in any other. */
static evocc_status rewrite(static_evaluator *self, const ptx_module *module, const int32_t *genes,
                            evocc_error *error)
{
    arena texts = {0};
    size_t count = ptx_settings(self, &texts, genes);
    strbuf_clear(&self->text);
    evocc_status status = count == (size_t)-1
                              ? error_no_memory(error)
                              : ptx_rewrite(&self->text, module, self->settings, count, error);
    if (status == EVOCC_OK && self->text.failed) {
        status = error_no_memory(error);
    }
    arena_dispose(&texts);
    return status;
}

/* Messages of ptxas name its input: the user's own name where it is a plain word, to which ptxas
   gives no meaning of its own (a comma separates inputs). */
static const char *input_name(const evaluate_static_options *o)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    const char *name = path_base(o->module_path);
    size_t length = strlen(name);
    bool is_plain = length > 4 && length < 200 && strcmp(name + length - 4, ".ptx") == 0 &&
                    name[0] != '-' && name[strspn(name, plain)] == '\0';
    return is_plain ? name : INPUT_NAME;
}

static void make_command(compiler_command *command, const static_evaluator *self,
                         const int32_t *genes)
{
    compiler_command_add(command, self->o.ptxas->path);
    compiler_command_add(command, "-arch");
    compiler_command_add(command, self->o.arch);
    compiler_command_add(command, "-v");
    for (size_t i = 0; i < self->o.base_count; i++) {
        compiler_command_add(command, self->o.base[i]);
    }
    compiler_ptxas.render(command, self->o.space, genes);
    compiler_command_add(command, input_name(&self->o));
    compiler_command_add(command, "-o");
    compiler_command_add(command, OUTPUT_NAME);
}

/* Of the text and every word, and of the parameters: they may reach the launch alone. */
static hash128 compilation_key(const static_evaluator *self, const int32_t *genes,
                               const compiler_command *command)
{
    hash128 key = hash128_of(strbuf_text(&self->text), self->text.length, 0);
    for (size_t i = 0; i < space_count(self->o.space); i++) {
        if (space_get(self->o.space, i)->stage == SPACE_STAGE_DEFINE) {
            key.high = hash64(&genes[i], sizeof genes[i], key.high);
            key.low = hash64(&genes[i], sizeof genes[i], key.low);
        }
    }
    for (size_t i = 0; i < command->count; i++) {
        hash128 word =
            hash128_of(command->argv[i], strlen(command->argv[i]), key.low ^ (uint64_t)i);
        key.high = hash64(&word, sizeof word, key.high);
        key.low = hash64(&word, sizeof word, key.low);
    }
    return key;
}

/* ---- Submit ------------------------------------------------------------------------------ */

static slot *free_slot(static_evaluator *self)
{
    for (size_t i = 0; i < self->base.capacity; i++) {
        if (self->slots[i].state == FREE) {
            return &self->slots[i];
        }
    }
    return NULL;
}

static bool join_running(static_evaluator *self, slot *s)
{
    for (size_t i = 0; i < self->base.capacity; i++) {
        if (self->slots[i].state == RUNNING && hash128_equal(self->slots[i].key, s->key)) {
            s->leader = i;
            s->state = WAITING;
            return true;
        }
    }
    return false;
}

static process_request make_request(const static_evaluator *self, const slot *s,
                                    const compiler_command *command)
{
    return (process_request){.argv = (const char *const *)command->argv,
                             .folder = s->folder,
                             .deadline_s = self->base.deadline_s,
                             .memory_limit = self->o.memory_limit_bytes};
}

/* An output of an earlier run must not be taken for this one's: ptxas leaves it when it fails. */
static evocc_status write_input(static_evaluator *self, slot *s, evocc_error *error)
{
    (void)unlink(s->output);
    evocc_error why = {0};
    if (file_write(s->input, strbuf_text(&self->text), self->text.length, &why) != EVOCC_OK) {
        return error_set(error, EVOCC_IO,
                         "the work folder takes no candidate: %s; TMPDIR names another place",
                         why.message);
    }
    return EVOCC_OK;
}

static evocc_status start(static_evaluator *self, slot *s, const compiler_command *command,
                          evocc_error *error)
{
    s->may_spill_to_shared = strstr(strbuf_text(&self->text), "enable_smem_spilling") != NULL;
    evocc_status status = write_input(self, s, error);
    if (status == EVOCC_OK) {
        process_request request = make_request(self, s, command);
        status = launcher_submit(self->o.launcher, (uint64_t)(s - self->slots), &request, error);
    }
    if (status == EVOCC_OK) {
        s->state = RUNNING;
    }
    return status;
}

static void set_ready(slot *s, const finding *f)
{
    s->found = *f;
    snprintf(s->detail, sizeof s->detail, "%s", f->detail);
    s->found.detail = s->detail;
    s->state = READY;
}

/* A rewriting that is not possible is the candidate's own fault, and so are parameters under which
   its source does not compile. */
static void set_failed(slot *s, evocc_outcome outcome, const evocc_error *why)
{
    finding f;
    finding_init(&f);
    f.outcome = outcome;
    f.detail = why->message;
    set_ready(s, &f);
}

static evocc_status choose_module(static_evaluator *self, slot *s, const int32_t *genes,
                                  evocc_error *error)
{
    s->module = self->o.module;
    return self->o.module_of != NULL ? self->o.module_of(&s->module, self->o.context, genes, error)
                                     : EVOCC_OK;
}

static evocc_status place(static_evaluator *self, slot *s, const int32_t *genes, evocc_error *error)
{
    evocc_error why = {0};
    compiler_command command = {0};
    evocc_status status = choose_module(self, s, genes, &why);
    if (status == EVOCC_PROCESS) {
        set_failed(s, EVOCC_OUTCOME_COMPILE_FAILED, &why);
        return EVOCC_OK;
    }
    if (status != EVOCC_OK) {
        return error_set(error, status, "%s", why.message); /* the machine's fault */
    }
    status = rewrite(self, s->module, genes, &why);
    if (status == EVOCC_NO_MEMORY) {
        return error_no_memory(error);
    }
    if (status != EVOCC_OK) {
        set_failed(s, EVOCC_OUTCOME_REJECTED, &why);
        return EVOCC_OK;
    }
    make_command(&command, self, genes);
    if (command.failed) {
        status = error_no_memory(error);
    } else {
        s->key = compilation_key(self, genes, &command);
        const finding *known = memo_find(&self->known, s->key);
        if (known != NULL) {
            set_ready(s, known);
        } else if (!join_running(self, s)) {
            status = start(self, s, &command, error);
        }
    }
    compiler_command_dispose(&command);
    return status;
}

static bool all_absent(const static_evaluator *self, const int32_t *genes)
{
    for (size_t i = 0; i < space_count(self->o.space); i++) {
        if (genes[i] != SPACE_ABSENT) {
            return false;
        }
    }
    return true;
}

static evocc_status submit(evaluator *e, uint64_t id, const int32_t *genes, evocc_error *error)
{
    static_evaluator *self = self_of(e);
    slot *s = free_slot(self);
    if (s == NULL) {
        return error_set(error, EVOCC_BUSY, "all %zu places are taken: wait for a result first",
                         e->capacity);
    }
    s->id = id;
    s->baseline = all_absent(self, genes);
    s->command = reproduce_command(&self->o, genes);
    evocc_status status =
        s->command != NULL ? place(self, s, genes, error) : error_no_memory(error);
    if (status == EVOCC_OK) {
        e->in_flight++;
    } else {
        mem_free(s->command);
        s->command = NULL;
    }
    return status;
}

/* ---- Metrics ----------------------------------------------------------------------------- */

static evocc_status measure(static_evaluator *self, slot *s, finding *f, const process_result *r,
                            compile_outcome *outcome, evocc_error *error)
{
    compiler_stats stats = {0};
    evocc_status status = compiler_ptxas.read_stats(&stats, r->output, r->errors, error);
    if (status != EVOCC_OK) {
        return status;
    }
    finding_take_stats(f, &stats, self->o.entry);
    f->metrics[EVALUATE_COMPILE_TIME] = r->cpu_s;
    if (s->may_spill_to_shared && !(f->metrics[EVALUATE_SHARED_BYTES] <= 0.0)) {
        f->metrics[EVALUATE_SPILL_BYTES] = (double)NAN;
    }
    if (s->baseline) {
        launch_limits_set(&self->limits, &stats);
    } else if (s->module == self->o.module &&
               !launch_allowed(&self->limits, s->module, &stats, outcome->detail,
                               sizeof outcome->detail)) {
        outcome->outcome = EVOCC_OUTCOME_REJECTED;
    }
    compiler_stats_dispose(&stats);
    return EVOCC_OK;
}

/* ---- Wait -------------------------------------------------------------------------------- */

/* The machine code; a missing or damaged file becomes an outcome, or the machine's fault. */
static evocc_status read_code(static_evaluator *self, slot *s, finding *f, compile_outcome *outcome,
                              evocc_error *error)
{
    char *data = NULL;
    size_t length = 0;
    cubin_info info = {0};
    evocc_error why = {0};
    evocc_status status = file_read(&data, &length, s->output, CUBIN_LIMIT_BYTES, &why);
    if (status == EVOCC_OK) {
        status = cubin_read(&info, data, length, self->o.entry, &why);
    }
    if (status == EVOCC_OK && self->o.keep_code) {
        mem_free(s->code);
        s->code = data;
        s->code_length = length;
        data = NULL;
    }
    mem_free(data);
    if (status == EVOCC_NO_MEMORY) {
        return error_no_memory(error);
    }
    if (status == EVOCC_NOT_FOUND && access(s->output, F_OK) == 0) {
        outcome->outcome = EVOCC_OUTCOME_COMPILE_FAILED;
        snprintf(outcome->detail, sizeof outcome->detail, "%s", why.message);
        return EVOCC_OK;
    }
    if (status != EVOCC_OK) {
        const char *what = file_exists(s->output) ? why.message : "it wrote no machine code";
        return compile_outcome_of_damage(outcome, what, self->o.ptxas->path, s->folder, error);
    }
    f->metrics[EVALUATE_CODE_BYTES] = info.code_bytes;
    memcpy(f->code_hash, info.hash, sizeof f->code_hash);
    return EVOCC_OK;
}

/* The finding's detail is in s->detail. */
static evocc_status examine(static_evaluator *self, slot *s, finding *f, const process_result *r,
                            evocc_error *error)
{
    compile_outcome outcome = {0};
    finding_init(f);
    f->key = s->key;
    f->wall_s = r->wall_s;
    evocc_status status = compile_outcome_of(&outcome, r, self->o.ptxas->path, s->folder,
                                             self->base.deadline_s, error);
    if (status == EVOCC_OK && outcome.outcome == EVOCC_OUTCOME_OK) {
        status = read_code(self, s, f, &outcome, error);
    }
    if (status == EVOCC_OK && outcome.outcome == EVOCC_OUTCOME_OK) {
        status = measure(self, s, f, r, &outcome, error);
    }
    f->outcome = outcome.outcome;
    snprintf(s->detail, sizeof s->detail, "%s", outcome.detail);
    f->detail = s->detail;
    return status;
}

static void remove_files(const slot *s)
{
    (void)unlink(s->input);
    (void)unlink(s->output);
}

/* Hands the command over to the result. */
static evocc_status take_result(evaluator *e, slot *s, const finding *f, evaluate_result *result,
                                evocc_error *error)
{
    char *detail = mem_strdup(f->detail);
    if (detail == NULL) {
        return error_no_memory(error);
    }
    *result = (evaluate_result){.id = s->id,
                                .outcome = f->outcome,
                                .detail = detail,
                                .command = s->command,
                                .code = s->code,
                                .code_length = s->code_length,
                                .wall_s = f->wall_s};
    for (size_t i = 0; i < EVALUATE_METRICS_MAX; i++) {
        result->metrics[i] = i < EVALUATE_STATIC_COUNT ? f->metrics[i] : (double)NAN;
    }
    memcpy(result->code_hash, f->code_hash, sizeof result->code_hash);
    s->command = NULL;
    s->code = NULL;
    s->state = FREE;
    e->in_flight--;
    return EVOCC_OK;
}

static evocc_status collect(static_evaluator *self, slot *s, const process_result *r,
                            evaluate_result *result, evocc_error *error)
{
    finding f = {0};
    evocc_status status = examine(self, s, &f, r, error);
    remove_files(s);
    if (status == EVOCC_OK) {
        status = memo_add(&self->known, &f, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    size_t leader = (size_t)(s - self->slots);
    for (size_t i = 0; i < self->base.capacity; i++) {
        if (self->slots[i].state == WAITING && self->slots[i].leader == leader) {
            set_ready(&self->slots[i], &f);
        }
    }
    return take_result(&self->base, s, &f, result, error);
}

static evocc_status wait_for(evaluator *e, double timeout_s, int wake_fd, evaluate_result *result,
                             evocc_error *error)
{
    static_evaluator *self = self_of(e);
    for (size_t i = 0; i < e->capacity; i++) {
        if (self->slots[i].state == READY) {
            return take_result(e, &self->slots[i], &self->slots[i].found, result, error);
        }
    }
    uint64_t index = 0;
    process_result r = {0};
    evocc_status status = launcher_wait(self->o.launcher, timeout_s, wake_fd, &index, &r, error);
    if (status != EVOCC_OK) {
        return status;
    }
    if (index >= e->capacity || self->slots[index].state != RUNNING) {
        status = error_set(error, EVOCC_PROCESS, "the helper answered a question nobody asked");
    } else {
        status = collect(self, &self->slots[index], &r, result, error);
    }
    process_result_dispose(&r);
    return status;
}

/* ---- One more time, for the code itself -------------------------------------------------- */

static evocc_status compile_again(static_evaluator *self, slot *s, const int32_t *genes,
                                  process_result *r, evocc_error *error)
{
    compiler_command command = {0};
    evocc_status status = choose_module(self, s, genes, error);
    if (status == EVOCC_OK) {
        status = rewrite(self, s->module, genes, error);
    }
    if (status == EVOCC_OK) {
        make_command(&command, self, genes);
        status = command.failed ? error_no_memory(error) : write_input(self, s, error);
    }
    if (status == EVOCC_OK) {
        process_request request = make_request(self, s, &command);
        status = launcher_run(self->o.launcher, r, &request, error);
    }
    compiler_command_dispose(&command);
    return status;
}

evocc_status evaluate_static_cubin(char **out, size_t *length, evaluator *e, const int32_t *genes,
                                   evocc_error *error)
{
    static_evaluator *self = self_of(e);
    if (e->in_flight > 0) {
        return error_set(error, EVOCC_BUSY, "%zu candidates are still in flight", e->in_flight);
    }
    slot *s = &self->slots[0];
    s->baseline = all_absent(self, genes);
    process_result r = {0};
    finding f = {0};
    evocc_status status = compile_again(self, s, genes, &r, error);
    if (status == EVOCC_OK) {
        status = examine(self, s, &f, &r, error);
    }
    mem_free(s->code); /* read anew below, kept or not */
    s->code = NULL;
    if (status == EVOCC_OK && f.outcome != EVOCC_OUTCOME_OK) {
        status = error_set(error, EVOCC_PROCESS, "%s: %s", evocc_outcome_name(f.outcome), f.detail);
    }
    if (status == EVOCC_OK) {
        status = file_read(out, length, s->output, CUBIN_LIMIT_BYTES, error);
    }
    remove_files(s);
    process_result_dispose(&r);
    return status;
}

/* ---- Life -------------------------------------------------------------------------------- */

static void free_evaluator(evaluator *e)
{
    if (e == NULL) {
        return;
    }
    static_evaluator *self = self_of(e);
    for (size_t i = 0; self->slots != NULL && i < e->capacity; i++) {
        slot *s = &self->slots[i];
        if (s->folder != NULL) {
            folder_remove(s->folder);
        }
        mem_free(s->folder);
        mem_free(s->input);
        mem_free(s->output);
        mem_free(s->command);
        mem_free(s->code);
    }
    memo_dispose(&self->known);
    launch_limits_dispose(&self->limits);
    strbuf_dispose(&self->text);
    mem_free(self->settings);
    mem_free(self->slots);
    mem_free(self);
}

static evocc_status make_slot(slot *s, const char *root, size_t number, const char *input,
                              evocc_error *error)
{
    char name[32];
    snprintf(name, sizeof name, "worker-%zu", number);
    s->folder = path_join(root, name);
    s->input = s->folder != NULL ? path_join(s->folder, input) : NULL;
    s->output = s->folder != NULL ? path_join(s->folder, OUTPUT_NAME) : NULL;
    return s->input != NULL && s->output != NULL ? folder_make(s->folder, error)
                                                 : error_no_memory(error);
}

/* More than the machine has would only go to swap. */
static uint64_t memory_of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

static const evaluator_class static_class = {
    .submit = submit, .wait = wait_for, .free = free_evaluator};

evocc_status evaluate_static_new(evaluator **out, const evaluate_static_options *options,
                                 evocc_error *error)
{
    static_evaluator *self = mem_alloc(1, sizeof *self);
    if (self == NULL) {
        return error_no_memory(error);
    }
    self->o = *options;
    if (self->o.memory_limit_bytes == 0) {
        self->o.memory_limit_bytes = memory_of_machine();
    }
    size_t workers = options->workers > 0 ? options->workers : 1;
    size_t all;
    self->base = (evaluator){.class = &static_class,
                             .metrics = evaluate_metrics(&all),
                             .metric_count = EVALUATE_STATIC_COUNT,
                             .capacity = workers + options->ahead,
                             .deadline_s = options->deadline_s > 0.0 ? options->deadline_s
                                                                     : default_deadline_s};
    self->slots = mem_alloc(self->base.capacity, sizeof *self->slots);
    self->settings = mem_alloc(space_count(options->space) + 1, sizeof *self->settings);
    evocc_status status =
        self->slots != NULL && self->settings != NULL ? EVOCC_OK : error_no_memory(error);
    if (status == EVOCC_OK) {
        status = launcher_limit(options->launcher, workers, error);
    }
    for (size_t i = 0; i < self->base.capacity && status == EVOCC_OK; i++) {
        status = make_slot(&self->slots[i], launcher_folder(options->launcher), i,
                           input_name(&self->o), error);
    }
    if (status != EVOCC_OK) {
        free_evaluator(&self->base);
        return status;
    }
    *out = &self->base;
    return EVOCC_OK;
}
