/* The functions of the op table on vectors against the C library in double: every exponent, both
 * signs, and the numbers that are like no others, with every set of vector instructions. */
#include "program_reference.h"

#include "base/array.h"

enum { BATCH = 4096 };

/* The distance in units of the last place of the wanted float; huge when one is special and the
 * other is not. */
static double distance(float got, double want) {
    float nearest = (float)want;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : 1e30;
    if (isinf(nearest) || isinf(got))
        return got == nearest || fabs(want) > 0x1.fffffep127 * (1 - 0x1p-23) ? 0 : 1e30;
    if (got == 0 && nearest == 0)
        return signbit(got) == signbit(nearest) ? 0 : 1e30;
    int exponent;
    frexp(want, &exponent);
    return fabs(got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const float special[] = {0.0f,          -0.0f,          1.0f,        -1.0f,     2.0f,
                                -2.0f,         3.0f,           -3.0f,       0.5f,      -0.5f,
                                1e-45f,        -1e-45f,        0x1p-126f,   1e-40f,    -1e-40f,
                                3.4e38f,       -3.4e38f,       INFINITY,    -INFINITY, NAN,
                                1.0000001f,    0.99999994f,    16777217.0f, 1e9f,      -1.5f,
                                2147483648.0f, -2147483648.0f, 65504.0f,    0x1p23f,   -0x1.8p22f};
enum { SPECIAL = ARRAY_COUNT(special) };

/* The worst distance of a function of one operand, over all floats in steps. */
static void check_function(enum op op, double bound) {
    tile_expression *function = simd_best()->tile->expressions[VALUE_F32][op];
    static float x[BATCH], got[BATCH];
    const size_t moves[3] = {simd_best()->tile->lanes * 4, 0, 0};
    double worst = 0;
    float worst_x = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) {
        for (unsigned i = 0; i < BATCH; i++, bits += 32771)
            x[i] = i < SPECIAL && bits < BATCH ? special[i] : float_of_bits((uint32_t)bits);
        memcpy(x, special, bits < (uint64_t)BATCH * 40000 ? sizeof special : 0);
        function(got, x, x, x, BATCH, moves);
        for (unsigned i = 0; i < BATCH; i++) {
            double off = distance(
                got[i], reference_expression(op, VALUE_F32, (double[3]){x[i], x[i], x[i]}));
            if (off > worst)
                worst = off, worst_x = x[i];
        }
    }
    if (worst > bound)
        test_failed(__FILE__, __LINE__, "%s(%a) is %.2f units off with %s", op_info(op)->name,
                    (double)worst_x, worst, simd_best()->name);
}

TEST(functions_of_vectors_are_within_their_bounds_for_every_kind_of_float) {
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        check_function(OP_EXP, 1.1);
        check_function(OP_LOG, 1.0);
        check_function(OP_LOG1P, 1.0);
        check_function(OP_SIN, 1.6);
        check_function(OP_COS, 1.6);
        check_function(OP_TAN, 2.6);
        check_function(OP_TANH, 2.0);
        check_function(OP_ERF, 1.5);
        check_function(OP_SQRT, 0.5);
        check_function(OP_RSQRT, 1.5);
        check_function(OP_RECIPROCAL, 0.5);
        check_function(OP_FLOOR, 0);
        check_function(OP_CEIL, 0);
        check_function(OP_ROUND, 0);
        check_function(OP_ABS, 0);
        check_function(OP_SIGN, 0);
        check_function(OP_RELU, 0);
    }
}

/* Where e^-x grows past the largest float, x / (1 + e^-x) is 0 instead of a tiny number. */
TEST(activations_are_close_to_what_they_stand_for) {
    static const enum op ops[] = {OP_SILU, OP_GELU, OP_GELU_TANH, OP_SIGMOID};
    static float x[BATCH], got[BATCH];
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (unsigned k = 0; k < 4; k++) {
            const size_t moves[3] = {simd_best()->tile->lanes * 4, 0, 0};
            for (unsigned i = 0; i < BATCH; i++)
                x[i] = (float)((int)i - BATCH / 2) / 64;
            simd_best()->tile->expressions[VALUE_F32][ops[k]](got, x, x, x, BATCH, moves);
            for (unsigned i = 0; i < BATCH; i++) {
                double want =
                    reference_expression(ops[k], VALUE_F32, (double[3]){x[i], x[i], x[i]});
                if (!(fabs(got[i] - want) <=
                      2e-7 * fmax(fabs(want), fabs((double)x[i]) * (k < 3)) + 1e-37)) {
                    test_failed(__FILE__, __LINE__, "%s(%g) is %g, not %g", op_info(ops[k])->name,
                                (double)x[i], (double)got[i], want);
                    break;
                }
            }
        }
}

TEST(dividing_by_one_number_gives_what_division_gives) {
    static float x[BATCH], got[BATCH];
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (unsigned k = 0; k < 400; k++) {
            const struct tile_functions *tile = simd_best()->tile;
            const size_t moves[3] = {tile->lanes * 4, 0, 0};
            float y[TILE_LANES_MAX];
            for (unsigned i = 0; i < TILE_LANES_MAX; i++)
                y[i] = k < SPECIAL ? special[k] : float_of_bits(k * 10653907u);
            for (unsigned i = 0; i < BATCH; i++)
                x[i] = i < SPECIAL ? special[i] : float_of_bits((k * BATCH + i) * 2654435761u);
            tile->divide_by_one(got, x, y, y, BATCH, moves);
            unsigned wrong = 0;
            for (unsigned i = 0; i < BATCH; i++) {
                float want = x[i] / y[0];
                wrong +=
                    memcmp(&got[i], &want, sizeof want) != 0 && !(isnan(got[i]) && isnan(want));
            }
            CHECK_INT(wrong, 0);
        }
}

