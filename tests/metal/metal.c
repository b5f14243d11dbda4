/* Metal: devices, buffers, libraries, pipelines, queues, command buffers, encoders and events.
 *
 * A committed command buffer runs when the program waits for it, or after it has asked for its
 * state a few times: as late as possible.
 */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long NSUInteger;
typedef long NSInteger;
struct size {
    NSUInteger width, height, depth;
};
enum { POLLS = 3, THREADGROUP_MEMORY = 32768, BYTES_MAX = 4096 };
#define END_OF_METHODS                                                                             \
    { NULL, NULL, PLAIN, NULL, false, 0 }

struct class standin_device_class, standin_options_class, standin_library_class,
    standin_function_class, standin_pipeline_class, standin_buffer_class, standin_event_class,
    standin_queue_class, standin_command_buffer_class, standin_compute_class, standin_blit_class;

/* ---- Time: 24 MHz ticks, which began long before this process ---- */

static const uint64_t EPOCH_NS = 5000000000000;

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec + EPOCH_NS;
}
EXPORT uint64_t mach_absolute_time(void) {
    return now_ns() * 3 / 125;
}
EXPORT int mach_timebase_info(uint32_t info[2]) {
    info[0] = 125;
    info[1] = 3;
    return 0;
}

/* ---- MTLBuffer ---- */

struct buffer {
    struct object base;
    char *contents;
    size_t length, mapped;
};
static size_t allocated;

static void buffer_destroy(id self) {
    struct buffer *buffer = (struct buffer *)self;
    munmap(buffer->contents, buffer->mapped);
    allocated -= buffer->length;
}
static void *buffer_contents(id self, SEL _cmd) {
    (void)_cmd;
    return ((struct buffer *)self)->contents;
}
static const struct method buffer_methods[] = {
    {"contents", "^", PLAIN, (IMP)buffer_contents, false, 0},
    END_OF_METHODS,
};
struct class standin_buffer_class = {
    .name = "MTLBuffer", .methods = buffer_methods, .destroy = buffer_destroy};

/* A page that cannot be accessed follows the buffer. */
static id buffer_new(size_t length) {
    size_t page = (size_t)getpagesize(), mapped = (length + page - 1) / page * page + page;
    char *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    mprotect(memory + mapped - page, page, PROT_NONE);
    struct buffer *buffer = (struct buffer *)standin_new(&standin_buffer_class, sizeof *buffer);
    buffer->length = length;
    buffer->mapped = mapped;
    buffer->contents = memory;
    if (length <= 1 << 20)
        memset(memory, 0xa5, length); /* buffers are not cleared */
    allocated += length;
    return &buffer->base;
}

/* ---- MTLCompileOptions, MTLLibrary, MTLFunction, MTLComputePipelineState ---- */

struct options {
    struct object base;
    bool safe;
    NSUInteger language;
};
static id options_new(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return standin_new(&standin_options_class, sizeof(struct options));
}
static void options_math_mode(id self, SEL _cmd, NSInteger mode) {
    (void)_cmd;
    if (mode < 0 || mode > 2)
        standin_fail("setMathMode: %ld", mode);
    ((struct options *)self)->safe = mode == 0;
}
static void options_fast_math(id self, SEL _cmd, bool fast) {
    (void)_cmd;
    ((struct options *)self)->safe = !fast;
}
static void options_language(id self, SEL _cmd, NSUInteger version) {
    NSUInteger newest = standin_system() >= 15   ? (3 << 16) + 2
                        : standin_system() >= 14 ? (3 << 16) + 1
                                                 : 3 << 16;
    (void)_cmd;
    if (version > newest)
        standin_fail("setLanguageVersion: %lu.%lu is newer than this system", version >> 16,
                     version & 65535);
    ((struct options *)self)->language = version;
}
static const struct method options_methods[] = {
    {"new", "@", OWNED, (IMP)options_new, true, 0},
    {"setMathMode:", "vq", PLAIN, (IMP)options_math_mode, false, 15},
    {"setFastMathEnabled:", "vB", PLAIN, (IMP)options_fast_math, false, 0},
    {"setLanguageVersion:", "vQ", PLAIN, (IMP)options_language, false, 0},
    END_OF_METHODS,
};
struct class standin_options_class = {.name = "MTLCompileOptions", .methods = options_methods};

