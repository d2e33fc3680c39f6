/*
 * cubin.c: what the machine code of one compilation is: its size, and a name for everything that
 * decides how it runs.
 *
 * The name must be equal for equal code, whatever the file was called, where it stood, and whether
 * it carries debug information; and it must never be equal for different code. Hence: what is known
 * to be about debugging or about the tools is left out, numbers that only index tables (symbols,
 * sections) are replaced by the names they stand for, and all the rest goes in byte by byte, known
 * or not. An unknown section that differs for no reason costs one more measurement; one left out
 * wrongly would give a candidate the numbers of another.
 *
 * Sources: the ELF specification; section and attribute names as `cuobjdump -elf` shows them;
 * experiments with ptxas 11.8 to 13.5, repeated by tests/compiler/test_cubin.c.
 */
#include "compiler/compiler.h"

#include "util/error.h"
#include "util/mem.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECTION_NV_INFO = 0x70000000,      /* SHT_LOPROC: launch properties of an entry, or of all */
    SECTION_NV_CALLGRAPH = 0x70000001, /* pairs of symbols: caller, callee */
    SYMBOL_ENTRY = 0x10,               /* in st_other: the symbol is a kernel entry */
    SECTION_COUNT_MAX = 65536
};

typedef struct section {
    const char *name;
    GElf_Shdr header;
    const unsigned char *data; /* NULL when the section takes no space in the file */
    size_t size, index;
    bool skipped; /* not part of the code's name */
} section;

typedef struct symbol {
    const char *name, *section_name;
    GElf_Sym fields;
    bool skipped;
} symbol;

typedef struct cubin {
    Elf *elf;
    arena memory;
    section *sections; /* by index, [0] unused */
    size_t section_count;
    symbol *symbols;
    size_t symbol_count;
    uint32_t machine_flags;
} cubin;

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Debug information, notes (they hold the command line), the tables behind the names; and from
   sm_100 on .nv.merc.* and .nv.capmerc.*: another form of the same code, with its own debug tables,
   which the driver finalises for other chips of the family. */
static bool is_about_tools(const char *name, uint32_t type)
{
    static const char *const prefixes[] = {".debug_",  ".nv_debug", ".note",
                                           ".comment", ".nv.merc.", ".nv.capmerc."};
    for (const char *const *rel = (const char *const[]){".rela", ".rel", NULL}; *rel != NULL;
         rel++) {
        if ((type == SHT_RELA || type == SHT_REL) && starts_with(name, *rel)) {
            name += strlen(*rel);
            break;
        }
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (starts_with(name, prefixes[i])) {
            return true;
        }
    }
    return type == SHT_NULL || type == SHT_STRTAB || type == SHT_SYMTAB || type == SHT_NOTE ||
           type == SHT_SYMTAB_SHNDX;
}

/* ---- Reading ----------------------------------------------------------------------------- */

static evocc_status damaged(evocc_error *error, const char *what)
{
    return error_set(error, EVOCC_PARSE, "the cubin is damaged: %s", what);
}

static evocc_status read_sections(cubin *c, evocc_error *error)
{
    size_t names = 0;
    size_t count = 0;
    if (elf_getshdrnum(c->elf, &count) != 0 || elf_getshdrstrndx(c->elf, &names) != 0 ||
        count == 0 || count > SECTION_COUNT_MAX) {
        return damaged(error, "its section table cannot be read");
    }
    c->sections = arena_alloc(&c->memory, count, sizeof *c->sections);
    if (c->sections == NULL) {
        return error_no_memory(error);
    }
    c->section_count = count;
    c->sections[0] = (section){.name = "", .skipped = true};
    for (size_t i = 1; i < count; i++) {
        section *s = &c->sections[i];
        Elf_Scn *handle = elf_getscn(c->elf, i);
        if (handle == NULL || gelf_getshdr(handle, &s->header) == NULL) {
            return damaged(error, "a section header cannot be read");
        }
        s->index = i;
        s->name = elf_strptr(c->elf, names, s->header.sh_name);
        if (s->name == NULL) {
            return damaged(error, "a section has no name");
        }
        s->skipped = is_about_tools(s->name, s->header.sh_type);
        if (s->header.sh_type == SHT_NOBITS || s->header.sh_size == 0) {
            continue;
        }
        Elf_Data *data = elf_rawdata(handle, NULL);
        if (data == NULL || data->d_buf == NULL || data->d_size != s->header.sh_size) {
            return damaged(error, "a section reaches beyond the end of the file");
        }
        s->data = data->d_buf;
        s->size = data->d_size;
    }
    return EVOCC_OK;
}

