/* Communication between devices: which kernels do it, and what does each transfer?
 *
 * Kernels are recognized by the names of known libraries. Sizes come from the arguments that
 * torch.profiler records with a collective.
 */
#ifndef RIDGE_ANALYSIS_COMMUNICATION_H
#define RIDGE_ANALYSIS_COMMUNICATION_H

#include "base/text.h"

/* A kernel of NCCL, RCCL, MSCCL, oneCCL, NVSHMEM or of a framework's own collectives. */
bool kernel_communicates(struct text name);

/* Arguments of one collective. */
struct message {
    struct text operation; /* "allreduce"; empty: not recorded */
    uint64_t bytes;        /* the larger of input and output of one rank; 0: not known */
    uint64_t ranks;        /* in its group; 0: not known */
    struct text group;     /* name of the process group, and its ranks; empty: not recorded */
    struct text members;
    uint64_t sequence;              /* in its group; 0: not recorded */
    int64_t group_rank, root, peer; /* in the group; -1: not recorded, or there is none */
};
/* From a `detail` of the trace; false: it has no collective. */
bool message_read(struct text detail, struct message *message);
/* The operation under one name for all libraries: "allreduce" for all_reduce, AllReduce and
 * allreduce_coalesced; empty: not known. */
struct text message_operation(struct text name);
/* Bytes that each rank sends over its link, by the ring algorithm: what nccl-tests call bus
 * bandwidth is these bytes over the time. 0: not known. */
double message_link_bytes(const struct message *message);

/* Published bytes per second of all links of a device inside one machine, in one direction; 0: not
 * known. */
double device_link_limit(struct text device);

#endif
