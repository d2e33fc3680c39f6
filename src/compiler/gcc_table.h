/* gcc_table.h: what an option that gcc lists may do to a program. */
#ifndef COMPILER_GCC_TABLE_H
#define COMPILER_GCC_TABLE_H

#include <stdbool.h>

typedef enum gcc_effect {
    GCC_EXACT,
    GCC_ASSUMES,  /* exact where the user's options assume as much: may only be switched off */
    GCC_ROUNDING, /* changes results, or is not known not to */
    GCC_LEFT_OUT  /* no matter for a search */
} gcc_effect;

/* "fipa-cp", "mbranch-cost". */
gcc_effect gcc_effect_of(const char *name);
/* "max-unroll-times" */
gcc_effect gcc_effect_of_parameter(const char *name);

/* One of -falign-...= */
bool gcc_is_alignment(const char *name);

#endif
