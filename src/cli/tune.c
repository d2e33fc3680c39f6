#include "cli/cli.h"

#include "study/study.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tune_values {
    const char *arch, *kernel, *output, *study, *resume, *ptxas, *gpu;
    bool whole_module, allow_numerics, keep_parameters, json, quiet;
    cli_list minimize, maximize, seed_acfs, seed_studies;
    size_t pool_size, cull_size, generations, seed, workers, max_trials, stale;
    double mutate_rate, deadline_s, max_time_s, target;
    const char *lag, *survival;
    bool prescreen;
} tune_values;

#define OFFSET(field) offsetof(tune_values, field)

static const cli_option options[] = {
    {"arch", 0, "SM", CLI_TEXT, OFFSET(arch),
     "architecture to compile for, as ptxas -arch; default: the file's own .target"},
    {"minimize", 0, "METRIC", CLI_LIST, OFFSET(minimize),
     "make METRIC small: registers, spill_bytes, stack_bytes, code_bytes, shared_bytes, "
     "compile_time; of a workload also runtime (its default), runtime@SHAPE, energy, power. Repeat "
     "it, or separate by commas, for several objectives (a Pareto front); "
     "METRIC:2 gives one twice the weight"},
    {"maximize", 0, "METRIC", CLI_LIST, OFFSET(maximize), "make METRIC large"},
    {"kernel", 0, "NAME", CLI_TEXT, OFFSET(kernel), "the .entry to tune, where there are several"},
    {"whole-module", 0, NULL, CLI_FLAG, OFFSET(whole_module),
     "count all entries together, so that ptxas options, which reach all of them, are searched "
     "too"},
    {"output", 'o', "FILE", CLI_TEXT, OFFSET(output),
     "where the ACF goes; default: <input name>.acf. With several objectives a folder: one ACF per "
     "point of the front, index.json and best.acf; default: <input name>.front"},
    {"study", 0, "FILE", CLI_TEXT, OFFSET(study),
     "study file with every trial; default: <input name>.db in the current folder"},
    {"resume", 0, "FILE", CLI_TEXT, OFFSET(resume),
     "go on with a study file; only -o, --workers, --ptxas, --gpu and --json go with it"},
    {"pool-size", 0, "N", CLI_COUNT, OFFSET(pool_size), "candidates that survive; default 32"},
    {"cull-size", 0, "N", CLI_COUNT, OFFSET(cull_size),
     "new candidates in each later generation; default 24"},
    {"generations", 0, "N", CLI_COUNT, OFFSET(generations), "generations; default 20"},
    {"mutate-rate", 0, "X", CLI_NUMBER, OFFSET(mutate_rate),
     "share of the controls that a mutation changes, above 0 to 1; default 0.1"},
    {"seed-acf", 0, "FILE", CLI_LIST, OFFSET(seed_acfs),
     "begin with the controls of an ACF, whatever it is for; what is not here is left out or "
     "becomes "
     "the nearest value, and is listed. At most a quarter of the first pool begins so"},
    {"seed-study", 0, "FILE", CLI_LIST, OFFSET(seed_studies),
     "begin with what an earlier study found best, in the same way"},
    {"max-trials", 0, "N", CLI_COUNT, OFFSET(max_trials),
     "end after N trials, if the generations make more"},
    {"max-time", 0, "SECONDS", CLI_NUMBER, OFFSET(max_time_s),
     "ask no more after so long, interrupted runs counted together"},
    {"stale", 0, "N", CLI_COUNT, OFFSET(stale),
     "end when N generations have found nothing better; default: never"},
    {"target", 0, "X", CLI_NUMBER, OFFSET(target),
     "end when the first objective is as good as X; counts and bytes end at 0 by themselves"},
    {"lag", 0, "N", CLI_TEXT, OFFSET(lag),
     "ask trial k when the answers up to k - N are there (1 to 4096), instead of generation by "
     "generation (0); default: 24 for a workload, else 0"},
    {"survival", 0, "KIND", CLI_TEXT, OFFSET(survival),
     "of several objectives: nsga3 (reference directions, the default) or hypervolume"},
    {"prescreen", 0, NULL, CLI_FLAG, OFFSET(prescreen),
     "let a model learned from the trials choose among several children"},
    {"seed", 0, "N", CLI_SIZE, OFFSET(seed),
     "of the random generator; the same seed asks the same trials; default 0"},
    {"workers", 0, "N", CLI_COUNT, OFFSET(workers), "compilations at a time; default: one a core"},
    {"deadline", 0, "SECONDS", CLI_NUMBER, OFFSET(deadline_s),
     "for one compilation; default: ten times the baseline's, at least 60"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas),
     "the ptxas to use; default: EVOCC_REAL_PTXAS, else CUDA_HOME/bin, else PATH"},
    {"keep-parameters", 0, NULL, CLI_FLAG, OFFSET(keep_parameters),
     "of a workload: application parameters stay at their defaults. Controls of the PTX are for "
     "the "
     "PTX that the defaults give, so with other values they rest"},
    {"gpu", 0, "GPU", CLI_TEXT, OFFSET(gpu), "of a workload: index or UUID; default: the first"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics),
     "also search controls that may change floating-point rounding (-fmad)"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "print the result as JSON"},
    {"quiet", 'q', NULL, CLI_FLAG, OFFSET(quiet), "no progress on stderr"},
};

