#include "acf/acf.h"
#include "util/error.h"
#include "util/mem.h"

#include <string.h>

static evocc_status read_gene(int32_t *genes, const acf_control *control, const evocc_space *space,
                              bool allow_numerics, evocc_error *error)
{
    size_t index = space_find(space, control->full_name);
    if (index == (size_t)-1) {
        return error_set(error, EVOCC_NOT_FOUND, "control '%.400s' does not exist here",
                         control->full_name);
    }
    const space_control *known = space_get(space, index);
    if (known->numerics != SPACE_EXACT && !allow_numerics) {
        return error_set(error, EVOCC_REFUSED,
                         "control '%.400s' may change the results of the program: applied only "
                         "under --allow-numerics",
                         control->full_name);
    }
    return space_value_parse(&genes[index], known, control->value, error);
}

/* "best.acf:7:3: " before the message, where the control came from a file. */
static evocc_status name_place(const acf *file, const acf_control *control, evocc_status status,
                               evocc_error *error)
{
    if (file->name != NULL && control->line > 0) {
        error_prefix(error, "%s:%d:%d", file->name, control->line, control->column);
    }
    return status;
}

evocc_status acf_genes(int32_t *genes, const acf *file, const evocc_space *space,
                       bool allow_numerics, evocc_error *error)
{
    size_t count = space_count(space);
    int32_t *candidate = mem_alloc(count, sizeof *candidate);
    if (candidate == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        candidate[i] = SPACE_ABSENT;
    }
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < file->control_count; i++) {
        status = read_gene(candidate, &file->controls[i], space, allow_numerics, error);
        if (status != EVOCC_OK) {
            name_place(file, &file->controls[i], status, error);
        }
    }
    if (status == EVOCC_OK) {
        space_canonicalise(space, candidate);
        status = space_check(space, candidate, error);
    }
    if (status == EVOCC_OK) {
        memcpy(genes, candidate, count * sizeof *genes);
    }
    mem_free(candidate);
    return status;
}
