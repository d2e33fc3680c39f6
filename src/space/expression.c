/*
 * expression.c: constraints. Untrusted text reaches Lua 5.4 only after expression_scan has found it
 * to be one expression over known names, built of numbers, strings, operators and parentheses. Such
 * an expression cannot call, index, assign, concatenate or loop: each of its instructions runs at
 * most once, so that the length of the text bounds the time (no counting hook is needed, which
 * would triple the cost of an evaluation), and it can build no value larger than a number. Memory
 * is capped in the allocator all the same. No library is opened and there are no globals: controls
 * are the arguments of the compiled function. Source: Lua 5.4 Reference Manual, section 3.4 and 9.
 */
#include "space/internal.h"

#include "util/error.h"
#include "util/text.h"

#include <lauxlib.h>
#include <lua.h>
#include <string.h>

enum { MEMORY_CAP_BYTES = 16 << 20, MAX_DEPTH = 64, WORDS = 1 };

struct space_lua {
    lua_State *state; /* its stack holds one thing: at WORDS, the table of words by address */
    size_t used_bytes;
    bool capped; /* memory was refused because of the cap */
    int count;   /* expressions: registry[count], after the two entries that Lua has there */
};

/* ---- Grammar --------------------------------------------------------------------------------- */

typedef enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_CONSTANT,
    TOKEN_UNARY,  /* not */
    TOKEN_BINARY, /* and, or, + ... */
    TOKEN_EITHER, /* - and ~ */
    TOKEN_OPEN,
    TOKEN_CLOSE
} token_kind;

typedef struct scanner {
    const char *at;
    expression_place place; /* of the token */
    const char *token;
    size_t length;
    const char *line_start;
    int line;
} scanner;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool token_is(const scanner *s, const char *word)
{
    return strlen(word) == s->length && memcmp(s->token, word, s->length) == 0;
}

static bool token_in(const scanner *s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (token_is(s, *words)) {
            return true;
        }
    }
    return false;
}

static evocc_status scan_word(token_kind *kind, scanner *s, evocc_error *error)
{
    static const char *const statements[] = {
        "break", "do",    "else",   "elseif", "end",  "for",   "function", "goto", "if",
        "in",    "local", "repeat", "return", "then", "until", "while",    NULL};
    while (is_letter(*s->at) || is_digit(*s->at)) {
        s->at++;
    }
    s->length = (size_t)(s->at - s->token);
    if (token_in(s, statements)) {
        return error_set(
            error, EVOCC_PARSE,
            "'%.*s' is a word of Lua; a control of that name is written with its stage, "
            "as in define_%.*s",
            (int)s->length, s->token, (int)s->length, s->token);
    }
    *kind = token_is(s, "and") || token_is(s, "or")                             ? TOKEN_BINARY
            : token_is(s, "not")                                                ? TOKEN_UNARY
            : token_is(s, "true") || token_is(s, "false") || token_is(s, "nil") ? TOKEN_CONSTANT
                                                                                : TOKEN_NAME;
    return EVOCC_OK;
}

static evocc_status scan_number(token_kind *kind, scanner *s, evocc_error *error)
{
    char number[64] = "";
    bool hexadecimal = s->at[0] == '0' && (s->at[1] == 'x' || s->at[1] == 'X');
    while (is_letter(*s->at) || is_digit(*s->at) || *s->at == '.' ||
           (!hexadecimal && (*s->at == '+' || *s->at == '-') &&
            (s->at[-1] == 'e' || s->at[-1] == 'E'))) {
        s->at++;
    }
    s->length = (size_t)(s->at - s->token);
    *kind = TOKEN_CONSTANT;
    double real;
    int64_t integer;
    if (s->length < sizeof number) {
        memcpy(number, s->token, s->length);
        if (hexadecimal ? text_integer(&integer, number) : text_number(&real, number)) {
            return EVOCC_OK;
        }
    }
    return error_set(error, EVOCC_PARSE, "'%.*s' is not a number",
                     (int)(s->length < 40 ? s->length : 40), s->token);
}

static evocc_status scan_string(token_kind *kind, scanner *s, evocc_error *error)
{
    char quote = *s->at++;
    while (*s->at != quote) {
        if ((unsigned char)*s->at < 0x20 || *s->at == '\\') {
            return error_set(error, EVOCC_PARSE,
                             "a string ends on its line and holds no backslash");
        }
        s->at++;
    }
    s->at++;
    s->length = (size_t)(s->at - s->token);
    *kind = TOKEN_CONSTANT;
    return EVOCC_OK;
}

