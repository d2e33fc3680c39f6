/* The wrapper as a program of its own: what `evocc ptxas` does, without the other commands. */
#include "cli/wrapper.h"

int main(int argc, char **argv)
{
    return argc > 0 ? wrapper_main("ptxas", argc - 1, argv + 1) : 1;
}
