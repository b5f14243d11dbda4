/* Uses the C++ library's demangler, if there is one. Rust's legacy mangling is that of C++ with a
 * hash at the end and other characters written as $..$, which are converted afterwards. */
#include "base/demangle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/library.h"
#include "base/memory.h"

enum { MANGLED_MAX = 16384, HASH_DIGITS = 16 };

typedef char *(*demangle_function)(const char *mangled, char *buffer, size_t *length, int *status);

static demangle_function cxa_demangle; /* NULL: no C++ library */
static bool no_memory_to_look;

static void find_demangler(void) {
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.1.dylib", NULL};
    void *library = library_open(names);
    no_memory_to_look = !library && errno == ENOMEM;
    void *symbol = library_symbol(library, "__cxa_demangle");
    memcpy(&cxa_demangle, &symbol, sizeof cxa_demangle);
}

/* Free with free(). */
static char *demangled(struct text mangled, bool *out_of_memory) {
    enum { ALLOCATION_FAILED = -1 };
    static pthread_once_t looked = PTHREAD_ONCE_INIT;
    pthread_once(&looked, find_demangler);
    struct status ignored;
    char *copy = cxa_demangle ? text_copy(mangled, &ignored) : NULL;
    int failed = 0;
    char *result = copy ? cxa_demangle(copy, NULL, NULL, &failed) : NULL;
    *out_of_memory = no_memory_to_look || (cxa_demangle && !copy) || failed == ALLOCATION_FAILED;
    memory_free(copy);
    return failed ? NULL : result;
}

/* Whether the name ends with "::h" and sixteen hexadecimal digits. */
static bool has_rust_hash(struct text name) {
    if (name.length < HASH_DIGITS + 3 ||
        memcmp(name.data + name.length - HASH_DIGITS - 3, "::h", 3) != 0)
        return false;
    for (size_t i = name.length - HASH_DIGITS; i < name.length; i++)
        if (!strchr("0123456789abcdef", name.data[i]))
            return false;
    return true;
}

static void append_rust(struct text name, struct buffer *plain) {
    static const struct {
        const char *written, *meant;
    } escapes[] = {{"$LT$", "<"},  {"$GT$", ">"},  {"$RF$", "&"},  {"$BP$", "*"},  {"$C$", ","},
                   {"$LP$", "("},  {"$RP$", ")"},  {"$SP$", "@"},  {"$u20$", " "}, {"$u27$", "'"},
                   {"$u5b$", "["}, {"$u5d$", "]"}, {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u7e$", "~"},
                   {"$u3b$", ";"}, {"$u2b$", "+"}, {"..", "::"},   {"_$", "$"}};
    name.length -= HASH_DIGITS + 3;
    for (size_t at = 0; at < name.length;) {
        struct text rest = {name.data + at, name.length - at};
        size_t i = 0, count = ARRAY_COUNT(escapes);
        while (i < count && !text_starts(rest, escapes[i].written))
            i++;
        if (i == count) {
            buffer_byte(plain, name.data[at++]);
        } else if (i == count - 1) {
            at++; /* an underscore precedes an escape at the start of a word */
        } else {
            buffer_string(plain, escapes[i].meant);
            at += strlen(escapes[i].written);
        }
    }
}

bool demangle(struct text mangled, struct buffer *plain) {
    if (!text_starts(mangled, "_Z") || mangled.length > MANGLED_MAX)
        return false;
    bool out_of_memory;
    char *result = demangled(mangled, &out_of_memory);
    plain->failed |= out_of_memory;
    if (!result)
        return false;
    struct text name = text_of(result);
    if (has_rust_hash(name))
        append_rust(name, plain);
    else
        buffer_text(plain, name);
    free(result);
    return true;
}
