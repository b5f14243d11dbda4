/* How a call goes over a piece of memory so that nothing but the memory is felt.
 *
 * What is reused must be reused by whoever used it before: a CPU's thread has a part of its own as
 * long as caches of its own might hold that, and goes over it many times in a launch, whose cost
 * would count else. On a GPU all blocks are under way together and move on from one time to the
 * next, so that the cache that they share is meant.
 */
#include "bench/roofs/stream_kernels.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum {
    PIECES_MAX = 64,
    OWN_UNITS = 8, /* of a launch for each thread, so that one that was interrupted does fewer */
    GPU_TOTAL = 256 << 20, /* bytes of a launch that goes over a working set */
    GPU_REPEATS = 64,      /* over what stays in the cache */
    BLOCKS_ON = 37,        /* that a block of a GPU moves on by */
};

/* A way that is ready to run. */
struct stream {
    struct device *device;
    struct device_kernel *kernel; /* NULL: the driver's own copy */
    struct launch launches[PIECES_MAX];
    struct launch_buffer buffers[PIECES_MAX][2];
    int64_t scalars[STREAM_SCALARS];
    struct roof_launches turns;
    size_t piece;
};

static bool copy_within_batch(void *context, unsigned calls, double *nanoseconds,
                              struct status *status) {
    struct stream *stream = context;
    const struct device_ops *ops = stream->device->ops;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++) {
        unsigned next = (*stream->turns.turn)++ % stream->turns.count;
        const struct launch_buffer *buffers = stream->buffers[next];
        if (!ops->copy_within(stream->device, 0, buffers[0].memory, buffers[0].offset,
                              buffers[1].memory, buffers[1].offset, stream->piece, NULL, status))
            return false;
    }
    if (!ops->finish(stream->device, status))
        return false;
    *nanoseconds = measure_clock() - start;
    return true;
}

/* The next free row, with its turns over the pieces of the area filled in. */
static struct stream *begin_way(struct stream_ways *ways, const struct stream_area *area) {
    struct stream *stream = &ways->streams[ways->count];
    size_t pieces = area->bytes / area->piece;
    stream->device = ways->bench->device;
    stream->piece = area->piece;
    stream->turns =
        (struct roof_launches){stream->device, stream->launches,
                               pieces < PIECES_MAX ? (unsigned)pieces : PIECES_MAX, area->turn};
    for (unsigned i = 0; i < stream->turns.count; i++) {
        stream->buffers[i][0] = area->to;
        stream->buffers[i][1] = area->from;
        stream->buffers[i][0].offset = stream->buffers[i][1].offset = i * area->piece;
    }
    return stream;
}

struct extent {
    uint32_t blocks, threads;
    double bytes; /* of one buffer that a call goes over */
};

static void end_way(struct stream_ways *ways, const struct stream_area *area, enum stream_kind kind,
                    const struct extent *extent, const char *how) {
    struct stream *stream = &ways->streams[ways->count];
    struct roof_way *way = &ways->ways[ways->count++];
    for (unsigned i = 0; i < stream->turns.count; i++)
        stream->launches[i] = (struct launch){
            .kernel = stream->kernel,
            .grid = {extent->blocks, 1, 1},
            .block = {extent->threads, 1, 1},
            .buffer_count = 2,
            .scalar_count = STREAM_SCALARS,
            .buffers = stream->buffers[i],
            .scalars = stream->scalars,
        };
    way->work = stream->kernel ? (struct measured_work){&stream->turns, roof_launch_batch}
                               : (struct measured_work){stream, copy_within_batch};
    way->amount = extent->bytes * (kind == STREAM_COPY ? 2 : 1);
    snprintf(way->how, sizeof way->how, "%s%s", how, area->caution);
}

/* ---- Ways of the CPU ---------------------------------------------------------------------- */

