/* The runtime: classes, selectors, messages, reference counts and autorelease pools. */
#include "standin.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t ALIVE = 0x6c61697665000001, DEAD = 0x6465616465616401,
                      CLASS = 0x636c617373000001;
enum { SELECTORS_MAX = METHODS_MAX, QUARANTINE = 4096, POOL_MAX = 65536, POOLS_MAX = 64 };

struct selector {
    char name[120];
    unsigned number;
};

void standin_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "metal stand-in: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

long standin_setting(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value && *value ? strtol(value, NULL, 10) : otherwise;
}

unsigned standin_system(void) {
    return (unsigned)standin_setting("METAL_STANDIN_SYSTEM", 15);
}

/* ---- Selectors and classes ---- */

static struct selector selectors[SELECTORS_MAX];
static unsigned selector_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT SEL sel_registerName(const char *name) {
    SEL found = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < selector_count && !found; i++)
        if (strcmp(selectors[i].name, name) == 0)
            found = &selectors[i];
    if (!found) {
        if (selector_count == SELECTORS_MAX || strlen(name) >= sizeof selectors[0].name)
            standin_fail("too many selectors, or a long one: %s", name);
        struct selector *made = &selectors[selector_count];
        strcpy(made->name, name);
        made->number = selector_count++;
        found = made;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

EXPORT const char *sel_getName(SEL selector) {
    return selector->name;
}

const char *standin_selector_name(SEL selector) {
    if (selector < selectors || selector >= selectors + selector_count)
        standin_fail("%p is not a selector", (const void *)selector);
    return selector->name;
}

static id retain(id self, SEL _cmd);
static void release(id self, SEL _cmd);
static id autorelease(id self, SEL _cmd);
static bool responds(id self, SEL _cmd, SEL selector);

static const struct method object_methods[] = {
    {"retain", "@", BORROWED, (IMP)retain, false, 0},
    {"release", "v", PLAIN, (IMP)release, false, 0},
    {"autorelease", "@", BORROWED, (IMP)autorelease, false, 0},
    {"respondsToSelector:", "B:", PLAIN, (IMP)responds, false, 0},
    {NULL, NULL, PLAIN, NULL, false, 0},
};
static struct class object_class = {.name = "NSObject", .methods = object_methods};

static void add_methods(struct class *class, const struct method *methods) {
    for (const struct method *method = methods; method->selector; method++) {
        if (method->system > standin_system())
            continue;
        SEL selector = sel_registerName(method->selector);
        if (method->class_method)
            class->found_class[selector->number] = method;
        else
            class->found[selector->number] = method;
    }
}

void standin_register(struct class *class) {
    if (class->registered)
        return;
    class->registered = true;
    class->base = (struct object){.isa = class, .state = CLASS, .retains = 1};
    add_methods(class, object_methods);
    add_methods(class, class->methods);
}

EXPORT id objc_getClass(const char *name) {
    for (struct class *const *class = standin_classes; *class; class ++)
        if (strcmp((*class)->name, name) == 0) {
            standin_register(*class);
            return &(*class)->base;
        }
    return NULL;
}

EXPORT struct class *object_getClass(id object) {
    return object ? object->isa : NULL;
}
EXPORT const char *class_getName(struct class *class) {
    return class ? class->name : "nil";
}

/* "types" of a method as Apple documents it, then 'O', 'B' or 'P' for its ownership; NULL if no
 * class has it. For the check of ridge's own table. */
EXPORT const char *standin_signature(const char *selector) {
    static char text[64];
    const struct method *found = NULL;
    for (const struct method *method = object_methods; method->selector; method++)
        if (strcmp(method->selector, selector) == 0)
            found = method;
    for (struct class *const *class = standin_classes; *class && !found; class ++)
        for (const struct method *method = (*class)->methods; method->selector; method++)
            if (strcmp(method->selector, selector) == 0)
                found = method;
    if (!found)
        return NULL;
    snprintf(text, sizeof text, "%s %c", found->types, "PBO"[found->ownership]);
    return text;
}

/* ---- Objects ---- */

static struct object *alive;
static unsigned long messages;

id standin_new(struct class *class, size_t size) {
    standin_register(class);
    id object = calloc(1, size);
    if (!object)
        standin_fail("no memory");
    object->isa = class;
    object->state = ALIVE;
    object->retains = 1;
    pthread_mutex_lock(&lock);
    object->next = alive;
    if (alive)
        alive->previous = object;
    alive = object;
    pthread_mutex_unlock(&lock);
    return object;
}

/* Dead objects stay for a while, so that a message to one is noticed. */
static void bury(id object) {
    static id quarantine[QUARANTINE];
    static unsigned next;
    pthread_mutex_lock(&lock);
    if (object->previous)
        object->previous->next = object->next;
    else
        alive = object->next;
    if (object->next)
        object->next->previous = object->previous;
    free(quarantine[next]);
    quarantine[next] = object;
    next = (next + 1) % QUARANTINE;
    object->state = DEAD;
    pthread_mutex_unlock(&lock);
}

static void check_alive(id object, const char *what) {
    if (object->state == DEAD)
        standin_fail("%s sent to a %s that was released", what, object->isa->name);
    if (object->state != ALIVE && object->state != CLASS)
        standin_fail("%s sent to %p, which is not an object", what, (void *)object);
}

id standin_retain(id object) {
    check_alive(object, "retain");
    object->retains++;
    return object;
}

void standin_release(id object) {
    check_alive(object, "release");
    if (object->state == CLASS)
        standin_fail("release sent to the class %s", object->isa->name);
    if (--object->retains > 0)
        return;
    if (object->own)
        standin_fail("release: a %s has no references left but is still in use", object->isa->name);
    if (object->isa->destroy)
        object->isa->destroy(object);
    bury(object);
}

void *standin_check(id object, const struct class *class, const char *what) {
    if (!object)
        standin_fail("%s: nil instead of a %s", what, class->name);
    check_alive(object, what);
    if (object->isa != class || object->state == CLASS)
        standin_fail("%s: a %s instead of a %s", what, object->isa->name, class->name);
    return object;
}

static id retain(id self, SEL _cmd) {
    (void)_cmd;
    return standin_retain(self);
}
static void release(id self, SEL _cmd) {
    (void)_cmd;
    standin_release(self);
}
static id autorelease(id self, SEL _cmd) {
    (void)_cmd;
    return standin_autorelease(self);
}
static bool responds(id self, SEL _cmd, SEL selector) {
    (void)_cmd;
    standin_selector_name(selector);
    return self->state == CLASS ? self->isa->found_class[selector->number] != NULL
                                : self->isa->found[selector->number] != NULL;
}

/* ---- Autorelease pools ---- */

static __thread id pooled[POOL_MAX];
static __thread unsigned pooled_count, pool_depth, pool_starts[POOLS_MAX];

EXPORT void *objc_autoreleasePoolPush(void) {
    if (pool_depth == POOLS_MAX)
        standin_fail("%d nested autorelease pools", POOLS_MAX);
    pool_starts[pool_depth++] = pooled_count;
    return &pool_starts[pool_depth - 1];
}

EXPORT void objc_autoreleasePoolPop(void *pool) {
    if (pool_depth == 0 || pool != &pool_starts[pool_depth - 1])
        standin_fail("an autorelease pool is popped that is not the innermost one");
    unsigned start = pool_starts[--pool_depth];
    while (pooled_count > start)
        standin_release(pooled[--pooled_count]);
}

id standin_autorelease(id object) {
    if (pool_depth == 0)
        standin_fail("a %s is autoreleased without a pool", object->isa->name);
    if (pooled_count == POOL_MAX)
        standin_fail("an autorelease pool with %d objects", POOL_MAX);
    pooled[pooled_count++] = object;
    return object;
}

/* ---- Messages ---- */

static uint64_t nothing(id self, SEL _cmd) { /* a message to nil */
    (void)self;
    (void)_cmd;
    return 0;
}

static const struct method *find(id object, SEL selector) {
    const char *name = standin_selector_name(selector);
    messages++;
    check_alive(object, name);
    const struct method *method = object->state == CLASS
                                      ? object->isa->found_class[selector->number]
                                      : object->isa->found[selector->number];
    if (!method)
        standin_fail("%s has no %smethod %s", object->isa->name,
                     object->state == CLASS ? "class " : "", name);
    return method;
}

__attribute__((used, visibility("hidden"))) IMP standin_find(id object, SEL selector) {
    if (!object)
        return (IMP)nothing;
    const struct method *method = find(object, selector);
#ifdef __x86_64__
    if (method->types[0] == 'S')
        standin_fail("%s returns a struct: it needs objc_msgSend_stret", method->selector);
#endif
    return method->function;
}

__attribute__((used, visibility("hidden"))) IMP standin_find_stret(id object, SEL selector) {
    if (!object)
        standin_fail("%s, whose result is a struct, sent to nil", standin_selector_name(selector));
    const struct method *method = find(object, selector);
    if (method->types[0] != 'S')
        standin_fail("%s returns no struct: it is not for objc_msgSend_stret", method->selector);
    return method->function;
}

/* Finds the method and jumps to it with all argument registers as they were. */
#if defined(__x86_64__)
#define MESSENGER(name, find, self, selector)                                                      \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n"                       \
            "pushq %rbp\nmovq %rsp, %rbp\nsubq $192, %rsp\n"                                       \
            "movq %rdi, (%rsp)\nmovq %rsi, 8(%rsp)\nmovq %rdx, 16(%rsp)\nmovq %rcx, 24(%rsp)\n"    \
            "movq %r8, 32(%rsp)\nmovq %r9, 40(%rsp)\nmovq %rax, 48(%rsp)\n"                        \
            "movups %xmm0, 64(%rsp)\nmovups %xmm1, 80(%rsp)\nmovups %xmm2, 96(%rsp)\n"             \
            "movups %xmm3, 112(%rsp)\nmovups %xmm4, 128(%rsp)\nmovups %xmm5, 144(%rsp)\n"          \
            "movups %xmm6, 160(%rsp)\nmovups %xmm7, 176(%rsp)\n"                                   \
            "movq " self ", %rdi\nmovq " selector ", %rsi\ncall " find "\nmovq %rax, %r11\n"       \
            "movq (%rsp), %rdi\nmovq 8(%rsp), %rsi\nmovq 16(%rsp), %rdx\nmovq 24(%rsp), %rcx\n"    \
            "movq 32(%rsp), %r8\nmovq 40(%rsp), %r9\nmovq 48(%rsp), %rax\n"                        \
            "movups 64(%rsp), %xmm0\nmovups 80(%rsp), %xmm1\nmovups 96(%rsp), %xmm2\n"             \
            "movups 112(%rsp), %xmm3\nmovups 128(%rsp), %xmm4\nmovups 144(%rsp), %xmm5\n"          \
            "movups 160(%rsp), %xmm6\nmovups 176(%rsp), %xmm7\n"                                   \
            "leave\njmp *%r11\n.size " name ", .-" name "\n")
