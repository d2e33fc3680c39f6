#include "differential.h"

#include "ptx/checker.h"
#include "stats/stats.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/mem.h"

#include <math.h>
#include <string.h>

/* After so many bad ones the rest tells nothing new, and each may cost a deadline. */
enum { AGAIN = 5, TEXT_SHOWN = 3000, BAD_MAX = 40 };

bool trial_is_bad(const trial *t)
{
    /* More registers than the launch has room for: the candidate's own fault, seen at once and
       rejected by a search. */
    return t->state == TRIAL_CODE && t->outcome != EVOCC_OUTCOME_OK &&
           t->outcome != EVOCC_OUTCOME_LAUNCH_FAILED;
}

evocc_status load_baseline(bench *b, const subject *s, const trial *baseline, evocc_error *error)
{
    if (baseline->state != TRIAL_CODE) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "%s: the baseline does not compile: %s",
                         s->name, baseline->detail != NULL ? baseline->detail : "");
    }
    return b->gpu != NULL ? gpu_load(b->gpu, &s->job, baseline->code, baseline->length, error)
                          : EVOCC_OK;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* Of the pairs: how much longer the candidate took. */
static double ratio_of(const gpu_result *result)
{
    double logs = 0;
    for (size_t i = 0; i < result->timing_count; i++) {
        const gpu_timing *t = &result->timings[i];
        double ratios[256];
        uint32_t count = t->sample_count < 256 ? t->sample_count : 256;
        for (uint32_t j = 0; j < count; j++) {
            ratios[j] = t->samples[j] / t->baseline[j];
        }
        logs += count > 0 ? log(stats_median(ratios, count)) : (double)NAN;
    }
    return result->timing_count > 0 ? exp(logs / (double)result->timing_count) : (double)NAN;
}

static evocc_status run_one(bench *b, trial *t, bool measure, evocc_error *error)
{
    gpu_result result = {0};
    gpu_request request = {.image = t->code,
                           .image_length = t->length,
                           .check = true,
                           .measure = measure,
                           .pairs = (uint32_t)b->pairs,
                           .pair_seed = b->seed};
    evocc_status status = gpu_run(b->gpu, &request, &result, error);
    if (status == EVOCC_OK) {
        t->outcome = result.outcome;
        if (result.outcome != EVOCC_OUTCOME_OK) {
            mem_free(t->detail);
            t->detail = mem_strdup(result.detail);
        } else if (measure) {
            t->ratio = ratio_of(&result);
        }
    }
    gpu_result_dispose(&result);
    return status;
}