static void check_powers(const float *x, const float *y) {
    static float got[BATCH];
    const size_t moves[3] = {simd_best()->tile->lanes * 4, simd_best()->tile->lanes * 4, 0};
    simd_best()->tile->expressions[VALUE_F32][OP_POW](got, x, y, y, BATCH, moves);
    for (unsigned i = 0; i < BATCH; i++)
        if (distance(got[i], pow(x[i], y[i])) > 1.0) {
            test_failed(__FILE__, __LINE__, "pow(%a, %a) is %a, not %a", (double)x[i], (double)y[i],
                        (double)got[i], pow(x[i], y[i]));
            return;
        }
}

TEST(powers_are_right_for_all_bases_and_exponents) {
    static float x[BATCH], y[BATCH];
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        for (unsigned i = 0; i < BATCH; i++) {
            x[i] = special[i / SPECIAL % SPECIAL];
            y[i] = special[i % SPECIAL];
        }
        check_powers(x, y);
        for (unsigned round = 0; round < 20; round++) {
            for (unsigned i = 0; i < BATCH; i++) {
                uint64_t seed = round * BATCH + i;
                x[i] = (float)ldexp(1.5 + 0.5 * noise(seed), (int)(seed % 250) - 125);
                if (round % 2)
                    x[i] = (float)(1 + 0.3 * noise(seed) * ldexp(1, -(int)(seed % 20)));
                y[i] = (float)(126 * noise(seed + 77777777) / log2(x[i]));
            }
            check_powers(x, y);
        }
    }
}

TEST(halves_are_widened_exactly_and_rounded_to_the_nearest_even) {
    static const enum ridge_dtype types[] = {RIDGE_F16, RIDGE_BF16};
    static uint16_t halves[BATCH], back[BATCH];
    static float wide[BATCH];
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (unsigned k = 0; k < 2; k++)
            for (unsigned first = 0; first < 65536; first += BATCH) {
                const struct tile_functions *tile = simd_best()->tile;
                for (unsigned i = 0; i < BATCH; i++)
                    halves[i] = (uint16_t)(first + i);
                tile->load[types[k]](wide, halves, BATCH - 3);
                tile->store[types[k]](back, wide, BATCH - 3);
                unsigned wrong = 0;
                for (unsigned i = 0; i < BATCH - 3; i++) {
                    double want = element(halves, types[k], i);
                    wrong += isnan(want) ? !isnan(wide[i]) || !isnan(element(back, types[k], i))
                                         : wide[i] != want || back[i] != halves[i];
                }
                CHECK_INT(wrong, 0);
                /* Between two neighbors, and halfway. */
                for (unsigned i = 0; i < BATCH; i++)
                    wide[i] = float_of_bits(((first * 65536 + i * 1048583u) & 0xfffffff0) |
                                            (i % 3 ? 0 : 0x1000));
                tile->store[types[k]](back, wide, BATCH);
                for (unsigned i = 0; i < BATCH; i++) {
                    double want = rounded_to_type(wide[i], types[k]);
                    if (types[k] == RIDGE_F16 && fabs(want) > 65504)
                        want = copysign(INFINITY, want);
                    double got = element(back, types[k], i);
                    wrong += isnan(wide[i]) ? !isnan(got)
                                            : got != want && !(isinf(got) && fabs(want) > 3.38e38);
                }
                CHECK_INT(wrong, 0);
            }
}

TEST(integers_divide_towards_zero_wrap_and_never_trap) {
    static const int32_t values[] = {0,     1,      -1,        2,         -2,        3,
                                     7,     -7,     100,       INT32_MAX, INT32_MIN, INT32_MIN + 1,
                                     46341, -65536, 123456789, -987654321};
    static const enum op ops[] = {OP_ADD, OP_SUB, OP_MUL,  OP_DIV,    OP_MOD,  OP_MIN,       OP_MAX,
                                  OP_NEG, OP_ABS, OP_SIGN, OP_SQUARE, OP_LESS, OP_LOGICAL_OR};
    int32_t x[256], y[256], got[256];
    for (unsigned i = 0; i < 256; i++)
        x[i] = values[i / 16], y[i] = values[i % 16];
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (unsigned k = 0; k < ARRAY_COUNT(ops); k++) {
            size_t vector = simd_best()->tile->lanes * 4;
            simd_best()->tile->expressions[VALUE_I32][ops[k]](
                got, x, y, y, 256, (const size_t[3]){vector, vector, vector});
            for (unsigned i = 0; i < 256; i++)
                CHECK_INT(got[i],
                          reference_expression(ops[k], VALUE_I32, (double[3]){x[i], y[i], y[i]}));
        }
}

TEST(floats_become_integers_towards_zero_and_saturate) {
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        float x[32];
        int32_t got[32];
        for (unsigned i = 0; i < 32; i++)
            x[i] = special[i % SPECIAL];
        size_t vector = simd_best()->tile->lanes * 4;
        simd_best()->tile->expressions[VALUE_F32][OP_TO_I32](
            got, x, x, x, 32, (const size_t[3]){vector, vector, vector});
        for (unsigned i = 0; i < 32; i++)
            CHECK_INT(got[i],
                      reference_expression(OP_TO_I32, VALUE_F32, (double[3]){x[i], x[i], x[i]}));
    }
}
