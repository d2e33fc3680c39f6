/* wrapper_host.c: the tuned command of gcc and clang: the user's own with words behind it. */
#include "cli/wrapper_parts.h"

#include "util/error.h"
#include "util/mem.h"

#include <string.h>

/* The canonical options as words again: "-mllvm -x=1" is two. */
static evocc_status split_base(compiler_command *out, const compiler_invocation *invocation,
                               evocc_error *error)
{
    for (size_t i = 0; i < invocation->base_count; i++) {
        const char *word = invocation->base[i];
        const char *blank = strchr(word, ' ');
        char *first = blank != NULL ? mem_strndup(word, (size_t)(blank - word)) : NULL;
        out->failed = out->failed || (blank != NULL && first == NULL);
        compiler_command_add(out, first != NULL ? first : word);
        if (blank != NULL) {
            compiler_command_add(out, blank + 1);
        }
        mem_free(first);
    }
    return out->failed ? error_no_memory(error) : EVOCC_OK;
}

/* Appends the words of the file's controls. They come from the space, never from the file. */
static evocc_status render(compiler_command *out, const compiler *which, evocc_space *space,
                           const acf *file, bool allow_numerics, evocc_error *error)
{
    evocc_status status = space_finish(space, error);
    int32_t *genes = status == EVOCC_OK ? mem_alloc(space_count(space) + 1, sizeof *genes) : NULL;
    if (status == EVOCC_OK && genes == NULL) {
        status = error_no_memory(error);
    }
    if (status == EVOCC_OK) {
        status = acf_genes(genes, file, space, allow_numerics, error);
    }
    if (status == EVOCC_OK) {
        which->render(out, space, genes);
        status = out->failed ? error_no_memory(error) : EVOCC_OK;
    }
    mem_free(genes);
    return status;
}

static evocc_status append_controls(compiler_command *out, const compiler *which,
                                    const compiler_identity *identity,
                                    const compiler_invocation *invocation, const acf *file,
                                    bool allow_numerics, evocc_error *error)
{
    const acf_target here = {
        .compiler = which->name,
        .version = identity->version,
        .arch = identity->default_arch,
        .base = (const char *const *)invocation->base,
        .base_count = invocation->base_count,
    };
    compiler_command base = {0};
    evocc_space *space = NULL;
    evocc_status status = acf_match(file, &here, error);
    if (status == EVOCC_OK) {
        status = split_base(&base, invocation, error);
    }
    if (status == EVOCC_OK) {
        status = which->make_space(&space, NULL, identity, identity->default_arch, base.argv,
                                   base.count, error);
    }
    if (status == EVOCC_OK) {
        status = render(out, which, space, file, allow_numerics, error);
    }
    space_free(space);
    compiler_command_dispose(&base);
    return status;
}

evocc_status wrapper_host_command(compiler_command *out, compiler_invocation *invocation,
                                  const compiler *which, const char *real,
                                  const wrapper_words *words, const acf *file, evocc_error *error)
{
    compiler_identity identity = {0};
    evocc_status status =
        which->read_command(invocation, (int)words->rest_count, words->rest, error);
    if (status == EVOCC_OK && !invocation->understood) {
        status = error_set(error, EVOCC_UNSUPPORTED, "%s", invocation->why_not);
    }
    if (status == EVOCC_OK) {
        status = which->identify(&identity, NULL, real, error);
    }
    if (status == EVOCC_OK) {
        compiler_command_add(out, real);
        for (size_t i = 0; i < words->rest_count; i++) {
            compiler_command_add(out, words->rest[i]);
        }
        status =
            append_controls(out, which, &identity, invocation, file, words->allow_numerics, error);
    }
    compiler_identity_dispose(&identity);
    return status;
}
