/* Metal programs in C, which print what they count. The probe must not change what they print.
 *
 *   client SCENARIO [COUNT]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct object *id;
typedef const char *SEL;
struct size {
    uint64_t width, height, depth;
};
struct range {
    uint64_t location, length;
};
void objc_msgSend(void);
SEL sel_registerName(const char *name);
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);
id MTLCreateSystemDefaultDevice(void);
id MTLCopyAllDevices(void);
id standin_string(const char *text);
id objc_getClass(const char *name);
void _os_signpost_emit_with_name_impl(const void *image, const void *log, uint8_t type, uint64_t id,
                                      const char *name, const char *format, const uint8_t *buffer,
                                      uint32_t bytes);

#define SEL(name) sel_registerName(name)
/* Through a variable: the compiler must not see the function's own type. */
static void (*volatile message)(void) = objc_msgSend;
#define SEND(result, types, ...) (((result(*) types)message)(__VA_ARGS__))
#define GET(result, object, name) SEND(result, (id, SEL), object, SEL(name))

static id device, queue, triple, add_one, memory, other;
static unsigned long count = 10;
static double own_time;

static id new_pipeline(id library, const char *name) {
    id function =
        SEND(id, (id, SEL, id), library, SEL("newFunctionWithName:"), standin_string(name));
    id pipeline = SEND(id, (id, SEL, id, id *), device,
                       SEL("newComputePipelineStateWithFunction:error:"), function, (id *)NULL);
    GET(void, function, "release");
    return pipeline;
}

static void open_device(void) {
    device = MTLCreateSystemDefaultDevice(); /* needs no pool */
    void *pool = objc_autoreleasePoolPush();
    queue = GET(id, device, "newCommandQueue");
    id library =
        SEND(id, (id, SEL, id, id, id *), device, SEL("newLibraryWithSource:options:error:"),
             standin_string("kernel"), (id)NULL, (id *)NULL);
    triple = new_pipeline(library, "triple");
    add_one = new_pipeline(library, "add_one");
    memory = SEND(id, (id, SEL, uint64_t, uint64_t), device, SEL("newBufferWithLength:options:"),
                  (uint64_t)4096, (uint64_t)0);
    other = SEND(id, (id, SEL, uint64_t, uint64_t), device, SEL("newBufferWithLength:options:"),
                 (uint64_t)4096, (uint64_t)(2 << 4));
    GET(void, library, "release");
    objc_autoreleasePoolPop(pool);
}

static void close_device(void) {
    id objects[] = {triple, add_one, memory, other, queue, device};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        GET(void, objects[i], "release");
}

static void dispatch(id encoder, id pipeline, uint64_t groups) {
    SEND(void, (id, SEL, id), encoder, SEL("setComputePipelineState:"), pipeline);
    SEND(void, (id, SEL, struct size, struct size), encoder,
         SEL("dispatchThreadgroups:threadsPerThreadgroup:"), (struct size){groups, 1, 1},
         (struct size){64, 1, 1});
}

static void encode(id buffer, id pipeline, uint64_t groups) {
    id encoder = GET(id, buffer, "computeCommandEncoder");
    dispatch(encoder, pipeline, groups);
    GET(void, encoder, "endEncoding");
}

static void blit(id buffer) {
    id encoder = GET(id, buffer, "blitCommandEncoder");
    SEND(void, (id, SEL, id, uint64_t, id, uint64_t, uint64_t), encoder,
         SEL("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:"), memory, (uint64_t)0,
         other, (uint64_t)0, (uint64_t)4096);
    GET(void, encoder, "endEncoding");
}

static void finish(id buffer) {
    GET(void, buffer, "commit");
    GET(void, buffer, "waitUntilCompleted");
    own_time += GET(double, buffer, "GPUEndTime") - GET(double, buffer, "GPUStartTime");
}

/* Two kernels and a copy in encoders of their own. */
static void steps(void) {
    for (unsigned long i = 0; i < count; i++) {
        void *pool = objc_autoreleasePoolPush();
        id buffer = GET(id, queue, "commandBuffer");
        encode(buffer, triple, 16);
        encode(buffer, add_one, 8);
        blit(buffer);
        finish(buffer);
        objc_autoreleasePoolPop(pool);
    }
    printf("count triple %lu\ncount add_one %lu\ncount copies %lu\ncount buffers %lu\n", count,
           count, count, count);
}

