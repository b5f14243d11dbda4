/* A stand-in for libobjc, Metal, IOKit and CoreFoundation on any Unix, for tests.
 *
 * It has the functions, classes and selectors that ridge uses, as Apple documents them, and ends
 * the program with a message when a rule is broken: an unknown selector, a message to a dead
 * object, an object that is released too often or never, an autoreleased object without a pool, an
 * encoder that is not ended, a launch with missing parameters. Kernels are compiled as C++ and run
 * on the CPU, as late as the rules of Metal allow, so that a missing wait is noticed.
 */
#ifndef RIDGE_TESTS_METAL_STANDIN_H
#define RIDGE_TESTS_METAL_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- The Objective-C runtime (objc.c) ------------------------------------------------------ */

typedef const struct selector *SEL;
typedef void (*IMP)(void);

struct class;
struct object {
    struct class *isa;
    uint64_t state; /* alive, dead or a class */
    long retains;
    struct object *next, *previous; /* of all that are alive */
    long own;                       /* references that the runtime itself holds */
};
typedef struct object *id;

enum ownership { PLAIN, BORROWED, OWNED };

/* A method as Apple documents it: `types` has the result and the arguments after self and _cmd, in
 * the letters of @encode: @ object, : selector, v void, q and Q long, B BOOL, d double, * text,
 * ^ pointer, S MTLSize, V NSOperatingSystemVersion. */
struct method {
    const char *selector, *types;
    enum ownership ownership;
    IMP function;
    bool class_method;
    unsigned system; /* first macOS that has it; 0: all */
};

enum { METHODS_MAX = 256 };
struct class {
    struct object base; /* a class is an object */
    const char *name;
    const struct method *methods; /* the last has no selector */
    void (*destroy)(id object);
    bool registered;
    const struct method *found[METHODS_MAX], *found_class[METHODS_MAX]; /* by number of selector */
};

_Noreturn void standin_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A new object of `size` bytes with one reference. */
id standin_new(struct class *class, size_t size);
id standin_retain(id object);
void standin_release(id object);
id standin_autorelease(id object);
/* Fails unless `object` is alive and of this class. */
void *standin_check(id object, const struct class *class, const char *what);
void standin_register(struct class *class);
unsigned standin_system(void); /* the version of macOS that is played */
const char *standin_selector_name(SEL selector);
long standin_setting(const char *name, long otherwise);
/* All classes, for the check of the table of selectors. */
extern struct class *const standin_classes[];
/* NSString and NSError */
id standin_string(const char *text);
const char *standin_text(id string);
id standin_error(const char *text);
id standin_array(id const *objects, size_t count);

/* ---- Compiled kernels (compile.c) ----------------------------------------------------------- */

enum { BUFFERS_MAX = 31 };

struct threads_runtime;
struct kernel_arguments {
    void *buffers[BUFFERS_MAX];
    void *dynamic; /* [[threadgroup(0)]] */
    uint32_t threads[3], groups[3];
    uint32_t group[3];
};

struct kernel_image {
    void *library;
    void (*run)(const struct kernel_arguments *arguments, const uint32_t position[3]);
    uint32_t buffer_mask; /* the parameters */
    bool has_dynamic;
    char *shared; /* threadgroup variables */
    size_t shared_bytes;
};

/* Compiles MSL; NULL and `log`, which the caller frees, if it does not compile. */
void *compile_library(const char *source, char **log);
void compile_close(void *library);
/* The kernel `name`; false if there is none. */
bool compile_find(void *library, const char *name, struct kernel_image *image);

/* ---- Threads of a threadgroup (threads.c) --------------------------------------------------- */

struct threads_runtime {
    void (*barrier)(void);
    /* Waits for the other lanes, then returns what every lane gave, SLOT bytes each. */
    const unsigned char *(*exchange)(const void *value, unsigned size, unsigned *lane);
    void (*check_lane)(unsigned lane);
};
enum { SIMD_LANES = 32, SLOT = 64 };
extern const struct threads_runtime threads_runtime;
void threads_run(const struct kernel_image *image, struct kernel_arguments *arguments);

#endif
