/* The public functions of include/evocc/evocc.h that speak of compilers but need no kernel. */
#include "compiler/compiler.h"

#include "util/error.h"
#include "util/mem.h"

#include <string.h>

/* Levels of optimisation change the results of some modules (setup.c of the study room asks the
   module at hand); here there is none to ask. */
static bool is_exact(const space_control *control, void *context)
{
    (void)context;
    return control->numerics == SPACE_EXACT &&
           (control->group == NULL || strcmp(control->group, "effort") != 0);
}

static evocc_status make_space(evocc_space **out, const compiler *c,
                               const compiler_identity *identity, const char *arch,
                               evocc_error *error)
{
    evocc_space *all = NULL;
    evocc_space *space = NULL;
    evocc_status status = c->make_space(&all, NULL, identity, arch, NULL, 0, error);
    if (status == EVOCC_OK) {
        status = space_new(&space, error);
    }
    if (status == EVOCC_OK) {
        status = space_add_all(space, all, is_exact, NULL, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(space, error);
    }
    space_free(all);
    if (status != EVOCC_OK) {
        space_free(space);
        return status;
    }
    *out = space;
    return EVOCC_OK;
}

evocc_status evocc_space_probe(evocc_space **out, const char *name, const char *path,
                               const char *arch, evocc_error *error)
{
    const compiler *c = compiler_by_name(name);
    compiler_identity identity = {0};
    char *found = NULL;
    *out = NULL;
    if (c == NULL) {
        return error_set(error, EVOCC_INVALID_ARGUMENT,
                         "no compiler that evocc knows is called '%s'", name);
    }
    evocc_status status = compiler_find(&found, name, path, error);
    if (status == EVOCC_OK) {
        status = c->identify(&identity, NULL, found, error);
    }
    if (status == EVOCC_OK) {
        arch = arch == NULL ? identity.default_arch : arch;
        status = compiler_accepts_arch(&identity, arch)
                     ? make_space(out, c, &identity, arch, error)
                     : error_set(error, EVOCC_INVALID_ARGUMENT,
                                 "%s (%s) does not know the architecture '%s'; it knows: %s",
                                 identity.path, identity.version, arch, identity.archs);
    }
    compiler_identity_dispose(&identity);
    mem_free(found);
    return status;
}

size_t evocc_candidate_arguments(char *out, size_t size, const evocc_space *space,
                                 const int32_t *genes, const char *name)
{
    const compiler *c = compiler_by_name(name);
    compiler_command command = {0};
    strbuf text = {0};
    if (c != NULL) {
        c->render(&command, space, genes);
        for (size_t i = 0; i < command.count; i++) {
            strbuf_printf(&text, "%s\n", command.argv[i]);
        }
    }
    bool failed = c == NULL || command.failed || text.failed;
    size_t length = failed ? (size_t)-1 : text.length;
    if (size > 0) {
        size_t copied = failed ? 0 : length < size ? length : size - 1;
        memcpy(out, strbuf_text(&text), copied);
        out[copied] = '\0';
    }
    compiler_command_dispose(&command);
    strbuf_dispose(&text);
    return length;
}