static evocc_status read_symbols(cubin *c, evocc_error *error)
{
    const section *table = NULL;
    for (size_t i = 1; i < c->section_count && table == NULL; i++) {
        table = c->sections[i].header.sh_type == SHT_SYMTAB ? &c->sections[i] : NULL;
    }
    if (table == NULL) {
        return EVOCC_OK;
    }
    size_t count = table->size / sizeof(Elf64_Sym);
    c->symbols = arena_alloc(&c->memory, count, sizeof *c->symbols);
    if (c->symbols == NULL) {
        return error_no_memory(error);
    }
    c->symbol_count = count;
    for (size_t i = 0; i < count; i++) {
        symbol *s = &c->symbols[i];
        Elf64_Sym fields;
        memcpy(&fields, table->data + i * sizeof fields, sizeof fields);
        s->fields = fields;
        s->name = elf_strptr(c->elf, table->header.sh_link, fields.st_name);
        s->name = s->name != NULL ? s->name : "";
        size_t in = fields.st_shndx;
        bool real = in > 0 && in < c->section_count;
        s->section_name = real ? c->sections[in].name : "";
        int type = GELF_ST_TYPE(fields.st_info);
        s->skipped = (real && c->sections[in].skipped) || type == STT_SECTION || type == STT_FILE ||
                     (s->name[0] == '\0' && !real);
    }
    return EVOCC_OK;
}

static void close_cubin(cubin *c)
{
    elf_end(c->elf);
    arena_dispose(&c->memory);
}

/* Leaves what must be closed in *c, also on failure. */
static evocc_status open_cubin(cubin *c, const void *data, size_t length, evocc_error *error)
{
    if (elf_version(EV_CURRENT) == EV_NONE) {
        return error_set(error, EVOCC_UNSUPPORTED, "libelf is of another generation");
    }
    /* elf_memory takes a plain pointer, but writes nowhere: the image is only read here. */
    c->elf = length < sizeof(Elf64_Ehdr) ? NULL : elf_memory((char *)(uintptr_t)data, length);
    GElf_Ehdr header;
    if (c->elf == NULL || elf_kind(c->elf) != ELF_K_ELF || gelf_getclass(c->elf) != ELFCLASS64 ||
        gelf_getehdr(c->elf, &header) == NULL || header.e_ident[EI_DATA] != ELFDATA2LSB) {
        return error_set(error, EVOCC_PARSE,
                         "this is no cubin: %zu bytes that are not a 64-bit ELF file", length);
    }
    if (header.e_machine != EM_CUDA) {
        return error_set(error, EVOCC_PARSE, "this is no cubin: an ELF file for machine %u",
                         (unsigned)header.e_machine);
    }
    /* Target and word size. From 13.0 on the upper byte is the index of a note's section. */
    c->machine_flags = header.e_flags & 0xffffff;
    evocc_status status = read_sections(c, error);
    return status != EVOCC_OK ? status : read_symbols(c, error);
}

/* ---- Hashing ----------------------------------------------------------------------------- */

static void add_number(hash_sha256_state *hash, uint64_t value)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    hash_sha256_add(hash, bytes, sizeof bytes);
}

/* With its length, so that no two sequences of fields run together into the same bytes. */
static void add_bytes(hash_sha256_state *hash, const void *bytes, size_t length)
{
    add_number(hash, length);
    if (length > 0) {
        hash_sha256_add(hash, bytes, length);
    }
}

static void add_text(hash_sha256_state *hash, const char *text)
{
    add_bytes(hash, text, strlen(text));
}

