#include "report/detail.h"

#include "ptx/ptx.h"
#include "util/map.h"

#include <string.h>

void report_help_dispose(report_help *help)
{
    space_free(help->space);
    *help = (report_help){0};
}

/* The space of the stage is kept: controls of one stage come one after the other. Help texts are
   worth having, not worth failing for: what cannot be loaded has none. */
static void load_stage(report_help *help, const char *name, size_t length)
{
    if (strncmp(help->stage, name, length) == 0 && help->stage[length] == '\0') {
        return;
    }
    report_help_dispose(help);
    memcpy(help->stage, name, length);
    if (space_builtin_load(&help->space, help->stage, NULL) != EVOCC_OK) {
        help->space = NULL;
    } else if (space_finish(help->space, NULL) != EVOCC_OK) {
        space_free(help->space);
        help->space = NULL;
    }
}

const char *report_help_of(report_help *help, const char *name)
{
    ptx_kind kind;
    const char *slash = strchr(name, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - name);
    if (length == 0 || length >= sizeof help->stage) {
        return "";
    }
    if (length == 3 && strncmp(name, "ptx", 3) == 0) {
        return ptx_kind_of(&kind, slash + 1) ? kind.help : "";
    }
    load_stage(help, name, length);
    size_t index = help->space == NULL ? MAP_NONE : space_find(help->space, name);
    const char *text = index == MAP_NONE ? NULL : space_get(help->space, index)->help;
    return text == NULL ? "" : text;
}