static evocc_status scan_symbol(token_kind *kind, scanner *s, evocc_error *error)
{
    /* Longest first. */
    static const char *const binary[] = {"//", "==", "~=", "<=", ">=", "<<", ">>", "+", "*",
                                         "/",  "%",  "^",  "<",  ">",  "&",  "|",  NULL};
    if (strncmp(s->at, "--", 2) == 0) {
        return error_set(error, EVOCC_PARSE, "'--' begins a comment in Lua; write '- -'");
    }
    for (size_t i = 0; binary[i] != NULL; i++) {
        s->length = strlen(binary[i]);
        if (strncmp(s->at, binary[i], s->length) == 0) {
            s->at += s->length;
            *kind = TOKEN_BINARY;
            return EVOCC_OK;
        }
    }
    s->length = 1;
    char c = *s->at++;
    if (c == '-' || c == '~' || c == '(' || c == ')') {
        *kind = c == '(' ? TOKEN_OPEN : c == ')' ? TOKEN_CLOSE : TOKEN_EITHER;
        return EVOCC_OK;
    }
    const char *hint = c == '='   ? "; equality is =="
                       : c == '!' ? "; 'not equal' is ~=, negation is not"
                       : c == '.' ? "; there are no fields and no joined strings"
                                  : "";
    if (c > 0x20 && c < 0x7f) {
        return error_set(error, EVOCC_PARSE, "'%c' has no place in a constraint%s", c, hint);
    }
    return error_set(error, EVOCC_PARSE, "byte 0x%02x has no place in a constraint",
                     (unsigned)(unsigned char)c);
}

static evocc_status scan_token(token_kind *kind, scanner *s, evocc_error *error)
{
    while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r') {
        if (*s->at++ == '\n') {
            s->line++;
            s->line_start = s->at;
        }
    }
    s->token = s->at;
    s->place = (expression_place){s->line, (int)(s->at - s->line_start) + 1};
    s->length = 0;
    if (*s->at == '\0') {
        *kind = TOKEN_END;
        return EVOCC_OK;
    }
    if (is_letter(*s->at)) {
        return scan_word(kind, s, error);
    }
    if (is_digit(*s->at) || (*s->at == '.' && is_digit(s->at[1]))) {
        return scan_number(kind, s, error);
    }
    return *s->at == '"' || *s->at == '\'' ? scan_string(kind, s, error)
                                           : scan_symbol(kind, s, error);
}

static evocc_status add_name(expression_names *names, const scanner *s, evocc_error *error)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->items[i].length == s->length &&
            memcmp(names->items[i].text, s->token, s->length) == 0) {
            return EVOCC_OK;
        }
    }
    if (names->count == EXPRESSION_MAX_NAMES) {
        return error_set(error, EVOCC_PARSE, "a constraint names at most %d controls",
                         EXPRESSION_MAX_NAMES);
    }
    names->items[names->count++] = (expression_name){s->token, s->length, s->place};
    return EVOCC_OK;
}

static evocc_status unexpected(const scanner *s, bool operand, evocc_error *error)
{
    const char *wanted = operand ? "a control, a number or '('" : "an operator";
    if (s->length == 0) {
        return error_set(error, EVOCC_PARSE, "the constraint ends where %s should stand", wanted);
    }
    const char *hint = !operand && *s->token == '(' ? "; there are no calls in constraints" : "";
    return error_set(error, EVOCC_PARSE, "%s should stand here, not '%.*s'%s", wanted,
                     (int)(s->length < 40 ? s->length : 40), s->token, hint);
}

/* Takes one token in a state: is an operand due, and how many parentheses are open? */
static evocc_status accept(bool *operand_due, int *depth, token_kind kind, const scanner *s,
                           evocc_error *error)
{
    bool fits = *operand_due ? kind == TOKEN_NAME || kind == TOKEN_CONSTANT ||
                                   kind == TOKEN_UNARY || kind == TOKEN_EITHER || kind == TOKEN_OPEN
                             : kind == TOKEN_BINARY || kind == TOKEN_EITHER ||
                                   kind == TOKEN_CLOSE || kind == TOKEN_END;
    if (!fits) {
        return unexpected(s, *operand_due, error);
    }
    *depth += (kind == TOKEN_OPEN) - (kind == TOKEN_CLOSE);
    if (*depth < 0) {
        return error_set(error, EVOCC_PARSE, "')' without '('");
    }
    if (*depth > MAX_DEPTH) {
        return error_set(error, EVOCC_PARSE, "more than %d parentheses deep", MAX_DEPTH);
    }
    if (kind == TOKEN_END && *depth > 0) {
        return error_set(error, EVOCC_PARSE, "')' is missing");
    }
    if (kind != TOKEN_CLOSE) {
        *operand_due = kind != TOKEN_NAME && kind != TOKEN_CONSTANT;
    }
    return EVOCC_OK;
}

