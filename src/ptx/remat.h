/*
 * remat.h: what the passes slice, remat and sink share: values as sites, and a choice for each
 * value.
 */
#ifndef PTX_REMAT_H
#define PTX_REMAT_H

#include "ptx/graft.h"
#include "ptx/pass.h"

/* Does one value of the function as chosen; `value` is the index of the pass's value. */
typedef void ptx_remat_visitor(ptx_graft *graft, uint32_t register_id, int32_t value);

/* True when the pass has anything to do for a value. */
typedef bool ptx_remat_filter(const ptx_facts *facts, uint32_t register_id);

/* Adds the wide control and one for each value that `filter` lets through, at most
   PTX_REMAT_SITES. The first of the values must be "off". */
enum { PTX_REMAT_SITES = 96 };
evocc_status ptx_remat_enumerate(ptx_catalogue *catalogue, const char *const *values,
                                 int32_t value_count, ptx_remat_filter *filter,
                                 const char *site_help);

/* Visits every value that is not off, in the order of the definitions. */
evocc_status ptx_remat_apply(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                             size_t count, const char *const *values, int32_t value_count,
                             ptx_remat_visitor *visit, evocc_error *error);

/* True when block b lies in a loop that the block of the definition is not in. */
bool ptx_remat_is_deeper(const ptx_facts *facts, uint32_t definition_block, uint32_t b);

#endif
