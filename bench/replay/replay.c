/*
 * replay: the engine on recorded auto-tuning spaces, by the rules of rivals.py (see there).
 *
 * usage: replay [-s FIRST-LAST] [-t TRIALS] [-g GENERATIONS] [-v] [-x NAME=VALUE]... FILE.txt...
 *   -2  two objectives, as in rivals.py
 *   -v  one line a seed (space method seed shares...) instead of one mean a space
 *   -x  another value for a constant of search/tuning.h, or pool, cull, rate, lag, survival,
 * repeat, prescreen
 *
 * The configurations of a file are those that exist; the engine learns that through its filter. The
 * default, which the engine tries first, is a configuration drawn by the seed.
 */
#include "search/hypervolume.h"
#include "search/search.h"
#include "search/tuning.h"
#include "space/space.h"
#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 32, VALUES_MAX = 256, CHECKPOINTS = 3 };
static const size_t checkpoints[CHECKPOINTS] = {100, 200, 500};

typedef struct config {
    int32_t genes[PARAMETERS_MAX];
    double *times; /* NULL: failed */
    size_t time_count;
    double mean, compile_time;
} config;

typedef struct recording {
    char name[64];
    size_t parameter_count;
    char *parameter_names[PARAMETERS_MAX];
    char *values[PARAMETERS_MAX][VALUES_MAX];
    int32_t sizes[PARAMETERS_MAX];
    config *configs;
    size_t config_count, config_capacity;
    int32_t *index; /* by mixed radix: configuration, or -1 */
    double optimum;
    double medians[2], exact_volume; /* of mean time and compile time */
    char *text;                      /* what the names point into */
} recording;

typedef struct run_options {
    uint64_t first_seed, last_seed;
    size_t trials;
    bool each_seed;
    search_options search;
    search_tuning tuning;
} run_options;

static void fail(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    exit(1);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void read_parameter(recording *r, char **words)
{
    size_t p = r->parameter_count++;
    r->parameter_names[p] = strtok_r(NULL, " ", words);
    for (char *word; (word = strtok_r(NULL, " ", words)) != NULL;) {
        r->values[p][r->sizes[p]++] = word;
    }
}

static void read_config(recording *r, char **words)
{
    if (!mem_grow(&r->configs, &r->config_capacity, r->config_count + 1, sizeof *r->configs)) {
        fail("out of memory");
    }
    config *c = &r->configs[r->config_count++];
    *c = (config){0};
    char *numbers = strtok_r(NULL, " ", words);
    for (size_t p = 0; p < r->parameter_count; p++) {
        c->genes[p] = (int32_t)strtol(numbers, &numbers, 10);
        numbers++;
    }
    bool ok = strcmp(strtok_r(NULL, " ", words), "ok") == 0;
    c->compile_time = strtod(strtok_r(NULL, " ", words), NULL);
    size_t capacity = 0;
    double sum = 0;
    for (char *word; ok && (word = strtok_r(NULL, " ", words)) != NULL;) {
        if (!mem_grow(&c->times, &capacity, c->time_count + 1, sizeof *c->times)) {
            fail("out of memory");
        }
        c->times[c->time_count] = strtod(word, NULL);
        sum += c->times[c->time_count++];
    }
    c->mean = ok ? sum / (double)c->time_count : 0;
}

static size_t radix_code(const recording *r, const int32_t *genes)
{
    size_t code = 0;
    for (size_t p = 0; p < r->parameter_count; p++) {
        code = code * (size_t)r->sizes[p] + (size_t)genes[p];
    }
    return code;
}

static void index_configs(recording *r)
{
    size_t size = 1;
    for (size_t p = 0; p < r->parameter_count; p++) {
        size *= (size_t)r->sizes[p];
    }
    r->index = mem_alloc(size, sizeof *r->index);
    if (r->index == NULL) {
        fail("out of memory");
    }
    memset(r->index, 0xff, size * sizeof *r->index);
    for (size_t i = 0; i < r->config_count; i++) {
        const config *c = &r->configs[i];
        r->index[radix_code(r, c->genes)] = (int32_t)i;
        if (c->times != NULL && (r->optimum == 0 || c->mean < r->optimum)) {
            r->optimum = c->mean;
        }
    }
}

static int compare_numbers(const void *a, const void *b)
{
    double x;
    double y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* The medians, and what the exact front of both times dominates up to them. */
static void measure_front(recording *r)
{
    double *points = mem_alloc(r->config_count, 2 * sizeof *points);
    double *column = mem_alloc(r->config_count, sizeof *column);
    size_t *scratch = mem_alloc(hypervolume_scratch(r->config_count, 2), sizeof *scratch);
    if (points == NULL || column == NULL || scratch == NULL) {
        fail("out of memory");
    }
    size_t ok = 0;
    for (size_t i = 0; i < r->config_count; i++) {
        if (r->configs[i].times != NULL) {
            points[2 * ok] = r->configs[i].mean;
            points[2 * ok++ + 1] = r->configs[i].compile_time;
        }
    }
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < ok; i++) {
            column[i] = points[2 * i + k];
        }
        qsort(column, ok, sizeof *column, compare_numbers);
        r->medians[k] = column[ok / 2];
    }
    r->exact_volume = hypervolume(points, ok, 2, r->medians, scratch);
    mem_free(points);
    mem_free(column);
    mem_free(scratch);
}

