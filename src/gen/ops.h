/* The table of operations.
 *
 * Each row defines the public function (src/tensor/api_elementwise.c), the type and shape
 * rules, the flops on the trace, the kernel source for every language (src/gen/emit), the
 * SIMD function of the CPU (src/gen/native) and the conformance tests. To add an elementwise
 * operation, add a row here and its declaration to ridge.h.
 *
 * An expression is written once, in a subset of C that every dialect reads: the operands x, y,
 * z; + - * / and parentheses; float constants with an f; and the macros below. On a GPU they
 * are scalars; on the CPU they are vectors, so use SELECT and TRUTH instead of ?: and &&.
 *
 *   EXP LOG LOG1P SIN COS TAN TANH ERF SQRT RSQRT FLOOR CEIL RINT ABS (x), POW(x, y), MOD(x, y)
 *   TRUTH(comparison)      1 or 0, an integer; combine with & | ^
 *   SELECT(t, a, b)        floats a where the integer t is not 0, else b
 *   ISELECT(t, a, b)       the same for integers
 *   IABS(x), IDIV(x, y), IMOD(x, y)   integers; IDIV by zero is 0, IMOD by zero is 0
 *
 * Flops are what the mathematics needs per element: one for each arithmetic operation and each
 * function of an element, none for moving, choosing or converting.
 */
#ifndef RIDGE_GEN_OPS_H
#define RIDGE_GEN_OPS_H

#include <stdint.h>

#include <ridge.h>

/* Operand and result types of an operation. */
enum op_rule {
    RULE_ARITHMETIC, /* one type, not quantized; same result */
    RULE_FLOAT,      /* one float type; same result */
    RULE_COMPARE,    /* one type, not quantized; result u8 */
    RULE_LOGIC,      /* u8 or i32, one type; result u8 */
    RULE_WHERE,      /* u8 or i32, then two of one type, which is the result's */
};

/* The formatter would take x * y for a declaration. */
/* clang-format off */

/* X(NAME, name, arity, rule, flops, f32 expression, i32 expression)
 * 0 stands for "no expression in this type". For RULE_WHERE x is always an integer. */
