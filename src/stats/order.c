#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

void stats_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
}

double stats_quantile(const double *sorted, size_t count, double p)
{
    double place = p * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count) {
        return sorted[count - 1];
    }
    double share = place - (double)below;
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

double stats_median(double *values, size_t count)
{
    stats_sort(values, count);
    return stats_quantile(values, count, 0.5);
}

double stats_spread(double *values, size_t count, double centre)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = fabs(values[i] - centre);
    }
    return 1.4826 * stats_median(values, count);
}

/* The largest k with P(Binomial(n, 1/2) < k) <= 0.025: the interval from the k-th smallest to the
   k-th largest value covers the median with at least 95 % whatever the distribution (David and
   Nagaraja 2003, section 7.1). 0: n is too small. Beyond 1000 the normal limit serves. */
static size_t median_rank(size_t n)
{
    if (n > 1000) {
        return (size_t)(0.5 * (double)n - 0.98 * sqrt((double)n));
    }
    double term = pow(0.5, (double)n); /* P(X = 0); above 1e-302 */
    double below = term;
    size_t k = 0;
    while (below <= 0.025) {
        k++;
        term *= (double)(n - k + 1) / (double)k;
        below += term;
    }
    return k;
}

double stats_relative_width(double *values, size_t count)
{
    size_t k = count >= STATS_PAIRS_MIN ? median_rank(count) : 0;
    if (k == 0) {
        return (double)INFINITY;
    }
    double median = stats_median(values, count);
    return 0.5 * (values[count - k] - values[k - 1]) / median;
}
