/* How the fixes are called where the program comes from: PyTorch's words for a PyTorch program. */
#ifndef RIDGE_DIAGNOSE_REMEDIES_H
#define RIDGE_DIAGNOSE_REMEDIES_H

#include "diagnose/facts.h"

enum advice {
    ADVICE_GRAPH,
    ADVICE_FUSE,
    ADVICE_BATCH,
    ADVICE_NO_SYNC,
    ADVICE_PINNED,
    ADVICE_BATCH_COPIES,
    ADVICE_OVERLAP,
    ADVICE_POOL,
    ADVICE_COMPILE_AHEAD,
    ADVICE_FIXED_SHAPES,
    ADVICE_PREFETCH,
    ADVICE_PRECISION,
    ADVICE_FROM_F64,
    ADVICE_CONTIGUOUS,
    ADVICE_TO_DEVICE,
    ADVICES
};
/* A sentence without its full stop. */
const char *remedy_text(enum framework framework, enum advice advice);

#endif
