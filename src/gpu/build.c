#include "gpu/build.h"

#include "compiler/compiler.h"
#include "ptx/ptx.h"
#include "util/error.h"
#include "util/files.h"

#include <stdio.h>
#include <string.h>

enum { CUBIN_BYTES_MAX = 1 << 30, PTX_BYTES_MAX = 256 << 20 };
static const double COMPILE_S = 600;

/* The first line of what a compiler complained of, for one-line errors. */
static evocc_status failed(const char *program, const process_result *result, evocc_error *error)
{
    const char *text = result->errors != NULL && *result->errors != '\0' ? result->errors
                       : result->output != NULL                          ? result->output
                                                                         : "";
    size_t length = strcspn(text, "\n");
    switch (result->end) {
    case PROCESS_TIMED_OUT:
        return error_set(error, EVOCC_TIMEOUT, "'%s' did not end within %g s", program, COMPILE_S);
    case PROCESS_SIGNALLED:
        return error_set(error, EVOCC_PROCESS, "'%s' was killed by signal %d", program,
                         result->signal);
    case PROCESS_EXITED:
    case PROCESS_CANCELLED:
    case PROCESS_NOT_STARTED:
        break;
    }
    return error_set(error, EVOCC_PROCESS, "'%s': %.*s", program,
                     (int)(length < 800 ? length : 800),
                     *text != '\0' ? text : "failed without a word");
}

static evocc_status run(compiler_command *command, launcher *l, evocc_error *error)
{
    process_result result = {0};
    if (command->failed) {
        return error_no_memory(error);
    }
    const process_request request = {.argv = (const char *const *)command->argv,
                                     .folder = launcher_folder(l),
                                     .deadline_s = COMPILE_S};
    evocc_status status = launcher_run(l, &result, &request, error);
    if (status == EVOCC_OK && (result.end != PROCESS_EXITED || result.exit_status != 0)) {
        status = failed(command->argv[0], &result, error);
    }
    process_result_dispose(&result);
    return status;
}

static void add_arch(compiler_command *command, const char *arch)
{
    char word[64];
    if (*arch != '\0') {
        snprintf(word, sizeof word, "-arch=%.48s", arch);
        compiler_command_add(command, word);
    }
}

/* What the PTX itself is for, where the workload does not say; "" where it cannot be read: ptxas
   will say why. */
static void find_arch(char out[64], const workload *w, const char *ptx)
{
    char *text = NULL;
    size_t length;
    ptx_module *module = NULL;
    const char *arch = workload_get_module(w)->arch;
    if (*arch == '\0' && file_read(&text, &length, ptx, PTX_BYTES_MAX, NULL) == EVOCC_OK &&
        ptx_parse(&module, text, length, ptx, NULL) == EVOCC_OK) {
        arch = ptx_target(module);
    }
    snprintf(out, 64, "%.60s", arch);
    ptx_free(module);
    mem_free(text);
}

static void add_all(compiler_command *command, const char *const *words)
{
    for (; *words != NULL; words++) {
        compiler_command_add(command, *words);
    }
}

static void add_defines(compiler_command *command, const workload *w, const int64_t *values)
{
    char word[120];
    for (size_t i = 0; i < workload_parameter_count(w); i++) {
        const workload_parameter *p = workload_get_parameter(w, i);
        long long value = (long long)(values != NULL ? values[i] : p->values[p->default_index]);
        snprintf(word, sizeof word, "-D%s=%lld", p->name, value);
        compiler_command_add(command, word);
    }
}

static void put_nvcc(compiler_command *command, const char *nvcc, const workload *w,
                     const int64_t *values, const char *output)
{
    const workload_module *m = workload_get_module(w);
    compiler_command_add(command, nvcc);
    compiler_command_add(command, "-ptx");
    add_arch(command, m->arch);
    add_all(command, m->nvcc);
    add_defines(command, w, values);
    compiler_command_add(command, m->path);
    compiler_command_add(command, "-o");
    compiler_command_add(command, output);
}

evocc_status gpu_build_ptx(char **out, const workload *w, const int64_t *values, launcher *l,
                           evocc_error *error)
{
    const workload_module *m = workload_get_module(w);
    char *nvcc = NULL;
    if (m->is_ptx) {
        *out = mem_strdup(m->path);
        return *out != NULL ? EVOCC_OK : error_no_memory(error);
    }
    compiler_command command = {0};
    char *ptx = path_join(launcher_folder(l), "module.ptx");
    evocc_status status =
        ptx != NULL ? compiler_find(&nvcc, "nvcc", NULL, error) : error_no_memory(error);
    if (status == EVOCC_OK) {
        put_nvcc(&command, nvcc, w, values, ptx);
        status = run(&command, l, error);
    }
    if (status == EVOCC_OK) {
        *out = ptx;
        ptx = NULL;
    }
    compiler_command_dispose(&command);
    mem_free(nvcc);
    mem_free(ptx);
    return status;
}

