/*
 * campaign: puts one PTX file through everything the PTX room promises, and says what broke.
 *
 * usage: campaign [-n CANDIDATES] [-s SEED] [-t SECONDS] [-k KEEP] [-o FOLDER] FILE.ptx
 *
 * The module must print byte for byte, compute what it computes (ptx_check with itself), and its
 * normal form must be a fixed point. Then random
 * candidates over the controls of all its entries, by turns sampled as a search would and with
 * every control drawn uniformly, are rewritten, parsed again and checked, at once or else pass by
 * pass (ptx_rewrite_checked); before them each pass alone, so that a failure has an owner. The
 * settings of a failure are reduced to the fewest that still fail. One JSON object goes to stdout.
 * With -o the failing texts, and the first KEEP candidates for ptxas to judge, go to FOLDER. Exit:
 * 0 nothing failed, 1 something did, 2 the file could not be read.
 */
#include "ptx/checker.h"
#include "ptx/ptx.h"
#include "util/clock.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { KIND_LIMIT = 40, SHOWN_LIMIT = 12, ALL = KIND_LIMIT };

/* What happened to one pass; at ALL, to all of them together. */
typedef struct tally {
    size_t controls, runs, changed, failures;
    size_t lines;  /* most lines that one candidate changed or added */
    double time_s; /* of the rewriting */
} tally;

typedef struct campaign {
    const char *path, *folder;
    size_t candidates, keep, kept, shown;
    double limit_s, start_s;
    uint64_t seed;
    char *text;
    size_t length;
    ptx_module *module;
    evocc_space *space;
    int *kind_of; /* index of each control's pass */
    int32_t *genes;
    ptx_setting *settings;
    strbuf *values;
    uint64_t *lines; /* hashes of the lines, an open table; 0: free */
    uint32_t *counts;
    size_t table_size;
    tally tallies[KIND_LIMIT + 1];
    double parse_s, check_s;
    size_t stepwise; /* candidates whose proof needs the texts between the passes */
    size_t instructions, movable;
    strbuf pinned, failures; /* JSON */
    rng random;
} campaign;

/* ---- Lines: how much a candidate changed -------------------------------------------------------
 */

static size_t slot_of(const campaign *c, uint64_t hash)
{
    size_t slot = hash & (c->table_size - 1);
    while (c->lines[slot] != 0 && c->lines[slot] != hash) {
        slot = (slot + 1) & (c->table_size - 1);
    }
    return slot;
}

static size_t next_line(const char *text, size_t length, size_t at, uint64_t *hash)
{
    const char *end = memchr(text + at, '\n', length - at);
    size_t size = end == NULL ? length - at : (size_t)(end - text) - at;
    *hash = hash64(text + at, size, 1) | 1;
    return at + size + 1;
}

static bool count_lines(campaign *c)
{
    size_t lines = 1;
    for (size_t i = 0; i < c->length; i++) {
        lines += c->text[i] == '\n';
    }
    for (c->table_size = 16; c->table_size < 2 * lines; c->table_size *= 2) {
    }
    c->lines = mem_alloc(c->table_size, sizeof *c->lines);
    c->counts = mem_alloc(c->table_size, sizeof *c->counts);
    if (c->lines == NULL || c->counts == NULL) {
        return false;
    }
    uint64_t hash;
    for (size_t at = 0; at < c->length;) {
        at = next_line(c->text, c->length, at, &hash);
        size_t slot = slot_of(c, hash);
        c->lines[slot] = hash;
        c->counts[slot]++;
    }
    return true;
}

/* Lines of the text that the original has not, or not so often. */
static size_t new_lines(const campaign *c, const strbuf *text)
{
    uint32_t *left = mem_alloc(c->table_size, sizeof *left);
    if (left == NULL) {
        return 0;
    }
    memcpy(left, c->counts, c->table_size * sizeof *left);
    size_t count = 0;
    uint64_t hash;
    for (size_t at = 0; at < text->length;) {
        at = next_line(text->data, text->length, at, &hash);
        size_t slot = slot_of(c, hash);
        if (left[slot] > 0) {
            left[slot]--;
        } else {
            count++;
        }
    }
    mem_free(left);
    return count;
}

