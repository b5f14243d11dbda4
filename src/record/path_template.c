/* The rank comes from the variables of known launchers, the most specific first: a job of torchrun
 * under Slurm has both, and only torchrun's distinguishes its processes. A value that is not a
 * number is ignored, because it would become a part of a file name.
 */
#include "record/path_template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *first_number(const char *const *names) {
    for (; *names; names++) {
        const char *value = getenv(*names);
        size_t digits = value ? strspn(value, "0123456789") : 0;
        if (digits > 0 && digits < 10 && !value[digits])
            return value;
    }
    return NULL;
}

const char *path_template_rank(void) {
    static const char *const names[] = {"RANK",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK",
                                        "MPI_LOCALRANKID",
                                        "SLURM_PROCID",
                                        NULL};
    return first_number(names);
}

const char *path_template_world_size(void) {
    static const char *const names[] = {"WORLD_SIZE",          "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS",         NULL};
    return first_number(names);
}

bool path_template_expand(const char *pattern, pid_t pid, const char *host, struct buffer *name,
                          struct status *status) {
    const char *rank = path_template_rank();
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
            buffer_string(name, rank ? rank : "0");
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
