#include "cli/cli.h"

#include "acf/acf.h"
#include "gpu/build.h"
#include "gpu/compare.h"
#include "gpu/driver.h"
#include "study/study.h"
#include "util/error.h"
#include "util/files.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct run_values {
    const char *acf, *with, *ptxas, *gpu;
    size_t max_pairs;
    bool energy, quick, json, allow_numerics;
} run_values;

#define OFFSET(field) offsetof(run_values, field)

static const cli_option options[] = {
    {"apply-controls", 0, "FILE", CLI_TEXT, OFFSET(acf),
     "an ACF; the module with it runs beside the module without"},
    {"with", 0, "CANDIDATE", CLI_TEXT, OFFSET(with),
     "controls as a study writes a trial, instead of an ACF: 'define/TILE=16 ptx/order@k=late'"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas), "the ptxas to use, with --with"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics), "as for evocc tune"},
    {"gpu", 0, "GPU", CLI_TEXT, OFFSET(gpu), "index or UUID; default: the first"},
    {"max-pairs", 0, "N", CLI_COUNT, OFFSET(max_pairs),
     "most fresh processes for the comparison; default 60"},
    {"energy", 0, NULL, CLI_FLAG, OFFSET(energy), "measure energy and power, too"},
    {"quick", 0, NULL, CLI_FLAG, OFFSET(quick), "one process: check and measure, no comparison"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "print the numbers as JSON"},
};

/* All that a run holds. */
typedef struct session {
    workload *w;
    gpu_job job;
    launcher *l;
    gpu *g;
    study *candidates;            /* that the controls are looked up in; NULL: a build does it */
    char *ptx, *baseline, *tuned; /* the latter is the baseline's without an ACF */
    size_t baseline_length, tuned_length;
    gpu_launch *launches; /* of the tuned one; NULL: as the workload says */
    gpu_result result;
    gpu_comparison comparison;
    bool compared;
} session;

static void session_dispose(session *s)
{
    gpu_result_dispose(&s->result);
    gpu_close(s->g);
    launcher_free(s->l);
    gpu_job_dispose(&s->job);
    workload_free(s->w);
    study_free(s->candidates);
    mem_free(s->launches);
    mem_free(s->ptx);
    mem_free(s->baseline);
    mem_free(s->tuned);
}

/* As a build would: the module through the wrapper, which applies the ACF. */
static evocc_status build(session *s, const run_values *v, evocc_error *error)
{
    char *self = NULL;
    file_identity file = {0};
    evocc_status status = launcher_new(&s->l, error);
    if (status == EVOCC_OK) {
        status = gpu_build_ptx(&s->ptx, s->w, NULL, s->l, error);
    }
    if (status == EVOCC_OK) {
        status = gpu_build_cubin(&s->baseline, &s->baseline_length, s->w, s->l, s->ptx, NULL, NULL,
                                 error);
    }
    if (status == EVOCC_OK && v->acf != NULL) {
        status = program_self(&self, error);
        if (status == EVOCC_OK) {
            status = file_identify(&file, v->acf, error); /* absolute: compilers run elsewhere */
        }
        if (status == EVOCC_OK) {
            status = gpu_build_cubin(&s->tuned, &s->tuned_length, s->w, s->l, s->ptx, self,
                                     file.path, error);
        }
    }
    mem_free(file.path);
    mem_free(self);
    return status;
}

/* As a study does: for candidates given by their text, and for ACFs with application parameters,
   which concern the front end and the launch, too. */
static evocc_status build_candidate(session *s, const run_values *v, const char *path,
                                    evocc_error *error)
{
    char *words = NULL;
    study_options o = {
        .input_path = path, .ptxas = v->ptxas, .workers = 1, .allow_numerics = v->allow_numerics};
    evocc_status status = study_preview(&s->candidates, &o, error);
    if (status == EVOCC_OK) {
        status = study_compile(&s->baseline, &s->baseline_length, s->candidates, "", error);
    }
    if (status == EVOCC_OK && v->acf != NULL) {
        status = study_candidate_of(&words, s->candidates, v->acf, error);
    }
    const char *candidate = words != NULL ? words : v->with;
    if (status == EVOCC_OK && candidate != NULL) {
        status = study_compile(&s->tuned, &s->tuned_length, s->candidates, candidate, error);
    }
    if (status == EVOCC_OK && candidate != NULL) {
        status = study_launches(&s->launches, s->candidates, candidate, error);
    }
    mem_free(words);
    return status;
}

/* Whether an ACF holds application parameters; false where it cannot be read: who applies it will
   say why. */
