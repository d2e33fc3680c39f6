/* What every cmocka test of this folder needs, in the order that cmocka asks for. */
#ifndef TESTS_UTIL_UNIT_H
#define TESTS_UTIL_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
