/*
 * differential [options] WORKLOAD.yaml...
 *
 * Without --ranges: every wide value and --candidates random candidates a workload, compiled, run
 * and compared bit for bit; with it, run time over the baseline's, by kind of control. Exit status
 * 1: something differed or failed.
 */
#include "differential.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: differential [options] WORKLOAD.yaml...\n"
    "  --ptx FOLDER         PTX of .cu modules, as make-ptx wrote it (.)\n"
    "  --ptxas FILE         the compiler\n"
    "  --candidates N       random candidates a workload (200)\n"
    "  --seed N             (1)\n"
    "  --workers N          compilations at a time (16)\n"
    "  --seconds S          of one workload's compilations (60)\n"
    "  --reduce-seconds S   of one workload's reductions (20)\n"
    "  --total-seconds S    no workload is begun after that long\n"
    "  --checks N           input seeds, and runs of each, a candidate (3)\n"
    "  --no-gpu             compile only\n"
    "  --ranges             run time by kind of control\n"
    "  --sites N            with it: random sites of a kind, and random mixtures of its sites "
    "(12)\n"
    "  --pairs N            with it: pairs of samples a candidate (9)\n"
    "  --log FILE           with it: every candidate, tab-separated\n";

/* All launches here take less than a few milliseconds. */
static const double DEADLINE_S = 2;

typedef struct totals {
    size_t kernels, candidates, without_code, not_run, different, wrong, faults, launch, reasons;
} totals;

static void count_trials(totals *t, const trial_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const trial *of = &list->items[i];
        t->candidates += of->state != TRIAL_NOT_RUN;
        t->not_run += of->state == TRIAL_NOT_RUN;
        t->without_code += of->state == TRIAL_REFUSED || of->state == TRIAL_FAILED;
        if (of->state == TRIAL_CODE) {
            t->launch += of->outcome == EVOCC_OUTCOME_LAUNCH_FAILED;
            t->wrong += of->outcome == EVOCC_OUTCOME_WRONG_OUTPUT;
            t->faults += trial_is_bad(of) && of->outcome != EVOCC_OUTCOME_WRONG_OUTPUT;
        }
    }
}

static void print_header(void)
{
    printf("| kernel | controls | candidates | codes | wrong | faults | launch refused | no code | "
           "not run | reasons | s |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | "
           "--- |\n");
}

static void print_totals(const char *name, size_t controls, const totals *t, double seconds)
{
    printf("| %s | %zu | %zu | %zu | %zu | %zu | %zu | %zu | %zu | %zu | %.1f |\n", name, controls,
           t->candidates, t->different, t->wrong, t->faults, t->launch, t->without_code, t->not_run,
           t->reasons, seconds);
    fflush(stdout);
}

static void add_totals(totals *all, const totals *one)
{
    all->kernels++;
    all->candidates += one->candidates;
    all->without_code += one->without_code;
    all->not_run += one->not_run;
    all->different += one->different;
    all->wrong += one->wrong;
    all->faults += one->faults;
    all->launch += one->launch;
    all->reasons += one->reasons;
}

/* The baseline is the list's first. */
static evocc_status make_list(trial_list *list, const bench *b, const subject *s,
                              evocc_error *error)
{
    rng r;
    bool added;
    rng_seed(&r, b->seed);
    int32_t *none = mem_alloc(space_count(s->space) + 1, sizeof *none);
    evocc_status status = none != NULL ? EVOCC_OK : error_no_memory(error);
    for (size_t i = 0; status == EVOCC_OK && i < space_count(s->space); i++) {
        none[i] = SPACE_ABSENT;
    }
    if (status == EVOCC_OK) {
        status = trials_add(list, s, none, MIXED, &added, error);
    }
    if (status == EVOCC_OK) {
        status = trials_add_random(list, s, &r, b->candidates, error);
    }
    if (status == EVOCC_OK) {
        status = trials_add_wide(list, s, error);
    }
    mem_free(none);
    return status;
}

