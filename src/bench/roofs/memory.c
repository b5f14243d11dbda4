/* How many bytes a second can be read, written and copied, in memory and in cache?
 *
 * Memory is measured in buffers larger than the last cache, piece by piece, so that each piece
 * was last used long ago; a batch may be shorter than a whole round. The cache is the innermost
 * one that work can find filled: of each core of a CPU, of all units of a GPU together. Sizes
 * in between are measured by working_sets.c in the same buffers. A copy counts what it reads
 * and what it writes.
 */
#include <math.h>
#include <string.h>

#include "base/min_max.h"
#include "bench/roofs/stream_kernels.h"

/* Bandwidth of repeated access to the same bytes. It depends on which cache holds them all, so
 * it is measured for sizes from the innermost cache to memory, in logarithmic steps up to twice
 * the last cache. */

enum { STEPS_CPU = 7, STEPS_GPU = 6, STEPS_CPU_QUICK = 4, STEPS_GPU_QUICK = 3 };

/* The row of that size, inserted in order if there is none; NULL: no space. */
static struct working_set *row_of(struct roofs *roofs, uint64_t bytes) {
    unsigned at = 0;
    while (at < roofs->working_set_count && roofs->working_sets[at].bytes < bytes)
        at++;
    struct working_set *row = &roofs->working_sets[at];
    if (at < roofs->working_set_count && row->bytes == bytes)
        return row;
    if (roofs->working_set_count == WORKING_SETS_MAX)
        return NULL;
    memmove(row + 1, row, (roofs->working_set_count++ - at) * sizeof *row);
    *row = (struct working_set){.bytes = bytes};
    return row;
}

static void keep_better(struct roofs *roofs, uint64_t bytes, enum roof_id a, enum roof_id b) {
    const struct roof *better =
        roofs->of[a].value > roofs->of[b].value ? &roofs->of[a] : &roofs->of[b];
    struct working_set *row = row_of(roofs, bytes);
    if (row && better->value > row->roof.value)
        row->roof = *better;
}

/* The part of the buffers with this many bytes read, or read and written. Parts too large for a
 * thread's private cache are accessed piece by piece, as memory is. */
static struct stream_area area_of(const struct roof_bench *bench, const struct stream_area *memory,
                                  uint64_t bytes, enum stream_kind kind) {
    struct stream_area area = *memory;
    uint64_t own = (uint64_t)STREAM_OWN_MOST * bench->capabilities->compute_units;
    area.bytes = (size_t)(kind == STREAM_COPY ? bytes / 2 : bytes);
    area.caution = "";
    if (bench->capabilities->is_gpu || area.bytes <= own) {
        area.reuse = REUSE_ALL;
        area.piece = area.bytes;
    } else if (area.piece > area.bytes) {
        area.piece = area.bytes;
    }
    return area;
}

static bool measure_size(const struct roof_bench *bench, const struct stream_area *memory,
                         uint64_t bytes, struct status *status) {
    struct working_set *row = row_of(bench->roofs, bytes);
    struct stream_area read = area_of(bench, memory, bytes, STREAM_READ),
                       copy = area_of(bench, memory, bytes, STREAM_COPY);
    struct stream_methods methods;
    if (!row)
        return true;
    bool measured = stream_methods_init(bench, &methods, status) &&
                    stream_methods_add(&methods, &read, STREAM_READ, status) &&
                    stream_methods_add(&methods, &copy, STREAM_COPY, status) &&
                    (methods.count == 0 ||
                     roof_best(bench, methods.methods, methods.count, &row->roof, status));
    stream_methods_finish(&methods);
    return measured;
}

/* Measures the sizes between `innermost` bytes, whose figures are the roofs of cache, and twice the
 * area, whose figures are those of memory: both must have been measured. */
static bool working_sets_measure(const struct roof_bench *bench, const struct stream_area *memory,
                                 uint64_t innermost, struct status *status) {
    const struct device_capabilities *capabilities = bench->capabilities;
    unsigned steps = capabilities->is_gpu ? (bench->quick ? STEPS_GPU_QUICK : STEPS_GPU)
                                          : (bench->quick ? STEPS_CPU_QUICK : STEPS_CPU);
    uint64_t unit =
        2 * (uint64_t)STREAM_UNIT *
        (capabilities->is_gpu || capabilities->compute_units == 0 ? 1
                                                                  : capabilities->compute_units);
    uint64_t last = 2 * capabilities->cache_bytes;
    if (last == 0 || last > memory->bytes)
        last = memory->bytes;
    keep_better(bench->roofs, innermost, ROOF_CACHE_READ, ROOF_CACHE_COPY);
    keep_better(bench->roofs, 2 * (uint64_t)memory->bytes, ROOF_MEMORY_READ, ROOF_MEMORY_COPY);
    for (unsigned i = 1; i <= steps; i++) {
        double step = pow((double)last / (double)innermost, (double)i / steps);
        uint64_t bytes = (uint64_t)((double)innermost * step) / unit * unit;
        if (bytes > innermost && bytes <= memory->bytes &&
            !measure_size(bench, memory, bytes, status))
            return false;
    }
    return true;
}

