/* driver_command.c: a user's command line of gcc or clang, read. */
#include "compiler/driver.h"

#include "util/error.h"
#include "util/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options ----------------------------------------------------------------------------- */

static bool begins(const char *word, const char *prefix)
{
    return strncmp(word, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0) {
            return true;
        }
    }
    return false;
}

static bool begins_with_one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (begins(word, *list)) {
            return true;
        }
    }
    return false;
}

/* Options whose value is the next word when they stand alone (GCC 13 manual, "Option Summary";
   clang 19, "Clang command line argument reference"). */
static const char *const with_value[] = {"-o",
                                         "-x",
                                         "-I",
                                         "-D",
                                         "-U",
                                         "-L",
                                         "-l",
                                         "-T",
                                         "-u",
                                         "-z",
                                         "-e",
                                         "-A",
                                         "-B",
                                         "-F",
                                         "-include",
                                         "-imacros",
                                         "-isystem",
                                         "-iquote",
                                         "-idirafter",
                                         "-iprefix",
                                         "-iwithprefix",
                                         "-iwithprefixbefore",
                                         "-isysroot",
                                         "-imultilib",
                                         "-MF",
                                         "-MT",
                                         "-MQ",
                                         "-MJ",
                                         "-Xlinker",
                                         "-Xassembler",
                                         "-Xpreprocessor",
                                         "-Xclang",
                                         "-mllvm",
                                         "--param",
                                         "-target",
                                         "-arch",
                                         "-aux-info",
                                         "-dumpbase",
                                         "-dumpbase-ext",
                                         "-dumpdir",
                                         "-wrapper",
                                         "-specs",
                                         "--sysroot",
                                         "-framework",
                                         "-ivfsoverlay",
                                         "-working-directory",
                                         "--serialize-diagnostics",
                                         "-serialize-diagnostics",
                                         "-gcc-toolchain",
                                         "-cxx-isystem",
                                         "-iframework",
                                         NULL};

/* Beginning so, an option prints something or does something else than machine code. */
static const char *const asking[] = {"--version", "--help",   "--target-help", "-dump",
                                     "-print-",   "--print-", "-###",          "-fsyntax-only",
                                     "--analyze", "-emit-",   "--precompile",  NULL};

/* -f options that speak to people, or name places. */
static const char *const talk[] = {"-fdiagnostics",
                                   "-fno-diagnostics",
                                   "-fmessage-length",
                                   "-fcolor-diagnostics",
                                   "-fno-color-diagnostics",
                                   "-fmax-errors",
                                   "-ferror-limit",
                                   "-fansi-escape-codes",
                                   "-fcaret-diagnostics",
                                   "-fno-caret-diagnostics",
                                   "-fshow-column",
                                   "-fno-show-column",
                                   "-fmacro-backtrace-limit",
                                   "-ftemplate-backtrace-limit",
                                   "-fmacro-prefix-map=",
                                   "-ffile-prefix-map=",
                                   "-fdebug-prefix-map=",
                                   "-fdebug-compilation-dir",
                                   "-ftime-report",
                                   "-fmem-report",
                                   "-fopt-info",
                                   "-fdump-",
                                   "-fsave-optimization-record",
                                   "-fdebug-",
                                   "-fno-debug-",
                                   "-frecord-gcc-switches",
                                   "-fverbose-asm",
                                   "-fstack-usage",
                                   "-fcallgraph-info",
                                   "-fintegrated-cc1",
                                   "-fno-integrated-cc1",
                                   "-fprofile-note",
                                   "-fparse-all-comments",
                                   "-fmodules-cache-path",
                                   NULL};

/* Options of two words that reach the machine code. */
static const char *const pairs[] = {"--param", "-Xclang", "-mllvm", "-target", NULL};

/* "-fno-ipa-cp" and "-fipa-cp=x" both decide "-fipa-cp". */
static void put_switch_key(strbuf *out, const char *word)
{
    const char *name = begins(word + 2, "no-") ? word + 5 : word + 2;
    strbuf_append(out, word, 2);
    strbuf_append(out, name, strcspn(name, "="));
}

static bool is_code_switch(const char *word)
{
    return (word[1] == 'f' || word[1] == 'm') && word[2] != '\0' && !begins_with_one_of(word, talk);
}

