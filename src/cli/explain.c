#include "cli/applied.h"
#include "cli/cli.h"
#include "cli/explain_mix.h"

#include "ptx/ptx.h"
#include "report/detail.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct explain_values {
    const char *ptxas;
    size_t threads, dynamic_shared;
    bool allow_numerics, json;
} explain_values;

#define OFFSET(field) offsetof(explain_values, field)

static const cli_option options[] = {
    {"threads", 0, "N", CLI_COUNT, OFFSET(threads),
     "threads of a block, for the occupancy; default: what .reqntid or .maxntid state, else 256"},
    {"dynamic-shared", 0, "BYTES", CLI_SIZE, OFFSET(dynamic_shared),
     "dynamic shared memory of a launch, for the occupancy; default 0"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas), "the ptxas to use"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics),
     "also explain files whose controls may change rounding"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "as JSON"},
};

/* ---- Occupancy ------------------------------------------------------------------------------- */

/* Of one multiprocessor: CUDA C++ Programming Guide 13.0, "Compute Capabilities", table "Technical
   Specifications". All of them have 65,536 registers, given out to a warp in units of 256, and keep
   1 KiB of shared memory a block from 8.0 on. */
typedef struct multiprocessor {
    int arch; /* sm_NN */
    int threads, blocks, shared_kib;
} multiprocessor;

static const multiprocessor multiprocessors[] = {
    {70, 2048, 32, 96},   {72, 2048, 32, 96},   {75, 1024, 16, 64},   {80, 2048, 32, 164},
    {86, 1536, 16, 100},  {87, 1536, 16, 164},  {89, 1536, 24, 100},  {90, 2048, 32, 228},
    {100, 2048, 32, 228}, {103, 2048, 32, 228}, {120, 1536, 24, 100}, {121, 1536, 24, 100},
};

static const multiprocessor *multiprocessor_of(const char *arch)
{
    int number = strncmp(arch, "sm_", 3) == 0 ? atoi(arch + 3) : 0;
    for (size_t i = 0; i < sizeof multiprocessors / sizeof multiprocessors[0]; i++) {
        if (multiprocessors[i].arch == number) {
            return &multiprocessors[i];
        }
    }
    return NULL;
}

typedef struct occupancy {
    int by_registers, by_shared, by_threads; /* blocks that each would allow */
    int blocks;
    double share; /* of the warps that fit at most */
} occupancy;

static occupancy occupancy_of(const multiprocessor *m, double registers, double shared_bytes,
                              int threads)
{
    enum {
        WARP = 32,
        UNIT = 8,
        FILE_SIZE = 65536,
        QUARTERS = 4,
        RESERVED = 1024,
        SHARED_UNIT = 128
    };
    occupancy o = {0};
    int warps = (threads + WARP - 1) / WARP;
    int per_warp = ((int)fmax(registers, 1) + UNIT - 1) / UNIT * UNIT * WARP;
    o.by_registers = FILE_SIZE / per_warp / QUARTERS * QUARTERS / warps;
    double shared = ceil(shared_bytes / SHARED_UNIT) * SHARED_UNIT + (m->arch >= 80 ? RESERVED : 0);
    o.by_shared = shared > 0 ? (int)(m->shared_kib * 1024 / shared) : m->blocks;
    o.by_shared = o.by_shared > m->blocks ? m->blocks : o.by_shared;
    o.by_threads = m->threads / (warps * WARP);
    o.by_threads = o.by_threads > m->blocks ? m->blocks : o.by_threads;
    o.blocks = o.by_registers < o.by_shared ? o.by_registers : o.by_shared;
    o.blocks = o.blocks < o.by_threads ? o.blocks : o.by_threads;
    o.share = (double)(o.blocks * warps) / (double)(m->threads / WARP);
    return o;
}

