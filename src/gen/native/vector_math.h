/* The functions of the op table on vectors of floats, for every input: subnormals, infinities,
 * NaN and large arguments too. Errors are at most 2 units in the last place, 3 for tan and 4
 * for pow; tests/unit/gen/vector_math.c checks this.
 *
 * The method is always: reduce the argument to a short interval, evaluate a polynomial there,
 * undo the reduction. Coefficients are minimax fits rounded to float one after another, each
 * time fitting the rest again. ISAs without fused multiply-add reduce trigonometric arguments
 * in double.
 */
#ifndef RIDGE_GEN_NATIVE_VECTOR_MATH_H
#define RIDGE_GEN_NATIVE_VECTOR_MATH_H

#include "gen/native/simd.h"

/* c0 + c1 x + c2 x^2 + ... */
#define POLYNOMIAL(x, ...)                                                                         \
    polynomial(x, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / 4)
SIMD_INLINE floats polynomial(floats x, const float *coefficients, int count) {
    floats sum = floats_of(coefficients[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = floats_fma(sum, x, floats_of(coefficients[i]));
    return sum;
}

SIMD_INLINE floats with_sign_of(floats magnitude, floats sign) {
    return (floats)((ints)magnitude | ((ints)sign & INT32_MIN));
}

#define FLOAT_INFINITY __builtin_inff()
#define FLOAT_NAN __builtin_nanf("")

/* ---- exp ---- */

/* e^x for |x| < 250 or NaN: x = n ln 2 + r, e^x = 2^n e^r. */
SIMD_INLINE floats exp_in_range(floats x) {
    floats n = floats_round_small(x * 0x1.715476p+0f);
    floats r = floats_fma(n, floats_of(-0x1.62e4p-1f), x); /* exact: the constant is short */
    r = floats_fma(n, floats_of(-0x1.7f7d1cp-20f), r);
    floats q = POLYNOMIAL(r, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558bcp-5f, 0x1.1239c6p-7f,
                          0x1.6a4154p-10f);
    return floats_scale(floats_fma(r * r, q, r) + 1.0f, n);
}

SIMD_INLINE floats floats_exp(floats x) {
    /* Beyond these it is 0 or infinity anyway; NaN passes. */
    return exp_in_range(floats_max(floats_of(-110.0f), floats_min(floats_of(100.0f), x)));
}

/* ---- log ---- */

/* e ln 2 + log(1 + f), -0.25 <= f < 0.5 */
SIMD_INLINE floats log_of_parts(floats e, floats f) {
    floats p =
        POLYNOMIAL(f, 0x1.55555ap-2f, -0x1.00006ep-2f, 0x1.999764p-3f, -0x1.5519d6p-3f,
                   0x1.246388p-3f, -0x1.04ad32p-3f, 0x1.df1c64p-4f, -0x1.7506p-4f, 0x1.341cb4p-5f);
    floats square = f * f;
    floats rest = floats_fma(square * f, p, e * 0x1.7f7d1cp-20f);
    rest = floats_fma(square, floats_of(-0.5f), rest);
    return floats_fma(e, floats_of(0x1.62e4p-1f), f + rest);
}

SIMD_INLINE floats floats_log(floats x) {
#if defined(SIMD_AVX512)
    /* Of 0, infinity and NaN the exponent is -inf, inf and NaN, which the sum hands on. */
    floats e = (floats)_mm512_getexp_ps((__m512)x);
    floats m = (floats)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
    e = (floats)_mm512_mask_add_ps(
        (__m512)e, _mm512_cmp_ps_mask((__m512)floats_abs(m), _mm512_set1_ps(1.0f), _CMP_LT_OQ),
        (__m512)e, _mm512_set1_ps(1.0f));
    floats result = log_of_parts(e, m - 1.0f);
    __mmask16 negative = _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_LT_OQ);
    __mmask16 endless = _mm512_fpclass_ps_mask((__m512)x, 0x02 | 0x04 | 0x08); /* 0, inf */
    result = (floats)_mm512_mask_mov_ps((__m512)result, endless, (__m512)e);
    return (floats)_mm512_mask_mov_ps((__m512)result, negative, _mm512_set1_ps(FLOAT_NAN));
#else
    ints subnormal = x < 0x1p-126f;
    floats normal = floats_choose(subnormal, x * 0x1p23f, x);
    ints e = ((ints)normal - 0x3f400000) >> 23; /* of a mantissa from 0.75 */
    floats f = (floats)((ints)normal - (e << 23)) - 1.0f;
    e -= subnormal & 23;
    floats result = log_of_parts(__builtin_convertvector(e, floats), f);
    result = floats_choose(x < FLOAT_INFINITY, result, x); /* infinity and NaN */
    result = floats_choose(x == 0.0f, floats_of(-FLOAT_INFINITY), result);
    return floats_choose(x < 0.0f, floats_of(FLOAT_NAN), result);
#endif
}

SIMD_INLINE floats floats_log1p(floats x) {
    /* The exponent is that of 1 + x, but 2^-e (1 + x) - 1 is made from x, with one rounding. */
    floats u = x + 1.0f;
    ints e = ((ints)u - 0x3f400000) >> 23;
    floats scale = (floats)((127 - e) << 23);
    /* 2^-e is below the smallest normal for the last exponents: x alone counts there. */
    ints huge = x > 0x1p100f;
    e = ints_choose(huge, ((ints)x - 0x3f400000) >> 23, e);
    floats m = (floats)((ints)x - (e << 23));
    floats f = floats_choose(huge, m - 1.0f, floats_fma(x, scale, scale - 1.0f));
    floats result = log_of_parts(__builtin_convertvector(e, floats), f);
    result = floats_choose(floats_abs(x) < 0x1p-26f, x, result);
    result = floats_choose(x < FLOAT_INFINITY, result, x);
    result = floats_choose(x == -1.0f, floats_of(-FLOAT_INFINITY), result);
    return floats_choose(x < -1.0f, floats_of(FLOAT_NAN), result);
}

/* ---- sin, cos, tan ---- */

/* Above it the C library computes the lanes one by one. */
#define QUARTERS_LIMIT 0x1.8p16f

/* x = quarters * pi/2 + the result, of |x| up to QUARTERS_LIMIT */
SIMD_INLINE floats quarter_turns(floats x, ints *quarters) {
#if defined(SIMD_FMA)
    floats n = floats_round_small(x * 0x1.45f306p-1f);
    floats r = floats_fma(n, floats_of(-0x1.921fb6p+0f), x); /* exact */
    r = floats_fma(n, floats_of(0x1.777a5cp-25f), r);
    *quarters = __builtin_convertvector(n, ints);
    return floats_fma(n, floats_of(0x1.ee59dap-50f), r);
#else
    doubles low, high;
    floats_widen(x, &low, &high);
    doubles n_low = (low * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
    doubles n_high = (high * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
    low = (low - n_low * 0x1.921fb544p+0) - n_low * 0x1.0b4611a626331p-34;
    high = (high - n_high * 0x1.921fb544p+0) - n_high * 0x1.0b4611a626331p-34;
    *quarters = __builtin_convertvector(floats_narrow(n_low, n_high), ints);
    return floats_narrow(low, high);
#endif
}

/* sin of quarters * pi/2 + r, |r| up to pi/4 */
SIMD_INLINE floats sin_of_quarters(ints quarters, floats r) {
    floats square = r * r;
    floats s = POLYNOMIAL(square, -0x1.555546p-3f, 0x1.110774p-7f, -0x1.9951eep-13f);
    s = floats_fma(s * square, r, r);
    floats c = POLYNOMIAL(square, 0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f);
    c = floats_fma(floats_fma(c, square, floats_of(-0.5f)), square, floats_of(1.0f));
    floats chosen = floats_choose((quarters & 1) == 0, s, c);
    return (floats)((ints)chosen ^ ((quarters & 2) << 30));
}

/* Lanes whose argument is too large to be reduced, one at a time; rare. */
typedef float float_function(float);
static __attribute__((noinline, unused)) floats large_lanes(float_function *function, floats x,
                                                            floats result) {
    for (int i = 0; i < LANES; i++)
        if (!(fabsf(x[i]) <= QUARTERS_LIMIT))
            result[i] = function(x[i]);
    return result;
}

SIMD_INLINE floats any_large_lanes(float_function *function, floats x, floats result) {
    ints large = ~(ints)(floats_abs(x) <= QUARTERS_LIMIT);
    if (__builtin_expect(ints_any(large), 0))
        return large_lanes(function, x, result);
    return result;
}

SIMD_INLINE floats floats_sin(floats x) {
    ints quarters;
    floats r = quarter_turns(x, &quarters);
    floats result = sin_of_quarters(quarters, r);
    result = floats_choose(x == 0.0f, x, result); /* -0 */
    return any_large_lanes(sinf, x, result);
}

SIMD_INLINE floats floats_cos(floats x) {
    ints quarters;
    floats r = quarter_turns(x, &quarters);
    return any_large_lanes(cosf, x, sin_of_quarters(quarters + 1, r));
}

SIMD_INLINE floats floats_tan(floats x) {
    ints quarters;
    floats r = quarter_turns(x, &quarters);
    floats square = r * r;
    floats p = POLYNOMIAL(square, 0x1.55556p-2f, 0x1.110d9ap-3f, 0x1.badadcp-5f, 0x1.5cb2cap-6f,
                          0x1.631e06p-7f, 0x1.6290e8p-14f, 0x1.1f0b48p-8f);
    floats t = floats_fma(p * square, r, r);
    floats result = floats_choose((quarters & 1) == 0, t, -1.0f / t);
    result = floats_choose(x == 0.0f, x, result);
    return any_large_lanes(tanf, x, result);
}

/* ---- tanh, erf ---- */

SIMD_INLINE floats floats_tanh(floats x) {
    floats magnitude = floats_abs(x), square = x * x;
    floats p = POLYNOMIAL(square, -0x1.555554p-2f, 0x1.111076p-3f, -0x1.b9f046p-5f, 0x1.639406p-6f,
                          -0x1.0bfc64p-7f, 0x1.189a76p-9f);
    floats small = floats_fma(p * square, magnitude, magnitude);
    floats twice = floats_min(floats_of(20.0f), magnitude + magnitude);
    floats large = 1.0f - 2.0f / (exp_in_range(twice) + 1.0f);
    return with_sign_of(floats_choose(magnitude < 0.625f, small, large), x);
}

SIMD_INLINE floats floats_erf(floats x) {
    floats magnitude = floats_min(floats_of(3.95f), floats_abs(x)), square = x * x;
    floats p = POLYNOMIAL(square, 0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d64p-4f, -0x1.b80124p-6f,
                          0x1.544b08p-8f, -0x1.a6181p-11f, 0x1.4fa924p-14f);
    floats small = floats_fma(x, p, x);
    /* The logarithm of 1 - erf */
    floats q =
        POLYNOMIAL(magnitude, -0x1.763de6p-13f, 0x1.212916p+0f, 0x1.44412ep-1f, 0x1.bbaf0cp-4f,
                   -0x1.9bfeeep-6f, 0x1.1206e4p-8f, -0x1.c9cdf2p-12f, 0x1.650ap-16f);
    floats large = 1.0f - exp_in_range(-q);
    return floats_choose(floats_abs(x) < 0.94f, small, with_sign_of(large, x));
}

/* ---- pow ---- */

#define POLYNOMIAL_DOUBLE(x, ...)                                                                  \
    polynomial_double(x, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / 8)
SIMD_INLINE doubles polynomial_double(doubles x, const double *coefficients, int count) {
    doubles sum = doubles_of(coefficients[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = doubles_fma(sum, x, doubles_of(coefficients[i]));
    return sum;
}

/* x^y of x > 0 (or 0, infinity, NaN) that came from floats: 2^(y log2 x). In double every float is
 * a normal number, and both the logarithm's error times y and the last rounding are harmless. */
SIMD_INLINE doubles pow_of_positive(doubles x, doubles y) {
    const int64_t magic = 0x4338000000000000; /* 1.5 * 2^52: integers added to its bits count */
    longs raw = (longs)x;
    longs e = ((raw - 0x3fe6a09e667f3bcd) >> 52); /* of a mantissa from sqrt(1/2) */
    doubles f = (doubles)(raw - (e << 52)) - 1.0;
    doubles p = POLYNOMIAL_DOUBLE(
        f, 0x1.71547652b58f1p+0, -0x1.71547651b7069p-1, 0x1.ec709de33c9fdp-2, -0x1.7154788838314p-2,
        0x1.2776b6cd050e5p-2, -0x1.ec6f2e0276b31p-3, 0x1.a61b7dcba260dp-3, -0x1.7188d2f7a4c6dp-3,
        0x1.481fad161eeb5p-3, -0x1.23d6514e25eecp-3, 0x1.0acdefab82f43p-3, -0x1.13b88b8a6c6ccp-3,
        0x1.0f627be0e7365p-3, -0x1.1da6ccc78a5a1p-4);
    doubles log2_x = doubles_fma(f, p, (doubles)(e + magic) - 0x1.8p52);
    log2_x = doubles_choose(x == 0.0, doubles_of(-__builtin_inf()), log2_x);
    log2_x = doubles_choose(x < __builtin_inf(), log2_x, x);
    doubles power = y * log2_x;
    power = doubles_choose(power < -200.0, doubles_of(-200.0), power);
    power = doubles_choose(power > 200.0, doubles_of(200.0), power);
    doubles shifted = power + 0x1.8p52;
    doubles r = power - (shifted - 0x1.8p52);
    doubles q = POLYNOMIAL_DOUBLE(r, 0x1.0000000261502p+0, 0x1.62e430c7e922cp-1,
                                  0x1.ebfbdadcb06e3p-3, 0x1.c6aed4b951b03p-5, 0x1.3b2dbbc13220ap-7,
                                  0x1.5f456a8a7666dp-10, 0x1.41d33347f9e9p-13);
    /* NaN goes on as it is: its bits are not a number to add to. */
    return doubles_choose(power == power, (doubles)((longs)q + ((longs)shifted << 52)), power);
}

SIMD_INLINE floats floats_pow(floats x, floats y) {
    doubles x_low, x_high, y_low, y_high;
    floats_widen(floats_abs(x), &x_low, &x_high);
    floats_widen(y, &y_low, &y_high);
    floats result = floats_narrow(pow_of_positive(x_low, y_low), pow_of_positive(x_high, y_high));
    ints whole = floats_round(y) == y;
    floats half = y * 0.5f;
    ints odd = whole & (floats_round(half) != half);
    floats negative = (floats)((ints)result ^ (odd & INT32_MIN));
    negative =
        floats_choose(whole | (x == 0.0f) | (x == -FLOAT_INFINITY), negative, floats_of(FLOAT_NAN));
    result = floats_choose((ints)x < 0, negative, result);
    result = floats_choose(x != x, x, result);
    ints one = (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (floats_abs(y) == FLOAT_INFINITY));
    return floats_choose(one, floats_of(1.0f), result);
}

SIMD_INLINE floats floats_rsqrt(floats x) {
    return 1.0f / floats_sqrt(x);
}

#endif
