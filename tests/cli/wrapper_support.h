/* wrapper_support.h: calling the wrapper as builds do, and making files for it to apply. */
#ifndef TEST_CLI_WRAPPER_SUPPORT_H
#define TEST_CLI_WRAPPER_SUPPORT_H

#include "acf/acf.h"
#include "util/process.h"

/* One test's folder with a kernel in kernel.ptx; home, cache and state lie inside it. */
typedef struct bench {
    char *folder;
    char *log;         /* what the fake ptxas was told, under the folder */
    const char *ptxas; /* the real compiler; NULL: the fake one */
    const char *mode;  /* of the fake ptxas; NULL: none */
    const char *tmpdir;
    const char *state_home; /* NULL: inside the folder */
    process_result result;  /* of the last call */
} bench;

void bench_open(bench *b);
void bench_close(bench *b);

/* Calls the wrapper with these words, the last one NULL. The result is in b->result. */
void bench_call(bench *b, const char *const *words);
#define CALL(b, ...) bench_call(b, (const char *const[]){__VA_ARGS__, NULL})

/* The same without waiting: a child of the test; its stdout and stderr go to /dev/null. */
int bench_start(bench *b, const char *const *words);

/* The ordinary call came out: this exit status, stdout and stderr. */
void expect(const bench *b, int exit_status, const char *output, const char *errors);
/* stderr has this part. */
void expect_said(const bench *b, const char *part);

/* Files under the folder. */
char *bench_path(const bench *b, const char *name); /* mem_free */
void bench_write(const bench *b, const char *name, const char *text);
void bench_remove(const bench *b, const char *name); /* a file or a folder, there or not */
char *bench_read(const bench *b, const char *name);  /* NULL when missing; mem_free */
void expect_file(const bench *b, const char *name, const char *text); /* NULL: there is none */
/* The last call of the fake ptxas had exactly these words; forgets what it was told. A word that
   ends in
   '@' stands for one with a path of the wrapper's files in memory there. */
void expect_words(const bench *b, const char *const *words);
#define WORDS(b, ...) expect_words(b, (const char *const[]){__VA_ARGS__, NULL})

/* Writes best.acf: for kernel.ptx under ptxas 13.0.88, sm_90a, no base options, with these
 * controls. */
typedef struct control_text {
    const char *name, *value;
} control_text;
void bench_write_acf(const bench *b, const char *name, const acf_target *overrides,
                     const control_text *controls, size_t count);

size_t bench_calls(const bench *b); /* of the fake ptxas, since it was last forgotten */
bool bench_told(const bench *b, const char *part); /* part of any word of any call */

/* For cmocka: a bench with best.acf, which applies to the kernel (`level` alone) before the fake
   ptxas, and with that compiler's identity in the cache. */
extern const control_text level;
int bench_setup(void **state);
int bench_teardown(void **state);
#define TUNED_PLAIN(b) \
    CALL(b, "--apply-controls=best.acf", "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin")
#define TUNED_WITH(b, word) \
    CALL(b, "--apply-controls=best.acf", word, "-arch=sm_90a", "kernel.ptx", "-o", "out.cubin")

/* The original command of TUNED_PLAIN ran: its words, its output, and nothing of ours but one
 * notice. */
void expect_original(bench *b, const char *reason);

extern const char bench_kernel[]; /* the text of kernel.ptx */

#endif