/* The product of .reqntid's or .maxntid's numbers in the head of the entry; 0: neither is there. */
static int stated_threads(const char *normal, const char *entry)
{
    static const char *const directives[] = {".reqntid ", ".maxntid "};
    size_t length = strlen(entry);
    const char *head = normal;
    while ((head = strstr(head, ".entry ")) != NULL &&
           (strncmp(head + 7, entry, length) != 0 || head[7 + length] != ' ')) {
        head += 7;
    }
    const char *end = head == NULL ? NULL : strchr(head, '{');
    for (size_t i = 0; end != NULL && i < 2; i++) {
        const char *at = strstr(head, directives[i]);
        if (at == NULL || at > end) {
            continue;
        }
        long product = 1;
        at += strlen(directives[i]);
        for (bool more = true; more;) {
            char *next = NULL;
            long number = strtol(at, &next, 10);
            product *= number > 0 && number <= 1024 ? number : 1;
            next += strspn(next, " ");
            more = *next == ',';
            at = next + more;
        }
        return product <= 1024 ? (int)product : 0;
    }
    return 0;
}

/* ---- Both sides ------------------------------------------------------------------------------ */

typedef struct side {
    evaluate_result result;
    instruction_mix mix;
} side;

typedef struct explanation {
    applied a;
    side before, after;
    bool has_mix, of_sass;
    char entry[256];
    int threads;
    bool threads_assumed;
    report_help help;
} explanation;

static double metric(const side *s, int which)
{
    return s->result.metrics[which];
}

static evocc_status evaluate_side(side *out, study *s, const char *candidate, evocc_error *error)
{
    evocc_status status = study_evaluate(&out->result, s, candidate, error);
    if (status == EVOCC_OK && out->result.outcome != EVOCC_OUTCOME_OK) {
        status = error_set(error, EVOCC_PROCESS, "%s: %s", evocc_outcome_name(out->result.outcome),
                           out->result.detail);
    }
    return status;
}

/* The PTX as ptxas sees it under a candidate, in normal form. */
static evocc_status normal_form(strbuf *out, const explanation *e, bool tuned, evocc_error *error)
{
    const acf *file = e->a.file;
    ptx_module *module = NULL;
    ptx_module *rewritten = NULL;
    strbuf text = {0};
    size_t count = 0;
    ptx_setting *settings = mem_alloc(file->control_count + 1, sizeof *settings);
    evocc_status status = settings == NULL
                              ? error_no_memory(error)
                              : ptx_parse(&module, e->a.ptx, e->a.ptx_length, "the kernel", error);
    for (size_t i = 0; tuned && settings != NULL && i < file->control_count; i++) {
        if (strncmp(file->controls[i].full_name, "ptx/", 4) == 0) {
            settings[count++] =
                (ptx_setting){file->controls[i].full_name + 4, file->controls[i].value};
        }
    }
    if (status == EVOCC_OK) {
        status = ptx_rewrite(&text, module, settings, count, error);
    }
    if (status == EVOCC_OK && text.failed) {
        status = error_no_memory(error);
    }
    if (status == EVOCC_OK) {
        status = ptx_parse(&rewritten, text.data, text.length, "the rewritten kernel", error);
    }
    if (status == EVOCC_OK) {
        ptx_normal_form(out, rewritten);
        status = out->failed ? error_no_memory(error) : EVOCC_OK;
    }
    ptx_free(module);
    ptx_free(rewritten);
    strbuf_dispose(&text);
    mem_free(settings);
    return status;
}

static evocc_status mix_from_ptx(explanation *e, const explain_values *v, evocc_error *error)
{
    strbuf normal[2] = {{0}};
    evocc_status status = EVOCC_OK;
    for (int i = 0; status == EVOCC_OK && i < 2; i++) {
        status = normal_form(&normal[i], e, i == 1, error);
    }
    if (status == EVOCC_OK) {
        mix_of_ptx(&e->before.mix, strbuf_text(&normal[0]), e->entry);
        mix_of_ptx(&e->after.mix, strbuf_text(&normal[1]), e->entry);
        e->has_mix = true;
        int stated = stated_threads(strbuf_text(&normal[0]), e->entry);
        e->threads_assumed = v->threads == 0 && stated == 0;
        e->threads = v->threads > 0 ? (int)v->threads : stated > 0 ? stated : 256;
    }
    strbuf_dispose(&normal[0]);
    strbuf_dispose(&normal[1]);
    return status;
}

