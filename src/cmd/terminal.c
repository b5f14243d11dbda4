/* The locale is read from the environment as setlocale() would, without calling it: the rest of
 * ridge counts on numbers and letters of the C locale. */
#include "cmd/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/table.h"

enum { COLUMNS_MAX = 160, COLUMNS_ELSEWHERE = 80 };

unsigned terminal_width(const struct output *output) {
    return output->path ? 0 : table_terminal_width(output->fd);
}

unsigned terminal_columns(const struct output *output) {
    unsigned width = terminal_width(output);
    return width == 0 ? COLUMNS_ELSEWHERE : width < COLUMNS_MAX ? width : COLUMNS_MAX;
}

bool terminal_shows_utf8(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_COUNT(variables); i++) {
        const char *locale = getenv(variables[i]);
        if (!locale || !*locale)
            continue;
        const char *set = strchr(locale, '.');
        return set &&
               (strncasecmp(set + 1, "UTF-8", 5) == 0 || strncasecmp(set + 1, "utf8", 4) == 0);
    }
    return false;
}
