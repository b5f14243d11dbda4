/* Devices, queues, pipelines and memory: what the program creates with an MTLDevice. */
#include "probe/metal/metal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probe/capture.h"
#include "spool/pages.h"

/* OpenCL's and Vulkan's ids are below and above. */
#define FIRST_CORRELATION 0x60000000u
enum { CORRELATIONS = 0x20000000 };

struct probe *metal_probe;
static struct metal_device devices[METAL_DEVICES];
static _Atomic uint32_t device_count;

/* ---- Records ----------------------------------------------------------------------------- */

bool metal_is_recording(int64_t now) {
    return metal_probe && capture_is_on() && capture_has_started(now) &&
           !spool_is_stopped(metal_probe->spool);
}

uint32_t metal_next_correlation(void) {
    static _Atomic uint32_t serial;
    return FIRST_CORRELATION + atomic_fetch_add(&serial, 1) % CORRELATIONS;
}

struct metal_call metal_call_begin(void) {
    int64_t now = clock_now();
    if (!metal_is_recording(now))
        return (struct metal_call){0};
    return (struct metal_call){now, metal_next_correlation()};
}

static void put_call(struct spool_lane *lane, uint32_t text, const struct spool_call *filled) {
    struct spool_call *call = spool_begin(lane, SPOOL_CALL, text, sizeof *call);
    if (!call)
        return;
    struct spool_head head = call->head;
    *call = *filled;
    call->head = head;
    spool_publish(lane);
}

void metal_call_end(const struct metal_call *call, const char *name, enum call_class class,
                    int result) {
    int error = errno;
    int64_t end = clock_now(), duration = end - call->start;
    struct probe_thread *thread = call->start ? probe_enter() : NULL;
    if (!thread) {
        errno = error;
        return;
    }
    struct spool_call record = {
        .start = call->start,
        .duration = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX,
        .correlation = call->correlation,
        .result = result,
        .class = class,
        .stack = probe_stack(thread, class) & 0xFFFFFF,
    };
    put_call(thread->lane, spool_constant(thread->lane, name), &record);
    if (record.duration == UINT32_MAX)
        put_call(thread->lane, 0, &(struct spool_call){.start = end, .class = SPOOL_CALL_END});
    probe_leave(thread);
    errno = error;
}

void metal_put_dropped(struct probe_thread *thread, const char *why, uint64_t count) {
    uint32_t text = spool_constant(thread->lane, why);
    struct spool_dropped *dropped = spool_begin(thread->lane, SPOOL_DROPPED, text, sizeof *dropped);
    if (!dropped)
        return;
    dropped->count = count;
    spool_publish(thread->lane);
}

/* ---- Devices ----------------------------------------------------------------------------- */

