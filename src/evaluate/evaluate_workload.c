/*
 * evaluate_workload.c: places, as many as candidates may be under way:
 *
 *     FREE -> QUEUED -> COMPILING -> MEASURING -> (finding) FREE
 *                                 -> DONE, when it did not compile -> FREE
 *
 * The static evaluator and the kernel stage call a candidate by the index of its place.
 */
#include "evaluate/evaluate_workload.h"

#include "evaluate/evaluate_kernel.h"
#include "evaluate/objective.h"
#include "util/clock.h"
#include "util/error.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

typedef enum place_state { FREE, QUEUED, COMPILING, MEASURING, DONE } place_state;

typedef struct place {
    place_state state;
    uint64_t id;
    uint64_t ticket; /* order of arrival */
    int32_t *genes;
    evaluate_result result; /* from COMPILING on */
} place;

typedef struct workload_evaluator {
    evaluator base;
    evaluate_workload_options o;
    evaluate_metric_info metrics[EVALUATE_METRICS_MAX];
    arena texts;
    place *places;
    kernel_stage *stage;
    uint64_t tickets;
    bool loaded; /* the GPUs, with the baseline */
} workload_evaluator;

static workload_evaluator *self_of(evaluator *e)
{
    return (workload_evaluator *)e;
}

static const workload_evaluator *reading(const evaluator *e)
{
    return (const workload_evaluator *)e;
}

/* ---- Metrics --------------------------------------------------------------------------------- */

/* A shape's name as part of a metric's: what has a meaning in lists of objectives becomes '_'. */
static char *metric_name(arena *texts, const char *shape)
{
    char name[OBJECTIVE_NAME_SIZE];
    const char *base = evaluate_metrics(&(size_t){0})[EVALUATE_RUNTIME].name;
    int used = snprintf(name, sizeof name, "%s@", base);
    snprintf(name + used, sizeof name - (size_t)used, "%s", shape);
    for (char *c = name + used; *c != '\0'; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || *c == '_' || *c == '.' || *c == '-';
        *c = plain ? *c : '_';
    }
    return arena_strdup(texts, name);
}

evocc_status evaluate_workload_metrics(evaluate_metric_info *out, size_t *count, const gpu_job *job,
                                       arena *texts, evocc_error *error)
{
    const evaluate_metric_info *all = evaluate_metrics(count);
    memcpy(out, all, *count * sizeof *out);
    if (job->shape_count < 2) {
        return EVOCC_OK;
    }
    if (job->shape_count > EVALUATE_METRICS_MAX - *count) {
        return error_set(error, EVOCC_UNSUPPORTED, "a study takes at most %zu shapes, not %zu",
                         EVALUATE_METRICS_MAX - *count, job->shape_count);
    }
    for (size_t i = 0; i < job->shape_count; i++) {
        evaluate_metric_info *row = &out[(*count)++];
        *row = all[EVALUATE_RUNTIME];
        row->name = metric_name(texts, job->shapes[i].name);
        row->help = "of a launch on this shape";
        if (row->name == NULL) {
            return error_no_memory(error);
        }
    }
    return EVOCC_OK;
}

static void take_metrics(const workload_evaluator *self, double *metrics, const kernel_finding *f)
{
    metrics[EVALUATE_RUNTIME] = f->runtime_s;
    metrics[EVALUATE_ENERGY] = f->energy_j;
    metrics[EVALUATE_POWER] = f->power_w;
    for (size_t i = EVALUATE_METRIC_COUNT; i < self->base.metric_count; i++) {
        metrics[i] = f->shapes_s != NULL ? f->shapes_s[i - EVALUATE_METRIC_COUNT] : (double)NAN;
    }
}

/* Of `runtime` where there is one shape, else of each shape's own. */
static bool take_samples(evaluate_result *r, const workload_evaluator *self,
                         const kernel_finding *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->timing_count; i++) {
        count += f->timings[i].sample_count;
    }
    r->samples = count > 0 ? mem_alloc(count, sizeof *r->samples) : NULL;
    if (count > 0 && r->samples == NULL) {
        return false;
    }
    bool several = self->base.metric_count > EVALUATE_METRIC_COUNT;
    for (size_t i = 0; i < f->timing_count; i++) {
        uint32_t metric = several ? EVALUATE_METRIC_COUNT + (uint32_t)i : EVALUATE_RUNTIME;
        for (uint32_t k = 0; k < f->timings[i].sample_count; k++) {
            r->samples[r->sample_count++] = (evaluate_sample){metric, f->timings[i].samples[k]};
        }
    }
    return true;
}

