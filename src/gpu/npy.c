#include "gpu/npy.h"

#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HEADER_MAX = 1 << 16 };

typedef struct npy_file {
    FILE *file;
    const char *path;
    dtype type;
    npy_shape shape;
} npy_file;

static const struct {
    const char *descr;
    dtype type;
} descrs[] = {
    {"|i1", DTYPE_I8},  {"|u1", DTYPE_U8},  {"<i2", DTYPE_I16}, {"<u2", DTYPE_U16},
    {"<i4", DTYPE_I32}, {"<u4", DTYPE_U32}, {"<i8", DTYPE_I64}, {"<u8", DTYPE_U64},
    {"<f2", DTYPE_F16}, {"<f4", DTYPE_F32}, {"<f8", DTYPE_F64}, {"|b1", DTYPE_U8},
};

static evocc_status bad(const npy_file *f, evocc_error *error, const char *what)
{
    return error_set(error, EVOCC_PARSE, "'%s' is no .npy file that can be used: %s", f->path,
                     what);
}

/* ---- The header: a Python dictionary of three known keys ------------------------------------- */

typedef struct cursor {
    const char *at;
} cursor;

static void skip_blanks(cursor *c)
{
    while (*c->at == ' ' || *c->at == '\t' || *c->at == '\n') {
        c->at++;
    }
}

static bool take(cursor *c, const char *text)
{
    skip_blanks(c);
    size_t length = strlen(text);
    if (strncmp(c->at, text, length) != 0) {
        return false;
    }
    c->at += length;
    return true;
}

static bool take_string(cursor *c, char *out, size_t size)
{
    skip_blanks(c);
    char quote = *c->at;
    if (quote != '\'' && quote != '"') {
        return false;
    }
    const char *begin = ++c->at;
    while (*c->at != quote && *c->at != '\0') {
        c->at++;
    }
    size_t length = (size_t)(c->at - begin);
    if (*c->at != quote || length >= size) {
        return false;
    }
    c->at++;
    memcpy(out, begin, length);
    out[length] = '\0';
    return true;
}

