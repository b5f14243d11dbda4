/* Cached roofs for traces without a device at hand: found by the device's name, and converted to
 * the limits of the trace analysis. */
#ifndef RIDGE_BENCH_ROOFS_ROOF_CACHE_H
#define RIDGE_BENCH_ROOFS_ROOF_CACHE_H

#include "analysis/limits.h"
#include "bench/roofs/roofs.h"

/* The most recently cached roofs of a device of this name, thorough ones before quick ones;
 * opens no device. `backend` is "cuda", "cpu", ...; NULL: any. `driver` must be a substring of
 * their driver's description; NULL: any. */
bool roofs_cache_find(const char *backend, const char *description, const char *driver,
                      struct roofs *roofs);
/* Stores roofs in the cache. */
void roofs_cache_store(const char *backend, const struct roofs *roofs);

/* The roofs as limits of the analysis. A transfer's is that of the largest measured size. */
void roofs_as_limits(const struct roofs *roofs, struct limits *limits);

/* The same as meta rows of a trace, for the device with that label in it. */
typedef void roofs_meta(void *to, const char *key, const char *value);
void roofs_as_meta(const struct roofs *roofs, const char *label, roofs_meta *add, void *to);
/* Into the trace that was begun of this device, if one was. */
void roofs_into_trace(ridge_device *device, const struct roofs *roofs);

#endif
