/* Fixes in the terms of the framework that the program uses. */
#ifndef RIDGE_DIAGNOSE_REMEDIES_H
#define RIDGE_DIAGNOSE_REMEDIES_H

#include "diagnose/facts.h"

enum remedy {
    REMEDY_GRAPH,
    REMEDY_FUSE,
    REMEDY_BATCH,
    REMEDY_NO_SYNC,
    REMEDY_PINNED,
    REMEDY_BATCH_COPIES,
    REMEDY_OVERLAP,
    REMEDY_POOL,
    REMEDY_COMPILE_AHEAD,
    REMEDY_FIXED_SHAPES,
    REMEDY_PREFETCH,
    REMEDY_PRECISION,
    REMEDY_FROM_F64,
    REMEDY_CONTIGUOUS,
    REMEDY_TO_DEVICE,
    REMEDY_OVERLAP_COLLECTIVES,
    REMEDY_LARGER_MESSAGES,
    REMEDY_COUNT
};
/* An imperative sentence without its full stop. */
const char *remedy_text(enum framework framework, enum remedy remedy);
/* The APIs that mark ranges: "NVTX, record_function". */
const char *remedy_range_apis(enum framework framework);

#endif
