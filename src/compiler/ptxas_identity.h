/* ptxas_identity.h: version, targets and newest PTX of a ptxas. */
#ifndef COMPILER_PTXAS_IDENTITY_H
#define COMPILER_PTXAS_IDENTITY_H

#include "compiler/compiler.h"

evocc_status ptxas_identify(compiler_identity *out, launcher *l, const char *path,
                            evocc_error *error);

#endif
