/* Programs that read some operands across: neighbors in memory are not neighbors in the result.
 */
#ifndef RIDGE_GEN_EMIT_EMIT_TRANSPOSE_H
#define RIDGE_GEN_EMIT_EMIT_TRANSPOSE_H

#include "gen/emit/emit.h"

/* Declares the squares of shared memory. */
void emit_transpose_shared(const struct emitter *emitter);
/* The body of the kernel; `axis` is the one along which those operands have their neighbors. */
void emit_transpose(const struct emitter *emitter, unsigned axis);
/* Loads instruction i's value of the element `u` from the square. */
void emit_transpose_load(const struct emitter *emitter, unsigned i);

#endif
