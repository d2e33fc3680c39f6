/*
 * ptxas_options.c: the options of `ptxas --help`, 11.8 to 13.5, and how a command line is read.
 *
 * Observed with 13.0.88 (tests/compiler/test_ptxas_options.c asks the ptxas at hand again):
 *   - a long name follows "--", a short one "-"; they are not mixed and never abbreviated;
 *   - a value follows as "=value" or as the next word, whatever that begins with;
 *   - -O and -m take their number attached, too; -O never as the next word, and alone means 0;
 *   - flags take no value, booleans always need one, lower case;
 *   - given again, an option takes its last value, a list grows.
 * Reading is strict: what ptxas itself would understand in an odd way (hexadecimal numbers, empty
 * words) is "not understood", and the command then passes through untouched.
 */
#include "compiler/ptxas_options.h"

#include "util/error.h"
#include "util/mem.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ptxas_option options[] = {
    {"Ofast-compile", "Ofc", PTXAS_WORD, PTXAS_CODE, "0"},
    {"allow-expensive-optimizations", "allow-expensive-optimizations", PTXAS_BOOL, PTXAS_CODE,
     NULL},
    {"apply-controls", "apply-controls", PTXAS_WORD, PTXAS_REFUSED, NULL},
    {"compile-as-tools-patch", "astoolspatch", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"compile-only", "c", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"compiler-annotations", "annotate", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"def-load-cache", "dlcm", PTXAS_WORD, PTXAS_CODE, NULL},
    {"def-store-cache", "dscm", PTXAS_WORD, PTXAS_CODE, NULL},
    {"device-debug", "g", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"device-function-maxrregcount", "func-maxrregcount", PTXAS_LIMIT, PTXAS_CODE, NULL},
    {"device-stack-protector", "device-stack-protector", PTXAS_BOOL, PTXAS_CODE, "false"},
    {"disable-optimizer-constants", "disable-optimizer-consts", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"disable-warnings", "w", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"dont-merge-basicblocks", "no-bb-merge", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"enable-func-clone-sc", "enable-func-clone-sc", PTXAS_BOOL, PTXAS_CODE, "false"},
    {"entry", "e", PTXAS_LIST, PTXAS_CODE, NULL},
    {"extensible-whole-program", "ewp", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"fmad", "fmad", PTXAS_BOOL, PTXAS_CODE, "true"},
    {"force-load-cache", "flcm", PTXAS_WORD, PTXAS_CODE, NULL},
    {"force-store-cache", "fscm", PTXAS_WORD, PTXAS_CODE, NULL},
    {"g-tensor-memory-access-check", "g-tmem-access-check", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"generate-line-info", "lineinfo", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"gno-fabric-access-check", "gno-fabric-access-check", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"gpu-name", "arch", PTXAS_WORD, PTXAS_ARCH, NULL},
    {"help", "h", PTXAS_FLAG, PTXAS_REFUSED, NULL},
    {"input-as-string", "ias", PTXAS_LIST, PTXAS_REFUSED, NULL},
    {"jobserver", "jobserver", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", PTXAS_FLAG, PTXAS_CODE,
     NULL},
    {"list-arch", "arch-ls", PTXAS_FLAG, PTXAS_REFUSED, NULL},
    {"list-version", "version-ls", PTXAS_FLAG, PTXAS_REFUSED, NULL},
    {"machine", "m", PTXAS_NUMBER, PTXAS_CODE, "64"},
    {"make-errors-visible-at-exit", "make-errors-visible-at-exit", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"maxntid", "maxntid", PTXAS_LIST, PTXAS_CODE, NULL},
    {"maxrregcount", "maxrregcount", PTXAS_LIMIT, PTXAS_CODE, NULL},
    {"minnctapersm", "minnctapersm", PTXAS_NUMBER, PTXAS_CODE, NULL},
    {"opt-level", "O", PTXAS_NUMBER, PTXAS_CODE, "3"},
    {"optimize-float-atomics", "opt-fp-atomics", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"options-file", "optf", PTXAS_LIST, PTXAS_REFUSED, NULL},
    {"output-file", "o", PTXAS_WORD, PTXAS_OUTPUT, NULL},
    {"override-directive-values", "override-directive-values", PTXAS_FLAG, PTXAS_CODE, NULL},
    /* Its default depends on what is compiled, so that an explicit false is not the same. */
    {"position-independent-code", "pic", PTXAS_BOOL, PTXAS_CODE, NULL},
    {"preserve-relocs", "preserve-relocs", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"register-usage-level", "regUsageLevel", PTXAS_NUMBER, PTXAS_CODE, "5"},
    {"return-at-end", "ret-end", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"sanitize", "sanitize", PTXAS_WORD, PTXAS_CODE, NULL},
    {"sp-bounds-check", "sp-bounds-check", PTXAS_FLAG, PTXAS_CODE, NULL},
    {"split-compile", "split-compile", PTXAS_NUMBER, PTXAS_CODE, "1"},
    {"suppress-async-bulk-multicast-advisory-warning",
     "suppress-async-bulk-multicast-advisory-warning", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"suppress-debug-info", "suppress-debug-info", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"suppress-double-demote-warning", "suppress-double-demote-warning", PTXAS_FLAG, PTXAS_NO_CODE,
     NULL},
    {"suppress-position-independent-code-warning", "suppress-position-independent-code-warning",
     PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", PTXAS_FLAG,
     PTXAS_NO_CODE, NULL},
    {"suppress-stack-size-warning", "suppress-stack-size-warning", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"verbose", "v", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"verbose2", "v2", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"version", "V", PTXAS_FLAG, PTXAS_REFUSED, NULL},
    {"warn-on-double-precision-use", "warn-double-usage", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"warn-on-local-memory-usage", "warn-lmem-usage", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"warn-on-spills", "warn-spills", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
    {"warning-as-error", "Werror", PTXAS_FLAG, PTXAS_NO_CODE, NULL},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

/* ---- One word ---------------------------------------------------------------------------- */

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

static bool is_opt_level(const ptxas_option *option)
{
    return strcmp(option->short_name, "O") == 0;
}

/* -O3, -m64: the only options whose value may follow without anything between. */
static const ptxas_option *find_attached(const char *text)
{
    if ((text[0] != 'O' && text[0] != 'm') || !isdigit((unsigned char)text[1])) {
        return NULL;
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (is_name(options[i].short_name, text, 1)) {
            return &options[i];
        }
    }
    return NULL;
}

/* *value: what is in the word itself, or NULL. */
static const ptxas_option *split_word(const char *word, const char **value)
{
    *value = NULL;
    if (word[0] != '-' || word[1] == '\0') {
        return NULL;
    }
    bool is_long = word[1] == '-';
    const char *text = word + (is_long ? 2 : 1);
    size_t length = strcspn(text, "=");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (is_name(is_long ? options[i].long_name : options[i].short_name, text, length)) {
            *value = text[length] == '=' ? text + length + 1 : NULL;
            return &options[i];
        }
    }
    const ptxas_option *attached = is_long ? NULL : find_attached(text);
    *value = attached != NULL ? text + 1 : NULL;
    return attached;
}

