/* Samples the GPU's timestamps at the begin and the end of each encoder.
 *
 * Apple's GPUs sample at stage boundaries only, so the encoder's descriptor names the place of each
 * sample. A device has one sample buffer, of the size that drivers allow; a pair of places belongs
 * to an encoder until its times are read. Nothing resets a place, and some systems return zeros:
 * the samples are checked against the times of the command buffer. If the first ones are all wrong,
 * sampling ends.
 *
 * The unit of GPU timestamps is not documented. They are converted with the first and the last
 * reading of the GPU's clock; the readings are at most a quarter of that time apart.
 */
#include "probe/metal/metal.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

enum counter_state {
    COUNTERS_UNTRIED,
    COUNTERS_OPENING,
    COUNTERS_ON,
    COUNTERS_ABSENT,
    COUNTERS_WRONG
};
enum {
    FAILURES_MAX = 16,             /* without a success */
    CLOCK_INTERVAL_NS = 100000000, /* between two readings of the GPU's clock, at most */
    CLOCK_ATTEMPTS = 5,
    CLOCK_READING_NS = 5000, /* a reading that is good enough */
    CLOCK_SPAN_NS = 100000,  /* from which on two readings give the unit */
    TOLERANCE_NS = 2000000,  /* of a sample against its command buffer */
    AT_STAGE_BOUNDARY = 0,   /* MTLCounterSamplingPointAtStageBoundary */
    STORAGE_SHARED = 0,
};

const char *metal_counters_missing(const struct metal_device *device) {
    switch (atomic_load(&device->counters.state)) {
    case COUNTERS_ABSENT:
        return "this device has no timestamp counters at encoder boundaries";
    case COUNTERS_WRONG:
        return "the driver returns no valid timestamps";
    default:
        return NULL;
    }
}

/* ---- Clock ------------------------------------------------------------------------------- */

struct reading {
    int64_t host, took;
    uint64_t gpu;
};

/* The shortest of some readings: a thread that is preempted in between knows less. */
static struct reading read_once(const struct metal_device *device) {
    struct reading best = {.took = INT64_MAX};
    for (unsigned i = 0; i < CLOCK_ATTEMPTS && best.took > CLOCK_READING_NS; i++) {
        uint64_t cpu = 0, gpu = 0;
        int64_t before = clock_now();
        OBJC_SEND(void, (objc_id, objc_sel, uint64_t *, uint64_t *), device->object,
                  metal_selector("sampleTimestamps:gpuTimestamp:"), &cpu, &gpu);
        int64_t took = clock_now() - before;
        if (gpu && took < best.took)
            best = (struct reading){before + took / 2, took, gpu};
    }
    return best;
}

static struct metal_clock copy_clock(struct metal_device *device) {
    struct metal_clock clock = {0};
    if (metal_lock()) {
        clock = device->clock;
        metal_unlock();
    }
    return clock;
}

static bool is_recent(const struct metal_clock *clock) {
    int64_t known = (clock->last_host - clock->first_host) / 4;
    int64_t interval = known < CLOCK_INTERVAL_NS ? known : CLOCK_INTERVAL_NS;
    return clock->last_host && clock_now() - clock->last_host < interval;
}

/* Handlers of several threads read the clock: a reading that is stored late does not replace a
 * later one. */
static void update_clock(struct metal_device *device) {
    struct metal_clock *clock = &device->clock;
    struct reading reading = read_once(device);
    if (!reading.gpu || !metal_lock())
        return;
    if (!clock->first_host) {
        clock->first_host = reading.host;
        clock->first_gpu = reading.gpu;
    }
    if (reading.host > clock->last_host) {
        clock->last_host = reading.host;
        clock->last_gpu = reading.gpu;
    }
    metal_unlock();
}

struct metal_clock metal_read_clock(struct metal_device *device) {
    struct metal_clock clock = {0};
    if (atomic_load(&device->counters.state) != COUNTERS_ON)
        return clock;
    clock = copy_clock(device);
    if (is_recent(&clock))
        return clock;
    update_clock(device);
    return copy_clock(device);
}

/* False until two readings are far enough apart. */
static bool to_host(const struct metal_clock *clock, uint64_t gpu, int64_t *time) {
    int64_t span = clock->last_host - clock->first_host;
    if (span < CLOCK_SPAN_NS || clock->last_gpu <= clock->first_gpu)
        return false;
    double unit = (double)span / (double)(clock->last_gpu - clock->first_gpu);
    double ticks =
        gpu >= clock->last_gpu ? (double)(gpu - clock->last_gpu) : -(double)(clock->last_gpu - gpu);
    *time = fabs(ticks * unit) < 1e15 ? clock->last_host + (int64_t)(ticks * unit) : 0;
    return true;
}

