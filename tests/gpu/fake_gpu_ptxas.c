/*
 * A ptxas whose machine code the fake driver runs: an ELF file with a section .text.NAME that holds
 * "fake NAME time=US salt=N ...". What a candidate does is decided by the file `rules` beside this
 * program, one rule a line, from its options and its PTX:
 *
 *     base 128           microseconds of a launch without any rule; the first line
 *     salt 16            so many different codes besides (0: one for all that is the same)
 *     spread 8           up to so many microseconds more, by chance
 *     WORD -8            so many microseconds less (+: more) where WORD is part of an option or of
 *                        the PTX
 *     WORD wrong=3       these words of the fake driver are added there
 *     WORD !             ptxas fails there
 *     WORD sleep=0.2     ... and takes so long
 *
 * Answers --version, --help and --list-version; accepts every option.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_SIZE = 1 << 16, WORDS_SIZE = 2048 };

typedef struct compilation {
    char ptx[TEXT_SIZE], options[TEXT_SIZE], entry[64];
    const char *input, *output;
    double base_us;
    unsigned salt, spread;
    char words[WORDS_SIZE];
} compilation;

static bool answer(const char *word)
{
    if (strcmp(word, "--version") == 0) {
        puts("ptxas: NVIDIA (R) Ptx optimizing assembler\n"
             "Cuda compilation tools, release 13.0, V13.0.88\nBuild fake");
    } else if (strcmp(word, "--list-version") == 0) {
        puts("8.7\n9.0");
    } else if (strcmp(word, "--help") == 0) {
        puts("--gpu-name <gpu name>  (-arch)\n"
             "  Allowed values for this option:  'sm_80','sm_90','sm_90a'.\n"
             "  Default value:  'sm_80'.\n\n--help  (-h)");
    } else {
        return false;
    }
    return true;
}

/* NUL-terminated, cut off where the room ends. */
static bool read_text(char *out, size_t size, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t length = file != NULL ? fread(out, 1, size - 1, file) : 0;
    out[length] = '\0';
    return file != NULL && fclose(file) == 0;
}

static void take_entry(compilation *c)
{
    const char *at = strstr(c->ptx, ".entry ");
    size_t length = at != NULL ? strcspn(at + 7, " (\n") : 0;
    snprintf(c->entry, sizeof c->entry, "%.*s", (int)length, at != NULL ? at + 7 : "");
}

