/* The arguments by which XLA's profiler (JAX, TensorFlow) describes device work in trace.json. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_XLA_H
#define RIDGE_IMPORT_KINETO_KINETO_XLA_H

#include "base/text.h"
#include "trace/schema.h"

/* "regs:32 static_shared:0 grid:16,1,1 block:256,1,1 ..." */
void xla_read_kernel(struct text details, struct row_activity *row);
/* "kind_src:pageable kind_dst:device size:1024 ..." */
void xla_read_copy(struct text details, struct row_activity *row);

#endif