struct metal_device *metal_find_device(objc_id object) {
    uint32_t count = atomic_load_explicit(&device_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (devices[i].object == object)
            return &devices[i];
    return NULL;
}

/* With the lock. A device is never released while the process lives, so its address names it. */
static void add_device(objc_id object, const char *name) {
    uint32_t number = atomic_load(&device_count);
    if (number == METAL_DEVICES || metal_find_device(object))
        return;
    struct metal_device *device = &devices[number];
    device->object = object;
    device->index = SPOOL_DEVICES_METAL + number;
    device->name = name;
    if (metal_responds(object, "recommendedMaxWorkingSetSize"))
        device->memory_bytes = OBJC_GET(uint64_t, object, "recommendedMaxWorkingSetSize");
    if (metal_responds(object, "registryID"))
        device->registry_id = OBJC_GET(uint64_t, object, "registryID");
    atomic_store_explicit(&device_count, number + 1, memory_order_release);
}

/* "Apple M3 Pro", "AMD Radeon Pro 5500M", "Intel(R) UHD Graphics 630" */
static struct text vendor_of(const char *name) {
    size_t length = strcspn(name, " (");
    return length ? (struct text){name, length} : TEXT("Apple");
}

static bool put_device(struct spool_lane *lane, const struct metal_device *device) {
    const char *name = device->name ? device->name : "Metal device";
    uint32_t text = spool_constant(lane, name), vendor = spool_text(lane, vendor_of(name));
    struct spool_device *record = spool_begin(lane, SPOOL_DEVICE, text, sizeof *record);
    if (!record)
        return false;
    *record = (struct spool_device){
        .head = record->head,
        .index = device->index,
        .vendor = vendor,
        .memory_bytes = device->memory_bytes,
    };
    memcpy(record->uuid, &device->registry_id, sizeof device->registry_id);
    memcpy(record->uuid + 8, "Metal", 6);
    spool_publish(lane);
    return true;
}

bool metal_announce(struct spool_lane *lane, const struct metal_device *device) {
    PROBE_THREAD_LOCAL unsigned announced;
    PROBE_THREAD_LOCAL const struct spool_lane *to;
    unsigned bit = 1u << (device->index - SPOOL_DEVICES_METAL);
    if (to != lane)
        announced = 0;
    to = lane;
    if (!(announced & bit) && put_device(lane, device))
        announced |= bit;
    return announced & bit;
}

void metal_device_seen(objc_id object) {
    struct probe *probe = object && metal_objc_load() ? probe_start() : NULL;
    if (!probe || !probe->options.metal || metal_find_device(object))
        return;
    const char *name = metal_text(object, "name");
    metal_probe = probe;
    if (metal_lock()) {
        add_device(object, name);
        metal_unlock();
    }
    metal_install(METAL_DEVICE, object);
    struct probe_thread *thread = probe_enter();
    if (thread) {
        probe_put_meta(thread, "metal.recorded", TEXT("1"));
        probe_leave(thread);
    }
}

/* ---- Queues ------------------------------------------------------------------------------ */

static struct metal_queue queues[METAL_QUEUES];
static _Atomic uint32_t queue_count;

/* The latest queue at an address: an earlier one has been released. */
struct metal_queue *metal_find_queue(objc_id object) {
    for (uint32_t i = atomic_load_explicit(&queue_count, memory_order_acquire); i > 0; i--)
        if (queues[i - 1].object == object)
            return &queues[i - 1];
    return NULL;
}

static objc_id queue_created(objc_id device, objc_id queue) {
    struct metal_device *known = metal_find_device(device);
    if (!queue || !known || !metal_lock())
        return queue;
    uint32_t number = atomic_load(&queue_count);
    if (number < METAL_QUEUES) {
        queues[number].object = queue;
        queues[number].device = known;
        queues[number].stream = number + 1;
        atomic_store_explicit(&queue_count, number + 1, memory_order_release);
    }
    metal_unlock();
    metal_install(METAL_QUEUE, queue);
    return queue;
}

/* A method of a device that returns a queue. */
#define QUEUE_CREATION(name, types, parameters, arguments)                                         \
    static objc_id name(METAL_UNPACK parameters) {                                                 \
        bool outermost = metal_enter();                                                            \
        objc_id queue = METAL_ORIGINAL(objc_id, types, original) arguments;                        \
        metal_leave();                                                                             \
        return outermost ? queue_created(self, queue) : queue;                                     \
    }

QUEUE_CREATION(new_queue, (objc_id, objc_sel), (objc_imp original, objc_id self, objc_sel selector),
               (self, selector))
METAL_HOOK(objc_id, new_queue, (objc_id self, objc_sel selector), (self, selector))
QUEUE_CREATION(new_queue_count, (objc_id, objc_sel, uint64_t),
               (objc_imp original, objc_id self, objc_sel selector, uint64_t count),
               (self, selector, count))
METAL_HOOK(objc_id, new_queue_count, (objc_id self, objc_sel selector, uint64_t count),
           (self, selector, count))
QUEUE_CREATION(new_queue_descriptor, (objc_id, objc_sel, objc_id),
               (objc_imp original, objc_id self, objc_sel selector, objc_id descriptor),
               (self, selector, descriptor))
METAL_HOOK(objc_id, new_queue_descriptor, (objc_id self, objc_sel selector, objc_id descriptor),
           (self, selector, descriptor))

/* Its methods are replaced; commands.c records the waits. */
static objc_id new_shared_event(objc_imp original, objc_id self, objc_sel selector) {
    objc_id event = METAL_ORIGINAL(objc_id, (objc_id, objc_sel), original)(self, selector);
    metal_install(METAL_EVENT, event);
    return event;
}
METAL_HOOK(objc_id, new_shared_event, (objc_id self, objc_sel selector), (self, selector))

/* ---- Metal 4 ----------------------------------------------------------------------------- */

/* Its command buffers have other classes and are committed in groups. */
static objc_id metal4_queue_created(objc_id queue) {
    static _Atomic bool said;
    struct probe_thread *thread = queue && !atomic_exchange(&said, true) ? probe_enter() : NULL;
    if (thread) {
        probe_put_meta(thread, "warning",
                       TEXT("Metal: work of Metal 4 command queues (MTL4CommandQueue) is not "
                            "recorded; xctrace records it"));
        probe_leave(thread);
    }
    return queue;
}

static objc_id new_queue4(objc_imp original, objc_id self, objc_sel selector) {
    return metal4_queue_created(
        METAL_ORIGINAL(objc_id, (objc_id, objc_sel), original)(self, selector));
}
METAL_HOOK(objc_id, new_queue4, (objc_id self, objc_sel selector), (self, selector))

static objc_id new_queue4_descriptor(objc_imp original, objc_id self, objc_sel selector,
                                     objc_id descriptor, objc_id *problem) {
    return metal4_queue_created(METAL_ORIGINAL(objc_id, (objc_id, objc_sel, objc_id, objc_id *),
                                               original)(self, selector, descriptor, problem));
}
METAL_HOOK(objc_id, new_queue4_descriptor,
           (objc_id self, objc_sel selector, objc_id descriptor, objc_id *problem),
           (self, selector, descriptor, problem))

/* ---- Libraries and pipelines ------------------------------------------------------------- */

static objc_id new_library(objc_imp original, objc_id self, objc_sel selector, objc_id source,
                           objc_id options, objc_id *problem) {
    bool outermost = metal_enter();
    struct metal_call call = metal_call_begin();
    objc_id library = METAL_ORIGINAL(objc_id, (objc_id, objc_sel, objc_id, objc_id, objc_id *),
                                     original)(self, selector, source, options, problem);
    if (outermost)
        metal_call_end(&call, "newLibraryWithSource", CALL_COMPILE, library ? 0 : -1);
    metal_leave();
    return library;
}
METAL_HOOK(objc_id, new_library,
           (objc_id self, objc_sel selector, objc_id source, objc_id options, objc_id *problem),
           (self, selector, source, options, problem))

static objc_id new_pipeline(objc_imp original, objc_id self, objc_sel selector, objc_id function,
                            objc_id *problem) {
    bool outermost = metal_enter();
    struct metal_call call = metal_call_begin();
    objc_id pipeline = METAL_ORIGINAL(objc_id, (objc_id, objc_sel, objc_id, objc_id *),
                                      original)(self, selector, function, problem);
    if (outermost) {
        metal_call_end(&call, "newComputePipelineState", CALL_COMPILE, pipeline ? 0 : -1);
        metal_pipeline_created(pipeline, function, NULL);
    }
    metal_leave();
    return pipeline;
}
METAL_HOOK(objc_id, new_pipeline,
           (objc_id self, objc_sel selector, objc_id function, objc_id *problem),
           (self, selector, function, problem))

static objc_id new_pipeline_options(objc_imp original, objc_id self, objc_sel selector,
                                    objc_id from, uint64_t options, objc_id *reflection,
                                    objc_id *problem) {
    bool outermost = metal_enter();
    struct metal_call call = metal_call_begin();
    objc_id pipeline =
        METAL_ORIGINAL(objc_id, (objc_id, objc_sel, objc_id, uint64_t, objc_id *, objc_id *),
                       original)(self, selector, from, options, reflection, problem);
    if (outermost) {
        metal_call_end(&call, "newComputePipelineState", CALL_COMPILE, pipeline ? 0 : -1);
        if (metal_responds(from, "computeFunction"))
            metal_pipeline_created(pipeline, OBJC_GET(objc_id, from, "computeFunction"), from);
        else
            metal_pipeline_created(pipeline, from, NULL);
    }
    metal_leave();
    return pipeline;
}
METAL_HOOK(objc_id, new_pipeline_options,
           (objc_id self, objc_sel selector, objc_id from, uint64_t options, objc_id *reflection,
            objc_id *problem),
           (self, selector, from, options, reflection, problem))

static objc_id new_pipeline_descriptor(objc_imp original, objc_id self, objc_sel selector,
                                       objc_id from, uint64_t options, objc_id *reflection,
                                       objc_id *problem) {
    return new_pipeline_options(original, self, selector, from, options, reflection, problem);
}
METAL_HOOK(objc_id, new_pipeline_descriptor,
           (objc_id self, objc_sel selector, objc_id from, uint64_t options, objc_id *reflection,
            objc_id *problem),
           (self, selector, from, options, reflection, problem))

/* ---- Memory ------------------------------------------------------------------------------ */

enum { ALLOCATION_BUCKETS = 4096, ALLOCATED_TOGETHER = 512 };
enum storage { STORAGE_SHARED, STORAGE_MANAGED, STORAGE_PRIVATE };

static struct allocation {
    struct allocation *next;
    objc_id object;
    uint64_t bytes;
    const struct metal_device *device;
    uint8_t kind;
} * allocations[ALLOCATION_BUCKETS], *unused;

static struct allocation **bucket_of(objc_id object) {
    uint64_t hash = (uintptr_t)object * (uint64_t)0x9E3779B97F4A7C15u;
    return &allocations[(hash >> 32) % ALLOCATION_BUCKETS];
}

/* With the lock. */
static struct allocation *take_unused(void) {
    struct allocation *many = unused ? NULL : pages_allocate(ALLOCATED_TOGETHER * sizeof *many);
    for (unsigned i = 0; many && i < ALLOCATED_TOGETHER; i++) {
        many[i].next = unused;
        unused = &many[i];
    }
    struct allocation *one = unused;
    if (one)
        unused = one->next;
    return one;
}

static void put_memory(const struct allocation *of, bool released) {
    int64_t now = clock_now();
    struct probe_thread *thread = metal_is_recording(now) ? probe_enter() : NULL;
    if (!thread)
        return;
    struct spool_memory *record = metal_announce(thread->lane, of->device)
                                      ? spool_begin(thread->lane, SPOOL_MEMORY, 0, sizeof *record)
                                      : NULL;
    if (record) {
        *record = (struct spool_memory){
            .head = record->head,
            .time = now,
            .bytes = of->bytes,
            .address = (uintptr_t)of->object,
            .device = of->device->index + 1,
            .released = released,
            .memory_kind = of->kind,
            .tid = thread->tid,
        };
        spool_publish(thread->lane);
    }
    probe_leave(thread);
}

/* Private memory belongs to the GPU; the CPU sees the rest as well. */
static uint8_t kind_of(enum storage storage) {
    return storage == STORAGE_PRIVATE ? MEMORY_DEVICE : MEMORY_MANAGED;
}

static void allocated(objc_id device, objc_id object, uint64_t bytes, enum storage storage) {
    struct allocation made = {.object = object,
                              .bytes = bytes,
                              .device = metal_find_device(device),
                              .kind = kind_of(storage)};
    if (!made.device || !metal_install(METAL_RESOURCE, object) || !metal_lock())
        return; /* without its release, an allocation would look like a leak */
    struct allocation *kept = take_unused();
    if (kept) {
        struct allocation **bucket = bucket_of(object);
        *kept = made;
        kept->next = *bucket;
        *bucket = kept;
    }
    metal_unlock();
    if (kept)
        put_memory(&made, false);
}

static void released(objc_id object) {
    struct allocation gone = {0};
    if (!metal_lock())
        return;
    for (struct allocation **at = bucket_of(object); *at && !gone.object; at = &(*at)->next)
        if ((*at)->object == object) {
            struct allocation *found = *at;
            gone = *found;
            *at = found->next;
            found->next = unused;
            unused = found;
            break;
        }
    metal_unlock();
    if (gone.object)
        put_memory(&gone, true);
}

static void dealloc(objc_imp original, objc_id self, objc_sel selector) {
    int error = errno;
    released(self);
    errno = error;
    METAL_ORIGINAL(void, (objc_id, objc_sel), original)(self, selector);
}
METAL_HOOK(void, dealloc, (objc_id self, objc_sel selector), (self, selector))

/* MTLResourceOptions has the storage mode in bits 4 to 7. */
static enum storage storage_of(uint64_t options) {
    return (enum storage)(options >> 4 & 15);
}

static objc_id new_buffer(objc_imp original, objc_id self, objc_sel selector, uint64_t bytes,
                          uint64_t options) {
    bool outermost = metal_enter();
    struct metal_call call = metal_call_begin();
    objc_id buffer = METAL_ORIGINAL(objc_id, (objc_id, objc_sel, uint64_t, uint64_t),
                                    original)(self, selector, bytes, options);
    if (outermost) {
        metal_call_end(&call, "newBufferWithLength", CALL_ALLOC, buffer ? 0 : -1);
        allocated(self, buffer, bytes, storage_of(options));
    }
    metal_leave();
    return buffer;
}
METAL_HOOK(objc_id, new_buffer, (objc_id self, objc_sel selector, uint64_t bytes, uint64_t options),
           (self, selector, bytes, options))

static objc_id new_buffer_bytes(objc_imp original, objc_id self, objc_sel selector,
                                const void *content, uint64_t bytes, uint64_t options) {
    bool outermost = metal_enter();
    struct metal_call call = metal_call_begin();
    objc_id buffer = METAL_ORIGINAL(objc_id, (objc_id, objc_sel, const void *, uint64_t, uint64_t),
                                    original)(self, selector, content, bytes, options);
    if (outermost) {
        metal_call_end(&call, "newBufferWithBytes", CALL_ALLOC, buffer ? 0 : -1);
        allocated(self, buffer, bytes, storage_of(options));
    }
    metal_leave();
    return buffer;
}
METAL_HOOK(objc_id, new_buffer_bytes,
           (objc_id self, objc_sel selector, const void *content, uint64_t bytes, uint64_t options),
           (self, selector, content, bytes, options))

/* A heap or a texture: itself has its size and storage mode. */
static objc_id make(const char *name, objc_imp original, objc_id self, objc_sel selector,
                    objc_id descriptor) {
    bool outermost = metal_enter();
    struct metal_call call = metal_call_begin();
    objc_id made =
        METAL_ORIGINAL(objc_id, (objc_id, objc_sel, objc_id), original)(self, selector, descriptor);
    if (outermost) {
        const char *size = metal_responds(made, "allocatedSize") ? "allocatedSize" : "size";
        metal_call_end(&call, name, CALL_ALLOC, made ? 0 : -1);
        if (metal_responds(made, size) && metal_responds(made, "storageMode"))
            allocated(self, made,
                      OBJC_SEND(uint64_t, (objc_id, objc_sel), made, metal_selector(size)),
                      (enum storage)OBJC_GET(uint64_t, made, "storageMode"));
    }
    metal_leave();
    return made;
}

static objc_id new_heap(objc_imp original, objc_id self, objc_sel selector, objc_id descriptor) {
    return make("newHeapWithDescriptor", original, self, selector, descriptor);
}
METAL_HOOK(objc_id, new_heap, (objc_id self, objc_sel selector, objc_id descriptor),
           (self, selector, descriptor))

static objc_id new_texture(objc_imp original, objc_id self, objc_sel selector, objc_id descriptor) {
    return make("newTextureWithDescriptor", original, self, selector, descriptor);
}
METAL_HOOK(objc_id, new_texture, (objc_id self, objc_sel selector, objc_id descriptor),
           (self, selector, descriptor))

const struct metal_hook metal_device_hooks[] = {
    METAL_ROW(METAL_DEVICE, "newCommandQueue", "@", new_queue),
    METAL_ROW(METAL_DEVICE, "newCommandQueueWithMaxCommandBufferCount:", "@Q", new_queue_count),
    METAL_ROW(METAL_DEVICE, "newCommandQueueWithDescriptor:", "@@", new_queue_descriptor),
    METAL_ROW(METAL_DEVICE, "newSharedEvent", "@", new_shared_event),
    METAL_ROW(METAL_DEVICE, "newMTL4CommandQueue", "@", new_queue4),
    METAL_ROW(METAL_DEVICE, "newMTL4CommandQueueWithDescriptor:error:", "@@^",
              new_queue4_descriptor),
    METAL_ROW(METAL_DEVICE, "newLibraryWithSource:options:error:", "@@@^", new_library),
    METAL_ROW(METAL_DEVICE, "newComputePipelineStateWithFunction:error:", "@@^", new_pipeline),
    METAL_ROW(METAL_DEVICE, "newComputePipelineStateWithFunction:options:reflection:error:",
              "@@Q^^", new_pipeline_options),
    METAL_ROW(METAL_DEVICE, "newComputePipelineStateWithDescriptor:options:reflection:error:",
              "@@Q^^", new_pipeline_descriptor),
    METAL_ROW(METAL_DEVICE, "newBufferWithLength:options:", "@QQ", new_buffer),
    METAL_ROW(METAL_DEVICE, "newBufferWithBytes:length:options:", "@^QQ", new_buffer_bytes),
    METAL_ROW(METAL_DEVICE, "newHeapWithDescriptor:", "@@", new_heap),
    METAL_ROW(METAL_DEVICE, "newTextureWithDescriptor:", "@@", new_texture),
    METAL_ROW(METAL_RESOURCE, "dealloc", "v", dealloc),
    {0},
};