struct library {
    struct object base;
    void *image;
};
static void library_destroy(id self) {
    compile_close(((struct library *)self)->image);
}
struct function {
    struct object base;
    id library;
    struct kernel_image image;
};
static void function_destroy(id self) {
    standin_release(((struct function *)self)->library);
}
static id library_new_function(id self, SEL _cmd, id name) {
    struct kernel_image image = {0};
    (void)_cmd;
    if (!compile_find(((struct library *)self)->image, standin_text(name), &image))
        return NULL;
    struct function *function =
        (struct function *)standin_new(&standin_function_class, sizeof *function);
    function->image = image;
    function->library = standin_retain(self);
    return &function->base;
}
static const struct method library_methods[] = {
    {"newFunctionWithName:", "@@", OWNED, (IMP)library_new_function, false, 0},
    END_OF_METHODS,
};
struct class standin_library_class = {
    .name = "MTLLibrary", .methods = library_methods, .destroy = library_destroy};
static const struct method function_methods[] = {END_OF_METHODS};
struct class standin_function_class = {
    .name = "MTLFunction", .methods = function_methods, .destroy = function_destroy};

struct pipeline {
    struct object base;
    id function;
    NSUInteger threads_max;
};
static const struct kernel_image *pipeline_image(const struct pipeline *pipeline) {
    return &((struct function *)pipeline->function)->image;
}
static void pipeline_destroy(id self) {
    standin_release(((struct pipeline *)self)->function);
}
static NSUInteger pipeline_threads_max(id self, SEL _cmd) {
    (void)_cmd;
    return ((struct pipeline *)self)->threads_max;
}
static NSUInteger pipeline_width(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return (NSUInteger)standin_setting("METAL_STANDIN_WIDTH", 32);
}
static NSUInteger pipeline_static_memory(id self, SEL _cmd) {
    (void)_cmd;
    return (pipeline_image((struct pipeline *)self)->shared_bytes + 15) / 16 * 16;
}
static const struct method pipeline_methods[] = {
    {"maxTotalThreadsPerThreadgroup", "Q", PLAIN, (IMP)pipeline_threads_max, false, 0},
    {"threadExecutionWidth", "Q", PLAIN, (IMP)pipeline_width, false, 0},
    {"staticThreadgroupMemoryLength", "Q", PLAIN, (IMP)pipeline_static_memory, false, 0},
    END_OF_METHODS,
};
struct class standin_pipeline_class = {
    .name = "MTLComputePipelineState", .methods = pipeline_methods, .destroy = pipeline_destroy};

/* ---- MTLSharedEvent ---- */

struct event {
    struct object base;
    uint64_t value;
    unsigned polls;
};
static bool progress(void);
static uint64_t event_value(id self, SEL _cmd) {
    struct event *event = (struct event *)self;
    (void)_cmd;
    if (++event->polls % POLLS == 0)
        progress();
    return event->value;
}
static const struct method event_methods[] = {
    {"signaledValue", "Q", PLAIN, (IMP)event_value, false, 0},
    END_OF_METHODS,
};
struct class standin_event_class = {.name = "MTLSharedEvent", .methods = event_methods};

/* ---- MTLCommandBuffer ---- */

enum command_kind { DISPATCH, COPY, SIGNAL, WAIT };
struct command {
    enum command_kind kind;
    struct pipeline *pipeline;
    struct kernel_arguments arguments;
    char *bytes[BUFFERS_MAX]; /* of setBytes */
    size_t dynamic;
    struct buffer *from, *to;
    size_t from_offset, to_offset, length;
    struct event *event;
    uint64_t value;
};

enum buffer_status { NOT_ENQUEUED, ENQUEUED, COMMITTED, SCHEDULED, COMPLETED, FAILED };
struct command_buffer {
    struct object base;
    struct queue *queue;
    enum buffer_status status;
    id encoder; /* that is open */
    struct command *commands;
    size_t count, capacity;
    id *retained;
    size_t retained_count, retained_capacity;
    double start, end;
    id error;
    unsigned polls;
    struct command_buffer *next; /* of the queue's committed ones */
    bool executing;
};
struct queue {
    struct object base;
    struct command_buffer *first, *last; /* committed, not completed */
    struct queue *next_queue;
    NSUInteger limit, uncompleted; /* command buffers; the limit is on those */
};
static struct queue *queues;
static unsigned long buffers_committed;

/* A command buffer keeps what it uses until it is completed. */
static void keep(struct command_buffer *buffer, id object) {
    if (buffer->retained_count == buffer->retained_capacity) {
        buffer->retained_capacity = buffer->retained_capacity * 2 + 16;
        buffer->retained =
            realloc(buffer->retained, buffer->retained_capacity * sizeof *buffer->retained);
    }
    buffer->retained[buffer->retained_count++] = standin_retain(object);
}

