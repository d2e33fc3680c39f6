/*
 * bench_stats: do the intervals and claims of src/stats hold what they promise?
 *
 * usage: bench_stats [-n STUDIES] [-f SAMPLES] [-s SEED]
 *   -n  simulated studies for each true gain (2000)
 *   -f  replay noise from a file: running times of one unchanged kernel, one number a line in the
 *       order of measurement, a blank line where a new process began; '#' begins a comment
 *   -s  seed (1)
 *
 * A simulated study does what a real one does: a search measures 488 candidates once each, the best
 * four are measured again in pairs with the baseline and the best of these is chosen; then fresh
 * pairs, one process each, in random order, until the sequential rule stops. In the null studies no
 * candidate is better than the baseline; in the others one of the 488 is, by 1, 2 or 5 %.
 * Promises: a gain is claimed of at most 3.5 % of the null studies (2.5 % nominal); the 95 %
 * interval covers the true gain of the chosen candidate in 94 to 97 % of the others. Exit 0: kept;
 * 1: broken; 2: usage.
 *
 * Without a file the noise is a model with what makes real running times awkward: a slow drift
 * (heat), correlation from one measurement to the next, tails of Student's t with 3 degrees of
 * freedom, an effect of each process on each kernel, and now and then a spike.
 */
#include "stats/stats.h"
#include "util/files.h"
#include "util/mem.h"
#include "util/rng.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANDIDATES = 488, FINALISTS = 4, CHOICE_PAIRS = 10 };

typedef struct recording {
    double *logs; /* of the times, less their median */
    size_t count, capacity;
    size_t *starts; /* of processes, and the end */
    size_t process_count, start_capacity;
} recording;

typedef struct noise {
    rng r;
    const recording *recorded; /* NULL: the model */
    size_t at, begin, end;     /* of the recording: next sample, process */
    double heat, previous;     /* of the model: drift, correlated part */
    double effects[2];         /* of this process on baseline and candidate */
} noise;

/* ---- Noise ----------------------------------------------------------------------------------- */

static double normal(rng *r)
{
    const double two_pi = 6.283185307179586;
    return sqrt(-2 * log(1 - rng_unit(r))) * cos(two_pi * rng_unit(r));
}

static double student_3(rng *r)
{
    double squares = 0;
    for (int i = 0; i < 3; i++) {
        double z = normal(r);
        squares += z * z;
    }
    return normal(r) / sqrt(squares / 3);
}

static void new_process(noise *n)
{
    if (n->recorded != NULL) {
        size_t process = (size_t)rng_below(&n->r, n->recorded->process_count);
        n->begin = n->recorded->starts[process];
        n->end = n->recorded->starts[process + 1];
        n->at = n->begin + (size_t)rng_below(&n->r, n->end - n->begin);
        return;
    }
    n->effects[0] = 0.002 * normal(&n->r);
    n->effects[1] = 0.002 * normal(&n->r);
    n->previous = 0;
}

/* log(measured / true) of one measurement of kernel 0 (baseline) or 1. */
static double disturb(noise *n, int kernel)
{
    if (n->recorded != NULL) {
        double value = n->recorded->logs[n->at];
        n->at = n->at + 1 < n->end ? n->at + 1 : n->begin;
        return value;
    }
    n->heat = 0.999 * n->heat + 0.0003 * normal(&n->r);
    n->previous = 0.6 * n->previous + 0.0015 * student_3(&n->r);
    double spike = rng_chance(&n->r, 0.01) ? 0.05 * rng_unit(&n->r) : 0;
    return n->heat + n->previous + n->effects[kernel] + spike;
}

/* ---- A study --------------------------------------------------------------------------------- */

/* log(baseline / candidate) of one pair in a fresh process, in random order. */
static double measure_pair(noise *n, double true_log_gain)
{
    double logs[2];
    new_process(n);
    int first = (int)rng_below(&n->r, 2);
    logs[first] = disturb(n, first);
    logs[1 - first] = disturb(n, 1 - first);
    return true_log_gain + logs[0] - logs[1];
}

/* The search: one measurement each; the fastest FINALISTS, then the best of these by pairs. Returns
   the true log gain of what was chosen. */
static double choose(noise *n, double log_gain)
{
    double seen[CANDIDATES];
    size_t order[CANDIDATES];
    new_process(n);
    for (size_t i = 0; i < CANDIDATES; i++) {
        seen[i] = disturb(n, 1) - (i == 0 ? log_gain : 0);
        order[i] = i;
    }
    double best = -(double)INFINITY;
    double chosen = 0;
    for (size_t k = 0; k < FINALISTS; k++) {
        for (size_t i = k + 1; i < CANDIDATES; i++) {
            if (seen[order[i]] < seen[order[k]]) {
                size_t swap = order[k];
                order[k] = order[i];
                order[i] = swap;
            }
        }
        double truth = order[k] == 0 ? log_gain : 0;
        double ratios[CHOICE_PAIRS];
        for (size_t i = 0; i < CHOICE_PAIRS; i++) {
            ratios[i] = measure_pair(n, truth);
        }
        double median = stats_median(ratios, CHOICE_PAIRS);
        if (median > best) {
            best = median;
            chosen = truth;
        }
    }
    return chosen;
}

