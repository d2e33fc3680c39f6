/*
 * bench_search_spills: one kernel as an objective for any search: a study's own controls, evaluated
 * as its trials are. bench_search_spills.py puts other tuners behind it.
 *
 * usage: bench_search_spills KERNEL.ptx METRIC < requests > answers
 *   controls              "NAME VALUE..." a control, its default first ("absent": no value of its
 *                         own); then an empty line
 *   sample SEED COUNT     so many candidates drawn as the study's first pool draws them
 *   measure CANDIDATE     "ok VALUE CANDIDATE", the candidate in canonical form; "failed OUTCOME
 *                         CANDIDATE"; "forbidden" by the space's rules
 *   search SEED TRIALS    the engine as `evocc tune --seed SEED` runs it: the answers to its
 *                         questions, as of measure, then an empty line; ends early at 0
 */
#include "evaluate/evaluate.h"
#include "search/search.h"
#include "study/study.h"
#include "util/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench {
    study *study;
    const evocc_space *space;
    size_t metric;
    int32_t *genes;
} bench;

static void fail(const char *why)
{
    fprintf(stderr, "bench_search_spills: %s\n", why);
    exit(1);
}

static size_t metric_index(const char *name)
{
    size_t count;
    const evaluate_metric_info *infos = evaluate_metrics(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            return i;
        }
    }
    fail("no such metric");
    return 0;
}

static void print_controls(const bench *b)
{
    for (size_t i = 0; i < space_count(b->space); i++) {
        const space_control *c = space_get(b->space, i);
        strbuf text = {0};
        strbuf_puts(&text, c->full_name);
        if (c->default_index == SPACE_ABSENT || c->parent != SPACE_ABSENT) {
            strbuf_puts(&text, " absent");
        } else {
            strbuf_putc(&text, ' ');
            space_value_text(&text, c, c->default_index);
        }
        for (int32_t k = 0; k < c->size; k++) {
            if (k != c->default_index || c->parent != SPACE_ABSENT) {
                strbuf_putc(&text, ' ');
                space_value_text(&text, c, k);
            }
        }
        puts(strbuf_text(&text));
        strbuf_dispose(&text);
    }
    puts("");
}

/* Prints the answer and returns the number; NAN: none. */
static double measure(const bench *b, const char *candidate)
{
    evocc_error error;
    evaluate_result result = {0};
    if (study_evaluate(&result, b->study, candidate, &error) != EVOCC_OK) {
        fail(error.message);
    }
    double value = result.outcome == EVOCC_OUTCOME_OK ? result.metrics[b->metric] : (double)NAN;
    if (isnan(value)) {
        printf("failed %s %s\n", evocc_outcome_name(result.outcome), candidate);
    } else {
        printf("ok %.17g %s\n", value, candidate);
    }
    evaluate_result_dispose(&result);
    return value;
}

static double measure_genes(const bench *b, const int32_t *genes)
{
    strbuf text = {0};
    space_candidate_text(&text, b->space, genes);
    double value = measure(b, strbuf_text(&text));
    strbuf_dispose(&text);
    return value;
}

static void measure_text(const bench *b, const char *candidate)
{
    evocc_error error;
    if (space_candidate_parse(b->genes, b->space, candidate, &error) != EVOCC_OK) {
        fail(error.message);
    }
    if (space_check(b->space, b->genes, NULL) != EVOCC_OK) {
        puts("forbidden");
    } else {
        measure_genes(b, b->genes);
    }
}

static void sample(const bench *b, uint64_t seed, size_t count)
{
    rng r;
    rng_seed(&r, seed);
    for (size_t i = 0; i < count; i++) {
        evocc_error error;
        if (space_sample(b->space, &r, b->genes, &error) != EVOCC_OK) {
            fail(error.message);
        }
        strbuf text = {0};
        space_candidate_text(&text, b->space, b->genes);
        puts(strbuf_text(&text));
        strbuf_dispose(&text);
    }
}

static void search(const bench *b, uint64_t seed, size_t trials)
{
    search_objective plain = {0};
    search_options options = {
        .seed = seed, .max_trials = trials, .objectives = &plain, .objective_count = 1};
    evocc_search *s = NULL;
    evocc_error error;
    if (search_new(&s, b->space, &options, &error) != EVOCC_OK) {
        fail(error.message);
    }
    search_candidate c;
    double value = 1;
    while (value != 0 && search_ask(&c, s, &error) == EVOCC_OK) {
        value = measure_genes(b, c.genes);
        fflush(stdout);
        evocc_outcome outcome = isnan(value) ? EVOCC_OUTCOME_COMPILE_FAILED : EVOCC_OUTCOME_OK;
        if (search_tell(s, c.id, outcome, &value, &error) != EVOCC_OK) {
            fail(error.message);
        }
    }
    puts("");
    search_free(s);
}

static void answer(const bench *b, char *line)
{
    char *rest = line + strcspn(line, " ");
    bool more = *rest != '\0';
    *rest = '\0';
    rest += more;
    uint64_t seed = strtoull(rest, NULL, 10);
    size_t count = strtoul(rest + strcspn(rest, " "), NULL, 10);
    if (strcmp(line, "controls") == 0) {
        print_controls(b);
    } else if (strcmp(line, "sample") == 0) {
        sample(b, seed, count);
    } else if (strcmp(line, "measure") == 0) {
        measure_text(b, rest);
    } else if (strcmp(line, "search") == 0) {
        search(b, seed, count);
    } else {
        fail("no such request");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fail("usage: bench_search_spills KERNEL.ptx METRIC");
    }
    evocc_error error;
    study_options options = {.input_path = argv[1], .workers = 1};
    bench b = {.metric = metric_index(argv[2])};
    evocc_status status = objective_list_add(&options.objectives, argv[2], false, &error);
    if (status == EVOCC_OK) {
        status = study_preview(&b.study, &options, &error);
    }
    if (status != EVOCC_OK) {
        fail(error.message);
    }
    b.space = study_space(b.study);
    b.genes = mem_alloc(space_count(b.space), sizeof *b.genes);
    if (b.genes == NULL) {
        fail("out of memory");
    }
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        line[length - (line[length - 1] == '\n')] = '\0';
        answer(&b, line);
    }
    free(line);
    mem_free(b.genes);
    study_free(b.study);
    return 0;
}
