/* Names as programmers wrote them, from what compilers made of them for linkers. */
#ifndef RIDGE_BASE_DEMANGLE_H
#define RIDGE_BASE_DEMANGLE_H

#include "base/text.h"

/* Appends the plain name of a C++ function, or of a Rust function that is mangled like one. False,
 * and nothing is appended, when the name is not of that kind or this machine has no C++ library,
 * which does the work. When out of memory, false and the buffer fails. Any thread may call it. */
bool demangle(struct text mangled, struct buffer *plain);

#endif