/* One encoder with several kernels, as MLX has. */
static void packed(void) {
    for (unsigned long i = 0; i < count; i++) {
        void *pool = objc_autoreleasePoolPush();
        id buffer = GET(id, queue, "commandBuffer");
        SEND(void, (id, SEL, id), buffer, SEL("setLabel:"), standin_string("step"));
        id encoder = SEND(id, (id, SEL, uint64_t), buffer,
                          SEL("computeCommandEncoderWithDispatchType:"), (uint64_t)1);
        for (unsigned k = 0; k < 5; k++)
            dispatch(encoder, k % 2 ? add_one : triple, 4);
        GET(void, encoder, "endEncoding");
        finish(buffer);
        objc_autoreleasePoolPop(pool);
    }
    printf("count buffers %lu\n", count);
}

/* A wait by event, as MLX's: the host waits for a value that a command buffer signals. */
static void events(void) {
    for (unsigned long i = 0; i < count; i++) {
        void *pool = objc_autoreleasePoolPush();
        id event = GET(id, device, "newSharedEvent");
        id buffer = GET(id, queue, "commandBufferWithUnretainedReferences");
        id encoder = SEND(id, (id, SEL, uint64_t), buffer,
                          SEL("computeCommandEncoderWithDispatchType:"), (uint64_t)1);
        dispatch(encoder, triple, 4);
        GET(void, encoder, "endEncoding");
        SEND(void, (id, SEL, id, uint64_t), buffer, SEL("encodeSignalEvent:value:"), event, i + 1);
        if (i == 0) /* a call that does not wait */
            printf("signaled %d\n", SEND(bool, (id, SEL, uint64_t, uint64_t), event,
                                         SEL("waitUntilSignaledValue:timeoutMS:"), 1, 0));
        GET(void, buffer, "commit");
        if (!SEND(bool, (id, SEL, uint64_t, uint64_t), event,
                  SEL("waitUntilSignaledValue:timeoutMS:"), i + 1, UINT64_MAX))
            printf("not signaled\n");
        GET(void, event, "release");
        objc_autoreleasePoolPop(pool);
    }
    printf("count triple %lu\n", count);
}

/* The other methods that create or run something. */
static void variants(void) {
    void *pool = objc_autoreleasePoolPush();
    id no_error = NULL, other_queue, heap, texture, bytes, library, function, descriptor;
    other_queue = SEND(id, (id, SEL, id), device, SEL("newCommandQueueWithDescriptor:"), (id)NULL);
    heap = SEND(id, (id, SEL, id), device, SEL("newHeapWithDescriptor:"), (id)NULL);
    texture = SEND(id, (id, SEL, id), device, SEL("newTextureWithDescriptor:"), (id)NULL);
    bytes = SEND(id, (id, SEL, const void *, uint64_t, uint64_t), device,
                 SEL("newBufferWithBytes:length:options:"), "eight ch", (uint64_t)8, (uint64_t)0);
    library = SEND(id, (id, SEL, id, id, id *), device, SEL("newLibraryWithSource:options:error:"),
                   standin_string("kernel"), (id)NULL, (id *)NULL);
    function =
        SEND(id, (id, SEL, id), library, SEL("newFunctionWithName:"), standin_string("half"));
    descriptor = GET(id, GET(id, objc_getClass("MTLComputePipelineDescriptor"), "alloc"), "init");
    SEND(void, (id, SEL, id), descriptor, SEL("setComputeFunction:"), function);
    id pipelines[] = {SEND(id, (id, SEL, id, uint64_t, id *, id *), device,
                           SEL("newComputePipelineStateWithFunction:options:reflection:error:"),
                           function, (uint64_t)0, (id *)NULL, &no_error),
                      SEND(id, (id, SEL, id, uint64_t, id *, id *), device,
                           SEL("newComputePipelineStateWithDescriptor:options:reflection:error:"),
                           descriptor, (uint64_t)0, (id *)NULL, &no_error)};
    for (unsigned i = 0; i < 2; i++) {
        id buffer =
            SEND(id, (id, SEL, id), other_queue, SEL("commandBufferWithDescriptor:"), (id)NULL);
        encode(buffer, pipelines[i], 1);
        id encoder = GET(id, buffer, "computeCommandEncoder");
        SEND(void, (id, SEL, id), encoder, SEL("setComputePipelineState:"), add_one);
        SEND(void, (id, SEL, struct size, struct size), encoder,
             SEL("dispatchThreads:threadsPerThreadgroup:"), (struct size){100, 1, 1},
             (struct size){64, 1, 1});
        GET(void, encoder, "endEncoding");
        encoder = GET(id, buffer, "computeCommandEncoder");
        SEND(void, (id, SEL, id), encoder, SEL("setComputePipelineState:"), triple);
        SEND(void, (id, SEL, id, uint64_t, struct size), encoder,
             SEL("dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:"
                 "threadsPerThreadgroup:"),
             memory, (uint64_t)0, (struct size){64, 1, 1});
        GET(void, encoder, "endEncoding");
        encoder = GET(id, buffer, "computeCommandEncoder");
        SEND(void, (id, SEL, id, struct range), encoder, SEL("executeCommandsInBuffer:withRange:"),
             memory, (struct range){0, 3});
        SEND(void, (id, SEL, id, id, uint64_t), encoder,
             SEL("executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:"), memory, other,
             (uint64_t)0);
        GET(void, encoder, "endEncoding");
        encoder = GET(id, buffer, "blitCommandEncoder");
        SEND(void, (id, SEL, id, struct range, uint8_t), encoder, SEL("fillBuffer:range:value:"),
             memory, (struct range){0, 128}, (uint8_t)7);
        GET(void, encoder, "endEncoding");
        GET(void, buffer, "commit");
        GET(void, buffer, "waitUntilScheduled");
        GET(void, buffer, "waitUntilCompleted");
        GET(void, pipelines[i], "release");
    }
    id objects[] = {descriptor, function, library, bytes, texture, heap, other_queue};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        GET(void, objects[i], "release");
    objc_autoreleasePoolPop(pool);
    printf("count half 2\ncount triple 2\ncount add_one 2\n");
}

