/*
 * ptxas_probe.c: the built-in space `ptxas`, less what the compiler at hand rejects for a target.
 *
 * The compiler decides: a small kernel is compiled with the options of the space. Batch v of the
 * first round holds the v-th value of every control, so that a ptxas that knows them all is done
 * after a handful of runs; a batch that fails is halved until the culprits stand alone. Options
 * that exclude each other merely cost more rounds.
 *
 * What was rejected is cached under the compiler's identity, the target and the text of the space.
 */
#include "compiler/ptxas_probe.h"

#include "compiler/cache.h"
#include "compiler/ptxas_options.h"
#include "compiler/runs.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <inttypes.h>
#include <string.h>

static const char cache_kind[] = "ptxas-probe";
static const char space_name[] = "ptxas";
static const double deadline_s = 60.0;
enum { CHOICES_MAX = 64 };

/* One value of one control. */
typedef struct probe {
    size_t control;
    int32_t value;
} probe;

typedef struct batch {
    probe *probes; /* borrowed from prober.probes */
    size_t count;
} batch;

typedef struct prober {
    const evocc_space *space;
    const compiler_identity *identity;
    const char *arch;
    launcher *launcher;
    probe *probes; /* ordered by batch */
    size_t probe_count;
    bool *rejected; /* by control */
    char *input;
} prober;

/* ---- Options of controls ----------------------------------------------------------------- */

void ptxas_render_value(compiler_command *command, const space_control *control, int32_t index)
{
    strbuf word = {0};
    const char *hole = strstr(control->option, "{}");
    if (hole == NULL) {
        strbuf_puts(&word, control->option);
    } else {
        strbuf_append(&word, control->option, (size_t)(hole - control->option));
        space_value_text(&word, control, index);
        strbuf_puts(&word, hole + 2);
    }
    command->failed = command->failed || word.failed;
    compiler_command_add(command, strbuf_text(&word));
    strbuf_dispose(&word);
}

/* Which values to try: all of a few, the ends of a range. */
static int32_t tried_count(const space_control *control)
{
    bool listed = control->kind == SPACE_CHOICE || control->kind == SPACE_BOOL;
    if (listed) {
        return control->size < CHOICES_MAX ? control->size : CHOICES_MAX;
    }
    return control->size > 1 ? 2 : 1;
}

static int32_t tried_value(const space_control *control, int32_t which)
{
    bool listed = control->kind == SPACE_CHOICE || control->kind == SPACE_BOOL;
    return listed || which == 0 ? which : control->size - 1;
}

/* ---- Batches ----------------------------------------------------------------------------- */

/* Worth a question: meant for this release and target, and not listed only for the curious. */
static bool is_candidate(const prober *p, const space_control *control)
{
    const char *version = p->identity->version[0] != '\0' ? p->identity->version : NULL;
    return control->off_because == NULL && space_control_admits(control, version, p->arch);
}

static int32_t questions(const prober *p, const space_control *control)
{
    return is_candidate(p, control) ? tried_count(control) : 0;
}

/* The batches of the first round, in one array; *count of them. The first is empty: the kernel has
   to compile by itself before an option can be blamed. */
static batch *first_round(prober *p, size_t *count)
{
    size_t controls = space_count(p->space);
    int32_t most = 0;
    size_t total = 0;
    for (size_t i = 0; i < controls; i++) {
        int32_t tried = questions(p, space_get(p->space, i));
        most = tried > most ? tried : most;
        total += (size_t)tried;
    }
    p->probes = mem_alloc(total + 1, sizeof *p->probes);
    batch *batches = mem_alloc((size_t)most + 1, sizeof *batches);
    if (p->probes == NULL || batches == NULL) {
        mem_free(batches);
        return NULL;
    }
    batches[0] = (batch){p->probes, 0};
    for (int32_t which = 0; which < most; which++) {
        batch *b = &batches[which + 1];
        b->probes = p->probes + p->probe_count;
        for (size_t i = 0; i < controls; i++) {
            const space_control *control = space_get(p->space, i);
            if (which < questions(p, control)) {
                b->probes[b->count++] = (probe){i, tried_value(control, which)};
            }
        }
        p->probe_count += b->count;
    }
    *count = (size_t)most + 1;
    return batches;
}

