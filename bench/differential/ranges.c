#include "differential.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

enum { NOISE_RUNS = 8 };

/* The baseline against itself, as often as to see what a ratio is worth. */
static evocc_status measure_noise(bench *b, const trial *baseline, range_column *out,
                                  evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (int i = 0; status == EVOCC_OK && i < NOISE_RUNS; i++) {
        size_t different;
        trial again = *baseline;
        trial_list one = {.items = &again, .count = 1};
        status = run_trials(b, &one, true, &different, error);
        double distance = fabs(again.ratio - 1);
        out->noise = distance > out->noise ? distance : out->noise;
    }
    return status;
}

static bool is_new_code(const trial_list *list, size_t index, const char *baseline)
{
    const trial *t = &list->items[index];
    bool is_new = t->state == TRIAL_CODE && strcmp(t->hash, baseline) != 0;
    for (size_t i = 0; is_new && i < index; i++) {
        const trial *other = &list->items[i];
        is_new = other->kind != t->kind || other->state != TRIAL_CODE ||
                 strcmp(other->hash, t->hash) != 0;
    }
    return is_new;
}

static evocc_status collect(const subject *s, const trial_list *list, const char *baseline,
                            range_column *out, evocc_error *error)
{
    out->ranges = mem_alloc(s->kind_count, sizeof *out->ranges);
    if (out->ranges == NULL) {
        return error_no_memory(error);
    }
    out->count = s->kind_count;
    for (size_t k = 0; k < s->kind_count; k++) {
        range *r = &out->ranges[k];
        memcpy(r->kind, s->kinds[k].name, sizeof r->kind);
        r->low = r->high = (double)NAN;
    }
    for (size_t i = 0; i < list->count; i++) {
        const trial *t = &list->items[i];
        if (t->kind == MIXED) {
            continue;
        }
        range *r = &out->ranges[t->kind];
        r->candidates++;
        r->codes += is_new_code(list, i, baseline);
        r->low = fmin(r->low, t->ratio); /* a number wins over NAN */
        r->high = fmax(r->high, t->ratio);
    }
    return EVOCC_OK;
}

static void write_log(const bench *b, const subject *s, const trial_list *list)
{
    for (size_t i = 0; b->log != NULL && i < list->count; i++) {
        const trial *t = &list->items[i];
        strbuf text = {0};
        space_candidate_text(&text, s->space, t->genes);
        fprintf(b->log, "%s\t%s\t%.4f\t%s\t%.12s\t%.2000s\n", s->name,
                t->kind == MIXED ? "mixed" : s->kinds[t->kind].name, t->ratio,
                t->state == TRIAL_CODE ? evocc_outcome_name(t->outcome) : "no code",
                t->state == TRIAL_CODE ? t->hash : "", strbuf_text(&text));
        strbuf_dispose(&text);
    }
    if (b->log != NULL) {
        fflush(b->log);
    }
}

evocc_status measure_ranges(bench *b, const subject *s, range_column *out, evocc_error *error)
{
    rng r;
    bool added;
    size_t different = 0;
    size_t reasons;
    trial_list list = {0};
    trial_list first = {0};
    double end_s = clock_now_s() + b->seconds;
    int32_t *none = mem_alloc(space_count(s->space) + 1, sizeof *none);
    evocc_status status = none != NULL ? EVOCC_OK : error_no_memory(error);
    *out = (range_column){0};
    memcpy(out->kernel, s->name, sizeof out->kernel);
    rng_seed(&r, b->seed);
    for (size_t i = 0; status == EVOCC_OK && i < space_count(s->space); i++) {
        none[i] = SPACE_ABSENT;
    }
    if (status == EVOCC_OK) {
        status = trials_add(&first, s, none, MIXED, &added, error);
    }
    if (status == EVOCC_OK) {
        status = trials_add_wide(&list, s, error);
    }
    if (status == EVOCC_OK) {
        status = trials_add_sites(&list, s, &r, b->sites, error);
    }
    if (status == EVOCC_OK) {
        status = compile_trials(b, s, first.items, 1, INFINITY, error);
    }
    if (status == EVOCC_OK) {
        status = compile_trials(b, s, list.items, list.count, end_s, error);
    }
    if (status == EVOCC_OK) {
        status = load_baseline(b, s, &first.items[0], error);
    }
    if (status == EVOCC_OK) {
        status = measure_noise(b, &first.items[0], out, error);
    }
    if (status == EVOCC_OK) {
        status = run_trials(b, &list, true, &different, error);
    }
    if (status == EVOCC_OK) {
        status = collect(s, &list, first.items[0].hash, out, error);
        write_log(b, s, &list);
    }
    if (status == EVOCC_OK) {
        printf("%-22s %5zu candidates, %4zu codes, noise %.4f\n", s->name, list.count, different,
               out->noise);
        fflush(stdout);
        status = explain_bad(b, s, &list, &reasons, error);
    }
    mem_free(none);
    trials_dispose(&list);
    trials_dispose(&first);
    return status;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const range *find_range(const range_column *column, const char *name)
{
    for (size_t i = 0; i < column->count; i++) {
        if (strcmp(column->ranges[i].kind, name) == 0) {
            return &column->ranges[i];
        }
    }
    return NULL;
}

static void print_row(const range_column *columns, size_t count, const char *name)
{
    double low = (double)NAN;
    double high = (double)NAN;
    size_t codes = 0;
    printf("| %s |", name);
    for (size_t i = 0; i < count; i++) {
        const range *r = find_range(&columns[i], name);
        if (r == NULL) {
            printf(" |");
        } else if (r->codes == 0) {
            printf(" same |");
        } else {
            printf(" %.3f-%.3f (%zu) |", r->low, r->high, r->codes);
        }
        low = r != NULL ? fmin(low, r->low) : low;
        high = r != NULL ? fmax(high, r->high) : high;
        codes += r != NULL ? r->codes : 0;
    }
    printf(" %.3f-%.3f (%zu) |\n", low, high, codes);
}

void print_ranges(const range_column *columns, size_t count)
{
    printf("\n| kind |");
    for (size_t i = 0; i < count; i++) {
        printf(" %s |", columns[i].kernel);
    }
    printf(" all |\n| --- |");
    for (size_t i = 0; i <= count; i++) {
        printf(" --- |");
    }
    printf("\n| noise |");
    for (size_t i = 0; i < count; i++) {
        printf(" %.4f |", columns[i].noise);
    }
    printf(" |\n");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < columns[i].count; k++) {
            const char *name = columns[i].ranges[k].kind;
            bool is_new = true;
            for (size_t j = 0; is_new && j < i; j++) {
                is_new = find_range(&columns[j], name) == NULL;
            }
            if (is_new) {
                print_row(columns, count, name);
            }
        }
    }
}
