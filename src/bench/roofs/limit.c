/* Which roof bounds a piece of work: the time that each kind of limit alone requires, and the
 * largest of them.
 *
 * A limit must not be below what correct work can reach, so if two roofs could apply the higher
 * one counts: reading may be faster than copying, and data that may be in a cache is assumed to
 * be.
 */
#include "bench/roofs/roofs.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_GAIN 1.1 /* over memory, from which on a cache is felt */

const struct roof_info roof_infos[ROOF_COUNT] = {
#define ROOF_ROW(ID, key, kind, words) [ROOF_##ID] = {#key, words, ROOF_##kind},
    ROOFS(ROOF_ROW)
#undef ROOF_ROW
};

const char *limit_kind_name(enum limit_kind kind) {
    static const char *const names[LIMIT_KINDS] = {"none",       "memory", "cache",
                                                   "arithmetic", "launch", "transfer"};
    return (unsigned)kind < LIMIT_KINDS ? names[kind] : names[LIMIT_NONE];
}

static double value_of(const struct roofs *roofs, enum roof_id id) {
    double value = (unsigned)id < ROOF_COUNT ? roofs->of[id].value : 0;
    return value > 0 ? value : 0; /* also of what is not a number */
}

/* The highest of some roofs; the first one when none is known. */
static enum roof_id highest(const struct roofs *roofs, const enum roof_id *ids, unsigned count) {
    enum roof_id best = ids[0];
    for (unsigned i = 1; i < count; i++)
        if (value_of(roofs, ids[i]) > value_of(roofs, best))
            best = ids[i];
    return best;
}

/* Nanoseconds for an amount at a rate; 0 if the rate is unknown. */
static double time_at(double amount, double rate) {
    return rate > 0 ? amount / rate * 1e9 : 0;
}

/* The highest bandwidth that applies, and its source. */
struct bandwidth {
    double rate;
    enum roof_id roof;
    bool cached;
};

/* The last working set that is not larger; the first when all are. */
static unsigned working_set_below(const struct roofs *roofs, unsigned count, uint64_t touched) {
    unsigned below = 0;
    for (unsigned i = 1; i < count; i++)
        if (roofs->working_sets[i].bytes <= touched)
            below = i;
    return below;
}

/* Between two working sets the faster one counts, and so does any larger one that was faster still:
 * what is smaller could be as fast. What is hardly faster than memory is in memory. */
static struct bandwidth bandwidth_for(const struct roofs *roofs, const struct amount *amount) {
    static const enum roof_id memory[] = {ROOF_MEMORY_COPY, ROOF_MEMORY_READ};
    static const enum roof_id cache[] = {ROOF_CACHE_COPY, ROOF_CACHE_READ};
    uint64_t touched = amount->touched > 0 ? amount->touched : amount->bytes;
    unsigned count =
        roofs->working_set_count < WORKING_SETS_MAX ? roofs->working_set_count : WORKING_SETS_MAX;
    enum roof_id outer = highest(roofs, memory, 2), inner = highest(roofs, cache, 2);
    struct bandwidth bandwidth = {value_of(roofs, outer), outer, false};
    for (unsigned i = working_set_below(roofs, count, touched); i < count; i++)
        if (roofs->working_sets[i].roof.value > bandwidth.rate)
            bandwidth.rate = roofs->working_sets[i].roof.value;
    if ((count == 0 ? touched / 2 <= roofs->cache_bytes
                    : touched <= roofs->working_sets[0].bytes) &&
        value_of(roofs, inner) > bandwidth.rate)
        bandwidth.rate = value_of(roofs, inner);
    if (bandwidth.rate > value_of(roofs, outer) * CACHE_GAIN) {
        bandwidth.roof = inner;
        bandwidth.cached = true;
    }
    return bandwidth;
}

/* Types without their own arithmetic are computed in f32. */
static enum roof_id arithmetic_for(const struct roofs *roofs, const struct amount *amount) {
    return value_of(roofs, amount->arithmetic) > 0 &&
                   roof_infos[amount->arithmetic].kind == ROOF_RATE
               ? amount->arithmetic
               : ROOF_F32;
}

static double launches_time(const struct roofs *roofs, const struct amount *amount) {
    double one = value_of(roofs, ROOF_LAUNCH), replay = value_of(roofs, ROOF_GRAPH_REPLAY);
    unsigned further =
        amount->graph_kernels > amount->replays ? amount->graph_kernels - amount->replays : 0;
    return amount->kernels * one + amount->replays * replay +
           further * value_of(roofs, ROOF_GRAPH_KERNEL);
}