MESSENGER("objc_msgSend", "standin_find", "(%rsp)", "8(%rsp)");
MESSENGER("objc_msgSend_stret", "standin_find_stret", "8(%rsp)", "16(%rsp)");
#elif defined(__aarch64__)
__asm__(".text\n.globl objc_msgSend\n.type objc_msgSend, %function\nobjc_msgSend:\n"
        "stp x29, x30, [sp, #-224]!\nmov x29, sp\n"
        "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"
        "stp x6, x7, [sp, #64]\nstr x8, [sp, #80]\n"
        "stp q0, q1, [sp, #96]\nstp q2, q3, [sp, #128]\nstp q4, q5, [sp, #160]\n"
        "stp q6, q7, [sp, #192]\n"
        "bl standin_find\nmov x16, x0\n"
        "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\n"
        "ldp x6, x7, [sp, #64]\nldr x8, [sp, #80]\n"
        "ldp q0, q1, [sp, #96]\nldp q2, q3, [sp, #128]\nldp q4, q5, [sp, #160]\n"
        "ldp q6, q7, [sp, #192]\n"
        "ldp x29, x30, [sp], #224\nbr x16\n.size objc_msgSend, .-objc_msgSend\n");
#else
#error "objc_msgSend is written for x86-64 and arm64"
#endif

