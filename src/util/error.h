/*
 * util: what every room needs and no room owns. No word of tuning in here; includes nothing of
 * ours.
 *
 * error.h: filling the caller's evocc_error.
 */
#ifndef UTIL_ERROR_H
#define UTIL_ERROR_H

#include <evocc/evocc.h>

/* Writes status and message and returns status, so that `return error_set(...)` reads well.
   `error` may be NULL. The message is one line: control characters become '?'. */
evocc_status error_set(evocc_error *error, evocc_status status, const char *format, ...)
    EVOCC_PRINTF(3, 4);

/* The same, with ": " and the text of os_errno appended. */
evocc_status error_set_os(evocc_error *error, evocc_status status, int os_errno, const char *format,
                          ...) EVOCC_PRINTF(4, 5);

/* Puts "prefix: " before the message that is there. */
void error_prefix(evocc_error *error, const char *format, ...) EVOCC_PRINTF(2, 3);

/* EVOCC_NO_MEMORY with its message. */
evocc_status error_no_memory(evocc_error *error);

#endif
