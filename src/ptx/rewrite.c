/*
 * rewrite.c: settings are handed to their passes, each of which edits the text the one before left.
 * Only what a pass changed is parsed again, and only when another pass follows.
 */
#include "ptx/checker.h"
#include "ptx/pass.h"

#include "util/error.h"
#include "util/map.h"

#include <string.h>

enum { NO_PASS = -1 };

/* A setting, understood. */
typedef struct step {
    int pass;
    const ptx_function *function; /* of the original */
    const char *site;
} step;

typedef struct rewriting {
    const ptx_module *original;
    const ptx_setting *settings;
    size_t count;
    bool checked;        /* each pass against the text before it */
    step *steps;         /* of each setting */
    ptx_choice *choices; /* room for as many */
    ptx_module *edited;  /* what the next pass works on; NULL: the original */
    ptx_edits edits;     /* of the last pass that changed anything; `text` is what they lead to */
    strbuf text;
    bool is_ahead; /* `text` is newer than `edited` */
} rewriting;

static const ptx_module *module_of(const rewriting *r)
{
    return r->edited != NULL ? r->edited : r->original;
}

/* ---- Settings -------------------------------------------------------------------------------- */

static evocc_status refuse_duplicates(const ptx_setting *settings, size_t count, evocc_error *error)
{
    map seen = {0};
    evocc_status status = EVOCC_OK;
    for (size_t i = 0; i < count && status == EVOCC_OK; i++) {
        size_t length = strlen(settings[i].name);
        if (map_get(&seen, settings[i].name, length) != MAP_NONE) {
            status = error_set(error, EVOCC_INVALID_ARGUMENT, "%s is set twice", settings[i].name);
        } else if (!map_put(&seen, settings[i].name, length, i)) {
            status = error_no_memory(error);
        }
    }
    map_dispose(&seen);
    return status;
}

static int find_pass(const char *name, size_t length)
{
    const ptx_pass *pass;
    for (size_t i = 0; (pass = ptx_pass_at(i)) != NULL; i++) {
        if (strlen(pass->name) == length && memcmp(name, pass->name, length) == 0) {
            return (int)i;
        }
    }
    return NO_PASS;
}

/* "pass@entry.site". Settings of one entry follow each other: `last` is tried first. */
static step understand(const ptx_module *module, const ptx_setting *setting, const step *last)
{
    step s = {.pass = NO_PASS};
    const char *at = strchr(setting->name, '@');
    if (at == NULL) {
        return s;
    }
    const char *entry = at + 1;
    size_t length = strcspn(entry, ".");
    bool same = last != NULL && ptx_span_length(last->function->name) == length &&
                memcmp(ptx_at(module, last->function->name), entry, length) == 0;
    s.function = same ? last->function : ptx_find_entry(module, entry, length);
    s.site = entry[length] == '.' ? entry + length + 1 : "";
    if (s.function != NULL && !(entry[length] == '.' && *s.site == '\0')) {
        s.pass = find_pass(setting->name, (size_t)(at - setting->name));
    }
    return s;
}

static evocc_status understand_all(rewriting *r, evocc_error *error)
{
    r->steps = mem_alloc(r->count + 1, sizeof *r->steps);
    r->choices = mem_alloc(r->count + 1, sizeof *r->choices);
    if (r->steps == NULL || r->choices == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < r->count; i++) {
        r->steps[i] = understand(r->original, &r->settings[i], i == 0 ? NULL : &r->steps[i - 1]);
        if (r->steps[i].pass == NO_PASS) {
            return ptx_no_site(r->original, &r->settings[i], error);
        }
    }
    return refuse_duplicates(r->settings, r->count, error);
}