static enum roof_id launch_roof(const struct amount *amount) {
    return amount->replays > 0 && amount->kernels <= amount->graph_kernels ? ROOF_GRAPH_REPLAY
                                                                           : ROOF_LAUNCH;
}

/* Nanoseconds of one transfer: between the sizes that were measured in a straight line, beyond them
 * at the rate of the nearest. */
static double transfer_time(const struct roofs *roofs, const struct amount *amount, double bytes) {
    const struct transfer_roof *below = NULL, *above = NULL;
    for (unsigned i = 0; i < roofs->transfer_count && i < TRANSFERS_MAX; i++) {
        const struct transfer_roof *row = &roofs->transfers[i];
        if (row->to_device != amount->transfer_to_device ||
            row->pinned != amount->transfer_pinned || !(row->roof.value > 0))
            continue;
        if ((double)row->bytes <= bytes && (!below || row->bytes > below->bytes))
            below = row;
        if ((double)row->bytes >= bytes && (!above || row->bytes < above->bytes))
            above = row;
    }
    if (!below)
        return above ? time_at(bytes, above->roof.value) : 0;
    if (!above || above == below)
        return time_at(bytes, below->roof.value);
    double low = time_at((double)below->bytes, below->roof.value);
    double high = time_at((double)above->bytes, above->roof.value);
    double part = (bytes - (double)below->bytes) / (double)(above->bytes - below->bytes);
    return low + part * (high - low);
}

static double transfers_time(const struct roofs *roofs, const struct amount *amount) {
    if (amount->transfer_bytes == 0)
        return 0;
    unsigned count = amount->transfer_count > 0 ? amount->transfer_count : 1;
    return count * transfer_time(roofs, amount, (double)amount->transfer_bytes / count);
}

static void bind(struct limit *limit, enum limit_kind kind, enum roof_id roof, double ns) {
    if (ns > limit->ns) {
        limit->kind = kind;
        limit->roof = roof;
        limit->ns = ns;
    }
}

struct limit roofs_limit(const struct roofs *roofs, const struct amount *amount) {
    struct limit limit = {.kind = LIMIT_NONE};
    struct bandwidth bandwidth = bandwidth_for(roofs, amount);
    enum roof_id unit = arithmetic_for(roofs, amount);
    double flops = time_at((double)amount->flops, value_of(roofs, unit));
    double trigonometry = time_at((double)amount->trigonometry, value_of(roofs, ROOF_TRIGONOMETRY));
    double exponentials = time_at((double)amount->exponentials, value_of(roofs, ROOF_EXPONENTIALS));
    double functions = trigonometry + exponentials;
    enum roof_id function = trigonometry > exponentials ? ROOF_TRIGONOMETRY : ROOF_EXPONENTIALS;
    limit.memory_ns = time_at((double)amount->bytes, bandwidth.rate);
    limit.arithmetic_ns = functions > flops ? functions : flops;
    limit.launch_ns = launches_time(roofs, amount);
    limit.transfer_ns = transfers_time(roofs, amount);
    bind(&limit, bandwidth.cached ? LIMIT_CACHE : LIMIT_MEMORY, bandwidth.roof, limit.memory_ns);
    bind(&limit, LIMIT_ARITHMETIC, functions > flops ? function : unit, limit.arithmetic_ns);
    bind(&limit, LIMIT_LAUNCH, launch_roof(amount), limit.launch_ns);
    bind(&limit, LIMIT_TRANSFER, ROOF_COUNT, limit.transfer_ns);
    return limit;
}

/* Quantized weights may be multiplied as bytes or, unpacked, as halves or floats: the fastest
 * counts. */
enum roof_id roofs_product_unit(const struct roofs *roofs, enum ridge_dtype dtype) {
    static const enum roof_id f32[] = {ROOF_F32, ROOF_MATRIX_F32};
    static const enum roof_id f16[] = {ROOF_F32, ROOF_F16, ROOF_MATRIX_F16};
    static const enum roof_id bf16[] = {ROOF_F32, ROOF_BF16, ROOF_MATRIX_BF16};
    static const enum roof_id quantized[] = {ROOF_F32,        ROOF_F16,         ROOF_INT8,
                                             ROOF_MATRIX_F16, ROOF_MATRIX_BF16, ROOF_MATRIX_INT8};
    const char *tf32 = getenv("RIDGE_TF32");
    switch (dtype) {
    case RIDGE_F32:
        return highest(roofs, f32, tf32 && strcmp(tf32, "1") == 0 ? 2 : 1);
    case RIDGE_F16:
        return highest(roofs, f16, 3);
    case RIDGE_BF16:
        return highest(roofs, bf16, 3);
    default:
        return highest(roofs, quantized, 6);
    }
}
