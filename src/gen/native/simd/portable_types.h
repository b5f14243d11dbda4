/* The functions of one type: SUFFIX, TYPE, VALUE, LOAD and STORE are defined by the includer, here
 * used and undefined. */
#ifdef WHOLE
#define FILL(bits) ((int32_t)(bits))
#else
#define FILL(bits) AS_FLOAT((uint32_t)(bits))
#endif
#ifndef STORE_SUM
#define STORE_SUM STORE
#define SUM_TYPE TYPE
#endif

BEGIN(NAMED(update))
BUFFER(const TYPE, source, 0)
BUFFER(const int32_t, positions, 1) BUFFER(TYPE, target, 2)
#include "gen/kernels/update.cl"

    BEGIN(NAMED(gather)) BUFFER(const TYPE, x, 0) BUFFER(const int32_t, indices,
                                                         1) BUFFER(TYPE, result, 2)
#include "gen/kernels/gather.cl"

        BEGIN(NAMED(scatter_add)) BUFFER(const TYPE, x, 0) BUFFER(const int32_t, indices, 1)
            BUFFER(const int32_t, order, 2) BUFFER(const TYPE, source, 3) BUFFER(TYPE, result, 4)
#include "gen/kernels/scatter_add.cl"

                BEGIN(NAMED(argsort_up)) BUFFER(const TYPE, x, 0) BUFFER(int32_t, result, 1)
                    BUFFER(int32_t, other, 2)
#include "gen/kernels/argsort.cl"
#undef GOES_BEFORE

#define DESCENDING
                        BEGIN(NAMED(argsort_down)) BUFFER(const TYPE, x, 0)
                            BUFFER(int32_t, result, 1) BUFFER(int32_t, other, 2)
#include "gen/kernels/argsort.cl"
#undef GOES_BEFORE
#undef DESCENDING

                                BEGIN(NAMED(cumsum)) BUFFER(const TYPE, x, 0)
                                    BUFFER(SUM_TYPE, result, 1)
#include "gen/kernels/cumsum.cl"

#ifndef WHOLE
                                        BEGIN(NAMED(sample)) BUFFER(const TYPE, logits, 0)
                                            BUFFER(const int32_t, steps, 1)
                                                BUFFER(int32_t, result, 2)
#include "gen/kernels/sample.cl"
#endif

                                                    BEGIN(NAMED(unfold)) BUFFER(const TYPE, x, 0)
                                                        BUFFER(TYPE, result, 1)
#include "gen/kernels/unfold.cl"

                                                            BEGIN(NAMED(fold))
                                                                BUFFER(const TYPE, windows, 0)
                                                                    BUFFER(TYPE, result, 1)
#include "gen/kernels/fold.cl"

#undef FILL
#undef SUFFIX
#undef TYPE
#undef SUM_TYPE
#undef VALUE
#undef LOAD
#undef STORE
#undef STORE_SUM
