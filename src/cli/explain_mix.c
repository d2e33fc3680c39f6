#include "cli/explain_mix.h"

#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <ctype.h>
#include <string.h>

const char *mix_class_name(mix_class class)
{
    static const char *const names[] = {
        [MIX_GLOBAL_LOAD] = "global loads",
        [MIX_GLOBAL_STORE] = "global stores",
        [MIX_SHARED] = "shared memory",
        [MIX_LOCAL] = "local memory (spills)",
        [MIX_ASYNC_COPY] = "async copies",
        [MIX_ATOMIC] = "atomics",
        [MIX_TENSOR] = "tensor cores",
        [MIX_FLOAT] = "floating point",
        [MIX_INTEGER] = "integer, logic",
        [MIX_MOVE] = "moves, conversions",
        [MIX_CONTROL] = "control flow",
        [MIX_BARRIER] = "barriers, fences",
        [MIX_OTHER] = "other",
    };
    return names[class];
}

typedef struct mnemonic {
    const char *name; /* up to the first point */
    mix_class class;
} mnemonic;

/* CUDA Binary Utilities, "Instruction Set Reference"; a trailing '*' stands for any rest. */
static const mnemonic sass[] = {
    {"LDG", MIX_GLOBAL_LOAD},   {"LD", MIX_GLOBAL_LOAD},
    {"STG", MIX_GLOBAL_STORE},  {"ST", MIX_GLOBAL_STORE},
    {"LDS*", MIX_SHARED},       {"STS*", MIX_SHARED},
    {"LDL", MIX_LOCAL},         {"STL", MIX_LOCAL},
    {"LDGSTS", MIX_ASYNC_COPY}, {"LDGDEPBAR", MIX_ASYNC_COPY},
    {"DEPBAR", MIX_BARRIER},    {"UTMA*", MIX_ASYNC_COPY},
    {"UBLKCP", MIX_ASYNC_COPY}, {"ATOM*", MIX_ATOMIC},
    {"RED*", MIX_ATOMIC},       {"HMMA", MIX_TENSOR},
    {"IMMA", MIX_TENSOR},       {"DMMA", MIX_TENSOR},
    {"QMMA", MIX_TENSOR},       {"HGMMA", MIX_TENSOR},
    {"IGMMA", MIX_TENSOR},      {"QGMMA", MIX_TENSOR},
    {"UTC*", MIX_TENSOR},       {"WARPGROUP", MIX_TENSOR},
    {"FADD*", MIX_FLOAT},       {"FMUL*", MIX_FLOAT},
    {"FFMA*", MIX_FLOAT},       {"FMNMX*", MIX_FLOAT},
    {"FSET*", MIX_FLOAT},       {"FSEL", MIX_FLOAT},
    {"FCHK", MIX_FLOAT},        {"MUFU", MIX_FLOAT},
    {"DADD", MIX_FLOAT},        {"DMUL", MIX_FLOAT},
    {"DFMA", MIX_FLOAT},        {"DSET*", MIX_FLOAT},
    {"HADD2*", MIX_FLOAT},      {"HMUL2*", MIX_FLOAT},
    {"HFMA2*", MIX_FLOAT},      {"HSET*", MIX_FLOAT},
    {"HMNMX*", MIX_FLOAT},      {"I2F*", MIX_MOVE},
    {"F2I*", MIX_MOVE},         {"F2F*", MIX_MOVE},
    {"I2I*", MIX_MOVE},         {"FRND*", MIX_MOVE},
    {"MOV*", MIX_MOVE},         {"UMOV", MIX_MOVE},
    {"PRMT", MIX_MOVE},         {"UPRMT", MIX_MOVE},
    {"SEL", MIX_MOVE},          {"USEL", MIX_MOVE},
    {"SHFL", MIX_MOVE},         {"R2UR", MIX_MOVE},
    {"S2R", MIX_MOVE},          {"S2UR", MIX_MOVE},
    {"CS2R", MIX_MOVE},         {"LDC*", MIX_MOVE},
    {"ULDC*", MIX_MOVE},        {"LDSM", MIX_SHARED},
    {"BRA", MIX_CONTROL},       {"BRX", MIX_CONTROL},
    {"EXIT", MIX_CONTROL},      {"CALL", MIX_CONTROL},
    {"RET", MIX_CONTROL},       {"BSSY", MIX_CONTROL},
    {"BSYNC", MIX_CONTROL},     {"WARPSYNC", MIX_CONTROL},
    {"JMP", MIX_CONTROL},       {"NANOSLEEP", MIX_CONTROL},
    {"YIELD", MIX_CONTROL},     {"BAR", MIX_BARRIER},
    {"SYNCS", MIX_BARRIER},     {"MEMBAR", MIX_BARRIER},
    {"FENCE", MIX_BARRIER},     {"ERRBAR", MIX_BARRIER},
    {"CCTL*", MIX_BARRIER},     {"I*", MIX_INTEGER},
    {"UI*", MIX_INTEGER},       {"LOP*", MIX_INTEGER},
    {"ULOP*", MIX_INTEGER},     {"SHF", MIX_INTEGER},
    {"USHF", MIX_INTEGER},      {"LEA*", MIX_INTEGER},
    {"ULEA*", MIX_INTEGER},     {"POPC", MIX_INTEGER},
    {"FLO", MIX_INTEGER},       {"PLOP3", MIX_INTEGER},
    {"P2R", MIX_MOVE},          {"R2P", MIX_MOVE},
    {"VOTE*", MIX_INTEGER},     {"UP2UR", MIX_MOVE},
    {"BREV", MIX_INTEGER},
};

