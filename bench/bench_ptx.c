/*
 * bench_ptx: what reading, naming, listing and rewriting PTX costs, in CPU time of this process.
 *
 * usage: bench_ptx FILE.ptx              the file; then ten megabytes made of its first entry: as
 *                                        many entries, and as one
 *        bench_ptx --write KIND FILE.ptx print such a module: "entries" or "entry"
 *        bench_ptx --digest N FILE.ptx.. for each file the SHA-256 of its controls, of its normal
 *                                        form and of its text under N candidates, for comparing two
 *                                        builds of evocc
 *
 * Candidates come from fixed seeds: as a search draws them, and in a digest by turns with every
 * control drawn uniformly. Each number is the least of several runs.
 */
#include "ptx/ptx.h"
#include "util/files.h"
#include "util/map.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { FILE_LIMIT = 1 << 28, LARGE_BYTES = 10 << 20, RUNS = 7, LARGE_RUNS = 3, CANDIDATES = 64 };

static void die(const char *message)
{
    fprintf(stderr, "bench_ptx: %s\n", message);
    exit(1);
}

static void *checked(void *block)
{
    if (block == NULL) {
        die("out of memory");
    }
    return block;
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *read_text(const char *path, size_t *length)
{
    evocc_error error;
    char *text;
    if (file_read(&text, length, path, FILE_LIMIT, &error) != EVOCC_OK) {
        die(error.message);
    }
    return text;
}

static ptx_module *parse(const char *text, size_t length)
{
    evocc_error error;
    ptx_module *module;
    if (ptx_parse(&module, text, length, "bench.ptx", &error) != EVOCC_OK) {
        die(error.message);
    }
    return module;
}

/* The controls of the first `entries` entries. */
static evocc_space *controls_of(const ptx_module *module, size_t entries)
{
    evocc_error error;
    evocc_space *space;
    const ptx_limits limits = {.max_version = 90, .allow_numerics = true};
    evocc_status status = space_new(&space, &error);
    for (size_t i = 0; status == EVOCC_OK && i < entries && i < ptx_entry_count(module); i++) {
        status = ptx_add_controls(space, module, ptx_entry_name(module, i), &limits, &error);
    }
    if (status != EVOCC_OK || space_finish(space, &error) != EVOCC_OK) {
        die(error.message);
    }
    return space;
}

/* ---- Candidates ------------------------------------------------------------------------------ */

typedef struct candidate {
    ptx_setting *settings;
    strbuf *values;
    size_t count, room;
} candidate;

static void draw(candidate *c, const evocc_space *space, uint64_t seed, bool dense)
{
    evocc_error error;
    rng random;
    rng_seed(&random, seed);
    c->room = space_count(space);
    c->count = 0;
    c->settings = checked(mem_alloc(c->room + 1, sizeof *c->settings));
    c->values = checked(mem_alloc(c->room + 1, sizeof *c->values));
    int32_t *genes = checked(mem_alloc(c->room + 1, sizeof *genes));
    for (size_t i = 0; i < c->room && dense; i++) {
        uint64_t size = (uint64_t)space_get(space, i)->size;
        genes[i] = (int32_t)rng_below(&random, size + 1) - 1;
    }
    bool good = dense ? space_repair(space, &random, genes)
                      : space_sample(space, &random, genes, &error) == EVOCC_OK;
    for (size_t i = 0; i < c->room && good; i++) {
        if (genes[i] != SPACE_ABSENT) {
            space_value_text(&c->values[i], space_get(space, i), genes[i]);
            c->settings[c->count].name = space_get(space, i)->name;
            c->settings[c->count++].value = strbuf_text(&c->values[i]);
        }
    }
    mem_free(genes);
}

static void candidate_dispose(candidate *c)
{
    for (size_t i = 0; i < c->room; i++) {
        strbuf_dispose(&c->values[i]);
    }
    mem_free(c->values);
    mem_free(c->settings);
}

static size_t passes_of(const candidate *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t length = strcspn(c->settings[i].name, "@") + 1;
        count += i == 0 || strncmp(c->settings[i].name, c->settings[i - 1].name, length) != 0;
    }
    return count;
}

/* ---- Comparing builds ------------------------------------------------------------------------ */

static void digest_line(const char *path, const char *what, const strbuf *text)
{
    char digest[HASH_SHA256_TEXT];
    hash_sha256(digest, strbuf_text(text), text->length);
    printf("%s %s %s\n", digest, path_base(path), what);
}

static void digest_controls(const char *path, const evocc_space *space)
{
    strbuf text = {0};
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        strbuf_printf(&text, "%s %d %.17g", control->full_name, control->default_index,
                      control->knockout);
        for (int32_t k = 0; k < control->size; k++) {
            strbuf_putc(&text, ' ');
            space_value_text(&text, control, k);
        }
        strbuf_putc(&text, '\n');
    }
    digest_line(path, "controls", &text);
    strbuf_dispose(&text);
}

