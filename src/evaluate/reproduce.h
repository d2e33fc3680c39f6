/* reproduce.h: what a person types to see again what became of a candidate. */
#ifndef EVALUATE_REPRODUCE_H
#define EVALUATE_REPRODUCE_H

#include "evaluate/evaluate.h"

/* mem_free; NULL: out of memory. */
char *reproduce_command(const evaluate_static_options *o, const int32_t *genes);

#endif
