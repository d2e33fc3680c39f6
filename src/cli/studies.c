#include "cli/cli.h"

#include "report/report.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct studies_values {
    bool json, yes;
} studies_values;

#define OFFSET(field) offsetof(studies_values, field)

static const cli_option options[] = {
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "the list as JSON"},
    {"yes", 0, NULL, CLI_FLAG, OFFSET(yes), "prune without asking"},
};

/* ---- The list -------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a folder whose name ends in .db, sorted; each mem_freed by the caller. */
static evocc_status list_files(char ***out, size_t *count, const char *folder, evocc_error *error)
{
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return error_set_os(error, EVOCC_IO, errno, "cannot list the folder %s", folder);
    }
    char **names = NULL;
    size_t capacity = 0;
    evocc_status status = EVOCC_OK;
    for (struct dirent *entry; status == EVOCC_OK && (entry = readdir(entries)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".db") != 0) {
            continue;
        }
        char *path =
            strcmp(folder, ".") == 0 ? mem_strdup(entry->d_name) : path_join(folder, entry->d_name);
        if (path == NULL || !mem_grow(&names, &capacity, *count + 1, sizeof *names)) {
            mem_free(path);
            status = error_no_memory(error);
        } else {
            names[(*count)++] = path;
        }
    }
    closedir(entries);
    if (*count > 0) {
        qsort(names, *count, sizeof *names, by_name);
    }
    *out = names;
    return status;
}

static const char *state_of(const report_summary *s)
{
    return s->trial_count == 0 ? "empty" : s->finished ? "finished" : "not finished";
}

static void put_row(strbuf *out, const char *path, uint64_t bytes, const report_summary *s)
{
    strbuf objectives = {0};
    char gain[24] = "-";
    objective_list_text(&objectives, &s->objectives);
    if (s->improved) {
        snprintf(gain, sizeof gain, "%.4gx", s->front[s->best].gain);
    }
    strbuf_printf(out, "%-36s %9.1f %7zu %9s  %-12s  %s  [%s]\n", path, (double)bytes / 1e6,
                  s->trial_count, gain, state_of(s), *s->kernel == '\0' ? s->input : s->kernel,
                  strbuf_text(&objectives));
    out->failed = out->failed || objectives.failed;
    strbuf_dispose(&objectives);
}

static void put_json(strbuf *out, const char *path, uint64_t bytes, const report_summary *s,
                     bool first)
{
    strbuf objectives = {0};
    objective_list_text(&objectives, &s->objectives);
    strbuf_puts(out, first ? "{\"study\":" : ",\n{\"study\":");
    strbuf_json_string(out, path);
    strbuf_printf(out, ",\"bytes\":%" PRIu64 ",\"trials\":%zu,\"state\":\"%s\",\"gain\":", bytes,
                  s->trial_count, state_of(s));
    if (s->improved) {
        strbuf_number(out, s->front[s->best].gain);
    } else {
        strbuf_puts(out, "null");
    }
    strbuf_puts(out, ",\"input\":");
    strbuf_json_string(out, s->input);
    strbuf_puts(out, ",\"kernel\":");
    strbuf_json_string(out, s->kernel);
    strbuf_puts(out, ",\"objectives\":");
    strbuf_json_string(out, strbuf_text(&objectives));
    strbuf_putc(out, '}');
    out->failed = out->failed || objectives.failed;
    strbuf_dispose(&objectives);
}

/* Other databases are no business of ours; what is wrong with one of ours is said. */
static evocc_status list_one(strbuf *out, const char *path, bool json, bool *listed,
                             evocc_error *error)
{
    store *s = NULL;
    report_summary *summary = NULL;
    evocc_status status = store_open_read(&s, path, error);
    if (status == EVOCC_OK) {
        status = report_summary_load(&summary, s, path, UINT64_MAX, error);
    }
    if (status == EVOCC_OK && json) {
        put_json(out, path, store_bytes(s), summary, !*listed);
    } else if (status == EVOCC_OK) {
        put_row(out, path, store_bytes(s), summary);
    } else if (status != EVOCC_NO_MEMORY) {
        fprintf(stderr, "evocc studies: left out: %s\n", error->message);
    }
    *listed = *listed || status == EVOCC_OK;
    report_summary_free(summary);
    store_free(s);
    return status == EVOCC_NO_MEMORY ? status : EVOCC_OK;
}

