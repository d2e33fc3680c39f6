/*
 * ptx: lexer, module model, normal form, sites, dependences, rewriting passes.
 * May use util and space. Source: the PTX ISA, version named beside each rule.
 *
 * An unchanged module prints back byte for byte. Rewriting never changes what a kernel computes
 * (controls with other numerics are marked so, and absent unless asked for).
 */
#ifndef PTX_PTX_H
#define PTX_PTX_H

#include "space/space.h"

typedef struct ptx_module ptx_module;

/* `name` is what messages call the text: "kernel.ptx:12:3: ...". The text is copied. Empty text, a
   missing .version or .target and a non-ASCII byte (ptxas 12.8 and later refuse it) are EVOCC_PARSE
   with line, column and the remedy. */
evocc_status ptx_parse(ptx_module **out, const char *text, size_t length, const char *name,
                       evocc_error *error);
void ptx_free(ptx_module *module);

/* The module's own text, byte for byte. */
void ptx_print(strbuf *out, const ptx_module *module);

/* Version as major * 10 + minor (87 for 8.7), 0 when unreadable; first target ("sm_90a"). */
int ptx_version(const ptx_module *module);
const char *ptx_target(const ptx_module *module);

size_t ptx_entry_count(const ptx_module *module); /* .entry with a body */
const char *ptx_entry_name(const ptx_module *module, size_t index);

/* Blocks are numbered from 0 within an entry: one begins at the body, at a label that an
   instruction names, and behind bra, brx, ret, exit and trap; a stretch without instructions joins
   the next. */

/* True when the entry states how many threads a block may have (.maxntid or .reqntid). */
bool ptx_entry_bounds_threads(const ptx_module *module, const char *entry);

/* *out false: in some function whether ptxas joins a product without stated rounding with a sum
   (fma) may depend on whether it unrolls a loop, so levels of optimisation that do not unroll
   change the last bits of results (docs/ptx-safety.md, "Loops"). */
evocc_status ptx_unrolling_is_exact(bool *out, const ptx_module *module, evocc_error *error);

/* True when some instruction of the module has this opcode, whatever its modifiers ("setmaxnreg").
 */
bool ptx_uses_opcode(const ptx_module *module, const char *name);

/* Normalised PTX v1 (design: token stream without comments, white space, .file, .loc and debug
   sections, one space between tokens), and its name "evocc-ptx-1:" + 64 hexadecimal digits. */
void ptx_normal_form(strbuf *out, const ptx_module *module);
#define PTX_NAME_SIZE 80
void ptx_normal_name(char out[PTX_NAME_SIZE], const ptx_module *module);
/* The same of a text that was not parsed, in a fraction of the time and without memory. The tokens
   alone are looked at (EVOCC_PARSE when they are none of PTX): that there is a module in them is
   for ptx_parse to say. */
evocc_status ptx_name_text(char out[PTX_NAME_SIZE], const char *text, size_t length,
                           const char *name, evocc_error *error);

typedef struct ptx_limits {
    int max_version;     /* newest .version the ptxas at hand reads, as ptx_version; 0: unknown */
    bool allow_numerics; /* also list controls that may change results */
    bool searched_only;  /* leave out what is off by itself (space_control.off_because) */
    /* The kinds to look for, which costs time for each; NULL: all. */
    bool (*wants)(const void *context, const char *kind);
    const void *context;
} ptx_limits;

/* Adds the controls of one entry to a space that is not finished, each with stage ptx, help, PTX
   ISA section, parent and group. A name is a kind, an entry and, for an exception to the wide form,
   a site of the original text: "order@fa", its fifth block "order@fa.b4", that block's second
   eligible load "load-cache@fa.b4.ld1" (st, cp likewise), the fourth value with a single pure
   definition "slice@fa.v3", a loop by its header "unroll@fa.loop.b4". */
evocc_status ptx_add_controls(evocc_space *space, const ptx_module *module, const char *entry,
                              const ptx_limits *limits, evocc_error *error);

/* A kind of control: one rewriting pass. */
typedef struct ptx_kind {
    const char *name;        /* "order": of controls "order@entry" and "order@entry.site" */
    const char *help;        /* what it does, when it matters */
    const char *source;      /* the section of the PTX ISA that allows it */
    const char *off_because; /* not searched by itself, and why; NULL: searched */
    int min_version;         /* PTX version it needs, 90 for 9.0; 0: any */
} ptx_kind;

/* The kinds in the order in which they are applied; false past the last. */
bool ptx_kind_at(ptx_kind *out, size_t index);

/* The kind of a control's name, "order" for "order@fa.b4"; false when there is none. */
bool ptx_kind_of(ptx_kind *out, const char *control);

/* One control and the text of its value, as in a candidate or an ACF. */
typedef struct ptx_setting {
    const char *name; /* "order@fa.b4" */
    const char *value;
} ptx_setting;

/* The rewritten text. Settings that name no site of this module, or values outside the domain, are
   EVOCC_NOT_FOUND or EVOCC_INVALID_ARGUMENT and nothing is written. No settings: the text itself.
 */
evocc_status ptx_rewrite(strbuf *out, const ptx_module *module, const ptx_setting *settings,
                         size_t count, evocc_error *error);

/* How much of an entry the order pass may move, and what pins the rest. */
typedef struct ptx_mobility {
    size_t instructions;
    size_t movable; /* have another legal place in their block */
    size_t pinned_count;
    struct {
        const char *reason; /* "barrier", "wgmma", "volatile", ... */
        size_t instructions;
    } pinned[24];
} ptx_mobility;
evocc_status ptx_measure_mobility(ptx_mobility *out, const ptx_module *module, const char *entry,
                                  evocc_error *error);

#endif