static bool add_native(struct stream_ways *ways, const struct stream_area *area,
                       const struct native_stream *row, struct status *status) {
    struct stream *stream = begin_way(ways, area);
    unsigned threads = ways->bench->capabilities->compute_units;
    size_t own = area->reuse == REUSE_NONE ? 0 : area->piece / threads / STREAM_UNIT * STREAM_UNIT;
    int64_t repeats = own > 0 ? (int64_t)(own < STREAM_OWN_MOST ? STREAM_OWN_MOST / own : 1) : 1;
    size_t units =
        own > 0 ? (size_t)OWN_UNITS * threads : (area->piece + STREAM_CHUNK - 1) / STREAM_CHUNK;
    struct extent extent = {(uint32_t)units, 1, (double)area->piece};
    const int64_t scalars[STREAM_SCALARS] = {
        (int64_t)area->piece, own > 0 ? (int64_t)own : STREAM_CHUNK, own > 0, repeats};
    char how[80];
    if (!stream_load_native(ways->bench, row, &stream->kernel, status))
        return false;
    memcpy(stream->scalars, scalars, sizeof scalars);
    if (own > 0) {
        extent.bytes = (double)units * (double)repeats * (double)own;
        snprintf(how, sizeof how, "%s over %zu KB of each thread's own", row->how, own >> 10);
    } else {
        snprintf(how, sizeof how, "%s by all threads", row->how);
    }
    end_way(ways, area, row->kind, &extent, how);
    return true;
}

static bool add_native_ways(struct stream_ways *ways, const struct stream_area *area,
                            enum stream_kind kind, struct status *status) {
    unsigned count;
    const struct native_stream *rows = native_streams(&count);
    for (unsigned i = 0; i < count && ways->count < ROOF_WAYS_MAX; i++)
        if (rows[i].kind == kind && (area->reuse == REUSE_NONE || !rows[i].past_caches) &&
            !add_native(ways, area, &rows[i], status))
            return false;
    return true;
}

/* ---- Ways of devices that run source ------------------------------------------------------ */

struct geometry {
    unsigned threads, unroll;
    unsigned blocks_per_unit; /* 0: as many as leave each thread `unroll` words */
    bool apart;               /* each block has a part of its own, else blocks take turns */
};

/* What is gone over again as a whole needs all of its blocks under way at once: few of them. */
static const struct geometry gpu[] = {{256, 4, 0, false},
                                      {512, 4, 4, false},
                                      {256, 8, 8, false},
                                      {1024, 4, 2, false},
                                      {256, 1, 0, false}},
                             gpu_at_once[] = {{512, 2, 3, false}, {512, 4, 2, false}},
                             cpu[] = {{1, 8, 16, true}}, cpu_at_once[] = {{1, 8, 1, true}};
static const struct geometry *geometries(const struct roof_bench *bench, enum stream_reuse reuse,
                                         unsigned *count) {
    bool is_gpu = bench->capabilities->is_gpu, at_once = reuse == REUSE_ALL;
    unsigned all = at_once ? (is_gpu ? ARRAY_COUNT(gpu_at_once) : ARRAY_COUNT(cpu_at_once))
                           : (is_gpu ? ARRAY_COUNT(gpu) : ARRAY_COUNT(cpu));
    *count = bench->quick && all > 2 ? 2 : all;
    return at_once ? (is_gpu ? gpu_at_once : cpu_at_once) : (is_gpu ? gpu : cpu);
}

static uint32_t blocks_of(const struct roof_bench *bench, const struct geometry *geometry,
                          size_t words) {
    size_t most = words / ((size_t)geometry->threads * geometry->unroll);
    size_t blocks = (size_t)geometry->blocks_per_unit * bench->capabilities->compute_units;
    return (uint32_t)(blocks > 0 && blocks < most ? blocks : most);
}

