/*
 * evaluate_kernel.c: entries, one for each different code and launch, in the order of arrival:
 *
 *     QUEUED -> RUNNING (one on each GPU) -> KNOWN
 *
 * An offer is a claim on an entry. Claims on a KNOWN entry are answered at once; an entry's code is
 * released as soon as it is known, its finding stays.
 */
#include "evaluate/evaluate_kernel.h"

#include "gpu/compare.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/hash.h"
#include "util/map.h"

#include <math.h>
#include <poll.h>
#include <string.h>

typedef enum entry_state { QUEUED, RUNNING, KNOWN } entry_state;

typedef struct entry {
    entry_state state;
    char key[2 * HASH_SHA256_TEXT]; /* hash of the code and of the launches */
    char *code;
    size_t length;
    gpu_launch *launches; /* NULL: the job's own */
    kernel_finding finding;
    bool claimed; /* a claim has been answered: the next ones share */
} entry;

typedef struct claim {
    uint64_t id;
    size_t entry;
} claim;

/* A GPU and the entry that it works on; SIZE_MAX: none. */
typedef struct station {
    gpu *gpu;
    size_t entry;
} station;

struct kernel_stage {
    kernel_stage_options o;
    station stations[KERNEL_GPUS_MAX];
    entry **entries; /* each its own block: the map borrows their keys */
    size_t entry_count, entry_capacity;
    size_t next; /* the first that may be QUEUED */
    map by_key;
    claim *claims; /* unanswered, in the order of the offers */
    size_t claim_count, claim_capacity;
    kernel_statistics statistics;
};

void kernel_finding_dispose(kernel_finding *finding)
{
    if (finding != NULL) {
        for (size_t i = 0; i < finding->timing_count; i++) {
            mem_free(finding->timings[i].samples);
            mem_free(finding->timings[i].baseline);
        }
        mem_free(finding->timings);
        mem_free(finding->shapes_s);
        mem_free(finding->detail);
        *finding = (kernel_finding){0};
    }
}

evocc_status kernel_stage_new(kernel_stage **out, const kernel_stage_options *options,
                              evocc_error *error)
{
    if (options->gpu_count == 0 || options->gpu_count > KERNEL_GPUS_MAX) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "1 to %d GPUs, not %zu", KERNEL_GPUS_MAX,
                         options->gpu_count);
    }
    kernel_stage *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    s->o = *options;
    for (size_t i = 0; i < options->gpu_count; i++) {
        s->stations[i] = (station){options->gpus[i], SIZE_MAX};
    }
    const double unknown = (double)NAN;
    s->statistics.best_s = unknown;
    s->statistics.baseline_low_s = s->statistics.baseline_high_s = unknown;
    s->statistics.conditions = (gpu_conditions){unknown, unknown, unknown, unknown, 0};
    *out = s;
    return EVOCC_OK;
}

static void free_entry(entry *e)
{
    if (e != NULL) {
        kernel_finding_dispose(&e->finding);
        mem_free(e->code);
        mem_free(e->launches);
        mem_free(e);
    }
}

void kernel_stage_free(kernel_stage *stage)
{
    if (stage == NULL) {
        return;
    }
    for (size_t i = 0; i < stage->entry_count; i++) {
        free_entry(stage->entries[i]);
    }
    map_dispose(&stage->by_key);
    mem_free(stage->entries);
    mem_free(stage->claims);
    mem_free(stage);
}

/* ---- Offers ---------------------------------------------------------------------------------- */

static bool copy_launches(entry *e, const kernel_stage *s, const gpu_launch *launches)
{
    size_t count = s->o.job->shape_count;
    size_t key = strlen(e->key);
    if (launches == NULL) {
        return true;
    }
    e->launches = mem_alloc(count, sizeof *e->launches);
    if (e->launches == NULL) {
        return false;
    }
    memcpy(e->launches, launches, count * sizeof *launches);
    hash_sha256(e->key + key, launches, count * sizeof *launches);
    return true;
}