evocc_status expression_scan(expression_names *out, const char *text, expression_place *place,
                             evocc_error *error)
{
    scanner s = {.at = text, .line_start = text, .line = 1};
    bool operand_due = true;
    int depth = 0;
    token_kind kind = TOKEN_OPEN;
    *out = (expression_names){0};
    *place = (expression_place){1, 1};
    if (strlen(text) > EXPRESSION_MAX_LENGTH) {
        return error_set(error, EVOCC_PARSE, "a constraint has at most %d characters",
                         EXPRESSION_MAX_LENGTH);
    }
    while (kind != TOKEN_END) {
        evocc_status status = scan_token(&kind, &s, error);
        if (status == EVOCC_OK) {
            status = accept(&operand_due, &depth, kind, &s, error);
        }
        if (status == EVOCC_OK && kind == TOKEN_NAME) {
            status = add_name(out, &s, error);
        }
        if (status != EVOCC_OK) {
            *place = s.place;
            return status;
        }
    }
    return EVOCC_OK;
}

/* ---- Lua ------------------------------------------------------------------------------------- */

/* lua_Alloc. Lua relies on shrinking never failing. */
static void *allocate(void *context, void *block, size_t old_size, size_t new_size)
{
    struct space_lua *lua = context;
    size_t held = block == NULL ? 0 : old_size; /* without a block, old_size is a type */
    if (new_size == 0) {
        mem_free(block);
        lua->used_bytes -= held;
        return NULL;
    }
    bool grows = new_size > held;
    if (grows && new_size - held > MEMORY_CAP_BYTES - lua->used_bytes) {
        lua->capped = true;
        return NULL;
    }
    void *moved = mem_realloc(block, new_size, 1);
    if (moved == NULL && grows) {
        return NULL;
    }
    lua->used_bytes = lua->used_bytes - held + new_size;
    return moved == NULL ? block : moved;
}

static evocc_status no_memory(const struct space_lua *lua, evocc_error *error)
{
    return lua->capped ? error_set(error, EVOCC_NO_MEMORY, "constraints have at most %d MiB",
                                   MEMORY_CAP_BYTES >> 20)
                       : error_no_memory(error);
}

static int open_words(lua_State *state)
{
    lua_newtable(state);
    return 1;
}

evocc_status space_lua_new(struct space_lua **out, evocc_error *error)
{
    struct space_lua *lua = mem_alloc(1, sizeof *lua);
    *out = NULL;
    if (lua == NULL) {
        return error_no_memory(error);
    }
    lua->count = LUA_RIDX_LAST;
    lua->state = lua_newstate(allocate, lua);
    if (lua->state == NULL || !lua_checkstack(lua->state, EXPRESSION_MAX_NAMES + LUA_MINSTACK)) {
        space_lua_free(lua);
        return error_no_memory(error);
    }
    lua_pushcfunction(lua->state, open_words);
    if (lua_pcall(lua->state, 0, 1, 0) != LUA_OK) {
        space_lua_free(lua);
        return error_no_memory(error);
    }
    *out = lua;
    return EVOCC_OK;
}

void space_lua_free(struct space_lua *lua)
{
    if (lua != NULL) {
        if (lua->state != NULL) {
            lua_close(lua->state);
        }
        mem_free(lua);
    }
}

/* Numbers among the words are handed over as numbers. */
static int add_words(lua_State *state)
{
    const space_control *c = lua_touserdata(state, 2);
    int64_t integer;
    for (int32_t i = 0; i < c->size; i++) {
        if (domain_is_integer(c->choices[i], &integer)) {
            lua_pushinteger(state, integer);
        } else {
            lua_pushstring(state, c->choices[i]);
        }
        lua_rawsetp(state, 1, c->choices[i]);
    }
    return 0;
}

evocc_status space_lua_add_words(struct space_lua *lua, const space_control *control,
                                 evocc_error *error)
{
    if (control->kind != SPACE_CHOICE) {
        return EVOCC_OK;
    }
    /* Lua takes the address without const; add_words only reads. */
    union {
        const space_control *constant;
        void *plain;
    } address = {.constant = control};
    lua_pushcfunction(lua->state, add_words);
    lua_pushvalue(lua->state, WORDS);
    lua_pushlightuserdata(lua->state, address.plain);
    if (lua_pcall(lua->state, 2, 0, 0) != LUA_OK) {
        lua_settop(lua->state, WORDS);
        return no_memory(lua, error);
    }
    return EVOCC_OK;
}

