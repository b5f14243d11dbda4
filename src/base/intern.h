/* Interned strings: each distinct text is stored once and identified by a small integer.
 *
 * Id 0 is always the empty text. Texts do not move until intern_finish().
 */
#ifndef RIDGE_BASE_INTERN_H
#define RIDGE_BASE_INTERN_H

#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

/* A zeroed table is empty. */
struct intern {
    struct text *texts; /* by id */
    uint64_t *hashes;   /* by id */
    size_t count, texts_capacity, hashes_capacity;
    uint32_t *slots; /* id + 1, 0 = free */
    size_t slot_capacity;
    struct arena arena;
};

bool intern_add(struct intern *table, struct text text, uint32_t *id, struct status *status);
/* The id of an interned text, or UINT32_MAX. */
uint32_t intern_find(const struct intern *table, struct text text);
static inline struct text intern_text(const struct intern *table, uint32_t id) {
    return id < table->count ? table->texts[id] : TEXT("");
}
void intern_finish(struct intern *table);

#endif
