/*
 * gcc.c: gcc as a compiler of ours. Its controls are read from its own help, whatever the version:
 *
 *     gcc --help=optimizers --help=params --help=target         names, domains, what they do
 *     gcc BASE -O<level> -Q --help=...                           the values each level gives them
 *
 * gcc_table.c says what an option may do to a program. What is left is probed, and the result is
 * kept in the user's cache, one control a line, under the compiler's identity and the user's own
 * options.
 */
#include "compiler/compiler.h"

#include "compiler/cache.h"
#include "compiler/driver.h"
#include "compiler/gcc_help.h"
#include "compiler/gcc_lines.h"
#include "compiler/gcc_table.h"
#include "compiler/runs.h"
#include "util/error.h"
#include "util/files.h"
#include "util/map.h"
#include "util/mem.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char cache_kind[] = "gcc-space";
/* Of this file's rules and the lines in the cache: another number, another question. */
enum { RULES = 1 };
static const double deadline_s = 60.0;

/* -O0 is left out, as most options do nothing there, and -Ofast, which changes results. */
static const char *const levels[] = {"1", "2", "3", "s", "z"};
enum { LEVEL_COUNT = 5, RUN_COUNT = LEVEL_COUNT + 1 };

static evocc_status identify(compiler_identity *out, launcher *l, const char *path,
                             evocc_error *error)
{
    return driver_identify(out, l, path, "gcc", error);
}

static void render(compiler_command *command, const evocc_space *space, const int32_t *genes)
{
    driver_render(command, SPACE_STAGE_GCC, space, genes);
}

static evocc_status read_stats(compiler_stats *out, const char *output, const char *errors,
                               evocc_error *error)
{
    (void)output;
    (void)errors;
    (void)error;
    *out = (compiler_stats){0}; /* gcc tells nothing of the kind */
    return EVOCC_OK;
}

/* ---- What an option is at each level ------------------------------------------------------- */

typedef struct option_values {
    const char *name;
    const char *at[LEVEL_COUNT]; /* "[enabled]", "16"; NULL: this level does not list it */
} option_values;

typedef struct listing {
    arena texts;
    option_values *options;
    size_t count, capacity;
    map by_name;
} listing;

static void listing_dispose(listing *l)
{
    mem_free(l->options);
    map_dispose(&l->by_name);
    arena_dispose(&l->texts);
}

static option_values *listing_entry(listing *l, const char *name)
{
    size_t index = map_get(&l->by_name, name, strlen(name));
    if (index != MAP_NONE) {
        return &l->options[index];
    }
    const char *kept = arena_strdup(&l->texts, name);
    if (kept == NULL || !mem_grow(&l->options, &l->capacity, l->count + 1, sizeof *l->options) ||
        !map_put(&l->by_name, kept, strlen(kept), l->count)) {
        return NULL;
    }
    l->options[l->count] = (option_values){.name = kept};
    return &l->options[l->count++];
}

/* "-falign-loops=" and "-falign-loops" are two options: the valued one has '=' behind its name. */
static void put_key(char out[GCC_NAME_SIZE + 1], const gcc_row *row)
{
    snprintf(out, GCC_NAME_SIZE + 1, "%s%s", row->name, row->joined ? "=" : "");
}

static evocc_status read_level(listing *l, size_t level, const char *output, evocc_error *error)
{
    gcc_row row = {0};
    evocc_status status = EVOCC_OK;
    for (const char *at = output; status == EVOCC_OK && gcc_help_next(&row, &at);) {
        char key[GCC_NAME_SIZE + 1];
        put_key(key, &row);
        option_values *entry = listing_entry(l, key);
        const char *value = entry != NULL ? arena_strdup(&l->texts, strbuf_text(&row.text)) : NULL;
        if (value == NULL) {
            status = error_no_memory(error);
        } else {
            entry->at[level] = value;
        }
    }
    strbuf_dispose(&row.text);
    return status;
}

/* The value that all levels agree on; NULL when they do not. */
static const char *agreed(const listing *l, const char *key)
{
    size_t index = map_get(&l->by_name, key, strlen(key));
    const char *value = NULL;
    for (size_t i = 0; index != MAP_NONE && i < LEVEL_COUNT; i++) {
        const char *here = l->options[index].at[i];
        if (here != NULL && value != NULL && strcmp(here, value) != 0) {
            return NULL;
        }
        value = here != NULL ? here : value;
    }
    return value;
}

