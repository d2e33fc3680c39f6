#include "report/plot.h"

#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_character(strbuf *out, const char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & first_bits[length];
    for (size_t i = 1; i < length; i++) {
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    }
    bool allowed = length > 0 && (code >= 0x20 || code == '\n' || code == '\t') && code != 0x7f &&
                   (code & 0xfffe) != 0xfffe;
    if (!allowed) {
        code = 0xfffd;
    }
    if (code < 0x80 && strchr("<>&\"'", (int)code) == NULL) {
        strbuf_putc(out, (char)code);
    } else {
        strbuf_printf(out, "&#%u;", (unsigned)code);
    }
}

void html_slice(strbuf *out, const char *text, size_t length)
{
    while (length > 0) {
        size_t step = text_utf8_length(text, length);
        put_character(out, text, step);
        step = step == 0 ? 1 : step;
        text += step;
        length -= step;
    }
}

void html_text(strbuf *out, const char *text)
{
    html_slice(out, text, strlen(text));
}

static double x_of(const plot *p, double x)
{
    return p->left + (x - p->x_low) / (p->x_high - p->x_low) * (p->width - p->left - 12);
}

static double y_of(const plot *p, double y)
{
    return 12 + (p->y_high - y) / (p->y_high - p->y_low) * (p->height - p->bottom - 12);
}

/* The least of 1, 2, 5 times a power of ten that makes at most `count` steps. */
static double tick_step(double range, int count)
{
    double step = pow(10, floor(log10(range / count)));
    static const double factors[] = {1, 2, 5, 10};
    size_t i = 0;
    while (i < 3 && range / (step * factors[i]) > count) {
        i++;
    }
    return step * factors[i];
}

static void tick_text(char *out, size_t size, double value, double step)
{
    static const struct {
        double size;
        const char *suffix;
    } scales[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "u"}};
    size_t i = 0;
    while (i < 5 && fabs(value) < scales[i].size) {
        i++;
    }
    if (fabs(value) < step / 2) {
        i = 3;
        value = 0;
    } else if (i == 2 && fabs(value) < 10000) {
        i = 3; /* 2500 reads better than 2.5k */
    }
    snprintf(out, size, "%.6g%s", value / scales[i].size, scales[i].suffix);
}

/* Ticks are counted in doubles: in a range far below its own magnitude they would stand still. */
static void widen(double *low, double *high)
{
    double size = fmax(fabs(*low), fabs(*high));
    if (!(*high - *low > 1e-9 * size)) {
        double by = size == 0 ? 1 : size * 0.05;
        *low -= by;
        *high += by;
    }
}

static void put_ticks(plot *p)
{
    strbuf *out = p->out;
    char text[32];
    double step = tick_step(p->x_high - p->x_low, 6);
    for (double i = ceil(p->x_low / step); i * step <= p->x_high; i++) {
        tick_text(text, sizeof text, i * step, step);
        strbuf_printf(out,
                      "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>",
                      x_of(p, i * step), p->height - p->bottom + 18, text);
    }
    step = tick_step(p->y_high - p->y_low, 5);
    for (double i = ceil(p->y_low / step); i * step <= p->y_high; i++) {
        double y = y_of(p, i * step);
        tick_text(text, sizeof text, i * step, step);
        strbuf_printf(out,
                      "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                      "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                      p->left, p->width - 12, y, y, p->left - 8, y + 4, text);
    }
}

void plot_begin(plot *p, strbuf *out, const char *title, const char *description,
                const char *x_label, const char *y_label)
{
    p->out = out;
    widen(&p->x_low, &p->x_high);
    widen(&p->y_low, &p->y_high);
    strbuf_printf(out, "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>",
                  p->width, p->height);
    html_text(out, title);
    strbuf_puts(out, "</title><desc>");
    html_text(out, description);
    strbuf_puts(out, "</desc>");
    put_ticks(p);
    strbuf_printf(out, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                  p->left, p->width - 12, p->height - p->bottom, p->height - p->bottom);
    strbuf_printf(out, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                  (p->left + p->width - 12) / 2, p->height - 6);
    html_text(out, x_label);
    strbuf_printf(out,
                  "</text><text class=\"label\" transform=\"translate(14 %.1f) rotate(-90)\" "
                  "text-anchor=\"middle\">",
                  (12 + p->height - p->bottom) / 2);
    html_text(out, y_label);
    strbuf_puts(out, "</text>");
}

void plot_end(plot *p)
{
    strbuf_puts(p->out, "</svg>\n");
}

bool plot_holds(const plot *p, double x, double y)
{
    return x >= p->x_low && x <= p->x_high && y >= p->y_low && y <= p->y_high;
}

void plot_dot(plot *p, double x, double y, double radius, const char *class, const char *note)
{
    strbuf_printf(p->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", class,
                  x_of(p, x), y_of(p, y), radius);
    if (note == NULL) {
        strbuf_puts(p->out, "/>");
        return;
    }
    strbuf_puts(p->out, "><title>");
    html_text(p->out, note);
    strbuf_puts(p->out, "</title></circle>");
}

void plot_steps(plot *p, const double *x, const double *y, size_t count, double x_end,
                const char *class)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0) {
            strbuf_printf(p->out, "<path class=\"%s\" d=\"M%.1f %.1f", class, x_of(p, x[0]),
                          y_of(p, y[0]));
        } else {
            strbuf_printf(p->out, "H%.1fV%.1f", x_of(p, x[i]), y_of(p, y[i]));
        }
    }
    if (count > 0) {
        strbuf_printf(p->out, "H%.1f\"/>", x_of(p, x_end));
    }
}

void plot_level(plot *p, double y, const char *class, const char *label)
{
    strbuf_printf(p->out, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                  class, p->left, p->width - 12, y_of(p, y), y_of(p, y));
    /* Above the line, but for one at the very top. */
    double at = y_of(p, y) - 6;
    strbuf_printf(p->out, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
                  p->width - 14, at < 14 ? at + 18 : at);
    html_text(p->out, label);
    strbuf_puts(p->out, "</text>");
}
