/* A small stand-in for the Objective-C runtime and Metal, to run the probe on Linux.
 *
 * It is strict: an unknown selector, a message to an object that is gone, and an object that is
 * released too often end the process. Objects that methods return without "new", "alloc" or "copy"
 * in their names belong to the autorelease pool of the thread. A thread completes command buffers
 * in order and calls their handlers. $STANDIN has words that make it misbehave:
 *
 *   nocounters    no counter sets             zerocounters   samples are zero
 *   ticks         GPU timestamps count 41.67 ns           zerotimes      GPU times are zero
 *   late          handlers run 30 ms after the end        fails          every fifth buffer fails
 *   slowclock     the clocks are read in 100 us, at its start or end
 *   shallow       copies of pass descriptors share their attachments
 *   othertypes    a method has other types than documented
 *   reuse         an object gets the memory of one that is gone
 *   leaks         at exit, print the number of objects that are alive
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct object *id;
typedef const char *SEL;
typedef void (*IMP)(void);
typedef struct class *Class;

struct method {
    SEL name;
    IMP imp;
    const char *types;
};
struct class {
    struct class *isa; /* the class of a class: its methods are class methods */
    uint32_t magic;
    struct class *super;
    const char *name;
    size_t size;
    struct method methods[48];
    unsigned count;
};
struct object {
    struct class *isa;
    uint32_t magic;
    _Atomic int retained;
};
enum { ALIVE = 0x0B1EC7, GONE = 0xDEAD };
static _Atomic long alive;

static _Noreturn void stop(const char *what, const char *detail) {
    fprintf(stderr, "stand-in: %s %s\n", what, detail ? detail : "");
    abort();
}

static bool has_word(const char *word) {
    const char *words = getenv("STANDIN");
    return words && strstr(words, word);
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- The runtime ------------------------------------------------------------------------- */

static pthread_mutex_t runtime = PTHREAD_MUTEX_INITIALIZER;
void *_NSConcreteStackBlock[32], *_NSConcreteMallocBlock[32], *_NSConcreteGlobalBlock[32];

SEL sel_registerName(const char *name) {
    static const char *known[512];
    static unsigned count;
    pthread_mutex_lock(&runtime);
    unsigned i = 0;
    while (i < count && strcmp(known[i], name) != 0)
        i++;
    if (i == count)
        known[count++] = strdup(name);
    SEL selector = known[i];
    pthread_mutex_unlock(&runtime);
    return selector;
}

static struct class *classes[64];
static unsigned class_count;

static Class new_class(const char *name, Class super, size_t size) {
    Class class = calloc(1, sizeof *class), meta = calloc(1, sizeof *meta);
    *class =
        (struct class){.isa = meta, .magic = ALIVE, .super = super, .name = name, .size = size};
    *meta = (struct class){.magic = ALIVE, .super = super ? super->isa : NULL, .name = name};
    return classes[class_count++] = class;
}

Class objc_getClass(const char *name) {
    for (unsigned i = 0; i < class_count; i++)
        if (strcmp(classes[i]->name, name) == 0)
            return classes[i];
    return NULL;
}

Class object_getClass(id object) {
    return object ? object->isa : NULL;
}

static struct method *own_method(Class class, SEL selector) {
    for (unsigned i = 0; i < class->count; i++)
        if (class->methods[i].name == selector)
            return &class->methods[i];
    return NULL;
}

struct method *class_getInstanceMethod(Class class, SEL selector) {
    for (; class; class = class->super) {
        struct method *method = own_method(class, selector);
        if (method)
            return method;
    }
    return NULL;
}

IMP method_getImplementation(struct method *method) {
    return method->imp;
}
const char *method_getTypeEncoding(struct method *method) {
    return method->types;
}

IMP class_replaceMethod(Class class, SEL selector, IMP imp, const char *types) {
    if (!types || !imp)
        stop("class_replaceMethod without an implementation or types:", selector);
    pthread_mutex_lock(&runtime);
    struct method *method = own_method(class, selector);
    IMP before = method ? method->imp : NULL;
    if (method)
        method->imp = imp;
    else
        class->methods[class->count++] = (struct method){selector, imp, types};
    pthread_mutex_unlock(&runtime);
    return before;
}

/* The encoding of a method as the compiler writes it: types with the offsets of the parameters. */
static const char *encode(const char *types, char *text) {
    static const struct {
        char letter;
        const char *type;
        unsigned size;
    } known[] = {
        {'@', "@", 8},
        {'v', "v", 0},
        {'Q', "Q", 8},
        {'B', "B", 4},
        {'C', "C", 4},
        {'d', "d", 8},
        {'^', "^@", 8},
        {'*', "r*", 8},
        {':', ":", 8},
        {'S', "{?=QQQ}", 24},
        {'R', "{_NSRange=QQ}", 16},
    };
    char all[32], parameters[256] = "";
    unsigned offset = 0;
    const char *result = NULL;
    snprintf(all, sizeof all, "%c@:%s", *types, types + 1);
    for (const char *at = all; *at; at++) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && known[i].letter != *at)
            i++;
        if (i == sizeof known / sizeof *known)
            stop("an unknown type:", types);
        if (at == all) {
            result = known[i].type;
            continue;
        }
        sprintf(parameters + strlen(parameters), "%s%u", known[i].type, offset);
        offset += known[i].size;
    }
    sprintf(text, "%s%u%s", result, offset, parameters);
    return text;
}

