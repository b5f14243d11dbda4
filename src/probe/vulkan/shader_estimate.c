/* The work of one dispatch from what is known about its shader; shader_work.h has the assumptions.
 */
#include "probe/vulkan/shader_module.h"

#include <stdatomic.h>

#include "base/checksum.h"
#include "base/min_max.h"
#include "spool/lock.h"

enum { SCALES_SHARE = 8 }; /* a third operand of a product is that much smaller: its scales */
#define WORK_MAX 1e18

struct dispatch {
    const struct shader_work *work;
    const struct shader_arguments *arguments;
    double threads;
    double trips[SHADER_LOOPS];  /* of one execution; -1: unknown */
    double counts[SHADER_LOOPS]; /* iterations in all */
    int streamed[SHADER_LOOPS];  /* the binding that the loop is taken to read once; -1: none */
    bool streams;                /* some do */
    bool knows_flops;
};

static double range_of(const struct dispatch *dispatch, unsigned binding) {
    const struct shader_binding *at = &dispatch->work->bindings[binding];
    return (double)dispatch->arguments->ranges[at->set][at->number];
}

/* Without libm, which the program need not have loaded. */
static double square_root(double x) {
    enum { ITERATIONS = 64 };
    double root = x > 1 ? x / 2 : 1;
    for (unsigned i = 0; x > 0 && i < ITERATIONS; i++)
        root = (root + x / root) / 2;
    return x > 0 ? root : 0;
}

/* How often a value can be shifted until it is 0. */
static double halvings(int64_t value, int64_t shift) {
    double count = 0;
    for (; value > 0 && shift > 0 && shift < 32; value >>= shift)
        count++;
    return count;
}

/* The share of a workgroup's invocations that are on this side of a condition. */
static double share_of(const struct dispatch *dispatch, const struct shader_loop *loop) {
    enum { SAMPLES = 32 };
    uint32_t count = (uint32_t)MIN(dispatch->threads, (double)SAMPLES), inside = 0;
    int64_t value;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t invocation = (uint32_t)(dispatch->threads * i / count);
        if (!evaluate_expression(dispatch->work, &loop->limit, dispatch->arguments, invocation,
                                 &value))
            return 1;
        inside += (value != 0) != loop->otherwise;
    }
    return (double)inside / count;
}

/* -1: unknown. */
static double trips_of(const struct dispatch *dispatch, const struct shader_loop *loop) {
    const struct shader_arguments *given = dispatch->arguments;
    int64_t first, limit, step;
    if (loop->condition)
        return share_of(dispatch, loop);
    if (!evaluate_expression(dispatch->work, &loop->first, given, 0, &first) ||
        !evaluate_expression(dispatch->work, &loop->limit, given, 0, &limit) ||
        !evaluate_expression(dispatch->work, &loop->step, given, 0, &step))
        return -1;
    if (loop->step_kind == STEP_SHIFT)
        return limit == 0 ? halvings(first, step) : -1;
    if (loop->step_kind == STEP_SUBTRACT)
        step = -step;
    int64_t distance = limit - first;
    if (loop->comparison == LOOP_LESS_EQUAL || loop->comparison == LOOP_MORE_EQUAL)
        distance += loop->comparison == LOOP_LESS_EQUAL ? 1 : -1;
    bool ends = loop->comparison == LOOP_NOT_EQUAL || (step > 0) == (loop->comparison < LOOP_MORE);
    if (!ends || step == 0)
        return -1;
    if (step < 0) {
        step = -step;
        distance = -distance;
    }
    return distance <= 0 ? 0 : (double)((distance + step - 1) / step);
}

