/* Kept roofs for those who have a trace and no device: found by the device's name, and as the
 * limits that the analysis of traces knows.
 */
#ifndef RIDGE_BENCH_ROOFS_ROOF_CACHE_H
#define RIDGE_BENCH_ROOFS_ROOF_CACHE_H

#include "analysis/limits.h"
#include "bench/roofs/roofs.h"

/* The roofs that were last kept of a device of this name, thoroughly measured ones before quick
 * ones; opens no device. `backend` is "cuda", "cpu", ...; NULL: any. `driver` must be a part of
 * what is said of their driver; NULL: any. */
bool roofs_cache_find(const char *backend, const char *description, const char *driver,
                      struct roofs *roofs);
/* Keeps them so that they are found. */
void roofs_cache_store(const char *backend, const struct roofs *roofs);

/* Those of them that an analysis knows. A transfer's is that of the largest size measured. */
void roofs_as_limits(const struct roofs *roofs, struct limits *limits);

/* The same as meta rows of a trace, for the device with that label in it. */
typedef void roofs_meta(void *to, const char *key, const char *value);
void roofs_as_meta(const struct roofs *roofs, const char *label, roofs_meta *add, void *to);
/* Into the trace that was begun of this device, if one was. */
void roofs_into_trace(ridge_device *device, const struct roofs *roofs);

#endif
