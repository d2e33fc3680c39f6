#include "stats/stats.h"

double stats_explained(const double *sums, const size_t *counts, size_t group_count, double squares)
{
    double total = 0;
    double n = 0;
    double groups = 0;
    double between = 0;
    for (size_t i = 0; i < group_count; i++) {
        if (counts[i] > 0) {
            total += sums[i];
            n += (double)counts[i];
            groups++;
            between += sums[i] * sums[i] / (double)counts[i];
        }
    }
    if (groups < 2 || n <= groups) {
        return 0;
    }
    between -= total * total / n;
    double spread = squares - total * total / n;
    if (!(spread > 1e-12 * squares)) {
        return 0; /* all alike, but for rounding */
    }
    double share = 1 - (1 - between / spread) * (n - 1) / (n - groups);
    return share > 0 ? share : 0;
}
