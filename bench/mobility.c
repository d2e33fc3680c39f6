/*
 * mobility: how much of real kernels the order pass may move, and what pins the rest.
 *
 * usage: mobility FILE.ptx...
 * Prints Markdown, one row an entry. An instruction is movable when it may change place with at
 * least one neighbour in its block.
 */
#include "ptx/ptx.h"
#include "util/files.h"
#include "util/mem.h"

#include <stdio.h>

static evocc_status print_entry(const char *path, const ptx_module *module, const char *entry,
                                evocc_error *error)
{
    ptx_mobility m;
    evocc_status status = ptx_measure_mobility(&m, module, entry, error);
    if (status != EVOCC_OK) {
        return status;
    }
    printf("| %s | %s | %zu | %.1f %% |", path_base(path), entry, m.instructions,
           m.instructions == 0 ? 0.0 : 100.0 * (double)m.movable / (double)m.instructions);
    for (size_t i = 0; i < m.pinned_count; i++) {
        printf("%s %s %zu", i == 0 ? "" : ",", m.pinned[i].reason, m.pinned[i].instructions);
    }
    printf(" |\n");
    return EVOCC_OK;
}

static evocc_status print_file(const char *path, evocc_error *error)
{
    char *text = NULL;
    size_t length;
    ptx_module *module = NULL;
    evocc_status status = file_read(&text, &length, path, (size_t)64 << 20, error);
    if (status == EVOCC_OK) {
        status = ptx_parse(&module, text, length, path, error);
    }
    for (size_t i = 0; status == EVOCC_OK && i < ptx_entry_count(module); i++) {
        status = print_entry(path, module, ptx_entry_name(module, i), error);
    }
    ptx_free(module);
    mem_free(text);
    return status;
}

int main(int argc, char **argv)
{
    evocc_error error;
    if (argc < 2) {
        fprintf(stderr, "usage: mobility FILE.ptx...\n");
        return 2;
    }
    printf("| file | entry | instructions | movable | pinned, by reason |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (int i = 1; i < argc; i++) {
        if (print_file(argv[i], &error) != EVOCC_OK) {
            fprintf(stderr, "mobility: %s\n", error.message);
            return 1;
        }
    }
    return 0;
}