static void read_recording(recording *r, const char *path)
{
    *r = (recording){0};
    evocc_error error;
    size_t length;
    if (file_read(&r->text, &length, path, SIZE_MAX, &error) != EVOCC_OK) {
        fail(error.message);
    }
    char *lines;
    for (char *line = strtok_r(r->text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
        char *words;
        const char *kind = strtok_r(line, " ", &words);
        if (strcmp(kind, "space") == 0) {
            snprintf(r->name, sizeof r->name, "%s", strtok_r(NULL, " ", &words));
        } else if (strcmp(kind, "parameter") == 0) {
            read_parameter(r, &words);
        } else {
            read_config(r, &words);
        }
    }
    index_configs(r);
    measure_front(r);
}

static void dispose_recording(recording *r)
{
    for (size_t i = 0; i < r->config_count; i++) {
        mem_free(r->configs[i].times);
    }
    mem_free(r->configs);
    mem_free(r->index);
    mem_free(r->text);
}

/* ---- Running --------------------------------------------------------------------------------- */

typedef struct run {
    const recording *recording;
    const int32_t *defaults;
} run;

static int32_t find_config(const run *u, const int32_t *genes)
{
    int32_t full[PARAMETERS_MAX];
    for (size_t p = 0; p < u->recording->parameter_count; p++) {
        full[p] = genes[p] == SPACE_ABSENT ? u->defaults[p] : genes[p];
    }
    return u->recording->index[radix_code(u->recording, full)];
}

static bool is_recorded(void *context, const int32_t *genes)
{
    return find_config(context, genes) >= 0;
}

/* The finaliser of SplitMix64, as in rivals.py. */
static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static evocc_space *make_space(const recording *r, const int32_t *defaults)
{
    evocc_space *space;
    evocc_error error;
    evocc_status status = space_new(&space, &error);
    for (size_t p = 0; p < r->parameter_count && status == EVOCC_OK; p++) {
        const char *choices[VALUES_MAX];
        for (int32_t i = 0; i < r->sizes[p]; i++) {
            choices[i] = r->values[p][i];
        }
        space_control c = {.stage = SPACE_STAGE_DEFINE,
                           .name = r->parameter_names[p],
                           .kind = SPACE_CHOICE,
                           .choices = choices,
                           .size = r->sizes[p],
                           .default_index = defaults[p],
                           .parent = SPACE_ABSENT};
        status = space_add(space, &c, &error);
    }
    if (status != EVOCC_OK || space_finish(space, &error) != EVOCC_OK) {
        fail(error.message);
    }
    return space;
}

typedef struct score {
    double at[CHECKPOINTS];
} score;

/* A repetition draws anew, by its trial. */
static void tell_recorded(evocc_search *search, const config *c, int32_t index,
                          const search_candidate *candidate, uint64_t seed, size_t objectives)
{
    uint64_t draw = mix(seed) ^ (uint64_t)index;
    draw = candidate->repeat_of == SEARCH_NONE ? mix(draw) : mix(mix(draw) + candidate->id);
    double values[] = {c->mean, c->compile_time};
    if (objectives == 1 && c->times != NULL) {
        values[0] = c->times[draw % c->time_count];
    }
    evocc_error error;
    if (search_tell(search, candidate->id,
                    c->times != NULL ? EVOCC_OUTCOME_OK : EVOCC_OUTCOME_LAUNCH_FAILED, values,
                    &error) != EVOCC_OK) {
        fail(error.message);
    }
}

/* What the engine calls the best, by its true mean. */
static double share_of_best(const evocc_search *search, const run *u)
{
    size_t count;
    const uint64_t *front = search_front(search, &count);
    if (count == 0) {
        return 0;
    }
    double volume;
    if (search_front_hypervolume(&volume, search, u->recording->medians, NULL) == EVOCC_OK) {
        return volume / u->recording->exact_volume; /* two objectives */
    }
    int32_t index = find_config(u, search_front_genes(search, front[0]));
    return u->recording->optimum / u->recording->configs[index].mean;
}

static score run_seed(const recording *r, const run_options *o, uint64_t seed)
{
    const int32_t *defaults = r->configs[mix(seed + 1000) % r->config_count].genes;
    evocc_space *space = make_space(r, defaults);
    run u = {r, defaults};
    search_options options = o->search;
    search_objective objectives[2] = {{0}};
    options.objectives = objectives;
    options.seed = seed;
    options.filter = is_recorded;
    options.filter_context = &u;
    options.tuning = &o->tuning;
    evocc_search *search;
    evocc_error error;
    if (search_new(&search, space, &options, &error) != EVOCC_OK) {
        fail(error.message);
    }
    score s = {0};
    search_candidate candidate;
    for (size_t trial = 0; trial < o->trials; trial++) {
        evocc_status status = search_ask(&candidate, search, &error);
        if (status == EVOCC_OK) {
            int32_t index = find_config(&u, candidate.genes);
            tell_recorded(search, &r->configs[index], index, &candidate, seed,
                          options.objective_count);
        } else if (status != EVOCC_EXHAUSTED) {
            fail(error.message);
        }
        for (size_t i = 0; i < CHECKPOINTS; i++) {
            s.at[i] = trial + 1 == checkpoints[i] ? share_of_best(search, &u) : s.at[i];
        }
    }
    search_free(search);
    space_free(space);
    return s;
}

static void run_recording(const recording *r, const run_options *o, double *sums)
{
    double means[CHECKPOINTS] = {0};
    double seeds = (double)(o->last_seed - o->first_seed + 1);
    for (uint64_t seed = o->first_seed; seed <= o->last_seed; seed++) {
        score s = run_seed(r, o, seed);
        if (o->each_seed) {
            printf("%s\tevocc\t%llu", r->name, (unsigned long long)seed);
        }
        for (size_t i = 0; i < CHECKPOINTS; i++) {
            means[i] += s.at[i] / seeds;
            if (o->each_seed) {
                printf("\t%.6f", s.at[i]);
            }
        }
        if (o->each_seed) {
            putchar('\n');
        }
    }
    if (!o->each_seed) {
        printf("%-24s %.4f %.4f %.4f\n", r->name, means[0], means[1], means[2]);
    }
    for (size_t i = 0; i < CHECKPOINTS; i++) {
        sums[i] += means[i];
    }
}

/* ---- Options --------------------------------------------------------------------------------- */

static void set_constant(run_options *o, const char *word)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL) {
        fail("-x needs NAME=VALUE");
    }
    double value = strtod(equals + 1, NULL);
    size_t length = (size_t)(equals - word);
