/* The place of a process in a distributed job: the rank that its launcher (torchrun, MPI, Slurm)
 * assigned. Safe inside other people's programs.
 */
#ifndef RIDGE_BASE_JOB_PLACE_H
#define RIDGE_BASE_JOB_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* -1: unknown. */
struct job_place {
    int64_t rank, local_rank, world_size;
};

/* The value of an environment variable, or NULL. */
typedef const char *job_variable(const void *environment, const char *name);

struct job_place job_place_find(job_variable *get, const void *environment);
/* Of this process. */
struct job_place job_place_own(void);
/* From variables as /proc/PID/environ has them: NAME=VALUE, each terminated by a zero byte. The
 * last one must be terminated too. */
struct job_place job_place_read(const char *variables, uint64_t length);

/* Selected ranks: "all", "one-per-host", or numbers and intervals separated by commas or slashes,
 * such as "0,4-7". */
bool job_ranks_valid(const char *ranks);
/* Whether a process is among them. One without a rank is: it may be the launcher. */
bool job_ranks_include(const char *ranks, struct job_place place);

#endif
