/* Studies with answers of the caller's own: however they end, the file goes on with exactly the
   trials of the unbroken study, and whatever is not that study is refused by name. */
#include "support.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char space_text[] = "evocc-space: 1\n"
                                 "stage: define\n"
                                 "controls:\n"
                                 "  a: {type: int, range: [0, 20], default: 3}\n"
                                 "  b: {type: int, range: [0, 20], default: 4}\n"
                                 "  c: {type: choice, values: [x, y, z], default: x}\n"
                                 "constraints:\n"
                                 "  - a + b <= 36\n";
static const evocc_objective one_objective = {.name = "cost"};
static const evocc_objective two_objectives[] = {{.name = "cost"},
                                                 {.name = "speed", .maximize = true}};

static evocc_space *parse_space(const char *text)
{
    evocc_space *space;
    evocc_error error;
    assert_status(evocc_space_parse(&space, text, strlen(text), "test", &error), EVOCC_OK, &error);
    return space;
}

static evocc_search_options few_trials(void)
{
    evocc_search_options o = EVOCC_SEARCH_OPTIONS;
    o.objectives = &one_objective;
    o.objective_count = 1;
    o.pool_size = 12;
    o.cull_size = 8;
    o.generations = 6;
    o.seed = 5;
    return o;
}

static evocc_status open_study(evocc_study **out, const evocc_space *space, const char *path,
                               evocc_study_mode mode, evocc_error *error)
{
    evocc_search_options search = few_trials();
    evocc_study_options o = EVOCC_STUDY_OPTIONS;
    o.path = path;
    o.mode = mode;
    return evocc_study_open(out, space, &search, &o, error);
}

static double cost_of(const evocc_space *space, const int32_t *genes)
{
    double a = 0;
    double b = 0;
    char c[4];
    evocc_candidate_number(&a, space, genes, "a", NULL);
    evocc_candidate_number(&b, space, genes, "b", NULL);
    evocc_candidate_value(c, sizeof c, space, genes, "c", NULL);
    return (a - 11) * (a - 11) + (b - 17) * (b - 17) + (c[0] == 'z' ? 0 : 5) + 1;
}

/* What was asked, one "id:candidate" a line. */
typedef struct log {
    const evocc_space *space;
    char text[64 * 1024];
    size_t length, calls, cancel_at; /* cancels that call, from 1; 0: none */
} log_book;

static void note(log_book *book, const evocc_trial *trial)
{
    char text[100];
    evocc_candidate_text(text, sizeof text, book->space, trial->genes);
    book->length += (size_t)snprintf(book->text + book->length, sizeof book->text - book->length,
                                     "%d:%s\n", (int)trial->id, text);
}

static evocc_outcome evaluate(void *context, double *values, const evocc_trial *trial)
{
    log_book *book = context;
    book->calls++;
    if (book->calls == book->cancel_at) {
        return EVOCC_OUTCOME_CANCELLED;
    }
    note(book, trial);
    values[0] = cost_of(book->space, trial->genes);
    return trial->id % 7 == 3 ? EVOCC_OUTCOME_WRONG_OUTPUT : EVOCC_OUTCOME_OK;
}

static log_book *new_book(const evocc_space *space)
{
    log_book *book = calloc(1, sizeof *book);
    assert_non_null(book);
    book->space = space;
    return book;
}

enum { TRIALS = 12 + 5 * 8 };

static void unbroken(log_book *book, const evocc_space *space)
{
    evocc_error error;
    evocc_study *study;
    assert_status(open_study(&study, space, NULL, EVOCC_STUDY_OPEN, &error), EVOCC_OK, &error);
    assert_status(evocc_study_run(study, evaluate, book, &error), EVOCC_OK, &error);
    assert_int_equal(book->calls, TRIALS);
    evocc_study_free(study);
}

/* Cut off after every single trial in turn: the pieces together are the whole. */
static void test_resume_is_exact(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    log_book *whole = new_book(space);
    unbroken(whole, space);
    log_book *pieces = new_book(space);
    evocc_error error;
    const char *path = in_folder("exact.db");
    for (size_t opened = 0; opened <= TRIALS; opened++) {
        evocc_study *study;
        evocc_study_mode mode = opened == 0 ? EVOCC_STUDY_CREATE : EVOCC_STUDY_RESUME;
        assert_status(open_study(&study, space, path, mode, &error), EVOCC_OK, &error);
        pieces->calls = 0;
        pieces->cancel_at = 2; /* one trial each time */
        evocc_status status = evocc_study_run(study, evaluate, pieces, &error);
        assert_status(status, opened < TRIALS - 1 ? EVOCC_INTERRUPTED : EVOCC_OK, &error);
        evocc_study_free(study);
    }
    assert_string_equal(pieces->text, whole->text);
    free(whole);
    free(pieces);
    evocc_space_free(space);
}