static trial *same_code(const trial_list *list, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (list->items[i].state == TRIAL_CODE &&
            strcmp(list->items[i].hash, list->items[index].hash) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

evocc_status run_trials(bench *b, trial_list *list, bool measure, size_t *different,
                        evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    size_t bad = 0;
    *different = 0;
    for (size_t i = 0; status == EVOCC_OK && i < list->count; i++) {
        trial *t = &list->items[i];
        if (bad > BAD_MAX) {
            t->state = t->state == TRIAL_CODE ? TRIAL_NOT_RUN : t->state;
            continue;
        }
        const trial *known = t->state == TRIAL_CODE ? same_code(list, i) : NULL;
        if (known != NULL) {
            t->outcome = known->outcome;
            t->ratio = known->ratio;
            t->detail = known->detail != NULL ? mem_strdup(known->detail) : NULL;
        } else if (t->state == TRIAL_CODE) {
            (*different)++;
            status = b->gpu != NULL ? run_one(b, t, measure, error) : EVOCC_OK;
            bad += trial_is_bad(t);
        }
    }
    return status;
}

/* ---- Reducing -------------------------------------------------------------------------------- */

typedef struct reduction {
    bench *b;
    const subject *s;
    trial_state state; /* what it must still do: no code, or a bad one */
    double end_s;
    trial last; /* the last one tried that still did it */
    evocc_error *error;
} reduction;

static void forget(trial *t)
{
    mem_free(t->detail);
    mem_free(t->code);
    *t = (trial){0};
}

/* Whether these genes are allowed and go wrong the same way. */
static evocc_status still_bad(reduction *r, const int32_t *genes, bool *bad)
{
    trial_list one = {0};
    bool added = false;
    *bad = false;
    evocc_status status = trials_add(&one, r->s, genes, MIXED, &added, r->error);
    if (status == EVOCC_OK && added) {
        status = compile_trials(r->b, r->s, one.items, 1, INFINITY, r->error);
    }
    if (status == EVOCC_OK && added && one.items[0].state == TRIAL_CODE && r->b->gpu != NULL) {
        status = run_one(r->b, &one.items[0], false, r->error);
    }
    if (status == EVOCC_OK && added) {
        trial *t = &one.items[0];
        *bad = t->state == r->state && (t->state != TRIAL_CODE || trial_is_bad(t));
        if (*bad) {
            forget(&r->last);
            r->last = *t;
            r->last.genes = NULL;
            t->detail = t->code = NULL;
        }
    }
    trials_dispose(&one);
    return status;
}

/* Without the `count` controls that are set from `first` on (counting only those that are). */
static size_t drop(const subject *s, int32_t *genes, size_t first, size_t count)
{
    size_t seen = 0;
    size_t dropped = 0;
    for (size_t i = 0; i < space_count(s->space); i++) {
        if (genes[i] != SPACE_ABSENT && seen++ >= first && dropped < count) {
            genes[i] = SPACE_ABSENT;
            dropped++;
        }
    }
    return dropped;
}

static size_t set_count(const subject *s, const int32_t *genes)
{
    size_t count = 0;
    for (size_t i = 0; i < space_count(s->space); i++) {
        count += genes[i] != SPACE_ABSENT;
    }
    return count;
}

/* Delta debugging (A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
   IEEE TSE 28(2), 2002), complements only: pieces of half the controls, a quarter, ... one. */
static evocc_status reduce(reduction *r, int32_t *genes)
{
    size_t bytes = space_count(r->s->space) * sizeof *genes;
    int32_t *fewer = mem_alloc(space_count(r->s->space) + 1, sizeof *fewer);
    evocc_status status = fewer != NULL ? EVOCC_OK : error_no_memory(r->error);
    bool shrunk = false;
    for (size_t piece = (set_count(r->s, genes) + 1) / 2; status == EVOCC_OK && piece > 0;) {
        shrunk = false;
        for (size_t first = 0; status == EVOCC_OK && clock_now_s() < r->end_s;) {
            bool bad = false;
            memcpy(fewer, genes, bytes);
            if (drop(r->s, fewer, first, piece) == 0) {
                break;
            }
            if (set_count(r->s, fewer) > 0) {
                status = still_bad(r, fewer, &bad);
            }
            if (bad) {
                memcpy(genes, fewer, bytes);
                shrunk = true;
            } else {
                first += piece;
            }
        }
        piece = shrunk && piece == 1 ? 1 : piece / 2;
        if (clock_now_s() >= r->end_s) {
            break;
        }
    }
    mem_free(fewer);
    return status;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void print_checker(const subject *s, const int32_t *genes)
{
    strbuf text = {0};
    evocc_error why = {0};
    ptx_module *rewritten = NULL;
    evocc_status status = subject_rewrite(&text, s, genes, &why);
    if (status == EVOCC_OK) {
        status = ptx_parse(&rewritten, text.data, text.length, "rewritten", &why);
    }
    if (status == EVOCC_OK) {
        status = ptx_check(s->module, rewritten, &why);
    }
    printf("  symbolic check: %s\n", status == EVOCC_OK ? "equal" : why.message);
    ptx_free(rewritten);
    strbuf_dispose(&text);
}

static void print_candidate(const subject *s, const int32_t *genes)
{
    strbuf text = {0};
    space_candidate_text(&text, s->space, genes);
    printf("  candidate: %.*s%s\n", TEXT_SHOWN, strbuf_text(&text),
           text.length > TEXT_SHOWN ? " ..." : "");
    strbuf_dispose(&text);
}

static evocc_status explain_one(reduction *r, const trial *t, int32_t *genes)
{
    size_t before = set_count(r->s, t->genes);
    memcpy(genes, t->genes, space_count(r->s->space) * sizeof *genes);
    evocc_status status = reduce(r, genes);
    const char *what = t->state == TRIAL_REFUSED  ? "refused"
                       : t->state == TRIAL_FAILED ? "not compiled"
                                                  : evocc_outcome_name(t->outcome);
    const char *detail = r->last.detail != NULL ? r->last.detail : t->detail;
    printf("%s: %s: %s\n", r->s->name, what, detail != NULL ? detail : "");
    printf("  %zu of its %zu controls are enough\n", set_count(r->s, genes), before);
    print_candidate(r->s, genes);
    if (status == EVOCC_OK && t->state == TRIAL_CODE) {
        int bad_runs = 0;
        for (int i = 0; status == EVOCC_OK && i < AGAIN; i++) {
            bool bad;
            status = still_bad(r, genes, &bad);
            bad_runs += bad;
        }
        printf("  wrong in %d of %d further checks\n", bad_runs, AGAIN);
        print_checker(r->s, genes);
    }
    fflush(stdout);
    forget(&r->last);
    return status;
}

/* Whether every control of a known reason is set the same. */
static bool contains(const subject *s, const int32_t *genes, const int32_t *reason)
{
    for (size_t i = 0; i < space_count(s->space); i++) {
        if (reason[i] != SPACE_ABSENT && space_effective(s->space, genes, i) != reason[i]) {
            return false;
        }
    }
    return true;
}

evocc_status explain_bad(bench *b, const subject *s, const trial_list *list, size_t *reasons,
                         evocc_error *error)
{
    enum { REASONS_MAX = 12 };
    size_t genes = space_count(s->space) + 1;
    int32_t *known = mem_alloc(genes * REASONS_MAX, sizeof *known);
    evocc_status status = known != NULL ? EVOCC_OK : error_no_memory(error);
    reduction r = {.b = b, .s = s, .error = error};
    r.end_s = clock_now_s() + b->reduce_seconds;
    *reasons = 0;
    for (size_t i = 0; status == EVOCC_OK && i < list->count && *reasons < REASONS_MAX; i++) {
        const trial *t = &list->items[i];
        bool wanted = trial_is_bad(t) || t->state == TRIAL_REFUSED || t->state == TRIAL_FAILED;
        for (size_t k = 0; wanted && k < *reasons; k++) {
            wanted = !contains(s, t->genes, known + k * genes);
        }
        if (wanted) {
            r.state = t->state;
            status = explain_one(&r, t, known + *reasons * genes);
            (*reasons)++;
        }
    }
    mem_free(known);
    return status;
}
