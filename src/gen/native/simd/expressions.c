/* The op table's expressions as functions over tiles: one for each operation and type.
 *
 * Here the words of ops.h are functions of vectors. A row added to the table needs nothing here
 * unless it brings a word of its own.
 */
#include <math.h>

#include "gen/native/tiles.h"
#include "gen/native/vector_math.h"

/* A scalar among vectors becomes one. */
SIMD_INLINE floats floats_same(floats x) {
    return x;
}
SIMD_INLINE ints ints_same(ints x) {
    return x;
}
#define FLOATS(x) _Generic((x), floats : floats_same, default : floats_of)(x)
#define INTS(x) _Generic((x), ints : ints_same, default : ints_of)(x)

#define EXP(x) floats_exp(x)
#define LOG(x) floats_log(x)
#define LOG1P(x) floats_log1p(x)
#define SIN(x) floats_sin(x)
#define COS(x) floats_cos(x)
#define TAN(x) floats_tan(x)
#define TANH(x) floats_tanh(x)
#define ERF(x) floats_erf(x)
#define SQRT(x) floats_sqrt(x)
#define RSQRT(x) floats_rsqrt(x)
#define FLOOR(x) floats_floor(x)
#define CEIL(x) floats_ceil(x)
#define RINT(x) floats_round(x)
#define ABS(x) floats_abs(x)
#define POW(x, y) floats_pow(x, y)
#define MOD(x, y) floats_modulo(FLOATS(x), FLOATS(y))
#define TRUTH(comparison) ((ints)(comparison)&1)
#define SELECT(t, a, b) floats_choose((ints)((t) != 0), FLOATS(a), FLOATS(b))
#define ISELECT(t, a, b) ints_choose((ints)((t) != 0), INTS(a), INTS(b))
#define IABS(x) ints_abs(x)
#define IDIV(x, y) ints_divide(x, y)
#define IMOD(x, y) ints_modulo(x, y)
#define I2F(x) __builtin_convertvector(x, floats)
#define F2I(x) floats_to_ints(x)
#define ROUND_F16(x) floats_from_f16(floats_to_f16(x))
#define ROUND_BF16(x) floats_from_bf16(floats_to_bf16(x))

/* fmodf() is exact for quotients of any size. */
SIMD_INLINE floats floats_modulo(floats x, floats y) {
    float of_x[LANES], of_y[LANES];
    floats_store(of_x, x);
    floats_store(of_y, y);
    for (int i = 0; i < LANES; i++) {
        float rest = fmodf(of_x[i], of_y[i]);
        of_x[i] = rest != 0 && (rest < 0) != (of_y[i] < 0) ? rest + of_y[i] : rest;
    }
    return floats_load(of_x);
}

SIMD_INLINE ints ints_abs(ints x) {
    ints sign = x >> 31;
    return (x ^ sign) - sign;
}

SIMD_INLINE half_ints half_divide(half_ints x, half_ints y) {
    doubles quotient = __builtin_convertvector(x, doubles) / __builtin_convertvector(y, doubles);
    return __builtin_convertvector(quotient, half_ints);
}

/* There is no vector instruction for it, and in double the quotient is exact after truncation. The
 * two divisors that a processor would trap on are taken out first. */
SIMD_INLINE ints ints_divide(ints x, ints y) {
    ints zero = y == 0, minus = y == -1;
    ints divisor = ints_choose(zero | minus, ints_of(1), y);
    half_ints numerators[2], divisors[2], quotients[2];
    memcpy(numerators, &x, sizeof x);
    memcpy(divisors, &divisor, sizeof divisor);
    quotients[0] = half_divide(numerators[0], divisors[0]);
    quotients[1] = half_divide(numerators[1], divisors[1]);
    ints quotient;
    memcpy(&quotient, quotients, sizeof quotient);
    return ints_choose(minus, -quotient, quotient) & ~zero;
}

SIMD_INLINE ints ints_modulo(ints x, ints y) {
    ints rest = x - ints_divide(x, y) * y;
    ints other_side = (rest != 0) & ((rest ^ y) < 0);
    return (rest + (other_side & y)) & ~(ints)(y == 0);
}

SIMD_INLINE ints floats_to_ints(floats x) {
    ints fits = floats_abs(x) < 0x1p31f;
    ints whole = __builtin_convertvector(floats_choose(fits, x, floats_of(0.0f)), ints);
    ints saturated = ints_choose(x > 0.0f, ints_of(INT32_MAX), ints_of(INT32_MIN));
    return ints_choose(fits, whole, saturated) & (ints)(x == x);
}

