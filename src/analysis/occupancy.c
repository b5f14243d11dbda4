/* The table is the vendor's: "Technical Specifications per Compute Capability" of the CUDA
 * programming guide, and the allocation units of its occupancy calculator. Shared memory is the
 * largest carve-out, the driver's default unless a program prefers the cache. */
#include "analysis/occupancy.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"

const char *occupancy_limit_name(unsigned limit) {
    static const char *const names[OCCUPANCY_LIMITS] = {"warps", "blocks", "registers", "shared"};
    return limit < OCCUPANCY_LIMITS ? names[limit] : "?";
}

enum { KIB = 1024, REGISTERS = 64 * KIB, REGISTER_UNIT = 256, WARP = 32 };

static const struct capability {
    uint32_t major, minor;
    struct multiprocessor has;
} capabilities[] = {
    {3, 0, {WARP, 64, 16, REGISTERS, REGISTER_UNIT, 4, 48 * KIB, 256, 0}},
    {3, 5, {WARP, 64, 16, REGISTERS, REGISTER_UNIT, 4, 48 * KIB, 256, 0}},
    {3, 7, {WARP, 64, 16, 2 * REGISTERS, REGISTER_UNIT, 4, 112 * KIB, 256, 0}},
    {5, 0, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 64 * KIB, 256, 0}},
    {5, 2, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 96 * KIB, 256, 0}},
    {5, 3, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 64 * KIB, 256, 0}},
    {6, 0, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 2, 64 * KIB, 256, 0}},
    {6, 1, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 96 * KIB, 256, 0}},
    {6, 2, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 64 * KIB, 256, 0}},
    {7, 0, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 96 * KIB, 256, 0}},
    {7, 2, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 96 * KIB, 256, 0}},
    {7, 5, {WARP, 32, 16, REGISTERS, REGISTER_UNIT, 4, 64 * KIB, 256, 0}},
    {8, 0, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 164 * KIB, 128, KIB}},
    {8, 6, {WARP, 48, 16, REGISTERS, REGISTER_UNIT, 4, 100 * KIB, 128, KIB}},
    {8, 7, {WARP, 48, 16, REGISTERS, REGISTER_UNIT, 4, 164 * KIB, 128, KIB}},
    {8, 9, {WARP, 48, 24, REGISTERS, REGISTER_UNIT, 4, 100 * KIB, 128, KIB}},
    {9, 0, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 228 * KIB, 128, KIB}},
    {10, 0, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 228 * KIB, 128, KIB}},
    {10, 1, {WARP, 48, 24, REGISTERS, REGISTER_UNIT, 4, 228 * KIB, 128, KIB}},
    {10, 3, {WARP, 64, 32, REGISTERS, REGISTER_UNIT, 4, 228 * KIB, 128, KIB}},
    {11, 0, {WARP, 48, 24, REGISTERS, REGISTER_UNIT, 4, 228 * KIB, 128, KIB}},
    {12, 0, {WARP, 48, 24, REGISTERS, REGISTER_UNIT, 4, 100 * KIB, 128, KIB}},
    {12, 1, {WARP, 48, 24, REGISTERS, REGISTER_UNIT, 4, 100 * KIB, 128, KIB}},
};

static const struct capability *find_capability(uint32_t major, uint32_t minor) {
    const struct capability *best = NULL; /* the newest entry of the same major that is not newer */
    for (size_t i = 0; i < ARRAY_COUNT(capabilities); i++)
        if (capabilities[i].major == major && capabilities[i].minor <= minor)
            best = &capabilities[i];
    return best;
}

static void prefer(uint32_t *value, uint32_t recorded) {
    if (recorded)
        *value = recorded;
}

bool multiprocessor_of(const struct trace *trace, uint32_t device, struct multiprocessor *has) {
    const struct columns_device *devices = &trace->device;
    const struct capability *known =
        find_capability(devices->compute_major[device], devices->compute_minor[device]);
    if (!known)
        return false;
    *has = known->has;
    prefer(&has->warp_size, devices->warp_size[device]);
    prefer(&has->warps, devices->threads_per_multiprocessor[device] / has->warp_size);
    prefer(&has->registers, devices->registers_per_multiprocessor[device]);
    prefer(&has->shared, devices->shared_per_multiprocessor[device]);
    prefer(&has->blocks, devices->blocks_per_multiprocessor[device]);
    prefer(&has->shared_reserved, devices->shared_reserved_per_block[device]);
    return true;
}

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Registers are allocated per warp, separately in each partition. */
static uint64_t blocks_by_registers(const struct multiprocessor *has, uint32_t registers,
                                    uint64_t warps) {
    uint64_t of_warp = round_up((uint64_t)registers * has->warp_size, has->register_unit);
    return has->registers / has->parts / of_warp * has->parts / warps;
}