/* ---- Progress
 * ------------------------------------------------------------------------------------- */

typedef struct tune_progress {
    bool moving;         /* one line that is rewritten */
    uint32_t generation; /* last one printed */
    double printed_s;    /* elapsed time when the line was last written */
} tune_progress;

static void duration_text(char *out, size_t size, double seconds)
{
    if (isnan(seconds)) {
        snprintf(out, size, "?");
    } else if (seconds < 100) {
        snprintf(out, size, "%.0f s", seconds);
    } else {
        snprintf(out, size, "%.0f min %02d s", floor(seconds / 60), (int)fmod(seconds, 60));
    }
}

static void progress_text(char *out, size_t size, const study_progress *p)
{
    char left[32];
    char busy[80] = "";
    if (strcmp(p->phase, "search") != 0) {
        snprintf(out, size, "%s  pair %zu of at most %zu in fresh processes  %s %.6g -> %.6g",
                 strcmp(p->phase, "choice") == 0 ? "choosing among the best" : "comparing",
                 p->pairs, p->pairs_most, p->metric, p->baseline, p->best);
        return;
    }
    if (!isnan(p->busy)) {
        snprintf(busy, sizeof busy, "  GPU busy %.0f %%  %" PRIu64 " duplicates saved",
                 100 * p->busy, p->shared);
    }
    duration_text(left, sizeof left, p->left_s);
    snprintf(out, size,
             "generation %u/%u  trials %" PRIu64 "/%" PRIu64 "  valid %.0f %%  %s %.6g -> %.6g"
             "  %.1f trials/s%s  %s left",
             p->generation + 1, p->generations, p->trials, p->budget,
             p->trials == 0 ? 0.0 : 100.0 * (double)p->valid / (double)p->trials, p->metric,
             p->baseline, p->best, p->trials_per_s, busy, left);
}

static void show_progress(const study_progress *p, void *context)
{
    tune_progress *state = context;
    bool last = p->trials == p->budget;
    char text[256];
    if (state->moving) {
        if (last || p->elapsed_s - state->printed_s > 0.1) {
            state->printed_s = p->elapsed_s;
            progress_text(text, sizeof text, p);
            fprintf(stderr, "\r\033[K%.*s", 200, text);
        }
    } else if (p->pairs > 0 ? p->pairs % 10 == 0 : last || p->generation != state->generation) {
        state->generation = p->generation;
        progress_text(text, sizeof text, p);
        fprintf(stderr, "%s\n", text);
    }
}

static void end_progress(const tune_progress *state)
{
    if (state->moving) {
        fputs("\r\033[K", stderr);
    }
}

/* ---- The command
 * ---------------------------------------------------------------------------------- */

static evocc_status objectives_of(objective_list *out, const tune_values *v, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < v->minimize.count; i++) {
        status = objective_list_add(out, v->minimize.items[i], false, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < v->maximize.count; i++) {
        status = objective_list_add(out, v->maximize.items[i], true, error);
    }
    return status;
}

static int usage(const char *message)
{
    fprintf(stderr, "evocc tune: %s (evocc tune --help)\n", message);
    return CLI_USAGE;
}

static bool is_workload(const char *path)
{
    size_t length = strlen(path);
    return (length > 5 && strcmp(path + length - 5, ".yaml") == 0) ||
           (length > 4 && strcmp(path + length - 4, ".yml") == 0);
}

