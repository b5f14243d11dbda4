/* The roofs of a device, measured group by group and cached.
 *
 * The cache key is everything known that the figures depend on: the device, its driver, the
 * threads, the versions. Entries do not expire: hardware does not get faster. A change of the
 * key or --refresh measures again.
 */
#include "bench/roofs/roofs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "bench/roofs/roof_cache.h"
#include "bench/roofs/methods.h"
#include "device/cache.h"
#include "machine/health.h"
#include "gen/native/isa.h"
#include "tensor/tensor.h"

enum { FORMAT = 2 }; /* of the cache: increment it when the measurement changes */

/* ---- What the driver states --------------------------------------------------------------- */

static void state(const struct device_capabilities *capabilities, struct roofs *roofs) {
    double bandwidth = (double)capabilities->bandwidth;
    roofs->of[ROOF_MEMORY_READ].stated = bandwidth;
    roofs->of[ROOF_MEMORY_WRITE].stated = bandwidth;
    roofs->of[ROOF_MEMORY_COPY].stated = bandwidth;
    if (capabilities->language == LANGUAGE_CUDA)
        roofs->of[ROOF_F32].stated =
            limits_stated_f32(capabilities->major, capabilities->minor, capabilities->compute_units,
                              (uint64_t)capabilities->clock_khz * 1000);
}

/* ---- Measuring -------------------------------------------------------------------------- */

static const struct group {
    const char *what;
    bool (*measure)(const struct roof_bench *bench, struct status *status);
    bool again, again_quick; /* also in the second pass */
} groups[] = {
    {"memory and cache", roof_measure_memory, true, false},
    {"arithmetic", roof_measure_arithmetic, true, true},
    {"sin, cos, exp, log", roof_measure_functions, true, true},
    {"matrix units", roof_measure_matrix, false, false},
    {"launches", roof_measure_launch, false, false},
    {"transfers", roof_measure_transfers, false, false},
};

/* CPU figures depend on other load, which varies within seconds: the better of two passes some
 * seconds apart is closer to the limit. In quick mode only for short measurements. */
static bool measure_groups(const struct roof_bench *bench, roofs_progress *progress, void *context,
                           struct status *status) {
    unsigned passes = bench->capabilities->is_gpu ? 1 : 2;
    for (unsigned pass = 0; pass < passes; pass++)
        for (size_t i = 0; i < ARRAY_COUNT(groups); i++) {
            if (pass > 0 && !(bench->quick ? groups[i].again_quick : groups[i].again))
                continue;
            if (progress)
                progress(context, groups[i].what);
            if (!groups[i].measure(bench, status))
                return false;
        }
    return true;
}

static void describe_device_roofs(const ridge_device *device, bool quick, struct roofs *roofs) {
    const struct device_capabilities *capabilities = &device->device->capabilities;
    *roofs = (struct roofs){.measured_at = (int64_t)time(NULL),
                            .quick = quick,
                            .cache_bytes = capabilities->cache_bytes};
    snprintf(roofs->device, sizeof roofs->device, "%s", device->name);
    snprintf(roofs->description, sizeof roofs->description, "%s", capabilities->description);
    snprintf(roofs->driver, sizeof roofs->driver, "%s", capabilities->driver);
}

bool roofs_measure(ridge_device *device, bool quick, roofs_progress *progress, void *context,
                   struct roofs *roofs, struct status *status) {
    struct roof_bench bench = {
        .device = device->device,
        .capabilities = &device->device->capabilities,
        .quick = quick,
        .roofs = roofs,
    };
    struct health before, after;
    struct health_watch *watch = health_open(device_nvidia_uuid(device->device));
    describe_device_roofs(device, quick, roofs);
    if (watch)
        health_read(watch, &before);
    bool measured = measure_groups(&bench, progress, context, status);
    if (watch) {
        health_read(watch, &after);
        health_disturbed(&before, &after, roofs->note, sizeof roofs->note);
    }
    health_close(watch);
    state(bench.capabilities, roofs);
    return measured || status_context(status, "the roofs of %s", device->name);
}

/* ---- Keeping ---------------------------------------------------------------------------- */

static void write_key(const ridge_device *device, bool quick, struct buffer *key) {
    const struct device_capabilities *capabilities = &device->device->capabilities;
    buffer_printf(key, "roofs %d%c%s%c%s%c%s%c%s%c%s%c%u%c%s%c%d", FORMAT, 0, RIDGE_VERSION, 0,
                  device->device->ops->name, 0, capabilities->description, 0, capabilities->driver,
                  0, capabilities->uuid, 0, capabilities->compute_units, 0,
                  capabilities->language == LANGUAGE_NATIVE ? simd_best()->name : "", 0, quick);
}

static bool load_one(ridge_device *device, bool quick, struct roofs *roofs) {
    struct buffer key = {0}, kept = {0};
    struct status ignored;
    write_key(device, quick, &key);
    bool found = !key.failed && cache_load(key.data, key.length, &kept) && !kept.failed &&
                 roofs_read_json(buffer_as_text(&kept), roofs, &ignored);
    buffer_finish(&key);
    buffer_finish(&kept);
    /* The same device may have another number today. */
    if (found)
        snprintf(roofs->device, sizeof roofs->device, "%s", device->name);
    return found;
}

bool roofs_load(ridge_device *device, bool quick_will_do, struct roofs *roofs) {
    return load_one(device, false, roofs) || (quick_will_do && load_one(device, true, roofs));
}

void roofs_store(ridge_device *device, const struct roofs *roofs) {
    struct buffer key = {0}, text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    write_key(device, roofs->quick, &key);
    roofs_write_json(roofs, &json);
    if (!key.failed && !text.failed)
        cache_store(key.data, key.length, text.data, text.length);
    buffer_finish(&key);
    buffer_finish(&text);
    roofs_cache_store(device->device->ops->name, roofs);
}

bool roofs_get(ridge_device *device, bool quick, bool refresh, roofs_progress *progress,
               void *context, struct roofs *roofs, struct status *status) {
    if (!refresh && roofs_load(device, quick, roofs)) {
        roofs_cache_store(device->device->ops->name, roofs); /* as what was used last */
        return true;
    }
    if (!roofs_measure(device, quick, progress, context, roofs, status))
        return false;
    roofs_store(device, roofs);
    return true;
}
