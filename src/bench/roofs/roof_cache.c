/* Cached roofs are found by the driver's name of the device, as in a trace. The backend is part
 * of the key, as OpenCL and CUDA give a GPU the same name. */
#include "bench/roofs/roof_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "device/cache.h"
#include "device/recorder.h"
#include "tensor/tensor.h"
#include "trace/writer.h"

enum { FORMAT = 1 }; /* of the key */

static void write_key(const char *backend, const char *description, bool quick,
                      struct buffer *key) {
    buffer_printf(key, "roofs by name %d%c%s%c%s%c%d", FORMAT, 0, backend, 0, description, 0,
                  quick);
}

static bool roof_cache_load(const char *backend, const char *description, bool quick,
                            struct roofs *roofs) {
    struct buffer key = {0}, kept = {0};
    struct status ignored;
    write_key(backend, description, quick, &key);
    bool found = !key.failed && cache_load(key.data, key.length, &kept) && !kept.failed &&
                 roofs_read_json(buffer_as_text(&kept), roofs, &ignored);
    buffer_finish(&key);
    buffer_finish(&kept);
    return found;
}

bool roofs_cache_find(const char *backend, const char *description, const char *driver,
                      struct roofs *roofs) {
    static const char *const backends[] = {"cuda", "metal", "opencl", "vulkan", "cpu"};
    for (unsigned quick = 0; quick < 2; quick++)
        for (size_t i = 0; i < ARRAY_COUNT(backends); i++)
            if ((!backend || strcmp(backend, backends[i]) == 0) && *description &&
                roof_cache_load(backends[i], description, quick, roofs) &&
                (!driver || strstr(roofs->driver, driver)))
                return true;
    return false;
}

void roofs_cache_store(const char *backend, const struct roofs *roofs) {
    struct buffer key = {0}, text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    write_key(backend, roofs->description, roofs->quick, &key);
    roofs_write_json(roofs, &json);
    if (!key.failed && !text.failed)
        cache_store(key.data, key.length, text.data, text.length);
    buffer_finish(&key);
    buffer_finish(&text);
}

static void measured(struct limits *limits, enum device_limit limit, double value) {
    if (value > 0) {
        limits->of[limit] = value;
        limits->source[limit] = LIMIT_MEASURED;
    }
}

static void add_transfers(const struct roofs *roofs, struct limits *limits) {
    uint64_t largest[DEVICE_LIMIT_COUNT] = {0};
    for (unsigned i = 0; i < roofs->transfer_count && i < TRANSFERS_MAX; i++) {
        const struct transfer_roof *transfer = &roofs->transfers[i];
        enum device_limit limit =
            transfer->to_device
                ? transfer->pinned ? DEVICE_LIMIT_TO_DEVICE_PINNED : DEVICE_LIMIT_TO_DEVICE_PAGEABLE
            : transfer->pinned ? DEVICE_LIMIT_TO_HOST_PINNED
                               : DEVICE_LIMIT_TO_HOST_PAGEABLE;
        if (transfer->bytes < largest[limit])
            continue;
        largest[limit] = transfer->bytes;
        measured(limits, limit, transfer->roof.value);
    }
}

void roofs_as_limits(const struct roofs *roofs, struct limits *limits) {
    memset(limits, 0, sizeof *limits);
    for (unsigned limit = 0; limit < DEVICE_LIMIT_COUNT; limit++)
        for (unsigned roof = 0; roof < ROOF_COUNT; roof++)
            if (strcmp(device_limit_key(limit), roof_infos[roof].key) == 0)
                measured(limits, limit, roofs->of[roof].value);
    measured(limits, DEVICE_LIMIT_CACHE_BYTES, (double)roofs->cache_bytes);
    add_transfers(roofs, limits);
}

void roofs_as_meta(const struct roofs *roofs, const char *label, roofs_meta *add, void *to) {
    struct limits limits;
    char key[128], value[32];
    roofs_as_limits(roofs, &limits);
    snprintf(key, sizeof key, META_ROOF "%s." META_ROOF_NAME, label);
    add(to, key, roofs->description);
    for (unsigned limit = 0; limit < DEVICE_LIMIT_COUNT; limit++) {
        if (limits.of[limit] <= 0)
            continue;
        snprintf(key, sizeof key, META_ROOF "%s.%s", label, device_limit_key(limit));
        snprintf(value, sizeof value, "%.9g", limits.of[limit]);
        add(to, key, value);
    }
}

static void add_to_recorder(void *to, const char *key, const char *value) {
    recorder_meta(to, key, value);
}

void roofs_into_trace(ridge_device *device, const struct roofs *roofs) {
    struct recorder *recorder = device->recorder ? device->recorder : device->paused;
    char label[RECORDER_LABEL_SIZE];
    if (!recorder)
        return;
    recorder_label(device->device, label);
    roofs_as_meta(roofs, label, add_to_recorder, recorder);
}
