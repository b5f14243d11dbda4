/* Domains, categories and registered strings of the program. They are interned and kept until the
 * program ends, so the address of a string serves as its handle, and domains of the same name are
 * one. Lookups never block; adding takes probe_lock(). Call these between probe_enter() and
 * probe_leave().
 */
#ifndef RIDGE_PROBE_NVTX_NVTX_NAMES_H
#define RIDGE_PROBE_NVTX_NVTX_NAMES_H

#include <stdatomic.h>
#include <stdint.h>
#include <wchar.h>

#include "base/text.h"

enum { NVTX_CATEGORY_BUCKETS = 16 };

struct nvtx_domain {
    const char *name; /* NULL: the default domain */
    _Atomic(struct nvtx_category *) categories[NVTX_CATEGORY_BUCKETS];
    struct nvtx_domain *next;
};

extern struct nvtx_domain nvtx_default_domain;

/* These return NULL when out of memory. */
const char *nvtx_intern(struct text text);
struct nvtx_domain *nvtx_domain(struct text name);
void nvtx_name_category(struct nvtx_domain *domain, uint32_t category, struct text name);
/* NULL: unnamed. */
const char *nvtx_category_name(const struct nvtx_domain *domain, uint32_t category);

/* Converts a wide string to UTF-8, truncated to the capacity. Invalid characters become U+FFFD. */
struct text nvtx_utf8_from_wide(const wchar_t *wide, char *bytes, size_t capacity);

#endif
