/* Casts between all pairs of types, and copies of floats to the host and back: all exact. */
#include <math.h>

#include "arrays.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_I32, RIDGE_U8};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0], COUNT = 1543 };

/* Halves between neighbors of the shorter types, where rounding turns, and all that is special. */
static const double special[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 1.5,
                                 2.5,
                                 -1.5,
                                 255,
                                 256,
                                 300,
                                 -1,
                                 -257,
                                 65504,
                                 65519.996,
                                 65520,
                                 -65520,
                                 1e5,
                                 0x1p-24,
                                 0x1p-25,
                                 0x1.8p-25,
                                 0x1p-14,
                                 -0x1.004p-15,
                                 1 + 0x1p-11,
                                 1 + 0x3p-11,
                                 1 + 0x1p-8,
                                 1 + 0x3p-8,
                                 0x1p-149,
                                 0x1p-133,
                                 0x1p-134,
                                 0x1.8p-134,
                                 0x1.fffffep127,
                                 -0x1.fffffep127,
                                 0x1.ffp127,
                                 2147483520,
                                 2147483648,
                                 -2147483648,
                                 -2147483904,
                                 1e20,
                                 -1e20,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 16777217,
                                 33554435,
                                 2147483647,
                                 2049,
                                 -2051,
                                 0.99999994,
                                 -0.99999994};
enum { SPECIAL = sizeof special / sizeof special[0] };

static double sample(enum ridge_dtype dtype, int64_t i) {
    double value = i < SPECIAL ? special[i]
                               : ldexp(noise_between(1, (uint64_t)i, -1, 1),
                                       (int)(noise_bits(2, (uint64_t)i) % 48) - 20);
    if (is_float(dtype))
        return number_round(dtype, value);
    if (!(value > -2147483649.0 && value < 2147483648.0))
        value = 7;
    return (double)wrap_integer(dtype, (int64_t)value);
}

/* As specified in ridge.h: to i32 toward zero and saturating, to u8 the low bits of that;
 * integers become floats through f32. */
static double cast(enum ridge_dtype from, enum ridge_dtype to, double x) {
    if (is_float(to))
        return number_round(to, is_float(from) ? x : number_round(RIDGE_F32, x));
    double whole = isnan(x)            ? 0
                   : x > 2147483647    ? 2147483647
                   : x < -2147483648.0 ? -2147483648.0
                                       : x;
    return (double)wrap_integer(to, (int64_t)whole);
}

static void check_pair(enum ridge_dtype from, enum ridge_dtype to, enum layout layout) {
    if (!case_begin("cast %s to %s %s", ridge_dtype_name(from), ridge_dtype_name(to),
                    layout_name(layout)))
        return;
    struct array x = array_make(SIZES(COUNT)), expected = array_make(SIZES(COUNT));
    for (int64_t i = 0; i < COUNT; i++) {
        x.values[i] = sample(from, i);
        expected.values[i] = cast(from, to, x.values[i]);
    }
    expect_exactly(ridge_cast(array_tensor(&x, from, layout), to), to, &expected);
    case_end();
}

/* To all the other types in one kernel, which the sum as the last output makes of them. */
static bool cast_to_all(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    enum ridge_dtype from = *(const enum ridge_dtype *)context;
    ridge_tensor *sum = in[0];
    unsigned count = 0;
    for (unsigned to = 0; to < DTYPES; to++)
        if (dtypes[to] != from) {
            out[count] = ridge_cast(in[0], dtypes[to]);
            sum = ridge_add(sum, ridge_cast(out[count++], from));
        }
    return (out[count] = sum) != NULL;
}

static void check_from(enum ridge_dtype from) {
    if (!case_begin("cast %s to the others, compiled", ridge_dtype_name(from)))
        return;
    struct array x = array_make(SIZES(COUNT)), expected = array_make(SIZES(COUNT));
    for (int64_t i = 0; i < COUNT; i++)
        x.values[i] = sample(from, i);
    ridge_tensor *input = array_tensor(&x, from, CONTIGUOUS), *outputs[DTYPES] = {NULL};
    ridge_program *program = ridge_compile(cast_to_all, &from, &input, 1, DTYPES);
    if (!program || !ridge_program_run(program, &input, outputs))
        case_fail("%s", ridge_error_message());
    for (unsigned to = 0, count = 0; to < DTYPES; to++) {
        if (dtypes[to] == from)
            continue;
        for (int64_t i = 0; i < COUNT; i++)
            expected.values[i] = cast(from, dtypes[to], x.values[i]);
        case_about(ridge_dtype_name(dtypes[to]));
        expect_exactly(outputs[count++], dtypes[to], &expected);
    }
    ridge_program_release(program);
    case_end();
}

static void check_floats(enum ridge_dtype dtype) {
    if (!case_begin("from_floats and to_floats %s", ridge_dtype_name(dtype)))
        return;
    float in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)sample(RIDGE_F32, i);
    ridge_tensor *x = ridge_from_floats(session.device, dtype, SIZES(COUNT), in);
    CASE_CHECK(x && ridge_tensor_dtype(x) == dtype);
    if (!ridge_to_floats(x, out, COUNT))
        case_fail("%s", ridge_error_message());
    for (int i = 0; i < COUNT; i++) {
        double expected = cast(RIDGE_F32, dtype, in[i]);
        if (isnan(expected) ? !isnan(out[i]) : (double)out[i] != number_round(RIDGE_F32, expected))
            case_fail("%.9g came back as %.9g", in[i], out[i]);
    }
    case_end();
}

void check_casts(void) {
    for (unsigned from = 0; from < DTYPES; from += session.quick ? 3 : 1) {
        check_from(dtypes[from]);
        for (unsigned to = 0; to < DTYPES && !session.quick; to++) {
            check_pair(dtypes[from], dtypes[to], CONTIGUOUS);
            if (session.native)
                check_pair(dtypes[from], dtypes[to], STEPPED);
        }
    }
    for (unsigned i = 0; i < (session.quick ? 1 : DTYPES); i++)
        check_floats(dtypes[i]);
}
