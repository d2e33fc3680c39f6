/*
 * The compiler room: what each compiler is, how it is found, told and read.
 *
 *   compiler.c        the list of compilers, finding the real one, the small types
 *   ptxas.c           the ptxas vtable and how its controls are rendered
 *   ptxas_options.c   its command line, option by option
 *   ptxas_stats.c     what `ptxas -v` prints
 *   ptxas_identity.c  version, targets, newest PTX
 *   ptxas_probe.c     the built-in space less what the ptxas at hand rejects
 *   gcc.c             the gcc vtable; its controls out of its own help
 *   gcc_help.c        what `gcc --help=...` lists
 *   gcc_lines.c       its controls as the cache keeps them
 *   gcc_table.c       what an option of gcc may do to a program
 *   clang.c           the clang vtable
 *   driver.c          what gcc and clang share; driver_command.c reads their command lines
 *   probe.c           which controls of a space a compiler rejects
 *   cache.c           what was learned about a compiler, kept in the user's cache folder
 *   cubin.c           the machine code of a compilation
 *
 * May use util, space, ptx, acf; knows nothing of searching, studies or measuring. A new compiler
 * is one file with a vtable and one row of the table below.
 */
#include "compiler/compiler.h"

#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const compiler *const compilers[] = {&compiler_ptxas, &compiler_gcc, &compiler_clang};

const compiler *compiler_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        if (strcmp(compilers[i]->name, name) == 0) {
            return compilers[i];
        }
    }
    return NULL;
}

/* ---- Finding the real one ---------------------------------------------------------------- */

/* "EVOCC_REAL_PTXAS" */
static void variable_name(strbuf *out, const char *name)
{
    strbuf_puts(out, "EVOCC_REAL_");
    for (; *name != '\0'; name++) {
        strbuf_putc(out, isalnum((unsigned char)*name) ? (char)toupper((unsigned char)*name) : '_');
    }
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Absolute, but with its last name as it is: some compilers act by the name they are called by. */
static evocc_status make_absolute(char **out, const char *path, evocc_error *error)
{
    if (path[0] == '/') {
        *out = mem_strdup(path);
        return *out != NULL ? EVOCC_OK : error_no_memory(error);
    }
    char *here = getcwd(NULL, 0);
    if (here == NULL) {
        return error_set(error, EVOCC_IO, "'%s' is relative to a folder that is gone", path);
    }
    *out = path_join(here, path);
    free(here);
    return *out != NULL ? EVOCC_OK : error_no_memory(error);
}

static bool is_ourselves(const file_identity *self, const char *path)
{
    file_identity there = {0};
    if (self->path == NULL || file_identify(&there, path, NULL) != EVOCC_OK) {
        return false;
    }
    bool same = there.device == self->device && there.inode == self->inode;
    mem_free(there.path);
    return same;
}

/* A path that a person named: it must be a program, and not the wrapper that asks. */
static evocc_status take_named(char **out, const file_identity *self, const char *path,
                               const char *who, evocc_error *error)
{
    if (!file_is_executable(path)) {
        return error_set(error, EVOCC_NOT_FOUND,
                         "%s names '%s', which is not a program that can be run; correct the path",
                         who, path);
    }
    if (is_ourselves(self, path)) {
        return error_set(error, EVOCC_REFUSED,
                         "%s names '%s', which is evocc itself; name the real compiler", who, path);
    }
    return make_absolute(out, path, error);
}

/* NULL when CUDA_HOME is unset or has no such program. */
static char *find_in_cuda_home(const file_identity *self, const char *name)
{
    const char *home = variable("CUDA_HOME");
    char *folder = home != NULL ? path_join(home, "bin") : NULL;
    char *path = folder != NULL ? path_join(folder, name) : NULL;
    mem_free(folder);
    if (path != NULL && file_is_executable(path) && !is_ourselves(self, path)) {
        return path;
    }
    mem_free(path);
    return NULL;
}

static evocc_status not_found(const char *name, const char *real, evocc_error *error)
{
    const char *home = variable("CUDA_HOME");
    const char *folders = variable("PATH");
    bool cuda = strcmp(name, "ptxas") == 0 || strcmp(name, "nvcc") == 0;
    return error_set(
        error, EVOCC_NOT_FOUND,
        "no %s found: %s is not set, %s%s%s, and no folder of PATH (%s) has one; %s, or name it "
        "with --%s PATH or %s=PATH",
        name, real, home != NULL ? "CUDA_HOME=" : "CUDA_HOME is not set", home != NULL ? home : "",
        home != NULL ? " has none in bin/" : "", folders != NULL ? folders : "unset",
        cuda ? "`pip install nvidia-cuda-nvcc` brings one" : "install it", name, real);
}

static evocc_status find_real(char **out, const file_identity *self, const char *name,
                              const char *real, const char *given, evocc_error *error)
{
    if (given != NULL && given[0] != '\0') {
        strbuf who = {0};
        strbuf_printf(&who, "--%s", name);
        evocc_status status = take_named(out, self, given, strbuf_text(&who), error);
        strbuf_dispose(&who);
        return status;
    }
    if (variable(real) != NULL) {
        return take_named(out, self, variable(real), real, error);
    }
    char *found = find_in_cuda_home(self, name);
    if (found == NULL) {
        evocc_status status = program_find(&found, name, self->path != NULL ? self : NULL, error);
        if (status != EVOCC_OK) {
            return status == EVOCC_NOT_FOUND ? not_found(name, real, error) : status;
        }
    }
    evocc_status status = make_absolute(out, found, error);
    mem_free(found);
    return status;
}

evocc_status compiler_find(char **out, const char *name, const char *given, evocc_error *error)
{
    strbuf real = {0};
    file_identity self = {0};
    char *own = NULL;
    variable_name(&real, name);
    if (program_self(&own, NULL) == EVOCC_OK) {
        (void)file_identify(&self, own, NULL);
    }
    evocc_status status = real.failed
                              ? error_no_memory(error)
                              : find_real(out, &self, name, strbuf_text(&real), given, error);
    mem_free(own);
    mem_free(self.path);
    strbuf_dispose(&real);
    return status;
}

/* ---- Small types ------------------------------------------------------------------------- */

void compiler_identity_dispose(compiler_identity *identity)
{
    if (identity == NULL) {
        return;
    }
    mem_free(identity->path);
    mem_free(identity->version);
    mem_free(identity->version_text);
    mem_free(identity->archs);
    mem_free(identity->default_arch);
    *identity = (compiler_identity){0};
}

bool compiler_accepts_arch(const compiler_identity *identity, const char *arch)
{
    size_t length = strlen(arch);
    if (identity->archs == NULL || identity->archs[0] == '\0') {
        return true;
    }
    for (const char *at = identity->archs; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, arch, length) == 0) {
            return true;
        }
        at += word + strspn(at + word, " ");
    }
    return false;
}