static void digest_candidate(const char *path, const ptx_module *module, const evocc_space *space,
                             int number)
{
    evocc_error error;
    candidate c;
    strbuf text = {0};
    char what[32];
    draw(&c, space, (uint64_t)number, number % 2 == 1);
    if (ptx_rewrite(&text, module, c.settings, c.count, &error) != EVOCC_OK) {
        strbuf_puts(&text, error.message);
    }
    snprintf(what, sizeof what, "%d", number);
    digest_line(path, what, &text);
    strbuf_dispose(&text);
    candidate_dispose(&c);
}

static void digest(const char *path, int candidates)
{
    size_t length;
    strbuf normal = {0};
    char *text = read_text(path, &length);
    ptx_module *module = parse(text, length);
    evocc_space *space = controls_of(module, ptx_entry_count(module));
    digest_controls(path, space);
    ptx_normal_form(&normal, module);
    digest_line(path, "normal", &normal);
    for (int i = 0; i < candidates && space_count(space) > 0; i++) {
        digest_candidate(path, module, space, i);
    }
    strbuf_dispose(&normal);
    space_free(space);
    ptx_free(module);
    mem_free(text);
}

/* ---- Large modules --------------------------------------------------------------------------- */

static bool is_word_byte(char c)
{
    return c != '\0' &&
           strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%", c) != NULL;
}

/* Copies text with every word that begins with one of `prefixes` (registers, labels) made
   different: "%r12" becomes "%r7_12". */
static void put_renamed(strbuf *out, const char *text, const char *end, size_t number)
{
    while (text < end) {
        const char *word = text;
        while (text < end && is_word_byte(*text)) {
            text++;
        }
        const char *digits = text;
        while (digits > word && digits[-1] >= '0' && digits[-1] <= '9') {
            digits--;
        }
        bool label = text - word > 4 && strncmp(word, "$L__", 4) == 0;
        bool named = *word == '%' && (digits < text || *text == '<') && digits - word <= 3;
        if (label || named) {
            strbuf_append(out, word, (size_t)(digits - word));
            strbuf_printf(out, "%zu_", number);
            strbuf_append(out, digits, (size_t)(text - digits));
        } else {
            strbuf_append(out, word, (size_t)(text - word));
        }
        if (text < end) {
            strbuf_putc(out, *text++);
        }
    }
}

typedef struct parts {
    const char *entry, *name, *name_end, *body, *last, *end;
} parts;

/* The one entry of a file as Triton writes them. */
static parts parts_of(const char *text)
{
    parts p = {.entry = strstr(text, ".visible .entry ")};
    p.name = p.entry == NULL ? NULL : p.entry + strlen(".visible .entry ");
    p.name_end = p.name == NULL ? NULL : strchr(p.name, '(');
    p.body = p.name_end == NULL ? NULL : strstr(p.name_end, "\n{");
    p.last = p.body == NULL ? NULL : strstr(p.body, "\tret;");
    p.end = p.last == NULL ? NULL : strstr(p.last, "\n}");
    if (p.end == NULL) {
        die("no entry in it as Triton writes them");
    }
    p.body += 2;
    p.end += 2;
    return p;
}

static void make_large(strbuf *out, const char *text, bool one_entry)
{
    parts p = parts_of(text);
    size_t head = (size_t)(p.entry - text);
    strbuf_append(out, text, one_entry ? (size_t)(p.body - text) : head);
    for (size_t i = 0; out->length < LARGE_BYTES; i++) {
        if (one_entry) {
            put_renamed(out, p.body, p.last, i);
        } else {
            strbuf_append(out, p.entry, (size_t)(p.name_end - p.entry));
            strbuf_printf(out, "_%zu", i);
            put_renamed(out, p.name_end, p.end, i);
            strbuf_putc(out, '\n');
        }
    }
    if (one_entry) {
        strbuf_puts(out, "\tret;\n}\n");
    }
    checked(out->data);
}

/* ---- Times ----------------------------------------------------------------------------------- */

static void line(const char *what, double seconds, size_t bytes)
{
    printf("| %s | %.3f | %.1f |\n", what, seconds * 1e3, (double)bytes / 1e6 / seconds);
    fflush(stdout);
}

static void time_reading(const char *text, size_t length, int runs)
{
    double parsing = 1e9, naming = 1e9;
    char name[PTX_NAME_SIZE];
    for (int i = 0; i < runs; i++) {
        double start = cpu_s();
        ptx_module *module = parse(text, length);
        double parsed = cpu_s();
        ptx_normal_name(name, module);
        double named = cpu_s();
        parsing = parsed - start < parsing ? parsed - start : parsing;
        naming = named - parsed < naming ? named - parsed : naming;
        ptx_free(module);
    }
    line("parse", parsing, length);
    line("name", naming, length);
}

static double time_listing(const ptx_module *module, size_t entries, int runs)
{
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double start = cpu_s();
        space_free(controls_of(module, entries));
        double used = cpu_s() - start;
        best = used < best ? used : best;
    }
    return best;
}

