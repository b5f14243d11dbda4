/* libridge-collectives.so: collectives and messages of MPI and gloo.
 *
 * The library is preloaded into the processes of a distributed job. Its functions have the names of
 * MPI's and gloo's, so the program calls them first; each calls the real function and reports the
 * time of the call, the operation, its size and its process group to the probe. In a program
 * without MPI or gloo it does nothing.
 */
#ifndef RIDGE_PROBE_COLLECTIVES_H
#define RIDGE_PROBE_COLLECTIVES_H

#include <stdint.h>

struct collective_event {
    const char *name;      /* "MPI_Allreduce"; constant */
    const char *library;   /* "MPI"; constant */
    const char *operation; /* "allreduce"; constant */
    const char *group;     /* name of the process group, the same on all of its ranks; or NULL */
    int64_t start, end;    /* CLOCK_MONOTONIC */
    uint64_t bytes;        /* the larger of input and output of this rank; UINT64_MAX: unknown */
    uint64_t sequence;     /* among the operations of the group, from 1; 0: unknown */
    uint32_t group_size;   /* 0: unknown */
    int32_t group_rank;    /* of this process in the group; -1: unknown */
    int32_t root;          /* rank in the group; -1: none */
    int32_t peer;          /* of a message: rank in the group; -1: none or any */
};

/* Of the probe, which is loaded with this library. */
void ridge_probe_collective(const struct collective_event *event);
/* The place of the process in MPI_COMM_WORLD; -1: as the environment has it. */
void ridge_probe_place(int64_t rank, int64_t world_size);

/* The function with this name that the caller at the return address would get without this library;
 * NULL: none. */
void *collectives_find(const char *symbol, const void *caller);
/* The same for an object. */
void *collectives_find_object(const char *symbol, const void *caller);

#endif