typedef struct tally {
    size_t studies, claims, covered, pairs, found;
    double width;
} tally;

static evocc_status run_study(tally *t, noise *n, double log_gain, uint64_t seed,
                              evocc_error *error)
{
    double truth = choose(n, log_gain);
    const stats_plan plan = {.interval.seed = seed};
    stats_sequence *pairs = NULL;
    stats_comparison result;
    evocc_status status = stats_sequence_new(&pairs, &plan, error);
    while (status == EVOCC_OK && stats_sequence_next(pairs) == STATS_MORE) {
        status = stats_sequence_add(pairs, exp(measure_pair(n, truth)), 1, error);
    }
    if (status == EVOCC_OK) {
        status = stats_sequence_result(&result, pairs, error);
    }
    stats_sequence_free(pairs);
    if (status == EVOCC_OK) {
        t->studies++;
        t->claims += stats_judge(&result, 0) == STATS_GAIN;
        t->covered += log(result.low) <= truth && truth <= log(result.high);
        t->pairs += result.pairs;
        t->found += truth >= log_gain;
        t->width += result.noise_floor;
    }
    return status;
}

/* ---- Recorded samples ------------------------------------------------------------------------ */

static int add_sample(recording *r, double time, bool new_one)
{
    if (!mem_grow(&r->logs, &r->capacity, r->count + 1, sizeof *r->logs) ||
        !mem_grow(&r->starts, &r->start_capacity, r->process_count + 2, sizeof *r->starts)) {
        return -1;
    }
    if (new_one) {
        r->starts[r->process_count++] = r->count;
    }
    r->logs[r->count++] = log(time);
    r->starts[r->process_count] = r->count;
    return 0;
}

static int read_samples(recording *r, char *text, const char *path)
{
    bool new_one = true;
    int line_number = 0;
    for (char *line = text, *end; line != NULL && *line != '\0'; line = end) {
        line_number++;
        end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        double time;
        if (*line == '\0') {
            new_one = true;
        } else if (*line != '#') {
            if (!text_number(&time, line) || !(time > 0) || add_sample(r, time, new_one) != 0) {
                fprintf(stderr, "%s:%d: not a running time\n", path, line_number);
                return -1;
            }
            new_one = false;
        }
    }
    return r->count >= 2 ? 0 : -1;
}

/* ---- The table ------------------------------------------------------------------------------- */

static bool report(const tally *t, double gain)
{
    double n = (double)t->studies;
    double claimed = 100 * (double)t->claims / n;
    double covered = 100 * (double)t->covered / n;
    bool kept = gain > 0 ? covered >= 94 && covered <= 97 : claimed <= 3.5;
    printf("%8.1f %8zu %10.2f %10.2f %8.1f %10.1f %12.4f  %s\n", 100 * gain, t->studies, claimed,
           covered, (double)t->pairs / n, 100 * (double)t->found / n, 100 * t->width / n,
           kept ? "kept" : "BROKEN");
    return kept;
}

static int run_all(size_t studies, uint64_t seed, const recording *recorded)
{
    static const double gains[] = {0, 0.01, 0.02, 0.05};
    bool kept = true;
    printf("  gain %%  studies  claimed %%  covered %%    pairs  chosen %%  half width %%\n");
    for (size_t g = 0; g < sizeof gains / sizeof *gains; g++) {
        tally t = {0};
        for (size_t i = 0; i < studies; i++) {
            noise n = {.recorded = recorded};
            evocc_error error;
            rng_seed(&n.r, seed * 1000003 + g * 100000007 + i);
            if (run_study(&t, &n, log(1 + gains[g]), i, &error) != EVOCC_OK) {
                fprintf(stderr, "bench_stats: %s\n", error.message);
                return 1;
            }
        }
        kept = report(&t, gains[g]) && kept;
    }
    return kept ? 0 : 1;
}

int main(int argc, char **argv)
{
    size_t studies = 2000;
    uint64_t seed = 1;
    const char *path = NULL;
    for (int option; (option = getopt(argc, argv, "n:f:s:")) != -1;) {
        int64_t number = 0;
        if (option == 'f') {
            path = optarg;
        } else if (option == '?' || !text_integer(&number, optarg) || number < 1) {
            fprintf(stderr, "usage: bench_stats [-n STUDIES] [-f SAMPLES] [-s SEED]\n");
            return 2;
        } else if (option == 'n') {
            studies = (size_t)number;
        } else {
            seed = (uint64_t)number;
        }
    }
    recording recorded = {0};
    char *text = NULL;
    size_t length;
    evocc_error error;
    int exit_status = 2;
    if (path != NULL && file_read(&text, &length, path, (size_t)1 << 28, &error) != EVOCC_OK) {
        fprintf(stderr, "bench_stats: %s\n", error.message);
    } else if (path == NULL || read_samples(&recorded, text, path) == 0) {
        exit_status = run_all(studies, seed, path != NULL ? &recorded : NULL);
    }
    mem_free(text);
    mem_free(recorded.logs);
    mem_free(recorded.starts);
    return exit_status;
}
