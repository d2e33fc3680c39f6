#include "evaluate/reproduce.h"

/* What makes the space of the study come about again. */
static void scope_words(strbuf *text, const evaluate_static_options *o)
{
    if (ptx_entry_count(o->module) > 1 && o->entry != NULL) {
        strbuf_puts(text, " --kernel ");
        strbuf_shell_word(text, o->entry);
    } else if (ptx_entry_count(o->module) > 1) {
        strbuf_puts(text, " --whole-module");
    }
}

static bool has_inexact_controls(const evocc_space *space)
{
    for (size_t i = 0; i < space_count(space); i++) {
        if (space_get(space, i)->numerics != SPACE_EXACT) {
            return true;
        }
    }
    return false;
}

char *reproduce_command(const evaluate_static_options *o, const int32_t *genes)
{
    strbuf candidate = {0};
    strbuf text = {0};
    space_candidate_text(&candidate, o->space, genes);
    if (o->reproduce != NULL) {
        strbuf_puts(&text, o->reproduce);
    } else {
        strbuf_puts(&text, "evocc compile ");
        strbuf_shell_word(&text, o->module_path);
        strbuf_puts(&text, " --arch ");
        strbuf_shell_word(&text, o->arch);
    }
    strbuf_puts(&text, " --ptxas ");
    strbuf_shell_word(&text, o->ptxas->path);
    if (o->reproduce == NULL) {
        scope_words(&text, o);
    }
    if (has_inexact_controls(o->space)) {
        strbuf_puts(&text, " --allow-numerics"); /* only then are such controls there */
    }
    if (candidate.length > 0) {
        strbuf_puts(&text, " --with ");
        strbuf_shell_word(&text, strbuf_text(&candidate));
    }
    strbuf_puts(&text, " -o trial.cubin");
    for (size_t i = 0; o->reproduce == NULL && i < o->base_count; i++) {
        strbuf_puts(&text, i == 0 ? " -- " : " ");
        strbuf_shell_word(&text, o->base[i]);
    }
    text.failed = text.failed || candidate.failed;
    strbuf_dispose(&candidate);
    return strbuf_take(&text);
}
