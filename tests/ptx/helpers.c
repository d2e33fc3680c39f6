#include "helpers.h"

#include "util/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *const example_paths[EXAMPLE_COUNT] = {
    "examples/triton_attention_128x128_w4_sm90a.ptx",
    "examples/triton_attention_128x64_w4_sm90a.ptx",
    "examples/triton_layernorm_8192_w8_sm90a.ptx",
    "examples/triton_matmul_128x256x64_w8_sm90a.ptx",
};

char *text_of_file(const char *path, size_t *length)
{
    evocc_error error;
    char *text = NULL;
    char *full = path_join(EVOCC_SOURCE_DIR, path);
    if (file_read(&text, length, full, 1 << 24, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    mem_free(full);
    return text;
}

ptx_module *module_of(const char *text)
{
    evocc_error error;
    ptx_module *module = NULL;
    if (ptx_parse(&module, text, strlen(text), "test.ptx", &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return module;
}

ptx_module *module_of_file(const char *path)
{
    size_t length;
    char *text = text_of_file(path, &length);
    ptx_module *module = module_of(text);
    mem_free(text);
    return module;
}

void assert_refused(const char *text, const char *message)
{
    evocc_error error;
    ptx_module *module = NULL;
    assert_int_equal(ptx_parse(&module, text, strlen(text), "t.ptx", &error), EVOCC_PARSE);
    assert_string_equal(error.message, message);
    assert_null(module);
}

char *kernel_of(const char *body)
{
    strbuf text = {0};
    strbuf_printf(&text,
                  ".version 8.7\n.target sm_90a\n.address_size 64\n"
                  ".shared .align 16 .b8 s[1024];\n.global .align 16 .b8 g[1024];\n"
                  ".const .align 16 .b8 c[1024];\n"
                  ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
                  "\t.reg .b32 %%r<32>;\n\t.reg .b64 %%rd<32>;\n\t.reg .f32 %%f<32>;\n"
                  "\t.reg .pred %%p<32>;\n\t.reg .b16 %%h<32>;\n%s\nDONE:\n\tret;\n}\n",
                  body);
    return strbuf_take(&text);
}

char *rewritten(const ptx_module *module, const char *name, const char *value)
{
    evocc_error error;
    strbuf out = {0};
    const ptx_setting setting = {name, value};
    if (ptx_rewrite(&out, module, &setting, 1, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    return strbuf_take(&out);
}

const char *find_ptxas(void)
{
    static char path[1024];
    const char *named = getenv("EVOCC_REAL_PTXAS");
    const char *home = getenv("CUDA_HOME");
    if (named != NULL && *named != '\0') {
        return access(named, X_OK) == 0 ? named : NULL;
    }
    if (home != NULL) {
        snprintf(path, sizeof path, "%s/bin/ptxas", home);
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return system("command -v ptxas >/dev/null 2>&1") == 0 ? "ptxas" : NULL;
}

static long sum_before(const char *text, const char *marker, size_t back)
{
    long sum = 0;
    for (const char *p = strstr(text, marker); p != NULL; p = strstr(p + 1, marker)) {
        const char *digits = p - back;
        while (digits > text && digits[-1] >= '0' && digits[-1] <= '9') {
            digits--;
        }
        sum += strtol(digits, NULL, 10);
    }
    return sum;
}

bool run_ptxas(const char *text, const char *arch, long *spilled_bytes, long *registers,
               char message[4096])
{
    evocc_error error;
    char *folder, command[4096], out[512] = "", in[512] = "";
    if (folder_temporary(&folder, &error) != EVOCC_OK) {
        fail_msg("%s", error.message);
    }
    snprintf(in, sizeof in, "%s/in.ptx", folder);
    snprintf(out, sizeof out, "%s/out.cubin", folder);
    assert_int_equal(file_write(in, text, strlen(text), &error), EVOCC_OK);
    snprintf(command, sizeof command, "%s -v -arch=%s %s -o %s 2>&1", find_ptxas(), arch, in, out);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t length = fread(message, 1, 4095, pipe);
    message[length] = '\0';
    while (fgetc(pipe) != EOF) {
    }
    bool good = pclose(pipe) == 0;
    if (spilled_bytes != NULL) {
        *spilled_bytes = sum_before(message, " bytes spill", 0);
    }
    if (registers != NULL) {
        *registers = sum_before(message, " registers", 0);
    }
    folder_remove(folder);
    mem_free(folder);
    return good;
}
