/* Wide lines are hard to read: text is limited to COLUMNS_MAX. */
#include "cmd/terminal.h"

#include "base/table.h"

enum { COLUMNS_MAX = 160, COLUMNS_ELSEWHERE = 80 };

unsigned terminal_width(const struct output *output) {
    return output->path ? 0 : table_terminal_width(output->fd);
}

unsigned terminal_columns(const struct output *output) {
    unsigned width = terminal_width(output);
    return width == 0 ? COLUMNS_ELSEWHERE : width < COLUMNS_MAX ? width : COLUMNS_MAX;
}