static entry *new_entry(const kernel_stage *s, const char *code_hash, const gpu_launch *launches)
{
    entry *e = mem_alloc(1, sizeof *e);
    if (e == NULL) {
        return NULL;
    }
    size_t length = strlen(code_hash);
    memcpy(e->key, code_hash, length < HASH_SHA256_TEXT ? length : HASH_SHA256_TEXT - 1);
    if (!copy_launches(e, s, launches)) {
        free_entry(e);
        return NULL;
    }
    return e;
}

/* The index of the entry that equals `e`, which is added when there is none. Takes `e` over. */
static bool enter(size_t *index, kernel_stage *s, entry *e)
{
    size_t key = strlen(e->key);
    *index = map_get(&s->by_key, e->key, key);
    if (*index != MAP_NONE) {
        free_entry(e);
        return true;
    }
    if (!mem_grow(&s->entries, &s->entry_capacity, s->entry_count + 1, sizeof(entry *)) ||
        !map_put(&s->by_key, e->key, key, s->entry_count)) {
        free_entry(e);
        return false;
    }
    *index = s->entry_count;
    s->entries[s->entry_count++] = e;
    return true;
}

static evocc_status begin(kernel_stage *s, station *at, size_t index, evocc_error *error)
{
    entry *e = s->entries[index];
    const gpu_request request = {
        .image = e->code,
        .image_length = e->length,
        .launches = e->launches,
        .check = true,
        .measure = true,
        .energy = s->o.energy,
        .bound_s = isnan(s->statistics.best_s) ? 0 : s->statistics.best_s,
    };
    evocc_status status = gpu_submit(at->gpu, &request, error);
    if (status == EVOCC_OK) {
        e->state = RUNNING;
        at->entry = index;
    }
    return status;
}

/* Gives each GPU that has none the next entry. */
static evocc_status feed(kernel_stage *s, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < s->o.gpu_count && status == EVOCC_OK; i++) {
        while (s->next < s->entry_count && s->entries[s->next]->state != QUEUED) {
            s->next++;
        }
        if (s->stations[i].entry == SIZE_MAX && s->next < s->entry_count) {
            status = begin(s, &s->stations[i], s->next, error);
        }
    }
    return status;
}

static bool is_entered(const kernel_stage *s, const entry *e)
{
    return map_get(&s->by_key, e->key, strlen(e->key)) != MAP_NONE;
}