static uint32_t read_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* What the symbol of this index stands for; the index itself when there is none. */
static void add_symbol_name(hash_sha256_state *hash, const cubin *c, uint64_t index)
{
    if (index >= c->symbol_count) {
        add_text(hash, "#");
        add_number(hash, index);
        return;
    }
    const symbol *s = &c->symbols[index];
    bool is_section = GELF_ST_TYPE(s->fields.st_info) == STT_SECTION;
    add_text(hash, is_section ? "section" : "symbol");
    add_text(hash, s->section_name);
    add_text(hash, is_section ? "" : s->name);
}

typedef enum attribute_kind { PLAIN, BY_SYMBOL, ABOUT_TOOLS } attribute_kind;

/* Attributes of .nv.info that begin with the index of a symbol, and those that say nothing about
   the code: statistics, and annotations for tools, which --compiler-annotations extends by text. */
static attribute_kind kind_of_attribute(unsigned char number)
{
    switch (number) {
    case 0x0a: /* PARAM_CBANK */
    case 0x0f: /* EXTERNS */
    case 0x11: /* FRAME_SIZE */
    case 0x12: /* MIN_STACK_SIZE */
    case 0x23: /* MAX_STACK_SIZE */
    case 0x2f: /* REGCOUNT */
    case 0x3b: /* SAM_REGION_STACK_SIZE */
        return BY_SYMBOL;
    case 0x33: /* STATISTICS */
    case 0x3c: /* PER_REG_TARGET_PERF_STATS */
    case 0x55: /* ANNOTATIONS */
        return ABOUT_TOOLS;
    default:
        return PLAIN;
    }
}

/* Items of four bytes {format, attribute, value or size}; format 4 has `size` more bytes. A tail
   that does not fit goes in as it is. */
static void add_info(hash_sha256_state *hash, const cubin *c, const section *s)
{
    size_t at = 0;
    while (s->size - at >= 4) {
        const unsigned char *item = s->data + at;
        size_t extra = item[0] == 4 ? (size_t)item[2] | (size_t)item[3] << 8 : 0;
        if (extra > s->size - at - 4) {
            break;
        }
        at += 4 + extra;
        attribute_kind kind = kind_of_attribute(item[1]);
        if (kind == ABOUT_TOOLS) {
            continue;
        }
        if (kind == BY_SYMBOL && item[0] == 4 && extra >= 4) {
            add_bytes(hash, item, 4);
            add_symbol_name(hash, c, read_u32(item + 4));
            add_bytes(hash, item + 8, extra - 4);
        } else {
            add_bytes(hash, item, 4 + extra);
        }
    }
    add_bytes(hash, at < s->size ? s->data + at : NULL, s->size - at);
}

static void add_callgraph(hash_sha256_state *hash, const cubin *c, const section *s)
{
    for (size_t at = 0; s->size - at >= 4; at += 4) {
        add_symbol_name(hash, c, read_u32(s->data + at));
    }
}

static void add_relocations(hash_sha256_state *hash, const cubin *c, const section *s)
{
    bool addends = s->header.sh_type == SHT_RELA;
    size_t step = addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (size_t at = 0; s->size - at >= step; at += step) {
        Elf64_Rela r = {0};
        memcpy(&r, s->data + at, step);
        add_number(hash, r.r_offset);
        add_number(hash, ELF64_R_TYPE(r.r_info));
        add_symbol_name(hash, c, ELF64_R_SYM(r.r_info));
        add_number(hash, addends ? (uint64_t)r.r_addend : 0);
    }
}

static void add_section(hash_sha256_state *hash, const cubin *c, const section *s)
{
    add_text(hash, s->name);
    add_number(hash, s->header.sh_type);
    add_number(hash, s->header.sh_flags);
    add_number(hash, s->header.sh_addralign);
    switch (s->header.sh_type) {
    case SHT_NOBITS:
        add_number(hash, s->header.sh_size);
        break;
    case SHT_RELA:
    case SHT_REL:
        add_relocations(hash, c, s);
        break;
    case SECTION_NV_INFO:
        add_info(hash, c, s);
        break;
    case SECTION_NV_CALLGRAPH:
        add_callgraph(hash, c, s);
        break;
    default:
        /* The upper byte of a text section's sh_info is its register count; the rest, a symbol. */
        add_number(hash, (s->header.sh_flags & SHF_EXECINSTR) != 0 ? s->header.sh_info >> 24 : 0);
        add_bytes(hash, s->data, s->size);
        break;
    }
}