/* `types`: of the result and the parameters, as Apple documents them. */
static void define(Class class, const char *name, const char *types, void *imp) {
    char text[300];
    bool is_other = has_word("othertypes") && strncmp(name, "dispatchThreads:", 16) == 0;
    class_replaceMethod(class, sel_registerName(name), (IMP)imp,
                        strdup(encode(is_other ? "v@@" : types, text)));
}

IMP objc_msg_lookup(id object, SEL selector) {
    if (object->magic != ALIVE)
        stop("a message to an object that is gone:", selector);
    struct method *method = class_getInstanceMethod(object->isa, selector);
    if (!method)
        stop("an unknown selector:", selector);
    return method->imp;
}

/* Jumps to the method with all argument registers as they were. */
#if defined(__x86_64__)
__asm__(".text\n.globl objc_msgSend\n.type objc_msgSend,@function\nobjc_msgSend:\n"
        "test %rdi, %rdi\n jz 1f\n"
        "push %rbp\n mov %rsp, %rbp\n sub $144, %rsp\n"
        "mov %rdi, (%rsp)\n mov %rsi, 8(%rsp)\n mov %rdx, 16(%rsp)\n mov %rcx, 24(%rsp)\n"
        "mov %r8, 32(%rsp)\n mov %r9, 40(%rsp)\n movsd %xmm0, 48(%rsp)\n movsd %xmm1, 56(%rsp)\n"
        "call objc_msg_lookup@PLT\n mov %rax, %r11\n"
        "mov (%rsp), %rdi\n mov 8(%rsp), %rsi\n mov 16(%rsp), %rdx\n mov 24(%rsp), %rcx\n"
        "mov 32(%rsp), %r8\n mov 40(%rsp), %r9\n movsd 48(%rsp), %xmm0\n movsd 56(%rsp), %xmm1\n"
        "leave\n jmp *%r11\n1: xor %eax, %eax\n pxor %xmm0, %xmm0\n ret\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl objc_msgSend\n.type objc_msgSend,%function\nobjc_msgSend:\n"
        "cbz x0, 1f\n stp x29, x30, [sp, #-112]!\n mov x29, sp\n"
        "stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n stp x4, x5, [sp, #48]\n"
        "stp x6, x7, [sp, #64]\n stp d0, d1, [sp, #80]\n str x8, [sp, #96]\n"
        "bl objc_msg_lookup\n mov x16, x0\n"
        "ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n ldp x4, x5, [sp, #48]\n"
        "ldp x6, x7, [sp, #64]\n ldp d0, d1, [sp, #80]\n ldr x8, [sp, #96]\n"
        "ldp x29, x30, [sp], #112\n br x16\n1: fmov d0, xzr\n ret\n");
#else
#error "objc_msgSend is not written for this processor"
#endif
void objc_msgSend(void);
/* Through a variable: the compiler must not see the function's own type. */
static void (*volatile message)(void) = objc_msgSend;
#define SEND(result, types, ...) (((result(*) types)message)(__VA_ARGS__))

/* ---- Objects ----------------------------------------------------------------------------- */

/* Of objects that are gone, with STANDIN=reuse. */
static struct {
    id objects[4096];
    unsigned count;
} gone;

static id take_gone(Class class) {
    id found = NULL;
    pthread_mutex_lock(&runtime);
    for (unsigned i = gone.count; i > 0 && !found; i--)
        if (gone.objects[i - 1]->isa == class) {
            found = gone.objects[i - 1];
            gone.objects[i - 1] = gone.objects[--gone.count];
        }
    pthread_mutex_unlock(&runtime);
    if (found)
        memset(found, 0, class->size);
    return found;
}

static id make(Class class) {
    id object = has_word("reuse") ? take_gone(class) : NULL;
    if (!object)
        object = calloc(1, class->size);
    *object = (struct object){.isa = class, .magic = ALIVE, .retained = 1};
    alive++;
    return object;
}

static id retain(id self, SEL selector) {
    (void)selector;
    self->retained++;
    return self;
}

static void release(id self, SEL selector) {
    (void)selector;
    int left = --self->retained;
    if (left < 0)
        stop("released too often:", self->isa->name);
    if (left == 0)
        SEND(void, (id, SEL), self, sel_registerName("dealloc"));
}

/* The memory stays, so that a later message is noticed. */
static void dealloc(id self, SEL selector) {
    (void)selector;
    self->magic = GONE;
    alive--;
    pthread_mutex_lock(&runtime);
    if (has_word("reuse") && gone.count < sizeof gone.objects / sizeof *gone.objects)
        gone.objects[gone.count++] = self;
    pthread_mutex_unlock(&runtime);
}

static id allocate(Class self, SEL selector) {
    (void)selector;
    return make(self);
}
static id init(id self, SEL selector) {
    (void)selector;
    return self;
}

enum { POOL_MAX = 65536 };
static __thread struct {
    id objects[POOL_MAX];
    size_t count;
    unsigned depth;
} pool;

void *objc_autoreleasePoolPush(void) {
    pool.depth++;
    return (void *)(pool.count + 1);
}

void objc_autoreleasePoolPop(void *mark) {
    if (!pool.depth--)
        stop("a pool is popped that was not pushed", NULL);
    while (pool.count > (size_t)mark - 1)
        release(pool.objects[--pool.count], NULL);
}

static id autorelease(id object) {
    if (!pool.depth || pool.count == POOL_MAX)
        stop("autoreleased without a pool:", object->isa->name);
    return pool.objects[pool.count++] = object;
}