static bool has_parameters(const char *path)
{
    char *text = NULL;
    size_t length;
    acf *file = NULL;
    bool found = false;
    if (path != NULL && file_read(&text, &length, path, ACF_SIZE_LIMIT, NULL) == EVOCC_OK &&
        acf_read(&file, text, length, path, NULL) == EVOCC_OK) {
        for (size_t i = 0; i < file->control_count; i++) {
            found = found || strncmp(file->controls[i].full_name, "define/", 7) == 0;
        }
    }
    acf_free(file);
    mem_free(text);
    return found;
}

static evocc_status measure(session *s, const run_values *v, int wake_fd, evocc_error *error)
{
    const gpu_request request = {
        .image = s->tuned != NULL ? s->tuned : s->baseline,
        .image_length = s->tuned != NULL ? s->tuned_length : s->baseline_length,
        .launches = s->launches,
        .check = true,
        .measure = true,
        .energy = v->energy,
        .pairs = 11,
        .pair_seed = 1,
    };
    evocc_status status = gpu_load(s->g, &s->job, s->baseline, s->baseline_length, error);
    if (status == EVOCC_OK) {
        status = gpu_submit(s->g, &request, error);
    }
    if (status == EVOCC_OK) {
        status = gpu_wait(s->g, -1, wake_fd, &s->result, error);
    }
    if (status == EVOCC_OK && s->result.outcome != EVOCC_OUTCOME_OK) {
        status = error_set(error, EVOCC_PROCESS, "%s: %s", evocc_outcome_name(s->result.outcome),
                           s->result.detail);
    }
    if (status == EVOCC_OK && s->tuned != NULL && !v->quick) {
        const stats_plan plan = {.max_pairs = v->max_pairs,
                                 .min_pairs =
                                     v->max_pairs > 0 && v->max_pairs < 20 ? v->max_pairs : 0,
                                 .interval.seed = 1};
        status = gpu_compare(&s->comparison, s->g, &s->job, &request, &plan, wake_fd, error);
        s->compared = status == EVOCC_OK;
    }
    return status;
}

static evocc_status do_all(session *s, const run_values *v, const char *path, evocc_error *error)
{
    evocc_status status = workload_read(&s->w, path, error);
    if (status == EVOCC_OK) {
        status = workload_resolve(&s->job, s->w, NULL, error);
    }
    if (status == EVOCC_OK) {
        status = gpu_open(&s->g, v->gpu, error);
    }
    if (status == EVOCC_OK && v->energy && !gpu_get_info(s->g)->has_energy) {
        status = error_set(
            error, EVOCC_UNSUPPORTED, "%s does not tell its energy%s; run without --energy",
            gpu_get_info(s->g)->name,
            gpu_get_info(s->g)->is_mig ? " (a MIG instance shares its counter)" : "");
    }
    if (status == EVOCC_OK) {
        bool by_study = v->with != NULL || v->ptxas != NULL || has_parameters(v->acf);
        status = by_study ? build_candidate(s, v, path, error) : build(s, v, error);
    }
    return status == EVOCC_OK ? measure(s, v, cli_catch_signals(), error) : status;
}

/* ---- What is shown --------------------------------------------------------------------------- */

static void put_pair(strbuf *out, const char *name, double baseline_s, double candidate_s,
                     bool both)
{
    if (both) {
        strbuf_printf(out, "%-18s %12.6g s %12.6g s %10.4f\n", name, baseline_s, candidate_s,
                      baseline_s / candidate_s);
    } else {
        strbuf_printf(out, "%-18s %12.6g s\n", name, candidate_s);
    }
}

static double median_of(const double *values, uint32_t count)
{
    double sorted[256];
    count = count < 256 ? count : 256;
    memcpy(sorted, values, count * sizeof *sorted);
    return count > 0 ? stats_median(sorted, count) : (double)NAN;
}

static void put_conditions(strbuf *out, const gpu_conditions *c)
{
    char throttle[120];
    nvml_throttle_text(throttle, sizeof throttle, c->throttle_reasons);
    strbuf_printf(out, "conditions         SM %.0f MHz, memory %.0f MHz, %.0f C, %.0f W%s%s\n",
                  c->sm_clock_hz / 1e6, c->memory_clock_hz / 1e6, c->temperature_c, c->power_w,
                  *throttle != '\0' ? ", slowed by: " : "", throttle);
}

static void put_comparison(strbuf *out, const gpu_comparison *c)
{
    const stats_comparison *s = &c->statistics;
    stats_verdict verdict = stats_judge(s, 0);
    strbuf_printf(out,
                  "speed-up           %.4f, 95 %% interval %.4f to %.4f, %zu pairs in fresh "
                  "processes: %s\n",
                  s->speedup, s->low, s->high, s->pairs,
                  verdict == STATS_NO_DIFFERENCE ? "no significant difference"
                                                 : stats_verdict_name(verdict));
    strbuf_printf(out, "noise              %.2f %% a pair, floor %.2f %%\n", 100 * s->spread,
                  100 * s->noise_floor);
}