static struct command *add_command(struct command_buffer *buffer, enum command_kind kind) {
    if (buffer->count == buffer->capacity) {
        buffer->capacity = buffer->capacity * 2 + 4;
        buffer->commands = realloc(buffer->commands, buffer->capacity * sizeof *buffer->commands);
        if (!buffer->commands)
            standin_fail("no memory");
    }
    struct command *command = &buffer->commands[buffer->count++];
    memset(command, 0, sizeof *command);
    command->kind = kind;
    return command;
}

static void free_commands(struct command_buffer *buffer) {
    for (size_t i = 0; i < buffer->count; i++)
        for (unsigned j = 0; j < BUFFERS_MAX; j++)
            free(buffer->commands[i].bytes[j]);
    free(buffer->commands);
    buffer->commands = NULL;
    buffer->count = buffer->capacity = 0;
    for (size_t i = 0; i < buffer->retained_count; i++)
        standin_release(buffer->retained[i]);
    free(buffer->retained);
    buffer->retained = NULL;
    buffer->retained_count = buffer->retained_capacity = 0;
}

static void command_buffer_destroy(id self) {
    struct command_buffer *buffer = (struct command_buffer *)self;
    if (buffer->encoder)
        standin_fail("a command buffer is released with an open encoder");
    free_commands(buffer);
    if (buffer->error)
        standin_release(buffer->error);
    if (buffer->status < COMPLETED) /* never committed */
        buffer->queue->uncompleted--;
    standin_release(&buffer->queue->base);
}

static void run_dispatch(struct command *command) {
    const struct kernel_image *image = pipeline_image(command->pipeline);
    char *dynamic = NULL;
    if (command->dynamic) {
        dynamic = aligned_alloc(256, (command->dynamic + 255) / 256 * 256);
        memset(dynamic, 0xff, command->dynamic);
    }
    command->arguments.dynamic = dynamic;
    threads_run(image, &command->arguments);
    free(dynamic);
}

static void wait_for(const struct event *event, uint64_t value) {
    while (event->value < value)
        if (!progress())
            standin_fail("deadlock: a command buffer waits for the value %llu of an event that no "
                         "committed command buffer signals",
                         (unsigned long long)value);
}

static void run_command(struct command *command) {
    switch (command->kind) {
    case DISPATCH:
        run_dispatch(command);
        break;
    case COPY:
        memmove(command->to->contents + command->to_offset,
                command->from->contents + command->from_offset, command->length);
        break;
    case SIGNAL:
        if (command->value <= command->event->value)
            standin_fail("an event's value goes back from %llu to %llu",
                         (unsigned long long)command->event->value,
                         (unsigned long long)command->value);
        command->event->value = command->value;
        break;
    case WAIT:
        wait_for(command->event, command->value);
        break;
    }
}

/* Runs the queue's oldest command buffer. */
static void run_first(struct queue *queue) {
    struct command_buffer *buffer = queue->first;
    static unsigned long number;
    bool fails = ++number == (unsigned long)standin_setting("METAL_STANDIN_FAIL", 0);
    buffer->executing = true;
    uint64_t start = now_ns();
    for (size_t i = 0; i < buffer->count; i++) {
        if (buffer->commands[i].kind == WAIT) {
            run_command(&buffer->commands[i]);
            start = now_ns();
        } else if (!fails || buffer->commands[i].kind == SIGNAL) {
            run_command(&buffer->commands[i]);
        }
    }
    buffer->start = (double)start / 1e9;
    buffer->end = (double)now_ns() / 1e9;
    if (standin_setting("METAL_STANDIN_NO_TIMES", 0))
        buffer->start = buffer->end = 0;
    buffer->status = fails ? FAILED : COMPLETED;
    buffer->queue->uncompleted--;
    if (fails) {
        void *objc_autoreleasePoolPush(void), objc_autoreleasePoolPop(void *);
        void *pool = objc_autoreleasePoolPush();
        buffer->error = standin_retain(standin_error("Caused GPU Timeout Error"));
        objc_autoreleasePoolPop(pool);
    }
    buffer->executing = false;
    queue->first = buffer->next;
    if (!queue->first)
        queue->last = NULL;
    free_commands(buffer);
    standin_release(&buffer->base);
}

static bool progress(void) {
    for (struct queue *queue = queues; queue; queue = queue->next_queue)
        if (queue->first && !queue->first->executing) {
            run_first(queue);
            return true;
        }
    return false;
}

static void run_until_done(struct command_buffer *buffer) {
    while (buffer->status < COMPLETED) {
        if (buffer->executing)
            standin_fail("a command buffer waits for itself");
        run_first(buffer->queue);
    }
}