void compiler_stats_dispose(compiler_stats *stats)
{
    if (stats == NULL) {
        return;
    }
    for (size_t i = 0; i < stats->count; i++) {
        mem_free(stats->entries[i].entry);
    }
    mem_free(stats->entries);
    *stats = (compiler_stats){0};
}

const compiler_entry_stats *compiler_stats_find(const compiler_stats *stats, const char *entry)
{
    for (size_t i = 0; i < stats->count; i++) {
        if (!stats->entries[i].is_function && strcmp(stats->entries[i].entry, entry) == 0) {
            return &stats->entries[i];
        }
    }
    return NULL;
}

void compiler_command_add(compiler_command *command, const char *word)
{
    char *copy = command->failed ? NULL : mem_strdup(word);
    if (copy == NULL ||
        !mem_grow(&command->argv, &command->capacity, command->count + 2, sizeof *command->argv)) {
        mem_free(copy);
        command->failed = true;
        return;
    }
    command->argv[command->count++] = copy;
    command->argv[command->count] = NULL;
}

void compiler_command_dispose(compiler_command *command)
{
    if (command == NULL) {
        return;
    }
    for (size_t i = 0; i < command->count; i++) {
        mem_free(command->argv[i]);
    }
    mem_free(command->argv);
    *command = (compiler_command){0};
}

void compiler_command_text(strbuf *out, const compiler_command *command)
{
    for (size_t i = 0; i < command->count; i++) {
        if (i > 0) {
            strbuf_putc(out, ' ');
        }
        strbuf_shell_word(out, command->argv[i]);
    }
}

void compiler_invocation_dispose(compiler_invocation *invocation)
{
    if (invocation == NULL) {
        return;
    }
    for (size_t i = 0; i < invocation->base_count; i++) {
        mem_free(invocation->base[i]);
    }
    mem_free(invocation->base);
    mem_free(invocation->arch);
    *invocation = (compiler_invocation){0};
}
