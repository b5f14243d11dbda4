/* The cases of the experiment with RWKV-7: a part of a layer, or a step of the whole model.
 *
 * numbers[RWKV_CASE_WHAT] of a case is an enum rwkv_part or RWKV_STEP; its size, dtype and batch
 * are those of the experiment. The model itself is the stage's file, the small one, or a published
 * one of that size.
 */
#ifndef RIDGE_BENCH_RWKV_CASE_H
#define RIDGE_BENCH_RWKV_CASE_H

#include "bench/case.h"
#include "bench/rwkv/load.h"
#include "rwkv/forward.h"

enum { RWKV_CASE_WHAT, RWKV_CASE_TOKENS, RWKV_CASE_LAYERS };
enum { RWKV_STEP = RWKV_PARTS };

extern const struct case_kind rwkv_case;

/* The user's weights file (*file, closed by the caller; NULL if none), and the shape of the
 * model of this size and type. */
bool rwkv_case_model(const struct stage *stage, int64_t size, enum ridge_dtype dtype,
                     struct weights **file, struct rwkv_shape *shape, struct status *status);
/* The activation type of products with large matrices of this type. */
enum ridge_dtype rwkv_case_product(const struct stage *stage, enum ridge_dtype dtype);

#endif
