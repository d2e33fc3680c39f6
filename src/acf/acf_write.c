#include "acf/acf.h"
#include "acf/object.h"
#include "util/error.h"

#include <string.h>
#include <strings.h>

/* YAML's characters for a plain word, wherever it stands; narrower than YAML itself. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-"

/* Words that one YAML reader or another takes for something else than a text. */
static bool is_reserved(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n",  "."};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(words[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* Numbers stay plain; "-" alone, "---" and "..." have meanings of their own. */
static bool is_plain(const char *text)
{
    bool sign = text[0] == '-' || text[0] == '+' || text[0] == '.';
    return text[0] != '\0' && strspn(text, PLAIN) == strlen(text) && !is_reserved(text) &&
           (!sign || strchr("0123456789", text[1]) != NULL) && !(sign && text[1] == '\0');
}

static void put_scalar(strbuf *out, const char *text)
{
    if (is_plain(text)) {
        strbuf_puts(out, text);
    } else {
        strbuf_json_string(out, text);
    }
}

static void put_target(strbuf *out, const acf_target *target)
{
    strbuf_puts(out, "for: {compiler: ");
    put_scalar(out, target->compiler);
    strbuf_puts(out, ", version: ");
    strbuf_json_string(out, target->version);
    strbuf_puts(out, ", arch: ");
    put_scalar(out, target->arch);
    strbuf_puts(out, ", kernel: ");
    put_scalar(out, target->kernel);
    strbuf_puts(out, ",\n      base: [");
    for (size_t i = 0; i < target->base_count; i++) {
        strbuf_puts(out, i == 0 ? "" : ", ");
        strbuf_json_string(out, target->base[i]);
    }
    strbuf_putc(out, ']');
    if (target->ptx[0] != '\0') {
        strbuf_puts(out, ",\n      ptx: ");
        strbuf_json_string(out, target->ptx);
    }
    strbuf_puts(out, "}\n");
}

static void put_metric(strbuf *out, const acf_metric *metric)
{
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"baseline", metric->baseline}, {"tuned", metric->tuned}, {"speedup", metric->speedup},
        {"low", metric->low},           {"high", metric->high},
    };
    strbuf_puts(out, "  ");
    put_scalar(out, metric->name);
    size_t count = metric->pairs == 0 ? 2 : sizeof numbers / sizeof numbers[0];
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(out, "%s%s: ", i == 0 ? ": {" : ", ", numbers[i].key);
        strbuf_number(out, numbers[i].value);
    }
    if (metric->pairs != 0) {
        strbuf_printf(out, ", pairs: %lld", (long long)metric->pairs);
    }
    strbuf_puts(out, "}\n");
}

static void put_found(strbuf *out, const acf_object *object)
{
    if (object->file.metric_count + object->extra_count == 0) {
        return;
    }
    strbuf_puts(out, "found:\n");
    for (size_t i = 0; i < object->file.metric_count; i++) {
        put_metric(out, &object->file.metrics[i]);
    }
    for (size_t i = 0; i < object->extra_count; i++) {
        strbuf_puts(out, "  ");
        put_scalar(out, object->extras[i].key);
        strbuf_puts(out, ": ");
        put_scalar(out, object->extras[i].value);
        strbuf_putc(out, '\n');
    }
}

static void put_file(strbuf *out, const acf_object *object)
{
    strbuf_puts(out, ACF_MAGIC " 1\n");
    put_target(out, &object->file.target);
    strbuf_puts(out, "controls:\n");
    for (size_t i = 0; i < object->file.control_count; i++) {
        strbuf_printf(out, "  %s: ", object->file.controls[i].full_name);
        put_scalar(out, object->file.controls[i].value);
        strbuf_putc(out, '\n');
    }
    put_found(out, object);
    strbuf_printf(out, "digest: \"%s\"\n", object->file.digest);
}

/* Works on a copy made by acf_object_new, so that any acf, also one that a caller put together on
   its stack, is checked, sorted and given its digest. */
evocc_status acf_write(strbuf *out, const acf *file, evocc_error *error)
{
    acf_object *object = NULL;
    strbuf text = {0};
    evocc_status status = acf_object_new(&object, file, error);
    if (status != EVOCC_OK) {
        return status;
    }
    put_file(&text, object);
    if (text.length > ACF_SIZE_LIMIT) {
        status = error_set(error, EVOCC_INVALID_ARGUMENT,
                           "a controls file of %zu bytes could not be read again: at most %zu",
                           text.length, ACF_SIZE_LIMIT);
    } else {
        strbuf_append(out, strbuf_text(&text), text.length);
        status = text.failed || out->failed ? error_no_memory(error) : EVOCC_OK;
    }
    strbuf_dispose(&text);
    acf_free(&object->file);
    return status;
}