static void rest(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

/* False: ptxas fails. */
static bool apply_rule(compilation *c, const char *word, const char *effect)
{
    if (strcmp(word, "base") == 0) {
        c->base_us = strtod(effect, NULL);
    } else if (strcmp(word, "salt") == 0) {
        c->salt = (unsigned)strtoul(effect, NULL, 10);
    } else if (strcmp(word, "spread") == 0) {
        c->spread = (unsigned)strtoul(effect, NULL, 10);
    } else if (strstr(c->options, word) == NULL && strstr(c->ptx, word) == NULL) {
        return true;
    } else if (*effect == '+' || *effect == '-') {
        c->base_us += strtod(effect, NULL);
    } else if (*effect == '!') {
        fprintf(stderr, "ptxas %s, line 7; error   : the rules say so\n", c->input);
        return false;
    } else if (strncmp(effect, "sleep=", 6) == 0) {
        rest(strtod(effect + 6, NULL));
    } else {
        size_t used = strlen(c->words);
        snprintf(c->words + used, sizeof c->words - used, " %s", effect);
    }
    return true;
}

static bool apply_rules(compilation *c, const char *self)
{
    char path[4096];
    char rules[TEXT_SIZE];
    const char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*s/rules", slash != NULL ? (int)(slash - self) : 1,
             slash != NULL ? self : ".");
    if (!read_text(rules, sizeof rules, path)) {
        return true;
    }
    for (char *line = strtok(rules, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *effect = strchr(line, ' ');
        if (effect != NULL) {
            *effect = '\0';
            if (!apply_rule(c, line, effect + 1)) {
                return false;
            }
        }
    }
    return true;
}

/* FNV-1a of options and PTX: what differs does so by chance, and always alike. */
static uint64_t chance_of(const compilation *c)
{
    uint64_t hash = 14695981039346656037U;
    const char *texts[] = {c->options, c->ptx};
    for (int t = 0; t < 2; t++) {
        for (const char *at = texts[t]; *at != '\0'; at++) {
            hash = (hash ^ (unsigned char)*at) * 1099511628211U;
        }
    }
    return hash >> 20;
}

static bool write_cubin(const compilation *c)
{
    char text[TEXT_SIZE];
    char names[128] = "";
    uint64_t chance = chance_of(c);
    unsigned salt = c->salt > 0 ? (unsigned)(chance % c->salt) : 0;
    unsigned spread = c->spread > 0 ? (unsigned)(chance / 64 % c->spread) : 0;
    int length = snprintf(text, sizeof text, "fake %s time=%.17g salt=%u%s", c->entry,
                          c->base_us + spread, salt, c->words);
    size_t names_size = 1 + (size_t)snprintf(names + 1, sizeof names - 1, ".shstrtab") + 1;
    size_t text_name = names_size;
    names_size +=
        (size_t)snprintf(names + names_size, sizeof names - names_size, ".text.%s", c->entry) + 1;
    size_t text_size = (size_t)length + 1;
    Elf64_Ehdr header = {.e_type = ET_EXEC,
                         .e_machine = 190, /* EM_CUDA */
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = 3,
                         .e_shstrndx = 1,
                         .e_shoff = sizeof header + names_size + text_size};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    const Elf64_Shdr sections[3] = {
        {0},
        {.sh_name = 1,
         .sh_type = SHT_STRTAB,
         .sh_offset = sizeof header,
         .sh_size = names_size,
         .sh_addralign = 1},
        {.sh_name = (Elf64_Word)text_name,
         .sh_type = SHT_PROGBITS,
         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
         .sh_offset = sizeof header + names_size,
         .sh_size = text_size,
         .sh_addralign = 1},
    };
    FILE *file = fopen(c->output, "wb");
    bool ok = file != NULL && fwrite(&header, sizeof header, 1, file) == 1 &&
              fwrite(names, names_size, 1, file) == 1 && fwrite(text, text_size, 1, file) == 1 &&
              fwrite(sections, sizeof sections, 1, file) == 1;
    return file != NULL && fclose(file) == 0 && ok;
}

/* What is not about files decides the code. */
static void take_words(compilation *c, int argc, char **argv)
{
    size_t used = 0;
    c->output = "elf.o";
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "-o") == 0 && i + 1 < argc) {
            c->output = argv[++i];
        } else if (word[0] != '-' && strncmp(word, "sm_", 3) != 0) {
            c->input = word;
        } else if (strcmp(word, "-v") != 0 && strncmp(word, "-arch", 5) != 0 &&
                   strncmp(word, "sm_", 3) != 0) {
            int length = snprintf(c->options + used, sizeof c->options - used, "%s ", word);
            used += length > 0 ? (size_t)length : 0;
        }
    }
}

int main(int argc, char **argv)
{
    static compilation c = {.base_us = 128};
    if (argc > 1 && answer(argv[1])) {
        return 0;
    }
    take_words(&c, argc, argv);
    if (c.input == NULL || !read_text(c.ptx, sizeof c.ptx, c.input)) {
        fprintf(stderr, "ptxas fatal   : Input file '%s' could not be opened\n",
                c.input != NULL ? c.input : "");
        return 255;
    }
    if (strstr(c.ptx, ".version 99") != NULL) {
        fprintf(stderr,
                "ptxas %s, line 1; fatal   : Unsupported .version 99.9; current version is "
                "'9.0'\n",
                c.input);
        return 255;
    }
    take_entry(&c);
    if (!apply_rules(&c, argv[0]) || !write_cubin(&c)) {
        return 255;
    }
    fprintf(stderr,
            "ptxas info    : Compiling entry function '%s' for 'sm_90a'\n"
            "ptxas info    : Function properties for %s\n"
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
            "ptxas info    : Used 16 registers, used 0 barriers\n",
            c.entry, c.entry);
    return 0;
}
