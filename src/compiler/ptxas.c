/* ptxas.c: the PTX assembler as a compiler of ours. */
#include "compiler/compiler.h"

#include "compiler/ptxas_identity.h"
#include "compiler/ptxas_options.h"
#include "compiler/ptxas_probe.h"
#include "compiler/ptxas_stats.h"

static void render(compiler_command *command, const evocc_space *space, const int32_t *genes)
{
    for (size_t i = 0; i < space_count(space); i++) {
        const space_control *control = space_get(space, i);
        if (control->stage == SPACE_STAGE_PTXAS && genes[i] != SPACE_ABSENT) {
            ptxas_render_value(command, control, genes[i]);
        }
    }
}

const compiler compiler_ptxas = {
    .name = "ptxas",
    .stage = SPACE_STAGE_PTXAS,
    .identify = ptxas_identify,
    .make_space = ptxas_make_space,
    .render = render,
    .read_stats = ptxas_read_stats,
    .read_command = ptxas_read_command,
};
