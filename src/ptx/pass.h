/*
 * pass.h: what a rewriting pass is. A new pass is one file and one row of the table in passes.c.
 *
 * A control of a pass is "name@entry" (the wide form) or "name@entry.site" (one site, an exception
 * to the wide form where both take the same values). Passes run in the order of the table, each on
 * the text the one before left; block numbers mean the original text, so a pass that changes the
 * blocks comes behind those that number them.
 */
#ifndef PTX_PASS_H
#define PTX_PASS_H

#include "ptx/edit.h"

/* One setting of a pass, split: "order@fa.b4" has entry "fa" and site "b4". */
typedef struct ptx_choice {
    const ptx_setting *setting;
    const ptx_function *function; /* in the module the pass works on */
    const char *site;             /* "" for the wide form */
    const ptx_module *original;   /* whose sites are meant, where the pass before changed them */
    const ptx_function *original_function;
} ptx_choice;

typedef struct ptx_pass ptx_pass;

/* Where enumerate puts the controls it finds. */
typedef struct ptx_catalogue {
    evocc_space *space;
    const ptx_module *module;
    const ptx_function *function;
    const ptx_limits *limits;
    const ptx_pass *pass;
    evocc_error *error;
    int32_t wide;            /* index of the wide control just added; SPACE_ABSENT: none */
    space_numerics numerics; /* of the controls to be added; at first the pass's own */
    int8_t unrolls_exactly;  /* see ptx_catalogue_unrolling; negative: not known yet */
} ptx_catalogue;

struct ptx_pass {
    const char *name;   /* "order" */
    const char *help;   /* what it does, when it matters */
    const char *source; /* the section of the PTX ISA */
    /* Not searched by itself, and why; NULL: searched. Can still be set by hand. */
    const char *off_because;
    double sampled;  /* how often a random candidate uses the wide form; 0: seldom */
    int min_version; /* PTX version it needs, 90 for 9.0; .version is raised to it; 0: any */
    space_numerics numerics; /* other than exact: listed only when the limits allow it */
    /* Adds the controls of one entry, the wide form first. */
    evocc_status (*enumerate)(ptx_catalogue *catalogue);
    /* Turns the choices (all of this pass, in the caller's order) into edits. A site that does not
       exist is EVOCC_NOT_FOUND, a value outside the domain EVOCC_INVALID_ARGUMENT. */
    evocc_status (*apply)(ptx_edits *edits, const ptx_module *module, const ptx_choice *choices,
                          size_t count, evocc_error *error);
};

/* The passes in the order in which they run; NULL past the last. */
const ptx_pass *ptx_pass_at(size_t index);

/* Adds "name@entry.site" with these values (site "": the wide form). default_index as in space.h.
   `sites` is how many there are of the kind: the more, the rarer each is sampled. */
evocc_status ptx_catalogue_add(ptx_catalogue *catalogue, const char *site,
                               const char *const *values, int32_t value_count,
                               int32_t default_index, size_t sites, const char *help);

/* For passes that change how often ptxas unrolls loops: *offered false when that may change results
   (ptx_unrolls_exactly) and the limits do not allow it. Where they do, what is added from here on
   is marked so. */
evocc_status ptx_catalogue_unrolling(bool *offered, ptx_catalogue *catalogue);

/* The number in a site "v12"; reports EVOCC_NOT_FOUND when the site is not prefix and number. */
evocc_status ptx_choice_number(uint32_t *out, const ptx_module *module, const ptx_choice *choice,
                               const char *prefix, evocc_error *error);
evocc_status ptx_no_site(const ptx_module *module, const ptx_setting *setting, evocc_error *error);

/* The block a site "b4" names; reports EVOCC_NOT_FOUND otherwise. */
evocc_status ptx_choice_block(uint32_t *out, const ptx_module *module, const ptx_choice *choice,
                              evocc_error *error);

/* Index of the value among the domain's; reports EVOCC_INVALID_ARGUMENT otherwise. */
evocc_status ptx_choice_value(int32_t *out, const ptx_choice *choice, const char *const *values,
                              int32_t value_count, evocc_error *error);

/* The first statement behind a block's labels: what stands before them belongs to no path into it.
 */
uint32_t ptx_block_body(const ptx_module *module, const ptx_block *block);

/* The statement before which something at the start of a block goes: behind its label. */
uint32_t ptx_block_start(const ptx_module *module, const ptx_block *block);

extern const ptx_pass ptx_pass_load_cache;
extern const ptx_pass ptx_pass_store_cache;
extern const ptx_pass ptx_pass_copy_cache;
extern const ptx_pass ptx_pass_maxnreg;
extern const ptx_pass ptx_pass_minnctapersm;
extern const ptx_pass ptx_pass_smem_spill;
extern const ptx_pass ptx_pass_range;
extern const ptx_pass ptx_pass_coherent;
extern const ptx_pass ptx_pass_vector;
extern const ptx_pass ptx_pass_slice;
extern const ptx_pass ptx_pass_remat;
extern const ptx_pass ptx_pass_sink;
extern const ptx_pass ptx_pass_mad;
extern const ptx_pass ptx_pass_shift;
extern const ptx_pass ptx_pass_reassociate;
extern const ptx_pass ptx_pass_field;
extern const ptx_pass ptx_pass_lop3;
extern const ptx_pass ptx_pass_swap;
extern const ptx_pass ptx_pass_divide;
extern const ptx_pass ptx_pass_root;
extern const ptx_pass ptx_pass_flush;
extern const ptx_pass ptx_pass_contract;
extern const ptx_pass ptx_pass_unroll;
extern const ptx_pass ptx_pass_convert;
extern const ptx_pass ptx_pass_polarity;
extern const ptx_pass ptx_pass_order;
extern const ptx_pass ptx_pass_fence;
extern const ptx_pass ptx_pass_frequency;

#endif
