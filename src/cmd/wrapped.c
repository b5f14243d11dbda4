/* Breaks at spaces only: paths and commands stay whole, to be copied. */
#include "cmd/wrapped.h"

#include <string.h>

#include "base/table.h"

void print_wrapped(struct output *output, const char *text, size_t indent) {
    size_t at = indent;
    while (*text) {
        size_t word = strcspn(text, " ");
        size_t width = table_text_width((struct text){text, word});
        if (at > indent && at + 1 + width > WRAPPED_WIDTH) {
            output_printf(output, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            output_printf(output, " ");
            at++;
        }
        output_write(output, text, word);
        at += width;
        text += word;
        text += strspn(text, " ");
    }
    output_printf(output, "\n");
}
