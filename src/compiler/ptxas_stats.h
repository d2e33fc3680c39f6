/* ptxas_stats.h: the statistics that `ptxas -v` prints. */
#ifndef COMPILER_PTXAS_STATS_H
#define COMPILER_PTXAS_STATS_H

#include "compiler/compiler.h"

evocc_status ptxas_read_stats(compiler_stats *out, const char *output, const char *errors,
                              evocc_error *error);

#endif
