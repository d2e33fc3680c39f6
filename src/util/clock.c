#include "util/clock.h"

#include <time.h>

double clock_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void clock_utc_text(char out[CLOCK_TEXT])
{
    time_t now = time(NULL);
    struct tm fields = {0};
    gmtime_r(&now, &fields);
    strftime(out, CLOCK_TEXT, "%Y-%m-%dT%H:%M:%SZ", &fields);
}
