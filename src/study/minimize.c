#include "study/minimize.h"

#include "util/error.h"
#include "util/mem.h"

#include <math.h>
#include <string.h>

typedef struct minimization {
    const minimize_options *options;
    minimize_result *result;
    char *text; /* the candidate, cut into words */
    char **words;
    bool *kept, *attempt; /* by word; attempt: scratch */
    size_t count;
} minimization;

static evocc_status split(minimization *m, const char *candidate, evocc_error *error)
{
    size_t most = strlen(candidate) / 2 + 1;
    m->text = mem_strdup(candidate);
    m->words = mem_alloc(most, sizeof *m->words);
    m->kept = mem_alloc(most, sizeof *m->kept);
    m->attempt = mem_alloc(most, sizeof *m->attempt);
    if (m->text == NULL || m->words == NULL || m->kept == NULL || m->attempt == NULL) {
        return error_no_memory(error);
    }
    for (char *c = m->text; *c != '\0';) {
        size_t blanks = strspn(c, " ");
        memset(c, '\0', blanks);
        c += blanks;
        if (*c != '\0') {
            m->kept[m->count] = true;
            m->words[m->count++] = c;
            c += strcspn(c, " ");
        }
    }
    return EVOCC_OK;
}

static evocc_status join(char **out, const minimization *m, const bool *kept, evocc_error *error)
{
    strbuf text = {0};
    strbuf_puts(&text, "");
    for (size_t i = 0; i < m->count; i++) {
        if (kept[i]) {
            strbuf_printf(&text, "%s%s", text.length > 0 ? " " : "", m->words[i]);
        }
    }
    *out = text.failed ? NULL : mem_strdup(strbuf_text(&text));
    strbuf_dispose(&text);
    return *out == NULL ? error_no_memory(error) : EVOCC_OK;
}

static evocc_status evaluate(minimization *m, const bool *kept, double *values, bool *valid,
                             evocc_error *error)
{
    char *candidate = NULL;
    evocc_status status = join(&candidate, m, kept, error);
    if (status == EVOCC_OK) {
        m->result->evaluations++;
        status = m->options->evaluate(m->options->context, values, valid, candidate, error);
    }
    mem_free(candidate);
    for (size_t i = 0; status == EVOCC_OK && *valid && i < m->options->objectives->count; i++) {
        *valid = !isnan(values[i]);
    }
    return status;
}

/* Against the whole candidate, so that small losses do not add up over many controls. */
static bool is_good_enough(const minimization *m, const double *values)
{
    const objective_list *list = m->options->objectives;
    for (size_t i = 0; i < list->count; i++) {
        double gain = objective_gain(&list->items[i], m->result->first[i], values[i]);
        if (!(gain >= 1 / (1 + m->options->margin))) {
            return false;
        }
    }
    return true;
}

/* Keeps m->attempt if it is good enough. */
static evocc_status try_attempt(minimization *m, bool *left_out, evocc_error *error)
{
    double values[OBJECTIVE_COUNT_MAX] = {0};
    bool valid = false;
    evocc_status status = evaluate(m, m->attempt, values, &valid, error);
    *left_out = status == EVOCC_OK && valid && is_good_enough(m, values);
    if (*left_out) {
        memcpy(m->kept, m->attempt, m->count * sizeof *m->kept);
        memcpy(m->result->last, values, sizeof values);
    }
    return status;
}

/* "ptx/order" of "ptx/order@fa.b4=late"; options of a compiler are groups of their own. */
static bool same_group(const char *a, const char *b)
{
    size_t length = strcspn(a, "@=");
    return strcspn(b, "@=") == length && strncmp(a, b, length) == 0;
}

static evocc_status leave_groups_out(minimization *m, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    for (size_t first = 0; status == EVOCC_OK && first < m->count; first++) {
        size_t members = 0;
        bool seen = false;
        memcpy(m->attempt, m->kept, m->count * sizeof *m->kept);
        for (size_t i = 0; i < m->count; i++) {
            bool member = same_group(m->words[i], m->words[first]);
            seen = seen || (member && i < first);
            members += member && m->kept[i];
            m->attempt[i] = m->attempt[i] && !member;
        }
        bool left_out;
        if (!seen && members > 1) {
            status = try_attempt(m, &left_out, error);
        }
    }
    return status;
}

static size_t count_kept(const minimization *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        count += m->kept[i];
    }
    return count;
}

