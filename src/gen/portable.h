/* Kernels that are written once: the same file of gen/kernels is a kernel of every language
 * (gen/emit/portable.c) and a function of the CPU (gen/native/simd/portable.c).
 *
 * Besides the dialect of gen/emit/dialect.h such a file uses:
 *
 *   TYPE, LOAD(p, i), STORE(p, i, x)    of the work's type
 *   VALUE                               float or int: what LOAD() gives
 *   FILL(bits)                          a VALUE from a scalar: the bits of a float, or an int
 *   FOR_EACH(e, count)                  a loop over elements, each by one thread
 *   FOR_EACH_ROW(row, rows)             a loop over rows, each by THREADS threads, 1 on the CPU
 *
 * Sections: "shared", if the row says so, and "body", which closes the kernel. There are no
 * functions: on the CPU the whole file is the body of one.
 */
#ifndef RIDGE_GEN_PORTABLE_H
#define RIDGE_GEN_PORTABLE_H

#include "gen/kernel.h"

enum { PORTABLE_BUFFERS_MAX = 5 };

/* RIDGE_DTYPES: the work's own type. */
struct portable_buffer {
    const char *name;
    enum ridge_dtype type;
    bool stored;
};

struct portable_kernel {
    const unsigned char *file;
    bool by_rows; /* an item is a row */
    bool shared, random;
    unsigned buffer_count;
    struct portable_buffer buffers[PORTABLE_BUFFERS_MAX];
};

#endif