static void check_open(const struct command_buffer *buffer, const char *what) {
    if (buffer->status >= COMMITTED)
        standin_fail("%s: the command buffer is committed", what);
    if (buffer->encoder)
        standin_fail("%s: the command buffer has an open encoder", what);
}

struct encoder {
    struct object base;
    struct command_buffer *buffer;
    bool ended;
    struct pipeline *pipeline;
    struct buffer *buffers[BUFFERS_MAX];
    size_t offsets[BUFFERS_MAX];
    char *bytes[BUFFERS_MAX];
    size_t byte_lengths[BUFFERS_MAX];
    uint32_t bound;
    size_t dynamic;
};

static id open_encoder(id self, struct class *class, const char *what) {
    struct command_buffer *buffer = (struct command_buffer *)self;
    check_open(buffer, what);
    struct encoder *encoder = (struct encoder *)standin_new(class, sizeof *encoder);
    encoder->buffer = buffer;
    buffer->encoder = &encoder->base;
    standin_retain(self);
    return standin_autorelease(&encoder->base);
}
static id command_buffer_compute(id self, SEL _cmd) {
    (void)_cmd;
    return open_encoder(self, &standin_compute_class, "computeCommandEncoder");
}
static id command_buffer_blit(id self, SEL _cmd) {
    (void)_cmd;
    return open_encoder(self, &standin_blit_class, "blitCommandEncoder");
}
static void add_event(id self, id object, uint64_t value, enum command_kind kind) {
    struct command_buffer *buffer = (struct command_buffer *)self;
    const char *what = kind == SIGNAL ? "encodeSignalEvent:value:" : "encodeWaitForEvent:value:";
    struct event *event = standin_check(object, &standin_event_class, what);
    check_open(buffer, what);
    keep(buffer, object);
    struct command *command = add_command(buffer, kind);
    command->event = event;
    command->value = value;
}
static void command_buffer_signal(id self, SEL _cmd, id event, uint64_t value) {
    (void)_cmd;
    add_event(self, event, value, SIGNAL);
}
static void command_buffer_wait_for(id self, SEL _cmd, id event, uint64_t value) {
    (void)_cmd;
    add_event(self, event, value, WAIT);
}
static void command_buffer_commit(id self, SEL _cmd) {
    struct command_buffer *buffer = (struct command_buffer *)self;
    (void)_cmd;
    check_open(buffer, "commit");
    buffer->status = COMMITTED;
    standin_retain(self);
    if (buffer->queue->last)
        buffer->queue->last->next = buffer;
    else
        buffer->queue->first = buffer;
    buffer->queue->last = buffer;
    buffers_committed++;
}
static void command_buffer_wait(id self, SEL _cmd) {
    struct command_buffer *buffer = (struct command_buffer *)self;
    (void)_cmd;
    if (buffer->status < COMMITTED)
        standin_fail("waitUntilCompleted: the command buffer is not committed");
    run_until_done(buffer);
}
static NSUInteger command_buffer_status(id self, SEL _cmd) {
    struct command_buffer *buffer = (struct command_buffer *)self;
    (void)_cmd;
    if (buffer->status >= COMMITTED && buffer->status < COMPLETED && ++buffer->polls % POLLS == 0)
        run_first(buffer->queue);
    return buffer->status;
}
static id command_buffer_error(id self, SEL _cmd) {
    (void)_cmd;
    return ((struct command_buffer *)self)->error;
}
static double command_buffer_start(id self, SEL _cmd) {
    (void)_cmd;
    return ((struct command_buffer *)self)->start;
}
static double command_buffer_end(id self, SEL _cmd) {
    (void)_cmd;
    return ((struct command_buffer *)self)->end;
}
static const struct method command_buffer_methods[] = {
    {"computeCommandEncoder", "@", BORROWED, (IMP)command_buffer_compute, false, 0},
    {"blitCommandEncoder", "@", BORROWED, (IMP)command_buffer_blit, false, 0},
    {"encodeSignalEvent:value:", "v@Q", PLAIN, (IMP)command_buffer_signal, false, 0},
    {"encodeWaitForEvent:value:", "v@Q", PLAIN, (IMP)command_buffer_wait_for, false, 0},
    {"commit", "v", PLAIN, (IMP)command_buffer_commit, false, 0},
    {"waitUntilCompleted", "v", PLAIN, (IMP)command_buffer_wait, false, 0},
    {"status", "Q", PLAIN, (IMP)command_buffer_status, false, 0},
    {"error", "@", BORROWED, (IMP)command_buffer_error, false, 0},
    {"GPUStartTime", "d", PLAIN, (IMP)command_buffer_start, false, 0},
    {"GPUEndTime", "d", PLAIN, (IMP)command_buffer_end, false, 0},
    END_OF_METHODS,
};
struct class standin_command_buffer_class = {.name = "MTLCommandBuffer",
                                             .methods = command_buffer_methods,
                                             .destroy = command_buffer_destroy};