/* Several trials in flight, answers out of order, some of them lost. */
static void test_answers_out_of_order(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    log_book *whole = new_book(space);
    unbroken(whole, space);
    const char *path = in_folder("order.db");
    evocc_error error;
    char asked[TRIALS][100] = {{0}};
    for (int opening = 0;; opening++) {
        evocc_study *study;
        assert_status(open_study(&study, space, path, EVOCC_STUDY_OPEN, &error), EVOCC_OK, &error);
        evocc_status status = EVOCC_OK;
        for (int step = 0; step < 20 && status == EVOCC_OK; step++) {
            evocc_trial trial;
            while ((status = evocc_study_ask(&trial, study, &error)) == EVOCC_OK) {
                evocc_candidate_text(asked[trial.id], sizeof asked[0], space, trial.genes);
            }
            size_t pending = 0;
            while (evocc_study_pending(&trial, study, pending, NULL) == EVOCC_OK) {
                pending++;
            }
            if (status == EVOCC_WAIT) {
                status = EVOCC_OK;
            }
            /* The newest first; when the study is closed, the oldest are lost. */
            for (size_t i = pending; i-- > (opening < 3 && step == 1 ? 2 : 0);) {
                assert_status(evocc_study_pending(&trial, study, i, &error), EVOCC_OK, &error);
                double value = cost_of(space, trial.genes);
                evocc_answer answer = EVOCC_ANSWER;
                answer.outcome = trial.id % 7 == 3 ? EVOCC_OUTCOME_WRONG_OUTPUT : EVOCC_OUTCOME_OK;
                answer.values = &value;
                assert_status(evocc_study_tell(study, trial.id, &answer, &error), EVOCC_OK, &error);
            }
            if (opening < 3 && step == 1) {
                break;
            }
        }
        evocc_study_free(study);
        if (status == EVOCC_DONE) {
            assert_true(opening >= 3);
            break;
        }
        assert_true(opening < 10);
    }
    char text[sizeof whole->text] = "";
    size_t length = 0;
    for (int id = 0; id < TRIALS; id++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%d:%s\n", id, asked[id]);
    }
    assert_string_equal(text, whole->text);
    free(whole);
    evocc_space_free(space);
}

/* kill -9 right after a trial was told: it is in the file. */
static void test_killed(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    const char *path = in_folder("killed.db");
    evocc_error error;
    evocc_study *study;
    enum { KILLED_AFTER = 17 };
    pid_t child = fork();
    if (child == 0) {
        evocc_trial trial;
        double value;
        evocc_answer answer = EVOCC_ANSWER;
        answer.values = &value;
        if (open_study(&study, space, path, EVOCC_STUDY_CREATE, &error) != EVOCC_OK) {
            _exit(1);
        }
        for (int i = 0; i < KILLED_AFTER; i++) {
            if (evocc_study_ask(&trial, study, &error) != EVOCC_OK) {
                _exit(1);
            }
            value = cost_of(space, trial.genes);
            if (evocc_study_tell(study, trial.id, &answer, &error) != EVOCC_OK) {
                _exit(1);
            }
        }
        kill(getpid(), SIGKILL);
    }
    int end;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFSIGNALED(end));
    assert_status(open_study(&study, space, path, EVOCC_STUDY_RESUME, &error), EVOCC_OK, &error);
    evocc_trial trial;
    assert_status(evocc_study_ask(&trial, study, &error), EVOCC_OK, &error);
    assert_int_equal(trial.id, KILLED_AFTER);
    evocc_study_free(study);
    evocc_space_free(space);
}

static void test_one_writer(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    const char *path = in_folder("busy.db");
    evocc_error error;
    evocc_study *study;
    evocc_study *other;
    assert_status(open_study(&study, space, path, EVOCC_STUDY_CREATE, &error), EVOCC_OK, &error);
    assert_status(open_study(&other, space, path, EVOCC_STUDY_OPEN, &error), EVOCC_BUSY, &error);
    assert_null(other);
    assert_says(&error, "being written by another process");
    assert_status(open_study(&other, space, path, EVOCC_STUDY_CREATE, &error), EVOCC_REFUSED,
                  &error);
    /* Reading is another matter. */
    assert_status(evocc_study_read(&other, path, &error), EVOCC_OK, &error);
    evocc_trial trial;
    assert_status(evocc_study_ask(&trial, other, &error), EVOCC_UNSUPPORTED, &error);
    assert_null(evocc_study_search(other));
    assert_status(evocc_study_set_note(other, "x", "y", 1, &error), EVOCC_UNSUPPORTED, &error);
    evocc_study_free(other);
    evocc_study_free(study);
    evocc_space_free(space);
}