uint32_t occupancy_warps(const struct multiprocessor *has, const struct block_needs *needs,
                         enum occupancy_limit *limit) {
    *limit = LIMIT_WARPS;
    if (needs->threads == 0 || needs->threads > (uint64_t)has->warps * has->warp_size)
        return 0;
    uint64_t warps = (needs->threads + has->warp_size - 1) / has->warp_size;
    uint64_t blocks[OCCUPANCY_LIMITS] = {
        [LIMIT_WARPS] = has->warps / warps,
        [LIMIT_BLOCKS] = has->blocks,
        [LIMIT_REGISTERS] = UINT64_MAX,
        [LIMIT_SHARED] = UINT64_MAX,
    };
    uint64_t shared = round_up(needs->shared + has->shared_reserved, has->shared_unit);
    if (needs->registers)
        blocks[LIMIT_REGISTERS] = blocks_by_registers(has, needs->registers, warps);
    if (shared)
        blocks[LIMIT_SHARED] = has->shared / shared;
    for (unsigned i = 1; i < OCCUPANCY_LIMITS; i++)
        if (blocks[i] < blocks[*limit])
            *limit = i;
    return (uint32_t)(blocks[*limit] * warps);
}

static struct block_needs needs_of(const struct columns_activity *activity, size_t row) {
    uint64_t plane = (uint64_t)activity->block_x[row] * activity->block_y[row];
    struct block_needs needs = {
        .registers = activity->registers[row],
        .shared = (uint64_t)activity->shared_static[row] + activity->shared_dynamic[row],
    };
    if (__builtin_mul_overflow(plane, activity->block_z[row], &needs.threads))
        needs.threads = UINT64_MAX;
    return needs;
}

static void fill_device(const struct model *model, uint32_t device,
                        const struct multiprocessor *has, struct occupancy *occupancy) {
    const struct columns_activity *activity = &model->trace->activity;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        /* without recorded registers the occupancy would be overestimated */
        if (activity->kind[i] != ACTIVITY_KERNEL || activity->registers[i] == 0)
            continue;
        enum occupancy_limit limit;
        struct block_needs needs = needs_of(activity, i);
        occupancy->share[i] = (float)occupancy_warps(has, &needs, &limit) / (float)has->warps;
        occupancy->limit[i] = (uint8_t)limit;
    }
}

static const char columns[] = "block_x block_y block_z registers shared_static shared_dynamic";

static bool begin(const struct model *model, struct occupancy *occupancy, struct status *status) {
    size_t count = model->trace->activity.count;
    if (occupancy->share)
        return true;
    occupancy->share = memory_allocate(count, sizeof *occupancy->share, status);
    occupancy->limit = memory_allocate(count, sizeof *occupancy->limit, status);
    return occupancy->share && occupancy->limit &&
           trace_load(model->trace, TABLE_ACTIVITY, columns, status);
}

static void unload_columns(struct trace *trace) {
    static const char *const names[] = {"block_x",   "block_y",       "block_z",
                                        "registers", "shared_static", "shared_dynamic"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        trace_unload(trace, TABLE_ACTIVITY, names[i]);
}

bool occupancy_find(const struct model *model, struct occupancy *occupancy, struct status *status) {
    struct multiprocessor has;
    bool ok = true;
    memset(occupancy, 0, sizeof *occupancy);
    for (uint32_t device = 1; device < model->trace->device.count && ok; device++) {
        if (model->device_first[device] == model->device_first[device + 1] ||
            !multiprocessor_of(model->trace, device, &has))
            continue;
        ok = begin(model, occupancy, status);
        if (ok)
            fill_device(model, device, &has, occupancy);
    }
    if (occupancy->share)
        unload_columns(model->trace);
    if (!ok)
        occupancy_finish(occupancy);
    return ok;
}

void occupancy_finish(struct occupancy *occupancy) {
    memory_free(occupancy->share);
    memory_free(occupancy->limit);
    memset(occupancy, 0, sizeof *occupancy);
}
