/* The methods to read, write or copy a given piece of memory on this device, ready to be
 * measured. */
#ifndef RIDGE_BENCH_ROOFS_STREAM_KERNELS_H
#define RIDGE_BENCH_ROOFS_STREAM_KERNELS_H

#include "bench/roofs/stream.h"

enum {
    STREAM_CHUNK = 256 << 10,  /* of memory that a CPU's thread takes at a time */
    STREAM_OWN_MOST = 8 << 20, /* per thread: larger parts are in no private cache */
};

enum stream_reuse {
    REUSE_NONE,      /* every piece was last touched long ago */
    REUSE_INNERMOST, /* it stays in the nearest cache that the device has for it */
    REUSE_ALL,       /* reused as a whole */
};

/* Two buffers and how much of them is meant. */
struct stream_area {
    struct launch_buffer to, from;
    size_t bytes; /* of each buffer */
    size_t piece; /* accessed by a call, once or repeatedly: the next one each time */
    enum stream_reuse reuse;
    const char *caution; /* appended to every method's description; or "" */
    unsigned *turn;      /* which piece comes next */
};

struct stream_methods {
    const struct roof_bench *bench;
    struct stream *streams; /* ROOF_METHODS_MAX of them */
    struct roof_method methods[ROOF_METHODS_MAX];
    unsigned count;
};

bool stream_methods_init(const struct roof_bench *bench, struct stream_methods *methods,
                         struct status *status);
/* Adds the methods of a kind. The area must stay valid until they are measured. */
bool stream_methods_add(struct stream_methods *methods, const struct stream_area *area,
                        enum stream_kind kind, struct status *status);
void stream_methods_finish(struct stream_methods *methods);

#endif
