/* explain_mix.h: how often an entry has each class of instruction. */
#ifndef CLI_EXPLAIN_MIX_H
#define CLI_EXPLAIN_MIX_H

#include "util/launcher.h"
#include "util/strbuf.h"

typedef enum mix_class {
    MIX_GLOBAL_LOAD,
    MIX_GLOBAL_STORE,
    MIX_SHARED,
    MIX_LOCAL,
    MIX_ASYNC_COPY,
    MIX_ATOMIC,
    MIX_TENSOR,
    MIX_FLOAT,
    MIX_INTEGER,
    MIX_MOVE,
    MIX_CONTROL,
    MIX_BARRIER,
    MIX_OTHER
} mix_class;
enum { MIX_CLASS_COUNT = MIX_OTHER + 1 };
const char *mix_class_name(mix_class class);

typedef struct instruction_mix {
    size_t counts[MIX_CLASS_COUNT];
    size_t total;
} instruction_mix;

/* Of the body of one entry in normalised PTX (ptx_normal_form). */
void mix_of_ptx(instruction_mix *out, const char *normal, const char *entry);

/* Of one entry in what nvdisasm -c or cuobjdump -sass print. */
void mix_of_sass(instruction_mix *out, const char *text, const char *entry);

/* The disassembler: nvdisasm or cuobjdump beside the compiler, else on PATH; mem_free.
 *is_cuobjdump tells which. EVOCC_NOT_FOUND: neither. */
evocc_status mix_find_disassembler(char **out, bool *is_cuobjdump, const char *compiler,
                                   evocc_error *error);

#endif
