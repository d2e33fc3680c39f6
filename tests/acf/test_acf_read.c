/* Reading files from elsewhere: every rejection with its place, mutations, smuggling. */
#include "example.h"

#include "util/files.h"
#include "util/mem.h"
#include "util/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIGEST "digest: \"" EXAMPLE_DIGEST "\"\n"
#define FIRST "evocc-acf: 1\n"
#define FOR                                                                                  \
    "for: {compiler: ptxas, version: \"13.0.88\", arch: sm_90a, kernel: fa, base: [], ptx: " \
    "\"" EXAMPLE_PTX "\"}\n"
#define CONTROLS "controls: {ptx/order@fa.b4: late}\n"

/* One text, the status and the beginning of the message that must come of it. */
typedef struct rejection {
    const char *text;
    evocc_status status;
    const char *message;
} rejection;

static void rejects(const rejection *expected)
{
    acf *file = NULL;
    evocc_error error = {0};
    size_t length = strlen(expected->text);
    evocc_status status = acf_read(&file, expected->text, length, "best.acf", &error);
    if (status != expected->status || error.status != expected->status ||
        strncmp(error.message, expected->message, strlen(expected->message)) != 0) {
        fail_msg("%s\ngave %d '%s'\nnot  %d '%s'", expected->text, status, error.message,
                 expected->status, expected->message);
    }
    assert_null(file);
}

static void rejects_all(const rejection *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rejects(&list[i]);
    }
}

