/* The files of spaces/, compiled in by cmake/embed.cmake, which writes the table builtin_table. */
#include "space/internal.h"

#include "util/error.h"

#include <string.h>

extern const space_builtin builtin_table[];
extern const size_t builtin_table_count;

const space_builtin *space_builtins(size_t *count)
{
    *count = builtin_table_count;
    return builtin_table;
}

evocc_status space_builtin_load(evocc_space **out, const char *name, evocc_error *error)
{
    *out = NULL;
    for (size_t i = 0; i < builtin_table_count; i++) {
        const space_builtin *builtin = &builtin_table[i];
        if (strcmp(builtin->name, name) == 0) {
            strbuf path = {0};
            strbuf_printf(&path, "%s.yaml", name);
            evocc_status status = path.failed ? error_no_memory(error)
                                              : space_parse(out, builtin->text, builtin->length,
                                                            strbuf_text(&path), error);
            strbuf_dispose(&path);
            return status;
        }
    }
    strbuf names = {0};
    for (size_t i = 0; i < builtin_table_count; i++) {
        strbuf_printf(&names, " %s", builtin_table[i].name);
    }
    evocc_status status =
        error_set(error, EVOCC_NOT_FOUND, "there is no built-in space '%.80s'; there are:%s", name,
                  strbuf_text(&names));
    strbuf_dispose(&names);
    return status;
}
