/*
 * What a search begins with besides the baseline: candidates of controls files and of other
 * studies, by the names of their controls. Kept in the study file as texts, so that a resumed study
 * asks for the same.
 */
#include "study/internal.h"

#include "acf/acf.h"
#include "util/error.h"
#include "util/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static evocc_status add_acf(strbuf *out, const char *path, evocc_error *error)
{
    char *text = NULL;
    size_t length;
    acf *file = NULL;
    evocc_status status = file_read(&text, &length, path, ACF_SIZE_LIMIT, error);
    if (status == EVOCC_OK) {
        status = acf_read(&file, text, length, path, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < file->control_count; i++) {
        strbuf_printf(out, "%s%s=%s", i == 0 ? "" : " ", file->controls[i].full_name,
                      file->controls[i].value);
    }
    strbuf_putc(out, '\n');
    acf_free(file);
    mem_free(text);
    return status;
}

/* Its front; the baseline comes by itself. */
static evocc_status add_study(strbuf *out, const char *path, evocc_error *error)
{
    store *other = NULL;
    report_summary *summary = NULL;
    evocc_status status = store_open_read(&other, path, error);
    if (status == EVOCC_OK) {
        status = report_summary_load(&summary, other, path, UINT64_MAX, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < summary->front_count; i++) {
        if (*summary->front[i].candidate != '\0') {
            strbuf_printf(out, "%s\n", summary->front[i].candidate);
        }
    }
    report_summary_free(summary);
    store_free(other);
    return status;
}

evocc_status study_read_seeds(study *s, const study_options *options, evocc_error *error)
{
    strbuf text = {0};
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < options->seed_acf_count; i++) {
        status = add_acf(&text, options->seed_acfs[i], error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < options->seed_study_count; i++) {
        status = add_study(&text, options->seed_studies[i], error);
    }
    s->seeds = text.failed ? NULL : study_keep(s, strbuf_text(&text));
    strbuf_dispose(&text);
    return status == EVOCC_OK && s->seeds == NULL ? error_no_memory(error) : status;
}

size_t study_seed_count(const study *s)
{
    size_t count = 0;
    for (const char *c = s->seeds; c != NULL && *c != '\0'; c++) {
        count += *c == '\n';
    }
    return count;
}

static evocc_status adapt_line(int32_t *genes, strbuf *notes, study *s, const char *line,
                               size_t length, evocc_error *error)
{
    char *copy = mem_alloc(length + 1, 1);
    if (copy == NULL) {
        return error_no_memory(error);
    }
    memcpy(copy, line, length);
    evocc_status status = space_candidate_adapt(genes, notes, s->space, copy, error);
    mem_free(copy);
    return status;
}

evocc_status study_adapt_seeds(int32_t *genes, study *s, evocc_error *error)
{
    strbuf notes = {0};
    evocc_status status = EVOCC_OK;
    for (const char *line = s->seeds; status == EVOCC_OK && *line != '\0';
         line += strcspn(line, "\n") + 1, genes += space_count(s->space)) {
        status = adapt_line(genes, &notes, s, line, strcspn(line, "\n"), error);
    }
    s->seed_notes = notes.failed ? NULL : study_keep(s, strbuf_text(&notes));
    strbuf_dispose(&notes);
    return status == EVOCC_OK && s->seed_notes == NULL ? error_no_memory(error) : status;
}

const char *study_seed_notes(const study *s)
{
    return s->seed_notes == NULL ? "" : s->seed_notes;
}

/* ---- A first pool of failures ---------------------------------------------------------------- */

typedef struct failures {
    uint64_t count, of[EVOCC_OUTCOME_COUNT];
    evocc_outcome wanted; /* whose command is looked for; EVOCC_OUTCOME_OK: only counting */
    char command[EVOCC_ERROR_SIZE / 2], detail[EVOCC_ERROR_SIZE / 4];
} failures;

static evocc_status note_failure(const store_trial *trial, void *context, evocc_error *error)
{
    (void)error;
    failures *f = context;
    if (trial->outcome == EVOCC_OUTCOME_OK) {
        return EVOCC_OK; /* the baseline */
    }
    f->count++;
    f->of[trial->outcome]++;
    if (trial->outcome != f->wanted) {
        return EVOCC_OK;
    }
    snprintf(f->command, sizeof f->command, "%s", trial->command);
    snprintf(f->detail, sizeof f->detail, "%.*s", (int)strcspn(trial->detail, "\n"), trial->detail);
    return EVOCC_DONE;
}

evocc_status study_check_first_pool(study *s, evocc_error *error)
{
    if (s->valid > 1 || s->trials < s->search_options.pool_size || s->trials < 2) {
        return EVOCC_OK;
    }
    failures f = {.wanted = EVOCC_OUTCOME_OK};
    evocc_status status = store_each_trial(s->store, note_failure, &f, error);
    for (int i = 1; i < EVOCC_OUTCOME_COUNT; i++) {
        f.wanted = f.of[i] > f.of[f.wanted] ? (evocc_outcome)i : f.wanted;
    }
    uint64_t most = f.of[f.wanted];
    uint64_t all = f.count;
    if (status == EVOCC_OK) {
        status = store_each_trial(s->store, note_failure, &f, error);
    }
    if (status != EVOCC_OK && status != EVOCC_DONE) {
        return status;
    }
    return error_set(error, EVOCC_PROCESS,
                     "none of the first %" PRIu64 " candidates works: %s %" PRIu64
                     " times, as in: %s (%s)",
                     all, evocc_outcome_name(f.wanted), most, f.command, f.detail);
}