/* An encoder of the program's own pass descriptor, and one that does nothing. */
static void passes(void) {
    unsigned long foreign = 0;
    for (unsigned long i = 0; i < count; i++) {
        void *pool = objc_autoreleasePoolPush();
        id buffer = GET(id, queue, "commandBuffer");
        id pass = GET(id, GET(id, objc_getClass("MTLComputePassDescriptor"), "alloc"), "init");
        id encoder =
            SEND(id, (id, SEL, id), buffer, SEL("computeCommandEncoderWithDescriptor:"), pass);
        dispatch(encoder, triple, 2);
        SEND(void, (id, SEL, id), encoder, SEL("setLabel:"), standin_string("forward"));
        GET(void, encoder, "endEncoding");
        id attachments = GET(id, pass, "sampleBufferAttachments");
        id first = SEND(id, (id, SEL, uint64_t), attachments, SEL("objectAtIndexedSubscript:"),
                        (uint64_t)0);
        foreign += GET(id, first, "sampleBuffer") != NULL;
        GET(void, pass, "release");
        GET(void, GET(id, buffer, "computeCommandEncoder"), "endEncoding");
        finish(buffer);
        objc_autoreleasePoolPop(pool);
    }
    printf("count triple %lu\nsample buffers in the program's descriptors: %lu\n", count, foreign);
}

static void render(id buffer, const char *label) {
    id pass = GET(id, GET(id, objc_getClass("MTLRenderPassDescriptor"), "alloc"), "init");
    id encoder = SEND(id, (id, SEL, id), buffer, SEL("renderCommandEncoderWithDescriptor:"), pass);
    if (label)
        SEND(void, (id, SEL, id), encoder, SEL("setLabel:"), standin_string(label));
    SEND(void, (id, SEL, uint64_t, uint64_t, uint64_t), encoder,
         SEL("drawPrimitives:vertexStart:vertexCount:"), (uint64_t)3, (uint64_t)0, (uint64_t)6);
    GET(void, encoder, "endEncoding");
    GET(void, pass, "release");
}

/* Buffers with one and two render encoders, with a label, and with a kernel. */
static void renders(void) {
    for (unsigned long i = 0; i < count; i++) {
        void *pool = objc_autoreleasePoolPush();
        id buffers[4];
        for (unsigned k = 0; k < 4; k++)
            buffers[k] = GET(id, queue, "commandBuffer");
        render(buffers[0], NULL);
        render(buffers[1], NULL);
        render(buffers[1], NULL);
        render(buffers[2], "draw the scene");
        encode(buffers[3], triple, 4);
        render(buffers[3], NULL);
        for (unsigned k = 0; k < 4; k++)
            finish(buffers[k]);
        objc_autoreleasePoolPop(pool);
    }
    printf("count buffers %lu\n", 4 * count);
}

static void metal4(void) {
    id modern = GET(id, device, "newMTL4CommandQueue");
    steps();
    GET(void, modern, "release");
}