/* ---- Foundation -------------------------------------------------------------------------- */

static Class NSObject, NSString, NSArray, NSData;
struct string {
    struct object object;
    char text[128];
};
struct array {
    struct object object;
    id items[4];
    uint64_t count;
};
struct data {
    struct object object;
    uint64_t words[2];
};

static id string_of(const char *text) {
    struct string *string = (struct string *)make(NSString);
    snprintf(string->text, sizeof string->text, "%s", text);
    return autorelease(&string->object);
}
static const char *utf8(struct string *self, SEL selector) {
    (void)selector;
    return self->text;
}
static uint64_t array_count(struct array *self, SEL selector) {
    (void)selector;
    return self->count;
}
static id array_at(struct array *self, SEL selector, uint64_t at) {
    (void)selector;
    return at < self->count ? self->items[at] : (stop("an index is too large", NULL), NULL);
}
static uint64_t data_length(struct data *self, SEL selector) {
    (void)self, (void)selector;
    return sizeof self->words;
}
static const void *data_bytes(struct data *self, SEL selector) {
    (void)selector;
    return self->words;
}

/* ---- Metal ------------------------------------------------------------------------------- */

struct size {
    uint64_t width, height, depth;
};
struct range {
    uint64_t location, length;
};
enum { SAMPLES_MAX = 4096, ENCODERS = 256, HANDLERS = 8 };
enum { NOT_ENQUEUED, ENQUEUED, COMMITTED, SCHEDULED, COMPLETED, FAILED };

static Class Device, Queue, BaseBuffer, Buffer, Encoder, BlitEncoder, Pipeline, Library, Function,
    MemoryBuffer, CounterSet, SampleBuffer, SampleDescriptor, PassDescriptor, BlitPassDescriptor,
    RenderPassDescriptor, RenderEncoder, Queue4, Attachments, SharedEvent, PipelineDescriptor, Heap,
    Texture;

struct labeled {
    struct object object;
    char label[64]; /* "": nil */
};
struct pipeline {
    struct labeled base;
    char name[64];
};
struct memory {
    struct object object;
    uint64_t length;
};
struct sample_buffer {
    struct object object;
    uint64_t samples[SAMPLES_MAX];
    struct encoder *writers[SAMPLES_MAX]; /* that have not run yet */
};
struct event {
    struct object object;
    uint64_t value;
};
struct attachments {
    struct object object;
    struct sample_buffer *buffer;
    uint64_t start, end, dispatch_type;
};
struct descriptor {
    struct object object;
    struct attachments *attachments;
    uint64_t dispatch_type;
    id set;
    uint64_t samples, storage;
};
struct encoder {
    struct labeled base;
    struct buffer *buffer;
    struct sample_buffer *sample_buffer;
    uint64_t start, end, commands;
    bool ended, has_pipeline;
};
struct block {
    void *isa;
    int flags, reserved;
    void (*invoke)(struct block *, id);
    struct {
        unsigned long reserved, size;
    } * descriptor;
};
struct buffer {
    struct labeled base;
    struct buffer *next;
    struct encoder *encoders[ENCODERS];
    unsigned encoder_count, handler_count;
    struct block *handlers[HANDLERS];
    struct event *signaled;
    uint64_t signal;
    double start, end;
    uint64_t status;
    bool done;
};

static void clear_writer(struct encoder *encoder) {
    if (encoder->sample_buffer)
        encoder->sample_buffer->writers[encoder->start] = NULL;
    encoder->sample_buffer = NULL;
}

static pthread_mutex_t gpu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct buffer *first, *last_buffer;

static id the_device(void) {
    static id device;
    if (!device)
        device = make(Device);
    return retain(device, NULL);
}

id MTLCreateSystemDefaultDevice(void) {
    return the_device();
}
id MTLCopyAllDevices(void) {
    struct array *array = (struct array *)make(NSArray);
    array->items[array->count++] = the_device();
    return &array->object;
}

static id device_name(id self, SEL selector) {
    (void)self, (void)selector;
    return string_of("Nobody M1");
}
static uint64_t working_set(id self, SEL selector) {
    (void)self, (void)selector;
    return 1 << 30;
}
static uint64_t registry_id(id self, SEL selector) {
    (void)self, (void)selector;
    return 4711;
}

static id label_of(struct labeled *self, SEL selector) {
    (void)selector;
    return *self->label ? string_of(self->label) : NULL;
}
static void set_label(struct labeled *self, SEL selector, struct string *label) {
    (void)selector;
    snprintf(self->label, sizeof self->label, "%.63s", label->text);
}

static id new_queue_count(id self, SEL selector, uint64_t count) {
    (void)self, (void)selector;
    return count ? make(Queue) : NULL;
}
/* Calls another method of itself, as drivers do. */
static id new_queue(id self, SEL selector) {
    (void)selector;
    return SEND(id, (id, SEL, uint64_t), self,
                sel_registerName("newCommandQueueWithMaxCommandBufferCount:"), (uint64_t)64);
}

static id new_queue_descriptor(id self, SEL selector, id descriptor) {
    (void)self, (void)selector, (void)descriptor;
    return make(Queue);
}

static id new_queue4(id self, SEL selector) {
    (void)self, (void)selector;
    return make(Queue4);
}
static id new_queue4_descriptor(id self, SEL selector, id descriptor, id *error) {
    (void)self, (void)selector, (void)descriptor;
    *error = NULL;
    return make(Queue4);
}

