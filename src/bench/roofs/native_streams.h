/* Methods for a CPU's threads to read, write and copy memory with this machine's ISA.
 *
 * A pass goes once over `bytes` (a multiple of STREAM_UNIT, like the addresses) and gives a sum of
 * what it read, so that reading is not left out.
 */
#ifndef RIDGE_BENCH_ROOFS_NATIVE_STREAMS_H
#define RIDGE_BENCH_ROOFS_NATIVE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STREAM_UNIT = 4096 };
enum stream_kind { STREAM_READ, STREAM_WRITE, STREAM_COPY, STREAM_KINDS };

typedef uint64_t stream_pass(char *to, const char *from, size_t bytes);

struct native_stream {
    enum stream_kind kind;
    bool past_caches; /* stores do not go through the caches: no way to measure these */
    stream_pass *pass;
    const char *how; /* "64-byte loads, 4 streams" */
};

/* The methods of this machine, `*count` of them. */
const struct native_stream *native_streams(unsigned *count);

#endif
