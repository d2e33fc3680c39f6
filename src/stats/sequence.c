#include "stats/stats.h"

#include "util/error.h"
#include "util/mem.h"

#include <math.h>
#include <string.h>

struct stats_sequence {
    stats_plan plan; /* defaults filled in */
    double *log_ratios;
    size_t count, capacity;
    size_t next_look; /* number of pairs at which the width is looked at next */
    stats_next next;
};

static evocc_status log_ratio(double *out, double baseline, double tuned, size_t pair,
                              evocc_error *error)
{
    if (!(baseline > 0 && tuned > 0 && isfinite(baseline) && isfinite(tuned))) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "pair %zu is %g and %g; both must be finite and above 0", pair, baseline,
                         tuned);
    }
    *out = log(baseline / tuned);
    return EVOCC_OK;
}

evocc_status stats_log_ratios(double *out, const double *baseline, const double *tuned,
                              size_t count, evocc_error *error)
{
    for (size_t i = 0; i < count; i++) {
        evocc_status status = log_ratio(&out[i], baseline[i], tuned[i], i + 1, error);
        if (status != EVOCC_OK) {
            return status;
        }
    }
    return EVOCC_OK;
}

evocc_status stats_sequence_new(stats_sequence **out, const stats_plan *plan, evocc_error *error)
{
    stats_sequence *s = mem_alloc(1, sizeof *s);
    if (s == NULL) {
        return error_no_memory(error);
    }
    s->plan = *plan;
    stats_plan *p = &s->plan;
    p->min_pairs = p->min_pairs > 0 ? p->min_pairs : 20;
    p->max_pairs = p->max_pairs > 0 ? p->max_pairs : 60;
    p->step = p->step > 0 ? p->step : 10;
    p->width = p->width > 0 ? p->width : 0.001;
    if (p->min_pairs < STATS_PAIRS_MIN || p->max_pairs < p->min_pairs) {
        mem_free(s);
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "a comparison needs at least %d pairs, and no more than its budget",
                         STATS_PAIRS_MIN);
    }
    s->next_look = p->min_pairs;
    *out = s;
    return EVOCC_OK;
}

void stats_sequence_free(stats_sequence *sequence)
{
    if (sequence != NULL) {
        mem_free(sequence->log_ratios);
        mem_free(sequence);
    }
}

evocc_status stats_sequence_result(stats_comparison *out, const stats_sequence *sequence,
                                   evocc_error *error)
{
    return stats_compare(out, sequence->log_ratios, sequence->count, &sequence->plan.interval,
                         error);
}

/*
 * The half width that the spread promises: a median's standard error is 1.2533 sigma / sqrt(n) for
 * normal values (David and Nagaraja 2003, section 10.2). The interval's own width must not decide:
 * it hangs on the spacing of a few values in the middle, and a rule that stops when these happen to
 * lie close together would report just such intervals (bench_stats: 93.4 % covered instead of 95).
 */
static double expected_half_width(double spread, size_t count)
{
    return 1.96 * 1.2533 * spread / sqrt((double)count);
}

/* Looks are few and fixed in number, so that the rule has little occasion to fish. */
static evocc_status look(stats_sequence *s, evocc_error *error)
{
    double *values = mem_alloc(s->count, sizeof *values);
    if (values == NULL) {
        return error_no_memory(error);
    }
    memcpy(values, s->log_ratios, s->count * sizeof *values);
    double median = stats_median(values, s->count);
    double spread = stats_spread(values, s->count, median);
    mem_free(values);
    if (expected_half_width(spread, s->count) <= s->plan.width) {
        s->next = STATS_NARROW;
    } else if (s->count >= s->plan.max_pairs) {
        s->next = STATS_SPENT;
    } else {
        size_t next = s->count + s->plan.step;
        s->next_look = next < s->plan.max_pairs ? next : s->plan.max_pairs;
    }
    return EVOCC_OK;
}

evocc_status stats_sequence_add(stats_sequence *sequence, double baseline, double tuned,
                                evocc_error *error)
{
    stats_sequence *s = sequence;
    double ratio = 0;
    evocc_status status = log_ratio(&ratio, baseline, tuned, s->count + 1, error);
    if (status != EVOCC_OK) {
        return status;
    }
    if (!mem_grow(&s->log_ratios, &s->capacity, s->count + 1, sizeof *s->log_ratios)) {
        return error_no_memory(error);
    }
    s->log_ratios[s->count++] = ratio;
    if (s->next != STATS_MORE || s->count < s->next_look) {
        return EVOCC_OK;
    }
    status = look(s, error);
    if (status != EVOCC_OK) {
        s->count--;
    }
    return status;
}

stats_next stats_sequence_next(const stats_sequence *sequence)
{
    return sequence->next;
}