/* ---- The sample buffer ------------------------------------------------------------------- */

static objc_id find_timestamps(objc_id device) {
    objc_id sets = OBJC_GET(objc_id, device, "counterSets");
    uint64_t count = sets ? OBJC_GET(uint64_t, sets, "count") : 0;
    for (uint64_t i = 0; i < count; i++) {
        objc_id set = OBJC_SEND(objc_id, (objc_id, objc_sel, uint64_t), sets,
                                metal_selector("objectAtIndex:"), i);
        const char *name = metal_text(set, "name");
        if (name && strcmp(name, "timestamp") == 0)
            return set;
    }
    return NULL;
}

static objc_id new_object(const char *class) {
    objc_class found = objc.objc_getClass(class);
    objc_id made = found ? OBJC_GET(objc_id, (objc_id)found, "alloc") : NULL;
    return made ? OBJC_GET(objc_id, made, "init") : NULL;
}

static objc_id new_sample_buffer(objc_id device, objc_id set) {
    objc_id descriptor = new_object("MTLCounterSampleBufferDescriptor"), problem = NULL;
    if (!descriptor)
        return NULL;
    OBJC_SEND(void, (objc_id, objc_sel, objc_id), descriptor, metal_selector("setCounterSet:"),
              set);
    OBJC_SEND(void, (objc_id, objc_sel, uint64_t), descriptor, metal_selector("setStorageMode:"),
              STORAGE_SHARED);
    OBJC_SEND(void, (objc_id, objc_sel, uint64_t), descriptor, metal_selector("setSampleCount:"),
              METAL_SAMPLES);
    objc_id buffer = OBJC_SEND(objc_id, (objc_id, objc_sel, objc_id, objc_id *), device,
                               metal_selector("newCounterSampleBufferWithDescriptor:error:"),
                               descriptor, &problem);
    OBJC_GET(void, descriptor, "release");
    return buffer;
}

static bool has_counters(objc_id device) {
    return metal_responds(device, "supportsCounterSampling:") &&
           metal_responds(device, "counterSets") &&
           metal_responds(device, "sampleTimestamps:gpuTimestamp:") &&
           metal_responds(device, "newCounterSampleBufferWithDescriptor:error:") &&
           OBJC_SEND(bool, (objc_id, objc_sel, uint64_t), device,
                     metal_selector("supportsCounterSampling:"), AT_STAGE_BOUNDARY);
}

/* The first thread that gets here makes the buffer; others do without samples meanwhile. */
static void open_counters(struct metal_device *device) {
    struct metal_counters *counters = &device->counters;
    int untried = COUNTERS_UNTRIED;
    if (!atomic_compare_exchange_strong(&counters->state, &untried, COUNTERS_OPENING))
        return;
    void *pool = objc.objc_autoreleasePoolPush();
    objc_id set = has_counters(device->object) ? find_timestamps(device->object) : NULL;
    counters->sample_buffer = set ? new_sample_buffer(device->object, set) : NULL;
    for (uint32_t i = 0; i < METAL_SAMPLE_SLOTS; i++)
        counters->free_slots[i] = (uint16_t)(METAL_SAMPLE_SLOTS - 1 - i);
    counters->free_count = METAL_SAMPLE_SLOTS;
    if (counters->sample_buffer)
        update_clock(device);
    atomic_store(&counters->state, counters->sample_buffer ? COUNTERS_ON : COUNTERS_ABSENT);
    objc.objc_autoreleasePoolPop(pool);
}

void metal_free_slot(struct metal_device *device, int slot) {
    struct metal_counters *counters = &device->counters;
    if (counters->free_count < METAL_SAMPLE_SLOTS)
        counters->free_slots[counters->free_count++] = (uint16_t)slot;
}

static int take_slot(struct metal_device *device) {
    struct metal_counters *counters = &device->counters;
    int slot = METAL_NO_SLOT;
    if (metal_lock()) {
        if (counters->free_count)
            slot = counters->free_slots[--counters->free_count];
        metal_unlock();
    }
    return slot;
}

/* ---- Descriptors ------------------------------------------------------------------------- */

