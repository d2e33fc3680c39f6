#include "study/internal.h"

#include "acf/acf.h"
#include "util/error.h"
#include "util/files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What stands in `found` beside the metrics. No date and no path: the same study gives the same
   file on any day and in any folder. */
static void found_lines(strbuf *out, const report_summary *summary, const report_point *point)
{
    strbuf_puts(out, "objectives: ");
    objective_list_text(out, &summary->objectives);
    strbuf_printf(out, "\ntrial: %" PRIu64 "\ntrials: %zu\nseed: %" PRIu64 "\nevocc: %s\n",
                  point->id, summary->trial_count, summary->seed, evocc_version());
    strbuf_printf(out, "code: sha256:%s\n", point->code_hash);
    if (*summary->device != '\0') {
        strbuf_printf(out, "device: %s\ndriver: %s\n", summary->device, summary->driver);
    }
}

static const report_comparison *comparison_for(const report_point *point, const char *metric)
{
    for (size_t i = 0; i < point->comparison_count; i++) {
        if (strcmp(point->comparisons[i].metric, metric) == 0) {
            return &point->comparisons[i];
        }
    }
    return NULL;
}

/* What the pairs say, not the search's own number. */
static acf_metric compared_metric(const report_comparison *c)
{
    return (acf_metric){.name = c->metric,
                        .baseline = c->baseline,
                        .tuned = c->tuned,
                        .speedup = c->statistics.speedup,
                        .low = c->statistics.low,
                        .high = c->statistics.high,
                        .pairs = (int64_t)c->statistics.pairs};
}

/* Splits "a=1 b=2" into controls. Names and values point into `words`, which is cut apart. */
static size_t split_controls(acf_control *controls, char *words)
{
    size_t count = 0;
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        bool last = words[length] == '\0';
        words[length] = '\0';
        char *equals = strchr(words, '=');
        if (equals != NULL) {
            *equals = '\0';
            controls[count++] = (acf_control){.full_name = words, .value = equals + 1};
        }
        words += length + (last ? 0 : 1);
    }
    return count;
}

static bool is_objective(const objective_list *list, const char *metric)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].metric, metric) == 0) {
            return true;
        }
    }
    return false;
}

/* The metrics that both sides have. A time that nobody asked for is noise, and would make the file
   another one on every run. */
static size_t known_metrics(acf_metric *metrics, const report_summary *summary,
                            const report_point *point)
{
    size_t count = 0;
    for (size_t i = 0; i < summary->metric_count; i++) {
        const char *name = summary->metric_names[i];
        const evaluate_metric_info *info = evaluate_metric_find(name);
        bool is_measured = info != NULL && info->measured;
        const report_comparison *c = comparison_for(point, name);
        if (c != NULL) {
            metrics[count++] = compared_metric(c);
        } else if (!isnan(summary->baseline_metrics[i]) && !isnan(point->metrics[i]) &&
                   (!is_measured || is_objective(&summary->objectives, name))) {
            metrics[count++] = (acf_metric){
                .name = name, .baseline = summary->baseline_metrics[i], .tuned = point->metrics[i]};
        }
    }
    return count;
}

/* What an ACF of this study is for. `ptx` lives as long as the target. */
static acf_target target_of(const study *s, char ptx[PTX_NAME_SIZE])
{
    *ptx = '\0';
    if (s->module != NULL) {
        ptx_normal_name(ptx, s->module);
    }
    return (acf_target){.compiler = study_compiler(s)->name,
                        .version = s->compiler.version,
                        .arch = s->arch,
                        .kernel = *s->kernel == '\0' ? ACF_ALL_KERNELS : s->kernel,
                        .base = s->canonical_base,
                        .base_count = s->canonical_base_count,
                        .ptx = ptx};
}