/* One pass over the kept controls, `size` at a time. */
static evocc_status leave_parts_out(minimization *m, size_t size, bool *any, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    *any = false;
    for (size_t at = 0; status == EVOCC_OK && at < m->count;) {
        size_t taken = 0;
        memcpy(m->attempt, m->kept, m->count * sizeof *m->kept);
        for (; at < m->count && taken < size; at++) {
            taken += m->attempt[at];
            m->attempt[at] = false;
        }
        bool left_out = false;
        if (taken > 0) {
            status = try_attempt(m, &left_out, error);
        }
        *any = *any || left_out;
    }
    return status;
}

/* Single ones are gone through again and again until none can go: each round but the last leaves
   one out at least, so there are no more rounds than controls. */
static evocc_status leave_out(minimization *m, evocc_error *error)
{
    evocc_status status = leave_groups_out(m, error);
    size_t size = (count_kept(m) + 1) / 2;
    while (status == EVOCC_OK && size > 0) {
        bool any = false;
        status = leave_parts_out(m, size, &any, error);
        size = size > 1 ? size / 2 : any ? 1 : 0;
    }
    return status;
}

static evocc_status rate(minimization *m, evocc_error *error)
{
    minimize_result *r = m->result;
    const objective_list *list = m->options->objectives;
    double whole = log(objective_list_gain(list, r->baseline, r->last));
    r->controls = mem_alloc(count_kept(m) + 1, sizeof *r->controls);
    evocc_status status = r->controls == NULL ? error_no_memory(error) : EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < m->count; i++) {
        if (!m->kept[i]) {
            continue;
        }
        double values[OBJECTIVE_COUNT_MAX] = {0};
        bool valid = false;
        minimize_control *control = &r->controls[r->control_count];
        control->text = mem_strdup(m->words[i]);
        if (control->text == NULL) {
            return error_no_memory(error);
        }
        r->control_count++;
        memcpy(m->attempt, m->kept, m->count * sizeof *m->kept);
        m->attempt[i] = false;
        status = evaluate(m, m->attempt, values, &valid, error);
        double left = log(objective_list_gain(list, r->baseline, values));
        control->share = valid && whole > 0 ? (whole - left) / whole : (double)NAN;
    }
    return status;
}

static evocc_status begin(minimization *m, evocc_error *error)
{
    minimize_result *r = m->result;
    bool valid = false;
    evocc_status status = evaluate(m, m->attempt, r->baseline, &valid, error); /* none of them */
    if (status == EVOCC_OK && !valid) {
        status = error_set(error, EVOCC_PROCESS, "the baseline is not valid here");
    }
    if (status == EVOCC_OK) {
        status = evaluate(m, m->kept, r->first, &valid, error);
    }
    if (status == EVOCC_OK && !valid) {
        status = error_set(error, EVOCC_PROCESS, "the candidate is not valid here");
    }
    if (status != EVOCC_OK) {
        return status;
    }
    memcpy(r->last, r->first, sizeof r->last);
    r->first_count = m->count;
    if (!(objective_list_gain(m->options->objectives, r->baseline, r->first) > 1)) {
        return error_set(error, EVOCC_NOT_FOUND,
                         "there is no gain to keep: it is no better than the baseline here");
    }
    return EVOCC_OK;
}

evocc_status study_minimize(minimize_result *out, const char *candidate,
                            const minimize_options *options, evocc_error *error)
{
    *out = (minimize_result){0};
    minimization m = {.options = options, .result = out};
    evocc_status status = split(&m, candidate, error);
    if (status == EVOCC_OK) {
        status = begin(&m, error);
    }
    if (status == EVOCC_OK) {
        status = leave_out(&m, error);
    }
    if (status == EVOCC_OK) {
        status = rate(&m, error);
    }
    if (status == EVOCC_OK) {
        status = join(&out->candidate, &m, m.kept, error);
    }
    mem_free(m.text);
    mem_free(m.words);
    mem_free(m.kept);
    mem_free(m.attempt);
    if (status != EVOCC_OK) {
        minimize_result_dispose(out);
    }
    return status;
}

void minimize_result_dispose(minimize_result *result)
{
    for (size_t i = 0; i < result->control_count; i++) {
        mem_free(result->controls[i].text);
    }
    mem_free(result->controls);
    mem_free(result->candidate);
    *result = (minimize_result){0};
}
