#include "search/hypervolume.h"

#include <stdbool.h>

size_t hypervolume_scratch(size_t count, size_t objectives)
{
    return count * (objectives + 1);
}

/* Sorts row numbers by one coordinate; insertion sort: slices hold few rows and are mostly sorted.
 */
static void sort_by(size_t *rows, size_t count, const double *points, size_t width, size_t axis)
{
    for (size_t i = 1; i < count; i++) {
        size_t row = rows[i];
        size_t k = i;
        while (k > 0 && points[rows[k - 1] * width + axis] > points[row * width + axis]) {
            rows[k] = rows[k - 1];
            k--;
        }
        rows[k] = row;
    }
}

static double length_1(const size_t *rows, size_t count, const double *points, size_t width,
                       const double *reference)
{
    double least = reference[0];
    for (size_t i = 0; i < count; i++) {
        double x = points[rows[i] * width];
        least = x < least ? x : least;
    }
    return reference[0] - least;
}

/* Volume in the first `axes` coordinates of the given rows. `rows` may be reordered; what follows
   it is free for the inner slices. */
static double slice(size_t *rows, size_t count, const double *points, size_t width, size_t axes,
                    const double *reference)
{
    if (axes == 1) {
        return length_1(rows, count, points, width, reference);
    }
    size_t axis = axes - 1;
    sort_by(rows, count, points, width, axis);
    size_t *inner = rows + count;
    double volume = 0;
    double least = reference[0]; /* two axes: the staircase, without recursion */
    for (size_t i = 0; i < count; i++) {
        double here = points[rows[i] * width + axis];
        double next = i + 1 < count ? points[rows[i + 1] * width + axis] : reference[axis];
        if (axes == 2) {
            double x = points[rows[i] * width];
            least = x < least ? x : least;
            volume += (reference[0] - least) * (next - here);
        } else if (next > here) {
            for (size_t k = 0; k <= i; k++) {
                inner[k] = rows[k];
            }
            volume += slice(inner, i + 1, points, width, axis, reference) * (next - here);
        }
    }
    return volume;
}

double hypervolume(const double *points, size_t count, size_t objectives, const double *reference,
                   size_t *scratch)
{
    size_t inside = 0;
    for (size_t i = 0; i < count; i++) {
        bool below = true;
        for (size_t m = 0; m < objectives && below; m++) {
            below = points[i * objectives + m] < reference[m];
        }
        if (below) {
            scratch[inside++] = i;
        }
    }
    return inside == 0 ? 0 : slice(scratch, inside, points, objectives, objectives, reference);
}
