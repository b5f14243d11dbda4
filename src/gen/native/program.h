/* The scalars of a fused program's launch, and the function that runs it. */
#ifndef RIDGE_GEN_NATIVE_PROGRAM_H
#define RIDGE_GEN_NATIVE_PROGRAM_H

#include "device/device.h"
#include "gen/native/steps.h"

/* The launch's scalars: these, then what native_program_scalars() writes. */
enum {
    PROGRAM_SHARED_ROWS, /* 1: all threads work on one row at a time, and units are parts of it; 0:
                            units are groups of rows. A program without rows is one row. */
    PROGRAM_ROWS_WIDTH,  /* rows side by side in a tile, at most */
    PROGRAM_STREAMS,     /* 1: the stored data exceeds the caches */
    PROGRAM_SCALARS
};

/* The code's context. */
struct program_context {
    bool side_by_side;
    struct steps steps;
};

native_function native_program_run;

#endif