evocc_status kernel_stage_offer(kernel_stage *stage, uint64_t id, const char *code_hash, char *code,
                                size_t length, const gpu_launch *launches, evocc_error *error)
{
    kernel_stage *s = stage;
    size_t index;
    entry *e = mem_grow(&s->claims, &s->claim_capacity, s->claim_count + 1, sizeof *s->claims)
                   ? new_entry(s, code_hash, launches)
                   : NULL;
    if (e == NULL) {
        mem_free(code);
        return error_no_memory(error);
    }
    if (code == NULL && !is_entered(s, e)) {
        free_entry(e);
        return error_set(error, EVOCC_INVALID_ARGUMENT, "code %s was never offered", code_hash);
    }
    e->code = code;
    e->length = length;
    if (!enter(&index, s, e)) {
        return error_no_memory(error);
    }
    s->claims[s->claim_count++] = (claim){id, index};
    s->statistics.offered++;
    (void)feed(s, NULL); /* what fails is tried again, and told, by the next wait */
    return EVOCC_OK;
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* The first claim whose entry is known; claim_count: none. */
static size_t first_ready(const kernel_stage *s)
{
    size_t i = 0;
    while (i < s->claim_count && s->entries[s->claims[i].entry]->state != KNOWN) {
        i++;
    }
    return i;
}

/* What a claim gets: the finding without the timings, which only the first one takes. */
static bool copy_finding(kernel_finding *out, const kernel_finding *from, size_t shapes)
{
    *out = *from;
    out->timings = NULL;
    out->timing_count = 0;
    out->detail = mem_strdup(from->detail != NULL ? from->detail : "");
    out->shapes_s = NULL;
    if (from->shapes_s != NULL) {
        out->shapes_s = mem_alloc(shapes, sizeof *out->shapes_s);
    }
    if (out->detail == NULL || (from->shapes_s != NULL && out->shapes_s == NULL)) {
        kernel_finding_dispose(out);
        return false;
    }
    if (from->shapes_s != NULL) {
        memcpy(out->shapes_s, from->shapes_s, shapes * sizeof *out->shapes_s);
    }
    return true;
}

static evocc_status answer(kernel_stage *s, size_t at, kernel_finding *finding, evocc_error *error)
{
    claim c = s->claims[at];
    entry *e = s->entries[c.entry];
    if (!copy_finding(finding, &e->finding, s->o.job->shape_count)) {
        return error_no_memory(error);
    }
    finding->id = c.id;
    finding->shared = e->claimed;
    finding->wall_s = e->claimed ? 0 : finding->wall_s;
    finding->timings = e->finding.timings; /* none left for the next claim */
    finding->timing_count = e->finding.timing_count;
    e->finding.timings = NULL;
    e->finding.timing_count = 0;
    s->statistics.shared += e->claimed;
    e->claimed = true;
    memmove(&s->claims[at], &s->claims[at + 1], (s->claim_count - at - 1) * sizeof *s->claims);
    s->claim_count--;
    return EVOCC_OK;
}

static void note_best(kernel_stage *s, const kernel_finding *f)
{
    if (f->outcome == EVOCC_OUTCOME_OK && !f->early && !(s->statistics.best_s <= f->runtime_s)) {
        s->statistics.best_s = f->runtime_s;
    }
}

static void note_measurement(kernel_stage *s, const gpu_result *r)
{
    kernel_statistics *k = &s->statistics;
    double baseline_s;
    double candidate_s;
    k->measured++;
    k->busy_s += r->busy_s;
    gpu_result_sides(&baseline_s, &candidate_s, r, s->o.job);
    if (r->outcome != EVOCC_OUTCOME_OK || r->early || !(baseline_s > 0)) {
        return; /* the clearly slow are measured without the baseline */
    }
    k->baseline_low_s = fmin(k->baseline_low_s, baseline_s); /* of a NAN and a number: the number */
    k->baseline_high_s = fmax(k->baseline_high_s, baseline_s);
    uint64_t reasons = k->conditions.throttle_reasons | r->conditions.throttle_reasons;
    k->conditions = r->conditions;
    k->conditions.throttle_reasons = reasons;
}

static double *shape_medians(const gpu_result *r)
{
    double *out = mem_alloc(r->timing_count, sizeof *out);
    for (size_t i = 0; out != NULL && i < r->timing_count; i++) {
        out[i] = gpu_samples_median(r->timings[i].samples, r->timings[i].sample_count);
    }
    return out;
}

/* Takes over what the result owns. */
static evocc_status learn(kernel_stage *s, station *at, gpu_result *r, evocc_error *error)
{
    entry *e = s->entries[at->entry];
    bool measured = r->outcome == EVOCC_OUTCOME_OK && r->timing_count > 0;
    double *medians = measured ? shape_medians(r) : NULL;
    at->entry = SIZE_MAX;
    if (measured && medians == NULL) {
        gpu_result_dispose(r);
        return error_no_memory(error);
    }
    note_measurement(s, r);
    e->finding = (kernel_finding){
        .outcome = r->outcome,
        .runtime_s = r->outcome == EVOCC_OUTCOME_OK ? r->runtime_s : (double)NAN,
        .energy_j = r->energy.per_launch_j,
        .power_w = r->energy.power_w,
        .energy_resolution_j = r->energy.resolution_j,
        .energy_window_s = r->energy.window_s,
        .early = r->early,
        .conditions = r->conditions,
        .detail = r->detail,
        .timings = r->timings,
        .timing_count = r->timing_count,
        .shapes_s = medians,
        .wall_s = r->wall_s,
    };
    *r = (gpu_result){0};
    e->state = KNOWN;
    mem_free(e->code);
    e->code = NULL;
    note_best(s, &e->finding);
    return EVOCC_OK;
}

evocc_status kernel_stage_know(kernel_stage *stage, const char *code_hash,
                               const gpu_launch *launches, const kernel_finding *finding,
                               evocc_error *error)
{
    kernel_stage *s = stage;
    size_t index;
    entry *e = new_entry(s, code_hash, launches);
    if (e == NULL) {
        return error_no_memory(error);
    }
    if (is_entered(s, e)) {
        free_entry(e);
        return EVOCC_OK;
    }
    e->state = KNOWN;
    e->claimed = true;
    if (!copy_finding(&e->finding, finding, s->o.job->shape_count)) {
        free_entry(e);
        return error_no_memory(error);
    }
    if (!enter(&index, s, e)) {
        return error_no_memory(error);
    }
    note_best(s, &s->entries[index]->finding);
    return EVOCC_OK;
}

/* Takes what the GPUs have ready. */
static evocc_status collect(bool *found, kernel_stage *s, evocc_error *error)
{
    for (size_t i = 0; i < s->o.gpu_count; i++) {
        station *at = &s->stations[i];
        gpu_result result;
        if (at->entry == SIZE_MAX) {
            continue;
        }
        evocc_status status = gpu_wait(at->gpu, 0, -1, &result, error);
        if (status == EVOCC_OK) {
            *found = true;
            status = learn(s, at, &result, error);
        }
        if (status != EVOCC_OK && status != EVOCC_TIMEOUT) {
            return status;
        }
    }
    return EVOCC_OK;
}

/* Until a GPU has something to say, or a second has gone by: a worker that says nothing any more is
   found out by asking. */
static evocc_status rest(const kernel_stage *s, double end_s, bool forever, int wake_fd,
                         evocc_error *error)
{
    struct pollfd polled[KERNEL_GPUS_MAX + 1] = {{.fd = wake_fd, .events = POLLIN}};
    int descriptors[KERNEL_GPUS_MAX];
    size_t count = kernel_stage_descriptors(descriptors, s);
    for (size_t i = 0; i < count; i++) {
        polled[i + 1] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
    }
    double left_s = forever ? 1 : end_s - clock_now_s();
    int left_ms = left_s > 1 ? 1000 : left_s > 0 ? (int)(left_s * 1000) + 1 : 0;
    int ready = poll(polled, (nfds_t)count + 1, left_ms);
    if (ready > 0 && polled[0].revents != 0) {
        return error_set(error, EVOCC_INTERRUPTED, "interrupted");
    }
    return ready <= 0 && !forever && clock_now_s() >= end_s
               ? error_set(error, EVOCC_TIMEOUT, "the GPU has found nothing yet")
               : EVOCC_OK;
}

evocc_status kernel_stage_wait(kernel_stage *stage, double timeout_s, int wake_fd,
                               kernel_finding *finding, evocc_error *error)
{
    kernel_stage *s = stage;
    double end_s = clock_now_s() + timeout_s;
    for (;;) {
        bool found = false;
        evocc_status status = feed(s, error);
        if (status != EVOCC_OK) {
            return status;
        }
        size_t at = first_ready(s);
        if (at < s->claim_count) {
            return answer(s, at, finding, error);
        }
        if (s->claim_count == 0) {
            return error_set(error, EVOCC_NOT_FOUND, "no candidate waits for the GPU");
        }
        status = collect(&found, s, error);
        if (status == EVOCC_OK && !found) {
            status = rest(s, end_s, timeout_s < 0, wake_fd, error);
        }
        if (status != EVOCC_OK) {
            return status;
        }
    }
}

size_t kernel_stage_descriptors(int *out, const kernel_stage *stage)
{
    for (size_t i = 0; i < stage->o.gpu_count; i++) {
        out[i] = gpu_descriptor(stage->stations[i].gpu);
    }
    return stage->o.gpu_count;
}

bool kernel_stage_ready(const kernel_stage *stage)
{
    return first_ready(stage) < stage->claim_count;
}

void kernel_stage_statistics(kernel_statistics *out, const kernel_stage *stage)
{
    *out = stage->statistics;
    out->waiting = stage->claim_count;
    for (size_t i = 0; i < stage->o.gpu_count; i++) {
        out->replacements += gpu_replacements(stage->stations[i].gpu);
    }
}