const ptxas_option *ptxas_option_of(const char *word)
{
    const char *value;
    return split_word(word, &value);
}

/* Digits as a person writes a number; other spellings of it would make equal bases differ. */
static bool is_plain_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 9 && text[digits] == '\0' && (text[0] != '0' || digits == 1);
}

static bool is_plain_word(const char *text, const char *more)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr(more, *c) == NULL) {
            return false;
        }
    }
    return text[0] != '\0';
}

static bool is_list(const char *text)
{
    size_t length = strlen(text);
    return is_plain_word(text, ",_$.%") && text[0] != ',' && text[length - 1] != ',' &&
           strstr(text, ",,") == NULL;
}

static bool is_value(const ptxas_option *option, const char *value)
{
    switch (option->form) {
    case PTXAS_FLAG:
        return false;
    case PTXAS_BOOL:
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    case PTXAS_NUMBER:
        return is_plain_number(value);
    case PTXAS_LIMIT:
        return is_plain_number(value) || strcmp(value, "archmax") == 0 ||
               strcmp(value, "archmin") == 0;
    case PTXAS_WORD:
        return option->effect == PTXAS_OUTPUT ? value[0] != '\0' : is_plain_word(value, "_");
    case PTXAS_LIST:
        return is_list(value);
    }
    return false;
}

/* ---- A command line ---------------------------------------------------------------------- */

typedef struct reader {
    compiler_invocation *out;
    const char *arch;
    bool given[OPTION_COUNT];
    strbuf values[OPTION_COUNT]; /* of options that affect code */
} reader;

