#include "cli/wrapper_parts.h"
#include "ptx/ptx.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <string.h>
#include <sys/stat.h>

/* Far beyond what ptxas compiles in a day (2.3 MB of one entry take it a minute). */
static const size_t PTX_LIMIT_BYTES = (size_t)1 << 28;

void wrapper_plan_dispose(wrapper_plan *plan)
{
    compiler_invocation_dispose(&plan->invocation);
    strbuf_dispose(&plan->ptx);
    compiler_command_dispose(&plan->rendered);
}

/* A pipe can be read only once, and the original command may still need it. */
static evocc_status read_input(char **text, size_t *length, const char *path, evocc_error *error)
{
    struct stat status_of;
    if (stat(path, &status_of) == 0 && !S_ISREG(status_of.st_mode)) {
        return error_set(error, EVOCC_UNSUPPORTED, "'%s' is not a regular file", path);
    }
    return file_read(text, length, path, PTX_LIMIT_BYTES, error);
}

/* The controls of the entry that was tuned, or of all. */
static evocc_status add_entries(evocc_space *space, const ptx_module *module, const char *kernel,
                                const ptx_limits *limits, evocc_error *error)
{
    if (strcmp(kernel, ACF_ALL_KERNELS) != 0) {
        return ptx_add_controls(space, module, kernel, limits, error);
    }
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < ptx_entry_count(module); i++) {
        status = ptx_add_controls(space, module, ptx_entry_name(module, i), limits, error);
    }
    return status;
}

/* Whether the file has a control of this kind, "ptx/order@fa.b4" for "order". */
static bool names_kind(const void *context, const char *kind)
{
    static const char stage[] = "ptx/";
    const acf *file = context;
    size_t length = strlen(kind);
    for (size_t i = 0; i < file->control_count; i++) {
        const char *name = file->controls[i].full_name;
        if (strncmp(name, stage, sizeof stage - 1) == 0) {
            name += sizeof stage - 1;
            if (strncmp(name, kind, length) == 0 && name[length] == '@') {
                return true;
            }
        }
    }
    return false;
}

/* The compiler's own controls and those of this very PTX, of the kinds that the file names. No
   probing: what this compiler rejects makes the tuned compilation fail, and then the original
   command runs. */
static evocc_status make_space(evocc_space **out, const ptx_module *module, const acf *file,
                               int max_ptx_version, evocc_error *error)
{
    /* Numerics are listed here so that acf_genes refuses them by their own reason. */
    const ptx_limits limits = {.max_version = max_ptx_version,
                               .allow_numerics = true,
                               .wants = names_kind,
                               .context = file};
    evocc_space *space = NULL;
    evocc_status status = space_builtin_load(&space, file->target.compiler, error);
    if (status == EVOCC_OK) {
        status = add_entries(space, module, file->target.kernel, &limits, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(space, error);
    }
    if (status == EVOCC_OK) {
        *out = space;
    } else {
        space_free(space);
    }
    return status;
}

/* Texts come from the space, never from the file. They live in `memory`. */
static evocc_status rewrite(strbuf *out, const ptx_module *module, const evocc_space *space,
                            const int32_t *genes, arena *memory, evocc_error *error)
{
    size_t count = 0;
    ptx_setting *settings = arena_alloc(memory, space_count(space), sizeof *settings);
    strbuf value = {0};
    bool failed = settings == NULL;
    for (size_t i = 0; !failed && i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        if (genes[i] == SPACE_ABSENT || control->stage != SPACE_STAGE_PTX) {
            continue;
        }
        strbuf_clear(&value);
        space_value_text(&value, control, genes[i]);
        settings[count].name = control->name;
        settings[count].value = arena_strdup(memory, strbuf_text(&value));
        failed = value.failed || settings[count].value == NULL;
        count++;
    }
    strbuf_dispose(&value);
    return failed ? error_no_memory(error) : ptx_rewrite(out, module, settings, count, error);
}

static evocc_status apply(wrapper_plan *plan, const compiler *which, const ptx_module *module,
                          const evocc_space *space, const acf *file, bool allow_numerics,
                          evocc_error *error)
{
    arena memory = {0};
    int32_t *genes = arena_alloc(&memory, space_count(space), sizeof *genes);
    evocc_status status = genes == NULL ? error_no_memory(error)
                                        : acf_genes(genes, file, space, allow_numerics, error);
    if (status == EVOCC_OK) {
        status = rewrite(&plan->ptx, module, space, genes, &memory, error);
    }
    if (status == EVOCC_OK) {
        which->render(&plan->rendered, space, genes);
        status = plan->rendered.failed ? error_no_memory(error) : EVOCC_OK;
    }
    arena_dispose(&memory);
    return status;
}

static evocc_status make(wrapper_plan *plan, const compiler *which,
                         const compiler_identity *identity, const acf *file, bool allow_numerics,
                         evocc_error *error)
{
    const compiler_invocation *invocation = &plan->invocation;
    bool default_arch = invocation->arch[0] == '\0';
    char name[PTX_NAME_SIZE];
    acf_target here = {
        .compiler = which->name,
        .version = identity->version,
        .arch = default_arch ? identity->default_arch : invocation->arch,
        .base = (const char *const *)invocation->base,
        .base_count = invocation->base_count,
        .ptx = file->target.ptx,
    };
    /* As if the PTX were the right one: what differs already is found before anything is read. */
    evocc_status status = acf_match(file, &here, error);
    char *text = NULL;
    size_t length = 0;
    ptx_module *module = NULL;
    evocc_space *space = NULL;
    if (status == EVOCC_OK) {
        status = read_input(&text, &length, invocation->input, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_name_text(name, text, length, invocation->input, error);
    }
    if (status == EVOCC_OK) {
        here.ptx = name;
        status = acf_match(file, &here, error);
    }
    if (status == EVOCC_OK) {
        status = ptx_parse(&module, text, length, invocation->input, error);
    }
    if (status == EVOCC_OK) {
        status = make_space(&space, module, file, identity->max_ptx_version, error);
    }
    if (status == EVOCC_OK) {
        status = apply(plan, which, module, space, file, allow_numerics, error);
    }
    space_free(space);
    ptx_free(module);
    mem_free(text);
    return status;
}

evocc_status wrapper_plan_make(wrapper_plan *out, const compiler *which, const char *real,
                               const wrapper_words *words, const acf *file, evocc_error *error)
{
    compiler_identity identity = {0};
    *out = (wrapper_plan){0};
    evocc_status status =
        which->read_command(&out->invocation, (int)words->rest_count, words->rest, error);
    if (status == EVOCC_OK && !out->invocation.understood) {
        status = error_set(error, EVOCC_UNSUPPORTED, "%s", out->invocation.why_not);
    }
    if (status == EVOCC_OK) {
        /* From the cache in all but the first call; only that one starts a helper. */
        status = which->identify(&identity, NULL, real, error);
    }
    if (status == EVOCC_OK) {
        status = make(out, which, &identity, file, words->allow_numerics, error);
    }
    compiler_identity_dispose(&identity);
    return status;
}
