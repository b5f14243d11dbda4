/* What the program has given names to: domains, categories, registered strings. They are kept until
 * the program ends, each distinct text once, so that a handle is the text's address and the same
 * name is the same domain. Finding never waits; adding takes the probe's lock. Call these while
 * entered.
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

/* These give NULL when there is no memory. */
const char *nvtx_intern(struct text text);
struct nvtx_domain *nvtx_domain(struct text name);
void nvtx_name_category(struct nvtx_domain *domain, uint32_t category, struct text name);
/* NULL: it has no name. */
const char *nvtx_category_name(const struct nvtx_domain *domain, uint32_t category);

/* A wide string as UTF-8, cut to what fits; what is no character becomes U+FFFD. */
struct text nvtx_utf8_from_wide(const wchar_t *wide, char *bytes, size_t capacity);

#endif