/* PTX ISA, "Instruction Set"; memory is told apart by its state space below. */
static const mnemonic ptx[] = {
    {"atom", MIX_ATOMIC},    {"red", MIX_ATOMIC},      {"cp", MIX_ASYNC_COPY},
    {"mma", MIX_TENSOR},     {"wmma", MIX_TENSOR},     {"wgmma", MIX_TENSOR},
    {"tcgen05", MIX_TENSOR}, {"ldmatrix", MIX_SHARED}, {"stmatrix", MIX_SHARED},
    {"bra", MIX_CONTROL},    {"brx", MIX_CONTROL},     {"call", MIX_CONTROL},
    {"ret", MIX_CONTROL},    {"exit", MIX_CONTROL},    {"trap", MIX_CONTROL},
    {"bar", MIX_BARRIER},    {"barrier", MIX_BARRIER}, {"mbarrier", MIX_BARRIER},
    {"fence", MIX_BARRIER},  {"membar", MIX_BARRIER},  {"mov", MIX_MOVE},
    {"cvt", MIX_MOVE},       {"cvta", MIX_MOVE},       {"prmt", MIX_MOVE},
    {"selp", MIX_MOVE},      {"shfl", MIX_MOVE},       {"ldu", MIX_GLOBAL_LOAD},
};

static mix_class look_up(const mnemonic *table, size_t count, const char *name, size_t length,
                         mix_class otherwise)
{
    for (size_t i = 0; i < count; i++) {
        size_t own = strlen(table[i].name);
        bool prefix = table[i].name[own - 1] == '*';
        if (prefix ? length >= own - 1 && strncmp(table[i].name, name, own - 1) == 0
                   : length == own && strncmp(table[i].name, name, own) == 0) {
            return table[i].class;
        }
    }
    return otherwise;
}

static bool has_part(const char *opcode, size_t length, const char *part)
{
    size_t own = strlen(part);
    for (size_t i = 0; i + own <= length; i++) {
        bool ends = i + own == length || strchr(". :", opcode[i + own]) != NULL;
        if (strncmp(opcode + i, part, own) == 0 && ends) {
            return true;
        }
    }
    return false;
}

static mix_class memory_class(const char *opcode, size_t length, bool load)
{
    return has_part(opcode, length, ".shared")  ? MIX_SHARED
           : has_part(opcode, length, ".local") ? MIX_LOCAL
           : has_part(opcode, length, ".param") ? MIX_MOVE
           : load                               ? MIX_GLOBAL_LOAD
                                                : MIX_GLOBAL_STORE;
}

static mix_class class_of_ptx(const char *opcode, size_t length)
{
    static const char *const floats[] = {".f32",  ".f64",    ".f16",  ".f16x2",
                                         ".bf16", ".bf16x2", ".f32x2"};
    size_t name = 0;
    while (name < length && opcode[name] != '.' && opcode[name] != ' ') {
        name++;
    }
    if (name == 2 && (strncmp(opcode, "ld", 2) == 0 || strncmp(opcode, "st", 2) == 0)) {
        return memory_class(opcode, length, opcode[0] == 'l');
    }
    mix_class class = look_up(ptx, sizeof ptx / sizeof ptx[0], opcode, name, MIX_OTHER);
    for (size_t i = 0; class == MIX_OTHER && i < sizeof floats / sizeof floats[0]; i++) {
        class = has_part(opcode, length, floats[i]) ? MIX_FLOAT : class;
    }
    return class == MIX_OTHER && name < length ? MIX_INTEGER : class;
}

static void count(instruction_mix *out, mix_class class)
{
    out->counts[class]++;
    out->total++;
}

/* Behind ".entry NAME ... {"; NULL when it is not there. */
static const char *body_of(const char *normal, const char *entry)
{
    size_t length = strlen(entry);
    for (const char *c = normal; (c = strstr(c, ".entry ")) != NULL;) {
        c += 7;
        if (strncmp(c, entry, length) == 0 && (c[length] == ' ' || c[length] == '\0')) {
            return strchr(c, '{');
        }
    }
    return NULL;
}