/* ---- Failures ---------------------------------------------------------------------------------
 */

static void write_text(const campaign *c, const char *what, size_t number, const char *text,
                       size_t length)
{
    char name[256];
    evocc_error error;
    if (c->folder == NULL) {
        return;
    }
    snprintf(name, sizeof name, "%s.%s%zu", path_base(c->path), what, number);
    char *full = path_join(c->folder, name);
    if (full == NULL || file_write(full, text, length, &error) != EVOCC_OK) {
        fprintf(stderr, "campaign: cannot write %s\n", name);
    }
    mem_free(full);
}

static void candidate_words(strbuf *out, const campaign *c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(out, "%sptx/%s=%s", i == 0 ? "" : " ", c->settings[i].name,
                      c->settings[i].value);
    }
}

static void fail(campaign *c, int kind, const char *stage, const char *message, size_t count,
                 const strbuf *rewritten)
{
    c->tallies[kind].failures++;
    if (c->shown >= SHOWN_LIMIT) {
        return;
    }
    strbuf words = {0};
    candidate_words(&words, c, count);
    ptx_kind k = {.name = "all"};
    if (kind != ALL) {
        ptx_kind_at(&k, (size_t)kind);
    }
    strbuf_printf(&c->failures, "%s{\"pass\":\"%s\",\"stage\":\"%s\",\"number\":%zu,\"message\":",
                  c->shown == 0 ? "" : ",", k.name, stage, c->shown);
    strbuf_json_string(&c->failures, message);
    strbuf_puts(&c->failures, ",\"settings\":");
    strbuf_json_string(&c->failures, strbuf_text(&words));
    strbuf_puts(&c->failures, "}");
    write_text(c, "settings", c->shown, strbuf_text(&words), words.length);
    if (rewritten != NULL) {
        write_text(c, "bad", c->shown, strbuf_text(rewritten), rewritten->length);
    }
    c->shown++;
    strbuf_dispose(&words);
}

/* ---- One candidate ----------------------------------------------------------------------------
 */

static size_t collect(campaign *c)
{
    size_t count = 0;
    for (size_t i = 0; i < space_count(c->space); i++) {
        if (c->genes[i] == SPACE_ABSENT) {
            continue;
        }
        strbuf_clear(&c->values[i]);
        space_value_text(&c->values[i], space_get(c->space, i), c->genes[i]);
        c->settings[count].name = space_get(c->space, i)->name;
        c->settings[count++].value = strbuf_text(&c->values[i]);
    }
    return count;
}

/* Of this process alone, so that a busy machine does not matter. */
static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* What became of a candidate: NULL when all is well, else the stage that failed. */
static const char *outcome(campaign *c, size_t count, strbuf *rewritten, double *time_s,
                           evocc_error *error)
{
    ptx_module *again = NULL;
    const char *stage = NULL;
    double start = cpu_s();
    evocc_status status = ptx_rewrite(rewritten, c->module, c->settings, count, error);
    *time_s = cpu_s() - start;
    if (status != EVOCC_OK) {
        return "rewrite";
    }
    start = cpu_s();
    if (ptx_parse(&again, strbuf_text(rewritten), rewritten->length, "rewritten", error) !=
        EVOCC_OK) {
        stage = "parse";
    } else if (ptx_check(c->module, again, error) != EVOCC_OK) {
        strbuf steps = {0};
        stage = "check";
        if (ptx_rewrite_checked(&steps, c->module, c->settings, count, error) == EVOCC_OK) {
            bool same = steps.length == rewritten->length &&
                        memcmp(steps.data, rewritten->data, steps.length) == 0;
            stage = same ? NULL : "steps";
            c->stepwise++;
        }
        strbuf_dispose(&steps);
    }
    ptx_free(again);
    c->check_s += cpu_s() - start;
    return stage;
}