/* Without a wait until the end. */
static void many(void) {
    void *pool = objc_autoreleasePoolPush();
    id last = NULL;
    for (unsigned long i = 0; i < count; i++) {
        last = GET(id, queue, "commandBuffer");
        encode(last, add_one, 1);
        GET(void, last, "commit");
    }
    GET(void, last, "waitUntilCompleted");
    objc_autoreleasePoolPop(pool);
    printf("count add_one %lu\n", count);
}

/* More encoders than the probe times. */
static void crowded(void) {
    for (unsigned long i = 0; i < count; i++) {
        void *pool = objc_autoreleasePoolPush();
        id buffer = GET(id, queue, "commandBuffer");
        for (unsigned k = 0; k < 100; k++)
            encode(buffer, k ? add_one : triple, 1);
        finish(buffer);
        objc_autoreleasePoolPop(pool);
    }
    printf("count buffers %lu\n", count);
}

/* Every second buffer is dropped. */
static void uncommitted(void) {
    for (unsigned long i = 0; i < count; i++) {
        void *pool = objc_autoreleasePoolPush();
        id buffer = GET(id, queue, "commandBuffer");
        encode(buffer, triple, 1);
        if (i % 2)
            finish(buffer);
        objc_autoreleasePoolPop(pool);
    }
    printf("count triple %lu\n", count / 2);
}

static void *steps_of_thread(void *given) {
    void *pool = objc_autoreleasePoolPush();
    id own = GET(id, device, "newCommandQueue");
    (void)given;
    for (unsigned long i = 0; i < count; i++) {
        void *inner = objc_autoreleasePoolPush();
        id buffer = GET(id, own, "commandBuffer");
        encode(buffer, add_one, 1);
        GET(void, buffer, "commit");
        GET(void, buffer, "waitUntilCompleted");
        objc_autoreleasePoolPop(inner);
    }
    GET(void, own, "release");
    objc_autoreleasePoolPop(pool);
    return NULL;
}

static void threads(void) {
    pthread_t many_threads[4];
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&many_threads[i], NULL, steps_of_thread, NULL);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(many_threads[i], NULL);
    printf("count add_one %lu\n", 4 * count);
}

static void signposts(void) {
    static int log;
    for (unsigned long i = 0; i < count; i++) {
        _os_signpost_emit_with_name_impl(&log, &log, 1, 7 + i % 2, "outer", "", NULL, 0);
        _os_signpost_emit_with_name_impl(&log, &log, 1, 9, "inner", "", NULL, 0);
        _os_signpost_emit_with_name_impl(&log, &log, 0, 9, "event", "", NULL, 0);
        _os_signpost_emit_with_name_impl(&log, &log, 2, 9, "inner", "", NULL, 0);
        _os_signpost_emit_with_name_impl(&log, &log, 2, 7 + i % 2, "outer", "", NULL, 0);
    }
    printf("count ranges %lu\n", 2 * count);
}

/* The child must not use Metal; the parent goes on. */
static void forked(void) {
    steps();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(7);
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    steps();
}

static void killed(void) {
    steps();
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

/* Work is running while the program exits. */
static void exited(void) {
    void *pool = objc_autoreleasePoolPush();
    steps();
    for (unsigned i = 0; i < 50; i++) {
        id buffer = GET(id, queue, "commandBuffer");
        encode(buffer, triple, 1);
        if (i == 25)
            SEND(void, (id, SEL, id), buffer, SEL("setLabel:"), standin_string("stuck"));
        GET(void, buffer, "commit");
    }
    (void)pool;
    fflush(stdout);
    exit(5);
}

static void all_devices(void) {
    void *pool = objc_autoreleasePoolPush();
    id devices = MTLCopyAllDevices();
    printf("devices %llu\n", (unsigned long long)GET(uint64_t, devices, "count"));
    steps();
    objc_autoreleasePoolPop(pool);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"steps", steps},       {"packed", packed},       {"passes", passes},
        {"many", many},         {"crowded", crowded},     {"uncommitted", uncommitted},
        {"threads", threads},   {"signposts", signposts}, {"forked", forked},
        {"killed", killed},     {"exited", exited},       {"all-devices", all_devices},
        {"renders", renders},   {"metal4", metal4},       {"events", events},
        {"variants", variants},
    };
    if (argc > 2)
        count = strtoul(argv[2], NULL, 10);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0) {
            open_device();
            scenarios[i].run();
            close_device();
            fprintf(stderr, "own time %.0f\n", own_time * 1e9);
            return 0;
        }
    fprintf(stderr, "usage: client SCENARIO [COUNT]\n");
    return 2;
}