static evocc_status disassemble(side *out, explanation *e, launcher *l, const char *program,
                                bool is_cuobjdump, const char *candidate, evocc_error *error)
{
    char *code = NULL;
    size_t length = 0;
    char *path = path_join(launcher_folder(l), "code.cubin");
    process_result result = {0};
    evocc_status status = path == NULL
                              ? error_no_memory(error)
                              : study_compile(&code, &length, e->a.study, candidate, error);
    if (status == EVOCC_OK) {
        status = file_write(path, code, length, error);
    }
    if (status == EVOCC_OK) {
        const char *argv[] = {program, is_cuobjdump ? "-sass" : "-c", path, NULL};
        const process_request request = {
            .argv = argv, .deadline_s = 60, .output_limit = (size_t)64 << 20};
        status = launcher_run(l, &result, &request, error);
    }
    if (status == EVOCC_OK) {
        mix_of_sass(&out->mix, result.output, e->entry);
    }
    process_result_dispose(&result);
    mem_free(code);
    mem_free(path);
    return status;
}

/* Machine code is counted where there is a disassembler that understands it; else PTX stays. */
static evocc_status mix_from_sass(explanation *e, evocc_error *error)
{
    char *program = NULL;
    bool is_cuobjdump = false;
    launcher *l = NULL;
    side before = {0};
    side after = {0};
    evocc_status status =
        mix_find_disassembler(&program, &is_cuobjdump, study_compiler_path(e->a.study), NULL);
    if (status == EVOCC_NOT_FOUND) {
        return EVOCC_OK;
    }
    if (status == EVOCC_OK) {
        status = launcher_new(&l, error);
    }
    if (status == EVOCC_OK) {
        status = disassemble(&before, e, l, program, is_cuobjdump, "", error);
    }
    if (status == EVOCC_OK) {
        status = disassemble(&after, e, l, program, is_cuobjdump, e->a.candidate, error);
    }
    if (status == EVOCC_OK && before.mix.total > 0 && after.mix.total > 0) {
        e->before.mix = before.mix;
        e->after.mix = after.mix;
        e->of_sass = true;
    }
    launcher_free(l);
    mem_free(program);
    return status;
}

static evocc_status explain(explanation *e, const explain_values *v, const cli_operands *operands,
                            evocc_error *error)
{
    objective_list objectives = {0};
    const applied_options o = {.acf_path = operands->items[0],
                               .input_path = operands->items[1],
                               .ptxas = v->ptxas,
                               .objectives = &objectives,
                               .allow_numerics = v->allow_numerics,
                               .any_version = true};
    evocc_status status = objective_list_add(&objectives, "code_bytes", false, error);
    if (status == EVOCC_OK) {
        status = applied_open(&e->a, &o, error);
    }
    if (status == EVOCC_OK) {
        status = evaluate_side(&e->before, e->a.study, "", error);
    }
    if (status == EVOCC_OK) {
        status = evaluate_side(&e->after, e->a.study, e->a.candidate, error);
    }
    if (status == EVOCC_OK && strcmp(e->a.file->target.kernel, ACF_ALL_KERNELS) != 0) {
        snprintf(e->entry, sizeof e->entry, "%s", e->a.file->target.kernel);
        status = mix_from_ptx(e, v, error);
        if (status == EVOCC_OK) {
            status = mix_from_sass(e, error);
        }
    }
    return status;
}

/* ---- What is shown --------------------------------------------------------------------------- */

static void put_row(strbuf *out, const char *name, double before, double after)
{
    strbuf_printf(out, "  %-24s", name);
    const double values[] = {before, after};
    for (int i = 0; i < 2; i++) {
        char text[32] = "unknown";
        if (!isnan(values[i])) {
            snprintf(text, sizeof text, "%.10g", values[i]);
        }
        strbuf_printf(out, " %10s", text);
    }
    if (!isnan(before) && !isnan(after) && before != after) {
        strbuf_printf(out, " %+10.10g", after - before);
    }
    strbuf_putc(out, '\n');
}

static const int shown_metrics[] = {EVALUATE_REGISTERS, EVALUATE_SPILL_BYTES, EVALUATE_STACK_BYTES,
                                    EVALUATE_CODE_BYTES, EVALUATE_SHARED_BYTES};