static void put_text(strbuf *out, const session *s)
{
    const gpu_info *info = gpu_get_info(s->g);
    bool both = s->tuned != NULL;
    strbuf_printf(out, "%s, driver %s; %s of %s\n", info->name,
                  info->driver[0] != '\0' ? info->driver : "unknown", s->job.kernel,
                  workload_get_module(s->w)->path);
    strbuf_printf(out, "outputs            right: %u input seeds, %u runs each\n",
                  s->job.check.seeds, s->job.check.repeats);
    strbuf_printf(out, "%-18s %14s%s\n", "shape", both ? "baseline" : "runtime",
                  both ? "          tuned    gain" : "");
    for (size_t i = 0; i < s->result.timing_count; i++) {
        const gpu_timing *t = &s->result.timings[i];
        put_pair(out, s->job.shapes[i].name, median_of(t->baseline, t->baseline_count),
                 median_of(t->samples, t->sample_count), both);
    }
    if (!isnan(s->result.energy.per_launch_j)) {
        const gpu_energy *e = &s->result.energy;
        strbuf_printf(out,
                      "energy             %.6g J a launch, +- %.1g J; %.0f W over %.1f s, warm "
                      "cache\n",
                      e->per_launch_j, e->resolution_j, e->power_w, e->window_s);
    }
    put_conditions(out, s->compared ? &s->comparison.conditions : &s->result.conditions);
    if (s->compared) {
        put_comparison(out, &s->comparison);
    }
}

static void put_number(strbuf *out, const char *name, double value)
{
    strbuf_printf(out, ",\"%s\":", name);
    strbuf_number(out, value);
}

static void put_json(strbuf *out, const session *s)
{
    const gpu_info *info = gpu_get_info(s->g);
    const gpu_result *r = &s->result;
    strbuf_puts(out, "{\"device\":");
    strbuf_json_string(out, info->name);
    strbuf_puts(out, ",\"kernel\":");
    strbuf_json_string(out, s->job.kernel);
    double baseline_s;
    double candidate_s;
    gpu_result_sides(&baseline_s, &candidate_s, r, &s->job);
    put_number(out, "baseline_s", s->compared ? s->comparison.baseline_s : baseline_s);
    put_number(out, "runtime_s", s->compared ? s->comparison.candidate_s : candidate_s);
    put_number(out, "energy_j", r->energy.per_launch_j);
    put_number(out, "energy_resolution_j", r->energy.resolution_j);
    put_number(out, "power_w", r->energy.power_w);
    put_number(out, "sm_clock_hz", r->conditions.sm_clock_hz);
    put_number(out, "temperature_c", r->conditions.temperature_c);
    put_number(out, "wall_s", r->wall_s);
    put_number(out, "busy_s", r->busy_s);
    if (s->compared) {
        const stats_comparison *c = &s->comparison.statistics;
        put_number(out, "speedup", c->speedup);
        put_number(out, "low", c->low);
        put_number(out, "high", c->high);
        put_number(out, "pairs", (double)c->pairs);
        put_number(out, "noise_floor", c->noise_floor);
        strbuf_puts(out, ",\"verdict\":");
        strbuf_json_string(out, stats_verdict_name(stats_judge(c, 0)));
    }
    strbuf_puts(out, "}\n");
}

static int run(const void *values, const cli_operands *operands)
{
    const run_values *v = values;
    evocc_error error = {0};
    session s = {0};
    int exit_status;
    if (do_all(&s, v, operands->items[0], &error) != EVOCC_OK) {
        exit_status = cli_fail(&cli_run, &error);
    } else {
        strbuf text = {0};
        (v->json ? put_json : put_text)(&text, &s);
        exit_status = text.failed ? CLI_FAILED : cli_print(strbuf_text(&text), text.length);
        strbuf_dispose(&text);
    }
    session_dispose(&s);
    return exit_status;
}

const cli_command cli_run = {
    .name = "run",
    .operands = "WORKLOAD.yaml",
    .summary = "check and measure a kernel on the GPU, with and without an ACF",
    .text =
        "Compiles the workload's module, runs its kernel on every shape and several inputs, "
        "checks what it writes, and measures how long a launch takes. With an ACF the module is "
        "compiled as a build would with 'evocc ptxas --apply-controls', its outputs are compared "
        "with those of the module without it, and both are measured in pairs, each pair in a "
        "fresh process and in random order, until the interval of the speed-up is narrow enough. "
        "The GPU's clocks and modes are never changed. docs/workload.md describes the file.",
    .examples = "  evocc run sgemm/workload.yaml\n"
                "  evocc run sgemm/workload.yaml --apply-controls best.acf --energy\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(run_values),
    .run = run,
};
