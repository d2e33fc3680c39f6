#include "cli/cli.h"

#include "space/space.h"
#include "study/study.h"
#include "util/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct sample_values {
    const char *arch, *kernel, *ptxas;
    bool whole_module, allow_numerics, json;
    size_t count, seed;
} sample_values;

#define OFFSET(field) offsetof(sample_values, field)

static const cli_option options[] = {
    {"count", 'n', "N", CLI_COUNT, OFFSET(count), "how many candidates; default 5"},
    {"seed", 0, "N", CLI_SIZE, OFFSET(seed), "of the random generator; default 0"},
    {"arch", 0, "SM", CLI_TEXT, OFFSET(arch),
     "architecture to compile for; default: the file's own .target"},
    {"kernel", 0, "NAME", CLI_TEXT, OFFSET(kernel), "the .entry, where there are several"},
    {"whole-module", 0, NULL, CLI_FLAG, OFFSET(whole_module), "as for evocc tune"},
    {"allow-numerics", 0, NULL, CLI_FLAG, OFFSET(allow_numerics), "as for evocc tune"},
    {"ptxas", 0, "PATH", CLI_TEXT, OFFSET(ptxas), "the ptxas to use"},
    {"json", 0, NULL, CLI_FLAG, OFFSET(json), "one JSON object a line"},
};

static void append_json(strbuf *out, const evocc_space *space, const int32_t *genes)
{
    bool first = true;
    strbuf_putc(out, '{');
    for (size_t i = 0; i < space_count(space); i++) {
        if (genes[i] != SPACE_ABSENT) {
            const space_control *control = space_get(space, i);
            strbuf_printf(out, "%s\"%s\":\"", first ? "" : ",", control->full_name);
            space_value_text(out, control, genes[i]);
            strbuf_putc(out, '"');
            first = false;
        }
    }
    strbuf_puts(out, "}\n");
}

static evocc_status sample(strbuf *out, const evocc_space *space, const sample_values *v,
                           evocc_error *error)
{
    int32_t *genes = mem_alloc(space_count(space) + 1, sizeof *genes);
    rng generator;
    rng_seed(&generator, v->seed);
    evocc_status status = genes == NULL ? EVOCC_NO_MEMORY : EVOCC_OK;
    for (size_t i = 0; status == EVOCC_OK && i < (v->count == 0 ? 5 : v->count); i++) {
        status = space_sample(space, &generator, genes, error);
        if (status == EVOCC_OK && v->json) {
            append_json(out, space, genes);
        } else if (status == EVOCC_OK) {
            space_candidate_text(out, space, genes);
            strbuf_putc(out, '\n');
        }
    }
    mem_free(genes);
    return status;
}

static int run(const void *values, const cli_operands *operands)
{
    const sample_values *v = values;
    study_options o = {
        .input_path = operands->items[0],
        .arch = v->arch,
        .kernel = v->kernel,
        .whole_module = v->whole_module,
        .base = (const char *const *)operands->rest,
        .base_count = operands->rest_count,
        .workers = 1,
        .ptxas = v->ptxas,
        .allow_numerics = v->allow_numerics,
    };
    evocc_error error = {0};
    study *s = NULL;
    strbuf text = {0};
    evocc_status status = objective_list_add(&o.objectives, "code_bytes", false, &error);
    if (status == EVOCC_OK) {
        status = study_preview(&s, &o, &error);
    }
    if (status == EVOCC_OK) {
        status = sample(&text, study_space(s), v, &error);
    }
    int exit_status = status == EVOCC_OK ? cli_print(strbuf_text(&text), text.length)
                                         : cli_fail(&cli_sample, &error);
    strbuf_dispose(&text);
    study_free(s);
    return exit_status;
}

const cli_command cli_sample = {
    .name = "sample",
    .operands = "KERNEL.ptx [-- PTXAS OPTIONS]",
    .summary = "print random candidates of a kernel's search space",
    .text = "One candidate a line, in the form that evocc compile --with takes.",
    .examples = "  evocc sample kernel.ptx -n 5\n"
                "  evocc sample kernel.ptx -n 100 --json --seed 3\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .operands_min = 1,
    .operands_max = 1,
    .values_size = sizeof(sample_values),
    .run = run,
};