bool driver_option_key(strbuf *out, const char *word, const char *next)
{
    static const char *const whole[] = {"-ansi", "-pg", "-p", "-no-pie", "-pie", "-static", NULL};
    strbuf_clear(out);
    if (word[0] != '-') {
        return false;
    }
    if (is_one_of(word, pairs) && next != NULL) {
        bool param = strcmp(word, "--param") == 0;
        strbuf_printf(out, "%s%s%.*s", word, param ? "=" : " ", (int)strcspn(next, "="), next);
    } else if (begins(word, "--param=")) {
        strbuf_append(out, word, 8 + strcspn(word + 8, "="));
    } else if (begins(word, "-O")) {
        strbuf_puts(out, "-O");
    } else if (is_code_switch(word)) {
        put_switch_key(out, word);
    } else if (begins(word, "-std=") || begins(word, "--std=") || strcmp(word, "-ansi") == 0) {
        strbuf_puts(out, "-std");
    } else if (begins(word, "-Wa,") || begins(word, "--target=") || is_one_of(word, whole)) {
        strbuf_append(out, word, begins(word, "--target=") ? 8 : strlen(word));
    } else {
        return false;
    }
    return true;
}

bool driver_is_in_base(const space_control *control, char *const *base, size_t base_count)
{
    compiler_command words = {0};
    strbuf mine = {0};
    strbuf theirs = {0};
    driver_render_value(&words, control, 0);
    bool known = words.count > 0 &&
                 driver_option_key(&mine, words.argv[0], words.count > 1 ? words.argv[1] : NULL);
    bool found = false;
    for (size_t i = 0; known && i < base_count && !found; i++) {
        const char *next = i + 1 < base_count ? base[i + 1] : NULL;
        found = driver_option_key(&theirs, base[i], next) &&
                strcmp(strbuf_text(&mine), strbuf_text(&theirs)) == 0;
    }
    strbuf_dispose(&mine);
    strbuf_dispose(&theirs);
    compiler_command_dispose(&words);
    return found;
}

/* GCC 13 manual, "Optimize Options": -O is -O1, levels above 3 are 3. */
static const char *level_of(const char *word)
{
    const char *level = word + 2;
    size_t digits = strspn(level, "0123456789");
    if (level[0] == '\0') {
        return "1";
    }
    return digits == strlen(level) && (digits > 1 || level[0] > '3') ? "3" : level;
}

const char *driver_opt_level(char *const *base, size_t base_count)
{
    const char *level = "0";
    for (size_t i = 0; i < base_count; i++) {
        if (begins(base[i], "-O")) {
            level = level_of(base[i]);
        }
    }
    return level;
}

/* ---- A command line ---------------------------------------------------------------------- */

typedef struct code_option {
    char *key, *word;
} code_option;

typedef struct reader {
    compiler_invocation *out;
    code_option *options;
    size_t count, capacity;
    const char *language; /* of -x; NULL: by the file's name */
    bool failed;          /* out of memory */
} reader;

/* The first reason stays. */
static void EVOCC_PRINTF(2, 3) refuse(reader *r, const char *format, ...)
{
    if (r->out->understood) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(r->out->why_not, sizeof r->out->why_not, format, arguments);
        va_end(arguments);
    }
    r->out->understood = false;
}

/* The word of this key, the last one given. Takes both texts over. */
static void keep_option(reader *r, char *key, char *word)
{
    r->failed = r->failed || key == NULL || word == NULL;
    for (size_t i = 0; !r->failed && i < r->count; i++) {
        if (strcmp(r->options[i].key, key) == 0) {
            mem_free(r->options[i].word);
            r->options[i].word = word;
            mem_free(key);
            return;
        }
    }
    if (r->failed || !mem_grow(&r->options, &r->capacity, r->count + 1, sizeof *r->options)) {
        r->failed = true;
        mem_free(key);
        mem_free(word);
        return;
    }
    r->options[r->count++] = (code_option){key, word};
}

/* One spelling for each: "-O" is -O1, "-O7" is -O3, "--param X" is --param=X. */
static void put_canonical(strbuf *out, const char *word, const char *value)
{
    if (begins(word, "-O")) {
        strbuf_printf(out, "-O%s", level_of(word));
    } else if (strcmp(word, "-ansi") == 0) {
        strbuf_puts(out, "-std=c90");
    } else if (value != NULL) {
        strbuf_printf(out, "%s%s%s", word, strcmp(word, "--param") == 0 ? "=" : " ", value);
    } else {
        strbuf_puts(out, begins(word, "--std=") ? word + 1 : word);
    }
}