/* The first reason stays. */
static void EVOCC_PRINTF(2, 3) refuse(compiler_invocation *out, const char *format, ...)
{
    if (out->understood) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(out->why_not, sizeof out->why_not, format, arguments);
        va_end(arguments);
    }
    out->understood = false;
}

static void take_value(reader *r, const ptxas_option *option, const char *value)
{
    size_t index = (size_t)(option - options);
    strbuf *kept = &r->values[index];
    if (option->form == PTXAS_LIST && r->given[index]) {
        strbuf_putc(kept, ',');
    } else {
        strbuf_clear(kept);
    }
    strbuf_puts(kept, value != NULL ? value : "");
    r->given[index] = true;
}

static void take_option(reader *r, const ptxas_option *option, const char *value, const char *word)
{
    if (option->effect == PTXAS_REFUSED) {
        refuse(r->out, "%s does more than compile", word);
    } else if (value != NULL && !is_value(option, value)) {
        refuse(r->out, "the value of %s is not one that evocc knows", word);
    } else if (option->effect == PTXAS_ARCH) {
        r->arch = value;
    } else if (option->effect == PTXAS_OUTPUT) {
        r->out->output = value;
    } else if (option->effect == PTXAS_CODE) {
        take_value(r, option, value);
    }
}

static void take_input(reader *r, const char *word, size_t index)
{
    if (r->out->input != NULL) {
        refuse(r->out, "more than one input file: %s", word);
    } else if (strcmp(word, "-") == 0 || word[0] == '\0') {
        refuse(r->out, "the input is no file: '%s'", word);
    } else {
        r->out->input = word;
        r->out->input_index = index;
    }
}

static void read_words(reader *r, size_t count, char *const *argv)
{
    for (size_t i = 0; i < count; i++) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0') {
            take_input(r, word, i);
            continue;
        }
        const char *value;
        const ptxas_option *option = split_word(word, &value);
        if (option == NULL) {
            refuse(r->out, "option %s is not one that evocc knows", word);
            return;
        }
        if (option->form != PTXAS_FLAG && value == NULL) {
            bool alone = is_opt_level(option) && word[1] != '-';
            if (!alone && i + 1 == count) {
                refuse(r->out, "%s lacks its value", word);
                return;
            }
            value = alone ? "0" : argv[++i];
        }
        take_option(r, option, value, word);
    }
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The canonical words, sorted; options at their documented default are no difference. */
static evocc_status collect_base(reader *r, evocc_error *error)
{
    compiler_invocation *out = r->out;
    out->base = mem_alloc(OPTION_COUNT, sizeof *out->base);
    if (out->base == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *value = strbuf_text(&r->values[i]);
        if (r->values[i].failed) {
            return error_no_memory(error);
        }
        if (!r->given[i] ||
            (options[i].default_value != NULL && strcmp(options[i].default_value, value) == 0)) {
            continue;
        }
        strbuf word = {0};
        strbuf_printf(&word, "--%s%s%s", options[i].long_name,
                      options[i].form == PTXAS_FLAG ? "" : "=", value);
        char *text = strbuf_take(&word);
        if (text == NULL) {
            return error_no_memory(error);
        }
        out->base[out->base_count++] = text;
    }
    qsort(out->base, out->base_count, sizeof *out->base, compare_words);
    return EVOCC_OK;
}

/* Virtual architectures make no machine code. */
static void check_arch(reader *r)
{
    if (r->arch != NULL && strncmp(r->arch, "sm_", 3) != 0) {
        refuse(r->out, "%s makes no machine code", r->arch);
    }
}

evocc_status ptxas_read_command(compiler_invocation *out, int argc, char *const *argv,
                                evocc_error *error)
{
    reader r = {.out = out};
    *out = (compiler_invocation){.understood = true};
    read_words(&r, argc > 0 ? (size_t)argc : 0, argv);
    check_arch(&r);
    if (out->understood && out->input == NULL) {
        refuse(out, "no input file");
    }
    evocc_status status = collect_base(&r, error);
    if (status == EVOCC_OK) {
        out->arch = mem_strdup(r.arch != NULL ? r.arch : "");
        status = out->arch != NULL ? EVOCC_OK : error_no_memory(error);
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        strbuf_dispose(&r.values[i]);
    }
    if (status != EVOCC_OK) {
        compiler_invocation_dispose(out);
    }
    return status;
}