static void make_command(compiler_command *command, const prober *p, const batch *b, size_t number)
{
    strbuf output = {0};
    strbuf_printf(&output, "probe-%zu.cubin", number);
    compiler_command_add(command, p->identity->path);
    compiler_command_add(command, "-arch");
    compiler_command_add(command, p->arch);
    for (size_t i = 0; i < b->count; i++) {
        ptxas_render_value(command, space_get(p->space, b->probes[i].control), b->probes[i].value);
    }
    compiler_command_add(command, p->input);
    compiler_command_add(command, "-o");
    compiler_command_add(command, strbuf_text(&output));
    command->failed = command->failed || output.failed;
    strbuf_dispose(&output);
}

/* Halves of the batches that failed, for the next round; culprits are marked. Returns how many. */
static size_t next_round(prober *p, batch *out, const batch *batches, const runs_item *runs,
                         size_t count)
{
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        const batch *b = &batches[i];
        if (b->count == 0 || runs_succeeded(&runs[i].result)) {
            continue;
        }
        if (b->count == 1) {
            p->rejected[b->probes[0].control] = true;
            continue;
        }
        size_t half = b->count / 2;
        out[next++] = (batch){b->probes, half};
        out[next++] = (batch){b->probes + half, b->count - half};
    }
    return next;
}

static evocc_status cannot_compile(const prober *p, const process_result *r, evocc_error *error)
{
    const char *said = r->errors != NULL ? r->errors : "";
    return error_set(error, EVOCC_UNSUPPORTED, "%s cannot compile an empty kernel for %s: %.*s",
                     p->identity->path, p->arch, (int)strcspn(said, "\n"),
                     said[0] != '\0' ? said : "(it said nothing)");
}

static evocc_status run_round(prober *p, batch **batches, size_t *count, bool first,
                              evocc_error *error)
{
    size_t run_count = *count;
    runs_item *runs = mem_alloc(run_count, sizeof *runs);
    batch *next = mem_alloc(run_count * 2, sizeof *next);
    evocc_status status = EVOCC_OK;
    if (runs == NULL || next == NULL) {
        status = error_no_memory(error);
        goto cleanup;
    }
    for (size_t i = 0; i < run_count; i++) {
        make_command(&runs[i].command, p, &(*batches)[i], i);
    }
    status = runs_execute(p->launcher, runs, run_count, deadline_s, error);
    if (status == EVOCC_OK && first && !runs_succeeded(&runs[0].result)) {
        status = cannot_compile(p, &runs[0].result, error);
    }
    if (status != EVOCC_OK) {
        goto cleanup;
    }
    *count = next_round(p, next, *batches, runs, run_count);
    mem_free(*batches);
    *batches = next;
    next = NULL;

cleanup:
    runs_dispose(runs, run_count);
    mem_free(runs);
    mem_free(next);
    return status;
}

static evocc_status write_kernel(prober *p, evocc_error *error)
{
    int version = p->identity->max_ptx_version > 0 ? p->identity->max_ptx_version : 70;
    strbuf text = {0};
    strbuf_printf(
        &text,
        ".version %d.%d\n.target %s\n.address_size 64\n"
        ".visible .entry probe(.param .u64 out)\n{\n    .reg .b64 %%rd<2>;\n"
        "    ld.param.u64 %%rd1, [out];\n    st.global.u64 [%%rd1], %%rd1;\n    ret;\n}\n",
        version / 10, version % 10, p->arch);
    p->input = path_join(launcher_folder(p->launcher), "probe.ptx");
    evocc_status status = text.failed || p->input == NULL
                              ? error_no_memory(error)
                              : file_write(p->input, text.data, text.length, error);
    strbuf_dispose(&text);
    return status;
}

/* Fills in p->rejected by asking the compiler. */
static evocc_status ask(prober *p, evocc_error *error)
{
    size_t count = 0;
    evocc_status status = write_kernel(p, error);
    batch *batches = status == EVOCC_OK ? first_round(p, &count) : NULL;
    if (status == EVOCC_OK && batches == NULL) {
        status = error_no_memory(error);
    }
    for (bool first = true; status == EVOCC_OK && count > 0; first = false) {
        status = run_round(p, &batches, &count, first, error);
    }
    mem_free(batches);
    return status;
}

/* ---- Cache ------------------------------------------------------------------------------- */

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

static char *cache_key(const prober *p)
{
    const compiler_identity *c = p->identity;
    strbuf key = {0};
    strbuf_printf(&key, "%" PRIu64 " %" PRId64 " %s %016" PRIx64 " %s %s", c->size_bytes,
                  c->modified_ns, p->arch, space_text_hash(), c->version_text, c->path);
    return strbuf_take(&key);
}

