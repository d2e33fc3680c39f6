#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void make_one_line(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) {
            *text = c == '\n' || c == '\t' ? ' ' : '?';
        }
    }
}

EVOCC_PRINTF(4, 0)
static void set_message(evocc_error *error, evocc_status status, int os_errno, const char *format,
                        va_list arguments)
{
    error->status = status;
    error->os_errno = os_errno;
    int length = vsnprintf(error->message, sizeof error->message, format, arguments);
    if (length < 0) {
        error->message[0] = '\0';
    }
    if (os_errno != 0) {
        size_t used = strlen(error->message);
        snprintf(error->message + used, sizeof error->message - used, ": %s", strerror(os_errno));
    }
    make_one_line(error->message);
}

evocc_status error_set(evocc_error *error, evocc_status status, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        set_message(error, status, 0, format, arguments);
        va_end(arguments);
    }
    return status;
}

evocc_status error_set_os(evocc_error *error, evocc_status status, int os_errno, const char *format,
                          ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        set_message(error, status, os_errno, format, arguments);
        va_end(arguments);
    }
    return status;
}

void error_prefix(evocc_error *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    char old[EVOCC_ERROR_SIZE];
    memcpy(old, error->message, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    size_t used = length < 0 ? 0 : strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, ": %s", old);
    make_one_line(error->message);
}

evocc_status error_no_memory(evocc_error *error)
{
    return error_set(error, EVOCC_NO_MEMORY, "out of memory");
}

static const struct {
    evocc_status status;
    const char *name;
} status_names[] = {
    {EVOCC_OK, "ok"},
    {EVOCC_INVALID_ARGUMENT, "invalid_argument"},
    {EVOCC_NO_MEMORY, "no_memory"},
    {EVOCC_IO, "io"},
    {EVOCC_PARSE, "parse"},
    {EVOCC_NOT_FOUND, "not_found"},
    {EVOCC_MISMATCH, "mismatch"},
    {EVOCC_BUSY, "busy"},
    {EVOCC_DAMAGED, "damaged"},
    {EVOCC_UNSUPPORTED, "unsupported"},
    {EVOCC_PROCESS, "process"},
    {EVOCC_TIMEOUT, "timeout"},
    {EVOCC_INTERRUPTED, "interrupted"},
    {EVOCC_EXHAUSTED, "exhausted"},
    {EVOCC_WAIT, "wait"},
    {EVOCC_DONE, "done"},
    {EVOCC_REFUSED, "refused"},
};

const char *evocc_status_name(evocc_status status)
{
    for (size_t i = 0; i < sizeof status_names / sizeof status_names[0]; i++) {
        if (status_names[i].status == status) {
            return status_names[i].name;
        }
    }
    return "unknown";
}

static const char *const outcome_names[EVOCC_OUTCOME_COUNT] = {
    [EVOCC_OUTCOME_OK] = "ok",
    [EVOCC_OUTCOME_REJECTED] = "rejected",
    [EVOCC_OUTCOME_COMPILE_FAILED] = "compile_failed",
    [EVOCC_OUTCOME_COMPILE_TIMEOUT] = "compile_timeout",
    [EVOCC_OUTCOME_COMPILER_CRASHED] = "compiler_crashed",
    [EVOCC_OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
    [EVOCC_OUTCOME_LAUNCH_FAILED] = "launch_failed",
    [EVOCC_OUTCOME_RUN_TIMEOUT] = "run_timeout",
    [EVOCC_OUTCOME_GPU_FAULT] = "gpu_fault",
    [EVOCC_OUTCOME_WRONG_OUTPUT] = "wrong_output",
    [EVOCC_OUTCOME_UNSTABLE] = "unstable",
    [EVOCC_OUTCOME_CANCELLED] = "cancelled",
};

const char *evocc_outcome_name(evocc_outcome outcome)
{
    return (int)outcome >= 0 && (int)outcome < EVOCC_OUTCOME_COUNT ? outcome_names[outcome] : NULL;
}

evocc_status evocc_outcome_parse(evocc_outcome *out, const char *name, evocc_error *error)
{
    for (int i = 0; i < EVOCC_OUTCOME_COUNT; i++) {
        if (strcmp(outcome_names[i], name) == 0) {
            *out = (evocc_outcome)i;
            return EVOCC_OK;
        }
    }
    return error_set(error, EVOCC_PARSE, "no outcome is called '%s'", name);
}

#define TEXT_OF(x) #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *evocc_version(void)
{
    return VERSION_TEXT(EVOCC_VERSION_MAJOR, EVOCC_VERSION_MINOR, EVOCC_VERSION_PATCH);
}