static void rejects_other_formats(void **state)
{
    (void)state;
    static const rejection list[] = {
        {"", EVOCC_PARSE, "best.acf:1:1: not a controls file"},
        {"\x7f"
         "ELF",
         EVOCC_PARSE, "best.acf:1:1: not a controls file"},
        {"# comment\n" FIRST, EVOCC_PARSE, "best.acf:1:1: not a controls file"},
        {"evocc-acf:", EVOCC_PARSE, "best.acf:1:11: expected the format version"},
        {"evocc-acf:\n  1\n", EVOCC_PARSE, "best.acf:1:11: expected the format version"},
        {"evocc-acf: one\n", EVOCC_PARSE, "best.acf:1:12: expected the format version"},
        {"evocc-acf: \"1\"\n", EVOCC_PARSE, "best.acf:1:12: expected the format version"},
        {"evocc-acf: 1.5\n", EVOCC_PARSE, "best.acf:1:12: expected the format version"},
        {"evocc-acf: 2\n\x01\xff anything", EVOCC_UNSUPPORTED,
         "best.acf:1:12: format version 2; evocc "},
        {"evocc-acf: 01\n", EVOCC_UNSUPPORTED, "best.acf:1:12: format version 01;"},
        {"evocc-acf: 11\n", EVOCC_UNSUPPORTED, "best.acf:1:12: format version 11;"},
        {"evocc-acf: 1 2\n" FOR CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:1:12: nothing may follow the format version"},
        {"evocc-acf: 1\n  2\n" FOR CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:1:12: nothing may follow the format version"},
        {"evocc-acf: 99999999999999999999\n", EVOCC_UNSUPPORTED,
         "best.acf:1:12: format version 999999999;"},
    };
    rejects_all(list, sizeof list / sizeof list[0]);
}

static void rejects_bytes(void **state)
{
    (void)state;
    static const rejection list[] = {
        {FIRST "# caf\xc3\xa9\n", EVOCC_PARSE, "best.acf:2:6: byte 0xc3; a controls file is"},
        {FIRST "for:\n\tx", EVOCC_PARSE, "best.acf:3:1: byte 0x09"},
        {FIRST "a\rb", EVOCC_PARSE, "best.acf:2:2: byte 0x0d"},
        {FIRST "\x1b[31m", EVOCC_PARSE, "best.acf:2:1: byte 0x1b"},
        {FIRST "\x7f", EVOCC_PARSE, "best.acf:2:1: byte 0x7f"},
    };
    rejects_all(list, sizeof list / sizeof list[0]);
    acf *file = NULL;
    evocc_error error = {0};
    assert_int_equal(acf_read(&file, FIRST "a\0b", sizeof FIRST + 2, "best.acf", &error),
                     EVOCC_PARSE);
    assert_string_equal(error.message,
                        "best.acf:2:2: byte 0x00; a controls file is printable ASCII only");
}

static void rejects_yaml(void **state)
{
    (void)state;
    static const rejection list[] = {
        {FIRST "for: {", EVOCC_PARSE, "best.acf:3:1: did not find"},
        {FIRST FOR CONTROLS CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:4:1: key 'controls' was given before, in line 3"},
        {FIRST FOR "controls:\n  ptx/order@fa.b4: &a late\n" DIGEST, EVOCC_PARSE, "best.acf:4:"},
        {FIRST FOR "controls:\n  ptx/order@fa.b4: !!str late\n" DIGEST, EVOCC_PARSE, "best.acf:4:"},
        {FIRST FOR "controls:\n  ptx/order@fa.b4: *a\n" DIGEST, EVOCC_PARSE, "best.acf:4:"},
        {FIRST FOR CONTROLS DIGEST "---\n" FIRST, EVOCC_PARSE, "best.acf:"},
        {FIRST FOR CONTROLS DIGEST "extra: 1\n", EVOCC_PARSE, "best.acf:5:1: "},
        {FIRST FOR CONTROLS, EVOCC_PARSE, "best.acf:1:1: the key 'digest' is missing"},
        {FIRST FOR DIGEST, EVOCC_PARSE, "best.acf:1:1: the key 'controls' is missing"},
        {FIRST CONTROLS DIGEST, EVOCC_PARSE, "best.acf:1:1: the key 'for' is missing"},
    };
    rejects_all(list, sizeof list / sizeof list[0]);
}

static void rejects_targets(void **state)
{
    (void)state;
    static const rejection list[] = {
        {FIRST "for: 3\n" CONTROLS DIGEST, EVOCC_PARSE, "best.acf:2:6: for must be a mapping"},
        {FIRST "for: {}\n" CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:2:6: the key 'compiler' is missing"},
        {FIRST "for:\n  compiler: ptxas\n  machine: x\n" CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:4:3: "},
        {FIRST "for:\n  compiler: /bin/sh\n" CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:3:13: compiler '/bin/sh' must be"},
        {FIRST "for:\n  compiler: [ptxas]\n" CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:3:13: compiler must be a single text"},
        {FIRST "for: {compiler: ptxas, version: \"\"}\n" CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:2:33: version '' must be"},
        {FIRST "for: {compiler: ptxas, version: \"13\", arch: a/b}\n" CONTROLS DIGEST, EVOCC_PARSE,
         "best.acf:2:45: arch 'a/b' must be"},
        {FIRST "for: {compiler: a, version: b, arch: c, kernel: \"a b\"}\n" CONTROLS DIGEST,
         EVOCC_PARSE, "best.acf:2:49: kernel 'a b' must be"},
        {FIRST "for: {compiler: a, version: b, arch: c, kernel: d, ptx: e}\n" CONTROLS DIGEST,
         EVOCC_PARSE, "best.acf:2:57: ptx 'e' must be evocc-ptx-1:"},
        {FIRST "for: {compiler: a, version: b, arch: c, kernel: d, ptx: \"" EXAMPLE_PTX
               "\"}\n" CONTROLS DIGEST,
         EVOCC_PARSE, "best.acf:2:6: the key 'base' is missing"},
        {FIRST "for:\n  {compiler: a, version: b, arch: c, kernel: d, ptx: \"" EXAMPLE_PTX
               "\",\n   base: -O3}\n" CONTROLS DIGEST,
         EVOCC_PARSE, "best.acf:4:10: base must be a list"},
        {FIRST "for:\n  {compiler: a, version: b, arch: c, kernel: d, ptx: \"" EXAMPLE_PTX
               "\",\n   base: [\"-O3\",\n          \"a\\nb\"]}\n" CONTROLS DIGEST,
         EVOCC_PARSE, "best.acf:5:11: base option"},
        {FIRST "for:\n  {compiler: a, version: b, arch: c, kernel: d, ptx: \"" EXAMPLE_PTX
               "\",\n   base: [[\"-O3\"]]}\n" CONTROLS DIGEST,
         EVOCC_PARSE, "best.acf:4:11: base option must be a single text"},
    };
    rejects_all(list, sizeof list / sizeof list[0]);
}

/* What a file must never carry towards a command line or a shell. */
static void rejects_smuggling(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } list[] = {
        {"ptxas/x: -O0", "best.acf:4:12: value '-O0' must be"},
        {"ptxas/x: --maxrregcount=16", "best.acf:4:12: value"},
        {"ptxas/x: /etc/passwd", "best.acf:4:12: value"},
        {"ptxas/x: ../y", "best.acf:4:12: value"},
        {"ptxas/x: \"1\\n-O0\"", "best.acf:4:12: value"},
        {"ptxas/x: \"1\\0\"", "best.acf:4:12: NUL"},
        {"ptxas/x: \"1\\u00e4\"", "best.acf:4:12: value"},
        {"ptxas/x: 1 -O0", "best.acf:4:12: value"},
        {"ptxas/x: \"'; rm x; '\"", "best.acf:4:12: value"},
        {"ptxas/x: $(rm)", "best.acf:4:12: value"},
        {"ptxas/x: \"\\\"\"", "best.acf:4:12: value"},
        {"ptxas/x: [1]", "best.acf:4:12: value must be a single text"},
        {"ptxas/x: {a: 1}", "best.acf:4:12: value must be a single text"},
        {"ptxas/x:", "best.acf:4:"},
        {"ptxas/x: |\n    1\n    -O0", "best.acf:5:"},
        {"ptxas/-x: 1", "best.acf:4:3: control name 'ptxas/-x' must be"},
        {"--x: 1", "best.acf:4:3: control name"},
        {"x: 1", "best.acf:4:3: control name"},
        {"sh/x: 1", "best.acf:4:3: control name"},
        {"PTXAS/x: 1", "best.acf:4:3: control name"},
        {"ptxas/x/y: 1", "best.acf:4:3: control name"},
        {"\"ptxas/x y\": 1", "best.acf:4:3: control name"},
        {"\"ptxas/x\\ny\": 1", "best.acf:4:3: control name"},
        {"? [ptxas/x]\n  : 1", "best.acf:4:"},
        {"<<: {ptxas/x: 1}", "best.acf:4:"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, FIRST FOR "controls:\n  %s\n" DIGEST, list[i].line);
        rejects(&(rejection){text, EVOCC_PARSE, list[i].message});
    }
    static const rejection others[] = {
        {FIRST FOR "controls: {}\n" DIGEST, EVOCC_PARSE, "best.acf:3:11: controls is empty"},
        {FIRST FOR "controls: [a]\n" DIGEST, EVOCC_PARSE, "best.acf:3:11: controls must be a map"},
        {FIRST FOR "controls:\n" DIGEST, EVOCC_PARSE, "best.acf:"},
    };
    rejects_all(others, sizeof others / sizeof others[0]);
}

static void rejects_findings(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } list[] = {
        {"a b: 1", "best.acf:5:3: key 'a b' must be"},
        {"a: [1]", "best.acf:5:6: text must be a single text"},
        {"a: {baseline: 1}", "best.acf:5:6: the key 'tuned' is missing"},
        {"a: {tuned: 1}", "best.acf:5:6: the key 'baseline' is missing"},
        {"a: {baseline: 1, tuned: .inf}", "best.acf:5:27: "},
        {"a: {baseline: 1, tuned: x}", "best.acf:5:27: "},
        {"a: {baseline: 1, tuned: 1, low: 1}", "best.acf:5:6: the key 'speedup' is missing"},
        {"a: {baseline: 1, tuned: 1, speedup: 1, low: 1, high: 1, pairs: 0}",
         "best.acf:5:66: pairs must be at least 1"},
        {"a: {baseline: 1, tuned: 1, speedup: 1, low: 1, high: 1, pairs: 1.5}", "best.acf:5:66: "},
        {"a: {baseline: 1, tuned: 1, unit: s}", "best.acf:5:30: "},
        {"a: \"\\t\"", "best.acf:5:6: text"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, FIRST FOR CONTROLS "found:\n  %s\n" DIGEST, list[i].line);
        rejects(&(rejection){text, EVOCC_PARSE, list[i].message});
    }
    static const rejection list_found = {FIRST FOR CONTROLS "found: 3\n" DIGEST, EVOCC_PARSE,
                                         "best.acf:4:8: found must be a mapping"};
    rejects(&list_found);
}

static void rejects_digests(void **state)
{
    (void)state;
    static const rejection list[] = {
        {EXAMPLE_HEAD EXAMPLE_CONTROLS "digest: x\n", EVOCC_DAMAGED,
         "best.acf:9:9: the digest does not fit"},
        {EXAMPLE_HEAD EXAMPLE_CONTROLS "digest: [x]\n", EVOCC_DAMAGED,
         "best.acf:9:9: the digest does not fit"},
        {EXAMPLE_HEAD CONTROLS DIGEST, EVOCC_DAMAGED, "best.acf:6:9: the digest does not fit"},
        {FIRST FOR EXAMPLE_CONTROLS DIGEST, EVOCC_DAMAGED, "best.acf:7:9: the digest does not fit"},
    };
    rejects_all(list, sizeof list / sizeof list[0]);
    /* The message says what would be right. */
    evocc_error error = {0};
    acf *file = NULL;
    const char *text = EXAMPLE_HEAD EXAMPLE_CONTROLS "digest: x\n";
    acf_read(&file, text, strlen(text), "best.acf", &error);
    assert_non_null(strstr(error.message, "\"" EXAMPLE_DIGEST "\""));
}

static void rejects_sizes(void **state)
{
    (void)state;
    strbuf text = {0};
    strbuf_puts(&text, EXAMPLE_TEXT);
    while (text.length <= ACF_SIZE_LIMIT) {
        strbuf_puts(&text, "# padding padding padding padding padding padding padding padding\n");
    }
    acf *file = NULL;
    evocc_error error = {0};
    assert_int_equal(acf_read(&file, text.data, text.length, "best.acf", &error), EVOCC_PARSE);
    assert_string_equal(error.message, "best.acf:1:1: larger than 1048576 bytes");
    strbuf_clear(&text);
    strbuf_puts(&text, EXAMPLE_HEAD EXAMPLE_CONTROLS "found:\n");
    for (int i = 0; i < 501; i++) {
        strbuf_printf(&text, "  k%d: 1\n", i);
    }
    strbuf_puts(&text, DIGEST);
    assert_int_equal(acf_read(&file, text.data, text.length, "best.acf", &error), EVOCC_PARSE);
    assert_string_equal(error.message,
                        "best.acf:10:3: found has 501 entries; at most 500 are allowed");
    strbuf_dispose(&text);
}

/* Another order, other quotes, comments, CRLF, JSON inside: the same file. */
static void accepts_what_people_write(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "evocc-acf: 1\r\nfor: {compiler: ptxas, version: \"13.0.88\", arch: sm_90a, kernel: fa,\r\n"
        "      base: [\"-O3\", \"--maxrregcount=128\"], ptx: \"" EXAMPLE_PTX "\"}\r\n"
        "controls: {ptx/frequency@fa.b4: 8, ptx/order@fa.b4: late, "
        "ptxas/register-usage-level: 7}\r\ndigest: \"" EXAMPLE_DIGEST "\"\r\n",
        "evocc-acf: 1 # ours\n# a comment\n\ndigest: '" EXAMPLE_DIGEST "'\n"
        "controls:\n    'ptxas/register-usage-level': '7' # why\n    ptx/order@fa.b4: \"late\"\n"
        "    ptx/frequency@fa.b4: 8\n"
        "for:\n  ptx: " EXAMPLE_PTX "\n  base:\n  - -O3\n  - --maxrregcount=128\n"
        "  kernel: fa\n  arch: sm_90a\n  version: 13.0.88\n  compiler: ptxas",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        acf *file = NULL;
        evocc_error error = {0};
        if (acf_read(&file, texts[i], strlen(texts[i]), "best.acf", &error) != EVOCC_OK) {
            fail_msg("%s\n%s", error.message, texts[i]);
        }
        assert_string_equal(file->digest, EXAMPLE_DIGEST);
        acf_free(file);
    }
}

/* ---- Mutations ------------------------------------------------------------------------------- */

/* Appends the text with one change: a byte replaced, left out or put in, or two pieces swapped. */
static void mutate(strbuf *out, const char *text, size_t length, rng *r)
{
    static const char pool[] = "\n :,{}[]\"'#-?&*!|>%@`0123456789abzAZ/._~\\\x7f\x80\xff\t\r";
    size_t at = (size_t)rng_below(r, length);
    char byte = pool[rng_below(r, sizeof pool)];
    size_t span = (size_t)rng_below(r, 40);
    switch (rng_below(r, 4)) {
    case 0:
        strbuf_append(out, text, at);
        strbuf_putc(out, byte);
        strbuf_append(out, text + at + 1, length - at - 1);
        break;
    case 1:
        strbuf_append(out, text, at);
        strbuf_putc(out, byte);
        strbuf_append(out, text + at, length - at);
        break;
    case 2:
        span = span < length - at ? span : length - at;
        strbuf_append(out, text, at);
        strbuf_append(out, text + at + span, length - at - span);
        break;
    default:
        span = span < length - at ? span : length - at;
        strbuf_append(out, text, at + span);
        strbuf_append(out, text + at, length - at);
        break;
    }
}

static void same_meaning(const acf *file, const acf *original)
{
    assert_string_equal(file->digest, original->digest);
    assert_string_equal(file->target.compiler, original->target.compiler);
    assert_string_equal(file->target.version, original->target.version);
    assert_string_equal(file->target.arch, original->target.arch);
    assert_string_equal(file->target.kernel, original->target.kernel);
    assert_string_equal(file->target.ptx, original->target.ptx);
    assert_int_equal(file->target.base_count, original->target.base_count);
    for (size_t i = 0; i < file->target.base_count; i++) {
        assert_string_equal(file->target.base[i], original->target.base[i]);
    }
    assert_int_equal(file->control_count, original->control_count);
    for (size_t i = 0; i < file->control_count; i++) {
        assert_string_equal(file->controls[i].full_name, original->controls[i].full_name);
        assert_string_equal(file->controls[i].value, original->controls[i].value);
    }
}

/* A changed file is refused with its place, or means exactly what it meant before. */
static void mutations_change_nothing(void **state)
{
    (void)state;
    acf from = example();
    acf *original = NULL;
    assert_int_equal(acf_new(&original, &from, NULL), EVOCC_OK);
    rng r;
    rng_seed(&r, 20261130);
    size_t refused = 0;
    size_t accepted = 0;
    for (int i = 0; i < 10000; i++) {
        strbuf text = {0};
        mutate(&text, EXAMPLE_TEXT, strlen(EXAMPLE_TEXT), &r);
        if (i % 2 == 0) {
            strbuf twice = {0};
            mutate(&twice, text.data, text.length, &r);
            strbuf_dispose(&text);
            text = twice;
        }
        acf *file = NULL;
        evocc_error error = {0};
        evocc_status status = acf_read(&file, text.data, text.length, "m.acf", &error);
        if (status == EVOCC_OK) {
            accepted++;
            same_meaning(file, original);
            acf_free(file);
        } else {
            refused++;
            int line = 0;
            int column = 0;
            int used = 0;
            sscanf(error.message, "m.acf:%d:%d: %n", &line, &column, &used);
            if (used == 0 || line < 1 || column < 1 || error.message[used] == '\0') {
                fail_msg("'%s' names no place for\n%s", error.message, text.data);
            }
        }
        strbuf_dispose(&text);
    }
    /* Changes inside comments' place, quotes and `found` mean nothing: both kinds must occur. */
    assert_true(refused > 5000);
    assert_true(accepted > 100);
    acf_free(original);
}

/* The example in the documentation is a valid file. */
static void documentation_is_right(void **state)
{
    (void)state;
    char *page = NULL;
    size_t length = 0;
    assert_int_equal(file_read(&page, &length, EVOCC_SOURCE_DIR "/docs/acf.md", 1 << 20, NULL),
                     EVOCC_OK);
    char *begin = strstr(page, "\nevocc-acf: 1\n");
    assert_non_null(begin);
    begin++;
    char *end = strstr(begin, "```");
    assert_non_null(end);
    acf *file = NULL;
    evocc_error error = {0};
    if (acf_read(&file, begin, (size_t)(end - begin), "docs/acf.md", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    strbuf again = {0};
    assert_int_equal(acf_write(&again, file, NULL), EVOCC_OK);
    *end = '\0';
    assert_string_equal(begin, strbuf_text(&again));
    strbuf_dispose(&again);
    acf_free(file);
    mem_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejects_other_formats),
        cmocka_unit_test(rejects_bytes),
        cmocka_unit_test(rejects_yaml),
        cmocka_unit_test(rejects_targets),
        cmocka_unit_test(rejects_smuggling),
        cmocka_unit_test(rejects_findings),
        cmocka_unit_test(rejects_digests),
        cmocka_unit_test(rejects_sizes),
        cmocka_unit_test(accepts_what_people_write),
        cmocka_unit_test(mutations_change_nothing),
        cmocka_unit_test(documentation_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
