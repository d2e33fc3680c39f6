/* driver_probe.c: what a gcc or clang takes. */
#include "compiler/driver.h"

#include "compiler/probe.h"
#include "util/error.h"
#include "util/files.h"
#include "util/mem.h"

#include <inttypes.h>

static const char input_name[] = "probe.c";
/* Something for most passes to look at: a loop, a call, a switch. */
static const char input_text[] = "static int twice(int x) { return 2 * x; }\n"
                                 "int probe(const int *a, int n)\n"
                                 "{\n"
                                 "    int sum = 0;\n"
                                 "    for (int i = 0; i < n; i++) {\n"
                                 "        switch (a[i] & 7) {\n"
                                 "        case 0: sum += twice(a[i]); break;\n"
                                 "        case 1: sum ^= i; break;\n"
                                 "        case 2: sum -= a[i]; break;\n"
                                 "        case 5: sum *= 3; break;\n"
                                 "        default: sum++;\n"
                                 "        }\n"
                                 "    }\n"
                                 "    return sum;\n"
                                 "}\n";

typedef struct context {
    const compiler_identity *identity;
    char *const *base;
    size_t base_count;
} context;

static bool asks(void *data, const space_control *control)
{
    const context *c = data;
    return control->off_because == NULL &&
           space_control_admits(control, c->identity->version, NULL);
}

static void begin(void *data, compiler_command *command)
{
    const context *c = data;
    compiler_command_add(command, c->identity->path);
    for (size_t i = 0; i < c->base_count; i++) {
        compiler_command_add(command, c->base[i]);
    }
}

static void end(void *data, compiler_command *command, size_t number)
{
    (void)data;
    strbuf output = {0};
    strbuf_printf(&output, "probe-%zu.o", number);
    compiler_command_add(command, "-Werror");
    compiler_command_add(command, "-c");
    compiler_command_add(command, input_name);
    compiler_command_add(command, "-o");
    compiler_command_add(command, strbuf_text(&output));
    command->failed = command->failed || output.failed;
    strbuf_dispose(&output);
}

evocc_status driver_probe(bool *rejected, const evocc_space *space, launcher *l,
                          const compiler_identity *identity, char *const *base, size_t base_count,
                          evocc_error *error)
{
    context c = {identity, base, base_count};
    const probe_plan plan = {.space = space,
                             .context = &c,
                             .asks = asks,
                             .begin = begin,
                             .render = driver_render_value,
                             .end = end};
    char *path = path_join(launcher_folder(l), input_name);
    evocc_status status = path == NULL ? error_no_memory(error)
                                       : file_write(path, input_text, sizeof input_text - 1, error);
    if (status == EVOCC_OK) {
        status = probe_rejected(rejected, &plan, l, error);
    }
    mem_free(path);
    return status;
}

char *driver_cache_key(const compiler_identity *identity, char *const *base, size_t base_count,
                       uint64_t version)
{
    strbuf key = {0};
    strbuf_printf(&key, "%" PRIu64 " %" PRId64 " %016" PRIx64 " %s %s", identity->size_bytes,
                  identity->modified_ns, version, identity->version_text, identity->path);
    for (size_t i = 0; i < base_count; i++) {
        strbuf_putc(&key, ' ');
        strbuf_shell_word(&key, base[i]);
    }
    return strbuf_take(&key);
}
