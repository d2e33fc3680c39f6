/*
 * evaluate_kernel.c: entries, one for each different code and launch, in the order of arrival:
 *
 *     QUEUED -> RUNNING (one at a time: one GPU) -> KNOWN
 *
 * An offer is a claim on an entry. Claims on a KNOWN entry are answered at once; an entry's code is
 * released as soon as it is known, its finding stays.
 */
#include "evaluate/evaluate_kernel.h"

#include "util/error.h"
#include "util/hash.h"
#include "util/map.h"

#include <math.h>
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

struct kernel_stage {
    kernel_stage_options o;
    entry **entries; /* each its own block: the map borrows their keys */
    size_t entry_count, entry_capacity;
    size_t next;    /* the first that may be QUEUED */
    size_t running; /* index; SIZE_MAX: none */
    map by_key;
    claim *claims; /* unanswered, in the order of the offers */
    size_t claim_count, claim_capacity;
    kernel_statistics statistics;
};

void kernel_finding_dispose(kernel_finding *finding)
{
    if (finding != NULL) {
        mem_free(finding->detail);
        *finding = (kernel_finding){0};
    }
}

evocc_status kernel_stage_new(kernel_stage **out, const kernel_stage_options *options,
                              evocc_error *error)
{
    kernel_stage *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    s->o = *options;
    s->running = SIZE_MAX;
    s->statistics.best_s = (double)NAN;
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

/* The index of the entry that equals `e`, which is added when there is none. */
static bool enter(size_t *index, kernel_stage *s, entry *e, char *code, size_t length)
{
    size_t key = strlen(e->key);
    *index = map_get(&s->by_key, e->key, key);
    if (*index != MAP_NONE) {
        free_entry(e);
        mem_free(code);
        return true;
    }
    if (!mem_grow(&s->entries, &s->entry_capacity, s->entry_count + 1, sizeof(entry *)) ||
        !map_put(&s->by_key, e->key, key, s->entry_count)) {
        free_entry(e);
        mem_free(code);
        return false;
    }
    e->code = code;
    e->length = length;
    *index = s->entry_count;
    s->entries[s->entry_count++] = e;
    return true;
}

/* Gives the GPU the next entry, if it has none. */
static evocc_status feed(kernel_stage *s, evocc_error *error)
{
    while (s->running == SIZE_MAX && s->next < s->entry_count) {
        entry *e = s->entries[s->next];
        if (e->state != QUEUED) {
            s->next++;
            continue;
        }
        const gpu_request request = {
            .image = e->code,
            .image_length = e->length,
            .launches = e->launches,
            .check = true,
            .measure = true,
            .energy = s->o.energy,
            .bound_s = isnan(s->statistics.best_s) ? 0 : s->statistics.best_s,
        };
        evocc_status status = gpu_submit(s->o.gpu, &request, error);
        if (status != EVOCC_OK) {
            return status;
        }
        e->state = RUNNING;
        s->running = s->next++;
    }
    return EVOCC_OK;
}

evocc_status kernel_stage_offer(kernel_stage *stage, uint64_t id, const char *code_hash, char *code,
                                size_t length, const gpu_launch *launches, evocc_error *error)
{
    kernel_stage *s = stage;
    size_t index;
    if (!mem_grow(&s->claims, &s->claim_capacity, s->claim_count + 1, sizeof *s->claims)) {
        mem_free(code);
        return error_no_memory(error);
    }
    entry *e = new_entry(s, code_hash, launches);
    if (e == NULL) {
        mem_free(code);
        return error_no_memory(error);
    }
    if (!enter(&index, s, e, code, length)) {
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

static evocc_status answer(kernel_stage *s, size_t at, kernel_finding *finding, evocc_error *error)
{
    claim c = s->claims[at];
    entry *e = s->entries[c.entry];
    char *detail = mem_strdup(e->finding.detail);
    if (detail == NULL) {
        return error_no_memory(error);
    }
    *finding = e->finding;
    finding->id = c.id;
    finding->detail = detail;
    finding->shared = e->claimed;
    finding->wall_s = e->claimed ? 0 : finding->wall_s;
    s->statistics.shared += e->claimed;
    e->claimed = true;
    memmove(&s->claims[at], &s->claims[at + 1], (s->claim_count - at - 1) * sizeof *s->claims);
    s->claim_count--;
    return EVOCC_OK;
}

/* Takes the detail over. */
static void learn(kernel_stage *s, entry *e, gpu_result *r)
{
    e->finding = (kernel_finding){
        .outcome = r->outcome,
        .runtime_s = r->outcome == EVOCC_OUTCOME_OK ? r->runtime_s : (double)NAN,
        .energy_j = r->energy.per_launch_j,
        .power_w = r->energy.power_w,
        .energy_resolution_j = r->energy.resolution_j,
        .early = r->early,
        .conditions = r->conditions,
        .detail = r->detail,
        .wall_s = r->wall_s,
    };
    r->detail = NULL;
    e->state = KNOWN;
    mem_free(e->code);
    e->code = NULL;
    s->running = SIZE_MAX;
    s->statistics.measured++;
    s->statistics.busy_s += r->busy_s;
    if (r->outcome == EVOCC_OUTCOME_OK && !r->early && !(s->statistics.best_s <= r->runtime_s)) {
        s->statistics.best_s = r->runtime_s;
    }
}

evocc_status kernel_stage_wait(kernel_stage *stage, double timeout_s, int wake_fd,
                               kernel_finding *finding, evocc_error *error)
{
    kernel_stage *s = stage;
    for (;;) {
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
        /* An entry is known only by an answer, and each answer serves a claim: one round does. */
        gpu_result result;
        status = gpu_wait(s->o.gpu, timeout_s, wake_fd, &result, error);
        if (status != EVOCC_OK) {
            return status;
        }
        learn(s, s->entries[s->running], &result);
        gpu_result_dispose(&result);
    }
}

int kernel_stage_descriptor(const kernel_stage *stage)
{
    return gpu_descriptor(stage->o.gpu);
}

bool kernel_stage_ready(const kernel_stage *stage)
{
    return first_ready(stage) < stage->claim_count;
}

void kernel_stage_statistics(kernel_statistics *out, const kernel_stage *stage)
{
    *out = stage->statistics;
    out->waiting = stage->claim_count;
}
