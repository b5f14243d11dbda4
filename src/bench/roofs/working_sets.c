/* Bandwidth of repeated access to the same bytes. It depends on which cache holds them all, so
 * it is measured for sizes from the innermost cache to memory, in logarithmic steps up to twice
 * the last cache. */
#include "bench/roofs/working_sets.h"

#include <math.h>
#include <string.h>

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

bool working_sets_measure(const struct roof_bench *bench, const struct stream_area *memory,
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