evocc_status study_candidate_of(char **out, const study *s, const char *acf_path,
                                evocc_error *error)
{
    char *text = NULL;
    size_t length;
    acf *file = NULL;
    char ptx[PTX_NAME_SIZE];
    strbuf candidate = {0};
    const acf_target here = target_of(s, ptx);
    int32_t *genes = mem_alloc(space_count(s->space) + 1, sizeof *genes);
    evocc_status status = genes != NULL ? file_read(&text, &length, acf_path, ACF_SIZE_LIMIT, error)
                                        : error_no_memory(error);
    if (status == EVOCC_OK) {
        status = acf_read(&file, text, length, acf_path, error);
    }
    if (status == EVOCC_OK) {
        status = acf_match(file, &here, error);
    }
    if (status == EVOCC_OK) {
        status = acf_genes(genes, file, s->space, s->allow_numerics, error);
    }
    if (status == EVOCC_OK) {
        space_candidate_text(&candidate, s->space, genes);
        *out = strbuf_take(&candidate);
        status = *out != NULL ? EVOCC_OK : error_no_memory(error);
    }
    strbuf_dispose(&candidate);
    acf_free(file);
    mem_free(genes);
    mem_free(text);
    return status;
}

/* "runtime@tall" is no word of the file; "runtime.tall" is. */
static evocc_status name_keys(study *s, acf_metric *metrics, size_t count, evocc_error *error)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(metrics[i].name, "@");
        if (metrics[i].name[length] == '\0') {
            continue;
        }
        char *key = arena_strdup(&s->texts, metrics[i].name);
        if (key == NULL) {
            return error_no_memory(error);
        }
        key[length] = '.';
        metrics[i].name = key;
    }
    return EVOCC_OK;
}

static evocc_status write_point(study *s, const report_summary *summary, const report_point *point,
                                const char *path, evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    acf *file = NULL;
    strbuf found = {0};
    strbuf text = {0};
    char ptx[PTX_NAME_SIZE];
    char *words = mem_strdup(point->candidate);
    acf_control *controls = mem_alloc(point->control_count + 1, sizeof *controls);
    acf_metric *metrics = mem_alloc(summary->metric_count + 1, sizeof *metrics);
    size_t metric_count = 0;
    found_lines(&found, summary, point);
    if (words == NULL || controls == NULL || metrics == NULL || found.failed) {
        status = error_no_memory(error);
        goto cleanup;
    }
    metric_count = known_metrics(metrics, summary, point);
    status = name_keys(s, metrics, metric_count, error);
    if (status != EVOCC_OK) {
        goto cleanup;
    }
    acf contents = {
        .target = target_of(s, ptx),
        .controls = controls,
        .control_count = split_controls(controls, words),
        .metrics = metrics,
        .metric_count = metric_count,
        .found_extra = strbuf_text(&found),
    };
    status = acf_new(&file, &contents, error);
    if (status == EVOCC_OK) {
        status = acf_write(&text, file, error);
    }
    if (status == EVOCC_OK) {
        status = file_write_atomic(path, text.data, text.length, error);
    }
cleanup:
    acf_free(file);
    strbuf_dispose(&found);
    strbuf_dispose(&text);
    mem_free(words);
    mem_free(controls);
    mem_free(metrics);
    return status;
}

static evocc_status write_index(const report_summary *summary, const char *folder,
                                evocc_error *error)
{
    strbuf text = {0};
    char *path = path_join(folder, "index.json");
    report_json(&text, summary);
    evocc_status status = path == NULL || text.failed
                              ? error_no_memory(error)
                              : file_write_atomic(path, text.data, text.length, error);
    mem_free(path);
    strbuf_dispose(&text);
    return status;
}