/* Of a thread: with as much again for a copy, the first cache holds it. */
enum { OWN_BYTES = 8 << 10, OWN_BLOCKS = 16 };
#define MEGABYTE ((uint64_t)1 << 20)

/* ---- Roofs ------------------------------------------------------------------------------ */

static bool measure_kind(const struct roof_bench *bench, const struct stream_area *area,
                         enum stream_kind kind, struct roof *roof, struct status *status) {
    struct stream_methods methods;
    bool measured = stream_methods_init(bench, &methods, status) &&
                    stream_methods_add(&methods, area, kind, status) &&
                    roof_best(bench, methods.methods, methods.count, roof, status);
    stream_methods_finish(&methods);
    return measured;
}

static bool measure_area(const struct roof_bench *bench, const struct stream_area *area,
                         struct status *status) {
    enum roof_id first = area->reuse == REUSE_NONE ? ROOF_MEMORY_READ : ROOF_CACHE_READ;
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

/* A CPU's pieces are long enough that waking its threads does not matter, a GPU's are the size that
 * copies of tensors are measured with. */
static void size_memory(const struct roof_bench *bench, struct stream_area *area) {
    const struct device_capabilities *capabilities = bench->capabilities;
    uint64_t each = MAX(2 * capabilities->cache_bytes, 256 * MEGABYTE), bound = UINT64_MAX;
    if (capabilities->memory_bytes > 0)
        bound = MAX(capabilities->memory_bytes / 8, 2 * STREAM_UNIT);
    if (capabilities->is_gpu)
        each = MAX(each, 1024 * MEGABYTE);
    each = MIN(each, bound) / STREAM_CHUNK * STREAM_CHUNK;
    uint64_t piece = MAX(32, 4 * capabilities->compute_units) * MEGABYTE;
    if (capabilities->is_gpu || piece > each)
        piece = each;
    area->bytes = (size_t)each;
    area->piece = (size_t)MAX(piece / STREAM_CHUNK * STREAM_CHUNK, MIN(STREAM_CHUNK, each));
}

/* The part of the area that stays in the cache. Blocks of OpenCL on a CPU have a part of their own,
 * one after another. */
static struct stream_area innermost_area(const struct roof_bench *bench,
                                         const struct stream_area *memory) {
    const struct device_capabilities *capabilities = bench->capabilities;
    uint64_t own = (uint64_t)OWN_BYTES * capabilities->compute_units,
             bytes = capabilities->is_gpu ? MAX(capabilities->cache_bytes / 8, 4 * MEGABYTE)
                     : capabilities->language == LANGUAGE_NATIVE ? own
                                                                 : OWN_BLOCKS * own;
    struct stream_area area = *memory;
    area.reuse = REUSE_INNERMOST;
    area.caution = "";
    area.bytes = area.piece = (size_t)MIN(bytes, memory->bytes);
    return area;
}

/* Halves the size while the device has too little memory. */
static bool allocate_area(const struct roof_bench *bench, struct stream_area *area,
                          struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    for (;;) {
        if (ops->allocate(bench->device, area->bytes, &area->to.memory, status)) {
            if (ops->allocate(bench->device, area->bytes, &area->from.memory, status))
                return true;
            ops->release(bench->device, area->to.memory);
        }
        if (status->code != STATUS_MEMORY || area->bytes < 2 * STREAM_CHUNK)
            return false;
        area->bytes = area->bytes / 2 / STREAM_CHUNK * STREAM_CHUNK;
        area->piece = (size_t)MIN(area->piece, area->bytes);
    }
}

/* Random numbers in the first piece, and copies of it elsewhere: generating all would take
 * longer than measuring. */
static bool fill_area(const struct roof_bench *bench, const struct stream_area *area,
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
    struct stream_area area = {.turn = &turn};
    size_memory(bench, &area);
    if (!allocate_area(bench, &area, status))
        return status_context(status, "measuring memory");
    area.caution =
        area.bytes < 2 * bench->capabilities->cache_bytes ? "; the buffers may fit a cache" : "";
    struct stream_area cache = innermost_area(bench, &area);
    uint64_t innermost = bench->capabilities->is_gpu
                             ? cache.bytes
                             : (uint64_t)OWN_BYTES * bench->capabilities->compute_units;
    bool measured = fill_area(bench, &area, status) && measure_area(bench, &area, status) &&
                    measure_area(bench, &cache, status) &&
                    working_sets_measure(bench, &area, 2 * innermost, status);
    ops->release(bench->device, area.to.memory);
    ops->release(bench->device, area.from.memory);
    return measured || status_context(status, "measuring memory");
}