#define IS(name) (length == strlen(name) && strncmp(word, name, length) == 0)
    if (IS("pool")) {
        o->search.pool_size = (size_t)value;
    } else if (IS("cull")) {
        o->search.cull_size = (size_t)value;
    } else if (IS("lag")) {
        o->search.lag = (size_t)value;
    } else if (IS("repeat")) {
        o->search.repeat_share = value;
    } else if (IS("survival")) {
        o->search.survival = (search_survival)value;
    } else if (IS("prescreen")) {
        o->search.prescreen = value > 0;
    } else if (IS("rate")) {
        o->search.mutate_rate = value;
    } else if (!search_tuning_set(&o->tuning, word, length, value)) {
        fail("-x names no constant");
    }
#undef IS
}

int main(int argc, char **argv)
{
    run_options o = {.last_seed = 29, .trials = 500, .tuning = search_tuning_default};
    o.search.generations = 1000;
    o.search.objective_count = 1;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        char option = argv[i][1];
        if (option == '2') {
            o.search.objective_count = 2;
        } else if (option == 'v') {
            o.each_seed = true;
        } else if (i + 1 == argc) {
            fail("an option lacks its value");
        } else if (option == 's') {
            char *end;
            o.first_seed = strtoull(argv[++i], &end, 10);
            o.last_seed = strtoull(end + 1, NULL, 10);
        } else if (option == 't') {
            o.trials = strtoul(argv[++i], NULL, 10);
        } else if (option == 'g') {
            o.search.generations = strtoul(argv[++i], NULL, 10);
        } else if (option == 'x') {
            set_constant(&o, argv[++i]);
        } else {
            fail("unknown option");
        }
    }
    if (i == argc) {
        fail("no recording given");
    }
    double sums[CHECKPOINTS] = {0};
    double files = argc - i;
    for (; i < argc; i++) {
        recording r;
        read_recording(&r, argv[i]);
        run_recording(&r, &o, sums);
        dispose_recording(&r);
    }
    if (!o.each_seed) {
        printf("%-24s %.4f %.4f %.4f\n", "mean", sums[0] / files, sums[1] / files, sums[2] / files);
    }
    return 0;
}