static objc_id first_attachment(objc_id descriptor) {
    objc_id attachments = OBJC_GET(objc_id, descriptor, "sampleBufferAttachments");
    return attachments ? OBJC_SEND(objc_id, (objc_id, objc_sel, uint64_t), attachments,
                                   metal_selector("objectAtIndexedSubscript:"), (uint64_t)0)
                       : NULL;
}

/* The program's own samples stay, and so does its descriptor: a copy that shares its attachments is
 * not used. */
static objc_id make_descriptor(enum metal_kind kind, objc_id given) {
    if (!given)
        return new_object(kind == METAL_BLIT ? "MTLBlitPassDescriptor"
                                             : "MTLComputePassDescriptor");
    objc_id attachment =
        metal_responds(given, "sampleBufferAttachments") ? first_attachment(given) : NULL;
    if (!attachment || OBJC_GET(objc_id, attachment, "sampleBuffer"))
        return NULL;
    objc_id copy = OBJC_GET(objc_id, given, "copy");
    if (!copy || first_attachment(copy) != attachment)
        return copy;
    OBJC_GET(void, copy, "release");
    return NULL;
}

objc_id metal_sampled_descriptor(struct metal_device *device, enum metal_kind kind, objc_id given,
                                 int *slot) {
    struct metal_counters *counters = &device->counters;
    if (atomic_load(&counters->state) == COUNTERS_UNTRIED)
        open_counters(device);
    if (atomic_load(&counters->state) != COUNTERS_ON)
        return NULL;
    objc_id descriptor = make_descriptor(kind, given);
    objc_id attachment = descriptor ? first_attachment(descriptor) : NULL;
    *slot = attachment ? take_slot(device) : METAL_NO_SLOT;
    if (*slot == METAL_NO_SLOT) {
        if (descriptor)
            OBJC_GET(void, descriptor, "release");
        return NULL;
    }
    uint64_t at = 2 * (uint64_t)*slot;
    OBJC_SEND(void, (objc_id, objc_sel, objc_id), attachment, metal_selector("setSampleBuffer:"),
              counters->sample_buffer);
    OBJC_SEND(void, (objc_id, objc_sel, uint64_t), attachment,
              metal_selector("setStartOfEncoderSampleIndex:"), at);
    OBJC_SEND(void, (objc_id, objc_sel, uint64_t), attachment,
              metal_selector("setEndOfEncoderSampleIndex:"), at + 1);
    return descriptor;
}

/* ---- Reading ----------------------------------------------------------------------------- */

struct sample_range {
    uint64_t location, length;
};

static bool resolve(const struct metal_device *device, int slot, uint64_t samples[2]) {
    struct sample_range range = {2 * (uint64_t)slot, 2};
    objc_id data =
        OBJC_SEND(objc_id, (objc_id, objc_sel, struct sample_range), device->counters.sample_buffer,
                  metal_selector("resolveCounterRange:"), range);
    const void *bytes = data && OBJC_GET(uint64_t, data, "length") >= 2 * sizeof *samples
                            ? OBJC_GET(const void *, data, "bytes")
                            : NULL;
    if (bytes)
        memcpy(samples, bytes, 2 * sizeof *samples);
    return bytes && samples[0] && samples[1] >= samples[0] && samples[1] != UINT64_MAX;
}

static void count_result(struct metal_counters *counters, bool ok) {
    if (!metal_lock())
        return;
    counters->successes += ok && counters->successes < UINT32_MAX;
    counters->failures += !ok && counters->failures < UINT32_MAX;
    if (counters->failures >= FAILURES_MAX && !counters->successes)
        atomic_store(&counters->state, COUNTERS_WRONG);
    metal_unlock();
}

bool metal_read_samples(struct metal_device *device, const struct metal_clock *clock, int slot,
                        int64_t from, int64_t until, int64_t *start, int64_t *end) {
    uint64_t samples[2];
    bool ok = resolve(device, slot, samples);
    if (ok) {
        if (!to_host(clock, samples[0], start) || !to_host(clock, samples[1], end))
            return false;
        ok = *start > from - TOLERANCE_NS && *end < until + TOLERANCE_NS && *end >= *start;
    }
    if (ok) { /* the command buffer's times are exact */
        *start = *start < from ? from : *start > until ? until : *start;
        *end = *end > until ? until : *end < *start ? *start : *end;
    }
    count_result(&device->counters, ok);
    return ok;
}
