/* What the recorder wants from the probe: words with commas between them in $RIDGE_PROBE.
 *
 *   nvtx=0            no NVTX ranges
 *   cuda=0            nothing of CUDA
 *   graph=node        CUDA graphs node by node; graph=graph: each launch as a whole
 *   room=BYTES        how much may wait in the spool
 *   from=TIME         nothing that begins before it, in nanoseconds of CLOCK_MONOTONIC
 *   capture=RANGE     only inside "cudaProfilerApi" or "nvtx:NAME"; the last word, as a name may
 * have commas in it
 *
 * Without the variable, or for words that are not in it: NVTX and CUDA, graphs as a whole. Words
 * that are not known are passed over, as a recorder may be of a later version.
 */
#ifndef RIDGE_PROBE_OPTIONS_H
#define RIDGE_PROBE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct probe_options {
    bool nvtx, cuda;
    bool by_node;
    uint64_t room;       /* 0: the spool's own limit */
    int64_t from;        /* 0: from the beginning */
    struct text capture; /* in the words; empty: everything */
};

/* `words` may be NULL. */
struct probe_options options_parse(const char *words);

#endif
