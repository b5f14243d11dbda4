/* How many bytes a second can be read, written and copied, in memory and in cache?
 *
 * Memory is measured in pieces of buffers larger than the last cache, each piece in its turn, so
 * that what is touched was last touched long ago; a batch may then be shorter than a whole round.
 * A copy counts what it reads and what it writes.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/roofs/stream.h"

enum {
    PIECES_MAX = 64,
    CHUNK = 256 << 10,   /* of memory that a CPU's thread takes at a time */
    OWN_BYTES = 8 << 10, /* of a thread: with as much again for a copy, the first cache holds it */
    OWN_BYTES_MORE = 128 << 10, /* the second */
    OWN_TOTAL = 8 << 20,        /* bytes that a unit goes over within them */
};
#define MEGABYTE ((uint64_t)1 << 20)

/* Two buffers and how much of them is meant. */
struct area {
    struct launch_buffer to, from;
    size_t bytes, piece; /* of each buffer */
    bool cached, too_small;
    unsigned *turn; /* which piece comes next */
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

struct streams {
    const struct roof_bench *bench;
    const struct area *area;
    enum stream_kind kind;
    struct stream *loaded; /* ROOF_WAYS_MAX of them */
    struct roof_way ways[ROOF_WAYS_MAX];
    unsigned count;
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
static struct stream *begin_way(struct streams *streams) {
    const struct area *area = streams->area;
    struct stream *stream = &streams->loaded[streams->count];
    unsigned pieces = (unsigned)(area->bytes / area->piece);
    stream->device = streams->bench->device;
    stream->piece = area->piece;
    stream->turns = (struct roof_launches){stream->device, stream->launches,
                                           pieces < PIECES_MAX ? pieces : PIECES_MAX, area->turn};
    for (unsigned i = 0; i < stream->turns.count; i++) {
        stream->buffers[i][0] = area->to;
        stream->buffers[i][1] = area->from;
        stream->buffers[i][0].offset = stream->buffers[i][1].offset = i * area->piece;
    }
    return stream;
}

/* `bytes` are those of one buffer that a call goes over. */
static void end_way(struct streams *streams, struct stream *stream, uint32_t blocks,
                    uint32_t threads, unsigned scalars, double bytes, const char *how) {
    struct roof_way *way = &streams->ways[streams->count++];
    for (unsigned i = 0; i < stream->turns.count; i++)
        stream->launches[i] = (struct launch){
            .kernel = stream->kernel,
            .grid = {blocks, 1, 1},
            .block = {threads, 1, 1},
            .buffer_count = 2,
            .scalar_count = scalars,
            .buffers = stream->buffers[i],
            .scalars = stream->scalars,
        };
    way->work = stream->kernel ? (struct measured_work){&stream->turns, roof_launch_batch}
                               : (struct measured_work){stream, copy_within_batch};
    way->amount = bytes * (streams->kind == STREAM_COPY ? 2 : 1);
    snprintf(way->how, sizeof way->how, "%s%s", how,
             streams->area->too_small ? "; the buffers may fit a cache" : "");
}

/* ---- Ways of the CPU ---------------------------------------------------------------------- */

static bool add_native(struct streams *streams, const struct native_stream *row, size_t own,
                       struct status *status) {
    const struct area *area = streams->area;
    struct stream *stream = begin_way(streams);
    unsigned threads = streams->bench->capabilities->compute_units;
    int64_t repeats = own > 0 ? (int64_t)(OWN_TOTAL / own) : 1;
    size_t units = own > 0 ? threads * 8 : (area->piece + CHUNK - 1) / CHUNK;
    char how[96];
    if (!stream_load_native(streams->bench, row, &stream->kernel, status))
        return false;
    const int64_t scalars[] = {(int64_t)area->piece, own > 0 ? (int64_t)own : CHUNK, own > 0,
                               repeats};
    memcpy(stream->scalars, scalars, sizeof scalars);
    if (own > 0)
        snprintf(how, sizeof how, "%s over %zu KB of each thread's own", row->how, own >> 10);
    else
        snprintf(how, sizeof how, "%s by all threads", row->how);
    end_way(streams, stream, (uint32_t)units, 1, 4,
            own > 0 ? (double)units * OWN_TOTAL : (double)area->piece, how);
    return true;
}

static bool add_native_ways(struct streams *streams, struct status *status) {
    unsigned count;
    const struct native_stream *rows = native_streams(&count);
    bool cached = streams->area->cached;
    for (unsigned i = 0; i < count; i++) {
        if (rows[i].kind != streams->kind || (cached && rows[i].past_caches))
            continue;
        if (!add_native(streams, &rows[i], cached ? OWN_BYTES : 0, status) ||
            (cached && !streams->bench->quick &&
             !add_native(streams, &rows[i], OWN_BYTES_MORE, status)))
            return false;
    }
    return true;
}

/* ---- Ways of devices that run source ------------------------------------------------------ */

struct geometry {
    unsigned threads, unroll;
    unsigned blocks_per_unit; /* 0: as many as leave each thread `unroll` words */
    bool apart;               /* each block has a part of its own, else blocks take turns */
};
static const struct geometry gpu_geometries[] = {
    {256, 4, 0, false},  {512, 4, 4, false}, {256, 8, 8, false},
    {1024, 4, 2, false}, {256, 1, 0, false},
};
static const struct geometry cpu_geometries[] = {{1, 8, 16, true}};

static uint32_t blocks_of(const struct roof_bench *bench, const struct geometry *geometry,
                          size_t words) {
    size_t each = (size_t)geometry->threads * geometry->unroll;
    size_t blocks = geometry->blocks_per_unit > 0
                        ? (size_t)geometry->blocks_per_unit * bench->capabilities->compute_units
                        : words / each;
    return (uint32_t)(blocks > 0 && blocks < words / each ? blocks : words / each);
}

/* Whole rounds only: every thread does as many words as every other. */
static bool add_source(struct streams *streams, const struct geometry *geometry,
                       struct status *status) {
    const struct roof_bench *bench = streams->bench;
    const struct area *area = streams->area;
    struct stream_source source = {streams->kind, geometry->threads, geometry->unroll,
                                   area->cached && !geometry->apart};
    struct stream *stream = begin_way(streams);
    size_t each = (size_t)geometry->threads * geometry->unroll;
    size_t words = area->piece / STREAM_WORD;
    uint32_t blocks = blocks_of(bench, geometry, words);
    size_t part = words / blocks / each * each; /* of a block */
    int64_t repeats = area->cached ? (geometry->apart ? 256 : 64) : 1;
    char how[96];
    if (part == 0)
        return true;
    if (!stream_load_source(bench, &source, &stream->kernel, status))
        return false;
    size_t stride = geometry->apart ? geometry->threads : (size_t)geometry->threads * blocks;
    const int64_t scalars[STREAM_SCALARS] = {
        (int64_t)(geometry->apart ? part : part * blocks),
        (int64_t)(geometry->apart ? part : geometry->threads),
        (int64_t)stride,
        repeats,
        (int64_t)(geometry->apart ? part : 0),
        geometry->apart ? 0 : 37,
    };
    memcpy(stream->scalars, scalars, sizeof scalars);
    snprintf(how, sizeof how, "kernel, %u x 16 bytes a thread, %u blocks of %u", geometry->unroll,
             blocks, geometry->threads);
    end_way(streams, stream, blocks, geometry->threads, STREAM_SCALARS,
            (double)part * blocks * STREAM_WORD * (double)repeats, how);
    return true;
}

static bool add_source_ways(struct streams *streams, struct status *status) {
    const struct device_capabilities *capabilities = streams->bench->capabilities;
    const struct geometry *rows = capabilities->is_gpu ? gpu_geometries : cpu_geometries;
    unsigned count = capabilities->is_gpu ? sizeof gpu_geometries / sizeof gpu_geometries[0]
                                          : sizeof cpu_geometries / sizeof cpu_geometries[0];
    if (streams->bench->quick && count > 2)
        count = 2;
    for (unsigned i = 0; i < count; i++)
        if (rows[i].threads <= capabilities->block_max && !add_source(streams, &rows[i], status))
            return false;
    return true;
}

/* ---- Roofs ------------------------------------------------------------------------------ */

static bool measure_streams(struct streams *streams, struct roof *roof, struct status *status) {
    const struct area *area = streams->area;
    bool native = streams->bench->capabilities->language == LANGUAGE_NATIVE;
    if (native ? !add_native_ways(streams, status) : !add_source_ways(streams, status))
        return false;
    if (streams->kind == STREAM_COPY && !area->cached)
        end_way(streams, begin_way(streams), 1, 1, 0, (double)area->piece,
                native ? "the runtime's copy" : "the driver's copy");
    return roof_best(streams->bench, streams->ways, streams->count, roof, status);
}

static bool measure_kind(const struct roof_bench *bench, const struct area *area,
                         enum stream_kind kind, struct roof *roof, struct status *status) {
    struct streams streams = {.bench = bench, .area = area, .kind = kind};
    streams.loaded = memory_allocate(ROOF_WAYS_MAX, sizeof *streams.loaded, status);
    if (!streams.loaded)
        return false;
    bool measured = measure_streams(&streams, roof, status);
    for (unsigned i = 0; i < ROOF_WAYS_MAX; i++)
        if (streams.loaded[i].kernel)
            bench->device->ops->unload(bench->device, streams.loaded[i].kernel);
    memory_free(streams.loaded);
    return measured;
}

static bool measure_area(const struct roof_bench *bench, const struct area *area,
                         struct status *status) {
    enum roof_id first = area->cached ? ROOF_CACHE_READ : ROOF_MEMORY_READ;
    for (unsigned kind = 0; kind < STREAM_KINDS; kind++)
        if (!measure_kind(bench, area, (enum stream_kind)kind, &bench->roofs->of[first + kind],
                          status))
            return false;
    return true;
}
_Static_assert(ROOF_MEMORY_WRITE == ROOF_MEMORY_READ + STREAM_WRITE &&
                   ROOF_MEMORY_COPY == ROOF_MEMORY_READ + STREAM_COPY &&
                   ROOF_CACHE_WRITE == ROOF_CACHE_READ + STREAM_WRITE &&
                   ROOF_CACHE_COPY == ROOF_CACHE_READ + STREAM_COPY,
               "roofs of memory are in the order of the streams");

/* ---- Areas ------------------------------------------------------------------------------ */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}
static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* A CPU's pieces are long enough that waking its threads does not matter, a GPU's are the size that
 * copies of tensors are measured with. */
static void size_memory(const struct roof_bench *bench, struct area *area) {
    const struct device_capabilities *capabilities = bench->capabilities;
    uint64_t each = most(2 * capabilities->cache_bytes, 256 * MEGABYTE), bound = UINT64_MAX;
    if (capabilities->memory_bytes > 0)
        bound = most(capabilities->memory_bytes / 8, 2 * STREAM_UNIT);
    if (capabilities->is_gpu)
        each = most(each, 1024 * MEGABYTE);
    each = least(each, bound) / CHUNK * CHUNK;
    uint64_t piece = most(32, 4 * capabilities->compute_units) * MEGABYTE;
    if (capabilities->is_gpu || piece > each)
        piece = each;
    area->bytes = (size_t)each;
    area->piece = (size_t)most(piece / CHUNK * CHUNK, least(CHUNK, each));
    area->too_small = each < 2 * capabilities->cache_bytes;
}

static void size_cache(const struct roof_bench *bench, struct area *area) {
    const struct device_capabilities *capabilities = bench->capabilities;
    uint64_t bytes = capabilities->language == LANGUAGE_NATIVE
                         ? (uint64_t)OWN_BYTES_MORE * capabilities->compute_units
                     : capabilities->is_gpu
                         ? least(most(capabilities->cache_bytes / 8, 4 * MEGABYTE), area->bytes)
                         : (uint64_t)OWN_BYTES * 16 * capabilities->compute_units;
    area->cached = true;
    area->too_small = false;
    area->bytes = area->piece = (size_t)least(bytes, area->bytes);
}

/* Half as much, and half of that, when the device has not so much to give. */
static bool allocate_area(const struct roof_bench *bench, struct area *area,
                          struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    for (;;) {
        if (ops->allocate(bench->device, area->bytes, &area->to.memory, status)) {
            if (ops->allocate(bench->device, area->bytes, &area->from.memory, status))
                return true;
            ops->release(bench->device, area->to.memory);
        }
        if (status->code != STATUS_MEMORY || area->bytes < 2 * CHUNK)
            return false;
        area->bytes = area->bytes / 2 / CHUNK * CHUNK;
        area->piece = (size_t)least(area->piece, area->bytes);
        area->too_small = area->bytes < 2 * bench->capabilities->cache_bytes;
    }
}

/* Random numbers in the first piece, and copies of it everywhere else: making them all would take
 * longer than measuring does. */
static bool fill_area(const struct roof_bench *bench, const struct area *area,
                      struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    struct device_memory first = area->from.memory;
    first.bytes = area->piece;
    if (!roof_fill(bench, first, RIDGE_F32, false, status))
        return false;
    for (size_t at = 0; at < area->bytes; at += area->piece) {
        size_t length = area->bytes - at < area->piece ? area->bytes - at : area->piece;
        if ((at > 0 && !ops->copy_within(bench->device, 0, area->from.memory, at, first, 0, length,
                                         NULL, status)) ||
            !ops->copy_within(bench->device, 0, area->to.memory, at, first, 0, length, NULL,
                              status))
            return false;
    }
    return ops->finish(bench->device, status);
}

bool roof_measure_memory(const struct roof_bench *bench, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    unsigned turn = 0;
    struct area area = {.turn = &turn};
    size_memory(bench, &area);
    if (!allocate_area(bench, &area, status))
        return status_context(status, "measuring memory");
    struct area cache = area;
    size_cache(bench, &cache);
    bool measured = fill_area(bench, &area, status) && measure_area(bench, &area, status) &&
                    measure_area(bench, &cache, status);
    ops->release(bench->device, area.to.memory);
    ops->release(bench->device, area.from.memory);
    return measured || status_context(status, "measuring memory");
}
