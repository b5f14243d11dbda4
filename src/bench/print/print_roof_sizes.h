/* Shared by the tables of roofs, and the tables with a row per size. */
#ifndef RIDGE_BENCH_PRINT_PRINT_ROOF_SIZES_H
#define RIDGE_BENCH_PRINT_PRINT_ROOF_SIZES_H

#include <math.h>

#include "bench/print/print_parts.h"

static inline bool print_roof_measured(const struct roof *roof) {
    return isfinite(roof->value) && roof->value > 0;
}
/* How it was measured, or why not. */
static inline const char *print_roof_reason(const struct roof *roof) {
    return roof->how[0] ? roof->how : print_roof_measured(roof) ? "" : "not measured";
}

static inline unsigned print_working_set_count(const struct roofs *roofs) {
    return roofs->working_set_count < WORKING_SETS_MAX ? roofs->working_set_count
                                                       : WORKING_SETS_MAX;
}
static inline unsigned print_transfer_count(const struct roofs *roofs) {
    return roofs->transfer_count < TRANSFERS_MAX ? roofs->transfer_count : TRANSFERS_MAX;
}

enum { TRANSFER_WAYS = 4 }; /* in pinned, in pageable, out pinned, out pageable */
bool print_transfer_goes(const struct transfer_roof *transfer, unsigned method);

/* Both as text or Markdown. */
bool print_working_sets(const struct roofs *roofs, const struct print_style *style,
                        struct output *output, struct status *status);
bool print_transfers(const struct roofs *roofs, const struct print_style *style,
                     struct output *output, struct status *status);

#endif
