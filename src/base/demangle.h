/* C++ and Rust names from their mangled form. */
#ifndef RIDGE_BASE_DEMANGLE_H
#define RIDGE_BASE_DEMANGLE_H

#include "base/text.h"

/* Appends the demangled name of a C++ function, or of a Rust function with C++ mangling. False,
 * with nothing appended, when the name is not mangled or this machine has no C++ library, which
 * does the work. When out of memory, false and the buffer fails. Thread-safe. */
bool demangle(struct text mangled, struct buffer *plain);

#endif
