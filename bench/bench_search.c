/*
 * bench_search: what the engine itself costs: ask and tell pairs a CPU second, the 99th percentile
 * of ask, and the peak memory of the process so far, over controls, trials and objectives.
 *
 * usage: bench_search [CONTROLS TRIALS OBJECTIVES]     one case instead of the table
 *
 * Four fifths of the controls are choices of four words, the rest integers of ten values; metrics
 * are sums over genes, so that evaluating costs next to nothing.
 */
#include "search/search.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Of this process: other load on the machine does not count. */
static double cpu_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void fail(const evocc_error *error)
{
    fprintf(stderr, "bench_search: %s\n", error->message);
    exit(1);
}

static evocc_space *make_space(size_t controls)
{
    static const char *const words[] = {"a", "b", "c", "d"};
    evocc_space *space;
    evocc_error error;
    evocc_status status = space_new(&space, &error);
    for (size_t i = 0; i < controls && status == EVOCC_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%zu", i);
        bool choice = i % 5 != 0;
        space_control c = {.stage = SPACE_STAGE_PTX,
                           .name = name,
                           .kind = choice ? SPACE_CHOICE : SPACE_INT,
                           .choices = words,
                           .size = 4,
                           .high = 9,
                           .step = 1,
                           .knockout = 0.3,
                           .default_index = 0,
                           .parent = SPACE_ABSENT};
        status = space_add(space, &c, &error);
    }
    if (status != EVOCC_OK || space_finish(space, &error) != EVOCC_OK) {
        fail(&error);
    }
    return space;
}

/* Objectives pull every gene in different directions. */
static void measure(double *values, size_t objectives, const int32_t *genes, size_t controls)
{
    for (size_t k = 0; k < objectives; k++) {
        values[k] = 0;
    }
    for (size_t i = 0; i < controls; i++) {
        double x = genes[i] == SPACE_ABSENT ? 0 : genes[i];
        for (size_t k = 0; k < objectives; k++) {
            double d = x - (double)((i + k * 2) % 4);
            values[k] += d * d * (1 + (double)((i * 7 + k * 13) % 11) / 110); /* few ties */
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x;
    double y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static void run(size_t controls, size_t trials, size_t objectives)
{
    static const search_objective plain[16];
    evocc_space *space = make_space(controls);
    search_options options = {.seed = 1,
                              .generations = trials / 24 + 2,
                              .max_trials = trials,
                              .objectives = plain,
                              .objective_count = objectives};
    evocc_search *search;
    evocc_error error;
    if (search_new(&search, space, &options, &error) != EVOCC_OK) {
        fail(&error);
    }
    double *asks = mem_alloc(trials, sizeof *asks);
    double engine_s = 0;
    size_t count = 0;
    for (;; count++) {
        search_candidate c;
        double start = cpu_now_s();
        evocc_status status = search_ask(&c, search, &error);
        double asked = cpu_now_s();
        if (status != EVOCC_OK) {
            break;
        }
        double values[16];
        measure(values, objectives, c.genes, controls);
        double tell = cpu_now_s();
        if (search_tell(search, c.id, EVOCC_OUTCOME_OK, values, &error) != EVOCC_OK) {
            fail(&error);
        }
        asks[count] = asked - start;
        engine_s += asked - start + cpu_now_s() - tell;
    }
    qsort(asks, count, sizeof *asks, compare);
    size_t front;
    search_front(search, &front);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%8zu %8zu %10zu %10.0f %12.1f %8zu %9.1f\n", controls, count, objectives,
           (double)count / engine_s, asks[count * 99 / 100] * 1e6, front,
           (double)usage.ru_maxrss / 1024);
    mem_free(asks);
    search_free(search);
    space_free(space);
}

int main(int argc, char **argv)
{
    printf("controls   trials objectives    pairs/s  p99 ask, us    front  peak MiB\n");
    if (argc == 4) {
        run(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
        return 0;
    }
    static const size_t controls[] = {40, 200, 600};
    static const size_t objectives[] = {1, 2, 4};
    static const size_t trials[] = {1000, 100000};
    for (size_t c = 0; c < 3; c++) {
        for (size_t o = 0; o < 3; o++) {
            for (size_t t = 0; t < 2; t++) {
                run(controls[c], trials[t], objectives[o]);
            }
        }
    }
    return 0;
}
