#include "compiler/runs.h"

#include "util/error.h"

#include <unistd.h>

static size_t width(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (size_t)cores : 1;
}

static evocc_status submit(launcher *l, const runs_item *item, uint64_t id, double deadline_s,
                           evocc_error *error)
{
    if (item->command.failed) {
        return error_no_memory(error);
    }
    process_request request = {.argv = (const char *const *)item->command.argv,
                               .folder = launcher_folder(l),
                               .deadline_s = deadline_s};
    return launcher_submit(l, id, &request, error);
}

static evocc_status collect(launcher *l, runs_item *items, size_t count, evocc_error *error)
{
    uint64_t id = 0;
    process_result result = {0};
    evocc_status status = launcher_wait(l, -1.0, -1, &id, &result, error);
    if (status == EVOCC_OK && id >= count) {
        process_result_dispose(&result);
        return error_set(error, EVOCC_PROCESS, "the helper answered a question nobody asked");
    }
    if (status == EVOCC_OK) {
        items[id].result = result;
    }
    return status;
}

evocc_status runs_execute(launcher *l, runs_item *items, size_t count, double deadline_s,
                          evocc_error *error)
{
    evocc_status status = EVOCC_OK;
    size_t submitted = 0;
    size_t collected = 0;
    while (status == EVOCC_OK && collected < count) {
        if (submitted < count && submitted - collected < width()) {
            status = submit(l, &items[submitted], submitted, deadline_s, error);
            submitted++;
        } else {
            status = collect(l, items, count, error);
            collected++;
        }
    }
    return status;
}

void runs_dispose(runs_item *items, size_t count)
{
    for (size_t i = 0; items != NULL && i < count; i++) {
        compiler_command_dispose(&items[i].command);
        process_result_dispose(&items[i].result);
    }
}

bool runs_succeeded(const process_result *result)
{
    return result->end == PROCESS_EXITED && result->exit_status == 0;
}