static double time_candidate(const ptx_module *module, const candidate *c, int runs)
{
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        evocc_error error;
        strbuf out = {0};
        double start = cpu_s();
        if (ptx_rewrite(&out, module, c->settings, c->count, &error) != EVOCC_OK) {
            die(error.message);
        }
        double used = cpu_s() - start;
        best = used < best ? used : best;
        strbuf_dispose(&out);
    }
    return best;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Candidates as a search draws them, over the controls of the first entry. */
static void time_rewriting(const ptx_module *module, size_t length, int candidates, int runs)
{
    evocc_space *space = controls_of(module, 1);
    double times[CANDIDATES], sum = 0, passes = 0;
    for (int i = 0; i < candidates; i++) {
        candidate c;
        draw(&c, space, (uint64_t)i, false);
        times[i] = time_candidate(module, &c, runs);
        sum += times[i];
        passes += (double)passes_of(&c);
        candidate_dispose(&c);
    }
    qsort(times, (size_t)candidates, sizeof *times, by_value);
    char what[128];
    snprintf(what, sizeof what, "rewrite, %d sampled candidates, mean (%.1f passes)", candidates,
             passes / candidates);
    line(what, sum / candidates, length);
    line("rewrite, median of them", times[candidates / 2], length);
    line("rewrite, slowest of them", times[candidates - 1], length);
    space_free(space);
}

/* One value of every kind named, for all of the first entry. */
static void time_fixed(const ptx_module *module, size_t length, int runs)
{
    static const char *const kinds[][2] = {
        {"load-cache", "cg"}, {"remat", "all2"}, {"sink", "any"},   {"reassociate", "left"},
        {"mad", "split"},     {"shift", "mul"},  {"order", "late"}, {"maxnreg", "240"}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    strbuf names[KINDS] = {0};
    ptx_setting settings[KINDS];
    evocc_space *space = controls_of(module, 1);
    size_t count = 0;
    for (size_t i = 0; i < KINDS; i++) {
        strbuf_printf(&names[i], "ptx/%s@%s", kinds[i][0], ptx_entry_name(module, 0));
        size_t control = space_find(space, strbuf_text(&names[i]));
        int32_t value;
        evocc_error error;
        if (control != MAP_NONE &&
            space_value_parse(&value, space_get(space, control), kinds[i][1], &error) == EVOCC_OK) {
            settings[count++] = (ptx_setting){strbuf_text(&names[i]) + 4, kinds[i][1]};
        }
    }
    const candidate c = {.settings = settings, .count = count};
    char what[64];
    snprintf(what, sizeof what, "rewrite, %zu entry-wide controls", count);
    line(what, time_candidate(module, &c, runs), length);
    for (size_t i = 0; i < KINDS; i++) {
        strbuf_dispose(&names[i]);
    }
    space_free(space);
}

static void time_module(const char *name, const char *text, size_t length, bool large)
{
    int runs = large ? LARGE_RUNS : RUNS;
    ptx_module *module = parse(text, length);
    size_t entries = ptx_entry_count(module);
    printf("\n%s: %.2f MB, %zu entries\n\n| what | CPU ms | MB/s |\n| --- | --- | --- |\n", name,
           (double)length / 1e6, entries);
    time_reading(text, length, runs);
    line("list the controls of all entries", time_listing(module, entries, runs), length);
    if (entries > 1) {
        line("list the controls of one", time_listing(module, 1, runs), length);
    }
    time_rewriting(module, length, large ? 8 : CANDIDATES, large ? 1 : runs);
    time_fixed(module, length, runs);
    ptx_free(module);
}

static void time_all(const char *path)
{
    size_t length;
    char *text = read_text(path, &length);
    time_module(path_base(path), text, length, false);
    for (int one = 0; one <= 1; one++) {
        strbuf large = {0};
        make_large(&large, text, one == 1);
        time_module(one == 1 ? "one large entry" : "many entries", large.data, large.length, true);
        strbuf_dispose(&large);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("\npeak memory %.0f MB\n", (double)usage.ru_maxrss / 1024);
    mem_free(text);
}

int main(int argc, char **argv)
{
    if (argc == 2 && argv[1][0] != '-') {
        time_all(argv[1]);
    } else if (argc == 4 && strcmp(argv[1], "--write") == 0) {
        size_t length;
        strbuf large = {0};
        char *text = read_text(argv[3], &length);
        make_large(&large, text, strcmp(argv[2], "entry") == 0);
        fwrite(large.data, 1, large.length, stdout);
        strbuf_dispose(&large);
        mem_free(text);
    } else if (argc > 3 && strcmp(argv[1], "--digest") == 0) {
        for (int i = 3; i < argc; i++) {
            digest(argv[i], atoi(argv[2]));
        }
    } else {
        fprintf(stderr, "usage: bench_ptx [--digest N | --write KIND] FILE.ptx...\n");
        return 2;
    }
    return 0;
}