/* Iterations of a loop of unknown length: as many as read its longest buffer once. */
static double stream(struct dispatch *dispatch, unsigned loop) {
    const struct shader_work *work = dispatch->work;
    double inner[SHADER_LOOPS] = {0}, loaded[SHADER_BINDINGS] = {0}, most = 0, iterations;
    if (dispatch->counts[work->loops[loop].parent] <= 0)
        return 0;
    inner[loop] = 1;
    for (unsigned i = loop; i < work->loop_count; i++) {
        if (i > loop)
            inner[i] = inner[work->loops[i].parent] * MAX(dispatch->trips[i], 0);
        for (unsigned b = 0; b < work->binding_count; b++)
            loaded[b] += inner[i] * work->loops[i].loaded[b];
    }
    for (unsigned b = 0; b < work->binding_count; b++) {
        iterations = loaded[b] > 0 ? range_of(dispatch, b) / loaded[b] : 0;
        if (iterations <= most || work->bindings[b].uniform)
            continue;
        most = iterations;
        dispatch->streamed[loop] = (int)b;
        dispatch->streams = true;
    }
    if (most <= 0 && work->loops[loop].shares) /* a reduction in shared memory */
        return dispatch->counts[work->loops[loop].parent] *
               halvings((int64_t)dispatch->threads / 2, 1);
    if (most <= 0)
        dispatch->knows_flops = false;
    return most;
}

static void count_loops(struct dispatch *dispatch, double invocations) {
    const struct shader_work *work = dispatch->work;
    dispatch->counts[0] = invocations;
    for (unsigned i = 1; i < work->loop_count; i++)
        dispatch->trips[i] = trips_of(dispatch, &work->loops[i]);
    for (unsigned i = 1; i < work->loop_count; i++) {
        dispatch->streamed[i] = -1;
        dispatch->counts[i] = dispatch->trips[i] >= 0
                                  ? dispatch->counts[work->loops[i].parent] * dispatch->trips[i]
                                  : stream(dispatch, i);
    }
}

static bool is_within(const struct shader_work *work, unsigned loop, unsigned outer) {
    while (loop > outer)
        loop = work->loops[loop].parent;
    return loop == outer;
}

static double flops_within(const struct dispatch *dispatch, unsigned loop) {
    double flops = 0;
    for (unsigned i = loop; i < dispatch->work->loop_count; i++)
        if (is_within(dispatch->work, i, loop))
            flops += dispatch->counts[i] * dispatch->work->loops[i].flops;
    return flops;
}

/* Of the loops that read the same buffer, the one with most operations does: the others are its
 * variants (unrolled, remainder). */
static void drop_variants(struct dispatch *dispatch) {
    const struct shader_work *work = dispatch->work;
    for (unsigned i = 1; i < work->loop_count; i++)
        for (unsigned k = 1; k < work->loop_count && dispatch->streamed[i] >= 0; k++) {
            if (k == i || dispatch->streamed[k] != dispatch->streamed[i] ||
                flops_within(dispatch, k) > flops_within(dispatch, i))
                continue;
            for (unsigned m = k; m < work->loop_count; m++)
                if (is_within(work, m, k))
                    dispatch->counts[m] = 0;
            dispatch->streamed[k] = -1;
        }
}

/* ---- Products ------------------------------------------------------------------------------ */

struct traffic {
    double loaded, stored; /* bytes by the shader's accesses */
    bool in_loop;          /* stored by a loop of unknown length */
};

static struct traffic traffic_of(const struct dispatch *dispatch, unsigned binding) {
    struct traffic traffic = {0};
    for (unsigned i = 0; i < dispatch->work->loop_count; i++) {
        const struct shader_loop *loop = &dispatch->work->loops[i];
        traffic.loaded += dispatch->counts[i] * loop->loaded[binding];
        traffic.stored += dispatch->counts[i] * loop->stored[binding];
        traffic.in_loop |= loop->stored[binding] > 0 && dispatch->trips[i] < 0;
    }
    return traffic;
}

/* Multiplications of M x K by K x N elements into M x N, from the three sizes: the root of their
 * product. 0: the shader does not look like one: it has two operands, apart from scales, and stores
 * its result after the loop. */
