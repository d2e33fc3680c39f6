#include "cli/cli.h"

#include "util/error.h"

#include <sys/stat.h>

evocc_status cli_check_output(const char *output, const char *input, evocc_error *error)
{
    struct stat out;
    struct stat in;
    if (output == NULL || stat(output, &out) != 0 || stat(input, &in) != 0 ||
        out.st_dev != in.st_dev || out.st_ino != in.st_ino) {
        return EVOCC_OK;
    }
    return error_set(error, EVOCC_INVALID_ARGUMENT,
                     "-o %s: that is what is read; name another file with -o", output);
}