/* Drops settings, ever smaller pieces of them, as long as the same stage still fails. */
static size_t reduce(campaign *c, size_t count, const char *stage)
{
    ptx_setting *all = mem_alloc(count + 1, sizeof *all);
    size_t piece = (count + 1) / 2;
    while (all != NULL && piece > 0 && count > 1) {
        bool smaller = false;
        for (size_t at = 0; at < count;) {
            strbuf text = {0};
            evocc_error error;
            double time_s;
            size_t drop = piece < count - at ? piece : count - at;
            memcpy(all, c->settings, count * sizeof *all);
            memmove(c->settings + at, c->settings + at + drop, (count - at - drop) * sizeof *all);
            const char *now = outcome(c, count - drop, &text, &time_s, &error);
            if (now != NULL && strcmp(now, stage) == 0) {
                count -= drop;
                smaller = true;
            } else {
                memcpy(c->settings, all, count * sizeof *all);
                at += drop;
            }
            strbuf_dispose(&text);
        }
        piece = smaller && piece == 1 ? 1 : piece / 2;
    }
    mem_free(all);
    return count;
}

static void keep_good(campaign *c, size_t count, const strbuf *rewritten)
{
    strbuf words = {0};
    candidate_words(&words, c, count);
    write_text(c, "words", c->kept, strbuf_text(&words), words.length);
    write_text(c, "good", c->kept++, rewritten->data, rewritten->length);
    strbuf_dispose(&words);
}

static void try_candidate(campaign *c, int kind)
{
    evocc_error error;
    strbuf rewritten = {0};
    double time_s;
    tally *t = &c->tallies[kind];
    size_t count = collect(c);
    const char *stage = outcome(c, count, &rewritten, &time_s, &error);
    t->time_s += time_s;
    t->runs++;
    if (stage != NULL && c->shown < SHOWN_LIMIT) {
        strbuf_clear(&rewritten);
        count = reduce(c, count, stage);
        stage = outcome(c, count, &rewritten, &time_s, &error);
    }
    if (stage != NULL) {
        fail(c, kind, stage, error.message, count, &rewritten);
    } else if (rewritten.length != c->length || memcmp(rewritten.data, c->text, c->length) != 0) {
        size_t lines = new_lines(c, &rewritten);
        t->changed++;
        t->lines = lines > t->lines ? lines : t->lines;
        if (kind == ALL && c->kept < c->keep) {
            keep_good(c, count, &rewritten);
        }
    }
    strbuf_dispose(&rewritten);
}

/* A study tunes one kernel. In a module with very many controls a candidate is that of one entry
   only, of the control drawn here. */
static void keep_one_entry(campaign *c)
{
    enum { MANY = 4000 };
    size_t n = space_count(c->space);
    if (n <= MANY) {
        return;
    }
    const char *entry = strchr(space_get(c->space, rng_below(&c->random, n))->name, '@');
    size_t length = strcspn(entry, ".");
    for (size_t i = 0; i < n; i++) {
        const char *other = strchr(space_get(c->space, i)->name, '@');
        if (strcspn(other, ".") != length || memcmp(entry, other, length) != 0) {
            c->genes[i] = SPACE_ABSENT;
        }
    }
}

/* Draws a candidate, only over the controls of one pass unless `kind` is ALL. */
static bool draw(campaign *c, int kind, bool dense)
{
    evocc_error error;
    size_t n = space_count(c->space);
    if (dense) {
        for (size_t i = 0; i < n; i++) {
            int32_t size = space_get(c->space, i)->size;
            c->genes[i] = (int32_t)rng_below(&c->random, (uint64_t)size + 1) - 1;
        }
    } else if (space_sample(c->space, &c->random, c->genes, &error) != EVOCC_OK) {
        return false;
    }
    for (size_t i = 0; i < n && kind != ALL; i++) {
        c->genes[i] = c->kind_of[i] == kind ? c->genes[i] : SPACE_ABSENT;
    }
    keep_one_entry(c);
    return space_repair(c->space, &c->random, c->genes);
}

static bool time_is_left(const campaign *c)
{
    return clock_now_s() - c->start_s < c->limit_s;
}

static void run_all(campaign *c)
{
    for (size_t i = 0; i < c->candidates && time_is_left(c); i++) {
        if (draw(c, ALL, i % 2 == 1)) {
            try_candidate(c, ALL);
        }
    }
}