/* ---- Encoders ---- */

static void encoder_destroy(id self) {
    struct encoder *encoder = (struct encoder *)self;
    if (!encoder->ended)
        standin_fail("a %s is released without endEncoding", self->isa->name);
    for (unsigned i = 0; i < BUFFERS_MAX; i++)
        free(encoder->bytes[i]);
    standin_release(&encoder->buffer->base);
}
static struct encoder *encoder_of(id self, const char *what) {
    struct encoder *encoder = (struct encoder *)self;
    if (encoder->ended)
        standin_fail("%s: the encoder has ended", what);
    return encoder;
}
static void encoder_end(id self, SEL _cmd) {
    struct encoder *encoder = encoder_of(self, "endEncoding");
    (void)_cmd;
    encoder->ended = true;
    encoder->buffer->encoder = NULL;
}
static void encoder_pipeline(id self, SEL _cmd, id state) {
    struct encoder *encoder = encoder_of(self, "setComputePipelineState:");
    (void)_cmd;
    encoder->pipeline = standin_check(state, &standin_pipeline_class, "setComputePipelineState:");
    keep(encoder->buffer, state);
}
static void clear_binding(struct encoder *encoder, NSUInteger index, const char *what) {
    if (index >= BUFFERS_MAX)
        standin_fail("%s index %lu", what, index);
    free(encoder->bytes[index]);
    encoder->bytes[index] = NULL;
    encoder->buffers[index] = NULL;
    encoder->bound |= 1u << index;
}
static void encoder_buffer(id self, SEL _cmd, id object, NSUInteger offset, NSUInteger index) {
    struct encoder *encoder = encoder_of(self, "setBuffer:offset:atIndex:");
    (void)_cmd;
    clear_binding(encoder, index, "setBuffer:offset:atIndex:");
    if (!object)
        return;
    struct buffer *buffer =
        standin_check(object, &standin_buffer_class, "setBuffer:offset:atIndex:");
    if (offset > buffer->length)
        standin_fail("setBuffer:offset:atIndex: offset %lu in a buffer of %zu", offset,
                     buffer->length);
    keep(encoder->buffer, object);
    encoder->buffers[index] = buffer;
    encoder->offsets[index] = offset;
}
static void encoder_bytes(id self, SEL _cmd, const void *bytes, NSUInteger length,
                          NSUInteger index) {
    struct encoder *encoder = encoder_of(self, "setBytes:length:atIndex:");
    (void)_cmd;
    clear_binding(encoder, index, "setBytes:length:atIndex:");
    if (length == 0 || length > BYTES_MAX)
        standin_fail("setBytes:length:atIndex: length %lu", length);
    encoder->bytes[index] = malloc(length);
    encoder->byte_lengths[index] = length;
    memcpy(encoder->bytes[index], bytes, length);
}
static void encoder_threadgroup(id self, SEL _cmd, NSUInteger length, NSUInteger index) {
    struct encoder *encoder = encoder_of(self, "setThreadgroupMemoryLength:atIndex:");
    (void)_cmd;
    if (index != 0 || length % 16 != 0 || length > THREADGROUP_MEMORY)
        standin_fail("setThreadgroupMemoryLength: %lu atIndex: %lu", length, index);
    encoder->dynamic = length;
}

static void check_dispatch(const struct encoder *encoder, const struct kernel_image *image,
                           struct size groups, struct size threads) {
    NSUInteger all = threads.width * threads.height * threads.depth;
    if (!groups.width || !groups.height || !groups.depth || !all)
        standin_fail("dispatchThreadgroups: an empty grid or threadgroup");
    if (all > encoder->pipeline->threads_max)
        standin_fail("dispatchThreadgroups: %lu threads in a threadgroup, at most %lu", all,
                     encoder->pipeline->threads_max);
    if (groups.width > UINT32_MAX || groups.height > UINT32_MAX || groups.depth > UINT32_MAX)
        standin_fail("dispatchThreadgroups: the grid is too large");
    if ((image->buffer_mask & encoder->bound) != image->buffer_mask)
        standin_fail("dispatchThreadgroups: parameters %#x of the kernel, but %#x are set",
                     image->buffer_mask, encoder->bound);
    if (image->has_dynamic && !encoder->dynamic)
        standin_fail("dispatchThreadgroups: the kernel's threadgroup memory has no length");
    if (image->shared_bytes + (image->has_dynamic ? encoder->dynamic : 0) > THREADGROUP_MEMORY)
        standin_fail("dispatchThreadgroups: %zu bytes of threadgroup memory",
                     image->shared_bytes + encoder->dynamic);
}