enum { SHOWN_COUNT = sizeof shown_metrics / sizeof shown_metrics[0] };

static bool both_occupancies(occupancy out[2], const explanation *e, size_t dynamic_shared)
{
    const multiprocessor *m = multiprocessor_of(e->a.file->target.arch);
    const side *sides[] = {&e->before, &e->after};
    for (int i = 0; m != NULL && e->threads > 0 && i < 2; i++) {
        double shared = metric(sides[i], EVALUATE_SHARED_BYTES);
        out[i] = occupancy_of(m, metric(sides[i], EVALUATE_REGISTERS),
                              (isnan(shared) ? 0 : shared) + (double)dynamic_shared, e->threads);
    }
    return m != NULL && e->threads > 0;
}

static void put_occupancy(strbuf *out, const explanation *e, const explain_values *v)
{
    occupancy o[2];
    if (!both_occupancies(o, e, v->dynamic_shared)) {
        strbuf_printf(out, "\nOccupancy: not known for %s\n", e->a.file->target.arch);
        return;
    }
    strbuf_printf(
        out,
        "\nOccupancy of a multiprocessor of %s: blocks of %d threads%s, %zu bytes of dynamic "
        "shared memory\n",
        e->a.file->target.arch, e->threads, e->threads_assumed ? " (assumed: say --threads)" : "",
        v->dynamic_shared);
    put_row(out, "blocks by registers", o[0].by_registers, o[1].by_registers);
    put_row(out, "blocks by shared memory", o[0].by_shared, o[1].by_shared);
    put_row(out, "blocks by threads", o[0].by_threads, o[1].by_threads);
    put_row(out, "blocks that fit", o[0].blocks, o[1].blocks);
    put_row(out, "warps, % of the most", round(100 * o[0].share), round(100 * o[1].share));
}

static void put_mix(strbuf *out, const explanation *e)
{
    if (!e->has_mix) {
        return;
    }
    strbuf_printf(
        out, "\nInstructions of %s%s\n", e->of_sass ? "the machine code" : "the PTX",
        e->of_sass ? "" : ", before ptxas (no nvdisasm or cuobjdump was found to count its own)");
    for (int i = 0; i < MIX_CLASS_COUNT; i++) {
        if (e->before.mix.counts[i] + e->after.mix.counts[i] > 0) {
            put_row(out, mix_class_name((mix_class)i), (double)e->before.mix.counts[i],
                    (double)e->after.mix.counts[i]);
        }
    }
    put_row(out, "all", (double)e->before.mix.total, (double)e->after.mix.total);
}

static void put_text(strbuf *out, explanation *e, const explain_values *v)
{
    size_t count;
    const evaluate_metric_info *infos = evaluate_metrics(&count);
    const acf_target *target = &e->a.file->target;
    strbuf_printf(out, "%s, %s, %s %s%s%s\n\n  %-24s %10s %10s %10s\n", target->kernel,
                  target->arch, target->compiler, e->a.version,
                  *e->a.differences == '\0' ? "" : "; ", e->a.differences, "", "without", "with",
                  "change");
    for (size_t i = 0; i < SHOWN_COUNT; i++) {
        put_row(out, infos[shown_metrics[i]].name, metric(&e->before, shown_metrics[i]),
                metric(&e->after, shown_metrics[i]));
    }
    put_occupancy(out, e, v);
    put_mix(out, e);
    strbuf_printf(out, "\nControls (%zu)\n", e->a.file->control_count);
    const char *before = NULL;
    for (size_t i = 0; i < e->a.file->control_count; i++) {
        const acf_control *control = &e->a.file->controls[i];
        const char *help = report_help_of(&e->help, control->full_name);
        strbuf_printf(out, "  %s = %s\n", control->full_name, control->value);
        if (help != before && *help != '\0') {
            strbuf_printf(out, "      %s\n", help);
        }
        before = help;
    }
}

static void json_pair(strbuf *out, const char *name, double before, double after, bool first)
{
    strbuf_puts(out, first ? "" : ",");
    strbuf_json_string(out, name);
    strbuf_puts(out, ":{\"without\":");
    strbuf_number(out, before);
    strbuf_puts(out, ",\"with\":");
    strbuf_number(out, after);
    strbuf_putc(out, '}');
}