static bool take_number(cursor *c, uint64_t *out)
{
    skip_blanks(c);
    if (*c->at < '0' || *c->at > '9') {
        return false;
    }
    uint64_t value = 0;
    for (; *c->at >= '0' && *c->at <= '9'; c->at++) {
        uint64_t digit = (uint64_t)(*c->at - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static bool take_shape(cursor *c, npy_shape *shape)
{
    shape->count = 0;
    shape->elements = 1;
    if (!take(c, "(")) {
        return false;
    }
    while (!take(c, ")")) {
        uint64_t extent;
        if (shape->count == NPY_DIMENSIONS || !take_number(c, &extent) ||
            (extent > 0 && shape->elements > (UINT64_MAX >> 8) / extent)) {
            return false;
        }
        shape->extents[shape->count++] = extent;
        shape->elements *= extent;
        if (!take(c, ",")) {
            return take(c, ")");
        }
    }
    return true;
}

static evocc_status read_dictionary(npy_file *f, const char *text, evocc_error *error)
{
    cursor c = {text};
    char key[20];
    char descr[20] = "";
    bool c_order = false;
    unsigned seen = 0;
    bool ok = take(&c, "{");
    while (ok && !take(&c, "}")) {
        ok = take_string(&c, key, sizeof key) && take(&c, ":");
        if (ok && strcmp(key, "descr") == 0) {
            ok = take_string(&c, descr, sizeof descr);
            seen |= 1;
        } else if (ok && strcmp(key, "fortran_order") == 0) {
            c_order = take(&c, "False");
            ok = c_order || take(&c, "True");
            seen |= 2;
        } else if (ok && strcmp(key, "shape") == 0) {
            ok = take_shape(&c, &f->shape);
            seen |= 4;
        } else {
            ok = false;
        }
        if (ok && !take(&c, ",")) {
            ok = take(&c, "}");
            break;
        }
    }
    skip_blanks(&c);
    if (!ok || seen != 7 || *c.at != '\0') {
        return bad(f, error, "its header cannot be read");
    }
    if (!c_order) {
        return bad(f, error, "it is in Fortran order; save it with numpy.ascontiguousarray");
    }
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        if (strcmp(descr, descrs[i].descr) == 0) {
            f->type = descrs[i].type;
            return EVOCC_OK;
        }
    }
    return error_set(error, EVOCC_PARSE, "'%s' holds elements of type '%s', which is not supported",
                     f->path, descr);
}

static evocc_status read_header(npy_file *f, evocc_error *error)
{
    unsigned char start[12];
    if (fread(start, 1, 10, f->file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0) {
        return bad(f, error, "it does not begin as one");
    }
    if (start[6] < 1 || start[6] > 3) {
        return bad(f, error, "its format version is none of 1.0 to 3.0");
    }
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (fread(start + 10, 1, 2, f->file) != 2) {
            return bad(f, error, "it ends in its header");
        }
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (length > HEADER_MAX) {
        return bad(f, error, "its header is larger than 64 KiB");
    }
    char *text = mem_alloc(length + 1, 1);
    if (text == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = fread(text, 1, length, f->file) == length
                              ? read_dictionary(f, text, error)
                              : bad(f, error, "it ends in its header");
    mem_free(text);
    return status;
}

static evocc_status open_file(npy_file *f, const char *path, evocc_error *error)
{
    *f = (npy_file){.path = path};
    f->file = fopen(path, "rbe");
    if (f->file == NULL) {
        return error_set_os(error, EVOCC_IO, errno, "cannot read '%s'", path);
    }
    struct stat info;
    if (fstat(fileno(f->file), &info) != 0 || !S_ISREG(info.st_mode)) {
        return bad(f, error, "it is not a regular file");
    }
    return read_header(f, error);
}

static void close_file(npy_file *f)
{
    if (f->file != NULL) {
        fclose(f->file);
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

evocc_status npy_read_header(dtype *type, npy_shape *shape, const char *path, evocc_error *error)
{
    npy_file f;
    evocc_status status = open_file(&f, path, error);
    if (status == EVOCC_OK) {
        *type = f.type;
        *shape = f.shape;
    }
    close_file(&f);
    return status;
}

/* Types that NumPy has no name for lie in its integers of their size. */
static bool same_type(dtype wanted, dtype found)
{
    return wanted == found || (wanted == DTYPE_BF16 && found == DTYPE_U16) ||
           ((wanted == DTYPE_E4M3 || wanted == DTYPE_E5M2) && found == DTYPE_U8);
}

static evocc_status read_data(void **out, npy_file *f, dtype type, uint64_t elements,
                              evocc_error *error)
{
    if (!same_type(type, f->type)) {
        return error_set(error, EVOCC_PARSE, "'%s' holds %s, not %s", f->path, dtype_name(f->type),
                         dtype_name(type));
    }
    if (f->shape.elements != elements) {
        return error_set(error, EVOCC_PARSE, "'%s' holds %llu elements, not %llu", f->path,
                         (unsigned long long)f->shape.elements, (unsigned long long)elements);
    }
    size_t size = dtype_bytes(type);
    void *data = elements <= PTRDIFF_MAX / size ? mem_alloc((size_t)elements, size) : NULL;
    if (data == NULL) {
        return error_no_memory(error);
    }
    if (fread(data, size, (size_t)elements, f->file) != elements || fgetc(f->file) != EOF) {
        mem_free(data);
        return bad(f, error, "its data is shorter or longer than its header says");
    }
    *out = data;
    return EVOCC_OK;
}

evocc_status npy_read(void **out, const char *path, dtype type, uint64_t elements,
                      evocc_error *error)
{
    npy_file f;
    evocc_status status = open_file(&f, path, error);
    if (status == EVOCC_OK) {
        status = read_data(out, &f, type, elements, error);
    }
    close_file(&f);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static const char *descr_of(dtype type)
{
    type = type == DTYPE_BF16                         ? DTYPE_U16
           : type == DTYPE_E4M3 || type == DTYPE_E5M2 ? DTYPE_U8
                                                      : type;
    size_t i = 0;
    while (descrs[i].type != type) {
        i++;
    }
    return descrs[i].descr;
}

evocc_status npy_write(const char *path, dtype type, const npy_shape *shape, const void *data,
                       evocc_error *error)
{
    strbuf header = {0};
    strbuf_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(type));
    for (size_t i = 0; i < shape->count; i++) {
        strbuf_printf(&header, "%s%llu", i > 0 ? ", " : "", (unsigned long long)shape->extents[i]);
    }
    strbuf_puts(&header, shape->count == 1 ? ",), }" : "), }");
    while ((10 + header.length + 1) % 64 != 0 && !header.failed) {
        strbuf_putc(&header, ' '); /* the data begins at a multiple of 64 */
    }
    strbuf_putc(&header, '\n');
    strbuf file = {0};
    const unsigned char length[2] = {(unsigned char)(header.length & 0xff),
                                     (unsigned char)(header.length >> 8)};
    strbuf_append(&file, "\x93NUMPY\x01\x00", 8);
    strbuf_append(&file, length, 2);
    strbuf_append(&file, strbuf_text(&header), header.length);
    strbuf_append(&file, data, (size_t)shape->elements * dtype_bytes(type));
    evocc_status status = header.failed || file.failed
                              ? error_no_memory(error)
                              : file_write_atomic(path, file.data, file.length, error);
    strbuf_dispose(&header);
    strbuf_dispose(&file);
    return status;
}