static void bind_arguments(const struct encoder *encoder, struct command *command) {
    for (unsigned i = 0; i < BUFFERS_MAX; i++) {
        if (encoder->buffers[i])
            command->arguments.buffers[i] = encoder->buffers[i]->contents + encoder->offsets[i];
        if (encoder->bytes[i]) {
            command->bytes[i] = malloc(encoder->byte_lengths[i]);
            memcpy(command->bytes[i], encoder->bytes[i], encoder->byte_lengths[i]);
            command->arguments.buffers[i] = command->bytes[i];
        }
    }
}

static void encoder_dispatch(id self, SEL _cmd, struct size groups, struct size threads) {
    struct encoder *encoder = encoder_of(self, "dispatchThreadgroups:threadsPerThreadgroup:");
    (void)_cmd;
    if (!encoder->pipeline)
        standin_fail("dispatchThreadgroups: no pipeline is set");
    const struct kernel_image *image = pipeline_image(encoder->pipeline);
    check_dispatch(encoder, image, groups, threads);
    struct command *command = add_command(encoder->buffer, DISPATCH);
    command->pipeline = encoder->pipeline;
    command->dynamic = image->has_dynamic ? encoder->dynamic : 0;
    bind_arguments(encoder, command);
    command->arguments.groups[0] = (uint32_t)groups.width;
    command->arguments.groups[1] = (uint32_t)groups.height;
    command->arguments.groups[2] = (uint32_t)groups.depth;
    command->arguments.threads[0] = (uint32_t)threads.width;
    command->arguments.threads[1] = (uint32_t)threads.height;
    command->arguments.threads[2] = (uint32_t)threads.depth;
}
static const struct method compute_methods[] = {
    {"setComputePipelineState:", "v@", PLAIN, (IMP)encoder_pipeline, false, 0},
    {"setBuffer:offset:atIndex:", "v@QQ", PLAIN, (IMP)encoder_buffer, false, 0},
    {"setBytes:length:atIndex:", "v^QQ", PLAIN, (IMP)encoder_bytes, false, 0},
    {"setThreadgroupMemoryLength:atIndex:", "vQQ", PLAIN, (IMP)encoder_threadgroup, false, 0},
    {"dispatchThreadgroups:threadsPerThreadgroup:", "vSS", PLAIN, (IMP)encoder_dispatch, false, 0},
    {"endEncoding", "v", PLAIN, (IMP)encoder_end, false, 0},
    END_OF_METHODS,
};
struct class standin_compute_class = {
    .name = "MTLComputeCommandEncoder", .methods = compute_methods, .destroy = encoder_destroy};

static void encoder_copy(id self, SEL _cmd, id from, NSUInteger from_offset, id to,
                         NSUInteger to_offset, NSUInteger length) {
    const char *what = "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:";
    struct encoder *encoder = encoder_of(self, what);
    struct buffer *source = standin_check(from, &standin_buffer_class, what);
    struct buffer *target = standin_check(to, &standin_buffer_class, what);
    (void)_cmd;
    if ((from_offset | to_offset | length) % 4 != 0)
        standin_fail("%s offsets and size are multiples of 4 on macOS", what);
    if (length == 0 || from_offset > source->length || length > source->length - from_offset ||
        to_offset > target->length || length > target->length - to_offset)
        standin_fail("%s outside of a buffer", what);
    if (source == target && from_offset < to_offset + length && to_offset < from_offset + length)
        standin_fail("%s source and destination overlap", what);
    keep(encoder->buffer, from);
    keep(encoder->buffer, to);
    struct command *command = add_command(encoder->buffer, COPY);
    command->from = source;
    command->to = target;
    command->from_offset = from_offset;
    command->to_offset = to_offset;
    command->length = length;
}
static const struct method blit_methods[] = {
    {"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", "v@Q@QQ", PLAIN,
     (IMP)encoder_copy, false, 0},
    {"endEncoding", "v", PLAIN, (IMP)encoder_end, false, 0},
    END_OF_METHODS,
};
struct class standin_blit_class = {
    .name = "MTLBlitCommandEncoder", .methods = blit_methods, .destroy = encoder_destroy};

/* ---- MTLCommandQueue ---- */