static void add_symbol(hash_sha256_state *hash, const symbol *s)
{
    add_text(hash, s->name);
    add_text(hash, s->section_name);
    add_number(hash, s->fields.st_value);
    add_number(hash, s->fields.st_size);
    add_number(hash, s->fields.st_info);
    add_number(hash, s->fields.st_other);
}

static int compare_sections(const void *left, const void *right)
{
    const section *a = *(const section *const *)left;
    const section *b = *(const section *const *)right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static int compare_symbols(const void *left, const void *right)
{
    const symbol *a = *(const symbol *const *)left;
    const symbol *b = *(const symbol *const *)right;
    int order = strcmp(a->name, b->name);
    order = order != 0 ? order : strcmp(a->section_name, b->section_name);
    return order != 0 ? order
                      : (a->fields.st_value > b->fields.st_value) -
                            (a->fields.st_value < b->fields.st_value);
}

/* Sections and symbols by name: debug information moves them about in their tables. */
static evocc_status hash_code(char out[HASH_SHA256_TEXT], cubin *c, evocc_error *error)
{
    const section **sections = arena_alloc(&c->memory, c->section_count, sizeof *sections);
    const symbol **symbols = arena_alloc(&c->memory, c->symbol_count, sizeof *symbols);
    if (sections == NULL || symbols == NULL) {
        return error_no_memory(error);
    }
    size_t section_count = 0;
    for (size_t i = 1; i < c->section_count; i++) {
        if (!c->sections[i].skipped) {
            sections[section_count++] = &c->sections[i];
        }
    }
    size_t symbol_count = 0;
    for (size_t i = 0; i < c->symbol_count; i++) {
        if (!c->symbols[i].skipped) {
            symbols[symbol_count++] = &c->symbols[i];
        }
    }
    qsort(sections, section_count, sizeof *sections, compare_sections);
    qsort(symbols, symbol_count, sizeof *symbols, compare_symbols);

    hash_sha256_state hash;
    hash_sha256_init(&hash);
    add_number(&hash, c->machine_flags);
    add_number(&hash, section_count);
    for (size_t i = 0; i < section_count; i++) {
        add_section(&hash, c, sections[i]);
    }
    for (size_t i = 0; i < symbol_count; i++) {
        add_symbol(&hash, symbols[i]);
    }
    hash_sha256_end(&hash, out);
    return EVOCC_OK;
}

/* ---- The entry --------------------------------------------------------------------------- */

static evocc_status measure_code(double *out, const cubin *c, const char *entry, evocc_error *error)
{
    static const char prefix[] = ".text.";
    double bytes = 0.0;
    bool found = false;
    for (size_t i = 1; i < c->section_count; i++) {
        const section *s = &c->sections[i];
        if (starts_with(s->name, prefix) &&
            (entry == NULL || strcmp(s->name + sizeof prefix - 1, entry) == 0)) {
            found = true;
            bytes += (double)s->header.sh_size;
        }
    }
    if (!found && entry != NULL) {
        return error_set(error, EVOCC_NOT_FOUND, "the cubin holds no code for entry '%s'", entry);
    }
    *out = bytes;
    return EVOCC_OK;
}

evocc_status cubin_read(cubin_info *out, const void *data, size_t length, const char *entry,
                        evocc_error *error)
{
    cubin c = {0};
    cubin_info info = {0};
    evocc_status status = open_cubin(&c, data, length, error);
    if (status == EVOCC_OK) {
        status = measure_code(&info.code_bytes, &c, entry, error);
    }
    if (status == EVOCC_OK) {
        status = hash_code(info.hash, &c, error);
    }
    if (status == EVOCC_OK) {
        *out = info;
    }
    close_cubin(&c);
    return status;
}