/* ---- At the end ---- */

__attribute__((destructor)) static void check_leaks(void) {
    unsigned leaks = 0;
    for (struct object *object = alive; object; object = object->next)
        if (object->retains != object->own) {
            if (leaks++ < 10)
                fprintf(stderr, "metal stand-in: leak: a %s with %ld references\n",
                        object->isa->name, object->retains - object->own);
        }
    if (pool_depth)
        fprintf(stderr, "metal stand-in: leak: %u autorelease pools\n", pool_depth);
    const char *count = getenv("METAL_STANDIN_COUNT");
    if (count && *count)
        fprintf(stderr, "metal stand-in: %lu messages\n", messages);
    if (leaks || pool_depth)
        _exit(86);
}

/* ---- NSString, NSError, NSArray, NSProcessInfo ---- */

struct string {
    struct object base;
    char *text;
};
static struct class string_class;

id standin_string(const char *text) {
    struct string *string = (struct string *)standin_new(&string_class, sizeof *string);
    string->text = strdup(text);
    return standin_autorelease(&string->base);
}
const char *standin_text(id string) {
    return ((struct string *)standin_check(string, &string_class, "a string"))->text;
}
static void string_destroy(id self) {
    free(((struct string *)self)->text);
}
static id string_with_utf8(id self, SEL _cmd, const char *text) {
    (void)self;
    (void)_cmd;
    if (!text)
        standin_fail("stringWithUTF8String: NULL");
    return standin_string(text);
}
static const char *string_utf8(id self, SEL _cmd) {
    (void)_cmd;
    return ((struct string *)self)->text;
}
static const struct method string_methods[] = {
    {"stringWithUTF8String:", "@*", BORROWED, (IMP)string_with_utf8, true, 0},
    {"UTF8String", "*", PLAIN, (IMP)string_utf8, false, 0},
    {NULL, NULL, PLAIN, NULL, false, 0},
};
static struct class string_class = {
    .name = "NSString", .methods = string_methods, .destroy = string_destroy};

