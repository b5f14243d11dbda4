/* How a call accesses a piece of memory so that only the memory is measured.
 *
 * Data must be reused by the thread that used it before: a CPU thread has its own part as long
 * as its private caches might hold it, and accesses it many times per launch to hide the launch
 * cost. On a GPU all blocks run together and rotate between passes, so that the shared cache is
 * measured.
 */
#include "bench/roofs/stream_kernels.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum {
    PIECES_MAX = 64,
    OWN_UNITS = 8, /* of a launch for each thread, so that one that was interrupted does fewer */
    GPU_TOTAL = 256 << 20, /* bytes per launch over a working set */
    GPU_REPEATS = 64,      /* over what stays in the cache */
    BLOCKS_ON = 37,        /* that a block of a GPU moves on by */
};

/* A method that is ready to run. */
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
static struct stream *begin_method(struct stream_methods *methods, const struct stream_area *area) {
    struct stream *stream = &methods->streams[methods->count];
    size_t pieces = area->bytes / area->piece;
    stream->device = methods->bench->device;
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
    double bytes; /* of one buffer, accessed by a call */
};

static void end_method(struct stream_methods *methods, const struct stream_area *area,
                       enum stream_kind kind, const struct extent *extent, const char *how) {
    struct stream *stream = &methods->streams[methods->count];
    struct roof_method *method = &methods->methods[methods->count++];
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
    method->work = stream->kernel ? (struct measured_work){&stream->turns, roof_launch_batch}
                                  : (struct measured_work){stream, copy_within_batch};
    method->amount = extent->bytes * (kind == STREAM_COPY ? 2 : 1);
    snprintf(method->how, sizeof method->how, "%s%s", how, area->caution);
}

/* ---- Ways of the CPU ---------------------------------------------------------------------- */

static bool add_native(struct stream_methods *methods, const struct stream_area *area,
                       const struct native_stream *row, struct status *status) {
    struct stream *stream = begin_method(methods, area);
    unsigned threads = methods->bench->capabilities->compute_units;
    size_t own = area->reuse == REUSE_NONE ? 0 : area->piece / threads / STREAM_UNIT * STREAM_UNIT;
    int64_t repeats = own > 0 ? (int64_t)(own < STREAM_OWN_MOST ? STREAM_OWN_MOST / own : 1) : 1;
    size_t units =
        own > 0 ? (size_t)OWN_UNITS * threads : (area->piece + STREAM_CHUNK - 1) / STREAM_CHUNK;
    struct extent extent = {(uint32_t)units, 1, (double)area->piece};
    const int64_t scalars[STREAM_SCALARS] = {
        (int64_t)area->piece, own > 0 ? (int64_t)own : STREAM_CHUNK, own > 0, repeats};
    char how[80];
    if (!stream_load_native(methods->bench, row, &stream->kernel, status))
        return false;
    memcpy(stream->scalars, scalars, sizeof scalars);
    if (own > 0) {
        extent.bytes = (double)units * (double)repeats * (double)own;
        snprintf(how, sizeof how, "%s over %zu KB of each thread's own", row->how, own >> 10);
    } else {
        snprintf(how, sizeof how, "%s by all threads", row->how);
    }
    end_method(methods, area, row->kind, &extent, how);
    return true;
}

static bool add_native_methods(struct stream_methods *methods, const struct stream_area *area,
                               enum stream_kind kind, struct status *status) {
    unsigned count;
    const struct native_stream *rows = native_streams(&count);
    for (unsigned i = 0; i < count && methods->count < ROOF_METHODS_MAX; i++)
        if (rows[i].kind == kind && (area->reuse == REUSE_NONE || !rows[i].past_caches) &&
            !add_native(methods, area, &rows[i], status))
            return false;
    return true;
}

/* ---- Ways of devices that run source ------------------------------------------------------ */

struct geometry {
    unsigned threads, unroll;
    unsigned blocks_per_unit; /* 0: as many as leave each thread `unroll` words */
    bool apart;               /* each block has its own part, else blocks alternate */
};

/* A working set that is reused as a whole needs all its blocks resident at once, so there are
 * few. */
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
    size_t max = words / ((size_t)geometry->threads * geometry->unroll);
    size_t blocks = (size_t)geometry->blocks_per_unit * bench->capabilities->compute_units;
    return (uint32_t)(blocks > 0 && blocks < max ? blocks : max);
}

/* Passes of a launch over its bytes. */
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

/* Whole rounds only: every thread has the same number of words. */
static bool add_source(struct stream_methods *methods, const struct stream_area *area,
                       enum stream_kind kind, const struct geometry *geometry,
                       struct status *status) {
    struct stream_source source = {kind, geometry->threads, geometry->unroll,
                                   area->reuse != REUSE_NONE && !geometry->apart};
    size_t each = (size_t)geometry->threads * geometry->unroll, words = area->piece / STREAM_WORD;
    uint32_t blocks = blocks_of(methods->bench, geometry, words);
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
    struct stream *stream = begin_method(methods, area);
    if (!stream_load_source(methods->bench, &source, &stream->kernel, status))
        return false;
    memcpy(stream->scalars, scalars, sizeof scalars);
    snprintf(how, sizeof how, "kernel, %u x 16 bytes a thread, %u blocks of %u", geometry->unroll,
             blocks, geometry->threads);
    end_method(methods, area, kind, &extent, how);
    return true;
}

static bool add_source_methods(struct stream_methods *methods, const struct stream_area *area,
                               enum stream_kind kind, struct status *status) {
    unsigned count;
    const struct geometry *rows = geometries(methods->bench, area->reuse, &count);
    for (unsigned i = 0; i < count && methods->count < ROOF_METHODS_MAX; i++)
        if (rows[i].threads <= methods->bench->capabilities->block_max &&
            !add_source(methods, area, kind, &rows[i], status))
            return false;
    return true;
}

/* ---- All of them ------------------------------------------------------------------------- */

bool stream_methods_init(const struct roof_bench *bench, struct stream_methods *methods,
                         struct status *status) {
    *methods = (struct stream_methods){.bench = bench};
    methods->streams = memory_allocate(ROOF_METHODS_MAX, sizeof *methods->streams, status);
    return methods->streams != NULL;
}

bool stream_methods_add(struct stream_methods *methods, const struct stream_area *area,
                        enum stream_kind kind, struct status *status) {
    bool native = methods->bench->capabilities->language == LANGUAGE_NATIVE;
    if (native ? !add_native_methods(methods, area, kind, status)
               : !add_source_methods(methods, area, kind, status))
        return false;
    if (kind == STREAM_COPY && area->reuse == REUSE_NONE && methods->count < ROOF_METHODS_MAX) {
        begin_method(methods, area);
        end_method(methods, area, kind, &(struct extent){1, 1, (double)area->piece},
                   native ? "the runtime's copy" : "the driver's copy");
    }
    return true;
}

void stream_methods_finish(struct stream_methods *methods) {
    for (unsigned i = 0; methods->streams && i < ROOF_METHODS_MAX; i++)
        if (methods->streams[i].kernel)
            methods->bench->device->ops->unload(methods->bench->device, methods->streams[i].kernel);
    memory_free(methods->streams);
    methods->streams = NULL;
}
