/* What a study says of itself: trials, report, notes (evocc.h, section "Studies"). */
#include "report/detail.h"
#include "report/report.h"
#include "study/callback.h"

#include "util/error.h"

/* Notes share the artifacts' table with what evocc keeps there itself. */
#define NOTE_PREFIX "note/"

typedef struct visiting {
    evocc_visit *visit;
    void *context;
} visiting;

static evocc_status visit_trial(const store_trial *trial, void *context, evocc_error *error)
{
    (void)error;
    const visiting *v = context;
    evocc_metric metrics[STORE_METRICS_MAX];
    for (size_t i = 0; i < trial->metric_count; i++) {
        metrics[i] = (evocc_metric){trial->metric_names[i], trial->metrics[i]};
    }
    evocc_record record = {
        .id = trial->id,
        .generation = trial->generation,
        .outcome = trial->outcome,
        .shared = trial->shared,
        .candidate = trial->candidate,
        .code_hash = trial->code_hash,
        .detail = trial->detail,
        .command = trial->command,
        .wall_s = trial->wall_s,
        .metrics = metrics,
        .metric_count = trial->metric_count,
    };
    return v->visit(v->context, &record) ? EVOCC_OK : EVOCC_DONE;
}

evocc_status evocc_study_each(evocc_study *s, evocc_visit *visit, void *context, evocc_error *error)
{
    visiting v = {visit, context};
    evocc_status status = store_each_trial(s->store, visit_trial, &v, error);
    return status == EVOCC_DONE ? EVOCC_OK : status;
}

static evocc_status write_page(strbuf *out, evocc_study *s, evocc_error *error)
{
    report_detail *detail = NULL;
    evocc_status status = report_detail_load(&detail, s->store, s->path, error);
    if (status == EVOCC_OK) {
        report_html(out, detail);
    }
    report_detail_free(detail);
    return status;
}

static evocc_status write_summary(strbuf *out, evocc_study *s, bool json, evocc_error *error)
{
    report_summary *summary = NULL;
    evocc_status status = report_summary_load(&summary, s->store, s->path, UINT64_MAX, error);
    if (status == EVOCC_OK && json) {
        report_json(out, summary);
    } else if (status == EVOCC_OK) {
        report_table(out, summary);
    }
    report_summary_free(summary);
    return status;
}

evocc_status evocc_study_report(char **out, size_t *length, evocc_study *s, evocc_report_form form,
                                evocc_error *error)
{
    strbuf text = {0};
    *out = NULL;
    if ((unsigned)form > EVOCC_REPORT_HTML) {
        return error_set(error, EVOCC_INVALID_ARGUMENT, "no form of report has the number %d",
                         (int)form);
    }
    evocc_status status = form == EVOCC_REPORT_HTML
                              ? write_page(&text, s, error)
                              : write_summary(&text, s, form == EVOCC_REPORT_JSON, error);
    if (status != EVOCC_OK) {
        strbuf_dispose(&text);
        return status;
    }
    *length = text.length;
    *out = strbuf_take(&text);
    return *out == NULL ? error_no_memory(error) : EVOCC_OK;
}

static evocc_status note_name(strbuf *out, const char *name, evocc_error *error)
{
    evocc_status status = callback_check_name("note", name, error);
    if (status == EVOCC_OK) {
        strbuf_printf(out, NOTE_PREFIX "%s", name);
        status = out->failed ? error_no_memory(error) : EVOCC_OK;
    }
    return status;
}

evocc_status evocc_study_set_note(evocc_study *s, const char *name, const void *data, size_t length,
                                  evocc_error *error)
{
    strbuf full = {0};
    evocc_status status = s->search != NULL ? note_name(&full, name, error)
                                            : error_set(error, EVOCC_UNSUPPORTED,
                                                        "%s was opened for reading only", s->path);
    if (status == EVOCC_OK) {
        status = store_put_artifact(s->store, strbuf_text(&full), data, length, error);
    }
    strbuf_dispose(&full);
    return status;
}

evocc_status evocc_study_get_note(char **out, size_t *length, evocc_study *s, const char *name,
                                  evocc_error *error)
{
    strbuf full = {0};
    *out = NULL;
    evocc_status status = note_name(&full, name, error);
    if (status == EVOCC_OK) {
        status = store_get_artifact(out, length, s->store, strbuf_text(&full), error);
    }
    strbuf_dispose(&full);
    return status;
}

void evocc_free(void *data)
{
    mem_free(data);
}