static id new_event(id self, SEL selector) {
    (void)self, (void)selector;
    return make(SharedEvent);
}

static id new_library(id self, SEL selector, struct string *source, id options, id *error) {
    (void)self, (void)selector, (void)options;
    if (error)
        *error = NULL;
    return source ? make(Library) : NULL;
}
static id new_function(id self, SEL selector, struct string *name) {
    (void)self, (void)selector;
    struct pipeline *function = (struct pipeline *)make(Function);
    snprintf(function->name, sizeof function->name, "%.63s", name->text);
    return &function->base.object;
}
static id function_name(struct pipeline *self, SEL selector) {
    (void)selector;
    return string_of(self->name);
}
static id new_pipeline(id self, SEL selector, struct pipeline *function, id *error) {
    (void)self, (void)selector;
    if (error)
        *error = NULL;
    return function ? make(Pipeline) : NULL;
}

static id new_pipeline_options(id self, SEL selector, struct pipeline *function, uint64_t options,
                               id *reflection, id *error) {
    (void)self, (void)selector, (void)reflection;
    if (error)
        *error = NULL;
    return function && options == 0 ? make(Pipeline) : NULL;
}
static id pipeline_function(struct descriptor *self, SEL selector) {
    (void)selector;
    return self->set;
}
static id no_label(id self, SEL selector) {
    (void)self, (void)selector;
    return NULL;
}
static void set_function(struct descriptor *self, SEL selector, id function) {
    (void)selector;
    self->set = function;
}

static id new_heap(id self, SEL selector, struct memory *descriptor) {
    (void)self, (void)selector, (void)descriptor;
    struct memory *heap = (struct memory *)make(Heap);
    heap->length = 1 << 20;
    return &heap->object;
}
static id new_texture(id self, SEL selector, struct memory *descriptor) {
    (void)self, (void)selector, (void)descriptor;
    struct memory *texture = (struct memory *)make(Texture);
    texture->length = 1 << 16;
    return &texture->object;
}
static uint64_t memory_length(struct memory *self, SEL selector) {
    (void)selector;
    return self->length;
}
static uint64_t storage_private(struct memory *self, SEL selector) {
    (void)self, (void)selector;
    return 2;
}

static id new_memory(id self, SEL selector, uint64_t length, uint64_t options) {
    (void)self, (void)selector, (void)options;
    struct memory *memory = (struct memory *)make(MemoryBuffer);
    memory->length = length;
    return &memory->object;
}
static id new_memory_bytes(id self, SEL selector, const void *bytes, uint64_t length,
                           uint64_t options) {
    return bytes ? new_memory(self, selector, length, options) : NULL;
}

/* ---- Counters */

static id counter_sets(id self, SEL selector) {
    (void)self, (void)selector;
    struct array *array = (struct array *)make(NSArray);
    static id set;
    if (!set)
        set = make(CounterSet);
    if (!has_word("nocounters"))
        array->items[array->count++] = set;
    return autorelease(&array->object);
}
static id set_name(id self, SEL selector) {
    (void)self, (void)selector;
    return string_of("timestamp");
}
static bool supports(id self, SEL selector, uint64_t point) {
    (void)self, (void)selector;
    return point == 0;
}
static uint64_t gpu_time(int64_t time) {
    return has_word("ticks") ? (uint64_t)((double)time * 24 / 1000) : (uint64_t)time;
}
static void sample_timestamps(id self, SEL selector, uint64_t *cpu, uint64_t *gpu_stamp) {
    (void)self, (void)selector;
    static _Atomic unsigned readings;
    unsigned pause = has_word("slowclock") ? 100 : 0;
    bool is_late = (atomic_fetch_add(&readings, 1) / 5) % 2; /* the probe reads it five times */
    if (pause && is_late)
        usleep(pause);
    *cpu = (uint64_t)now_ns();
    *gpu_stamp = gpu_time(now_ns());
    if (pause && !is_late)
        usleep(pause);
}
static void set_set(struct descriptor *self, SEL selector, id set) {
    (void)selector;
    self->set = set;
}
static void set_storage(struct descriptor *self, SEL selector, uint64_t mode) {
    (void)selector;
    self->storage = mode;
}
static void set_count(struct descriptor *self, SEL selector, uint64_t count) {
    (void)selector;
    self->samples = count;
}
static id new_samples(id self, SEL selector, struct descriptor *descriptor, id *error) {
    (void)self, (void)selector;
    *error = NULL;
    if (!descriptor->set || descriptor->samples > SAMPLES_MAX || descriptor->storage != 0)
        return NULL;
    return make(SampleBuffer);
}
static id resolve(struct sample_buffer *self, SEL selector, struct range range) {
    (void)selector;
    if (range.length != 2 || range.location + 2 > SAMPLES_MAX)
        stop("a range of samples is too large", NULL);
    struct data *data = (struct data *)make(NSData);
    if (!has_word("zerocounters"))
        memcpy(data->words, self->samples + range.location, sizeof data->words);
    return autorelease(&data->object);
}

