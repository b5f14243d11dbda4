/* Whose is each busy nanosecond? Activities come in order of start. A nanosecond in which several
 * run belongs to the layer with the lowest number, and in it to the activity that began first, so
 * that what all activities own sums to their union. */
#ifndef RIDGE_COMPARE_EXPOSURE_H
#define RIDGE_COMPARE_EXPOSURE_H

#include "analysis/model.h"

enum { EXPOSURE_LAYERS = 3 }; /* kernels, communication, copies */

struct exposed_interval {
    int64_t start, end;
    uint32_t owner;
};

/* Zeroed but for `selection`, it is empty. */
struct exposure {
    const struct selection *selection;
    struct exposure_layer {
        int64_t end; /* of everything in it so far */
        bool started;
        struct exposed_interval *pending; /* may still be covered by lower layers */
        size_t first, count, capacity;
        size_t cursor; /* in the selection */
    } layers[EXPOSURE_LAYERS];
    int64_t *owned; /* by owner: selected time */
};

bool exposure_add(struct exposure *exposure, unsigned layer, uint32_t owner, int64_t start,
                  int64_t end, struct status *status);
/* Settles what is pending. */
void exposure_end(struct exposure *exposure);
void exposure_finish(struct exposure *exposure);

#endif