static double product_of(const struct dispatch *dispatch) {
    const struct shader_work *work = dispatch->work;
    double operands[2] = {0}, bytes[3] = {0}, result = 0;
    for (unsigned b = 0; b < work->binding_count; b++) {
        struct traffic traffic = traffic_of(dispatch, b);
        double range = range_of(dispatch, b);
        double elements = work->bindings[b].element ? range / work->bindings[b].element : 0;
        if (work->bindings[b].uniform || traffic.loaded + traffic.stored <= 0)
            continue;
        if (traffic.stored > 0 && (traffic.loaded > 0 || traffic.in_loop || result > 0))
            return 0;
        if (traffic.stored > 0) {
            result = elements;
        } else if (range > bytes[0]) {
            bytes[2] = bytes[1], bytes[1] = bytes[0], bytes[0] = range;
            operands[1] = operands[0], operands[0] = elements;
        } else if (range > bytes[1]) {
            bytes[2] = bytes[1], bytes[1] = range;
            operands[1] = elements;
        } else {
            bytes[2] = MAX(bytes[2], range);
        }
    }
    return bytes[2] * SCALES_SHARE > bytes[1] ? 0 : square_root(operands[0] * operands[1] * result);
}

/* ---- Sums ---------------------------------------------------------------------------------- */

static double flops_of(const struct dispatch *dispatch) {
    double product = dispatch->streams ? product_of(dispatch) : 0;
    return product > 0 ? 2 * product : flops_within(dispatch, 0);
}

static double bytes_of(const struct dispatch *dispatch) {
    double bytes = 0;
    for (unsigned b = 0; b < dispatch->work->binding_count; b++) {
        struct traffic traffic = traffic_of(dispatch, b);
        double range = range_of(dispatch, b);
        if (range <= 0)
            return 0;
        bytes += MIN(traffic.loaded, range) + MIN(traffic.stored, range);
    }
    return bytes;
}

struct shader_estimate shader_work_estimate(const struct shader_work *work,
                                            const struct shader_arguments *arguments) {
    const uint32_t *grid = arguments->grid, *block = arguments->block;
    struct dispatch dispatch = {.work = work,
                                .arguments = arguments,
                                .threads = (double)block[0] * block[1] * block[2],
                                .knows_flops = work->knows_flops};
    struct shader_estimate estimate = {0};
    double workgroups = (double)grid[0] * grid[1] * grid[2];
    if (workgroups <= 0 || dispatch.threads <= 0 || dispatch.threads > UINT16_MAX)
        return estimate;
    count_loops(&dispatch, workgroups * dispatch.threads);
    double bytes = work->knows_bytes ? bytes_of(&dispatch) : 0;
    drop_variants(&dispatch);
    double flops = dispatch.knows_flops ? flops_of(&dispatch) : 0;
    estimate.bytes = bytes > 0 && bytes < WORK_MAX ? (uint64_t)bytes : 0;
    estimate.flops = flops > 0 && flops < WORK_MAX ? (uint64_t)flops : 0;
    return estimate;
}

/* ---- Results that are kept ------------------------------------------------------------------ */

enum { KEPT = 1024 };

static struct kept {
    _Atomic uint32_t lock;
    uint64_t key; /* 0: none */
    struct shader_estimate estimate;
} kept[KEPT];

struct shader_estimate shader_work_recall(const struct shader_work *work,
                                          const struct shader_arguments *arguments) {
    uint64_t key =
        (checksum64(arguments, sizeof *arguments) ^ work->serial * 0x9E3779B97F4A7C15u) | 1;
    struct kept *place = &kept[(key >> 32) % KEPT];
    struct shader_estimate estimate = {0};
    if (lock_acquire(&place->lock)) {
        bool known = place->key == key;
        estimate = place->estimate;
        lock_release(&place->lock);
        if (known)
            return estimate;
    }
    estimate = shader_work_estimate(work, arguments);
    if (lock_acquire(&place->lock)) {
        place->key = key;
        place->estimate = estimate;
        lock_release(&place->lock);
    }
    return estimate;
}
