/* The device's side of the facts: what copies are, and what the kernels' time goes to. */
#ifndef RIDGE_DIAGNOSE_FACTS_DEVICE_H
#define RIDGE_DIAGNOSE_FACTS_DEVICE_H

#include "diagnose/facts.h"

/* A value that the program wanted to look at, not data. */
enum { SCALAR_BYTES = 256 };

/* Of a copy between host and device. */
enum copy_class copy_class_of(const struct trace *trace, size_t activity);
/* Copies and kernels of the judged part. */
bool facts_find_kernels(const struct diagnose_source *source, struct facts *facts,
                        struct status *status);

#endif