static id init_pass(struct descriptor *self, SEL selector) {
    (void)selector;
    self->attachments = (struct attachments *)make(Attachments);
    return &self->object;
}
static id copy_pass(struct descriptor *self, SEL selector) {
    struct descriptor *copy = (struct descriptor *)make(self->object.isa);
    if (has_word("shallow")) {
        copy->attachments = (struct attachments *)retain(&self->attachments->object, selector);
        return &copy->object;
    }
    init_pass(copy, selector);
    copy->attachments->buffer = self->attachments->buffer;
    return &copy->object;
}
static void dealloc_pass(struct descriptor *self, SEL selector) {
    if (self->attachments)
        release(&self->attachments->object, selector);
    dealloc(&self->object, selector);
}
static id pass_attachments(struct descriptor *self, SEL selector) {
    (void)selector;
    return &self->attachments->object;
}
static id attachment_at(id self, SEL selector, uint64_t at) {
    (void)selector;
    return at == 0 ? self : (stop("an attachment's index is too large", NULL), NULL);
}
static id attachment_buffer(struct attachments *self, SEL selector) {
    (void)selector;
    return (id)self->buffer;
}
static void set_samples(struct attachments *self, SEL selector, struct sample_buffer *buffer) {
    (void)selector;
    self->buffer = buffer;
}
static void set_start(struct attachments *self, SEL selector, uint64_t at) {
    (void)selector;
    self->start = at;
}
static void set_end(struct attachments *self, SEL selector, uint64_t at) {
    (void)selector;
    self->end = at;
}
static void set_dispatch_type(struct descriptor *self, SEL selector, uint64_t type) {
    (void)selector;
    self->dispatch_type = type;
}

/* ---- Command buffers */

static id command_buffer(id self, SEL selector) {
    (void)self, (void)selector;
    return autorelease(make(Buffer));
}
static id command_buffer_descriptor(id self, SEL selector, id descriptor) {
    (void)descriptor;
    return command_buffer(self, selector);
}

static id make_encoder(struct buffer *buffer, Class class, struct descriptor *pass) {
    if (buffer->status >= COMMITTED || buffer->encoder_count == ENCODERS)
        stop("an encoder of a committed buffer", NULL);
    if (buffer->encoder_count && !buffer->encoders[buffer->encoder_count - 1]->ended)
        stop("two encoders at the same time", NULL);
    struct encoder *encoder = (struct encoder *)make(class);
    encoder->buffer = buffer;
    if (pass && pass->attachments->buffer) {
        encoder->sample_buffer = pass->attachments->buffer;
        encoder->start = pass->attachments->start;
        encoder->end = pass->attachments->end;
        if (encoder->start >= SAMPLES_MAX || encoder->end >= SAMPLES_MAX)
            stop("a sample's index is too large", NULL);
        if (encoder->sample_buffer->writers[encoder->start])
            stop("two encoders write the same sample", NULL);
        encoder->sample_buffer->writers[encoder->start] = encoder;
    }
    buffer->encoders[buffer->encoder_count++] = encoder;
    retain(&encoder->base.object, NULL);
    return autorelease(&encoder->base.object);
}
static id compute_encoder(struct buffer *self, SEL selector) {
    (void)selector;
    return make_encoder(self, Encoder, NULL);
}
static id compute_encoder_type(struct buffer *self, SEL selector, uint64_t type) {
    (void)selector;
    return type < 2 ? make_encoder(self, Encoder, NULL) : NULL;
}
static id compute_encoder_pass(struct buffer *self, SEL selector, struct descriptor *pass) {
    (void)selector;
    return make_encoder(self, Encoder, pass);
}
static id blit_encoder(struct buffer *self, SEL selector) {
    (void)selector;
    return make_encoder(self, BlitEncoder, NULL);
}
static id blit_encoder_pass(struct buffer *self, SEL selector, struct descriptor *pass) {
    (void)selector;
    return make_encoder(self, BlitEncoder, pass);
}

static id render_encoder_pass(struct buffer *self, SEL selector, id pass) {
    (void)selector;
    return pass ? make_encoder(self, RenderEncoder, NULL) : NULL;
}
static void draw(struct encoder *self, SEL selector, uint64_t type, uint64_t start,
                 uint64_t vertices) {
    (void)selector, (void)start;
    if (self->ended || type > 4)
        stop("a draw after the end, or of an unknown type", NULL);
    self->commands += vertices > 0;
}

static void set_pipeline(struct encoder *self, SEL selector, id pipeline) {
    (void)selector;
    self->has_pipeline = pipeline != NULL;
}
static void dispatch(struct encoder *self, SEL selector, struct size groups, struct size threads) {
    (void)selector;
    if (self->ended || !self->has_pipeline)
        stop("a dispatch without a pipeline, or after the end", NULL);
    self->commands += groups.width && threads.width;
}
static void dispatch_indirect(struct encoder *self, SEL selector, struct memory *arguments,
                              uint64_t offset, struct size threads) {
    (void)offset;
    if (!arguments)
        stop("an indirect dispatch without arguments", NULL);
    dispatch(self, selector, threads, threads);
}
static void execute_commands(struct encoder *self, SEL selector, id commands, struct range range) {
    (void)selector;
    if (self->ended || !commands)
        stop("commands are executed after the end", NULL);
    self->commands += range.length;
}
static void execute_indirect(struct encoder *self, SEL selector, id commands, id range,
                             uint64_t offset) {
    (void)offset;
    execute_commands(self, selector, range ? commands : NULL, (struct range){0, 1});
}
static void copy_memory(struct encoder *self, SEL selector, struct memory *from, uint64_t from_at,
                        struct memory *to, uint64_t to_at, uint64_t bytes) {
    (void)selector;
    if (from_at + bytes > from->length || to_at + bytes > to->length)
        stop("a copy beyond the end", NULL);
    self->commands++;
}
static void fill(struct encoder *self, SEL selector, struct memory *memory, struct range range,
                 uint8_t value) {
    (void)selector, (void)value;
    if (range.location + range.length > memory->length)
        stop("a fill beyond the end", NULL);
    self->commands++;
}
static void end_encoding(struct encoder *self, SEL selector) {
    (void)selector;
    if (self->ended)
        stop("an encoder is ended twice", NULL);
    self->ended = true;
}