static evocc_status compare(bench *b, const subject *s, totals *t, evocc_error *error)
{
    trial_list list = {0};
    *t = (totals){0};
    double end_s = clock_now_s() + b->seconds;
    evocc_status status = make_list(&list, b, s, error);
    if (status == EVOCC_OK) {
        status = compile_trials(b, s, list.items, list.count, end_s, error);
    }
    if (status == EVOCC_OK) {
        status = load_baseline(b, s, &list.items[0], error);
    }
    if (status == EVOCC_OK) {
        status = run_trials(b, &list, false, &t->different, error);
        count_trials(t, &list);
    }
    if (status == EVOCC_OK) {
        status = explain_bad(b, s, &list, &t->reasons, error);
    }
    trials_dispose(&list);
    return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static bool read_option(bench *b, uint32_t *checks, const char *name, const char *value)
{
    double number = strtod(value, NULL);
    size_t count = number >= 1 ? (size_t)number : 1;
    if (strcmp(name, "--ptx") == 0) {
        b->ptx_folder = value;
    } else if (strcmp(name, "--ptxas") == 0) {
        b->ptxas_path = value;
    } else if (strcmp(name, "--candidates") == 0) {
        b->candidates = count;
    } else if (strcmp(name, "--seed") == 0) {
        b->seed = count;
    } else if (strcmp(name, "--workers") == 0) {
        b->workers = count;
    } else if (strcmp(name, "--seconds") == 0) {
        b->seconds = number;
    } else if (strcmp(name, "--reduce-seconds") == 0) {
        b->reduce_seconds = number;
    } else if (strcmp(name, "--total-seconds") == 0) {
        b->total_seconds = number;
    } else if (strcmp(name, "--checks") == 0) {
        *checks = (uint32_t)count;
    } else if (strcmp(name, "--sites") == 0) {
        b->sites = count;
    } else if (strcmp(name, "--pairs") == 0) {
        b->pairs = count;
    } else if (strcmp(name, "--log") == 0) {
        b->log = fopen(value, "w");
    } else {
        return false;
    }
    return true;
}

/* Index of the first workload; 0: the words are wrong. */
static int read_options(bench *b, uint32_t *checks, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--no-gpu") == 0) {
            b->use_gpu = false;
        } else if (strcmp(argv[i], "--ranges") == 0) {
            b->ranges = true;
        } else if (i + 1 < argc && read_option(b, checks, argv[i], argv[i + 1])) {
            i++;
        } else {
            return 0;
        }
    }
    return i < argc ? i : 0;
}

/* One workload; a fault of it is told and does not end the others' run. */
static bool run_workload(bench *b, const char *path, uint32_t checks, range_column *column,
                         totals *all)
{
    subject s;
    totals one = {0};
    evocc_error error = {0};
    double begun_s = clock_now_s();
    evocc_status status = subject_open(&s, b, path, &error);
    if (status == EVOCC_OK) {
        s.job.check.seeds = s.job.check.repeats = checks;
        s.job.measure.deadline_s = DEADLINE_S;
        status = b->ranges ? measure_ranges(b, &s, column, &error) : compare(b, &s, &one, &error);
    }
    if (status == EVOCC_OK && !b->ranges) {
        print_totals(s.name, space_count(s.space), &one, clock_now_s() - begun_s);
        add_totals(all, &one);
    }
    if (status != EVOCC_OK) {
        printf("%s: %s\n", path, error.message);
        fflush(stdout);
    }
    subject_dispose(&s);
    return status == EVOCC_OK && one.reasons == 0;
}

int main(int argc, char **argv)
{
    bench b = {.ptx_folder = ".",
               .candidates = 200,
               .workers = 16,
               .sites = 12,
               .pairs = 9,
               .seed = 1,
               .seconds = 60,
               .reduce_seconds = 20,
               .total_seconds = INFINITY,
               .use_gpu = true};
    uint32_t checks = 3;
    totals all = {0};
    evocc_error error = {0};
    bool good = true;
    int first = read_options(&b, &checks, argc, argv);
    if (first == 0) {
        fputs(usage, stderr);
        return 2;
    }
    range_column *columns = mem_alloc((size_t)argc, sizeof *columns);
    size_t count = 0;
    double begun_s = clock_now_s();
    if (columns == NULL || bench_open(&b, &error) != EVOCC_OK) {
        fprintf(stderr, "differential: %s\n", error.message);
        return 1;
    }
    if (!b.ranges) {
        print_header();
    }
    for (int i = first; i < argc && clock_now_s() < begun_s + b.total_seconds; i++) {
        good = run_workload(&b, argv[i], checks, &columns[count], &all) && good;
        count += columns[count].count > 0;
    }
    if (b.ranges) {
        print_ranges(columns, count);
    } else {
        print_totals("all", 0, &all, clock_now_s() - begun_s);
    }
    for (size_t i = 0; i < count; i++) {
        mem_free(columns[i].ranges);
    }
    mem_free(columns);
    bench_close(&b);
    return good ? 0 : 1;
}
