/*
 * exactmath: logarithm and exponential from + - * / alone, so that every machine with IEEE 754
 * doubles gets the same bits. The C library's differ in the last place between versions.
 */
#ifndef SEARCH_EXACTMATH_H
#define SEARCH_EXACTMATH_H

/* Natural logarithm of a finite x > 0, within 2e-15 relative (absolute near x = 1). */
double exact_log(double x);

/* e^x, within 1e-14 relative for |x| <= 700; clamped beyond. */
double exact_exp(double x);

#endif