static void put_json(strbuf *out, explanation *e, const explain_values *v)
{
    size_t count;
    occupancy o[2];
    const evaluate_metric_info *infos = evaluate_metrics(&count);
    strbuf_puts(out, "{\"metrics\":{");
    for (size_t i = 0; i < SHOWN_COUNT; i++) {
        json_pair(out, infos[shown_metrics[i]].name, metric(&e->before, shown_metrics[i]),
                  metric(&e->after, shown_metrics[i]), i == 0);
    }
    strbuf_puts(out, "},\"occupancy\":");
    if (both_occupancies(o, e, v->dynamic_shared)) {
        strbuf_printf(out, "{\"threads\":%d,\"threads_assumed\":%s", e->threads,
                      e->threads_assumed ? "true" : "false");
        json_pair(out, "blocks_by_registers", o[0].by_registers, o[1].by_registers, false);
        json_pair(out, "blocks_by_shared", o[0].by_shared, o[1].by_shared, false);
        json_pair(out, "blocks_by_threads", o[0].by_threads, o[1].by_threads, false);
        json_pair(out, "blocks", o[0].blocks, o[1].blocks, false);
        json_pair(out, "share_of_warps", o[0].share, o[1].share, false);
        strbuf_putc(out, '}');
    } else {
        strbuf_puts(out, "null");
    }
    strbuf_printf(out, ",\"instructions_of\":\"%s\",\"instructions\":{",
                  e->of_sass ? "sass" : "ptx");
    for (int i = 0; e->has_mix && i < MIX_CLASS_COUNT; i++) {
        json_pair(out, mix_class_name((mix_class)i), (double)e->before.mix.counts[i],
                  (double)e->after.mix.counts[i], i == 0);
    }
    strbuf_puts(out, "},\"controls\":[");
    for (size_t i = 0; i < e->a.file->control_count; i++) {
        const acf_control *control = &e->a.file->controls[i];
        strbuf_puts(out, i == 0 ? "{\"name\":" : ",{\"name\":");
        strbuf_json_string(out, control->full_name);
        strbuf_puts(out, ",\"value\":");
        strbuf_json_string(out, control->value);
        strbuf_puts(out, ",\"help\":");
        strbuf_json_string(out, report_help_of(&e->help, control->full_name));
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "]}\n");
}

static int run(const void *values, const cli_operands *operands)
{
    const explain_values *v = values;
    evocc_error error = {0};
    explanation e = {.has_mix = false};
    strbuf text = {0};
    int exit_status;
    if (v->threads > 1024) {
        fprintf(stderr, "evocc explain: a block has at most 1024 threads (evocc explain --help)\n");
        return CLI_USAGE;
    }
    if (explain(&e, v, operands, &error) != EVOCC_OK) {
        exit_status = cli_fail(&cli_explain, &error);
    } else {
        (v->json ? put_json : put_text)(&text, &e, v);
        exit_status = text.failed ? CLI_FAILED : cli_print(strbuf_text(&text), text.length);
    }
    strbuf_dispose(&text);
    report_help_dispose(&e.help);
    evaluate_result_dispose(&e.before.result);
    evaluate_result_dispose(&e.after.result);
    applied_dispose(&e.a);
    return exit_status;
}

const cli_command cli_explain = {
    .name = "explain",
    .operands = "FILE.acf KERNEL.ptx",
    .summary = "what an ACF does to a kernel: registers, spills, instructions",
    .text =
        "Compiles the kernel without and with the file's controls and shows both side by side: "
        "registers, spills, code size, how many blocks fit on a multiprocessor and what bounds "
        "them, how often each class of instruction occurs, and what each control does. "
        "Instructions are those of the machine code where nvdisasm or cuobjdump is found beside "
        "ptxas or on PATH, else those of the PTX.",
    .examples = "  evocc explain best.acf kernel.ptx\n"
                "  evocc explain best.acf kernel.ptx --threads 128 --dynamic-shared 98304\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 2,
    .operands_max = 2,
    .values_size = sizeof(explain_values),
    .run = run,
};