static void add_handler(struct buffer *self, SEL selector, struct block *block) {
    (void)selector;
    if (self->status >= COMMITTED)
        stop("a handler is added to a committed buffer", NULL);
    if (block->isa != _NSConcreteStackBlock && block->isa != _NSConcreteGlobalBlock)
        stop("a handler is not a block", NULL);
    struct block *copy = malloc(block->descriptor->size);
    memcpy(copy, block, block->descriptor->size);
    copy->isa = _NSConcreteMallocBlock;
    self->handlers[self->handler_count++] = copy;
}

static void encode_signal(struct buffer *self, SEL selector, struct event *event, uint64_t value) {
    (void)selector;
    if (self->status >= COMMITTED)
        stop("a signal is added to a committed buffer", NULL);
    self->signaled = event;
    self->signal = value;
}
static bool wait_event(struct event *self, SEL selector, uint64_t value, uint64_t timeout) {
    (void)selector;
    pthread_mutex_lock(&gpu);
    while (self->value < value && timeout)
        pthread_cond_wait(&changed, &gpu);
    bool is_signaled = self->value >= value;
    pthread_mutex_unlock(&gpu);
    return is_signaled;
}

static void pause_ns(int64_t time) {
    nanosleep(&(struct timespec){time / 1000000000, time % 1000000000}, NULL);
}

static void execute(struct buffer *buffer) {
    static unsigned number;
    int64_t start = now_ns();
    if (strcmp(buffer->base.label, "stuck") == 0)
        pause(); /* until the process ends */
    for (unsigned i = 0; i < buffer->encoder_count; i++) {
        struct encoder *encoder = buffer->encoders[i];
        int64_t begin = now_ns();
        pause_ns((int64_t)encoder->commands * 100000);
        if (encoder->sample_buffer && encoder->commands) {
            encoder->sample_buffer->samples[encoder->start] = gpu_time(begin);
            encoder->sample_buffer->samples[encoder->end] = gpu_time(now_ns());
        }
        clear_writer(encoder);
    }
    if (!has_word("zerotimes")) {
        buffer->start = (double)start / 1e9;
        buffer->end = (double)now_ns() / 1e9;
    }
    buffer->status = has_word("fails") && ++number % 5 == 0 ? FAILED : COMPLETED;
    if (has_word("late"))
        pause_ns(30000000);
    for (unsigned i = 0; i < buffer->handler_count; i++) {
        buffer->handlers[i]->invoke(buffer->handlers[i], &buffer->base.object);
        free(buffer->handlers[i]);
    }
}

static void *work(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&gpu);
        while (!first)
            pthread_cond_wait(&changed, &gpu);
        struct buffer *buffer = first;
        first = buffer->next;
        if (!first)
            last_buffer = NULL;
        pthread_mutex_unlock(&gpu);
        execute(buffer);
        pthread_mutex_lock(&gpu);
        buffer->done = true;
        if (buffer->signaled)
            buffer->signaled->value = buffer->signal;
        release(&buffer->base.object, NULL);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&gpu);
    }
    return NULL;
}

static void start_worker(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
}

/* In the base class: subclasses inherit it. */
static void commit(struct buffer *self, SEL selector) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)selector;
    if (self->status >= COMMITTED)
        stop("a buffer is committed twice", NULL);
    if (self->encoder_count && !self->encoders[self->encoder_count - 1]->ended)
        stop("a buffer is committed with an open encoder", NULL);
    retain(&self->base.object, NULL);
    pthread_once(&once, start_worker);
    pthread_mutex_lock(&gpu);
    self->status = COMMITTED;
    if (last_buffer)
        last_buffer->next = self;
    else
        first = self;
    last_buffer = self;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&gpu);
}
static void base_wait(struct buffer *self, SEL selector) {
    (void)selector;
    if (self->status < COMMITTED)
        stop("a wait for a buffer that was not committed", NULL);
    pthread_mutex_lock(&gpu);
    while (!self->done)
        pthread_cond_wait(&changed, &gpu);
    pthread_mutex_unlock(&gpu);
}
/* The subclass calls its superclass's method. */
static void wait_completed(struct buffer *self, SEL selector) {
    struct method *method = class_getInstanceMethod(BaseBuffer, selector);
    ((void (*)(struct buffer *, SEL))method->imp)(self, selector);
}
static double buffer_start(struct buffer *self, SEL selector) {
    (void)selector;
    return self->start;
}
static double buffer_end(struct buffer *self, SEL selector) {
    (void)selector;
    return self->end;
}
static uint64_t buffer_status(struct buffer *self, SEL selector) {
    (void)selector;
    return self->status;
}
static void dealloc_buffer(struct buffer *self, SEL selector) {
    for (unsigned i = 0; i < self->encoder_count; i++) {
        clear_writer(self->encoders[i]);
        release(&self->encoders[i]->base.object, selector);
    }
    dealloc(&self->base.object, selector);
}

/* ---- Signposts */