/* Any level's value: for what a range is built around. */
static const char *some_value(const listing *l, const char *key)
{
    size_t index = map_get(&l->by_name, key, strlen(key));
    for (size_t i = LEVEL_COUNT; index != MAP_NONE && i-- > 0;) {
        if (l->options[index].at[i] != NULL) {
            return l->options[index].at[i];
        }
    }
    return NULL;
}

/* ---- Domains ----------------------------------------------------------------------------------
 */

/* Controls that decide one thing together are moved together at times. */
static const char *group_of(const char *name)
{
    static const struct {
        const char *part, *group;
    } groups[] = {
        {"vect", "vectorizer"}, {"unroll", "unrolling"}, {"peel", "unrolling"},
        {"inlin", "inlining"},  {"ipa-", "ipa"},         {"sched", "scheduling"},
        {"align", "alignment"}, {"gcse", "redundancy"},  {"-pre", "redundancy"},
        {"fira-", "registers"}, {"lra", "registers"},    {"if-conv", "branches"},
        {"jump", "branches"},   {"thread", "branches"},  {"fsm", "branches"},
        {"prefetch", "memory"}, {"cache", "memory"},     {"store", "memory"},
        {"loop", "loops"},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (strstr(name, groups[i].part) != NULL) {
            return groups[i].group;
        }
    }
    return "";
}

static bool is_number(int64_t *out, const char *text)
{
    return text != NULL && text_integer(out, text);
}

static int64_t power_from(int64_t low)
{
    int64_t power = 1;
    while (power < low) {
        power *= 2;
    }
    return power;
}

/*
 * The range of a number. A short one whole, percent in steps of ten; others in powers of two, four
 * octaves around the default, or from 1 to 256 where that is 0 or unknown. 0 where it is empty.
 */
static bool set_range(gcc_line *c, const gcc_row *row, bool has_value, int64_t value)
{
    int64_t low = row->bounded ? row->low : 1;
    int64_t high = row->bounded ? row->high : INT32_MAX;
    if (row->bounded && high - low <= 16) {
        *c = (gcc_line){.kind = SPACE_INT, .low = low, .high = high, .step = 1};
    } else if (row->bounded && low == 0 && high == 100) {
        *c = (gcc_line){.kind = SPACE_INT, .low = 0, .high = 100, .step = value % 10 == 0 ? 10 : 5};
    } else {
        bool known = has_value && value > 0 && value < INT32_MAX / 16;
        int64_t from = power_from(known && value / 16 > 1 ? value / 16 : 1);
        int64_t to = known ? value * 16 : 256;
        from = from < low ? power_from(low) : from;
        *c = (gcc_line){.kind = SPACE_POW2, .low = from, .high = to < high ? to : high, .step = 1};
    }
    return c->high > c->low;
}

/* Whether a value is one of the range: only then can it be the control's default. */
static bool in_range(const gcc_line *c, int64_t value)
{
    if (value < c->low || value > c->high) {
        return false;
    }
    return c->kind == SPACE_INT ? (value - c->low) % c->step == 0
                                : (value & (value - 1)) == 0 && value > 0;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = choices; length > 0 && *at != '\0';) {
        size_t word = strcspn(at, "|");
        if (word == length && memcmp(at, value, length) == 0) {
            return true;
        }
        at += word + (at[word] == '|');
    }
    return false;
}

static bool set_number(gcc_line *c, const gcc_row *row, const listing *l, const char *key)
{
    int64_t value = 0;
    int64_t fixed = 0;
    bool has_value = is_number(&value, some_value(l, key));
    if (!set_range(c, row, has_value, value)) {
        return false;
    }
    bool same = is_number(&fixed, agreed(l, key)) && in_range(c, fixed);
    c->initial = same ? agreed(l, key) : "";
    return true;
}

