/* What a range or a mark says besides its time: NVTX's attributes, as numbers of texts in the
 * thread's lane. Nothing is trusted to be there: a message may be missing, an older struct shorter.
 */
#ifndef RIDGE_PROBE_NVTX_NVTX_SAID_H
#define RIDGE_PROBE_NVTX_NVTX_SAID_H

#include "abi/nvtx.h"
#include "probe/nvtx/nvtx_names.h"
#include "probe/probe.h"

struct nvtx_event {
    uint32_t name, domain, category; /* numbers of texts */
    int64_t payload;
    uint32_t has_payload, colour; /* enum spool_payload; ARGB, 0: none */
};

/* Strings as the program gives them, NULL included, no longer than a text of the spool can be. The
 * second lies in the thread's own memory until the next. */
struct text nvtx_text(const char *text);
struct text nvtx_text_from_wide(struct probe_thread *thread, const wchar_t *text);

/* `attributes` may be NULL. */
struct nvtx_event nvtx_event_read(struct probe_thread *thread, const struct nvtx_domain *domain,
                                  const struct nvtx_attributes *attributes);
/* A name and nothing else. */
struct nvtx_event nvtx_event_plain(struct probe_thread *thread, struct text name);

#endif