static char *variant_path(const launcher *l, uint64_t index)
{
    char name[40];
    snprintf(name, sizeof name, "variant-%llu.ptx", (unsigned long long)index);
    return path_join(launcher_folder(l), name);
}

static evocc_status begin_variant(const gpu_variant *v, uint64_t index, const workload *w,
                                  const char *nvcc, launcher *l, evocc_error *error)
{
    compiler_command command = {0};
    char *output = variant_path(l, index);
    evocc_status status = output != NULL ? EVOCC_OK : error_no_memory(error);
    if (status == EVOCC_OK) {
        put_nvcc(&command, nvcc, w, v->values, output);
        status = command.failed ? error_no_memory(error) : EVOCC_OK;
    }
    if (status == EVOCC_OK) {
        const process_request request = {.argv = (const char *const *)command.argv,
                                         .folder = launcher_folder(l),
                                         .deadline_s = COMPILE_S};
        status = launcher_submit(l, index, &request, error);
    }
    compiler_command_dispose(&command);
    mem_free(output);
    return status;
}

/* Source that does not compile is the variant's own affair. */
static evocc_status end_variant(gpu_variant *v, uint64_t index, const char *nvcc, launcher *l,
                                const process_result *result, evocc_error *error)
{
    evocc_error why = {0};
    char *output = variant_path(l, index);
    evocc_status status = output != NULL ? EVOCC_OK : error_no_memory(error);
    if (status == EVOCC_OK && (result->end != PROCESS_EXITED || result->exit_status != 0)) {
        (void)failed(nvcc, result, &why);
        v->why = mem_strdup(why.message);
        status = v->why != NULL ? EVOCC_OK : error_no_memory(error);
    } else if (status == EVOCC_OK) {
        status = file_read(&v->text, &v->length, output, PTX_BYTES_MAX, error);
    }
    mem_free(output);
    return status;
}

evocc_status gpu_build_variants(gpu_variant *variants, size_t count, const workload *w, launcher *l,
                                size_t workers, int wake_fd, evocc_error *error)
{
    char *nvcc = NULL;
    evocc_status status = compiler_find(&nvcc, "nvcc", NULL, error);
    if (status == EVOCC_OK) {
        status = launcher_limit(l, workers, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < count; i++) {
        status = begin_variant(&variants[i], i, w, nvcc, l, error);
    }
    for (size_t done = 0; status == EVOCC_OK && done < count; done++) {
        uint64_t index;
        process_result result = {0};
        status = launcher_wait(l, -1, wake_fd, &index, &result, error);
        if (status == EVOCC_OK) {
            status = end_variant(&variants[index], index, nvcc, l, &result, error);
        }
        process_result_dispose(&result);
    }
    mem_free(nvcc);
    return status;
}

static void put_ptxas(compiler_command *command, const char *ptxas, const char *evocc,
                      const char *acf)
{
    compiler_command_add(command, acf != NULL ? evocc : ptxas);
    if (acf != NULL) {
        compiler_command_add(command, "ptxas");
        compiler_command_add(command, "--apply-controls");
        compiler_command_add(command, acf);
        compiler_command_add(command, "--on-mismatch=error");
    }
}

evocc_status gpu_build_cubin(char **out, size_t *length, const workload *w, launcher *l,
                             const char *ptx, const char *evocc, const char *acf,
                             evocc_error *error)
{
    char *ptxas = NULL;
    char arch[64];
    compiler_command command = {0};
    char *cubin = path_join(launcher_folder(l), acf != NULL ? "tuned.cubin" : "baseline.cubin");
    evocc_status status =
        cubin != NULL ? compiler_find(&ptxas, "ptxas", NULL, error) : error_no_memory(error);
    if (status == EVOCC_OK) {
        find_arch(arch, w, ptx);
        put_ptxas(&command, ptxas, evocc, acf);
        add_arch(&command, arch);
        add_all(&command, workload_get_module(w)->ptxas);
        compiler_command_add(&command, ptx);
        compiler_command_add(&command, "-o");
        compiler_command_add(&command, cubin);
        status = run(&command, l, error);
    }
    if (status == EVOCC_OK) {
        status = file_read(out, length, cubin, CUBIN_BYTES_MAX, error);
    }
    compiler_command_dispose(&command);
    mem_free(ptxas);
    mem_free(cubin);
    return status;
}
