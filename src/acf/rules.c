#include "acf/rules.h"

#include "acf/acf.h"

#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define ALPHA LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"
#define ALNUM ALPHA DIGIT
/* Printable ASCII; the second without the quote and the backslash, which YAML would have to escape.
 */
#define PLAIN " !#$%&'()*+,-./:;<=>?@[]^_`{|}~" ALNUM
#define PRINTABLE PLAIN "\"\\"

/* A kernel's name is a PTX identifier (PTX ISA, Identifiers). C++ names of templates run to
   thousands of characters; the limits only keep messages and memory sane. */
static const struct {
    const char *what;
    const char *first, *rest; /* of which characters it consists */
    size_t limit;             /* in bytes */
    const char *allowed;
} rules[] = {
    [ACF_RULE_COMPILER] = {"compiler", LOWER, LOWER DIGIT "+-", 32,
                           "a lower-case word such as ptxas"},
    [ACF_RULE_VERSION] = {"version", ALNUM, ALNUM ".+_~-", 64, "a version such as \"13.0.88\""},
    [ACF_RULE_ARCH] = {"arch", ALNUM, ALNUM "._+-", 64, "a target such as sm_90a"},
    [ACF_RULE_KERNEL] = {"kernel", ALPHA "_$%", ALNUM "_$", 8192,
                         "an entry's name (letters, digits, _ and $, at most 8192) or \"*\""},
    [ACF_RULE_BASE] = {"base option", "-", PLAIN, 8192,
                       "an option that begins with '-', in printable ASCII without quotes and "
                       "backslashes"},
    [ACF_RULE_PTX] = {"ptx", LOWER, LOWER DIGIT ":-", 76,
                      "evocc-ptx-1: and 64 lower-case hexadecimal digits"},
    [ACF_RULE_CONTROL] =
        {"control name", LOWER, ALNUM "_.$%@/+-", 8448,
         "STAGE/NAME with a stage of this program and letters, digits and _.$%@+-"},
    [ACF_RULE_VALUE] = {"value", ALNUM "_-", ALNUM "_.:,=+-", 256,
                        "a number or a word of letters, digits and _.:,=+-"},
    [ACF_RULE_FOUND_KEY] = {"key", ALPHA "_", ALNUM "_.-", 128,
                            "a word of letters, digits and _.-"},
    [ACF_RULE_FOUND_TEXT] = {"text", PRINTABLE, PRINTABLE, 1024,
                             "printable ASCII, at most 1024 characters"},
};

static bool is_ptx_name(const char *text)
{
    static const char prefix[] = "evocc-ptx-1:";
    const char *digits = text + sizeof prefix - 1;
    return strncmp(text, prefix, sizeof prefix - 1) == 0 &&
           strspn(digits, DIGIT "abcdef") == HASH_SHA256_TEXT - 1 &&
           digits[HASH_SHA256_TEXT - 1] == '\0';
}

/* A known stage, one slash, and a name that does not begin as an option would. */
static bool is_control_name(const char *text)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL || strchr(slash + 1, '/') != NULL || strchr(ALNUM "_$%", slash[1]) == NULL ||
        slash[1] == '\0') {
        return false;
    }
    for (int stage = SPACE_STAGE_DEFINE; stage <= SPACE_STAGE_CLANG; stage++) {
        const char *name = space_stage_name((space_stage)stage);
        if (strlen(name) == (size_t)(slash - text) && strncmp(name, text, strlen(name)) == 0) {
            return true;
        }
    }
    return false;
}

/* A leading '-' is a sign, never the beginning of an option. */
static bool is_value(const char *text)
{
    return text[0] != '-' || (text[1] != '\0' && strchr(DIGIT ".", text[1]) != NULL);
}

static bool obeys(acf_rule rule, const char *text)
{
    size_t length = strlen(text);
    if (length == 0) {
        return rule == ACF_RULE_FOUND_TEXT;
    }
    if (rule == ACF_RULE_KERNEL && strcmp(text, ACF_ALL_KERNELS) == 0) {
        return true;
    }
    if (length > rules[rule].limit || strchr(rules[rule].first, text[0]) == NULL ||
        strspn(text + 1, rules[rule].rest) != length - 1) {
        return false;
    }
    return rule == ACF_RULE_PTX       ? is_ptx_name(text)
           : rule == ACF_RULE_CONTROL ? is_control_name(text)
           : rule == ACF_RULE_VALUE   ? is_value(text)
                                      : true;
}

bool acf_is_for_host(const char *compiler)
{
    return strcmp(compiler, "gcc") == 0 || strcmp(compiler, "clang") == 0;
}

const char *acf_rule_what(acf_rule rule)
{
    return rules[rule].what;
}

const char *acf_rule_broken(acf_rule rule, const char *text)
{
    return obeys(rule, text) ? NULL : rules[rule].allowed;
}
