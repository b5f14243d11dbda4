/* Element types: their names and sizes. */
#include "gen/dtype.h"

static const struct {
    const char *name;
    int64_t block; /* elements that share their bytes */
    size_t bytes;  /* of a block */
} dtypes[RIDGE_DTYPES] = {
    [RIDGE_F32] = {"f32", 1, 4},       [RIDGE_F16] = {"f16", 1, 2},
    [RIDGE_BF16] = {"bf16", 1, 2},     [RIDGE_I32] = {"i32", 1, 4},
    [RIDGE_U8] = {"u8", 1, 1},         [RIDGE_Q8_0] = {"q8_0", 32, 34},
    [RIDGE_Q4_K] = {"q4_k", 256, 144}, [RIDGE_Q4_0] = {"q4_0", 32, 18},
    [RIDGE_Q4_1] = {"q4_1", 32, 20},   [RIDGE_Q5_0] = {"q5_0", 32, 22},
    [RIDGE_Q5_1] = {"q5_1", 32, 24},   [RIDGE_Q2_K] = {"q2_k", 256, 84},
    [RIDGE_Q3_K] = {"q3_k", 256, 110}, [RIDGE_Q5_K] = {"q5_k", 256, 176},
    [RIDGE_Q6_K] = {"q6_k", 256, 210}, [RIDGE_IQ4_XS] = {"iq4_xs", 256, 136},
};

const char *ridge_dtype_name(enum ridge_dtype dtype) {
    return (unsigned)dtype < RIDGE_DTYPES ? dtypes[dtype].name : "?";
}

size_t ridge_dtype_bytes(enum ridge_dtype dtype, int64_t count) {
    if ((unsigned)dtype >= RIDGE_DTYPES || count < 0)
        return 0;
    uint64_t blocks = (uint64_t)(count / dtypes[dtype].block + (count % dtypes[dtype].block != 0));
    return blocks <= SIZE_MAX / dtypes[dtype].bytes ? (size_t)blocks * dtypes[dtype].bytes : 0;
}

int64_t dtype_block(enum ridge_dtype dtype) {
    return dtypes[dtype].block;
}
