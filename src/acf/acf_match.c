#include "acf/acf.h"
#include "util/error.h"

#include <string.h>

static evocc_status differs(const char *field, const char *file, const char *here,
                            evocc_error *error)
{
    return error_set(error, EVOCC_MISMATCH, "%s: the file is for '%.400s', this is '%.400s'", field,
                     file, here);
}

static bool is_known(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static size_t count_of(const acf_target *target, const char *word)
{
    size_t count = 0;
    for (size_t i = 0; i < target->base_count; i++) {
        count += strcmp(target->base[i], word) == 0;
    }
    return count;
}

/* The order of canonical options says nothing: compared as multisets. */
static bool same_base(const acf_target *file, const acf_target *here)
{
    bool same = file->base_count == here->base_count;
    for (size_t i = 0; same && i < file->base_count; i++) {
        same = count_of(file, file->base[i]) == count_of(here, file->base[i]);
    }
    return same;
}

static void put_base(strbuf *out, const acf_target *target)
{
    for (size_t i = 0; i < target->base_count; i++) {
        strbuf_puts(out, i == 0 ? "" : " ");
        strbuf_shell_word(out, target->base[i]);
    }
}

static evocc_status base_differs(const acf_target *file, const acf_target *here, evocc_error *error)
{
    strbuf theirs = {0};
    strbuf ours = {0};
    put_base(&theirs, file);
    put_base(&ours, here);
    differs("base options", strbuf_text(&theirs), strbuf_text(&ours), error);
    strbuf_dispose(&theirs);
    strbuf_dispose(&ours);
    return EVOCC_MISMATCH;
}

evocc_status acf_match(const acf *file, const acf_target *here, evocc_error *error)
{
    const acf_target *target = &file->target;
    const struct {
        const char *field, *file, *here;
        bool optional; /* NULL in `here` stands for any */
    } fields[] = {
        {"compiler", target->compiler, here->compiler, false},
        {"version", target->version, here->version, false},
        {"arch", target->arch, here->arch, false},
        {"kernel", target->kernel, here->kernel, true},
        {"ptx", target->ptx, here->ptx, false},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].optional && fields[i].here == NULL) {
            continue;
        }
        if (fields[i].file == target->ptx && acf_is_for_host(target->compiler)) {
            continue; /* as the compilers agree, neither has one */
        }
        if (!is_known(fields[i].here) || !is_known(fields[i].file)) {
            return error_set(error, EVOCC_MISMATCH,
                             "%s: it is unknown %s, and unknown "
                             "matches nothing",
                             fields[i].field, is_known(fields[i].file) ? "here" : "in the file");
        }
        if (strcmp(fields[i].file, fields[i].here) != 0) {
            return differs(fields[i].field, fields[i].file, fields[i].here, error);
        }
    }
    return same_base(target, here) ? EVOCC_OK : base_differs(target, here, error);
}