SIMD_INLINE void put_floats(void *out, floats value) {
    floats_store(out, value);
}
SIMD_INLINE void put_ints(void *out, ints value) {
    ints_store(out, value);
}
/* Where the table has no expression. */
SIMD_INLINE void put_nothing(void *out, int value) {
    ints_store(out, ints_of(value));
}
#define PUT(out, value)                                                                            \
    _Generic((value), floats : put_floats, ints : put_ints, int : put_nothing)(out, value)

#define NEXT(type, name)                                                                           \
    type name = type##_load((const void *)name##_at);                                              \
    (void)name;                                                                                    \
    name##_at += name##_step
#define NEXT_1(X, Y) NEXT(X, x)
#define NEXT_2(X, Y)                                                                               \
    NEXT_1(X, Y);                                                                                  \
    NEXT(Y, y)
#define NEXT_3(X, Y)                                                                               \
    NEXT_2(X, Y);                                                                                  \
    NEXT(Y, z)

/* X is the type of x, Y that of y and z. */
#define TILE_EXPRESSION(name, arity, X, Y, expression)                                             \
    static void name(void *out, const void *xs, const void *ys, const void *zs, size_t count,      \
                     const size_t steps[3]) {                                                      \
        const char *x_at = xs, *y_at = ys, *z_at = zs;                                             \
        const size_t x_step = steps[0], y_step = steps[1], z_step = steps[2];                      \
        (void)y_at, (void)z_at, (void)y_step, (void)z_step;                                        \
        char *out_at = out;                                                                        \
        _Pragma("GCC unroll 2") for (size_t i = 0; i < count; i += LANES) {                        \
            NEXT_##arity(X, Y);                                                                    \
            PUT(out_at, expression);                                                               \
            out_at += VECTOR_BYTES;                                                                \
        }                                                                                          \
    }

#define X_ARITHMETIC floats
#define X_FLOAT floats
#define X_COMPARE floats
#define X_LOGIC floats
#define X_WHERE ints
#define ELEMENTWISE_FUNCTIONS(NAME, name, arity, rule, flops, f32, i32)                            \
    TILE_EXPRESSION(name##_f32, arity, X_##rule, floats, f32)                                      \
    TILE_EXPRESSION(name##_i32, arity, ints, ints, i32)
ELEMENTWISE_OPS(ELEMENTWISE_FUNCTIONS)

#define VECTOR_F32 floats
#define VECTOR_I32 ints
#define CONVERSION_FUNCTION(NAME, name, from, to, expression)                                      \
    TILE_EXPRESSION(convert_##name, 1, VECTOR_##from, VECTOR_##from, expression)
CONVERSION_OPS(CONVERSION_FUNCTION)

/* Division takes as long as eight multiplications. With r the reciprocal of y, q = x r is off by at
 * most one unit, and adding r times what x - q y leaves makes it right: as long as nothing on the
 * way is subnormal or infinite. */
extern tile_expression SIMD_NAME(tile_divide_by_one);
void SIMD_NAME(tile_divide_by_one)(void *out, const void *x, const void *y, const void *z,
                                   size_t count, const size_t steps[3]) {
    float divisor;
    memcpy(&divisor, y, sizeof divisor);
#if defined(SIMD_FMA)
    if (fabsf(divisor) > 0x1p-60f && fabsf(divisor) < 0x1p60f) {
        floats r = floats_of(1.0f / divisor), minus_y = floats_of(-divisor);
        const char *at = x;
        for (size_t i = 0; i < count; i += LANES, at += steps[0]) {
            floats value = floats_load((const void *)at), q = value * r;
            floats better = floats_fma(floats_fma(q, minus_y, value), r, q);
            ints ordinary = (floats_abs(value) > 0x1p-60f) & (floats_abs(value) < 0x1p60f);
            if (__builtin_expect(ints_any(~ordinary), 0))
                better = floats_choose(ordinary, better, value / divisor);
            floats_store((float *)out + i, better);
        }
        return;
    }
#endif
    div_f32(out, x, y, z, count, steps);
}

#define ELEMENTWISE_F32(NAME, name, arity, rule, flops, f32, i32) [OP_##NAME] = name##_f32,
#define ELEMENTWISE_I32(NAME, name, arity, rule, flops, f32, i32) [OP_##NAME] = name##_i32,
#define CONVERSION_ROW(NAME, name, from, to, expression) [OP_##NAME] = convert_##name,
tile_expression *const SIMD_NAME(tile_expressions)[2][OP_EXPRESSIONS] = {
    {ELEMENTWISE_OPS(ELEMENTWISE_F32) CONVERSION_OPS(CONVERSION_ROW)},
    {ELEMENTWISE_OPS(ELEMENTWISE_I32) CONVERSION_OPS(CONVERSION_ROW)},
};