#define ELEMENTWISE_OPS(X) \
    X(ADD,           add,           2, ARITHMETIC, 1, x + y, x + y) \
    X(SUB,           sub,           2, ARITHMETIC, 1, x - y, x - y) \
    X(MUL,           mul,           2, ARITHMETIC, 1, x * y, x * y) \
    X(DIV,           div,           2, ARITHMETIC, 1, x / y, IDIV(x, y)) \
    X(MOD,           mod,           2, ARITHMETIC, 4, MOD(x, y), IMOD(x, y)) \
    X(POW,           pow,           2, FLOAT,      1, POW(x, y), 0) \
    X(MIN,           min,           2, ARITHMETIC, 1, SELECT(TRUTH(x < y) | TRUTH(x != x), x, y), \
                                                      ISELECT(TRUTH(x < y), x, y)) \
    X(MAX,           max,           2, ARITHMETIC, 1, SELECT(TRUTH(x > y) | TRUTH(x != x), x, y), \
                                                      ISELECT(TRUTH(x > y), x, y)) \
    X(EQUAL,         equal,         2, COMPARE,    1, TRUTH(x == y), TRUTH(x == y)) \
    X(NOT_EQUAL,     not_equal,     2, COMPARE,    1, TRUTH(x != y), TRUTH(x != y)) \
    X(LESS,          less,          2, COMPARE,    1, TRUTH(x < y), TRUTH(x < y)) \
    X(LESS_EQUAL,    less_equal,    2, COMPARE,    1, TRUTH(x <= y), TRUTH(x <= y)) \
    X(GREATER,       greater,       2, COMPARE,    1, TRUTH(x > y), TRUTH(x > y)) \
    X(GREATER_EQUAL, greater_equal, 2, COMPARE,    1, TRUTH(x >= y), TRUTH(x >= y)) \
    X(LOGICAL_AND,   logical_and,   2, LOGIC,      1, 0, TRUTH(x != 0) & TRUTH(y != 0)) \
    X(LOGICAL_OR,    logical_or,    2, LOGIC,      1, 0, TRUTH(x != 0) | TRUTH(y != 0)) \
    X(LOGICAL_NOT,   logical_not,   1, LOGIC,      1, 0, TRUTH(x == 0)) \
    X(NEG,           neg,           1, ARITHMETIC, 1, -x, -x) \
    X(ABS,           abs,           1, ARITHMETIC, 1, ABS(x), IABS(x)) \
    X(SIGN,          sign,          1, ARITHMETIC, 1, SELECT(TRUTH(x > 0.0f), 1.0f, \
                                                             SELECT(TRUTH(x < 0.0f), -1.0f, x)), \
                                                      TRUTH(x > 0) - TRUTH(x < 0)) \
    X(SQUARE,        square,        1, ARITHMETIC, 1, x * x, x * x) \
    X(RECIPROCAL,    reciprocal,    1, FLOAT,      1, 1.0f / x, 0) \
    X(FLOOR,         floor,         1, FLOAT,      1, FLOOR(x), 0) \
    X(CEIL,          ceil,          1, FLOAT,      1, CEIL(x), 0) \
    X(ROUND,         round,         1, FLOAT,      1, RINT(x), 0) \
    X(SIN,           sin,           1, FLOAT,      1, SIN(x), 0) \
    X(COS,           cos,           1, FLOAT,      1, COS(x), 0) \
    X(TAN,           tan,           1, FLOAT,      1, TAN(x), 0) \
    X(EXP,           exp,           1, FLOAT,      1, EXP(x), 0) \
    X(LOG,           log,           1, FLOAT,      1, LOG(x), 0) \
    X(LOG1P,         log1p,         1, FLOAT,      1, LOG1P(x), 0) \
    X(SQRT,          sqrt,          1, FLOAT,      1, SQRT(x), 0) \
    X(RSQRT,         rsqrt,         1, FLOAT,      1, RSQRT(x), 0) \
    X(TANH,          tanh,          1, FLOAT,      1, TANH(x), 0) \
    X(ERF,           erf,           1, FLOAT,      1, ERF(x), 0) \
    X(SIGMOID,       sigmoid,       1, FLOAT,      4, 1.0f / (1.0f + EXP(-x)), 0) \
    X(RELU,          relu,          1, ARITHMETIC, 1, SELECT(TRUTH(x < 0.0f), 0.0f, x), \
                                                      ISELECT(TRUTH(x < 0), 0, x)) \
    X(GELU,          gelu,          1, FLOAT,      5, 0.5f * x * \
                                                      (1.0f + ERF(x * 0.70710678118654752f)), 0) \
    X(GELU_TANH,     gelu_tanh,     1, FLOAT,      9, 0.5f * x * (1.0f + \
                                  TANH(0.79788456080286536f * (x + 0.044715f * x * x * x))), 0) \
    X(SILU,          silu,          1, FLOAT,      4, x / (1.0f + EXP(-x)), 0) \
    X(WHERE,         where,         3, WHERE,      0, SELECT(x, y, z), ISELECT(x, y, z)) \
    X(CLAMP,         clamp,         3, ARITHMETIC, 2, SELECT(TRUTH(x < y), y, \
                                                             SELECT(TRUTH(x > z), z, x)), \
                                                      ISELECT(TRUTH(x < y), y, \
                                                              ISELECT(TRUTH(x > z), z, x))) \
    X(ADD_RELU,      add_relu,      2, ARITHMETIC, 2, SELECT(TRUTH(x + y < 0.0f), 0.0f, x + y), \
                                                      ISELECT(TRUTH(x + y < 0), 0, x + y)) \
    X(MUL_RELU,      mul_relu,      2, ARITHMETIC, 2, SELECT(TRUTH(x * y < 0.0f), 0.0f, x * y), \
                                                      ISELECT(TRUTH(x * y < 0), 0, x * y)) \
    X(AFFINE,        affine,        3, ARITHMETIC, 2, x * y + z, x * y + z)

/* Gradients of elementwise operations, by operand: X(NAME, x's, y's, z's). An expression of
 * tensors, made by src/tensor/gradient/rules.c of the operations of this table: g is the gradient
 * of the result r, and x, y, z are the operands. NONE: the operand or the result is no float;
 * ZERO: the derivative is 0 almost everywhere. */
