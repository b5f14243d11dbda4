/* See path_template.h. */
#include "record/path_template.h"

#include <ctype.h>
#include <string.h>

#include "base/job_place.h"

bool path_template_expand(const char *pattern, pid_t pid, const char *host, struct buffer *name,
                          struct status *status) {
    int64_t rank = job_place_own().rank;
    for (const char *at = pattern; *at; at++) {
        if (*at != '%') {
            buffer_byte(name, *at);
            continue;
        }
        switch (*++at) {
        case 'p':
            buffer_printf(name, "%ld", (long)pid);
            break;
        case 'h':
            buffer_string(name, host);
            break;
        case 'r':
            buffer_printf(name, "%lld", (long long)(rank > 0 ? rank : 0));
            break;
        case '%':
            buffer_byte(name, '%');
            break;
        default:
            return status_fail(status, STATUS_USAGE,
                               "%s: in an output name %% must be followed by p (pid), h (host), r "
                               "(rank) or %%",
                               pattern);
        }
    }
    return buffer_ok(name, status);
}

void path_template_default(const char *program, struct buffer *pattern) {
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    for (; *name; name++) {
        bool plain = isalnum((unsigned char)*name) || strchr("._-+", *name);
        buffer_byte(pattern, plain ? *name : '_');
    }
    buffer_string(pattern, "-%p.ridge");
}