/* What cannot be right, said before anything is made. */
static int check_values(const tune_values *v, const cli_operands *operands)
{
    if (v->resume != NULL) {
        bool fresh = operands->count > 0 || v->arch != NULL || v->kernel != NULL ||
                     v->study != NULL || v->whole_module || v->allow_numerics ||
                     v->keep_parameters || v->minimize.count > 0 || v->maximize.count > 0 ||
                     v->pool_size > 0 || v->cull_size > 0 || v->generations > 0 || v->seed > 0 ||
                     v->mutate_rate != 0 || operands->rest_count > 0 || v->max_trials > 0 ||
                     v->max_time_s != 0 || v->stale > 0 || v->target != 0 || v->lag != NULL ||
                     v->survival != NULL || v->prescreen || v->seed_acfs.count > 0 ||
                     v->seed_studies.count > 0;
        return fresh ? usage("--resume goes on as the study began: only -o, --workers, --ptxas, "
                             "--gpu, --json and --quiet go with it")
                     : CLI_DONE;
    }
    if (operands->count == 0) {
        return usage("which kernel? evocc tune WORKLOAD.yaml, or KERNEL.ptx --minimize METRIC");
    }
    if (!is_workload(operands->items[0]) && v->minimize.count == 0 && v->maximize.count == 0) {
        return usage("for what? name an objective: --minimize spill_bytes");
    }
    if (v->mutate_rate > 1) {
        return usage("--mutate-rate is a share: above 0, up to 1");
    }
    return CLI_DONE;
}

static bool read_lag(size_t *out, const char *text)
{
    char *end;
    unsigned long lag = strtoul(text, &end, 10);
    *out = lag;
    return *text >= '0' && *text <= '9' && *end == '\0' && lag <= 4096;
}

/* How it searches, of the words that are no numbers. */
static evocc_status search_words(study_options *o, const tune_values *v, evocc_error *error)
{
    o->lag_given = v->lag != NULL;
    if (v->lag != NULL && !read_lag(&o->lag, v->lag)) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "--lag is 0 to 4096, not '%s'", v->lag);
    }
    bool hypervolume = v->survival != NULL && strcmp(v->survival, "hypervolume") == 0;
    if (v->survival != NULL && !hypervolume && strcmp(v->survival, "nsga3") != 0) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "--survival is nsga3 or hypervolume, not '%s'", v->survival);
    }
    o->survival = hypervolume ? SEARCH_HYPERVOLUME : SEARCH_NSGA3;
    return EVOCC_OK;
}

static evocc_status open_study(study **out, const tune_values *v, const cli_operands *operands,
                               evocc_error *error)
{
    if (v->resume != NULL) {
        return study_resume(out, v->resume, v->ptxas, v->gpu, v->output, v->workers, error);
    }
    study_options o = {
        .input_path = operands->items[0],
        .arch = v->arch,
        .kernel = v->kernel,
        .whole_module = v->whole_module,
        .base = (const char *const *)operands->rest,
        .base_count = operands->rest_count,
        .pool_size = v->pool_size,
        .cull_size = v->cull_size,
        .generations = v->generations,
        .mutate_rate = v->mutate_rate,
        .seed = v->seed,
        .workers = v->workers,
        .deadline_s = v->deadline_s,
        .output_path = v->output,
        .study_path = v->study,
        .ptxas = v->ptxas,
        .allow_numerics = v->allow_numerics,
        .gpu = v->gpu,
        .keep_parameters = v->keep_parameters,
        .max_trials = v->max_trials,
        .max_time_s = v->max_time_s,
        .stale_generations = (uint32_t)(v->stale < UINT32_MAX ? v->stale : UINT32_MAX),
        .target = v->target,
        .prescreen = v->prescreen,
        .seed_acfs = v->seed_acfs.items,
        .seed_acf_count = v->seed_acfs.count,
        .seed_studies = v->seed_studies.items,
        .seed_study_count = v->seed_studies.count,
    };
    evocc_status status = search_words(&o, v, error);
    if (status == EVOCC_OK) {
        status = objectives_of(&o.objectives, v, error);
    }
    return status == EVOCC_OK ? study_create(out, &o, error) : status;
}

static int print_summary(const report_summary *summary, bool json)
{
    strbuf text = {0};
    if (json) {
        report_json(&text, summary);
    } else {
        report_table(&text, summary);
    }
    int status = cli_print(strbuf_text(&text), text.length);
    strbuf_dispose(&text);
    return status;
}

