/*
 * wrapper.h: evocc in the place of a compiler, `evocc ptxas ...` or evocc under the name ptxas.
 *
 * Every word that is not ours reaches the real compiler byte for byte, and without a controls file
 * this process becomes that compiler at once: nothing is read, nothing is kept. With one, the
 * controls are applied whole or not at all; when they are not, the original command runs and one
 * notice says why. docs/wrapper.md is what users are promised.
 */
#ifndef CLI_WRAPPER_H
#define CLI_WRAPPER_H

/* `argv`: the words after the compiler's name. Returns the exit status (1 failed, 2 usage), or does
   not return because this process has become the compiler or died of the signal that stopped it. */
int wrapper_main(const char *compiler_name, int argc, char **argv);

/* Where notices are kept: ${XDG_STATE_HOME:-~/.local/state}/evocc/wrapper.log. NULL when neither
   variable names a home. One line an event, fields separated by tabs:
       2026-11-30T19:35:01Z  PID  applied|skipped|fell-back|failed  ACF  INPUT  MESSAGE
   mem_free. */
char *wrapper_log_path(void);

#endif
