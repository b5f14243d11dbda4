/* What does a vendor publish as the peak rates of a device? For traces of devices whose roofs were
 * not measured. */
#ifndef RIDGE_ANALYSIS_PUBLISHED_H
#define RIDGE_ANALYSIS_PUBLISHED_H

#include <stdint.h>

#include "base/text.h"

/* Rates in units of data sheets: GB/s, TFLOP/s or TOP/s; dense, accumulating in f32. 0: not
 * published, or the device has no such units. */
struct published {
    const char *words; /* of the device's name, lower case */
    unsigned units;    /* multiprocessors, compute units, GPU cores; 0: any */
    double memory, f64, f32, matrix_f64, matrix_f32, matrix_f16, matrix_bf16, matrix_f8, matrix_i8;
    double cache_mb; /* last level */
    double link;     /* to the host, one direction */
    const char *source;
};

/* NULL when the name is not that of a device in the table, or when `units` (0: unknown) contradicts
 * it, as for a slice of a device. */
const struct published *published_find(struct text name, uint32_t units);

/* All rows, for tests. */
const struct published *published_rows(unsigned *count);

#endif
