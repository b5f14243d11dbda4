/* Loads Metal with dlopen(), so that one program runs with and without it.
 *
 * CoreGraphics is loaded because MTLCreateSystemDefaultDevice() returns nil in a command-line
 * program that has not loaded it. RIDGE_METAL_LIBRARY names one library to use instead of all the
 * system's, for tests.
 */
#include "abi/metal_library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"

enum { LIBRARIES = 5 };
static const char *const paths[LIBRARIES] = {
    "/usr/lib/libobjc.A.dylib", /* and what it links: mach_absolute_time() */
    "/System/Library/Frameworks/Metal.framework/Metal",
    "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
    "/System/Library/Frameworks/IOKit.framework/IOKit",
    "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation",
};

struct libraries {
    void *handles[LIBRARIES];
};

static bool open_libraries(struct libraries *libraries, struct status *status) {
    const char *chosen = getenv("RIDGE_METAL_LIBRARY");
    *libraries = (struct libraries){{0}};
    if (chosen && *chosen) {
        libraries->handles[0] = library_open((const char *const[]){chosen, NULL});
        return libraries->handles[0] ||
               status_fail(status, STATUS_UNSUPPORTED,
                           "cannot load %.200s, which RIDGE_METAL_LIBRARY names", chosen);
    }
#ifdef __APPLE__
    for (unsigned i = 0; i < LIBRARIES; i++)
        libraries->handles[i] = library_open((const char *const[]){paths[i], NULL});
    if (!libraries->handles[0] || !libraries->handles[1])
        return status_fail(status, STATUS_UNSUPPORTED, "cannot load %s",
                           paths[libraries->handles[0] ? 1 : 0]);
    return true;
#else
    (void)paths;
    return status_fail(status, STATUS_UNSUPPORTED, "Metal is only available on macOS");
#endif
}

static void *symbol_in(const struct libraries *libraries, const char *name) {
    void *found = NULL;
    for (unsigned i = 0; i < LIBRARIES && !found; i++)
        found = library_symbol(libraries->handles[i], name);
    return found;
}

/* Copied as bytes, because ISO C has no conversion from void * to a function pointer. */
static bool copy_pointer(void *function, void *field) {
    memcpy(field, &function, sizeof function);
    return function != NULL;
}

static const char *fill_functions(const struct libraries *libraries,
                                  struct metal_library *library) {
#define FILL(name, result, parameters)                                                             \
    if (!copy_pointer(symbol_in(libraries, #name), &library->name))                                \
        return #name;
#define FILL_OPTIONAL(name, result, parameters)                                                    \
    copy_pointer(symbol_in(libraries, #name), &library->name);
    METAL_FUNCTIONS(FILL)
    METAL_OPTIONAL_FUNCTIONS(FILL_OPTIONAL)
#undef FILL
#undef FILL_OPTIONAL
    return NULL;
}

static const char *fill_calls(const struct libraries *libraries, struct metal_library *library) {
    void *send = symbol_in(libraries, "objc_msgSend");
    if (!send)
        return "objc_msgSend";
#define FILL(name, text, owner, result, parameters)                                                \
    library->selector.name = library->sel_registerName(text);                                      \
    copy_pointer(send, &library->call.name);
    METAL_METHODS(FILL)
#undef FILL
#ifdef __x86_64__ /* results in memory have an entry point of their own */
    if (!copy_pointer(symbol_in(libraries, "objc_msgSend_stret"), &library->call.threads_max))
        return "objc_msgSend_stret";
#endif
    return NULL;
}

static bool load(struct metal_library *library, struct status *status) {
    struct libraries libraries;
    if (!open_libraries(&libraries, status))
        return false;
    const char *missing = fill_functions(&libraries, library);
    if (!missing)
        missing = fill_calls(&libraries, library);
    return !missing || status_fail(status, STATUS_UNSUPPORTED, "Metal has no function %s", missing);
}

static struct metal_library machine;
static struct status machine_status;
static bool machine_loaded;

static void load_machine(void) {
    machine_loaded = load(&machine, &machine_status);
}

bool metal_library(const struct metal_library **library, struct status *status) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_machine);
    *library = &machine;
    if (!machine_loaded)
        *status = machine_status;
    return machine_loaded;
}
