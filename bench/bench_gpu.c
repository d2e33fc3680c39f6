/*
 * bench_gpu: what measuring on this GPU costs, and how far it can be believed.
 *
 * usage: bench_gpu [-g GPU] [-c CANDIDATES] [-p PROCESSES] [-o SAMPLES] [-q]
 *                  WORKLOAD.yaml CUBIN [OTHER...]
 *   CUBIN  machine code of the workload's module, the baseline
 *   OTHER  other machine code, which is checked and measured: what becomes of it
 *   -q     says of the others only how many came to what end, and the best
 *   -c     evaluates the baseline as a candidate so many times, as a search does (50): candidates
 *          a second, the GPU's busy share
 *   -p     compares the baseline with itself in so many fresh processes (0): the spread of a pair,
 *          and how often 20 pairs in a row call a difference (5 % nominal)
 *   -o     keeps the samples of these processes, for bench_stats -f
 */
#include "gpu/compare.h"
#include "gpu/gpu.h"
#include "gpu/workload.h"
#include "util/clock.h"
#include "util/files.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 5, GROUP = 20 };

typedef struct settings {
    const char *gpu, *workload, *baseline, *samples;
    char **others;
    size_t other_count;
    int64_t candidates, processes;
    bool quiet;
} settings;

typedef struct bench {
    gpu *g;
    gpu_job job;
    char *image;
    size_t length;
} bench;

static int fail(const evocc_error *error)
{
    fprintf(stderr, "bench_gpu: %s\n", error->message);
    return 1;
}

static int begin(bench *b, const settings *s)
{
    evocc_error error;
    workload *w = NULL;
    double start_s = clock_now_s();
    double ready_s = start_s;
    evocc_status status = workload_read(&w, s->workload, &error);
    if (status == EVOCC_OK) {
        status = workload_resolve(&b->job, w, NULL, &error);
    }
    workload_free(w);
    if (status == EVOCC_OK) {
        status = file_read(&b->image, &b->length, s->baseline, (size_t)1 << 30, &error);
    }
    if (status == EVOCC_OK) {
        status = gpu_open(&b->g, s->gpu, &error);
        ready_s = clock_now_s();
    }
    if (status == EVOCC_OK) {
        status = gpu_load(b->g, &b->job, b->image, b->length, &error);
    }
    if (status != EVOCC_OK) {
        return fail(&error);
    }
    printf("%s: worker ready in %.3f s, workload in %.3f s\n", gpu_get_info(b->g)->name,
           ready_s - start_s, clock_now_s() - ready_s);
    return 0;
}

static int run_candidates(bench *b, const settings *s)
{
    evocc_error error;
    double busy_s = 0;
    double samples = 0;
    double runtime_s = 0;
    double begin_s = clock_now_s();
    const gpu_request request = {
        .image = b->image, .image_length = b->length, .check = true, .measure = true};
    for (int64_t i = 0; i < s->candidates; i++) {
        gpu_result result;
        if (gpu_run(b->g, &request, &result, &error) != EVOCC_OK) {
            return fail(&error);
        }
        if (result.outcome != EVOCC_OUTCOME_OK) {
            fprintf(stderr, "bench_gpu: %s: %s\n", evocc_outcome_name(result.outcome),
                    result.detail);
            return 1;
        }
        busy_s += result.busy_s;
        runtime_s = result.runtime_s;
        samples += result.timings[0].sample_count;
        gpu_result_dispose(&result);
    }
    double wall_s = clock_now_s() - begin_s;
    if (s->candidates > 0) {
        double n = (double)s->candidates;
        printf("candidates: %.1f a second, GPU busy %.0f %%, %.1f samples each, runtime %.6g s\n",
               n / wall_s, 100 * busy_s / wall_s, samples / n, runtime_s);
    }
    return 0;
}

/* As a search does it: the clearly slower than the best so far are not measured closely. */
static evocc_status run_other(bench *b, const char *path, double bound_s, gpu_result *result,
                              evocc_error *error)
{
    gpu_request request = {.check = true, .measure = true, .bound_s = bound_s};
    char *image;
    evocc_status status = file_read(&image, &request.image_length, path, (size_t)1 << 30, error);
    if (status == EVOCC_OK) {
        request.image = image;
        status = gpu_run(b->g, &request, result, error);
        mem_free(image);
    }
    return status;
}

typedef struct ends {
    size_t counts[EVOCC_OUTCOME_COUNT];
    size_t early; /* left as clearly slow */
    double best;  /* speed-up over the baseline measured beside it */
    double best_s;
    const char *best_path;
} ends;

static void note_end(ends *e, const bench *b, const settings *s, const char *path,
                     const gpu_result *result)
{
    double speedup = (double)NAN;
    e->counts[result->outcome]++;
    if (result->outcome == EVOCC_OUTCOME_OK) {
        double baseline_s;
        double candidate_s;
        gpu_result_sides(&baseline_s, &candidate_s, result, &b->job);
        speedup = baseline_s / candidate_s;
        e->early += result->early;
        if (!result->early && (e->best_s <= 0 || result->runtime_s < e->best_s)) {
            e->best_s = result->runtime_s;
        }
    }
    if (speedup > e->best) {
        e->best = speedup;
        e->best_path = path;
    }
    if (!s->quiet || result->outcome == EVOCC_OUTCOME_WRONG_OUTPUT) {
        printf("%s: %s: %.4f %s\n", path_base(path), evocc_outcome_name(result->outcome), speedup,
               result->detail);
    }
}