/* Names of rejected controls, one a line. */
static char *pack(const prober *p)
{
    strbuf text = {0};
    strbuf_puts(&text, "");
    for (size_t i = 0; i < space_count(p->space); i++) {
        if (p->rejected[i]) {
            strbuf_printf(&text, "%s\n", space_get(p->space, i)->full_name);
        }
    }
    return strbuf_take(&text);
}

static bool unpack(prober *p, char *text)
{
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end == NULL) {
            return false;
        }
        *end = '\0';
        size_t index = space_find(p->space, line);
        if (index == (size_t)-1) {
            return false;
        }
        p->rejected[index] = true;
        line = end + 1;
    }
    return true;
}

static evocc_status ask_with_launcher(prober *p, launcher *l, evocc_error *error)
{
    launcher *own = NULL;
    evocc_status status = l != NULL ? EVOCC_OK : launcher_new(&own, error);
    p->launcher = l != NULL ? l : own;
    if (status == EVOCC_OK) {
        status = ask(p, error);
    }
    launcher_free(own);
    p->launcher = NULL;
    return status;
}

static evocc_status find_rejected(prober *p, launcher *l, evocc_error *error)
{
    char *key = cache_key(p);
    char *known = key != NULL ? cache_load(cache_kind, key) : NULL;
    evocc_status status = EVOCC_OK;
    if (known == NULL || !unpack(p, known)) {
        memset(p->rejected, 0, space_count(p->space) * sizeof *p->rejected);
        status = ask_with_launcher(p, l, error);
        char *text = status == EVOCC_OK && key != NULL ? pack(p) : NULL;
        if (text != NULL) {
            cache_store(cache_kind, key, text);
        }
        mem_free(text);
    }
    mem_free(known);
    mem_free(key);
    return status;
}

/* ---- The space --------------------------------------------------------------------------- */

typedef struct filter {
    const prober *prober;
    char *const *base;
    size_t base_count;
} filter;

/* The user has decided this one. */
static bool is_in_base(const filter *f, const space_control *control)
{
    compiler_command word = {0};
    ptxas_render_value(&word, control, 0);
    const ptxas_option *option = word.count == 1 ? ptxas_option_of(word.argv[0]) : NULL;
    compiler_command_dispose(&word);
    bool found = false;
    for (size_t i = 0; i < f->base_count && option != NULL && !found; i++) {
        found = ptxas_option_of(f->base[i]) == option;
    }
    return found;
}

static bool keep(const space_control *control, void *context)
{
    const filter *f = context;
    size_t index = space_find(f->prober->space, control->full_name);
    return is_candidate(f->prober, control) && !f->prober->rejected[index] &&
           !is_in_base(f, control);
}

static evocc_status check_arch(const compiler_identity *identity, const char *arch,
                               evocc_error *error)
{
    return compiler_accepts_arch(identity, arch)
               ? EVOCC_OK
               : error_set(error, EVOCC_UNSUPPORTED,
                           "%s (%s) does not compile for %s; it knows: %s", identity->path,
                           identity->version[0] != '\0' ? identity->version : "unknown version",
                           arch, identity->archs);
}

evocc_status ptxas_make_space(evocc_space **out, launcher *l, const compiler_identity *identity,
                              const char *arch, char *const *base, size_t base_count,
                              evocc_error *error)
{
    evocc_space *all = NULL;
    evocc_space *space = NULL;
    prober p = {.identity = identity, .arch = arch};
    evocc_status status = check_arch(identity, arch, error);
    if (status == EVOCC_OK) {
        status = space_builtin_load(&all, space_name, error);
    }
    if (status == EVOCC_OK) {
        p.space = all;
        p.rejected = mem_alloc(space_count(all) + 1, sizeof *p.rejected);
        status = p.rejected != NULL ? find_rejected(&p, l, error) : error_no_memory(error);
    }
    if (status == EVOCC_OK) {
        status = space_new(&space, error);
    }
    if (status == EVOCC_OK) {
        filter f = {&p, base, base_count};
        status = space_add_all(space, all, keep, &f, error);
    }
    if (status == EVOCC_OK) {
        *out = space;
        space = NULL;
    }
    space_free(space);
    space_free(all);
    mem_free(p.rejected);
    mem_free(p.probes);
    mem_free(p.input);
    return status;
}
