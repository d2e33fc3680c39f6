#include "space/arithmetic.h"

#include "space/internal.h"
#include "util/error.h"
#include "util/mem.h"

#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <string.h>

/* The memory of one evaluation; expression_scan bounds its text and its time (expression.c). */
enum { CAP_BYTES = 4 << 20 };

static void *allocate(void *context, void *block, size_t old_size, size_t new_size)
{
    size_t *used = context;
    size_t held = block == NULL ? 0 : old_size;
    if (new_size == 0) {
        mem_free(block);
        *used -= held;
        return NULL;
    }
    if (new_size > held && new_size - held > CAP_BYTES - *used) {
        return NULL;
    }
    void *moved = mem_realloc(block, new_size, 1);
    if (moved == NULL) {
        return new_size <= held ? block : NULL; /* Lua relies on shrinking never failing */
    }
    *used = *used - held + new_size;
    return moved;
}

static const arithmetic_name *find_name(const arithmetic_name *names, size_t count,
                                        const expression_name *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i].name) == wanted->length &&
            memcmp(names[i].name, wanted->text, wanted->length) == 0) {
            return &names[i];
        }
    }
    return NULL;
}

static evocc_status unknown_name(const expression_name *wanted, const arithmetic_name *names,
                                 size_t count, evocc_error *error)
{
    strbuf known = {0};
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(&known, "%s%s", i > 0 ? ", " : "", names[i].name);
    }
    evocc_status status =
        error_set(error, EVOCC_PARSE, "line %d, column %d: there is no '%.*s' here (only %s)",
                  wanted->place.line, wanted->place.column, (int)wanted->length, wanted->text,
                  count > 0 ? strbuf_text(&known) : "numbers");
    strbuf_dispose(&known);
    return status;
}

typedef struct evaluation {
    const char *chunk;
    size_t length;
    const double *values;
    size_t count;
} evaluation;

/* Protected, for all of it may raise: (light userdata) -> the value. */
static int evaluate(lua_State *state)
{
    const evaluation *e = lua_touserdata(state, 1);
    luaL_checkstack(state, (int)e->count + 1, NULL);
    int loaded = luaL_loadbufferx(state, e->chunk, e->length, "=", "t");
    if (loaded == LUA_ERRMEM) {
        lua_pushnil(state); /* tells it from an error of the text */
    }
    if (loaded != LUA_OK) {
        return lua_error(state);
    }
    lua_pushnil(state); /* _ENV: there is nothing but the arguments */
    lua_setupvalue(state, -2, 1);
    for (size_t i = 0; i < e->count; i++) {
        double v = e->values[i];
        if (v == floor(v) && fabs(v) < 9e15) {
            lua_pushinteger(state, (lua_Integer)v);
        } else {
            lua_pushnumber(state, v);
        }
    }
    lua_call(state, (int)e->count, 1);
    return 1;
}

static evocc_status run(double *out, evaluation *e, evocc_error *error)
{
    size_t used = 0;
    lua_State *state = lua_newstate(allocate, &used);
    if (state == NULL) {
        return error_no_memory(error);
    }
    evocc_status status = EVOCC_OK;
    lua_pushcfunction(state, evaluate);
    lua_pushlightuserdata(state, e);
    int result = lua_pcall(state, 1, 1, 0);
    if (result == LUA_ERRMEM || (result != LUA_OK && lua_type(state, -1) != LUA_TSTRING)) {
        status = error_no_memory(error);
    } else if (result != LUA_OK) {
        const char *message = lua_tostring(state, -1);
        message += strspn(message, ":0123456789");
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "%s", message + strspn(message, " "));
    } else if (lua_type(state, -1) != LUA_TNUMBER) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "it gives a %s, not a number",
                           lua_typename(state, lua_type(state, -1)));
    } else if (!isfinite(lua_tonumber(state, -1))) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT, "it gives %g, not a finite number",
                           lua_tonumber(state, -1));
    } else {
        *out = lua_tonumber(state, -1);
    }
    lua_close(state);
    return status;
}

evocc_status arithmetic_value(double *out, const char *text, const arithmetic_name *names,
                              size_t count, evocc_error *error)
{
    expression_names used;
    expression_place place;
    evocc_status status = expression_scan(&used, text, &place, error);
    if (status != EVOCC_OK) {
        error_prefix(error, "line %d, column %d", place.line, place.column);
        return status;
    }
    double values[EXPRESSION_MAX_NAMES];
    strbuf chunk = {0};
    for (size_t i = 0; i < used.count; i++) {
        const arithmetic_name *name = find_name(names, count, &used.items[i]);
        if (name == NULL) {
            strbuf_dispose(&chunk);
            return unknown_name(&used.items[i], names, count, error);
        }
        values[i] = name->value;
        strbuf_printf(&chunk, "%s%.*s", i == 0 ? "local " : ",", (int)used.items[i].length,
                      used.items[i].text);
    }
    strbuf_printf(&chunk, "%sreturn(%s)", used.count > 0 ? "=... " : "", text);
    evaluation e = {strbuf_text(&chunk), chunk.length, values, used.count};
    status = chunk.failed ? error_no_memory(error) : run(out, &e, error);
    strbuf_dispose(&chunk);
    return status;
}
