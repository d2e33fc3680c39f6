#include "study/internal.h"

#include "util/error.h"

#include <inttypes.h>
#include <string.h>

/* A search leaves controls in its best candidate that came along and change nothing for the better.
   Each is left out, and stays out when no objective is the worse for it. The numbers must be exact
   for that, so times are not trimmed for. */
typedef struct trimming {
    run *run;
    int32_t *genes, *attempt;
    double values[OBJECTIVE_COUNT_MAX]; /* of genes */
    uint64_t next_id;
} trimming;

static bool objectives_are_exact(const study *s)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        const evaluate_metric_info *info = evaluate_metric_find(s->objectives.items[i].metric);
        if (info == NULL || info->measured) {
            return false;
        }
    }
    return true;
}

/* Evaluates t->attempt as one more trial, behind the search's last; a resumed run finds it in the
   file. */
static evocc_status try_attempt(trimming *t, evocc_outcome *outcome, double *values,
                                evocc_error *error)
{
    run *r = t->run;
    study *s = r->study;
    strbuf text = {0};
    search_progress progress;
    search_get_progress(&progress, s->search);
    space_candidate_text(&text, s->space, t->attempt);
    char *copy = strbuf_take(&text);
    if (copy == NULL) {
        return error_no_memory(error);
    }
    uint64_t id = t->next_id++;
    if (id < s->known_count && s->known[id].present) {
        const study_known *known = &s->known[id];
        bool same = hash128_equal(known->candidate, hash128_of(copy, strlen(copy), 0));
        mem_free(copy);
        *outcome = known->outcome;
        memcpy(values, known->values, sizeof known->values);
        return same ? EVOCC_OK
                    : error_set(error, EVOCC_MISMATCH, "%s: trial %" PRIu64 " is another one",
                                s->path, id);
    }
    struct flight flight = {true, id, progress.generations, copy};
    evaluate_result result = {0};
    evaluator *e = s->evaluator;
    evocc_status status = e->class->submit(e, id, t->attempt, error);
    if (status == EVOCC_OK) {
        status = e->class->wait(e, -1, r->wake_fd, &result, error);
    }
    if (status == EVOCC_OK) {
        status = study_put_trial(r, &flight, &result, error);
    }
    *outcome = result.outcome;
    study_objective_values(values, s, result.metrics);
    evaluate_result_dispose(&result);
    mem_free(copy);
    return status;
}

static bool is_no_worse(const study *s, const double *values, const double *than)
{
    for (size_t i = 0; i < s->objectives.count; i++) {
        double sign = s->objectives.items[i].maximize ? -1 : 1;
        if (!(sign * values[i] <= sign * than[i])) {
            return false; /* worse, or unknown */
        }
    }
    return true;
}

static evocc_status trim_one(trimming *t, size_t index, bool *left_out, evocc_error *error)
{
    *left_out = false;
    const study *s = t->run->study;
    size_t count = space_count(s->space);
    memcpy(t->attempt, t->genes, count * sizeof *t->genes);
    t->attempt[index] = SPACE_ABSENT;
    space_canonicalise(s->space, t->attempt);
    if (space_check(s->space, t->attempt, NULL) != EVOCC_OK) {
        return EVOCC_OK;
    }
    evocc_outcome outcome = EVOCC_OUTCOME_CANCELLED;
    double values[OBJECTIVE_COUNT_MAX] = {0};
    evocc_status status = try_attempt(t, &outcome, values, error);
    if (status == EVOCC_OK && outcome == EVOCC_OUTCOME_OK && is_no_worse(s, values, t->values)) {
        memcpy(t->genes, t->attempt, count * sizeof *t->genes);
        memcpy(t->values, values, sizeof values);
        *left_out = true;
    }
    return status;
}

/* Round and round, until leaving out any one of those that are left makes things worse: what one
   control is needed for may be gone once another has left. */
static evocc_status trim_all(trimming *t, size_t count, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0, unchanged = 0; status == EVOCC_OK && unchanged < count;
         i = (i + 1) % count) {
        bool left_out = false;
        if (t->genes[i] != SPACE_ABSENT) {
            status = trim_one(t, i, &left_out, error);
        }
        unchanged = left_out ? 0 : unchanged + 1;
    }
    return status;
}

evocc_status study_trim(run *r, evocc_error *error)
{
    study *s = r->study;
    size_t count = space_count(s->space);
    search_progress progress;
    search_get_progress(&progress, s->search);
    trimming t = {.run = r, .next_id = progress.asked};
    report_summary *summary = NULL;
    t.genes = mem_alloc(count + 1, sizeof *t.genes);
    t.attempt = mem_alloc(count + 1, sizeof *t.attempt);
    evocc_status status = t.genes == NULL || t.attempt == NULL ? error_no_memory(error) : EVOCC_OK;
    if (status == EVOCC_OK) {
        status = report_summary_load(&summary, s->store, s->path, progress.asked, error);
    }
    if (status == EVOCC_OK && summary->improved && objectives_are_exact(s)) {
        const report_point *best = &summary->front[summary->best];
        memcpy(t.values, best->values, s->objectives.count * sizeof *t.values);
        status = space_candidate_parse(t.genes, s->space, best->candidate, error);
        if (status == EVOCC_OK) {
            status = trim_all(&t, count, error);
        }
    }
    report_summary_free(summary);
    mem_free(t.genes);
    mem_free(t.attempt);
    return status;
}