static void queue_destroy(id self) {
    for (struct queue **place = &queues; *place; place = &(*place)->next_queue)
        if (*place == (struct queue *)self) {
            *place = (*place)->next_queue;
            return;
        }
}
static id queue_command_buffer(id self, SEL _cmd) {
    struct queue *queue = (struct queue *)self;
    (void)_cmd;
    if (queue->uncompleted == queue->limit)
        standin_fail("commandBuffer: blocks, as %lu command buffers of the queue are not completed",
                     queue->limit);
    struct command_buffer *buffer =
        (struct command_buffer *)standin_new(&standin_command_buffer_class, sizeof *buffer);
    buffer->queue = queue;
    standin_retain(self);
    queue->uncompleted++;
    return standin_autorelease(&buffer->base);
}
static const struct method queue_methods[] = {
    {"commandBuffer", "@", BORROWED, (IMP)queue_command_buffer, false, 0},
    END_OF_METHODS,
};
struct class standin_queue_class = {
    .name = "MTLCommandQueue", .methods = queue_methods, .destroy = queue_destroy};

/* ---- MTLDevice ---- */

struct device {
    struct object base;
    unsigned index;
};
static id device_name(id self, SEL _cmd) {
    (void)_cmd;
    return standin_string(((struct device *)self)->index ? "Stand-in GPU 2" : "Stand-in GPU");
}
static uint64_t device_registry(id self, SEL _cmd) {
    (void)_cmd;
    return 0x100000300 + ((struct device *)self)->index;
}
static bool device_family(id self, SEL _cmd, NSInteger family) {
    long newest = standin_setting("METAL_STANDIN_FAMILY", 8);
    (void)self;
    (void)_cmd;
    return (family > 1000 && family <= 1000 + newest) || family == 2002;
}
static uint64_t memory_bytes(void) {
    return (uint64_t)standin_setting("METAL_STANDIN_MEMORY", 4096) << 20;
}
static NSUInteger device_buffer_max(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return memory_bytes() / 2;
}
static uint64_t device_working_set(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return memory_bytes();
}
static NSUInteger device_allocated(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return allocated;
}
static NSUInteger device_threadgroup_memory(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return THREADGROUP_MEMORY;
}
static struct size device_threads(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return (struct size){1024, 1024, 1024};
}
static id device_new_queue(id self, SEL _cmd, NSUInteger count) {
    (void)self;
    (void)_cmd;
    if (count == 0)
        standin_fail("newCommandQueueWithMaxCommandBufferCount: 0");
    struct queue *queue = (struct queue *)standin_new(&standin_queue_class, sizeof *queue);
    queue->limit = count;
    queue->next_queue = queues;
    queues = queue;
    return &queue->base;
}
static id device_new_buffer(id self, SEL _cmd, NSUInteger length, NSUInteger options) {
    (void)self;
    (void)_cmd;
    if (options != 0)
        standin_fail("newBufferWithLength:options: %#lx, not shared storage", options);
    if (length == 0)
        standin_fail("newBufferWithLength: 0");
    return length > memory_bytes() / 2 ? NULL : buffer_new(length);
}
static id device_new_library(id self, SEL _cmd, id source, id options, id *error) {
    char *log = NULL;
    (void)self;
    (void)_cmd;
    struct options *chosen =
        standin_check(options, &standin_options_class, "newLibraryWithSource:options:error:");
    if (!chosen->safe)
        standin_fail("newLibraryWithSource: fast math assumes that there are no NaNs");
    void *image = compile_library(standin_text(source), &log);
    if (!image) {
        if (error)
            *error = standin_error(log);
        free(log);
        return NULL;
    }
    struct library *library =
        (struct library *)standin_new(&standin_library_class, sizeof *library);
    library->image = image;
    return &library->base;
}
static id device_new_pipeline(id self, SEL _cmd, id object, id *error) {
    (void)self;
    (void)_cmd;
    const char *what = "newComputePipelineStateWithFunction:error:";
    struct function *function = standin_check(object, &standin_function_class, what);
    if (function->image.shared_bytes > THREADGROUP_MEMORY) {
        if (error)
            *error = standin_error("Threadgroup memory size exceeds the maximum of 32768");
        return NULL;
    }
    struct pipeline *pipeline =
        (struct pipeline *)standin_new(&standin_pipeline_class, sizeof *pipeline);
    pipeline->function = standin_retain(object);
    /* without the attribute it depends on the registers that the compiler uses */
    NSUInteger threads = function->image.threads_max ? function->image.threads_max : 256;
    NSUInteger limit = (NSUInteger)standin_setting("METAL_STANDIN_THREADS", 1024);
    pipeline->threads_max = threads < limit ? threads : limit;
    return &pipeline->base;
}
static id device_new_event(id self, SEL _cmd) {
    (void)self;
    (void)_cmd;
    return standin_new(&standin_event_class, sizeof(struct event));
}
static const struct method device_methods[] = {
    {"name", "@", BORROWED, (IMP)device_name, false, 0},
    {"registryID", "Q", PLAIN, (IMP)device_registry, false, 0},
    {"supportsFamily:", "Bq", PLAIN, (IMP)device_family, false, 0},
    {"maxBufferLength", "Q", PLAIN, (IMP)device_buffer_max, false, 0},
    {"recommendedMaxWorkingSetSize", "Q", PLAIN, (IMP)device_working_set, false, 0},
    {"currentAllocatedSize", "Q", PLAIN, (IMP)device_allocated, false, 0},
    {"maxThreadgroupMemoryLength", "Q", PLAIN, (IMP)device_threadgroup_memory, false, 0},
    {"maxThreadsPerThreadgroup", "S", PLAIN, (IMP)device_threads, false, 0},
    {"newCommandQueueWithMaxCommandBufferCount:", "@Q", OWNED, (IMP)device_new_queue, false, 0},
    {"newBufferWithLength:options:", "@QQ", OWNED, (IMP)device_new_buffer, false, 0},
    {"newLibraryWithSource:options:error:", "@@@^", OWNED, (IMP)device_new_library, false, 0},
    {"newComputePipelineStateWithFunction:error:", "@@^", OWNED, (IMP)device_new_pipeline, false,
     0},
    {"newSharedEvent", "@", OWNED, (IMP)device_new_event, false, 0},
    END_OF_METHODS,
};
struct class standin_device_class = {.name = "MTLDevice", .methods = device_methods};