static void take_option(reader *r, const char *word, const char *value)
{
    strbuf key = {0};
    strbuf text = {0};
    if (driver_option_key(&key, word, value)) {
        put_canonical(&text, word, value);
        keep_option(r, strbuf_take(&key), strbuf_take(&text));
    }
    strbuf_dispose(&key);
    strbuf_dispose(&text);
}

/* C, C++ and what the preprocessor makes of them (GCC 13 manual, "Overall Options"); assembly and
   objects have nothing left to decide. */
static bool is_source(const reader *r, const char *name)
{
    static const char *const endings[] = {".c", ".i",  ".cc",  ".cpp", ".cxx", ".c++",
                                          ".C", ".cp", ".CPP", ".ii",  NULL};
    static const char *const languages[] = {"c", "c++", "cpp-output", "c++-cpp-output", NULL};
    if (r->language != NULL && strcmp(r->language, "none") != 0) {
        return is_one_of(r->language, languages);
    }
    const char *dot = strrchr(name, '.');
    return dot != NULL && is_one_of(dot, endings);
}

static void take_input(reader *r, const char *word, size_t index)
{
    if (strcmp(word, "-") == 0 || word[0] == '\0') {
        refuse(r, "the input is no file: '%s'", word);
    } else if (word[0] == '@') {
        refuse(r, "%.100s: options from a file are not read", word);
    } else if (r->out->input == NULL && is_source(r, word)) {
        r->out->input = word;
        r->out->input_index = index;
    }
}

/* A word with the value that follows it, or NULL. */
static void take_word(reader *r, const char *word, const char *value)
{
    static const char *const other_results[] = {"-E", "-M", "-MM", NULL};
    if (strcmp(word, "-o") == 0) {
        r->out->output = value;
    } else if (strcmp(word, "-x") == 0) {
        r->language = value;
    } else if (begins(word, "-x") && word[2] != '\0') {
        r->language = word + 2;
    } else if (is_one_of(word, other_results) || begins_with_one_of(word, asking)) {
        refuse(r, "%.100s makes no machine code", word);
    } else if (begins(word, "-Wp,")) {
        refuse(r, "%.100s: options behind a comma are not read", word);
    } else if (begins(word, "-specs") || begins(word, "--specs")) {
        refuse(r, "%.100s: options from a file are not read", word);
    } else {
        take_option(r, word, value);
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
        const char *value = NULL;
        if (is_one_of(word, with_value)) {
            if (i + 1 == count) {
                refuse(r, "%s lacks its value", word);
                return;
            }
            value = argv[++i];
        }
        take_word(r, word, value);
    }
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The canonical words, sorted. */
static evocc_status collect_base(reader *r, evocc_error *error)
{
    compiler_invocation *out = r->out;
    out->base = r->failed ? NULL : mem_alloc(r->count + 1, sizeof *out->base);
    if (out->base == NULL) {
        return error_no_memory(error);
    }
    for (size_t i = 0; i < r->count; i++) {
        out->base[out->base_count++] = r->options[i].word;
        r->options[i].word = NULL;
    }
    qsort(out->base, out->base_count, sizeof *out->base, compare_words);
    out->arch = mem_strdup("");
    return out->arch != NULL ? EVOCC_OK : error_no_memory(error);
}

evocc_status driver_read_command(compiler_invocation *out, int argc, char *const *argv,
                                 evocc_error *error)
{
    reader r = {.out = out};
    *out = (compiler_invocation){.understood = true};
    read_words(&r, argc > 0 ? (size_t)argc : 0, argv);
    if (out->understood && out->input == NULL) {
        refuse(&r, "no source file is compiled");
    }
    evocc_status status = collect_base(&r, error);
    for (size_t i = 0; i < r.count; i++) {
        mem_free(r.options[i].key);
        mem_free(r.options[i].word);
    }
    mem_free(r.options);
    if (status != EVOCC_OK) {
        compiler_invocation_dispose(out);
    }
    return status;
}
