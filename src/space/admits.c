/* Which compiler versions and targets a control is for. */
#include "space/internal.h"

#include <stdlib.h>
#include <string.h>

/* Order of dotted numbers: "9.2" < "12.8" < "12.8.1". What is not a number ends a version. */
static int compare_versions(const char *a, const char *b)
{
    for (;;) {
        char *a_end, *b_end;
        unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
        if (a_end == a || b_end == b) {
            return (a_end != a) - (b_end != b);
        }
        if (x != y) {
            return x < y ? -1 : 1;
        }
        a = *a_end == '.' ? a_end + 1 : "";
        b = *b_end == '.' ? b_end + 1 : "";
    }
}

/* 12.9.86 is a 12.9. */
static bool belongs_to(const char *version, const char *series)
{
    size_t length = strlen(series);
    return strncmp(version, series, length) == 0 &&
           (version[length] == '\0' || version[length] == '.');
}

/* The number in sm_90a. */
static long arch_number(const char *arch)
{
    return strtol(arch + strcspn(arch, "0123456789"), NULL, 10);
}

/* One of ">= sm_100", "<= sm_90", "== sm_90a"; the first two compare numbers, "==" the whole name.
 */
static bool arch_fits(const char *condition, const char *arch)
{
    const char *wanted = condition + 2 + strspn(condition + 2, " ");
    if (strncmp(condition, "==", 2) == 0) {
        return strcmp(wanted, arch) == 0;
    }
    return *condition == '<' ? arch_number(arch) <= arch_number(wanted)
                             : arch_number(arch) >= arch_number(wanted);
}

bool admits_is_valid(const char *condition)
{
    bool known = strncmp(condition, ">=", 2) == 0 || strncmp(condition, "<=", 2) == 0 ||
                 strncmp(condition, "==", 2) == 0;
    return known && arch_number(condition + 2) > 0;
}

bool space_control_admits(const space_control *c, const char *version, const char *arch)
{
    if (version != NULL && *version != '\0' &&
        ((c->since != NULL && compare_versions(version, c->since) < 0) ||
         (c->until != NULL && !belongs_to(version, c->until) &&
          compare_versions(version, c->until) > 0))) {
        return false;
    }
    return arch == NULL || *arch == '\0' || c->arch == NULL || arch_fits(c->arch, arch);
}