static int run_others(bench *b, const settings *s)
{
    evocc_error error;
    ends e = {.best_path = ""};
    double begin_s = clock_now_s();
    for (size_t i = 0; i < s->other_count; i++) {
        gpu_result result;
        if (run_other(b, s->others[i], e.best_s, &result, &error) != EVOCC_OK) {
            return fail(&error);
        }
        note_end(&e, b, s, s->others[i], &result);
        gpu_result_dispose(&result);
    }
    if (s->other_count > 0) {
        printf("others: %.1f a second; best %.4f (%s), measured once;",
               (double)s->other_count / (clock_now_s() - begin_s), e.best, path_base(e.best_path));
        for (size_t i = 0; i < EVOCC_OUTCOME_COUNT; i++) {
            if (e.counts[i] > 0) {
                printf(" %zu %s", e.counts[i], evocc_outcome_name((evocc_outcome)i));
            }
        }
        printf("; %zu left early; workers replaced: %zu\n", e.early, gpu_replacements(b->g));
    }
    return 0;
}

static void put_samples(FILE *out, const gpu_result *result)
{
    const gpu_timing *t = &result->timings[0];
    for (uint32_t i = 0; out != NULL && i < t->sample_count; i++) {
        fprintf(out, "%.9g\n%.9g\n", t->samples[i], t->baseline[i]);
    }
    if (out != NULL) {
        fprintf(out, "\n");
    }
}

/* Fills ratios with log(baseline / itself), one a process. */
static int run_processes(bench *b, const settings *s, double *ratios)
{
    evocc_error error;
    FILE *out = s->samples != NULL ? fopen(s->samples, "we") : NULL;
    double begin_s = clock_now_s();
    for (int64_t i = 0; i < s->processes; i++) {
        const gpu_request request = {.image = b->image,
                                     .image_length = b->length,
                                     .measure = true,
                                     .pairs = TURNS,
                                     .pair_seed = (uint64_t)i + 1};
        gpu_result result;
        double baseline_s;
        double candidate_s;
        evocc_status status = gpu_restart(b->g, true, &error);
        if (status == EVOCC_OK) {
            status = gpu_run(b->g, &request, &result, &error);
        }
        if (status != EVOCC_OK) {
            return fail(&error);
        }
        gpu_result_sides(&baseline_s, &candidate_s, &result, &b->job);
        ratios[i] = log(baseline_s / candidate_s);
        put_samples(out, &result);
        gpu_result_dispose(&result);
    }
    if (out != NULL && fclose(out) != 0) {
        perror("bench_gpu");
        return 1;
    }
    printf("fresh processes: %.3f s each\n",
           (clock_now_s() - begin_s) / (double)(s->processes > 0 ? s->processes : 1));
    return 0;
}

static int judge(const double *ratios, size_t count)
{
    evocc_error error;
    size_t groups = 0;
    size_t differences = 0;
    double floors = 0;
    for (size_t at = 0; at + GROUP <= count; at += GROUP) {
        stats_comparison c;
        const stats_options options = {.seed = at + 1};
        if (stats_compare(&c, ratios + at, GROUP, &options, &error) != EVOCC_OK) {
            return fail(&error);
        }
        groups++;
        differences += stats_judge(&c, 0) != STATS_NO_DIFFERENCE;
        floors += c.noise_floor;
    }
    if (groups > 0) {
        printf("with itself: %zu comparisons of %d pairs, %zu call a difference; noise floor %.3f "
               "%%\n",
               groups, GROUP, differences, 100 * floors / (double)groups);
    }
    return 0;
}

static int run_all(const settings *s)
{
    bench b = {0};
    double *ratios = mem_alloc((size_t)s->processes, sizeof *ratios);
    int status = ratios == NULL ? 1 : begin(&b, s);
    if (status == 0) {
        status = run_candidates(&b, s);
    }
    if (status == 0) {
        status = run_others(&b, s);
    }
    if (status == 0 && s->processes > 0) {
        status = run_processes(&b, s, ratios);
        status = status == 0 ? judge(ratios, (size_t)s->processes) : status;
    }
    gpu_close(b.g);
    gpu_job_dispose(&b.job);
    mem_free(b.image);
    mem_free(ratios);
    return status;
}

int main(int argc, char **argv)
{
    settings s = {.candidates = 50};
    bool good = true;
    for (int option; (option = getopt(argc, argv, "g:c:p:o:q")) != -1;) {
        if (option == 'g') {
            s.gpu = optarg;
        } else if (option == 'o') {
            s.samples = optarg;
        } else if (option == 'q') {
            s.quiet = true;
        } else if (option == 'c') {
            good = good && text_integer(&s.candidates, optarg) && s.candidates >= 0;
        } else if (option == 'p') {
            good = good && text_integer(&s.processes, optarg) && s.processes >= 0;
        } else {
            good = false;
        }
    }
    if (!good || argc - optind < 2) {
        fprintf(stderr,
                "usage: bench_gpu [-g GPU] [-c CANDIDATES] [-p PROCESSES] [-o SAMPLES] [-q] "
                "WORKLOAD.yaml CUBIN [OTHER...]\n");
        return 2;
    }
    s.workload = argv[optind];
    s.baseline = argv[optind + 1];
    s.others = argv + optind + 2;
    s.other_count = (size_t)(argc - optind - 2);
    return run_all(&s);
}
