/* The functions through which a program gets its devices, and os_signpost, replaced by dyld on
 * macOS (DYLD_INSERT_LIBRARIES and a section __interpose; dlsym() finds the replacements as well).
 * Elsewhere only a stand-in of Metal exists: the tests build a probe with RIDGE_METAL_PRELOAD,
 * whose functions LD_PRELOAD puts in front of the stand-in's.
 *
 * Signposts of Apple's own libraries are left out: they are many, and not the program's.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "probe/metal/metal.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/checksum.h"
#include "base/text.h"

typedef objc_id create_function(void);
typedef void signpost_function(const void *image, const void *log, uint8_t type, uint64_t id,
                               const char *name, const char *format, const uint8_t *buffer,
                               uint32_t bytes);

#ifdef __APPLE__
#define DECLARE(name) extern __typeof__(our_##name) name __attribute__((weak_import));
#define ORIGINAL(type, name) (&name)
#define INTERPOSE(name)                                                                            \
    DECLARE(name)                                                                                  \
    __attribute__((used, section("__DATA,__interpose"))) static const struct {                     \
        void *replacement, *original;                                                              \
    } interpose_##name = {(void *)our_##name, (void *)name};
#define PUBLIC static
#else
#define ORIGINAL(type, name) ((type *)(uintptr_t)dlsym(RTLD_NEXT, #name))
#define INTERPOSE(name)
#define our_MTLCreateSystemDefaultDevice MTLCreateSystemDefaultDevice
#define our_MTLCopyAllDevices MTLCopyAllDevices
#define our__os_signpost_emit_with_name_impl _os_signpost_emit_with_name_impl
#ifdef RIDGE_METAL_PRELOAD
#define PUBLIC __attribute__((visibility("default")))
#else
#define PUBLIC
#endif
#endif

PUBLIC create_function our_MTLCreateSystemDefaultDevice, our_MTLCopyAllDevices;
PUBLIC signpost_function our__os_signpost_emit_with_name_impl;
#ifdef __APPLE__
/* Tells the recorder that dyld has loaded the probe. */
__attribute__((constructor)) static void announce(void) {
    int error = errno;
    probe_start();
    errno = error;
}
#endif

INTERPOSE(MTLCreateSystemDefaultDevice)
INTERPOSE(MTLCopyAllDevices)
INTERPOSE(_os_signpost_emit_with_name_impl)

objc_id our_MTLCreateSystemDefaultDevice(void) {
    create_function *create = ORIGINAL(create_function, MTLCreateSystemDefaultDevice);
    objc_id device = create ? create() : NULL;
    int error = errno;
    metal_device_seen(device);
    errno = error;
    return device;
}

objc_id our_MTLCopyAllDevices(void) {
    create_function *create = ORIGINAL(create_function, MTLCopyAllDevices);
    objc_id devices = create ? create() : NULL;
    int error = errno;
    uint64_t count = devices && metal_objc_load() ? OBJC_GET(uint64_t, devices, "count") : 0;
    for (uint64_t i = 0; i < count; i++)
        metal_device_seen(OBJC_SEND(objc_id, (objc_id, objc_sel, uint64_t), devices,
                                    metal_selector("objectAtIndex:"), i));
    errno = error;
    return devices;
}

/* ---- Signposts --------------------------------------------------------------------------- */

enum { SIGNPOST_BEGIN = 1, SIGNPOST_END = 2, OPEN_INTERVALS = 1024, IMAGES = 64 };
#define RANGE_BEGINS UINT64_MAX /* the place is taken, its range has no id yet */

/* Whether the library of a signpost is the program's own. */
static bool is_of_program(const void *image) {
    static _Atomic uintptr_t
        known[IMAGES]; /* image << 1 | is own; user addresses have spare bits */
    size_t at = ((uintptr_t)image >> 12) % IMAGES;
    uintptr_t there = atomic_load(&known[at]);
    if (there >> 1 == (uintptr_t)image)
        return there & 1;
    Dl_info about;
    bool found = dladdr(image, &about) != 0 && about.dli_fname;
    bool own = !found || (strncmp(about.dli_fname, "/System/", 8) != 0 &&
                          strncmp(about.dli_fname, "/usr/lib/", 9) != 0);
    atomic_store(&known[at], (uintptr_t)image << 1 | own);
    return own;
}

/* Open intervals by log, id and name, as Instruments matches them. */
static struct interval {
    const void *log;
    uint64_t id, range; /* range 0: free */
    const char *name;
} intervals[OPEN_INTERVALS];

static struct interval *find_interval(const void *log, uint64_t id, const char *name, bool begins) {
    size_t at = (checksum64(name, strlen(name)) ^ (uintptr_t)log ^ id) % OPEN_INTERVALS;
    for (unsigned i = 0; i < 8; i++) {
        struct interval *one = &intervals[(at + i) % OPEN_INTERVALS];
        if (begins ? !one->range
                   : one->range && one->range != RANGE_BEGINS && one->log == log && one->id == id &&
                         one->name && strcmp(one->name, name) == 0)
            return one;
    }
    return NULL;
}

/* Without a place its end would not be found: it is not begun then. */
static void begin_interval(const void *log, uint64_t id, const char *name) {
    if (!metal_lock())
        return;
    struct interval *one = find_interval(log, id, name, true);
    if (one)
        *one = (struct interval){log, id, RANGE_BEGINS, name};
    metal_unlock();
    uint64_t range = one ? probe_range_begin(name) : 0;
    if (one && metal_lock()) {
        one->range = range;
        metal_unlock();
    }
}

static void end_interval(const void *log, uint64_t id, const char *name) {
    uint64_t range = 0;
    if (!metal_lock())
        return;
    struct interval *one = find_interval(log, id, name, false);
    if (one) {
        range = one->range;
        one->range = 0;
    }
    metal_unlock();
    if (range)
        probe_range_end(range);
}

void our__os_signpost_emit_with_name_impl(const void *image, const void *log, uint8_t type,
                                          uint64_t id, const char *name, const char *format,
                                          const uint8_t *buffer, uint32_t bytes) {
    int error = errno;
    const struct probe *probe = name ? probe_start() : NULL;
    if (probe && probe->options.metal && probe->options.nvtx && is_of_program(image)) {
        if (type == SIGNPOST_BEGIN)
            begin_interval(log, id, name);
        else if (type == SIGNPOST_END)
            end_interval(log, id, name);
    }
    errno = error;
    signpost_function *emit = ORIGINAL(signpost_function, _os_signpost_emit_with_name_impl);
    if (emit)
        emit(image, log, type, id, name, format, buffer, bytes);
}
