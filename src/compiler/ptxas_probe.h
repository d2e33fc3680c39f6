/* ptxas_probe.h: the controls that the ptxas at hand accepts. */
#ifndef COMPILER_PTXAS_PROBE_H
#define COMPILER_PTXAS_PROBE_H

#include "compiler/compiler.h"

evocc_status ptxas_make_space(evocc_space **out, launcher *l, const compiler_identity *identity,
                              const char *arch, char *const *base, size_t base_count,
                              evocc_error *error);

/* Appends the word that sets a control to a value. */
void ptxas_render_value(compiler_command *command, const space_control *control, int32_t index);

#endif