#define ELEMENTWISE_GRADIENTS(X) \
    X(ADD,           g, g, NONE) \
    X(SUB,           g, NEG(g), NONE) \
    X(MUL,           MUL(g, y), MUL(g, x), NONE) \
    X(DIV,           DIV(g, y), NEG(DIV(MUL(g, r), y)), NONE) \
    X(MOD,           g, NEG(MUL(g, FLOOR(DIV(x, y)))), NONE) \
    X(POW,           WHERE(IS(y, 0), ZEROS, MUL(g, MUL(y, POW(x, PLUS(y, -1))))), \
                     WHERE(IS(x, 0), ZEROS, MUL(g, MUL(r, LOG(x)))), NONE) \
    X(MIN,           MUL(g, SHARE(LESS(x, y), LESS_EQUAL(x, y))), \
                     MUL(g, SHARE(LESS(y, x), LESS_EQUAL(y, x))), NONE) \
    X(MAX,           MUL(g, SHARE(GREATER(x, y), GREATER_EQUAL(x, y))), \
                     MUL(g, SHARE(GREATER(y, x), GREATER_EQUAL(y, x))), NONE) \
    X(EQUAL,         NONE, NONE, NONE) \
    X(NOT_EQUAL,     NONE, NONE, NONE) \
    X(LESS,          NONE, NONE, NONE) \
    X(LESS_EQUAL,    NONE, NONE, NONE) \
    X(GREATER,       NONE, NONE, NONE) \
    X(GREATER_EQUAL, NONE, NONE, NONE) \
    X(LOGICAL_AND,   NONE, NONE, NONE) \
    X(LOGICAL_OR,    NONE, NONE, NONE) \
    X(LOGICAL_NOT,   NONE, NONE, NONE) \
    X(NEG,           NEG(g), NONE, NONE) \
    X(ABS,           MUL(g, SIGN(x)), NONE, NONE) \
    X(SIGN,          ZERO, NONE, NONE) \
    X(SQUARE,        MUL(g, TIMES(x, 2)), NONE, NONE) \
    X(RECIPROCAL,    NEG(MUL(g, SQUARE(r))), NONE, NONE) \
    X(FLOOR,         ZERO, NONE, NONE) \
    X(CEIL,          ZERO, NONE, NONE) \
    X(ROUND,         ZERO, NONE, NONE) \
    X(SIN,           MUL(g, COS(x)), NONE, NONE) \
    X(COS,           NEG(MUL(g, SIN(x))), NONE, NONE) \
    X(TAN,           MUL(g, PLUS(SQUARE(r), 1)), NONE, NONE) \
    X(EXP,           MUL(g, r), NONE, NONE) \
    X(LOG,           DIV(g, x), NONE, NONE) \
    X(LOG1P,         DIV(g, PLUS(x, 1)), NONE, NONE) \
    X(SQRT,          DIV(g, TIMES(r, 2)), NONE, NONE) \
    X(RSQRT,         MUL(g, TIMES(MUL(r, SQUARE(r)), -0.5)), NONE, NONE) \
    X(TANH,          MUL(g, PLUS(NEG(SQUARE(r)), 1)), NONE, NONE) \
    X(ERF,           MUL(g, TIMES(EXP(NEG(SQUARE(x))), 1.1283791670955126)), NONE, NONE) \
    X(SIGMOID,       MUL(g, MUL(r, PLUS(NEG(r), 1))), NONE, NONE) \
    X(RELU,          WHERE(POSITIVE(r), g, ZEROS), NONE, NONE) \
    X(GELU,          MUL(g, GELU_SLOPE(x)), NONE, NONE) \
    X(GELU_TANH,     MUL(g, GELU_TANH_SLOPE(x)), NONE, NONE) \
    X(SILU,          MUL(g, SILU_SLOPE(x)), NONE, NONE) \
    X(WHERE,         NONE, WHERE(x, g, ZEROS), WHERE(x, ZEROS, g)) \
    X(CLAMP,         WHERE(BOTH(GREATER_EQUAL(x, y), LESS_EQUAL(x, z)), g, ZEROS), \
                     WHERE(LESS(x, y), g, ZEROS), \
                     WHERE(BOTH(GREATER_EQUAL(x, y), GREATER(x, z)), g, ZEROS)) \
    X(ADD_RELU,      WHERE(POSITIVE(r), g, ZEROS), WHERE(POSITIVE(r), g, ZEROS), NONE) \
    X(MUL_RELU,      WHERE(POSITIVE(r), MUL(g, y), ZEROS), WHERE(POSITIVE(r), MUL(g, x), ZEROS), \
                     NONE) \
    X(AFFINE,        MUL(g, y), MUL(g, x), g)

