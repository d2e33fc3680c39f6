/* A stranger's program: built by install.sh against the installed tree alone. */
#include <evocc/evocc.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    evocc_outcome outcome;
    evocc_error error;
    if (evocc_outcome_parse(&outcome, "no such outcome", &error) != EVOCC_PARSE)
        return 1;
    if (strcmp(evocc_status_name(EVOCC_NO_MEMORY), "no_memory") != 0)
        return 1;
    return puts(evocc_version()) < 0;
}