static unsigned device_list(id devices[2]) {
    static id made[2];
    long count = standin_setting("METAL_STANDIN_DEVICES", 1);
    count = count < 0 ? 0 : count > 2 ? 2 : count;
    for (long i = 0; i < count; i++) {
        if (!made[i]) {
            made[i] = standin_new(&standin_device_class, sizeof(struct device));
            made[i]->own = 1;
            ((struct device *)made[i])->index = (unsigned)i;
        }
        devices[i] = made[i];
    }
    return (unsigned)count;
}
EXPORT id MTLCreateSystemDefaultDevice(void) {
    id devices[2];
    return device_list(devices) ? standin_retain(devices[0]) : NULL;
}
/* Not in the order of preference. */
EXPORT id MTLCopyAllDevices(void) {
    id devices[2] = {NULL, NULL}, turned[2];
    unsigned count = device_list(devices);
    for (unsigned i = 0; i < count; i++)
        turned[i] = devices[count - 1 - i];
    return standin_array(turned, count);
}

/* ---- IOKit and CoreFoundation: the number of GPU cores ---- */

static long io_alive;
static uint64_t matching_id;
EXPORT void *IORegistryEntryIDMatching(uint64_t id) {
    matching_id = id;
    return &matching_id;
}
EXPORT uint32_t IOServiceGetMatchingService(uint32_t port, void *matching) {
    if (port != 0 || matching != &matching_id || matching_id < 0x100000300)
        standin_fail("IOServiceGetMatchingService of %u", port);
    io_alive++;
    return 77;
}
EXPORT void *CFStringCreateWithCString(void *allocator, const char *text, uint32_t encoding) {
    if (allocator || encoding != 0x08000100)
        standin_fail("CFStringCreateWithCString with encoding %#x", encoding);
    io_alive++;
    return strdup(text);
}
EXPORT void *IORegistryEntrySearchCFProperty(uint32_t service, const char *plane, void *key,
                                             void *allocator, uint32_t options) {
    if (service != 77 || strcmp(plane, "IOService") != 0 || allocator || options != 3)
        standin_fail("IORegistryEntrySearchCFProperty");
    if (strcmp(key, "gpu-core-count") != 0)
        return NULL;
    io_alive++;
    return strdup(getenv("METAL_STANDIN_CORES") ? getenv("METAL_STANDIN_CORES") : "8");
}
EXPORT unsigned char CFNumberGetValue(void *number, long type, void *value) {
    if (type != 4)
        standin_fail("CFNumberGetValue of type %ld", type);
    *(int64_t *)value = atoll(number);
    return 1;
}
EXPORT void CFRelease(void *object) {
    io_alive--;
    free(object);
}
EXPORT int IOObjectRelease(uint32_t service) {
    if (service != 77)
        standin_fail("IOObjectRelease of %u", service);
    io_alive--;
    return 0;
}
__attribute__((destructor)) static void check_io(void) {
    if (io_alive == 0)
        return;
    fprintf(stderr, "metal stand-in: leak: %ld objects of IOKit or CoreFoundation\n", io_alive);
    _exit(86);
}
