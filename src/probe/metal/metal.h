/* The Metal part of the probe, shared by its files: pure C over the Objective-C runtime.
 *
 * interpose.c sees each MTLDevice that the program gets. From then on methods of the concrete
 * classes of devices, queues, command buffers, encoders and resources are replaced
 * (objc_runtime.c): the classes differ between chips, so they are taken from the objects. Objects
 * are never wrapped, and never kept alive longer than the program does.
 *
 * A command buffer gets a completion handler when it is committed; the handler reads its GPU times
 * and writes the activities (commands.c). Encoders are timed by counter samples where the driver
 * delivers them (counters.c); otherwise each command buffer is one activity.
 */
#ifndef RIDGE_PROBE_METAL_METAL_H
#define RIDGE_PROBE_METAL_METAL_H

#include <stdatomic.h>

#include "probe/probe.h"
#include "trace/schema.h"

/* ---- Objective-C ------------------------------------------------------------------------- */

typedef struct objc_object *objc_id;
typedef struct objc_selector *objc_sel;
typedef struct objc_class *objc_class;
typedef struct objc_method *objc_method;
typedef void (*objc_imp)(void);

#define OBJC_FUNCTIONS(X)                                                                          \
    X(objc_msgSend, void, (void))                                                                  \
    X(sel_registerName, objc_sel, (const char *))                                                  \
    X(objc_getClass, objc_class, (const char *))                                                   \
    X(object_getClass, objc_class, (objc_id))                                                      \
    X(class_getInstanceMethod, objc_method, (objc_class, objc_sel))                                \
    X(method_getImplementation, objc_imp, (objc_method))                                           \
    X(method_getTypeEncoding, const char *, (objc_method))                                         \
    X(class_replaceMethod, objc_imp, (objc_class, objc_sel, objc_imp, const char *))               \
    X(objc_autoreleasePoolPush, void *, (void))                                                    \
    X(objc_autoreleasePoolPop, void, (void *))

struct objc {
#define OBJC_POINTER(name, result, parameters) result(*name) parameters;
    OBJC_FUNCTIONS(OBJC_POINTER)
#undef OBJC_POINTER
    void *stack_block; /* &_NSConcreteStackBlock */
};
extern struct objc objc;

/* Sends a message. `types` are those of all arguments, the object and the selector included. */
#define OBJC_SEND(result, types, ...) (((result(*) types)objc.objc_msgSend)(__VA_ARGS__))
#define OBJC_GET(result, object, selector)                                                         \
    OBJC_SEND(result, (objc_id, objc_sel), object, metal_selector(selector))

/* Loads the functions once. False: there is no Objective-C runtime. */
bool metal_objc_load(void);
/* Selectors are constants: registered once, found by address. */
objc_sel metal_selector(const char *name);
bool metal_responds(objc_id object, const char *selector);
/* An NSString that a property returns, as an interned constant; NULL when there is no such property
 * or it is nil or empty. Takes nil. */
const char *metal_text(objc_id object, const char *property);

/* ---- Replaced methods -------------------------------------------------------------------- */

enum metal_kind {
    METAL_DEVICE,
    METAL_QUEUE,
    METAL_BUFFER, /* MTLCommandBuffer */
    METAL_COMPUTE,
    METAL_BLIT,
    METAL_RENDER,
    METAL_RESOURCE,
    METAL_EVENT, /* MTLSharedEvent */
    METAL_KINDS
};

/* Classes per kind that are recorded. Each has its own copy of our functions, so that a method that
 * calls its superclass's reaches the right original. */
enum { METAL_CLASSES = 4 };

struct metal_hook {
    enum metal_kind kind;
    const char *selector;
    /* Of the result and of the parameters after self and _cmd: @ object or block, v void, Q 64-bit
     * integer, B BOOL, C byte, ^ pointer, S MTLSize, R NSRange. A method with other types is left
     * alone. */
    const char *types;
    objc_imp ours[METAL_CLASSES];
    objc_imp *originals;
};

/* Defines the functions that replace a method: `name` has the original as its first parameter. */
#define METAL_UNPACK(...) __VA_ARGS__
#define METAL_SLOT(slot, result, name, parameters, arguments)                                      \
    static result name##_##slot parameters {                                                       \
        return name(name##_originals[slot], METAL_UNPACK arguments);                               \
    }
#define METAL_HOOK(result, name, parameters, arguments)                                            \
    static objc_imp name##_originals[METAL_CLASSES];                                               \
    METAL_SLOT(0, result, name, parameters, arguments)                                             \
    METAL_SLOT(1, result, name, parameters, arguments)                                             \
    METAL_SLOT(2, result, name, parameters, arguments)                                             \
    METAL_SLOT(3, result, name, parameters, arguments)