/* Conversions inside a program that loading and storing do not do. X(NAME, name, from, to,
 * expression) */
#define CONVERSION_OPS(X) \
    X(TO_F32, to_f32, I32, F32, I2F(x)) \
    X(TO_I32, to_i32, F32, I32, F2I(x)) /* toward zero, saturating, NaN is 0 */ \
    X(TO_U8, to_u8, I32, I32, x & 255) \
    X(TO_F16, to_f16, F32, F32, ROUND_F16(x)) /* rounded to what the type can hold, kept in f32 */ \
    X(TO_BF16, to_bf16, F32, F32, ROUND_BF16(x))

/* X(NAME, name, flops per element) */
#define REDUCE_OPS(X) \
    X(SUM, sum, 1) \
    X(MAX, amax, 1) \
    X(MIN, amin, 1) \
    X(ARGMAX, argmax, 1) \
    X(ARGMIN, argmin, 1)

/* Operations with their own kernels: their shape rules, flops and bytes are functions in
 * src/tensor/. X(NAME, name) */
#define KERNEL_OPS(X) \
    X(MATMUL, matmul) \
    X(ARANGE, arange) \
    X(RAND, rand) \
    X(RANDN, randn) \
    X(EMBEDDING, embedding) \
    X(ROPE, rope) \
    X(ATTENTION, attention) \
    X(ATTENTION_DQ, attention_dq) \
    X(ATTENTION_DKV, attention_dkv) \
    X(WKV7, wkv7) \
    X(QUANTIZE, quantize) \
    X(DEQUANTIZE, dequantize) \
    X(GATED, gated_mlp) \
    X(LORA, lora) \
    X(UPDATE, update) \
    X(GATHER, gather) \
    X(SCATTER_ADD, scatter_add) \
    X(ARGSORT, argsort) \
    X(CUMSUM, cumsum) \
    X(SAMPLE, sample) \
    X(UNFOLD, unfold) \
    X(FOLD, fold) \
    X(CUSTOM, custom)

/* clang-format on */

#define OP_ELEMENTWISE_ENUM(NAME, name, arity, rule, flops, f32, i32) OP_##NAME,
#define OP_CONVERSION_ENUM(NAME, name, from, to, expression) OP_##NAME,
#define OP_REDUCE_ENUM(NAME, name, flops) OP_REDUCE_##NAME,
#define OP_KERNEL_ENUM(NAME, name) OP_##NAME,
enum op {
    ELEMENTWISE_OPS(OP_ELEMENTWISE_ENUM) OP_ELEMENTWISE_COUNT,
    OP_BEFORE_CONVERSIONS = OP_ELEMENTWISE_COUNT - 1,
    CONVERSION_OPS(OP_CONVERSION_ENUM) OP_EXPRESSIONS, /* all before it have an expression */
    OP_BEFORE_REDUCTIONS = OP_EXPRESSIONS - 1,
    REDUCE_OPS(OP_REDUCE_ENUM) OP_LOAD, /* programs only: an operand's element */
    OP_STORE,                           /* programs only */
    OP_CONSTANT,                        /* a scalar */
    OP_ACCUMULATOR,                     /* programs only: the result of a matrix product */
    KERNEL_OPS(OP_KERNEL_ENUM) OP_COUNT
};

struct op_info {
    const char *name;
    uint8_t arity;
    enum op_rule rule;
    uint8_t flops;         /* per element of the result; of the operand for reductions */
    const char *f32, *i32; /* expressions; NULL when there is none */
};
/* Complete for elementwise operations and conversions; the others have a name and flops. */
const struct op_info *op_info(enum op op);
static inline bool op_is_reduction(enum op op) {
    return op >= OP_REDUCE_SUM && op <= OP_REDUCE_ARGMIN;
}

#endif
