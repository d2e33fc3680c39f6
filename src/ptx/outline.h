/*
 * outline.h: the checker's view of what is not code.
 */
#ifndef PTX_OUTLINE_H
#define PTX_OUTLINE_H

#include "ptx/module.h"

/* Module level and headers, token by token, less what checker.h lets differ. */
evocc_status ptx_compare_outlines(const ptx_module *a, const ptx_module *b, evocc_error *error);

/* Variables declared within bodies: the same texts in the same order. */
evocc_status ptx_compare_variables(const ptx_module *a, const ptx_module *b, evocc_error *error);

#endif