static int list(const studies_values *v, const char *folder)
{
    evocc_error error = {0};
    strbuf out = {0};
    char **names = NULL;
    size_t count = 0;
    bool listed = false;
    evocc_status status = list_files(&names, &count, folder, &error);
    strbuf_puts(&out, v->json ? "[" : "");
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        if (!v->json && !listed) {
            strbuf_clear(&out);
            strbuf_printf(&out, "%-36s %9s %7s %9s  %-12s  %s\n", "study", "MB", "trials", "gain",
                          "state", "kernel [objectives]");
        }
        status = list_one(&out, names[i], v->json, &listed, &error);
    }
    if (v->json) {
        strbuf_puts(&out, "]\n");
    } else if (!listed) {
        strbuf_clear(&out);
        fprintf(stderr, "evocc studies: no study file (*.db) in %s\n", folder);
    }
    if (status == EVOCC_OK && out.failed) {
        status = error_no_memory(&error);
    }
    int exit_status = status == EVOCC_OK ? cli_print(strbuf_text(&out), out.length)
                                         : cli_fail(&cli_studies, &error);
    for (size_t i = 0; i < count; i++) {
        mem_free(names[i]);
    }
    mem_free(names);
    strbuf_dispose(&out);
    return exit_status;
}

/* ---- Pruning --------------------------------------------------------------------------------- */

typedef struct code_list {
    char **names;
    size_t count, capacity;
    uint64_t bytes;
} code_list;

/* Machine code can be made again from the input and the controls; the input cannot. */
static evocc_status note_code(const char *name, uint64_t bytes, void *context, evocc_error *error)
{
    code_list *codes = context;
    if (strncmp(name, "code_", 5) != 0) {
        return EVOCC_OK;
    }
    char *copy = mem_strdup(name);
    if (copy == NULL || !mem_grow(&codes->names, &codes->capacity, codes->count + 1, sizeof copy)) {
        mem_free(copy);
        return error_no_memory(error);
    }
    codes->names[codes->count++] = copy;
    codes->bytes += bytes;
    return EVOCC_OK;
}

static bool is_agreed(const studies_values *v, const char *path, const code_list *codes)
{
    fprintf(stderr,
            "%s: %zu machine codes, %" PRIu64 " bytes, would be removed and the file compacted; "
            "trials, samples and the input stay\n",
            path, codes->count, codes->bytes);
    if (v->yes) {
        return true;
    }
    if (isatty(STDIN_FILENO) != 1) {
        fprintf(stderr, "evocc studies: nothing was done; say --yes\n");
        return false;
    }
    fprintf(stderr, "Do it? [y/N] ");
    char answer[16] = "";
    return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static int prune(const studies_values *v, const char *path)
{
    evocc_error error = {0};
    store *s = NULL;
    code_list codes = {0};
    evocc_status status = store_open(&s, path, &error);
    if (status == EVOCC_OK) {
        status = store_each_artifact(s, note_code, &codes, &error);
    }
    int exit_status = CLI_DONE;
    if (status == EVOCC_OK && !is_agreed(v, path, &codes)) {
        exit_status = CLI_FAILED;
    } else if (status == EVOCC_OK) {
        uint64_t before = store_bytes(s);
        for (size_t i = 0; status == EVOCC_OK && i < codes.count; i++) {
            status = store_drop_artifact(s, codes.names[i], &error);
        }
        if (status == EVOCC_OK) {
            status = store_compact(s, &error);
        }
        uint64_t after = store_bytes(s);
        if (status == EVOCC_OK) {
            printf("%s: %" PRIu64 " bytes, were %" PRIu64 "\n", path, after, before);
        }
    }
    if (status != EVOCC_OK) {
        exit_status = cli_fail(&cli_studies, &error);
    }
    for (size_t i = 0; i < codes.count; i++) {
        mem_free(codes.names[i]);
    }
    mem_free(codes.names);
    store_free(s);
    return exit_status;
}

static int run(const void *values, const cli_operands *operands)
{
    const studies_values *v = values;
    const char *first = operands->count > 0 ? operands->items[0] : ".";
    if (strcmp(first, "prune") != 0) {
        if (operands->count > 1 || v->yes) {
            fprintf(stderr, "evocc studies: %s (evocc studies --help)\n",
                    v->yes ? "--yes goes with prune" : "one folder at a time");
            return CLI_USAGE;
        }
        return list(v, first);
    }
    if (operands->count < 2) {
        fprintf(stderr, "evocc studies: prune which? name study files (evocc studies --help)\n");
        return CLI_USAGE;
    }
    int exit_status = CLI_DONE;
    for (size_t i = 1; i < operands->count; i++) {
        int status = prune(v, operands->items[i]);
        exit_status = status == CLI_DONE ? exit_status : status;
    }
    return exit_status;
}

const cli_command cli_studies = {
    .name = "studies",
    .operands = "[FOLDER] | prune STUDY.db...",
    .summary = "the studies of a folder; makes study files smaller",
    .text =
        "Lists the study files (*.db) of a folder, the current one by default: size, trials, best "
        "gain over the baseline, state, kernel and objectives. prune removes the machine codes "
        "that a study keeps of its baseline and its best, which can be compiled again, and gives "
        "the space back; it asks first, and says how many bytes. A folder of that name is "
        "./prune.",
    .examples = "  evocc studies\n"
                "  evocc studies ~/kernels --json\n"
                "  evocc studies prune kernel.db --yes\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 0,
    .operands_max = 64,
    .values_size = sizeof(studies_values),
    .run = run,
};