/* Each field that makes a study what it is. */
static void test_mismatch_is_named(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    evocc_space *wider = parse_space("evocc-space: 1\nstage: define\ncontrols:\n"
                                     "  a: {type: int, range: [0, 21], default: 3}\n");
    const char *path = in_folder("mismatch.db");
    evocc_error error;
    evocc_study *study;
    assert_status(open_study(&study, space, path, EVOCC_STUDY_CREATE, &error), EVOCC_OK, &error);
    evocc_study_free(study);
    const evocc_objective other = {.name = "time"};
    const evocc_objective limited = {.name = "cost", .limited = true, .limit = 50};
    int32_t genes[3] = {1, 2, 1};
    const int32_t *const seeds[] = {genes};
    const struct {
        const char *words;
        const evocc_space *space;
        const evocc_objective *objective;
        const char *environment;
        uint64_t seed;
        size_t pool, generations, lag, seed_count;
    } cases[] = {
        {"the search space", wider, &one_objective, NULL, 5, 12, 6, 0, 0},
        {"the list of objectives", space, &other, NULL, 5, 12, 6, 0, 0},
        {"a limit or a target", space, &limited, NULL, 5, 12, 6, 0, 0},
        {"the environment", space, &one_objective, "another GPU", 5, 12, 6, 0, 0},
        {"the seed", space, &one_objective, NULL, 6, 12, 6, 0, 0},
        {"pool_size", space, &one_objective, NULL, 5, 13, 6, 0, 0},
        {"the number of generations", space, &one_objective, NULL, 5, 12, 7, 0, 0},
        {"the lag", space, &one_objective, NULL, 5, 12, 6, 4, 0},
        {"candidates to begin with", space, &one_objective, NULL, 5, 12, 6, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        evocc_search_options search = few_trials();
        evocc_study_options o = EVOCC_STUDY_OPTIONS;
        search.objectives = cases[i].objective;
        search.seed = cases[i].seed;
        search.pool_size = cases[i].pool;
        search.generations = cases[i].generations;
        search.lag = cases[i].lag;
        search.seeds = seeds;
        search.seed_count = cases[i].seed_count;
        o.path = path;
        o.environment = cases[i].environment;
        assert_status(evocc_study_open(&study, cases[i].space, &search, &o, &error), EVOCC_MISMATCH,
                      &error);
        assert_null(study);
        assert_says(&error, cases[i].words);
    }
    evocc_space_free(space);
    evocc_space_free(wider);
}

/* A rule that cannot be compared: another one is found out by the trials it leads to. */
static bool only_low(void *context, const int32_t *genes)
{
    (void)context;
    return genes[0] == EVOCC_ABSENT || genes[0] < 6;
}

static void test_other_rules_are_found_out(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    const char *path = in_folder("rules.db");
    evocc_error error;
    evocc_study *study;
    log_book *book = new_book(space);
    assert_status(open_study(&study, space, path, EVOCC_STUDY_CREATE, &error), EVOCC_OK, &error);
    assert_status(evocc_study_run(study, evaluate, book, &error), EVOCC_OK, &error);
    evocc_study_free(study);
    evocc_search_options search = few_trials();
    evocc_study_options o = EVOCC_STUDY_OPTIONS;
    search.allowed = only_low;
    o.path = path;
    assert_status(evocc_study_open(&study, space, &search, &o, &error), EVOCC_OK, &error);
    evocc_trial trial;
    assert_status(evocc_study_ask(&trial, study, &error), EVOCC_MISMATCH, &error);
    evocc_study_free(study);
    free(book);
    evocc_space_free(space);
}

static void test_files_of_others(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    evocc_error error;
    evocc_study *study;
    assert_status(open_study(&study, space, in_folder("no.db"), EVOCC_STUDY_RESUME, &error),
                  EVOCC_NOT_FOUND, &error);
    static const char notes[] = "shopping list, longer than a header of a database would have to be"
                                ": milk, bread, butter, eggs, apples";
    const char *path = in_folder("notes.txt");
    assert_status(file_write(path, notes, sizeof notes, &error), EVOCC_OK, &error);
    assert_status(open_study(&study, space, path, EVOCC_STUDY_OPEN, &error), EVOCC_DAMAGED, &error);
    char *after;
    size_t length;
    assert_status(file_read(&after, &length, path, 1000, &error), EVOCC_OK, &error);
    assert_memory_equal(after, notes, sizeof notes);
    mem_free(after);
    assert_status(
        open_study(&study, space, in_folder("no/such/folder.db"), EVOCC_STUDY_OPEN, &error),
        EVOCC_IO, &error);
    evocc_space_free(space);
}

typedef struct seen {
    size_t count, shared;
    evocc_record last;
    char candidate[100], detail[100], hash[20], names[100];
    double values[4];
} seen_records;

static bool see(void *context, const evocc_record *record)
{
    seen_records *seen = context;
    assert_int_equal(record->id, seen->count);
    seen->count++;
    seen->shared += record->shared;
    seen->last = *record;
    snprintf(seen->candidate, sizeof seen->candidate, "%s", record->candidate);
    snprintf(seen->detail, sizeof seen->detail, "%s", record->detail);
    snprintf(seen->hash, sizeof seen->hash, "%s", record->code_hash);
    seen->names[0] = '\0';
    for (size_t i = 0; i < record->metric_count; i++) {
        strcat(seen->names, record->metrics[i].name);
        strcat(seen->names, " ");
        seen->values[i] = record->metrics[i].value;
    }
    return seen->count < 3;
}

/* Everything that is told comes back, and the report knows it. */
static void test_records(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    const char *path = in_folder("records.db");
    evocc_error error;
    evocc_study *study;
    evocc_search_options search = few_trials();
    search.objectives = two_objectives;
    search.objective_count = 2;
    evocc_study_options o = EVOCC_STUDY_OPTIONS;
    o.path = path;
    o.title = "two things";
    assert_status(evocc_study_open(&study, space, &search, &o, &error), EVOCC_OK, &error);
    const struct {
        evocc_outcome outcome;
        double values[2];
        const char *detail, *hash;
    } told[] = {{EVOCC_OUTCOME_OK, {4, -2}, NULL, "aa"},
                {EVOCC_OUTCOME_RUN_TIMEOUT, {0, 0}, "10 s passed", NULL},
                {EVOCC_OUTCOME_OK, {2, (double)INFINITY}, NULL, "aa"},
                {EVOCC_OUTCOME_OK, {2, -1}, NULL, "bb"}};
    evocc_metric metric = {"registers", 40};
    char text[100] = "";
    for (size_t i = 0; i < 4; i++) {
        evocc_trial trial;
        assert_status(evocc_study_ask(&trial, study, &error), EVOCC_OK, &error);
        evocc_answer answer = EVOCC_ANSWER;
        if (i == 2) {
            evocc_candidate_text(text, sizeof text, space, trial.genes);
        }
        answer.outcome = told[i].outcome;
        answer.values = told[i].values;
        answer.detail = told[i].detail;
        answer.code_hash = told[i].hash;
        answer.metrics = &metric;
        answer.metric_count = 1;
        assert_status(evocc_study_tell(study, trial.id, &answer, &error), EVOCC_OK, &error);
        assert_status(evocc_study_tell(study, trial.id, &answer, &error), EVOCC_INVALID_ARGUMENT,
                      &error);
    }
    seen_records seen = {0};
    assert_status(evocc_study_each(study, see, &seen, &error), EVOCC_OK, &error);
    assert_int_equal(seen.count, 3); /* it said stop */
    assert_string_equal(seen.candidate, text);
    assert_string_equal(seen.names, "cost speed registers ");
    assert_true(seen.values[0] == 2 && isnan(seen.values[1]) && seen.values[2] == 40);
    assert_string_equal(seen.hash, "aa");
    assert_int_equal(seen.shared, 1);
    char *json;
    size_t length;
    assert_status(evocc_study_report(&json, &length, study, EVOCC_REPORT_JSON, &error), EVOCC_OK,
                  &error);
    assert_int_equal(strlen(json), length);
    assert_non_null(strstr(json, "\"metric\":\"speed\",\"direction\":\"max\""));
    assert_non_null(strstr(json, "\"trials\":4"));
    assert_non_null(strstr(json, "\"run_timeout\":1"));
    /* 4 to 2, and -2 to -1, which is half of the larger: (2 * e^0.5)^0.5. */
    assert_non_null(strstr(json, "{\"trial\":3,\"generation\":0,\"gain\":1.81588"));
    evocc_free(json);
    char *note = NULL;
    assert_status(evocc_study_get_note(&note, &length, study, "mine", &error), EVOCC_NOT_FOUND,
                  &error);
    assert_status(evocc_study_set_note(study, "mine", "a\0b", 3, &error), EVOCC_OK, &error);
    assert_status(evocc_study_set_note(study, "a b", "", 0, &error), EVOCC_INVALID_ARGUMENT,
                  &error);
    evocc_study_free(study);
    assert_status(evocc_study_read(&study, path, &error), EVOCC_OK, &error);
    assert_status(evocc_study_get_note(&note, &length, study, "mine", &error), EVOCC_OK, &error);
    assert_int_equal(length, 3);
    assert_memory_equal(note, "a\0b", 3);
    evocc_free(note);
    assert_status(evocc_study_report(&json, &length, study, EVOCC_REPORT_TABLE, &error), EVOCC_OK,
                  &error);
    assert_int_equal(strncmp(json, "two things\n", 11), 0);
    evocc_free(json);
    evocc_study_free(study);
    evocc_space_free(space);
}

/* A baseline that is not valid is no reason to show nothing. */
static void test_invalid_baseline(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    evocc_error error;
    evocc_study *study;
    assert_status(open_study(&study, space, NULL, EVOCC_STUDY_OPEN, &error), EVOCC_OK, &error);
    for (int i = 0; i < 3; i++) {
        evocc_trial trial;
        double value = 10 - i;
        assert_status(evocc_study_ask(&trial, study, &error), EVOCC_OK, &error);
        evocc_answer answer = EVOCC_ANSWER;
        answer.outcome = i == 0 ? EVOCC_OUTCOME_OUT_OF_MEMORY : EVOCC_OUTCOME_OK;
        answer.values = &value;
        assert_status(evocc_study_tell(study, trial.id, &answer, &error), EVOCC_OK, &error);
    }
    char *text;
    size_t length;
    assert_status(evocc_study_report(&text, &length, study, EVOCC_REPORT_JSON, &error), EVOCC_OK,
                  &error);
    assert_non_null(strstr(text, "\"baseline\":{\"cost\":null}"));
    assert_non_null(strstr(text, "\"front\":[{\"trial\":2,"));
    evocc_free(text);
    assert_status(evocc_study_report(&text, &length, study, EVOCC_REPORT_TABLE, &error), EVOCC_OK,
                  &error);
    assert_non_null(strstr(text, "best: trial 2"));
    evocc_free(text);
    evocc_study_free(study);
    evocc_space_free(space);
}

static void test_arguments(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    evocc_error error;
    evocc_study *study;
    evocc_search_options search = few_trials();
    const evocc_objective blank = {.name = "two words"};
    search.objectives = &blank;
    assert_status(evocc_study_open(&study, space, &search, NULL, &error), EVOCC_INVALID_ARGUMENT,
                  &error);
    assert_says(&error, "objective 'two words'");
    const evocc_objective twins[2] = {{.name = "x"}, {.name = "x"}};
    search.objectives = twins;
    search.objective_count = 2;
    assert_status(evocc_study_open(&study, space, &search, NULL, &error), EVOCC_INVALID_ARGUMENT,
                  &error);
    const evocc_objective unnamed[9] = {{.name = NULL}};
    search.objectives = unnamed;
    search.objective_count = 9;
    assert_status(evocc_study_open(&study, space, &search, NULL, &error), EVOCC_INVALID_ARGUMENT,
                  &error);
    search.objective_count = 2;
    assert_status(evocc_study_open(&study, space, &search, NULL, &error), EVOCC_OK, &error);
    evocc_trial trial;
    assert_status(evocc_study_ask(&trial, study, &error), EVOCC_OK, &error);
    double values[2] = {1, 2};
    evocc_answer answer = EVOCC_ANSWER;
    assert_status(evocc_study_tell(study, 0, &answer, &error), EVOCC_INVALID_ARGUMENT, &error);
    answer.values = values;
    const evocc_metric clash = {"score_2", 1};
    answer.metrics = &clash;
    answer.metric_count = 1;
    assert_status(evocc_study_tell(study, 0, &answer, &error), EVOCC_INVALID_ARGUMENT, &error);
    assert_says(&error, "'score_2' is an objective");
    answer.metric_count = 25;
    assert_status(evocc_study_tell(study, 0, &answer, &error), EVOCC_INVALID_ARGUMENT, &error);
    answer.metric_count = 0;
    answer.struct_size = 4;
    assert_status(evocc_study_tell(study, 0, &answer, &error), EVOCC_INVALID_ARGUMENT, &error);
    /* A caller that knows no further metrics yet. */
    answer.struct_size = offsetof(evocc_answer, metrics);
    assert_status(evocc_study_tell(study, 0, &answer, &error), EVOCC_OK, &error);
    evocc_study_free(study);
    struct {
        evocc_study_options known;
        int later;
    } newer = {EVOCC_STUDY_OPTIONS, 1};
    newer.known.struct_size = sizeof newer;
    assert_status(evocc_study_open(&study, space, &search, &newer.known, &error), EVOCC_UNSUPPORTED,
                  &error);
    evocc_space_free(space);
}

/* Whichever allocation fails, the study can go on as if it had not, or was never there. */
static void test_out_of_memory(void **state)
{
    (void)state;
    evocc_space *space = parse_space(space_text);
    evocc_error error;
    const char *path = in_folder("memory.db");
    for (long nth = 0;; nth++) {
        evocc_study *study;
        unlink(path);
        mem_fail_after(nth);
        evocc_status status = open_study(&study, space, path, EVOCC_STUDY_CREATE, &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            evocc_study_free(study);
            break;
        }
        assert_status(status, EVOCC_NO_MEMORY, &error);
        assert_false(file_exists(path));
    }
    log_book *whole = new_book(space);
    unbroken(whole, space);
    log_book *book = new_book(space);
    evocc_study *study;
    assert_status(open_study(&study, space, NULL, EVOCC_STUDY_OPEN, &error), EVOCC_OK, &error);
    size_t failures = 0;
    for (long nth = 0;; nth++) {
        mem_fail_after(nth % 5);
        evocc_trial trial;
        evocc_status status = evocc_study_ask(&trial, study, &error);
        if (status == EVOCC_DONE) {
            break;
        }
        if (status == EVOCC_NO_MEMORY) {
            failures++;
            continue;
        }
        assert_status(status, EVOCC_OK, &error);
        mem_fail_after(-1);
        note(book, &trial);
        double value = cost_of(space, trial.genes);
        uint64_t id = trial.id;
        evocc_answer answer = EVOCC_ANSWER;
        answer.outcome = id % 7 == 3 ? EVOCC_OUTCOME_WRONG_OUTPUT : EVOCC_OUTCOME_OK;
        answer.values = &value;
        long least = 0;
        do {
            mem_fail_after(least++);
            status = evocc_study_tell(study, id, &answer, &error);
            failures += status == EVOCC_NO_MEMORY;
        } while (status == EVOCC_NO_MEMORY);
        assert_status(status, EVOCC_OK, &error);
    }
    mem_fail_after(-1);
    assert_true(failures > TRIALS);
    assert_string_equal(book->text, whole->text);
    evocc_study_free(study);
    free(book);
    free(whole);
    evocc_space_free(space);
}

static void test_join(void **state)
{
    (void)state;
    evocc_space *parts[2] = {parse_space(space_text),
                             parse_space("evocc-space: 1\nstage: define\ncontrols:\n"
                                         "  d: {type: int, range: [0, 3], default: 1}\n")};
    evocc_space *space;
    evocc_error error;
    assert_status(evocc_space_join(&space, (const evocc_space *const *)parts, 2, &error), EVOCC_OK,
                  &error);
    evocc_space_free(parts[1]);
    assert_int_equal(evocc_space_count(space), 4);
    assert_string_equal(evocc_space_name(space, 0), evocc_space_name(parts[0], 0));
    assert_string_equal(evocc_space_name(space, 3), "define/d");
    int32_t genes[4] = {20, 20, EVOCC_ABSENT, 2};
    assert_status(evocc_candidate_check(space, genes, &error), EVOCC_REFUSED, &error);
    evocc_space_free(space);
    parts[1] = parts[0];
    assert_status(evocc_space_join(&space, (const evocc_space *const *)parts, 2, &error),
                  EVOCC_INVALID_ARGUMENT, &error);
    evocc_space_free(parts[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume_is_exact),
        cmocka_unit_test(test_answers_out_of_order),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_one_writer),
        cmocka_unit_test(test_mismatch_is_named),
        cmocka_unit_test(test_other_rules_are_found_out),
        cmocka_unit_test(test_files_of_others),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_invalid_baseline),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_join),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