/* On or off. An assumption counts as made wherever the level makes it: it can only be dropped. */
static bool set_switch(gcc_line *c, const listing *l, const char *key, gcc_effect effect)
{
    const char *value = agreed(l, key);
    const char *any = some_value(l, key);
    if (any != NULL && strncmp(any, "[available", 10) == 0) {
        return false; /* for another language */
    }
    *c = (gcc_line){.kind = SPACE_BOOL};
    c->initial = effect == GCC_ASSUMES                               ? "true"
                 : value != NULL && strcmp(value, "[enabled]") == 0  ? "true"
                 : value != NULL && strcmp(value, "[disabled]") == 0 ? "false"
                                                                     : "";
    return true;
}

static bool set_choice(gcc_line *c, const gcc_row *row, const listing *l, const char *key)
{
    const char *value = agreed(l, key);
    *c = (gcc_line){.kind = SPACE_CHOICE, .choices = row->choices};
    c->initial = value != NULL && is_choice(row->choices, value) ? value : "";
    return strchr(row->choices, '|') != NULL;
}

/* Nothing the name of a control, a choice or an option could not hold. */
static bool is_plain(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "-_+.|=")] == '\0';
}

typedef struct names_of {
    char control[GCC_NAME_SIZE + 8], option[2 * GCC_NAME_SIZE];
} names_of;

/* "fipa-cp" and "-f{}ipa-cp"; "param.max-unroll-times" and "--param=max-unroll-times={}". */
static void name_control(names_of *out, const gcc_row *row, bool parameter)
{
    snprintf(out->control, sizeof out->control, "%s%s", parameter ? "param." : "",
             parameter ? row->name + 8 : row->name + 1);
    if (row->joined) {
        snprintf(out->option, sizeof out->option, "%s={}", row->name);
    } else {
        snprintf(out->option, sizeof out->option, "%.2s{}%s", row->name, row->name + 2);
    }
}

static gcc_effect effect_of(const gcc_row *row, bool parameter, bool contracts)
{
    const char *name = parameter ? row->name + 8 : row->name + 1;
    /* The pass that fuses multiplications and additions is one of these (gcc/tree-ssa-math-opts.cc,
       gate of pass_optimize_widening_mul). */
    if (contracts && strcmp(name, "fexpensive-optimizations") == 0) {
        return GCC_ROUNDING;
    }
    return parameter ? gcc_effect_of_parameter(name) : gcc_effect_of(name);
}

static bool has_other_form(const listing *l, const gcc_row *row)
{
    char key[GCC_NAME_SIZE + 1];
    snprintf(key, sizeof key, "%s%s", row->name, row->joined ? "" : "=");
    return some_value(l, key) != NULL;
}

/* One option of the help as a line; nothing where it is no matter for a search. */
static void put_option(strbuf *out, const gcc_row *row, const listing *l, bool contracts)
{
    bool parameter = strncmp(row->name, "--param=", 8) == 0;
    bool flag = row->name[0] == '-' && (row->name[1] == 'f' || row->name[1] == 'm');
    if ((!parameter && !flag) || !is_plain(row->name) || !is_plain(row->choices)) {
        return;
    }
    char key[GCC_NAME_SIZE + 1];
    put_key(key, row);
    gcc_effect effect = effect_of(row, parameter, contracts);
    bool alignment = gcc_is_alignment(row->name + 1);
    gcc_line c = {0};
    bool numeric = row->bounded || parameter || alignment;
    bool usable = effect != GCC_LEFT_OUT && !(alignment && !row->joined) &&
                  !(flag && !alignment && has_other_form(l, row) && !row->joined);
    usable = usable && (!row->joined              ? set_switch(&c, l, key, effect)
                        : row->choices[0] != '\0' ? set_choice(&c, row, l, key)
                                                  : numeric && set_number(&c, row, l, key));
    if (!usable || (effect == GCC_ASSUMES && row->joined)) {
        return;
    }
    names_of n;
    name_control(&n, row, parameter);
    c.name = n.control;
    c.option = n.option;
    c.choices = c.choices != NULL ? c.choices : "";
    c.numerics = effect == GCC_ROUNDING ? SPACE_ROUNDING : SPACE_EXACT;
    c.group = group_of(n.control);
    c.help = strbuf_text(&row->text);
    gcc_line_put(out, &c);
}

/* Contraction is on by default but under -std=c*; -O1 leaves out the pass that does it, so that
   level changes results wherever there is something to fuse. */