/* How often a launch goes over its bytes. */
static int64_t repeats_of(const struct stream_area *area, const struct geometry *geometry,
                          size_t block_bytes) {
    if (area->reuse == REUSE_NONE)
        return 1;
    if (area->reuse == REUSE_INNERMOST && !geometry->apart)
        return GPU_REPEATS;
    size_t total = geometry->apart ? STREAM_OWN_MOST : GPU_TOTAL,
           once = geometry->apart ? block_bytes : area->piece;
    return once < total ? (int64_t)(total / once) : 1;
}

/* Whole rounds only: every thread does as many words as every other. */
static bool add_source(struct stream_ways *ways, const struct stream_area *area,
                       enum stream_kind kind, const struct geometry *geometry,
                       struct status *status) {
    struct stream_source source = {kind, geometry->threads, geometry->unroll,
                                   area->reuse != REUSE_NONE && !geometry->apart};
    size_t each = (size_t)geometry->threads * geometry->unroll, words = area->piece / STREAM_WORD;
    uint32_t blocks = blocks_of(ways->bench, geometry, words);
    size_t part = blocks > 0 ? words / blocks / each * each : 0; /* of a block */
    if (part == 0)
        return true;
    bool apart = geometry->apart;
    int64_t repeats = repeats_of(area, geometry, part * STREAM_WORD);
    struct extent extent = {blocks, geometry->threads,
                            (double)part * blocks * STREAM_WORD * (double)repeats};
    size_t stride = apart ? geometry->threads : (size_t)geometry->threads * blocks;
    const int64_t scalars[STREAM_SCALARS] = {
        (int64_t)(apart ? part : part * blocks),
        (int64_t)(apart ? part : geometry->threads),
        (int64_t)stride,
        repeats,
        (int64_t)(apart ? part : 0),
        apart ? 0 : BLOCKS_ON,
    };
    char how[80];
    struct stream *stream = begin_way(ways, area);
    if (!stream_load_source(ways->bench, &source, &stream->kernel, status))
        return false;
    memcpy(stream->scalars, scalars, sizeof scalars);
    snprintf(how, sizeof how, "kernel, %u x 16 bytes a thread, %u blocks of %u", geometry->unroll,
             blocks, geometry->threads);
    end_way(ways, area, kind, &extent, how);
    return true;
}

static bool add_source_ways(struct stream_ways *ways, const struct stream_area *area,
                            enum stream_kind kind, struct status *status) {
    unsigned count;
    const struct geometry *rows = geometries(ways->bench, area->reuse, &count);
    for (unsigned i = 0; i < count && ways->count < ROOF_WAYS_MAX; i++)
        if (rows[i].threads <= ways->bench->capabilities->block_max &&
            !add_source(ways, area, kind, &rows[i], status))
            return false;
    return true;
}

/* ---- All of them ------------------------------------------------------------------------- */

bool stream_ways_init(const struct roof_bench *bench, struct stream_ways *ways,
                      struct status *status) {
    *ways = (struct stream_ways){.bench = bench};
    ways->streams = memory_allocate(ROOF_WAYS_MAX, sizeof *ways->streams, status);
    return ways->streams != NULL;
}

bool stream_ways_add(struct stream_ways *ways, const struct stream_area *area,
                     enum stream_kind kind, struct status *status) {
    bool native = ways->bench->capabilities->language == LANGUAGE_NATIVE;
    if (native ? !add_native_ways(ways, area, kind, status)
               : !add_source_ways(ways, area, kind, status))
        return false;
    if (kind == STREAM_COPY && area->reuse == REUSE_NONE && ways->count < ROOF_WAYS_MAX) {
        begin_way(ways, area);
        end_way(ways, area, kind, &(struct extent){1, 1, (double)area->piece},
                native ? "the runtime's copy" : "the driver's copy");
    }
    return true;
}

void stream_ways_finish(struct stream_ways *ways) {
    for (unsigned i = 0; ways->streams && i < ROOF_WAYS_MAX; i++)
        if (ways->streams[i].kernel)
            ways->bench->device->ops->unload(ways->bench->device, ways->streams[i].kernel);
    memory_free(ways->streams);
    ways->streams = NULL;
}
