/* Where are results kept that were saved under a name? In the folder that ridge has for what it
 * keeps, so that a name means the same wherever the command is given. */
#include <string.h>

#include "bench/results/compare.h"
#include "device/cache.h"

enum { NAME_MAX_LENGTH = 100 };

static bool ends_in(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static bool is_plain(const char *name) {
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return *name && *name != '.' && strlen(name) <= NAME_MAX_LENGTH;
}

bool compare_path(const char *name, struct buffer *path, struct status *status) {
    if (strchr(name, '/') || ends_in(name, ".json")) {
        buffer_string(path, name);
        buffer_byte(path, 0);
        return buffer_ok(path, status);
    }
    if (!is_plain(name))
        return status_fail(status, STATUS_USAGE,
                           "results cannot be kept under this name: take at most %d characters "
                           "that begin with a letter or a digit, or a path to a .json file",
                           NAME_MAX_LENGTH);
    if (!cache_folder(path, status))
        return status_context(status, "results need a path to a .json file instead of the name %s",
                              name);
    path->length = strlen(path->data);
    buffer_printf(path, "/saved-%s.json", name);
    buffer_byte(path, 0);
    return buffer_ok(path, status);
}
