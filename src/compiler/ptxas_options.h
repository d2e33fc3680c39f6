/* ptxas_options.h: every option of ptxas, and a user's command line read by them. */
#ifndef COMPILER_PTXAS_OPTIONS_H
#define COMPILER_PTXAS_OPTIONS_H

#include "compiler/compiler.h"

typedef enum ptxas_form {
    PTXAS_FLAG,   /* takes no value */
    PTXAS_BOOL,   /* true or false */
    PTXAS_NUMBER, /* decimal */
    PTXAS_LIMIT,  /* a number, archmax or archmin */
    PTXAS_WORD,
    PTXAS_LIST /* words with commas between; given again, it grows */
} ptxas_form;

/* What an option means to somebody who stands in for the command. */
typedef enum ptxas_effect {
    PTXAS_CODE,    /* may change the machine code: part of the base */
    PTXAS_NO_CODE, /* messages and debug information */
    PTXAS_ARCH,
    PTXAS_OUTPUT,
    PTXAS_REFUSED /* prints something and exits, or takes its input or options from elsewhere */
} ptxas_effect;

typedef struct ptxas_option {
    const char *long_name;  /* after "--" */
    const char *short_name; /* after "-" */
    ptxas_form form;
    ptxas_effect effect;
    const char *default_value; /* the documented one, dropped from the base; NULL: none */
} ptxas_option;

/* The option a word names ("--fmad=false", "-O3", "-v"), or NULL. */
const ptxas_option *ptxas_option_of(const char *word);

evocc_status ptxas_read_command(compiler_invocation *out, int argc, char *const *argv,
                                evocc_error *error);

#endif