static bool contracts(char *const *base, size_t base_count)
{
    bool on = true;
    bool said = false;
    for (size_t i = 0; i < base_count; i++) {
        if (strncmp(base[i], "-ffp-contract=", 14) == 0) {
            on = strcmp(base[i] + 14, "fast") == 0;
            said = true;
        } else if (!said && strncmp(base[i], "-std=", 5) == 0) {
            on = strncmp(base[i] + 5, "gnu", 3) == 0;
        } else if (!said && strcmp(base[i], "-ansi") == 0) {
            on = false;
        }
    }
    return on;
}

static void put_level(strbuf *out, char *const *base, size_t base_count, bool has_z)
{
    char choices[32];
    const char *own = driver_opt_level(base, base_count);
    snprintf(choices, sizeof choices, "%s2|3|s%s", contracts(base, base_count) ? "" : "1|",
             has_z ? "|z" : "");
    gcc_line_put(
        out, &(gcc_line){.name = "O",
                         .kind = SPACE_CHOICE,
                         .choices = choices,
                         .initial = is_choice(choices, own) ? own : "",
                         .numerics = SPACE_EXACT,
                         .group = "",
                         .option = "-O{}",
                         .help = "How much is optimised, and for what: 2, 3 for speed, s, z for "
                                 "size. The other controls are exceptions to the level."});
}

/* ---- Asking -------------------------------------------------------------------------------- */

static void make_command(compiler_command *command, const compiler_identity *identity,
                         char *const *base, size_t base_count, const char *level)
{
    static const char *const classes[] = {"--help=optimizers", "--help=params", "--help=target"};
    compiler_command_add(command, identity->path);
    if (level != NULL) {
        char word[8];
        for (size_t i = 0; i < base_count; i++) {
            compiler_command_add(command, base[i]);
        }
        snprintf(word, sizeof word, "-O%s", level);
        compiler_command_add(command, word);
        compiler_command_add(command, "-Q");
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        compiler_command_add(command, classes[i]);
    }
}

static evocc_status read_help(strbuf *out, const runs_item *runs, char *const *base,
                              size_t base_count, evocc_error *error)
{
    const process_result *help = &runs[LEVEL_COUNT].result;
    listing l = {0};
    evocc_status status = EVOCC_OK;
    if (!runs_succeeded(help) || strstr(help->output, "--param=") == NULL) {
        return error_set(error, EVOCC_UNSUPPORTED,
                         "%s does not list its options (--help=optimizers); gcc 4.3 and later do",
                         runs[LEVEL_COUNT].command.argv[0]);
    }
    for (size_t i = 0; status == EVOCC_OK && i < LEVEL_COUNT; i++) {
        if (runs_succeeded(&runs[i].result)) {
            status = read_level(&l, i, runs[i].result.output, error);
        }
    }
    put_level(out, base, base_count, runs_succeeded(&runs[LEVEL_COUNT - 1].result));
    gcc_row row = {0};
    for (const char *at = help->output; status == EVOCC_OK && gcc_help_next(&row, &at);) {
        put_option(out, &row, &l, contracts(base, base_count));
    }
    if (status == EVOCC_OK && (out->failed || row.text.failed)) {
        status = error_no_memory(error);
    }
    strbuf_dispose(&row.text);
    listing_dispose(&l);
    return status;
}

static evocc_status ask_help(strbuf *out, launcher *l, const compiler_identity *identity,
                             char *const *base, size_t base_count, evocc_error *error)
{
    runs_item runs[RUN_COUNT] = {0};
    for (size_t i = 0; i < RUN_COUNT; i++) {
        make_command(&runs[i].command, identity, base, base_count,
                     i < LEVEL_COUNT ? levels[i] : NULL);
    }
    evocc_status status = runs_execute(l, runs, RUN_COUNT, deadline_s, error);
    if (status == EVOCC_OK) {
        status = read_help(out, runs, base, base_count, error);
    }
    runs_dispose(runs, RUN_COUNT);
    return status;
}

static bool is_rejected(const evocc_space *space, const bool *rejected, const char *text)
{
    char name[GCC_NAME_SIZE + 16];
    snprintf(name, sizeof name, "gcc/%.*s", (int)strcspn(text, "\t"), text);
    size_t index = space_find(space, name);
    return index == MAP_NONE || rejected[index];
}