#define METAL_ROW(kind, selector, types, name)                                                     \
    {                                                                                              \
        kind, selector, types,                                                                     \
            {(objc_imp)name##_0, (objc_imp)name##_1, (objc_imp)name##_2, (objc_imp)name##_3},      \
            name##_originals                                                                       \
    }
#define METAL_ORIGINAL(result, types, original) ((result(*) types)(original))

/* Lists that a hook without a selector ends. */
extern const struct metal_hook metal_device_hooks[], metal_command_hooks[];

/* Replaces the methods of an object's class, once. False: there are too many classes, or no object.
 */
bool metal_install(enum metal_kind kind, objc_id object);

/* Calls that Metal makes to itself are not recorded: true for the outermost call of the thread.
 * Each metal_enter() needs a metal_leave(). */
bool metal_enter(void);
void metal_leave(void);

/* ---- Devices and queues ------------------------------------------------------------------ */

enum { METAL_DEVICES = 8, METAL_QUEUES = 4096 };

struct metal_clock {
    int64_t first_host, last_host; /* 0: never read */
    uint64_t first_gpu, last_gpu;
};

enum { METAL_SAMPLES = 4096, METAL_SAMPLE_SLOTS = METAL_SAMPLES / 2 };

/* Never freed. */
struct metal_device {
    objc_id object;
    uint32_t index;
    const char *name;
    uint64_t memory_bytes, registry_id;
    struct metal_counters {
        _Atomic int state; /* enum counter_state in counters.c */
        objc_id sample_buffer;
        uint16_t free_slots[METAL_SAMPLE_SLOTS];
        uint32_t free_count, failures, successes;
    } counters;
    struct metal_clock clock;
};

struct metal_queue {
    objc_id object;
    struct metal_device *device;
    uint32_t stream;
    _Atomic(const char *) label; /* NULL: none, or not read */
    _Atomic bool is_named;       /* in the spool */
};

extern struct probe *metal_probe; /* NULL: Metal is not recorded */

/* The program has a device. Starts the probe. Takes nil. */
void metal_device_seen(objc_id device);
struct metal_device *metal_find_device(objc_id device);
struct metal_queue *metal_find_queue(objc_id queue);

/* ---- Records ----------------------------------------------------------------------------- */

bool metal_is_recording(int64_t now);
uint32_t metal_next_correlation(void);

struct metal_call {
    int64_t start; /* 0: not recorded */
    uint32_t correlation;
};
struct metal_call metal_call_begin(void);
void metal_call_end(const struct metal_call *call, const char *name, enum call_class class,
                    int result);
/* Describes the device in the lane of the calling thread, once. */
bool metal_announce(struct spool_lane *lane, const struct metal_device *device);
/* Counts command buffers that have no times. `why` must be a constant. */
void metal_put_dropped(struct probe_thread *thread, const char *why, uint64_t count);

/* One lock for the tables of the probe; held for a few instructions. */
bool metal_lock(void);
void metal_unlock(void);

/* ---- Commands ---------------------------------------------------------------------------- */

/* The name of a pipeline is that of its function, or else the label of its descriptor. Takes nil.
 */
void metal_pipeline_created(objc_id pipeline, objc_id function, objc_id descriptor);
/* In a child of fork(). */
void metal_commands_forked(void);

/* ---- Counter samples --------------------------------------------------------------------- */

enum { METAL_NO_SLOT = -1 };

/* A descriptor for an encoder of this kind whose begin and end are sampled, to be released by the
 * caller; nil: not sampled. `given` is the program's descriptor or nil. */
objc_id metal_sampled_descriptor(struct metal_device *device, enum metal_kind kind, objc_id given,
                                 int *slot);
/* How to convert the device's timestamps now. The samples of one command buffer are converted with
 * one clock: with two, encoders that ran one after the other could overlap. */
struct metal_clock metal_read_clock(struct metal_device *device);
/* The times of a completed encoder on the monotonic clock; false: none, or impossible ones for a
 * command buffer that ran from `from` to `until`. */
bool metal_read_samples(struct metal_device *device, const struct metal_clock *clock, int slot,
                        int64_t from, int64_t until, int64_t *start, int64_t *end);
void metal_free_slot(struct metal_device *device, int slot);
/* Why encoders are not timed; NULL: they are. */
const char *metal_counters_missing(const struct metal_device *device);

#endif