/* The command that applies the result, as it has to be typed. */
static void say_how_to_apply(const study *s, const report_summary *summary)
{
    bool several = summary->objectives.count > 1;
    strbuf path = {0};
    strbuf words = {0};
    strbuf_printf(&path, "%s%s", study_output(s), several ? "/best.acf" : "");
    if (study_gpu(s) != NULL) {
        strbuf_puts(&words, "evocc run ");
        strbuf_shell_word(&words, summary->input);
        strbuf_puts(&words, " --apply-controls=");
        strbuf_shell_word(&words, strbuf_text(&path));
        goto print;
    }
    strbuf_printf(&words, "evocc %s --apply-controls=", summary->compiler);
    strbuf_shell_word(&words, strbuf_text(&path));
    if (study_allows_numerics(s)) {
        strbuf_puts(&words, " --allow-numerics");
    }
    size_t count;
    const char *const *base = study_base(s, &count);
    for (size_t i = 0; i < count; i++) {
        strbuf_putc(&words, ' ');
        strbuf_shell_word(&words, base[i]);
    }
    if (strcmp(summary->compiler, "ptxas") != 0) {
        strbuf_puts(&words, " -c FILE.c");
        goto print;
    }
    strbuf_printf(&words, " -arch=%s ", summary->arch);
    strbuf_shell_word(&words, summary->input);
    strbuf_puts(&words, " -o kernel.cubin");
print:
    if (!path.failed && !words.failed) {
        fprintf(stderr, "\nwrote %s%s\napply it:  %s\n", study_output(s),
                several ? "/ (one ACF a point, index.json, best.acf)" : "", strbuf_text(&words));
    }
    strbuf_dispose(&words);
    strbuf_dispose(&path);
}

static int conclude(study *s, const tune_values *v, evocc_error *error)
{
    report_summary *summary = NULL;
    evocc_status status = study_summary(&summary, s, error);
    if (status == EVOCC_OK && summary->improved) {
        status = study_write(s, summary, error);
    }
    int exit_status = CLI_FAILED;
    if (summary != NULL) {
        exit_status = print_summary(summary, v->json);
    }
    if (status != EVOCC_OK) {
        exit_status = cli_fail(&cli_tune, error);
    } else if (!v->quiet && summary->improved) {
        say_how_to_apply(s, summary);
    } else if (!v->quiet) {
        fprintf(stderr, "\nno ACF was written\n");
    }
    report_summary_free(summary);
    return exit_status;
}

static void announce(const study *s)
{
    const char *notes = study_seed_notes(s);
    while (*notes != '\0') {
        int length = (int)strcspn(notes, "\n");
        fprintf(stderr, "seed: %.*s\n", length, notes);
        notes += length + 1;
    }
    const gpu_info *gpu = study_gpu(s);
    fprintf(stderr, "%zu controls, %zu at a time with %s%s%s; study file %s\n",
            study_control_count(s), study_worker_count(s), study_compiler_path(s),
            gpu != NULL ? ", measured on " : "", gpu != NULL ? gpu->name : "", study_path(s));
}

static int run(const void *values, const cli_operands *operands)
{
    const tune_values *v = values;
    int usage_status = check_values(v, operands);
    if (usage_status != CLI_DONE) {
        return usage_status;
    }
    signal(SIGPIPE, SIG_IGN);
    int wake_fd = cli_catch_signals();
    evocc_error error = {0};
    study *s = NULL;
    evocc_status status = open_study(&s, v, operands, &error);
    if (status != EVOCC_OK) {
        return cli_fail(&cli_tune, &error);
    }
    tune_progress progress = {.moving = cli_is_terminal(STDERR_FILENO)};
    if (!v->quiet) {
        announce(s);
    }
    status = study_run(s, v->quiet ? NULL : show_progress, &progress, wake_fd, &error);
    end_progress(&progress);
    int exit_status;
    if (status == EVOCC_OK) {
        exit_status = conclude(s, v, &error);
    } else if (status == EVOCC_INTERRUPTED) {
        fprintf(stderr,
                "evocc tune: interrupted; finished trials are kept. Go on with:  evocc tune "
                "--resume %s\n",
                study_path(s));
        exit_status = CLI_INTERRUPTED;
    } else {
        exit_status = cli_fail(&cli_tune, &error);
    }
    study_free(s);
    return exit_status;
}

const cli_command cli_tune = {
    .name = "tune",
    .operands = "WORKLOAD.yaml | KERNEL.ptx [-- PTXAS OPTIONS]",
    .summary = "search the compiler's decisions for one kernel",
    .text =
        "Compiles the kernel again and again with other ptxas options and other, equivalent PTX "
        "(order of instructions, block frequencies and more), guided by an evolutionary search. "
        "No GPU is needed: the objectives are what the compiler and the machine code tell. "
        "Every trial goes into a study file at once; Ctrl-C or kill -9 lose at most what is in "
        "flight, and --resume goes on exactly as the unbroken run would have.\n"
        "Options after -- are the user's own: they are part of the baseline, of every "
        "candidate, and of what the ACF is for.",
    .examples = "  evocc tune kernel.ptx --minimize spill_bytes -o best.acf\n"
                "  evocc tune kernel.ptx --minimize spill_bytes --minimize code_bytes -o front\n"
                "  evocc tune kernel.ptx --minimize registers --seed 7 -- -maxrregcount=96\n"
                "  evocc tune --resume kernel.db\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 0,
    .operands_max = 1,
    .values_size = sizeof(tune_values),
    .run = run,
};