static void run_kinds(campaign *c)
{
    ptx_kind kind;
    for (int k = 0; ptx_kind_at(&kind, (size_t)k); k++) {
        for (size_t i = 0; i < c->candidates / 4 + 1 && c->tallies[k].controls > 0; i++) {
            if ((i == 0 || time_is_left(c)) && draw(c, k, i % 2 == 0)) {
                try_candidate(c, k);
            }
        }
    }
}

/* ---- The module -------------------------------------------------------------------------------
 */

static void check_text(campaign *c)
{
    evocc_error error;
    strbuf printed = {0}, normal = {0}, twice = {0};
    ptx_module *again = NULL;
    ptx_print(&printed, c->module);
    if (printed.length != c->length || memcmp(printed.data, c->text, c->length) != 0) {
        fail(c, ALL, "print", "the module does not print back byte for byte", 0, &printed);
    }
    if (ptx_check(c->module, c->module, &error) != EVOCC_OK) {
        fail(c, ALL, "identity", error.message, 0, NULL);
    }
    ptx_normal_form(&normal, c->module);
    if (ptx_parse(&again, strbuf_text(&normal), normal.length, "normal", &error) != EVOCC_OK) {
        fail(c, ALL, "normal", error.message, 0, &normal);
    } else {
        ptx_normal_form(&twice, again);
        if (twice.length != normal.length ||
            memcmp(strbuf_text(&twice), strbuf_text(&normal), normal.length) != 0) {
            fail(c, ALL, "normal", "the normal form is not a fixed point", 0, &normal);
        }
    }
    ptx_free(again);
    strbuf_dispose(&printed);
    strbuf_dispose(&normal);
    strbuf_dispose(&twice);
}

static evocc_status measure(campaign *c, evocc_error *error)
{
    for (size_t i = 0; i < ptx_entry_count(c->module); i++) {
        ptx_mobility m;
        evocc_status status =
            ptx_measure_mobility(&m, c->module, ptx_entry_name(c->module, i), error);
        if (status != EVOCC_OK) {
            return status;
        }
        c->instructions += m.instructions;
        c->movable += m.movable;
        for (size_t p = 0; p < m.pinned_count; p++) {
            strbuf_printf(&c->pinned, "%s[\"%s\",%zu]", c->pinned.length == 0 ? "" : ",",
                          m.pinned[p].reason, m.pinned[p].instructions);
        }
    }
    return EVOCC_OK;
}

static int kind_index(const char *control)
{
    ptx_kind kind, wanted;
    if (!ptx_kind_of(&wanted, control)) {
        return 0;
    }
    int k = 0;
    while (ptx_kind_at(&kind, (size_t)k) && strcmp(kind.name, wanted.name) != 0) {
        k++;
    }
    return k;
}

static evocc_status find_controls(campaign *c, evocc_error *error)
{
    const ptx_limits limits = {.max_version = 90};
    evocc_status status = space_new(&c->space, error);
    for (size_t i = 0; status == EVOCC_OK && i < ptx_entry_count(c->module); i++) {
        status =
            ptx_add_controls(c->space, c->module, ptx_entry_name(c->module, i), &limits, error);
    }
    if (status == EVOCC_OK) {
        status = space_finish(c->space, error);
    }
    if (status != EVOCC_OK) {
        return status;
    }
    size_t n = space_count(c->space) + 1;
    c->genes = mem_alloc(n, sizeof *c->genes);
    c->settings = mem_alloc(n, sizeof *c->settings);
    c->values = mem_alloc(n, sizeof *c->values);
    c->kind_of = mem_alloc(n, sizeof *c->kind_of);
    if (c->genes == NULL || c->settings == NULL || c->values == NULL || c->kind_of == NULL) {
        return EVOCC_NO_MEMORY;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        c->kind_of[i] = kind_index(space_get(c->space, i)->name);
        c->tallies[c->kind_of[i]].controls++;
    }
    c->tallies[ALL].controls = n - 1;
    return EVOCC_OK;
}