/* The choices of one pass. No pass adds or drops functions: their numbers stay. */
static size_t choices_of(rewriting *r, int pass)
{
    size_t count = 0;
    const ptx_function *functions = module_of(r)->functions;
    for (size_t i = 0; i < r->count; i++) {
        const step *s = &r->steps[i];
        if (s->pass == pass) {
            r->choices[count++] =
                (ptx_choice){.setting = &r->settings[i],
                             .function = functions + (s->function - r->original->functions),
                             .site = s->site,
                             .original = r->original,
                             .original_function = s->function};
        }
    }
    return count;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* The text so far becomes the module that the next pass works on. */
static evocc_status advance(rewriting *r, evocc_error *error)
{
    ptx_module *next = NULL;
    const ptx_module *before = module_of(r);
    evocc_status status;
    if (!r->is_ahead) {
        return EVOCC_OK;
    }
    if (r->checked) { /* not by what the last pass says of itself */
        status = ptx_parse(&next, strbuf_text(&r->text), r->text.length, before->name, error);
        status = status == EVOCC_OK ? ptx_check(before, next, error) : status;
    } else {
        status = ptx_parse_edited(&next, before, &r->edits, &r->text, error);
    }
    if (status != EVOCC_OK) {
        ptx_free(next);
        return status;
    }
    ptx_free(r->edited);
    r->edited = next;
    r->is_ahead = false;
    return EVOCC_OK;
}

static evocc_status run_pass(rewriting *r, const ptx_pass *pass, size_t choices, evocc_error *error)
{
    const ptx_module *m = module_of(r);
    ptx_edits_dispose(&r->edits);
    strbuf_clear(&r->text);
    evocc_status status = pass->apply(&r->edits, m, r->choices, choices, error);
    if (status == EVOCC_OK && pass->min_version > m->version) {
        strbuf_printf(ptx_edits_begin(&r->edits), "%d.%d", pass->min_version / 10,
                      pass->min_version % 10);
        ptx_edits_finish(&r->edits, m->version_number);
    }
    if (status == EVOCC_OK) {
        status = ptx_edits_apply(&r->text, &r->edits, m, error);
    }
    r->is_ahead = status == EVOCC_OK && r->edits.count > 0;
    return status;
}

static evocc_status run_passes(rewriting *r, evocc_error *error)
{
    const ptx_pass *pass;
    evocc_status status = EVOCC_OK;
    for (int i = 0; status == EVOCC_OK && (pass = ptx_pass_at((size_t)i)) != NULL; i++) {
        if (choices_of(r, i) == 0) {
            continue;
        }
        status = advance(r, error);
        if (status == EVOCC_OK) {
            status = run_pass(r, pass, choices_of(r, i), error);
        }
    }
    return status == EVOCC_OK && r->checked ? advance(r, error) : status;
}

static evocc_status rewrite(strbuf *out, const ptx_module *module, const ptx_setting *settings,
                            size_t count, bool checked, evocc_error *error)
{
    rewriting r = {.original = module, .settings = settings, .count = count, .checked = checked};
    evocc_status status = understand_all(&r, error);
    if (status == EVOCC_OK) {
        status = run_passes(&r, error);
    }
    if (status == EVOCC_OK && r.is_ahead) {
        strbuf_append(out, r.text.data, r.text.length);
    } else if (status == EVOCC_OK) {
        ptx_print(out, module_of(&r));
    }
    if (status == EVOCC_OK && out->failed) {
        status = error_no_memory(error);
    }
    mem_free(r.steps);
    mem_free(r.choices);
    ptx_free(r.edited);
    ptx_edits_dispose(&r.edits);
    strbuf_dispose(&r.text);
    return status;
}

evocc_status ptx_rewrite(strbuf *out, const ptx_module *module, const ptx_setting *settings,
                         size_t count, evocc_error *error)
{
    return rewrite(out, module, settings, count, false, error);
}

evocc_status ptx_rewrite_checked(strbuf *out, const ptx_module *module, const ptx_setting *settings,
                                 size_t count, evocc_error *error)
{
    return rewrite(out, module, settings, count, true, error);
}
