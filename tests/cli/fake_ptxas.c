/*
 * A ptxas for tests of the wrapper. It appends its words, each with its length, to $FAKE_LOG, and
 * writes "cubin of " and its input to its output. $FAKE_MODE makes it misbehave:
 *
 *   exit-3       half-writes the output, prints, exits 3
 *   signal-N     dies of signal N
 *   hang         makes the file $FAKE_LOG.hangs and waits to be killed
 *   quiet        exits 0 without an output
 *   print        prints a line that names its input on stderr and one on stdout
 *   no-controls  knows no --apply-controls, as ptxas before 13.0
 *
 * With a leading "tuned:" the mode holds only for the input in memory that the wrapper makes.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_text[] =
    "--gpu-name <gpu name>                               (-arch)\n"
    "        Allowed values for this option:  'sm_80','sm_90','sm_90a'.\n"
    "        Default value:  'sm_80'.\n\n--help                   (-h)\n";

static void log_words(int argc, char **argv)
{
    const char *path = getenv("FAKE_LOG");
    FILE *file = path == NULL ? NULL : fopen(path, "ab");
    if (file != NULL) {
        for (int i = 1; i < argc; i++) {
            fprintf(file, "%zu:%s\n", strlen(argv[i]), argv[i]);
        }
        fprintf(file, ".\n");
        fclose(file);
    }
}

static bool answer(const char *word)
{
    if (strcmp(word, "--version") == 0) {
        puts("ptxas: NVIDIA (R) Ptx optimizing assembler\n"
             "Cuda compilation tools, release 13.0, V13.0.88");
        return true;
    }
    if (strcmp(word, "--list-version") == 0) {
        puts("8.7\n9.0");
        return true;
    }
    if (strcmp(word, "--help") == 0) {
        fputs(help_text, stdout);
        return true;
    }
    return false;
}

static bool write_output(const char *input, const char *output, bool half)
{
    FILE *from = fopen(input, "rb");
    if (from == NULL) {
        fprintf(stderr, "ptxas fatal   : Input file '%s' could not be opened\n", input);
        return false;
    }
    FILE *to = fopen(output, "wb");
    if (to == NULL) {
        fprintf(stderr, "ptxas fatal   : Output file '%s' could not be opened\n", output);
        fclose(from);
        return false;
    }
    fputs("cubin of ", to);
    char block[4096];
    size_t count;
    while (!half && (count = fread(block, 1, sizeof block, from)) > 0) {
        fwrite(block, 1, count, to);
    }
    fclose(from);
    return fclose(to) == 0;
}

static void hang(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.hangs", getenv("FAKE_LOG"));
    FILE *file = fopen(name, "wb");
    if (file != NULL) {
        fprintf(file, "%ld\n", (long)getpid());
        fclose(file);
    }
    for (;;) {
        pause();
    }
}

static int compile(const char *mode, const char *input, const char *output)
{
    if (strcmp(mode, "exit-3") == 0) {
        write_output(input, output, true);
        fprintf(stderr, "fake error in %s\nsecond line\n", input);
        return 3;
    }
    if (strncmp(mode, "signal-", 7) == 0) {
        raise(atoi(mode + 7));
    }
    if (strcmp(mode, "hang") == 0) {
        hang();
    }
    if (strcmp(mode, "print") == 0) {
        printf("stdout of the compiler\n");
        fprintf(stderr, "ptxas %s, line 5; warning : '%s' is odd, not %s0\n", input, input, input);
    }
    return strcmp(mode, "quiet") == 0 || write_output(input, output, false) ? 0 : 255;
}

int main(int argc, char **argv)
{
    const char *mode = getenv("FAKE_MODE") == NULL ? "" : getenv("FAKE_MODE");
    const char *input = NULL;
    const char *output = "elf.o";
    bool answered = false;
    log_words(argc, argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
            output = argv[++i];
        } else if (strcmp(argv[i], "--output-file") == 0 && i + 1 < argc) {
            output = argv[++i];
        } else if (strncmp(argv[i], "-o=", 3) == 0) {
            output = argv[i] + 3;
        } else if (strncmp(argv[i], "--output-file=", 14) == 0) {
            output = argv[i] + 14;
        } else if (strstr(argv[i], "apply-controls") != NULL) {
            if (strcmp(mode, "no-controls") == 0) {
                fprintf(stderr, "ptxas fatal   : Unknown option '%s'\n", argv[i]);
                return 255;
            }
            i += strchr(argv[i], '=') == NULL;
        } else if (argv[i][0] == '-' && argv[i][1] == '-') {
            answered = answer(argv[i]) || answered;
        } else if (argv[i][0] != '-') {
            input = argv[i];
        }
    }
    if (answered) {
        return 0;
    }
    if (strncmp(mode, "tuned:", 6) == 0) {
        mode = input != NULL && strncmp(input, "/proc/", 6) == 0 ? mode + 6 : "";
    }
    if (input == NULL) {
        return 0;
    }
    return compile(mode, input, output);
}
