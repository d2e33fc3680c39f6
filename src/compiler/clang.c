/*
 * clang.c: clang as a compiler of ours. Its help names options without their ranges, so the space
 * is written by hand (spaces/clang.yaml) and probed: what this clang rejects is left out. What was
 * rejected is cached under the compiler's identity, the user's own options and the space's text.
 */
#include "compiler/compiler.h"

#include "compiler/cache.h"
#include "compiler/driver.h"
#include "util/error.h"
#include "util/mem.h"

#include <string.h>

static const char cache_kind[] = "clang-probe";
static const char space_name[] = "clang";

static evocc_status identify(compiler_identity *out, launcher *l, const char *path,
                             evocc_error *error)
{
    return driver_identify(out, l, path, "clang", error);
}

static void render(compiler_command *command, const evocc_space *space, const int32_t *genes)
{
    driver_render(command, SPACE_STAGE_CLANG, space, genes);
}

static evocc_status read_stats(compiler_stats *out, const char *output, const char *errors,
                               evocc_error *error)
{
    (void)output;
    (void)errors;
    (void)error;
    *out = (compiler_stats){0}; /* clang tells nothing of the kind */
    return EVOCC_OK;
}

static uint64_t space_text_hash(void)
{
    size_t count = 0;
    const space_builtin *builtins = space_builtins(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(builtins[i].name, space_name) == 0) {
            return hash64(builtins[i].text, builtins[i].length, 0);
        }
    }
    return 0;
}

/* Names of rejected controls, one a line. */
static char *pack(const evocc_space *space, const bool *rejected)
{
    strbuf text = {0};
    strbuf_puts(&text, "");
    for (size_t i = 0; i < space_count(space); i++) {
        if (rejected[i]) {
            strbuf_printf(&text, "%s\n", space_get(space, i)->full_name);
        }
    }
    return strbuf_take(&text);
}

static bool unpack(bool *rejected, const evocc_space *space, char *text)
{
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end == NULL) {
            return false;
        }
        *end = '\0';
        size_t index = space_find(space, line);
        if (index == (size_t)-1) {
            return false;
        }
        rejected[index] = true;
        line = end + 1;
    }
    return true;
}

static evocc_status probe(bool *rejected, const evocc_space *space, launcher *l,
                          const compiler_identity *identity, char *const *base, size_t base_count,
                          evocc_error *error)
{
    launcher *own = NULL;
    evocc_status status = l != NULL ? EVOCC_OK : launcher_new(&own, error);
    if (status == EVOCC_OK) {
        status =
            driver_probe(rejected, space, l != NULL ? l : own, identity, base, base_count, error);
    }
    launcher_free(own);
    return status;
}

static evocc_status find_rejected(bool *rejected, const evocc_space *space, launcher *l,
                                  const compiler_identity *identity, char *const *base,
                                  size_t base_count, evocc_error *error)
{
    char *key = driver_cache_key(identity, base, base_count, space_text_hash());
    char *known = key != NULL ? cache_load(cache_kind, key) : NULL;
    evocc_status status = EVOCC_OK;
    if (known == NULL || !unpack(rejected, space, known)) {
        memset(rejected, 0, space_count(space) * sizeof *rejected);
        status = probe(rejected, space, l, identity, base, base_count, error);
        char *text = status == EVOCC_OK && key != NULL ? pack(space, rejected) : NULL;
        if (text != NULL) {
            cache_store(cache_kind, key, text);
        }
        mem_free(text);
    }
    mem_free(known);
    mem_free(key);
    return status;
}

typedef struct filter {
    const evocc_space *space;
    const compiler_identity *identity;
    const bool *rejected;
    char *const *base;
    size_t base_count;
} filter;

static bool keep(const space_control *control, void *context)
{
    const filter *f = context;
    size_t index = space_find(f->space, control->full_name);
    bool level = strcmp(control->name, "O") == 0;
    return control->off_because == NULL && !f->rejected[index] &&
           space_control_admits(control, f->identity->version, NULL) &&
           (level || !driver_is_in_base(control, f->base, f->base_count));
}

static evocc_status make_space(evocc_space **out, launcher *l, const compiler_identity *identity,
                               const char *arch, char *const *base, size_t base_count,
                               evocc_error *error)
{
    (void)arch; /* the target is the compiler's own */
    evocc_space *all = NULL;
    evocc_space *space = NULL;
    bool *rejected = NULL;
    evocc_status status = space_builtin_load(&all, space_name, error);
    if (status == EVOCC_OK) {
        rejected = mem_alloc(space_count(all) + 1, sizeof *rejected);
        status = rejected != NULL
                     ? find_rejected(rejected, all, l, identity, base, base_count, error)
                     : error_no_memory(error);
    }
    if (status == EVOCC_OK) {
        status = space_new(&space, error);
    }
    if (status == EVOCC_OK) {
        filter f = {all, identity, rejected, base, base_count};
        status = space_add_all(space, all, keep, &f, error);
    }
    if (status == EVOCC_OK) {
        *out = space;
        space = NULL;
    }
    space_free(space);
    space_free(all);
    mem_free(rejected);
    return status;
}

const compiler compiler_clang = {
    .name = "clang",
    .stage = SPACE_STAGE_CLANG,
    .identify = identify,
    .make_space = make_space,
    .render = render,
    .read_stats = read_stats,
    .read_command = driver_read_command,
};