/* ---- Into the compilers ---------------------------------------------------------------------- */

static place *first_of(workload_evaluator *self, place_state state)
{
    place *first = NULL;
    for (size_t i = 0; i < self->base.capacity; i++) {
        place *p = &self->places[i];
        if (p->state == state && (first == NULL || p->ticket < first->ticket)) {
            first = p;
        }
    }
    return first;
}

static bool is_baseline(const workload_evaluator *self, const place *p)
{
    for (size_t i = 0; i < space_count(self->o.space); i++) {
        if (p->genes[i] != SPACE_ABSENT) {
            return false;
        }
    }
    return true;
}

static evocc_status fill_compilers(workload_evaluator *self, evocc_error *error)
{
    evaluator *c = self->o.compiling;
    for (place *p; c->in_flight < c->capacity && (p = first_of(self, QUEUED)) != NULL;) {
        evocc_status status = c->class->submit(c, (uint64_t)(p - self->places), p->genes, error);
        if (status != EVOCC_OK) {
            return status;
        }
        p->state = COMPILING;
    }
    return EVOCC_OK;
}

static evocc_status submit(evaluator *e, uint64_t id, const int32_t *genes, evocc_error *error)
{
    workload_evaluator *self = self_of(e);
    place *p = first_of(self, FREE);
    if (p == NULL) {
        return error_set(error, EVOCC_BUSY, "all %zu places are taken: wait for a result first",
                         e->capacity);
    }
    p->id = id;
    p->ticket = self->tickets++;
    p->state = QUEUED;
    memcpy(p->genes, genes, space_count(self->o.space) * sizeof *genes);
    if (e->in_flight == 0) {
        self->o.compiling->deadline_s = e->deadline_s;
    }
    e->in_flight++;
    evocc_status status = fill_compilers(self, error);
    if (status != EVOCC_OK) {
        p->state = FREE;
        e->in_flight--;
    }
    return status;
}

/* ---- From the compilers to the GPU ----------------------------------------------------------- */

