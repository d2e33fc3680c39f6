/*
 * plot.h: drawings of the page, as inline SVG. Colours are classes of the page's style sheet, so
 * that light, dark and print each have their own. Every drawing has a title and a description for
 * those who cannot see it, and stands beside a table of its numbers.
 */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "util/strbuf.h"

typedef struct plot {
    strbuf *out;
    double x_low, x_high, y_low, y_high; /* of the data; low < high */
    double width, height, left, bottom;  /* of the drawing, and its margins */
} plot;

/* Text for element content and quoted attributes. ASCII: the rest becomes character references;
   bytes that are no UTF-8, and controls, become U+FFFD. */
void html_text(strbuf *out, const char *text);
void html_slice(strbuf *out, const char *text, size_t length);

/* Frame, axes with ticks at round numbers, labels. An empty range is widened. Texts are escaped. */
void plot_begin(plot *p, strbuf *out, const char *title, const char *description,
                const char *x_label, const char *y_label);
void plot_end(plot *p);

bool plot_holds(const plot *p, double x, double y);

/* A dot, drawn where it is; `note` is shown when a pointer rests on it (NULL: none). */
void plot_dot(plot *p, double x, double y, double radius, const char *class, const char *note);

/* A line that goes on at the last value until the next; `count` points by rising x, and on to
   x_end. */
void plot_steps(plot *p, const double *x, const double *y, size_t count, double x_end,
                const char *class);
void plot_level(plot *p, double y, const char *class, const char *label);

#endif
