/* Finds the functions behind those of this library. A program that is linked with MPI has them in
 * the global scope, after this library. An extension module of Python brings its MPI in a scope of
 * its own: there the search begins at the caller's library. */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, dladdr */
#endif
#include "probe/collectives/collectives.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

static void *find_from(const char *symbol, const void *caller) {
    Dl_info place;
    if (!dladdr(caller, &place) || !place.dli_fname)
        return NULL;
    void *library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    void *found = dlsym(library, symbol);
    dlclose(library); /* the caller keeps it loaded */
    return found;
}

/* A program may have its own copy of an object of a library, which the library then uses. */
void *collectives_find_object(const char *symbol, const void *caller) {
    int error = errno;
    void *found = dlsym(RTLD_DEFAULT, symbol);
    if (!found)
        found = find_from(symbol, caller);
    errno = error;
    return found;
}

void *collectives_find(const char *symbol, const void *caller) {
    int error = errno;
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found)
        found = find_from(symbol, caller);
    errno = error;
    return found;
}
#else
typedef int collectives_are_interposed_on_linux_only;
#endif