/* The baseline must agree with itself on every GPU before anything is compared with it. */
static evocc_status load_gpus(workload_evaluator *self, const evaluate_result *r,
                              evocc_error *error)
{
    for (size_t i = 0; i < self->o.gpu_count; i++) {
        evocc_status status =
            gpu_load(self->o.gpus[i], self->o.job, r->code, r->code_length, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    self->loaded = true;
    return EVOCC_OK;
}

/* Parameters that give no possible launch are the candidate's fault: DONE then. */
static evocc_status find_launches(gpu_launch **out, workload_evaluator *self, place *p,
                                  evocc_error *error)
{
    evocc_error why = {0};
    *out = NULL;
    evocc_status status = self->o.launches_of != NULL
                              ? self->o.launches_of(out, self->o.context, p->genes, &why)
                              : EVOCC_OK;
    if (status == EVOCC_NO_MEMORY) {
        return error_no_memory(error);
    }
    if (status != EVOCC_OK) {
        char *detail = mem_strdup(why.message);
        if (detail == NULL) {
            return error_no_memory(error);
        }
        mem_free(p->result.detail);
        p->result.detail = detail;
        p->result.outcome = EVOCC_OUTCOME_REJECTED;
        p->state = DONE;
    }
    return EVOCC_OK;
}

static evocc_status offer(workload_evaluator *self, place *p, evocc_error *error)
{
    gpu_launch *launches = NULL;
    evaluate_result *r = &p->result;
    evocc_status status = EVOCC_OK;
    p->state = MEASURING;
    if (!self->loaded) {
        status = is_baseline(self, p) ? load_gpus(self, r, error)
                                      : error_set(error, EVOCC_INVALID_ARGUMENT,
                                                  "the baseline must be the first candidate");
    }
    if (status == EVOCC_OK) {
        status = find_launches(&launches, self, p, error);
    }
    if (status != EVOCC_OK || p->state == DONE) {
        return status;
    }
    char *code = r->code;
    r->code = NULL;
    status = kernel_stage_offer(self->stage, (uint64_t)(p - self->places), r->code_hash, code,
                                r->code_length, launches, error);
    mem_free(launches);
    return status;
}

/* What the compilers have ready. */
static evocc_status collect_compiled(workload_evaluator *self, bool *found, evocc_error *error)
{
    evaluator *c = self->o.compiling;
    while (c->in_flight > 0) {
        evaluate_result r = {0};
        evocc_status status = c->class->wait(c, 0, -1, &r, error);
        if (status != EVOCC_OK) {
            return status == EVOCC_TIMEOUT ? EVOCC_OK : status;
        }
        place *p = &self->places[r.id];
        p->result = r;
        p->state = DONE;
        *found = true;
        status = fill_compilers(self, error);
        if (status == EVOCC_OK && r.outcome == EVOCC_OUTCOME_OK) {
            status = offer(self, p, error);
        }
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

/* ---- Out ------------------------------------------------------------------------------------- */

static void release(workload_evaluator *self, place *p, evaluate_result *result)
{
    *result = p->result;
    result->id = p->id;
    p->result = (evaluate_result){0};
    p->state = FREE;
    self->base.in_flight--;
}

/* What shows a candidate's fault on the GPU again: as its compilation, but run. */
static bool make_run_command(evaluate_result *r)
{
    static const char compile[] = "evocc compile ";
    static const char output[] = " -o trial.cubin";
    const size_t head = sizeof compile - 1;
    const size_t tail = sizeof output - 1;
    size_t length = strlen(r->command);
    if (length < head + tail || strncmp(r->command, compile, head) != 0 ||
        strcmp(r->command + length - tail, output) != 0) {
        return true; /* it stays what it is */
    }
    strbuf text = {0};
    strbuf_puts(&text, "evocc run ");
    strbuf_append(&text, r->command + head, length - head - tail);
    char *command = strbuf_take(&text);
    if (command == NULL) {
        return false;
    }
    mem_free(r->command);
    r->command = command;
    return true;
}

/* Takes the finding's detail over. */
static evocc_status merge(const workload_evaluator *self, place *p, kernel_finding *f,
                          evocc_error *error)
{
    evaluate_result *r = &p->result;
    if (!take_samples(r, self, f) || !make_run_command(r)) {
        return error_no_memory(error);
    }
    r->outcome = f->outcome;
    r->wall_s += f->wall_s;
    take_metrics(self, r->metrics, f);
    if (f->detail[0] != '\0') {
        mem_free(r->detail);
        r->detail = f->detail;
        f->detail = NULL;
    }
    return EVOCC_OK;
}

static evocc_status take_finding(workload_evaluator *self, evaluate_result *result,
                                 evocc_error *error)
{
    kernel_finding f = {0};
    evocc_status status = kernel_stage_wait(self->stage, 0, -1, &f, error);
    if (status != EVOCC_OK) {
        return status;
    }
    place *p = &self->places[f.id];
    status = merge(self, p, &f, error);
    kernel_finding_dispose(&f);
    if (status == EVOCC_OK) {
        release(self, p, result);
    }
    return status;
}

/* Until somebody has something to say; a second at most, for who says nothing any more is found out
   by asking. */
static evocc_status rest(const workload_evaluator *self, double end_s, bool forever, int wake_fd,
                         evocc_error *error)
{
    enum { OTHERS = 2 };
    int descriptors[KERNEL_GPUS_MAX];
    size_t count = kernel_stage_descriptors(descriptors, self->stage);
    struct pollfd polled[KERNEL_GPUS_MAX + OTHERS] = {
        {.fd = wake_fd, .events = POLLIN},
        {.fd = launcher_descriptor(self->o.launcher), .events = POLLIN}};
    for (size_t i = 0; i < count; i++) {
        polled[i + OTHERS] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
    }
    double left_s = forever ? 1 : end_s - clock_now_s();
    int left_ms = left_s > 1 ? 1000 : left_s > 0 ? (int)(left_s * 1000) + 1 : 0;
    int ready = poll(polled, (nfds_t)(count + OTHERS), left_ms);
    return ready <= 0 && !forever && clock_now_s() >= end_s
               ? error_set(error, EVOCC_TIMEOUT, "no candidate is done yet")
               : EVOCC_OK;
}

static bool is_readable(int descriptor)
{
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    return descriptor >= 0 && poll(&polled, 1, 0) > 0;
}

static evocc_status wait_for(evaluator *e, double timeout_s, int wake_fd, evaluate_result *result,
                             evocc_error *error)
{
    workload_evaluator *self = self_of(e);
    double end_s = clock_now_s() + timeout_s;
    if (e->in_flight == 0) {
        return error_set(error, EVOCC_NOT_FOUND, "no candidate is being evaluated");
    }
    for (;;) {
        bool found = false;
        if (is_readable(wake_fd)) {
            return error_set(error, EVOCC_INTERRUPTED, "interrupted");
        }
        evocc_status status = collect_compiled(self, &found, error);
        if (status != EVOCC_OK) {
            return status;
        }
        place *done = first_of(self, DONE);
        if (done != NULL) {
            release(self, done, result);
            return EVOCC_OK;
        }
        status = take_finding(self, result, error);
        if (status != EVOCC_TIMEOUT && status != EVOCC_NOT_FOUND) {
            return status;
        }
        status = found ? EVOCC_OK : rest(self, end_s, timeout_s < 0, wake_fd, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
}

/* ---- What is known, and how it fares --------------------------------------------------------- */

static evocc_status know(evaluator *e, const int32_t *genes, const evaluate_result *result,
                         evocc_error *error)
{
    workload_evaluator *self = self_of(e);
    gpu_launch *launches = NULL;
    if (result->code_hash[0] == '\0') {
        return EVOCC_OK;
    }
    if (self->o.launches_of != NULL &&
        self->o.launches_of(&launches, self->o.context, genes, error) != EVOCC_OK) {
        return EVOCC_OK; /* it never reached the GPU */
    }
    double shapes_s[EVALUATE_METRICS_MAX];
    kernel_finding f = {.outcome = result->outcome,
                        .runtime_s = result->metrics[EVALUATE_RUNTIME],
                        .energy_j = result->metrics[EVALUATE_ENERGY],
                        .power_w = result->metrics[EVALUATE_POWER],
                        .detail = result->detail};
    if (self->base.metric_count > EVALUATE_METRIC_COUNT) {
        memcpy(shapes_s, result->metrics + EVALUATE_METRIC_COUNT,
               self->o.job->shape_count * sizeof *shapes_s);
        f.shapes_s = shapes_s;
    }
    evocc_status status = kernel_stage_know(self->stage, result->code_hash, launches, &f, error);
    mem_free(launches);
    return status;
}

static void statistics(evaluate_statistics *out, const evaluator *e)
{
    kernel_statistics k;
    kernel_stage_statistics(&k, reading(e)->stage);
    *out = (evaluate_statistics){.measured = k.measured,
                                 .waiting = k.waiting,
                                 .replacements = k.replacements,
                                 .busy_s = k.busy_s / (double)reading(e)->o.gpu_count,
                                 .baseline_low_s = k.baseline_low_s,
                                 .baseline_high_s = k.baseline_high_s};
}

gpu_conditions evaluate_workload_conditions(const evaluator *e)
{
    kernel_statistics k;
    kernel_stage_statistics(&k, reading(e)->stage);
    return k.conditions;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void free_evaluator(evaluator *e)
{
    if (e == NULL) {
        return;
    }
    workload_evaluator *self = self_of(e);
    kernel_stage_free(self->stage);
    for (size_t i = 0; self->places != NULL && i < e->capacity; i++) {
        mem_free(self->places[i].genes);
        evaluate_result_dispose(&self->places[i].result);
    }
    mem_free(self->places);
    arena_dispose(&self->texts);
    mem_free(self);
}

static const evaluator_class workload_class = {.submit = submit,
                                               .wait = wait_for,
                                               .free = free_evaluator,
                                               .know = know,
                                               .statistics = statistics};

static evocc_status make_places(workload_evaluator *self, evocc_error *error)
{
    self->places = mem_alloc(self->base.capacity, sizeof *self->places);
    for (size_t i = 0; self->places != NULL && i < self->base.capacity; i++) {
        self->places[i].genes = mem_alloc(space_count(self->o.space) + 1, sizeof(int32_t));
        if (self->places[i].genes == NULL) {
            return error_no_memory(error);
        }
    }
    return self->places != NULL ? EVOCC_OK : error_no_memory(error);
}

evocc_status evaluate_workload_new(evaluator **out, const evaluate_workload_options *options,
                                   evocc_error *error)
{
    workload_evaluator *self = mem_alloc(1, sizeof *self);
    if (self == NULL) {
        return error_no_memory(error);
    }
    self->o = *options;
    self->base = (evaluator){.class = &workload_class,
                             .metrics = self->metrics,
                             .capacity = options->ahead > 0 ? options->ahead : 1,
                             .deadline_s = options->compiling->deadline_s};
    const kernel_stage_options stage = {.gpus = options->gpus,
                                        .gpu_count = options->gpu_count,
                                        .job = options->job,
                                        .energy = options->energy};
    evocc_status status = evaluate_workload_metrics(self->metrics, &self->base.metric_count,
                                                    options->job, &self->texts, error);
    if (status == EVOCC_OK) {
        status = make_places(self, error);
    }
    if (status == EVOCC_OK) {
        status = kernel_stage_new(&self->stage, &stage, error);
    }
    if (status != EVOCC_OK) {
        free_evaluator(&self->base);
        return status;
    }
    *out = &self->base;
    return EVOCC_OK;
}
