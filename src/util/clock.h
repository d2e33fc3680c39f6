/* clock.h: the only places that ask what time it is. Search, space and ptx never do. */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stddef.h>

double clock_now_s(void); /* monotonic seconds, arbitrary origin */

#define CLOCK_TEXT 21
void clock_utc_text(char out[CLOCK_TEXT]); /* "2026-11-30T19:35:01Z" */

#endif