/* Tokens are separated by one blank; an instruction begins behind ';', '{', '}' or ':', perhaps
   with
   "@ p" or "@ ! p" before it. */
void mix_of_ptx(instruction_mix *out, const char *normal, const char *entry)
{
    *out = (instruction_mix){0};
    const char *c = body_of(normal, entry);
    bool begins = false;
    bool guarded = false;
    size_t depth = 0;
    while (c != NULL && *c != '\0') {
        size_t length = strcspn(c, " \n");
        bool brace = length == 1 && (*c == '{' || *c == '}');
        depth += length == 1 && *c == '{';
        depth -= length == 1 && *c == '}';
        if (depth == 0) {
            return;
        }
        if (brace || (length == 1 && (*c == ';' || *c == ':'))) {
            begins = true;
            guarded = false;
        } else if (begins && *c == '@') {
            guarded = length == 1 || (length == 2 && c[1] == '!'); /* its name comes on its own */
        } else if (guarded) {
            guarded = *c == '!' && length == 1;
        } else if (begins) {
            const char *next = c + length + strspn(c + length, " \n");
            bool label = *next == ':' || c[length - 1] == ':';
            if (islower((unsigned char)*c) && !label) {
                /* Its modifiers may be tokens of their own: "ld .global .f32". */
                while (c[length] == ' ' && c[length + 1] == '.') {
                    length += 1 + strcspn(c + length + 1, " \n");
                }
                count(out, class_of_ptx(c, length));
            }
            begins = c[length - 1] == ':';
        }
        c += length + strspn(c + length, " \n");
    }
}

/* Whether a line names the entry whose instructions follow (1), another one (0), or none (-1). */
static int names_function(const char *line, size_t length, const char *entry)
{
    static const char *const marks[] = {".text.", "Function : "};
    size_t own = strlen(entry);
    for (size_t i = 0; i < 2; i++) {
        size_t mark = strlen(marks[i]);
        for (size_t at = 0; at + mark < length; at++) {
            if (strncmp(line + at, marks[i], mark) != 0) {
                continue;
            }
            const char *name = line + at + mark;
            size_t rest = length - at - mark;
            return rest >= own && strncmp(name, entry, own) == 0 &&
                   (rest == own || strchr(":,\" \t\r", name[own]) != NULL);
        }
    }
    return -1;
}

/* A line of an instruction: a comment with its address, perhaps "@P0" or "@!UP1", the mnemonic. */
static void count_line(instruction_mix *out, const char *line, size_t length)
{
    const char *end = line + length;
    const char *c = line;
    while (c < end && isspace((unsigned char)*c)) {
        c++;
    }
    if (end - c < 6 || strncmp(c, "/*", 2) != 0 || !isxdigit((unsigned char)c[2])) {
        return;
    }
    while (c + 1 < end && strncmp(c, "*/", 2) != 0) {
        c++;
    }
    c += 2;
    for (int word = 0; word < 2 && c < end; word++) {
        while (c < end && (isspace((unsigned char)*c) || *c == '{')) {
            c++;
        }
        if (c >= end || *c != '@') {
            break;
        }
        while (c < end && !isspace((unsigned char)*c)) {
            c++;
        }
    }
    size_t name = 0;
    while (c + name < end && isalnum((unsigned char)c[name])) {
        name++;
    }
    bool padding = name == 3 && strncmp(c, "NOP", 3) == 0;
    if (c < end && isupper((unsigned char)*c) && !padding) {
        count(out, look_up(sass, sizeof sass / sizeof sass[0], c, name, MIX_OTHER));
    }
}

void mix_of_sass(instruction_mix *out, const char *text, const char *entry)
{
    *out = (instruction_mix){0};
    bool inside = false;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        int named = names_function(text, length, entry);
        inside = named < 0 ? inside : named == 1;
        if (inside && named < 0) {
            count_line(out, text, length);
        }
        text += length + (text[length] == '\n');
    }
}

evocc_status mix_find_disassembler(char **out, bool *is_cuobjdump, const char *compiler,
                                   evocc_error *error)
{
    static const char *const names[] = {"nvdisasm", "cuobjdump"};
    const file_identity nobody = {0};
    char *folder = path_folder(compiler);
    evocc_status status = folder == NULL ? error_no_memory(error) : EVOCC_NOT_FOUND;
    for (size_t i = 0; status == EVOCC_NOT_FOUND && i < 2; i++) {
        char *path = path_join(folder, names[i]);
        *is_cuobjdump = i == 1;
        if (path == NULL) {
            status = error_no_memory(error);
        } else if (file_is_executable(path)) {
            *out = path;
            path = NULL;
            status = EVOCC_OK;
        } else {
            status = program_find(out, names[i], &nobody, error);
        }
        mem_free(path);
    }
    mem_free(folder);
    return status;
}
