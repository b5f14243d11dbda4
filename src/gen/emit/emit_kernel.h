/* The kernel of a fused program, without the prelude. */
#ifndef RIDGE_GEN_EMIT_EMIT_KERNEL_H
#define RIDGE_GEN_EMIT_EMIT_KERNEL_H

#include "gen/emit/emit.h"

/* The specification's program must be scheduled. */
void emit_kernel(struct buffer *out, const struct kernel_spec *spec, const char *name,
                 enum device_language language);

#endif
