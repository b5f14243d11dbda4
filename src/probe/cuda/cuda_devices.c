/* Describes devices and maps contexts to devices. The program's own driver is queried when a
 * context is first seen, on the calling thread.
 */
#include "abi/cuda_attributes.h"

#include <stdatomic.h>

#include "base/library.h"
#include "probe/cuda/cuda.h"

enum { NAME_BYTES = 128 };

/* All return 0 on success. */
static struct driver {
    int (*cuDriverGetVersion)(int *);
    int (*cuDeviceGetCount)(int *);
    int (*cuDeviceGet)(int *, int);
    int (*cuDeviceGetName)(char *, int, int);
    int (*cuDeviceGetUuid)(void *, int);
    int (*cuDeviceTotalMem_v2)(size_t *, int);
    int (*cuDeviceGetAttribute)(int *, int, int);
    int (*cuStreamIsCapturing)(struct CUstream_st *, int *);
    int (*cuStreamGetCtx)(struct CUstream_st *, struct CUctx_st **);
} driver;

#define SYMBOL(name)                                                                               \
    { #name, offsetof(struct driver, name) }
static const struct library_symbol symbols[] = {
    SYMBOL(cuDriverGetVersion),   SYMBOL(cuDeviceGetCount),
    SYMBOL(cuDeviceGet),          SYMBOL(cuDeviceGetName),
    SYMBOL(cuDeviceGetUuid),      SYMBOL(cuDeviceTotalMem_v2),
    SYMBOL(cuDeviceGetAttribute), SYMBOL(cuStreamIsCapturing),
    SYMBOL(cuStreamGetCtx),       {NULL, 0},
};

/* device_count is raised after the descriptions are complete. */
static struct description {
    struct spool_device device;
    char name[NAME_BYTES];
} descriptions[CUDA_DEVICES];
static _Atomic uint32_t device_count;
static _Atomic uint32_t devices_of[CUDA_CONTEXTS]; /* context id -> device + 1 */
static _Atomic int describe_state;                 /* 0: not yet, 1: in progress, 2: done */

static bool load_driver(void) {
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    void *library = library_loaded(names);
    return library && library_fill(library, symbols, &driver) == NULL;
}

int cuda_driver_major(void) {
    int version = 0;
    return load_driver() && driver.cuDriverGetVersion(&version) == 0 ? version / 1000 : 0;
}

bool cuda_is_capturing(struct CUstream_st *stream) {
    int status = 0;
    return driver.cuStreamIsCapturing && driver.cuStreamIsCapturing(stream, &status) == 0 &&
           status != 0;
}

struct CUctx_st *cuda_stream_context(struct CUstream_st *stream) {
    struct CUctx_st *context = NULL;
    return driver.cuStreamGetCtx && driver.cuStreamGetCtx(stream, &context) == 0 ? context : NULL;
}

static uint32_t query_attribute(int device, int number) {
    int value = 0;
    return driver.cuDeviceGetAttribute(&value, number, device) == 0 && value > 0 ? (uint32_t)value
                                                                                 : 0;
}

static void describe_device(struct description *description, int index) {
    struct spool_device *device = &description->device;
    size_t memory = 0;
    int ordinal = index;
    if (driver.cuDeviceGet(&ordinal, index) != 0)
        return;
    device->index = (uint32_t)index;
#define QUERY(member, theirs, number) device->member = query_attribute(ordinal, number);
    CUDA_DEVICE_NUMBERS(QUERY)
#undef QUERY
    /* double data rate */
    device->bandwidth = (uint64_t)query_attribute(ordinal, CUDA_MEMORY_CLOCK_KHZ) * 1000 * 2 *
                        query_attribute(ordinal, CUDA_MEMORY_BUS_BITS) / 8;
    if (driver.cuDeviceTotalMem_v2(&memory, ordinal) == 0)
        device->memory_bytes = memory;
    driver.cuDeviceGetUuid(device->uuid, ordinal);
    if (driver.cuDeviceGetName(description->name, NAME_BYTES - 1, ordinal) != 0)
        description->name[0] = 0;
}

static void describe_devices(void) {
    int count = 0, not_yet = 0;
    if (!driver.cuDeviceGetAttribute ||
        !atomic_compare_exchange_strong(&describe_state, &not_yet, 1))
        return;
    if (driver.cuDeviceGetCount(&count) != 0 || count < 0)
        count = 0;
    for (int i = 0; i < count && i < CUDA_DEVICES; i++)
        describe_device(&descriptions[i], i);
    atomic_store(&device_count, count < CUDA_DEVICES ? (uint32_t)count : CUDA_DEVICES);
    atomic_store(&describe_state, 2);
}

void cuda_context_seen(struct CUctx_st *context, uint32_t number) {
    uint32_t device = 0;
    if (!context || number >= CUDA_CONTEXTS ||
        atomic_load_explicit(&devices_of[number], memory_order_relaxed))
        return;
    if (cuda_probe.cupti->cuptiGetDeviceId(context, &device) != CUPTI_SUCCEEDED ||
        device >= CUDA_DEVICES)
        device = 0;
    atomic_store(&devices_of[number], device + 1);
    describe_devices();
}

uint32_t cuda_context_device(uint32_t context) {
    uint32_t device = context < CUDA_CONTEXTS ? atomic_load(&devices_of[context]) : 0;
    return device ? device - 1 : 0;
}

bool cuda_device_put(struct spool_lane *lane, uint32_t device) {
    bool under_way = atomic_load(&describe_state) == 1;
    if (device >= atomic_load(&device_count))
        return !under_way;
    const struct description *description = &descriptions[device];
    uint32_t name = spool_text(lane, text_of(description->name));
    struct spool_device *record = spool_begin(lane, SPOOL_DEVICE, name, sizeof *record);
    if (!record)
        return false;
    struct spool_head head = record->head;
    *record = description->device;
    record->head = head;
    spool_publish(lane);
    return true;
}