/* The points of an earlier front in this folder; nothing else is touched. */
static void remove_points(const char *folder)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        size_t digits =
            strncmp(entry->d_name, "trial-", 6) == 0 ? strspn(entry->d_name + 6, "0123456789") : 0;
        if (digits > 0 && strcmp(entry->d_name + 6 + digits, ".acf") == 0) {
            char *path = path_join(folder, entry->d_name);
            if (path != NULL) {
                unlink(path);
            }
            mem_free(path);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

static evocc_status write_front(study *s, const report_summary *summary, const char *folder,
                                evocc_error *error)
{
    evocc_status status = folder_make(folder, error);
    if (status == EVOCC_OK) {
        remove_points(folder);
    }
    for (size_t i = 0; status == EVOCC_OK && i <= summary->front_count; i++) {
        /* Past the end comes best.acf, a copy of its point. */
        bool last = i == summary->front_count;
        const report_point *point = &summary->front[last ? summary->best : i];
        char name[40] = "best.acf";
        if (!last) {
            snprintf(name, sizeof name, "trial-%" PRIu64 ".acf", point->id);
        }
        if (point->id == 0 || !point->apart) {
            continue; /* the baseline needs no file, and what may be no better deserves none */
        }
        char *path = path_join(folder, name);
        status =
            path == NULL ? error_no_memory(error) : write_point(s, summary, point, path, error);
        mem_free(path);
    }
    return status == EVOCC_OK ? write_index(summary, folder, error) : status;
}

evocc_status study_write(study *s, const report_summary *summary, evocc_error *error)
{
    if (!summary->improved) {
        return error_set(error, EVOCC_NOT_FOUND, "no candidate was better than the baseline");
    }
    return summary->objectives.count > 1
               ? write_front(s, summary, s->output, error)
               : write_point(s, summary, &summary->front[summary->best], s->output, error);
}

const char *study_output(const study *s)
{
    return s->output;
}

/* ---- Before the search ---------------------------------------------------------------------- */

static evocc_status refuse(const study *s, const char *why, evocc_error *error)
{
    return error_set(error, EVOCC_INVALID_ARGUMENT, "-o %s: %s; name another with -o", s->output,
                     why);
}

/* Only a file that is one of ours may be replaced: -o is one slip away from the kernel itself. */
static evocc_status check_file(const study *s, evocc_error *error)
{
    struct stat info;
    if (stat(s->output, &info) != 0) {
        return EVOCC_OK;
    }
    if (S_ISDIR(info.st_mode)) {
        return refuse(s, "it is a folder", error);
    }
    if (!S_ISREG(info.st_mode) || info.st_size == 0) {
        return EVOCC_OK; /* /dev/null, or a name that mktemp has made */
    }
    char head[64] = "";
    FILE *file = fopen(s->output, "rb");
    size_t length = file == NULL ? 0 : fread(head, 1, sizeof head, file);
    if (file != NULL) {
        fclose(file);
    }
    return acf_is_ours(head, length)
               ? EVOCC_OK
               : refuse(s, "it exists and is no ACF, so it is not replaced", error);
}

static bool same_path(const study *s, const char *ending)
{
    size_t length = strlen(s->path);
    return strncmp(s->output, s->path, length) == 0 && strcmp(s->output + length, ending) == 0;
}

evocc_status study_check_output(const study *s, evocc_error *error)
{
    if (same_path(s, "") || same_path(s, "-wal") || same_path(s, "-shm")) {
        return refuse(s, "that is the study file", error);
    }
    char *folder = path_folder(s->output);
    if (folder == NULL) {
        return error_no_memory(error);
    }
    bool several = s->objectives.count > 1;
    bool writable = access(folder, W_OK | X_OK) == 0;
    int os_errno = errno;
    mem_free(folder);
    if (!writable) {
        return error_set_os(error, EVOCC_IO, os_errno, "-o %s: no place for it", s->output);
    }
    if (!several) {
        return check_file(s, error);
    }
    struct stat info;
    return stat(s->output, &info) == 0 && !S_ISDIR(info.st_mode)
               ? refuse(s, "several objectives give a folder, and this is none", error)
               : EVOCC_OK;
}
