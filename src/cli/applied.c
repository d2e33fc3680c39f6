#include "cli/applied.h"

#include "compiler/compiler.h"
#include "ptx/ptx.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <string.h>

static const size_t PTX_LIMIT_BYTES = (size_t)1 << 28;

evocc_status applied_read(acf **out, const char *path, evocc_error *error)
{
    char *text = NULL;
    size_t length = 0;
    evocc_status status = file_read(&text, &length, path, ACF_SIZE_LIMIT, error);
    if (status == EVOCC_OK) {
        status = acf_read(out, text, length, path, error);
    }
    mem_free(text);
    return status;
}

evocc_status applied_objectives(objective_list *out, const acf *file, evocc_error *error)
{
    static const char key[] = "objectives: ";
    const char *line = file->found_extra == NULL ? NULL : strstr(file->found_extra, key);
    if (line == NULL || (line != file->found_extra && line[-1] != '\n')) {
        *out = (objective_list){0};
        return objective_list_add(out, "spill_bytes,code_bytes", false, error);
    }
    line += sizeof key - 1;
    char *copy = mem_strndup(line, strcspn(line, "\n"));
    evocc_status status =
        copy == NULL ? error_no_memory(error) : objective_list_parse(out, copy, error);
    mem_free(copy);
    return status;
}

static evocc_status find_version(applied *a, const char *ptxas, evocc_error *error)
{
    char *path = NULL;
    compiler_identity identity = {0};
    evocc_status status = compiler_find(&path, a->file->target.compiler, ptxas, error);
    if (status == EVOCC_OK) {
        status = compiler_ptxas.identify(&identity, NULL, path, error);
    }
    if (status == EVOCC_OK) {
        snprintf(a->version, sizeof a->version, "%s", identity.version);
    }
    compiler_identity_dispose(&identity);
    mem_free(path);
    return status;
}

static void put_difference(applied *a, const char *field, const char *now, const char *then)
{
    size_t used = strlen(a->differences);
    if (strcmp(now, then) != 0) {
        snprintf(a->differences + used, sizeof a->differences - used, "%s%s is %s, was %s",
                 used > 0 ? "; " : "", field, *now == '\0' ? "unknown" : now, then);
    }
}

/* Kernel, arch and options are taken from the file, so what may differ is the code and the
   compiler. */
static evocc_status compare(applied *a, const applied_options *o, evocc_error *error)
{
    ptx_module *module = NULL;
    char name[PTX_NAME_SIZE] = "";
    evocc_status status = file_read(&a->ptx, &a->ptx_length, o->input_path, PTX_LIMIT_BYTES, error);
    if (status == EVOCC_OK) {
        status = ptx_parse(&module, a->ptx, a->ptx_length, o->input_path, error);
    }
    if (status == EVOCC_OK) {
        ptx_normal_name(name, module);
        status = find_version(a, o->ptxas, error);
    }
    ptx_free(module);
    if (status != EVOCC_OK) {
        return status;
    }
    put_difference(a, "ptx", name, a->file->target.ptx);
    put_difference(a, "version", a->version, a->file->target.version);
    acf_target here = a->file->target;
    here.ptx = name;
    here.version = o->any_version ? a->file->target.version : a->version;
    return acf_match(a->file, &here, error);
}

static evocc_status make_candidate(applied *a, evocc_error *error)
{
    strbuf text = {0};
    for (size_t i = 0; i < a->file->control_count; i++) {
        strbuf_printf(&text, "%s%s=%s", i == 0 ? "" : " ", a->file->controls[i].full_name,
                      a->file->controls[i].value);
    }
    a->candidate = strbuf_take(&text);
    return a->candidate == NULL ? error_no_memory(error) : EVOCC_OK;
}

evocc_status applied_open(applied *out, const applied_options *options, evocc_error *error)
{
    *out = (applied){0};
    evocc_status status = applied_read(&out->file, options->acf_path, error);
    if (status == EVOCC_OK && strcmp(out->file->target.compiler, compiler_ptxas.name) != 0) {
        status = error_set(error, EVOCC_UNSUPPORTED,
                           "%s is for %s; only files for ptxas can be "
                           "looked at again",
                           options->acf_path, out->file->target.compiler);
    }
    if (status == EVOCC_OK) {
        status = compare(out, options, error);
    }
    if (status == EVOCC_OK) {
        status = make_candidate(out, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    const acf_target *target = &out->file->target;
    bool all = strcmp(target->kernel, ACF_ALL_KERNELS) == 0;
    const study_options o = {
        .input_path = options->input_path,
        .arch = target->arch,
        .kernel = all ? NULL : target->kernel,
        .whole_module = all,
        .base = target->base,
        .base_count = target->base_count,
        .objectives = *options->objectives,
        .workers = 1,
        .ptxas = options->ptxas,
        .allow_numerics = options->allow_numerics,
    };
    return study_preview(&out->study, &o, error);
}

void applied_dispose(applied *a)
{
    study_free(a->study);
    acf_free(a->file);
    mem_free(a->candidate);
    mem_free(a->ptx);
    *a = (applied){0};
}
