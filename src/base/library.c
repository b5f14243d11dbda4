/* The one place that loads code at run time. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dladdr() */
#endif
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

void *library_open(const char *const *names) {
    void *library = NULL;
    errno = 0;
    for (; *names && !library && errno != ENOMEM; names++)
        library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
    return library;
}

void *library_loaded(const char *const *names) {
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    return library;
}

void *library_symbol(void *library, const char *symbol) {
    return library ? dlsym(library, symbol) : NULL;
}

const char *library_path(const void *address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Function pointers and object pointers are interchangeable wherever dlsym() exists. */
const char *library_fill(void *library, const struct library_symbol *symbols, void *table) {
    for (; symbols->name; symbols++) {
        void *address = library_symbol(library, symbols->name);
        if (!address)
            return symbols->name;
        memcpy((char *)table + symbols->member, &address, sizeof address);
    }
    return NULL;
}
