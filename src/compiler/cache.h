/*
 * cache.h: what was learned about a compiler, kept in ${XDG_CACHE_HOME:-~/.cache}/evocc/.
 *
 * A cache only saves time: every failure here (no home, no right to write, a damaged or foreign
 * file) reads as "nothing is known", and the compiler is asked again.
 */
#ifndef COMPILER_CACHE_H
#define COMPILER_CACHE_H

#include "util/strbuf.h"

/* The text stored under this kind ("ptxas-identity") and key, one line of any length; NULL when
   there is none. mem_free. */
char *cache_load(const char *kind, const char *key);

void cache_store(const char *kind, const char *key, const char *text);

#endif
