/*
 * Tunes a function of its own: the tile sizes and the loop order of a matrix product.
 *
 *     cc tune_function.c $(pkg-config --cflags --libs evocc) -o tune_function && ./tune_function
 *
 * The space is written as YAML, the search asks for candidates, this program measures them and
 * tells what it measured. With the name of a study file as its argument it goes on where it was
 * stopped, and `evocc report FILE` shows what it found.
 */
#include <evocc/evocc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 96 };

static const char space_text[] =
    "evocc-space: 1\n"
    "stage: define\n"
    "controls:\n"
    "  tile_i: {type: choice, values: [1, 4, 8, 16, 32, 96], default: 96, help: rows}\n"
    "  tile_j: {type: choice, values: [1, 4, 8, 16, 32, 96], default: 96, help: columns}\n"
    "  tile_k: {type: choice, values: [1, 4, 8, 16, 32, 96], default: 96, help: depth}\n"
    "  order: {type: choice, values: [ijk, ikj, kij], default: ijk, help: the inner loops}\n"
    "constraints:\n"
    "  - tile_i * tile_j * tile_k >= 64\n";

static double a[N][N], b[N][N], c[N][N];

typedef struct tiles {
    int i, j, k;
    char order[8];
} tiles;

/* One tile; the order says which of its loops is outside. */
static void multiply_tile(const tiles *t, int i0, int j0, int k0)
{
    bool rows_outside = t->order[0] == 'i';
    bool columns_inside = t->order[2] == 'j';
    int outer = rows_outside ? t->i : t->k;
    int middle = !rows_outside ? t->i : columns_inside ? t->k : t->j;
    int inner = columns_inside ? t->j : t->k;
    for (int x = 0; x < outer; x++) {
        for (int y = 0; y < middle; y++) {
            for (int z = 0; z < inner; z++) {
                int i = i0 + (rows_outside ? x : y);
                int j = j0 + (columns_inside ? z : y);
                int k = k0 + (!rows_outside ? x : columns_inside ? y : z);
                c[i][j] += a[i][k] * b[k][j];
            }
        }
    }
}

static double multiply_s(const tiles *t)
{
    memset(c, 0, sizeof c);
    struct timespec start;
    struct timespec end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int i = 0; i < N; i += t->i) {
        for (int j = 0; j < N; j += t->j) {
            for (int k = 0; k < N; k += t->k) {
                multiply_tile(t, i, j, k);
            }
        }
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
}

static void read_tiles(tiles *t, const evocc_space *space, const int32_t *genes)
{
    double i = 0;
    double j = 0;
    double k = 0;
    /* These cannot fail: the names are those of the space above, and all have defaults. */
    evocc_candidate_number(&i, space, genes, "tile_i", NULL);
    evocc_candidate_number(&j, space, genes, "tile_j", NULL);
    evocc_candidate_number(&k, space, genes, "tile_k", NULL);
    *t = (tiles){(int)i, (int)j, (int)k, ""};
    evocc_candidate_value(t->order, sizeof t->order, space, genes, "order", NULL);
}

/* The trace of the product, which every candidate must reproduce. */
static double trace_of_product(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += c[i][i];
    }
    return sum;
}

static double expected;

static evocc_outcome evaluate(void *context, double *values, const evocc_trial *trial)
{
    tiles t;
    read_tiles(&t, context, trial->genes);
    values[0] = multiply_s(&t);
    for (int again = 0; again < 2; again++) {
        double seconds = multiply_s(&t);
        values[0] = seconds < values[0] ? seconds : values[0];
    }
    if (trial->id == 0) {
        printf("baseline: %.3f ms\n", values[0] * 1e3);
    }
    double difference = trace_of_product() - expected;
    return difference * difference < 1e-6 ? EVOCC_OUTCOME_OK : EVOCC_OUTCOME_WRONG_OUTPUT;
}

/* What the answers depend on besides the candidate: a study of another size is another study. */
static const char environment[] = "96 x 96, double precision";

static void print_result(const evocc_search *search, const evocc_space *space)
{
    evocc_progress progress;
    evocc_search_get_progress(&progress, search);
    size_t count;
    const uint64_t *front = evocc_search_front(search, &count);
    if (count == 0) {
        printf("no candidate was valid\n");
        return;
    }
    double seconds;
    evocc_search_front_values(&seconds, search, front[0], NULL);
    char text[200];
    evocc_candidate_text(text, sizeof text, space, evocc_search_front_genes(search, front[0]));
    printf("best of %llu trials: %.3f ms with %s\n", (unsigned long long)progress.asked,
           seconds * 1e3, text[0] != '\0' ? text : "the defaults");
    double importance[4];
    evocc_search_importance(importance, search, 0, NULL);
    for (size_t i = 0; i < evocc_space_count(space); i++) {
        printf("  %-13s matters %3.0f %%\n", evocc_space_name(space, i), 100 * importance[i]);
    }
}

int main(int argc, char **argv)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            a[i][j] = (i * 7 + j) % 10 - 4.5;
            b[i][j] = (i + j * 3) % 10 - 4.5;
        }
    }
    multiply_s(&(tiles){N, N, N, "ijk"});
    expected = trace_of_product();
    evocc_error error;
    evocc_space *space = NULL;
    evocc_study *study = NULL;
    evocc_objective runtime = {.name = "runtime"};
    evocc_search_options options = EVOCC_SEARCH_OPTIONS;
    options.objectives = &runtime;
    options.objective_count = 1;
    options.max_trials = 120;
    evocc_study_options file = EVOCC_STUDY_OPTIONS;
    file.path = argc > 1 ? argv[1] : NULL; /* NULL: in memory */
    file.title = "matrix product";
    file.environment = environment;
    evocc_status status =
        evocc_space_parse(&space, space_text, sizeof space_text - 1, "tune_function", &error);
    if (status == EVOCC_OK) {
        status = evocc_study_open(&study, space, &options, &file, &error);
    }
    if (status == EVOCC_OK) {
        status = evocc_study_run(study, evaluate, space, &error);
    }
    if (status == EVOCC_OK) {
        print_result(evocc_study_search(study), space);
    } else {
        fprintf(stderr, "tune_function: %s\n", error.message);
    }
    evocc_study_free(study);
    evocc_space_free(space);
    return status == EVOCC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