/* The message on top of the stack without the ":1: " that Lua puts before it. */
static const char *message_of(lua_State *state)
{
    const char *message = lua_type(state, -1) == LUA_TSTRING ? lua_tostring(state, -1) : "?";
    const char *rest = message + strspn(message, ":0123456789");
    return rest > message && *rest == ' ' ? rest + 1 : message;
}

typedef struct compilation {
    const char *text;
    size_t length;
    int handle;
} compilation;

static int compile(lua_State *state)
{
    const compilation *job = lua_touserdata(state, 1);
    int result = luaL_loadbufferx(state, job->text, job->length, "=", "t");
    if (result == LUA_ERRMEM) {
        lua_pushnil(state);
    }
    if (result != LUA_OK) {
        return lua_error(state);
    }
    lua_pushnil(state); /* _ENV: whatever is not an argument does not exist */
    lua_setupvalue(state, -2, 1);
    lua_rawseti(state, LUA_REGISTRYINDEX, job->handle);
    return 0;
}

evocc_status space_lua_compile(int *handle, struct space_lua *lua, const char *text,
                               const expression_names *names, evocc_error *error)
{
    strbuf chunk = {0};
    strbuf_puts(&chunk, "local ");
    for (size_t i = 0; i < names->count; i++) {
        strbuf_puts(&chunk, i == 0 ? "" : ",");
        strbuf_append(&chunk, names->items[i].text, names->items[i].length);
    }
    strbuf_printf(&chunk, "=... return(%s)", text);
    if (chunk.failed) {
        strbuf_dispose(&chunk);
        return error_no_memory(error);
    }
    compilation job = {strbuf_text(&chunk), chunk.length, lua->count + 1};
    lua_pushcfunction(lua->state, compile);
    lua_pushlightuserdata(lua->state, &job);
    int result = lua_pcall(lua->state, 1, 0, 0);
    evocc_status status = EVOCC_OK;
    if (result == LUA_OK) {
        *handle = ++lua->count;
    } else if (result == LUA_ERRMEM || lua_type(lua->state, -1) != LUA_TSTRING) {
        status = no_memory(lua, error);
    } else {
        status = error_set(error, EVOCC_PARSE, "%s", message_of(lua->state));
    }
    lua_settop(lua->state, WORDS);
    strbuf_dispose(&chunk);
    return status;
}

static void push_value(lua_State *state, const space_control *c, int32_t value)
{
    if (value == SPACE_ABSENT && c->kind != SPACE_FLAG) {
        lua_pushnil(state);
        return;
    }
    switch (c->kind) {
    case SPACE_FLAG:
        lua_pushboolean(state, value == 0);
        break;
    case SPACE_BOOL:
        lua_pushboolean(state, value == 1);
        break;
    case SPACE_CHOICE:
        lua_rawgetp(state, WORDS, c->choices[value]);
        break;
    case SPACE_INT:
    case SPACE_POW2:
        lua_pushinteger(state, domain_int(c, value));
        break;
    case SPACE_FLOAT:
        lua_pushnumber(state, domain_float(c, value));
        break;
    }
}

/* Nothing here allocates unless the expression fails; so nothing outside lua_pcall can raise. */
evocc_status space_lua_evaluate(struct space_lua *lua, int handle, const evocc_space *space,
                                const int32_t *controls, const int32_t *values, int32_t count,
                                evocc_error *error)
{
    lua_State *state = lua->state;
    lua_rawgeti(state, LUA_REGISTRYINDEX, handle);
    for (int32_t i = 0; i < count; i++) {
        push_value(state, &space->controls[controls[i]], values[i]);
    }
    int result = lua_pcall(state, count, 1, 0);
    evocc_status status;
    if (result == LUA_ERRMEM) {
        status = error_no_memory(error);
    } else if (result != LUA_OK) {
        status = error_set(error, EVOCC_UNSUPPORTED, "%s", message_of(state));
    } else if (!lua_isboolean(state, -1)) {
        status = error_set(error, EVOCC_UNSUPPORTED, "it gives a %s, not true or false",
                           lua_typename(state, lua_type(state, -1)));
    } else {
        status = lua_toboolean(state, -1) ? EVOCC_OK : EVOCC_REFUSED;
    }
    lua_settop(state, WORDS);
    return status;
}
