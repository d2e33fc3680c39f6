#include "support.h"

#include "compiler/ptxas_options.h"

#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Command lines as a person, nvcc, Triton or a build types them (argv without argv[0]; words are
 * separated by '|'; "in" stands for the input file). `ptxas`: whether 13.0.88 compiles it; asked
 * again of the ptxas at hand, and the code must then be that of the canonical command.
 */
enum { BAD, GOOD };
static const struct {
    const char *words;
    int ptxas;        /* what the real one says */
    int understood;   /* what we say */
    const char *base; /* space-separated; of those understood */
    const char *arch;
} lines[] = {
    /* none at all, architectures */
    {"in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-arch=sm_80|in|-o|x.cubin", GOOD, GOOD, "", "sm_80"},
    {"-arch|sm_80|in|-o|x.cubin", GOOD, GOOD, "", "sm_80"},
    {"--gpu-name=sm_80|in|-o|x.cubin", GOOD, GOOD, "", "sm_80"},
    {"--gpu-name|sm_90a|in|-o|x.cubin", GOOD, GOOD, "", "sm_90a"},
    {"-arch=sm_75|-arch=sm_80|in|-o|x.cubin", GOOD, GOOD, "", "sm_80"},
    {"--arch=sm_80|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-gpu-name=sm_80|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-archsm_80|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--gpu-na=sm_80|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-arch=|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-arch=sm_80 |in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"in|-o|x.cubin|-arch", BAD, BAD, NULL, NULL},
    {"-arch=compute_80|in|-o|x.cubin", GOOD, BAD, NULL, NULL}, /* makes no code */
    {"-arch=lto_80|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    /* levels */
    {"-O3|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-O2|in|-o|x.cubin", GOOD, GOOD, "--opt-level=2", ""},
    {"-O=1|in|-o|x.cubin", GOOD, GOOD, "--opt-level=1", ""},
    {"-O|in|-o|x.cubin", GOOD, GOOD, "--opt-level=0", ""},
    {"-O|2|in|-o|x.cubin", BAD, BAD, NULL, NULL}, /* 2 is another input */
    {"--opt-level=2|in|-o|x.cubin", GOOD, GOOD, "--opt-level=2", ""},
    {"--opt-level|3|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-opt-level=2|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--O2|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-O1|-O2|in|-o|x.cubin", GOOD, GOOD, "--opt-level=2", ""},
    {"-O1|--opt-level=3|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-O0x2|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"-O02|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"-O2x|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-Ofc=max|in|-o|x.cubin", GOOD, GOOD, "--Ofast-compile=max", ""},
    {"-Ofc|0|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"--Ofast-compile|min|in|-o|x.cubin", GOOD, GOOD, "--Ofast-compile=min", ""},
    {"-Ofcmax|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-Ofast-compile=max|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    /* -m */
    {"-m64|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-m|64|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-m=64|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"--machine=64|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-m32|in|-o|x.cubin", BAD, GOOD, "--machine=32", ""},
    {"-maxrregcount32|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    /* flags */
    {"-v|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"--verbose|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-verbose|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--v|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-v=true|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-v|true|in|-o|x.cubin", BAD, BAD, NULL, NULL}, /* another input */
    {"-cv|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-v|-w|-v|-lineinfo|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-lineinfo|-suppress-debug-info|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-Werror|-warn-spills|-warn-lmem-usage|-warn-double-usage|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"--return-at-end|-c|in|-o|x.cubin", GOOD, GOOD, "--compile-only --return-at-end", ""},
    {"-no-bb-merge|-disable-optimizer-consts|in|-o|x.cubin", GOOD, GOOD,
     "--disable-optimizer-constants --dont-merge-basicblocks", ""},
    {"-g|in|-o|x.cubin", GOOD, GOOD, "--device-debug", ""},
    {"-ewp|-preserve-relocs|-sp-bounds-check|in|-o|x.cubin", GOOD, GOOD,
     "--extensible-whole-program --preserve-relocs --sp-bounds-check", ""},
    /* booleans */
    {"-fmad=false|in|-o|x.cubin", GOOD, GOOD, "--fmad=false", ""},
    {"-fmad|false|in|-o|x.cubin", GOOD, GOOD, "--fmad=false", ""},
    {"--fmad=false|--fmad=true|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-fmad|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--fmad=FALSE|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--fmad=0|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-fmad=|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-allow-expensive-optimizations|false|in|-o|x.cubin", GOOD, GOOD,
     "--allow-expensive-optimizations=false", ""},
    {"-pic=false|in|-o|x.cubin", GOOD, GOOD, "--position-independent-code=false", ""},
    /* numbers and limits */
    {"-maxrregcount=32|in|-o|x.cubin", GOOD, GOOD, "--maxrregcount=32", ""},
    {"-maxrregcount|32|in|-o|x.cubin", GOOD, GOOD, "--maxrregcount=32", ""},
    {"-maxrregcount=32|-maxrregcount=64|in|-o|x.cubin", GOOD, GOOD, "--maxrregcount=64", ""},
    {"-maxrregcount=archmax|in|-o|x.cubin", GOOD, GOOD, "--maxrregcount=archmax", ""},
    {"-maxrregcount=foo|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-maxrregcount=32,64|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-maxrregcount=-1|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"-maxrregcount=0x20|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"-maxrregcount=032|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"-maxrregcount=|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"-maxrregcount|-v|in|-o|x.cubin", BAD, BAD, NULL, NULL}, /* -v is its value */
    {"-regUsageLevel=7|in|-o|x.cubin", GOOD, GOOD, "--register-usage-level=7", ""},
    {"--register-usage-level|5|in|-o|x.cubin", GOOD, GOOD, "", ""},
    {"-register-usage-level=7|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-regUsageLevel=x|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-minnctapersm=2|-maxntid=128|in|-o|x.cubin", GOOD, GOOD, "--maxntid=128 --minnctapersm=2",
     ""},
    {"-split-compile|4|in|-o|x.cubin", GOOD, GOOD, "--split-compile=4", ""},
    /* lists */
    {"-maxntid=128,2,1|in|-o|x.cubin", GOOD, GOOD, "--maxntid=128,2,1", ""},
    {"-maxntid|16,8|in|-o|x.cubin", GOOD, GOOD, "--maxntid=16,8", ""},
    {"-maxntid=16|-maxntid=8,2|in|-o|x.cubin", GOOD, GOOD, "--maxntid=16,8,2", ""},
    {"-maxntid=128,|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"-e|b|in|-o|x.cubin", GOOD, GOOD, "--entry=b", ""},
    {"-e=b|in|-o|x.cubin", GOOD, GOOD, "--entry=b", ""},
    {"--entry=b,a|in|-o|x.cubin", GOOD, GOOD, "--entry=b,a", ""},
    {"-e|b|-e|a|in|-o|x.cubin", GOOD, GOOD, "--entry=b,a", ""},
    {"-eb|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--entry=nosuch|in|-o|x.cubin", BAD, GOOD, "--entry=nosuch", ""},
    {"-e|a b|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    /* words */
    {"-dlcm=cg|in|-o|x.cubin", GOOD, GOOD, "--def-load-cache=cg", ""},
    {"--def-load-cache|cs|in|-o|x.cubin", GOOD, GOOD, "--def-load-cache=cs", ""},
    {"-dlcm=ca|-dlcm=cg|in|-o|x.cubin", GOOD, GOOD, "--def-load-cache=cg", ""},
    {"-flcm=cv|-fscm=cg|-dscm=wt|in|-o|x.cubin", GOOD, GOOD,
     "--def-store-cache=wt --force-load-cache=cv --force-store-cache=cg", ""},
    {"-dlcm=foo|in|-o|x.cubin", BAD, GOOD, "--def-load-cache=foo", ""},
    /* outputs */
    {"in|-o=x.cubin", GOOD, GOOD, "", ""},
    {"in|--output-file|x.cubin", GOOD, GOOD, "", ""},
    {"--output-file=x.cubin|in", GOOD, GOOD, "", ""},
    {"in|-o|y.cubin|-o|x.cubin", GOOD, GOOD, "", ""},
    {"in|-ox.cubin", BAD, BAD, NULL, NULL},
    {"in|-output-file|x.cubin", BAD, BAD, NULL, NULL},
    {"in|-o", BAD, BAD, NULL, NULL},
    {"in|-o=", BAD, BAD, NULL, NULL},
    {"in", GOOD, GOOD, "", ""},
    /* inputs */
    {"in|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"in,in|-o|x.cubin", BAD, GOOD, "", ""}, /* one file of that name */
    {"-o|x.cubin", GOOD, BAD, NULL, NULL},   /* prints its help */
    {"-|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    /* other business */
    {"--version", GOOD, BAD, NULL, NULL},
    {"-V|in|-o|x.cubin", GOOD, BAD, NULL, NULL},
    {"--help", GOOD, BAD, NULL, NULL},
    {"-optf|nosuch|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--input-as-string|.version 7.0|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--apply-controls=nosuch|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"-nosuch|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    {"--nosuch=1|in|-o|x.cubin", BAD, BAD, NULL, NULL},
    /* as nvcc and Triton type them */
    {"-arch=sm_90|-m64|-maxrregcount=64|in|-o|x.cubin", GOOD, GOOD, "--maxrregcount=64", "sm_90"},
    {"-lineinfo|-v|--fmad=false|--gpu-name=sm_90a|in|-o|x.cubin|--opt-level|0", GOOD, GOOD,
     "--fmad=false --opt-level=0", "sm_90a"},
};

/* Splits in place; the words of one line. */
static int split(char *text, char **words)
{
    int count = 0;
    for (char *word = text; word != NULL;) {
        char *end = strchr(word, '|');
        if (end != NULL) {
            *end++ = '\0';
        }
        words[count++] = strcmp(word, "in") == 0 ? (char *)(uintptr_t) "two.ptx" : word;
        word = end;
    }
    words[count] = NULL;
    return count;
}

static char *joined_base(const compiler_invocation *read)
{
    strbuf out = {0};
    strbuf_puts(&out, "");
    for (size_t i = 0; i < read->base_count; i++) {
        strbuf_printf(&out, "%s%s", i > 0 ? " " : "", read->base[i]);
    }
    return strbuf_take(&out);
}

static void test_table(void **state)
{
    (void)state;
    assert_true(COUNT(lines) >= 100);
    for (size_t i = 0; i < COUNT(lines); i++) {
        char *text = mem_strdup(lines[i].words);
        char *words[16];
        int count = split(text, words);
        compiler_invocation read;
        assert_int_equal(compiler_ptxas.read_command(&read, count, words, NULL), EVOCC_OK);
        if (read.understood != (lines[i].understood == GOOD)) {
            fail_msg("%s: %s", lines[i].words, read.understood ? "understood" : read.why_not);
        }
        assert_int_equal(read.understood, read.why_not[0] == '\0');
        if (read.understood) {
            char *base = joined_base(&read);
            assert_string_equal(base, lines[i].base);
            assert_string_equal(read.arch, lines[i].arch);
            assert_ptr_equal(read.input, words[read.input_index]);
            if (read.output != NULL) {
                assert_string_equal(read.output, "x.cubin");
            }
            mem_free(base);
        }
        compiler_invocation_dispose(&read);
        mem_free(text);
    }
}

/* ---- With the ptxas of this machine ------------------------------------------------------ */

/* 1: compiled, 0: not. The hash of the code is "" when nothing was written. */
static int compile(char hash[HASH_SHA256_TEXT], const char *folder, const char *const *argv,
                   const char *output)
{
    char *path = path_join(folder, output);
    remove(path);
    process_result result = support_run(folder, argv);
    int good = result.end == PROCESS_EXITED && result.exit_status == 0;
    hash[0] = '\0';
    if (good && file_exists(path)) {
        size_t length = 0;
        char *data = support_read(path, &length);
        cubin_info info;
        assert_int_equal(cubin_read(&info, data, length, NULL, NULL), EVOCC_OK);
        memcpy(hash, info.hash, sizeof info.hash);
        mem_free(data);
    }
    process_result_dispose(&result);
    mem_free(path);
    return good;
}

/* The canonical words, in place of the user's. */
static int compile_canonical(char hash[HASH_SHA256_TEXT], const char *folder, const char *ptxas,
                             const compiler_invocation *read)
{
    compiler_command command = {0};
    compiler_command_add(&command, ptxas);
    for (size_t i = 0; i < read->base_count; i++) {
        compiler_command_add(&command, read->base[i]);
    }
    if (read->arch[0] != '\0') {
        compiler_command_add(&command, "-arch");
        compiler_command_add(&command, read->arch);
    }
    compiler_command_add(&command, read->input);
    compiler_command_add(&command, "-o");
    compiler_command_add(&command, "canonical.cubin");
    int good = compile(hash, folder, (const char *const *)command.argv, "canonical.cubin");
    compiler_command_dispose(&command);
    return good;
}

static void check_line(size_t i, const char *folder, char *ptxas)
{
    char *text = mem_strdup(lines[i].words);
    char *words[16];
    char as_given[HASH_SHA256_TEXT], canonical[HASH_SHA256_TEXT];
    words[0] = ptxas;
    int count = split(text, words + 1);
    compiler_invocation read;
    assert_int_equal(compiler_ptxas.read_command(&read, count, words + 1, NULL), EVOCC_OK);
    const char *output = read.understood && read.output == NULL ? "elf.o" : "x.cubin";
    int good = compile(as_given, folder, (const char *const *)words, output);
    if (good != lines[i].ptxas) {
        fail_msg("ptxas %s '%s'", good ? "accepts" : "rejects", lines[i].words);
    }
    if (read.understood) {
        int same = compile_canonical(canonical, folder, ptxas, &read);
        if (same != good || strcmp(as_given, canonical) != 0) {
            fail_msg("'%s' is not what it was read as", lines[i].words);
        }
    }
    compiler_invocation_dispose(&read);
    mem_free(text);
}

/* Only a release with all the options of the table can be asked. */
static void test_table_against_ptxas(void **state)
{
    (void)state;
    char *ptxas = support_real_ptxas();
    SKIP_WITHOUT_PTXAS(ptxas);
    char *folder = support_folder();
    process_result help = support_run(folder, (const char *[]){ptxas, "--help", NULL});
    bool complete = strstr(help.output, "--Ofast-compile") != NULL;
    bool before_13 = strstr(help.output, "Default value:  'sm_52'") != NULL;
    process_result_dispose(&help);
    if (complete) {
        /* Some lines name no target. */
        char *two = support_read(FIXTURES "two.ptx", NULL);
        if (before_13) {
            memcpy(strstr(two, "sm_75"), "sm_52", 5);
        }
        support_write(folder, "two.ptx", two);
        mem_free(two);
        for (size_t i = 0; i < COUNT(lines); i++) {
            check_line(i, folder, ptxas);
        }
    } else {
        print_message("this ptxas is older than the table\n");
    }
    support_remove(folder);
    mem_free(ptxas);
    if (!complete) {
        skip();
    }
}

/* One line of --help: "--fmad <true|false>        (-fmad)". */
static void check_help_line(const char *line)
{
    char word[80], shown[80], name[80];
    const char *bracket = strstr(line, "(-");
    assert_non_null(bracket);
    assert_int_equal(sscanf(line, "%79s", word), 1);
    assert_int_equal(sscanf(bracket, "(%79[^)])", shown), 1);
    const ptxas_option *option = ptxas_option_of(word);
    if (option == NULL) {
        fail_msg("--help has %s", word);
        return;
    }
    snprintf(name, sizeof name, "-%s", option->short_name);
    assert_string_equal(name, shown);
    const char *value = strchr(line, '<');
    bool takes_value = (value != NULL && value < bracket) || strstr(word, "-cache") != NULL ||
                       strcmp(option->short_name, "apply-controls") == 0;
    assert_int_equal(takes_value, option->form != PTXAS_FLAG);
    if (value != NULL && strncmp(value, "<true|false>", 12) == 0) {
        assert_int_equal(option->form, PTXAS_BOOL);
    }
    assert_int_equal(value != NULL && value < bracket && strstr(value, ",...") != NULL,
                     option->form == PTXAS_LIST);
}

static size_t check_help(char *text)
{
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "--", 2) == 0) {
            check_help_line(line);
            count++;
        }
    }
    return count;
}

/* Every option of six releases is known, with its short name and form. */
static void test_every_option(void **state)
{
    (void)state;
    static const char *const versions[] = {"11.8.89", "12.0.140", "12.4.131",
                                           "12.9.86", "13.0.88",  "13.5.37"};
    for (size_t i = 0; i < COUNT(versions); i++) {
        char path[512];
        snprintf(path, sizeof path, FIXTURES "help/%s.txt", versions[i]);
        char *text = support_read(path, NULL);
        assert_true(check_help(text) >= 39);
        mem_free(text);
    }
    char *ptxas = support_real_ptxas();
    if (ptxas != NULL) {
        process_result help = support_run(NULL, (const char *[]){ptxas, "--help", NULL});
        assert_true(check_help(help.output) >= 39);
        process_result_dispose(&help);
        mem_free(ptxas);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    char *argv[] = {(char *)(uintptr_t) "-O1", (char *)(uintptr_t) "-maxntid=1,2",
                    (char *)(uintptr_t) "k.ptx", NULL};
    long failed = 0;
    for (;; failed++) {
        compiler_invocation read;
        mem_fail_after(failed);
        evocc_status status = compiler_ptxas.read_command(&read, 3, argv, NULL);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            compiler_invocation_dispose(&read);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
        assert_null(read.base);
    }
    assert_true(failed >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_against_ptxas),
        cmocka_unit_test(test_every_option),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