struct error {
    struct object base;
    char *text;
};
static struct class error_class;
id standin_error(const char *text) {
    struct error *error = (struct error *)standin_new(&error_class, sizeof *error);
    error->text = strdup(text);
    return standin_autorelease(&error->base);
}
static void error_destroy(id self) {
    free(((struct error *)self)->text);
}
static id error_description(id self, SEL _cmd) {
    (void)_cmd;
    return standin_string(((struct error *)self)->text);
}
static const struct method error_methods[] = {
    {"localizedDescription", "@", BORROWED, (IMP)error_description, false, 0},
    {NULL, NULL, PLAIN, NULL, false, 0},
};
static struct class error_class = {
    .name = "NSError", .methods = error_methods, .destroy = error_destroy};

struct array {
    struct object base;
    size_t count;
    id objects[8];
};
static struct class array_class;
id standin_array(id const *objects, size_t count) {
    struct array *array = (struct array *)standin_new(&array_class, sizeof *array);
    array->count = count;
    for (size_t i = 0; i < count; i++)
        array->objects[i] = standin_retain(objects[i]);
    return &array->base;
}
static void array_destroy(id self) {
    struct array *array = (struct array *)self;
    for (size_t i = 0; i < array->count; i++)
        standin_release(array->objects[i]);
}
static unsigned long array_count(id self, SEL _cmd) {
    (void)_cmd;
    return ((struct array *)self)->count;
}
static id array_at(id self, SEL _cmd, unsigned long index) {
    struct array *array = (struct array *)self;
    (void)_cmd;
    if (index >= array->count)
        standin_fail("objectAtIndex: %lu of an array of %zu", index, array->count);
    return array->objects[index];
}
static const struct method array_methods[] = {
    {"count", "Q", PLAIN, (IMP)array_count, false, 0},
    {"objectAtIndex:", "@Q", BORROWED, (IMP)array_at, false, 0},
    {NULL, NULL, PLAIN, NULL, false, 0},
};
static struct class array_class = {
    .name = "NSArray", .methods = array_methods, .destroy = array_destroy};

struct version {
    long major, minor, patch;
};
static struct class process_class;
static id process_info(id self, SEL _cmd) {
    static id process;
    (void)self;
    (void)_cmd;
    if (!process) {
        process = standin_new(&process_class, sizeof *process);
        process->own = 1;
    }
    return process;
}
static bool process_at_least(id self, SEL _cmd, struct version version) {
    (void)self;
    (void)_cmd;
    if (version.major < 10 || version.minor < 0 || version.patch != 0)
        standin_fail("isOperatingSystemAtLeastVersion: %ld.%ld.%ld", version.major, version.minor,
                     version.patch);
    return standin_system() >= (unsigned)version.major;
}
static id process_version(id self, SEL _cmd) {
    char text[64];
    (void)self;
    (void)_cmd;
    snprintf(text, sizeof text, "Version %u.0 (Build 1A1)", standin_system());
    return standin_string(text);
}
static const struct method process_methods[] = {
    {"processInfo", "@", BORROWED, (IMP)process_info, true, 0},
    {"isOperatingSystemAtLeastVersion:", "BV", PLAIN, (IMP)process_at_least, false, 0},
    {"operatingSystemVersionString", "@", BORROWED, (IMP)process_version, false, 0},
    {NULL, NULL, PLAIN, NULL, false, 0},
};
static struct class process_class = {.name = "NSProcessInfo", .methods = process_methods};

extern struct class standin_device_class, standin_options_class, standin_library_class,
    standin_function_class, standin_pipeline_class, standin_buffer_class, standin_event_class,
    standin_queue_class, standin_command_buffer_class, standin_compute_class, standin_blit_class;
struct class *const standin_classes[] = {&object_class,
                                         &string_class,
                                         &error_class,
                                         &array_class,
                                         &process_class,
                                         &standin_device_class,
                                         &standin_options_class,
                                         &standin_library_class,
                                         &standin_function_class,
                                         &standin_pipeline_class,
                                         &standin_buffer_class,
                                         &standin_event_class,
                                         &standin_queue_class,
                                         &standin_command_buffer_class,
                                         &standin_compute_class,
                                         &standin_blit_class,
                                         NULL};
