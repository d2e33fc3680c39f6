/* html.h: what the files of the page share. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "report/internal.h"
#include "report/plot.h"

extern const char html_style[];

/* html_search.c: how the search went. */
void html_fronts(strbuf *out, const report_detail *d);
void html_convergence(strbuf *out, const report_detail *d);
void html_generations(strbuf *out, const report_detail *d);

/* A cell that holds a bar and its number; share from 0 to 1, the number as HTML. */
void html_bar_cell(strbuf *out, double share, const char *number);

void html_section(strbuf *out, const char *id, const char *title, const char *hint);

#endif