/* The lines of the controls that gcc takes. */
static evocc_status probe(strbuf *out, const strbuf *lines, launcher *l,
                          const compiler_identity *identity, char *const *base, size_t base_count,
                          evocc_error *error)
{
    evocc_space *space = NULL;
    bool *rejected = NULL;
    char *copy = mem_strdup(strbuf_text(lines));
    evocc_status status = copy != NULL ? space_new(&space, error) : error_no_memory(error);
    if (status == EVOCC_OK) {
        status = gcc_lines_add(space, copy, error);
    }
    if (status == EVOCC_OK) {
        rejected = mem_alloc(space_count(space) + 1, sizeof *rejected);
        status = rejected != NULL
                     ? driver_probe(rejected, space, l, identity, base, base_count, error)
                     : error_no_memory(error);
    }
    for (const char *at = strbuf_text(lines); status == EVOCC_OK && *at != '\0';) {
        size_t length = strcspn(at, "\n") + 1;
        if (!is_rejected(space, rejected, at)) {
            strbuf_append(out, at, length);
        }
        at += length;
    }
    status = status == EVOCC_OK && out->failed ? error_no_memory(error) : status;
    space_free(space);
    mem_free(rejected);
    mem_free(copy);
    return status;
}

static evocc_status ask(char **out, launcher *l, const compiler_identity *identity,
                        char *const *base, size_t base_count, evocc_error *error)
{
    launcher *own = NULL;
    strbuf lines = {0};
    strbuf taken = {0};
    evocc_status status = l != NULL ? EVOCC_OK : launcher_new(&own, error);
    l = l != NULL ? l : own;
    if (status == EVOCC_OK) {
        status = ask_help(&lines, l, identity, base, base_count, error);
    }
    if (status == EVOCC_OK) {
        status = probe(&taken, &lines, l, identity, base, base_count, error);
    }
    if (status == EVOCC_OK) {
        *out = strbuf_take(&taken);
        status = *out != NULL ? EVOCC_OK : error_no_memory(error);
    }
    launcher_free(own);
    strbuf_dispose(&lines);
    strbuf_dispose(&taken);
    return status;
}

/* The lines, from the cache where they are known. mem_free. */
static evocc_status know(char **out, launcher *l, const compiler_identity *identity,
                         char *const *base, size_t base_count, evocc_error *error)
{
    char *key = driver_cache_key(identity, base, base_count, RULES);
    *out = key != NULL ? cache_load(cache_kind, key) : NULL;
    evocc_status status = EVOCC_OK;
    if (*out == NULL) {
        status = ask(out, l, identity, base, base_count, error);
        if (status == EVOCC_OK && key != NULL) {
            cache_store(cache_kind, key, *out);
        }
    }
    mem_free(key);
    return status;
}

typedef struct filter {
    char *const *base;
    size_t base_count;
} filter;

/* The level stays in: a search may leave the user's own, which is its default. */
static bool keep(const space_control *control, void *context)
{
    const filter *f = context;
    return strcmp(control->name, "O") == 0 || !driver_is_in_base(control, f->base, f->base_count);
}

static evocc_status make_space(evocc_space **out, launcher *l, const compiler_identity *identity,
                               const char *arch, char *const *base, size_t base_count,
                               evocc_error *error)
{
    (void)arch; /* the target is the compiler's own */
    evocc_space *all = NULL;
    evocc_space *space = NULL;
    char *lines = NULL;
    filter f = {base, base_count};
    evocc_status status = know(&lines, l, identity, base, base_count, error);
    if (status == EVOCC_OK) {
        status = space_new(&all, error);
    }
    if (status == EVOCC_OK) {
        status = gcc_lines_add(all, lines, error);
    }
    if (status == EVOCC_OK) {
        status = space_new(&space, error);
    }
    if (status == EVOCC_OK) {
        status = space_add_all(space, all, keep, &f, error);
    }
    if (status == EVOCC_OK) {
        *out = space;
        space = NULL;
    }
    space_free(space);
    space_free(all);
    mem_free(lines);
    return status;
}

const compiler compiler_gcc = {
    .name = "gcc",
    .stage = SPACE_STAGE_GCC,
    .identify = identify,
    .make_space = make_space,
    .render = render,
    .read_stats = read_stats,
    .read_command = driver_read_command,
};
