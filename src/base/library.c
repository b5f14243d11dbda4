/* The one place that loads code at run time. */
#include "base/library.h"

#include <dlfcn.h>
#include <stddef.h>

void *library_open(const char *const *names) {
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
    return library;
}

void *library_symbol(void *library, const char *symbol) {
    return library ? dlsym(library, symbol) : NULL;
}
