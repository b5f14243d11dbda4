/* Kernels that read, write or copy a buffer, for any device; used by stream_kernels.c.
 *
 * Buffers of a launch: to, from. Scalars are in units of STREAM_WORD bytes:
 *   0  where block 0 ends; see 4
 *   1  where a block starts: its number times this
 *   2  from one word of a thread to its next
 *   3  how often to go over all of it
 *   4  the end is at scalar 0 plus the block's number times this
 *   5  blocks to move on by from one time to the next, so that no block meets what it just read
 */
#ifndef RIDGE_BENCH_ROOFS_STREAM_H
#define RIDGE_BENCH_ROOFS_STREAM_H

#include "bench/roofs/native_streams.h"
#include "bench/roofs/methods.h"

enum { STREAM_WORD = 16, STREAM_SCALARS = 6 };

struct stream_source {
    enum stream_kind kind;
    unsigned threads;
    unsigned unroll;   /* words that a thread has under way at once */
    bool past_nearest; /* loads skip the cache of the compute unit: the shared one is meant */
};
bool stream_load_source(const struct roof_bench *bench, const struct stream_source *source,
                        struct device_kernel **kernel, struct status *status);

/* The same for the CPU. Units of the launch are chunks of memory that any thread takes or, when
 * `own`, all are the taking thread's own part, so that it stays in its caches. Scalars:
 *   0  bytes in all   1  bytes of a chunk   2  own   3  how often to go over a chunk */
bool stream_load_native(const struct roof_bench *bench, const struct native_stream *stream,
                        struct device_kernel **kernel, struct status *status);

#endif