void _os_signpost_emit_with_name_impl(const void *image, const void *log, uint8_t type, uint64_t id,
                                      const char *name, const char *format, const uint8_t *buffer,
                                      uint32_t bytes) {
    (void)image, (void)log, (void)id, (void)name, (void)format, (void)buffer, (void)bytes;
    if (type > 2)
        stop("an unknown type of signpost", NULL);
}

id standin_string(const char *text) {
    return string_of(text);
}

__attribute__((destructor)) static void print_leaks(void) {
    if (has_word("leaks"))
        fprintf(stderr, "%ld objects are alive\n", alive);
}

struct row {
    Class *class;
    const char *selector, *types;
    void *imp;
};

__attribute__((constructor)) static void make_classes(void) {
    NSObject = new_class("NSObject", NULL, sizeof(struct object));
    define(NSObject->isa, "alloc", "@", allocate);
    define(NSObject, "init", "@", init);
    define(NSObject, "retain", "@", retain);
    define(NSObject, "release", "v", release);
    define(NSObject, "dealloc", "v", dealloc);
    NSString = new_class("NSString", NSObject, sizeof(struct string));
    NSArray = new_class("NSArray", NSObject, sizeof(struct array));
    NSData = new_class("NSData", NSObject, sizeof(struct data));
    Device = new_class("StandinDevice", NSObject, sizeof(struct object));
    Queue = new_class("StandinQueue", NSObject, sizeof(struct labeled));
    BaseBuffer = new_class("StandinBaseBuffer", NSObject, sizeof(struct buffer));
    Buffer = new_class("StandinBuffer", BaseBuffer, sizeof(struct buffer));
    Encoder = new_class("StandinEncoder", NSObject, sizeof(struct encoder));
    BlitEncoder = new_class("StandinBlitEncoder", NSObject, sizeof(struct encoder));
    Queue4 = new_class("StandinQueue4", NSObject, sizeof(struct object));
    RenderEncoder = new_class("StandinRenderEncoder", NSObject, sizeof(struct encoder));
    RenderPassDescriptor =
        new_class("MTLRenderPassDescriptor", NSObject, sizeof(struct descriptor));
    Pipeline = new_class("StandinPipeline", NSObject, sizeof(struct pipeline));
    Library = new_class("StandinLibrary", NSObject, sizeof(struct object));
    Function = new_class("StandinFunction", NSObject, sizeof(struct pipeline));
    MemoryBuffer = new_class("StandinMemory", NSObject, sizeof(struct memory));
    CounterSet = new_class("StandinCounterSet", NSObject, sizeof(struct object));
    SampleBuffer = new_class("StandinSampleBuffer", NSObject, sizeof(struct sample_buffer));
    SampleDescriptor =
        new_class("MTLCounterSampleBufferDescriptor", NSObject, sizeof(struct descriptor));
    PassDescriptor = new_class("MTLComputePassDescriptor", NSObject, sizeof(struct descriptor));
    BlitPassDescriptor = new_class("MTLBlitPassDescriptor", NSObject, sizeof(struct descriptor));
    Attachments = new_class("StandinAttachments", NSObject, sizeof(struct attachments));
    SharedEvent = new_class("StandinEvent", NSObject, sizeof(struct event));
    PipelineDescriptor =
        new_class("MTLComputePipelineDescriptor", NSObject, sizeof(struct descriptor));
    Heap = new_class("StandinHeap", NSObject, sizeof(struct memory));
    Texture = new_class("StandinTexture", NSObject, sizeof(struct memory));
    const struct row rows[] = {
        {&NSString, "UTF8String", "*", utf8},
        {&NSArray, "count", "Q", array_count},
        {&NSArray, "objectAtIndex:", "@Q", array_at},
        {&NSData, "length", "Q", data_length},
        {&NSData, "bytes", "^", data_bytes},
        {&Device, "name", "@", device_name},
        {&Device, "recommendedMaxWorkingSetSize", "Q", working_set},
        {&Device, "registryID", "Q", registry_id},
        {&Device, "newCommandQueue", "@", new_queue},
        {&Device, "newCommandQueueWithMaxCommandBufferCount:", "@Q", new_queue_count},
        {&Device, "newLibraryWithSource:options:error:", "@@@^", new_library},
        {&Device, "newComputePipelineStateWithFunction:error:", "@@^", new_pipeline},
        {&Device, "newBufferWithLength:options:", "@QQ", new_memory},
        {&Device, "counterSets", "@", counter_sets},
        {&Device, "supportsCounterSampling:", "BQ", supports},
        {&Device, "sampleTimestamps:gpuTimestamp:", "v^^", sample_timestamps},
        {&Device, "newCounterSampleBufferWithDescriptor:error:", "@@^", new_samples},
        {&CounterSet, "name", "@", set_name},
        {&SampleDescriptor, "setCounterSet:", "v@", set_set},
        {&SampleDescriptor, "setStorageMode:", "vQ", set_storage},
        {&SampleDescriptor, "setSampleCount:", "vQ", set_count},
        {&SampleBuffer, "resolveCounterRange:", "@R", resolve},
        {&PassDescriptor, "init", "@", init_pass},
        {&PassDescriptor, "copy", "@", copy_pass},
        {&PassDescriptor, "dealloc", "v", dealloc_pass},
        {&PassDescriptor, "sampleBufferAttachments", "@", pass_attachments},
        {&PassDescriptor, "setDispatchType:", "vQ", set_dispatch_type},
        {&RenderPassDescriptor, "init", "@", init_pass},
        {&RenderPassDescriptor, "dealloc", "v", dealloc_pass},
        {&BlitPassDescriptor, "init", "@", init_pass},
        {&BlitPassDescriptor, "copy", "@", copy_pass},
        {&BlitPassDescriptor, "dealloc", "v", dealloc_pass},
        {&BlitPassDescriptor, "sampleBufferAttachments", "@", pass_attachments},
        {&Attachments, "objectAtIndexedSubscript:", "@Q", attachment_at},
        {&Attachments, "sampleBuffer", "@", attachment_buffer},
        {&Attachments, "setSampleBuffer:", "v@", set_samples},
        {&Attachments, "setStartOfEncoderSampleIndex:", "vQ", set_start},
        {&Attachments, "setEndOfEncoderSampleIndex:", "vQ", set_end},
        {&Library, "newFunctionWithName:", "@@", new_function},
        {&Function, "name", "@", function_name},
        {&Pipeline, "label", "@", label_of},
        {&Queue, "label", "@", label_of},
        {&Queue, "setLabel:", "v@", set_label},
        {&Queue, "commandBuffer", "@", command_buffer},
        {&BaseBuffer, "commit", "v", commit},
        {&BaseBuffer, "waitUntilCompleted", "v", base_wait},
        {&Buffer, "waitUntilCompleted", "v", wait_completed},
        {&Buffer, "addCompletedHandler:", "v@", add_handler},
        {&Buffer, "GPUStartTime", "d", buffer_start},
        {&Buffer, "GPUEndTime", "d", buffer_end},
        {&Buffer, "status", "Q", buffer_status},
        {&Buffer, "label", "@", label_of},
        {&Buffer, "setLabel:", "v@", set_label},
        {&Buffer, "dealloc", "v", dealloc_buffer},
        {&Buffer, "computeCommandEncoder", "@", compute_encoder},
        {&Buffer, "computeCommandEncoderWithDispatchType:", "@Q", compute_encoder_type},
        {&Buffer, "computeCommandEncoderWithDescriptor:", "@@", compute_encoder_pass},
        {&Buffer, "blitCommandEncoder", "@", blit_encoder},
        {&Buffer, "blitCommandEncoderWithDescriptor:", "@@", blit_encoder_pass},
        {&Buffer, "renderCommandEncoderWithDescriptor:", "@@", render_encoder_pass},
        {&RenderEncoder, "label", "@", label_of},
        {&RenderEncoder, "setLabel:", "v@", set_label},
        {&RenderEncoder, "drawPrimitives:vertexStart:vertexCount:", "vQQQ", draw},
        {&RenderEncoder, "endEncoding", "v", end_encoding},
        {&Device, "newMTL4CommandQueue", "@", new_queue4},
        {&Encoder, "label", "@", label_of},
        {&Encoder, "setLabel:", "v@", set_label},
        {&Encoder, "setComputePipelineState:", "v@", set_pipeline},
        {&Encoder, "dispatchThreadgroups:threadsPerThreadgroup:", "vSS", dispatch},
        {&Encoder, "dispatchThreads:threadsPerThreadgroup:", "vSS", dispatch},
        {&Encoder, "endEncoding", "v", end_encoding},
        {&BlitEncoder, "label", "@", label_of},
        {&BlitEncoder, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", "v@Q@QQ",
         copy_memory},
        {&BlitEncoder, "fillBuffer:range:value:", "v@RC", fill},
        {&BlitEncoder, "endEncoding", "v", end_encoding},
        {&Device, "newCommandQueueWithDescriptor:", "@@", new_queue_descriptor},
        {&Device, "newMTL4CommandQueueWithDescriptor:error:", "@@^", new_queue4_descriptor},
        {&Device, "newComputePipelineStateWithFunction:options:reflection:error:", "@@Q^^",
         new_pipeline_options},
        {&Device, "newComputePipelineStateWithDescriptor:options:reflection:error:", "@@Q^^",
         new_pipeline_options},
        {&Device, "newBufferWithBytes:length:options:", "@^QQ", new_memory_bytes},
        {&Device, "newHeapWithDescriptor:", "@@", new_heap},
        {&Device, "newTextureWithDescriptor:", "@@", new_texture},
        {&Device, "newSharedEvent", "@", new_event},
        {&SharedEvent, "waitUntilSignaledValue:timeoutMS:", "BQQ", wait_event},
        {&PipelineDescriptor, "computeFunction", "@", pipeline_function},
        {&PipelineDescriptor, "setComputeFunction:", "v@", set_function},
        {&PipelineDescriptor, "label", "@", no_label},
        {&Heap, "size", "Q", memory_length},
        {&Heap, "storageMode", "Q", storage_private},
        {&Texture, "allocatedSize", "Q", memory_length},
        {&Texture, "storageMode", "Q", storage_private},
        {&Queue, "commandBufferWithUnretainedReferences", "@", command_buffer},
        {&Queue, "commandBufferWithDescriptor:", "@@", command_buffer_descriptor},
        {&Buffer, "waitUntilScheduled", "v", base_wait},
        {&Buffer, "encodeSignalEvent:value:", "v@Q", encode_signal},
        {&Buffer, "parallelRenderCommandEncoderWithDescriptor:", "@@", render_encoder_pass},
        {&Encoder,
         "dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:",
         "v@QS", dispatch_indirect},
        {&Encoder, "executeCommandsInBuffer:withRange:", "v@R", execute_commands},
        {&Encoder, "executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:", "v@@Q",
         execute_indirect},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        define(*rows[i].class, rows[i].selector, rows[i].types, rows[i].imp);
}
