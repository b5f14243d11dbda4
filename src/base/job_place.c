/* The variables of known launchers, the most specific first: a job of torchrun under Slurm has
 * both, and only torchrun's distinguish its processes. A value that is not a number is ignored.
 */
#include "base/job_place.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const rank_names[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                         "PMI_RANK", "MV2_COMM_WORLD_RANK",  "SLURM_PROCID",
                                         NULL};
static const char *const local_names[] = {"LOCAL_RANK",      "OMPI_COMM_WORLD_LOCAL_RANK",
                                          "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                                          "SLURM_LOCALID",   NULL};
static const char *const size_names[] = {"WORLD_SIZE",          "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS",         NULL};

static int64_t first_number(const char *const *names, job_variable *get, const void *environment) {
    for (; *names; names++) {
        const char *value = get(environment, *names);
        size_t digits = value ? strspn(value, "0123456789") : 0;
        if (digits > 0 && digits < 10 && !value[digits])
            return atol(value);
    }
    return -1;
}

struct job_place job_place_find(job_variable *get, const void *environment) {
    return (struct job_place){
        .rank = first_number(rank_names, get, environment),
        .local_rank = first_number(local_names, get, environment),
        .world_size = first_number(size_names, get, environment),
    };
}

static const char *own_variable(const void *environment, const char *name) {
    (void)environment;
    return getenv(name);
}

struct job_place job_place_own(void) {
    return job_place_find(own_variable, NULL);
}

struct variables {
    const char *bytes;
    uint64_t length;
};

static const char *listed_variable(const void *environment, const char *name) {
    const struct variables *list = environment;
    size_t name_length = strlen(name);
    for (uint64_t at = 0; at < list->length;) {
        const char *variable = list->bytes + at;
        const char *end = memchr(variable, 0, list->length - at);
        if (!end)
            return NULL;
        size_t length = (size_t)(end - variable);
        if (length > name_length && memcmp(variable, name, name_length) == 0 &&
            variable[name_length] == '=')
            return variable + name_length + 1;
        at += length + 1;
    }
    return NULL;
}

struct job_place job_place_read(const char *variables, uint64_t length) {
    return job_place_find(listed_variable, &(struct variables){variables, length});
}

/* The next interval of a list, and whether it is one. */
static bool next_interval(const char **at, long *first, long *last) {
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *first = *last = strtol(*at, &end, 10);
    if (*end == '-') {
        if (end[1] < '0' || end[1] > '9')
            return false;
        *last = strtol(end + 1, &end, 10);
    }
    if (*end && *end != ',' && *end != '/')
        return false;
    *at = *end ? end + 1 : end;
    return *first <= *last && (*end == 0 || **at);
}

static bool is_word(const char *ranks) {
    return strcmp(ranks, "all") == 0 || strcmp(ranks, "one-per-host") == 0;
}

bool job_ranks_valid(const char *ranks) {
    long first, last;
    if (is_word(ranks))
        return true;
    do {
        if (!next_interval(&ranks, &first, &last))
            return false;
    } while (*ranks);
    return true;
}

bool job_ranks_include(const char *ranks, struct job_place place) {
    long first, last;
    if (place.rank < 0 || strcmp(ranks, "all") == 0)
        return true;
    if (strcmp(ranks, "one-per-host") == 0)
        return place.local_rank <= 0;
    while (*ranks && next_interval(&ranks, &first, &last))
        if (place.rank >= first && place.rank <= last)
            return true;
    return false;
}