static evocc_status load(campaign *c, evocc_error *error)
{
    evocc_status status = file_read(&c->text, &c->length, c->path, (size_t)1 << 30, error);
    clock_t start = clock();
    if (status == EVOCC_OK) {
        status = ptx_parse(&c->module, c->text, c->length, path_base(c->path), error);
    }
    c->parse_s = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (status == EVOCC_OK) {
        status = measure(c, error);
    }
    return status == EVOCC_OK ? find_controls(c, error) : status;
}

/* ---- The report ------------------------------------------------------------------------------ */

static void print_tally(const char *name, const tally *t, bool first)
{
    printf("%s\"%s\":{\"controls\":%zu,\"runs\":%zu,\"changed\":%zu,\"failures\":%zu,\"lines\":%zu,"
           "\"time_s\":%.4f}",
           first ? "" : ",", name, t->controls, t->runs, t->changed, t->failures, t->lines,
           t->time_s);
}

static bool report(const campaign *c)
{
    struct rusage usage;
    ptx_kind kind;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"file\":\"%s\",\"target\":\"%s\",\"bytes\":%zu,\"entries\":%zu,\"instructions\":%zu,"
           "\"movable\":%zu,\"stepwise\":%zu,\"parse_s\":%.4f,\"check_s\":%.4f,\"peak_kb\":%ld,"
           "\"pinned\":[%s],"
           "\"passes\":{",
           path_base(c->path), ptx_target(c->module), c->length, ptx_entry_count(c->module),
           c->instructions, c->movable, c->stepwise, c->parse_s, c->check_s, usage.ru_maxrss,
           strbuf_text(&c->pinned));
    size_t failures = c->tallies[ALL].failures;
    print_tally("all", &c->tallies[ALL], true);
    for (int k = 0; ptx_kind_at(&kind, (size_t)k); k++) {
        print_tally(kind.name, &c->tallies[k], false);
        failures += c->tallies[k].failures;
    }
    printf("},\"failures\":[%s]}\n", strbuf_text(&c->failures));
    return failures == 0;
}

static bool read_arguments(campaign *c, int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "n:s:t:k:o:")) != -1;) {
        switch (option) {
        case 'n':
            c->candidates = strtoul(optarg, NULL, 10);
            break;
        case 's':
            c->seed = strtoul(optarg, NULL, 10);
            break;
        case 't':
            c->limit_s = strtod(optarg, NULL);
            break;
        case 'k':
            c->keep = strtoul(optarg, NULL, 10);
            break;
        case 'o':
            c->folder = optarg;
            break;
        default:
            return false;
        }
    }
    c->path = argv[optind];
    return optind == argc - 1;
}

static void dispose(campaign *c)
{
    for (size_t i = 0; c->values != NULL && i < space_count(c->space); i++) {
        strbuf_dispose(&c->values[i]);
    }
    void *const owned[] = {c->text,    c->genes, c->settings, c->values,
                           c->kind_of, c->lines, c->counts};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        mem_free(owned[i]);
    }
    strbuf_dispose(&c->pinned);
    strbuf_dispose(&c->failures);
    space_free(c->space);
    ptx_free(c->module);
}

int main(int argc, char **argv)
{
    static campaign c = {.candidates = 20, .limit_s = 1e9, .seed = 1};
    evocc_error error = {0};
    if (!read_arguments(&c, argc, argv)) {
        fprintf(stderr, "usage: campaign [-n CANDIDATES] [-s SEED] [-t SECONDS] [-k KEEP] "
                        "[-o FOLDER] FILE.ptx\n");
        return 2;
    }
    c.start_s = clock_now_s();
    if (load(&c, &error) != EVOCC_OK || !count_lines(&c)) {
        fprintf(stderr, "campaign: %s: %s\n", c.path, error.message);
        dispose(&c);
        return 2;
    }
    rng_seed(&c.random, c.seed);
    check_text(&c);
    if (c.tallies[ALL].controls > 0) {
        run_kinds(&c);
        run_all(&c);
    }
    bool good = report(&c);
    dispose(&c);
    return good ? 0 : 1;
}
