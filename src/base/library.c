/* The one place that loads code at run time. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

void *library_open(const char *const *names) {
    void *library = NULL;
    for (; *names && !library; names++)
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

/* Function pointers and object pointers are the same thing wherever dlsym() exists. */
const char *library_fill(void *library, const struct library_symbol *symbols, void *table) {
    for (; symbols->name; symbols++) {
        void *address = library_symbol(library, symbols->name);
        if (!address)
            return symbols->name;
        memcpy((char *)table + symbols->member, &address, sizeof address);
    }
    return NULL;
}
