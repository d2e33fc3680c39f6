#include "cli/wrapper.h"
#include "cli/wrapper_parts.h"
#include "util/clock.h"
#include "util/files.h"
#include "util/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line is cut here: up to this size one write to a file opened for appending is never torn. */
enum { LINE_LIMIT = 4096 };
/* Then the file becomes wrapper.log.old, and an older one of that name goes. */
enum { FILE_LIMIT = 1 << 20 };

/* XDG Base Directory Specification: a value that is not absolute is to be ignored. */
char *wrapper_log_path(void)
{
    const char *state = getenv("XDG_STATE_HOME");
    if (state != NULL && state[0] == '/') {
        return path_join(state, "evocc/wrapper.log");
    }
    const char *home = getenv("HOME");
    return home != NULL && home[0] == '/' ? path_join(home, ".local/state/evocc/wrapper.log")
                                          : NULL;
}

static int open_for_appending(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

static int open_log(const char *path)
{
    int descriptor = open_for_appending(path);
    if (descriptor < 0) {
        char *folder = path_folder(path);
        if (folder != NULL && folder_make(folder, NULL) == EVOCC_OK) {
            descriptor = open_for_appending(path);
        }
        mem_free(folder);
    }
    struct stat status;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > FILE_LIMIT) {
        strbuf old = {0};
        strbuf_printf(&old, "%s.old", path);
        close(descriptor);
        /* Two that do this at once lose one of the old files, nothing else. */
        if (!old.failed) {
            (void)rename(path, strbuf_text(&old));
        }
        strbuf_dispose(&old);
        descriptor = open_for_appending(path);
    }
    return descriptor;
}

/* One field: bytes that would end it, or that a terminal would act on, become '?'. */
static void put_field(strbuf *line, const char *text)
{
    strbuf_putc(line, '\t');
    for (; *text != '\0' && line->length < LINE_LIMIT - 1; text++) {
        unsigned char c = (unsigned char)*text;
        strbuf_putc(line, c < 0x20 || c == 0x7f ? '?' : (char)c);
    }
}

void wrapper_log(const char *event, const char *acf_path, const char *input, const char *message)
{
    char *path = wrapper_log_path();
    if (path == NULL) {
        return;
    }
    strbuf line = {0};
    char now[CLOCK_TEXT];
    clock_utc_text(now);
    strbuf_printf(&line, "%s\t%ld\t%s", now, (long)getpid(), event);
    put_field(&line, acf_path);
    put_field(&line, input == NULL ? "" : input);
    put_field(&line, message);
    strbuf_putc(&line, '\n');
    int descriptor = line.failed ? -1 : open_log(path);
    if (descriptor >= 0) {
        ssize_t written = write(descriptor, line.data, line.length);
        (void)written;
        close(descriptor);
    }
    strbuf_dispose(&line);
    mem_free(path);
}
