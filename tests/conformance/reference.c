/* The table's expressions in C, the same operations by hand, and the bounds of their errors. */
#include "reference.h"

#include <math.h>
#include <string.h>

/* ---- How far a device may be off ----
 * In units of f32 in the last place: what OpenCL asks of its functions, and for what is made of
 * several of them the sum. f16 and bf16 have the rounding to their own type on top. Where terms
 * cancel, the slack adds some times 2^-24 of the largest term. */

enum cancelling {
    NOTHING,
    WITH_X,       /* 1 + erf(x) and the like, times x */
    WITH_PRODUCT, /* x * y + z: the product may be rounded or not */
};
static const struct {
    const char *name;
    double ulps;
    enum cancelling cancelling;
} bounds[] = {
    {"add", 0.5, NOTHING},       {"sub", 0.5, NOTHING},        {"mul", 0.5, NOTHING},
    {"div", 2.5, NOTHING},       {"mod", 0.5, NOTHING},        {"pow", 16, NOTHING},
    {"square", 0.5, NOTHING},    {"reciprocal", 2.5, NOTHING}, {"sin", 4, NOTHING},
    {"cos", 4, NOTHING},         {"tan", 5, NOTHING},          {"exp", 3, NOTHING},
    {"log", 3, NOTHING},         {"log1p", 2, NOTHING},        {"sqrt", 3, NOTHING},
    {"rsqrt", 2, NOTHING},       {"tanh", 5, NOTHING},         {"erf", 16, NOTHING},
    {"sigmoid", 6, NOTHING},     {"gelu", 18, WITH_X},         {"gelu_tanh", 10, WITH_X},
    {"silu", 6, NOTHING},        {"add_relu", 0.5, NOTHING},   {"mul_relu", 0.5, NOTHING},
    {"affine", 1, WITH_PRODUCT},
};
/* min, abs, less and similar: they select, and are exact. */
static const char *const exact[] = {
    "min",   "max",           "equal",       "not_equal",  "less",        "less_equal", "greater",
    "abs",   "greater_equal", "logical_and", "logical_or", "logical_not", "neg",        "sign",
    "floor", "ceil",          "round",       "relu",       "where",       "clamp",
};
/* Of an operation that is not in either list. */
enum { OTHER_ULPS = 32, OTHER_SLACK = 32 };

/* ---- The table's expressions ---- */

static int64_t integer_division(int64_t x, int64_t y) {
    return y == 0 ? 0 : x / y;
}

static int64_t integer_modulo(int64_t x, int64_t y) {
    if (y == 0)
        return 0;
    int64_t rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double modulo_by_hand(double x, double y) {
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

#define MOD(x, y) modulo_by_hand(x, y)
#define TRUTH(comparison) ((int64_t)(comparison))
#define SELECT(t, a, b) ((t) != 0 ? (a) : (b))
#define ISELECT(t, a, b) ((t) != 0 ? (a) : (b))
#define IABS(x) ((x) < 0 ? -(x) : (x))
#define IDIV(x, y) integer_division(x, y)
#define IMOD(x, y) integer_modulo(x, y)

#define EXP exp
#define LOG log
#define LOG1P log1p
#define SIN sin
#define COS cos
#define TAN tan
#define TANH tanh
#define ERF erf
#define SQRT sqrt
#define RSQRT(x) (1 / sqrt(x))
#define FLOOR floor
#define CEIL ceil
#define RINT nearbyint
#define ABS fabs
#define POW pow
#define IN_DOUBLE(NAME, name, arity, rule, flops, f32, i32)                                        \
    static double name##_in_double(double x, double y, double z) {                                 \
        (void)x, (void)y, (void)z;                                                                 \
        return (double)(f32);                                                                      \
    }                                                                                              \
    static int64_t name##_in_integer(int64_t x, int64_t y, int64_t z) {                            \
        (void)x, (void)y, (void)z;                                                                 \
        return i32;                                                                                \
    }
ELEMENTWISE_OPS(IN_DOUBLE)

#undef EXP
#undef LOG
#undef LOG1P
#undef SIN
#undef COS
#undef TAN
#undef TANH
#undef ERF
#undef SQRT
#undef RSQRT
#undef FLOOR
#undef CEIL
#undef RINT
#undef ABS
#undef POW
#define EXP expf
#define LOG logf
#define LOG1P log1pf
#define SIN sinf
#define COS cosf
#define TAN tanf
#define TANH tanhf
#define ERF erff
#define SQRT sqrtf
#define RSQRT(x) (1 / sqrtf(x))
#define FLOOR floorf
#define CEIL ceilf
#define RINT nearbyintf
#define ABS fabsf
#define POW powf
#define IN_FLOAT(NAME, name, arity, rule, flops, f32, i32)                                         \
    static float name##_in_float(float x, float y, float z) {                                      \
        (void)x, (void)y, (void)z;                                                                 \
        return (float)(f32);                                                                       \
    }
ELEMENTWISE_OPS(IN_FLOAT)

#define CALL_1(name) ridge_##name(x)
#define CALL_2(name) ridge_##name(x, y)
#define CALL_3(name) ridge_##name(x, y, z)
#define CALL(NAME, name, arity, rule, flops, f32, i32)                                             \
    static ridge_tensor *call_##name(ridge_tensor *x, ridge_tensor *y, ridge_tensor *z) {          \
        (void)y, (void)z;                                                                          \
        return CALL_##arity(name);                                                                 \
    }
ELEMENTWISE_OPS(CALL)

#define ROW(NAME, name, arity, rule, flops, f32, i32)                                              \
    {#name,                                                                                        \
     arity,                                                                                        \
     RULE_##rule,                                                                                  \
     sizeof #f32 != sizeof "0",                                                                    \
     sizeof #i32 != sizeof "0",                                                                    \
     name##_in_double,                                                                             \
     name##_in_float,                                                                              \
     name##_in_integer,                                                                            \
     call_##name},
const struct row rows[] = {ELEMENTWISE_OPS(ROW)};
const unsigned row_count = sizeof rows / sizeof rows[0];

/* ---- By hand ---- */

static double with_nan(double x, double y, double result) {
    return isnan(x) || isnan(y) ? NAN : result;
}

static double normal_distribution(double x) {
    return erfc(-x / 1.4142135623730950488) / 2;
}

/* X(name, of doubles, of integers) */
#define BY_HAND(X)                                                                                 \
    X(add, y + x, y + x)                                                                           \
    X(sub, -(y - x), -(y - x))                                                                     \
    X(mul, y *x, y *x)                                                                             \
    X(div, x / y, y ? (x - x % y) / y : 0)                                                         \
    X(mod, modulo_by_hand(x, y), y ? ((x % y) + y) % y : 0)                                        \
    X(pow, pow(x, y), 0)                                                                           \
    X(min, with_nan(x, y, fmin(x, y)), x <= y ? x : y)                                             \
    X(max, with_nan(x, y, fmax(x, y)), x >= y ? x : y)                                             \
    X(equal, x == y, x == y)                                                                       \
    X(not_equal, !(x == y), !(x == y))                                                             \
    X(less, isless(x, y), x < y)                                                                   \
    X(less_equal, islessequal(x, y), x <= y)                                                       \
    X(greater, isgreater(x, y), x > y)                                                             \
    X(greater_equal, isgreaterequal(x, y), x >= y)                                                 \
    X(logical_and, 0, x &&y)                                                                       \
    X(logical_or, 0, x || y)                                                                       \
    X(logical_not, 0, !x)                                                                          \
    X(neg, -x, 0 - x)                                                                              \
    X(abs, copysign(x, 1), x >= 0 ? x : 0 - x)                                                     \
    X(sign, isnan(x) || x == 0 ? x : copysign(1, x), x > 0 ? 1 : x < 0 ? -1 : 0)                   \
    X(square, pow(x, 2), x *x)                                                                     \
    X(reciprocal, pow(x, -1), 0)                                                                   \
    X(floor, floor(x), 0)                                                                          \
    X(ceil, ceil(x), 0)                                                                            \
    X(round, nearbyint(x), 0)                                                                      \
    X(sin, sin(x), 0)                                                                              \
    X(cos, cos(x), 0)                                                                              \
    X(tan, tan(x), 0)                                                                              \
    X(exp, exp(x), 0)                                                                              \
    X(log, log(x), 0)                                                                              \
    X(log1p, log1p(x), 0)                                                                          \
    X(sqrt, sqrt(x), 0)                                                                            \
    X(rsqrt, 1 / sqrt(x), 0)                                                                       \
    X(tanh, tanh(x), 0)                                                                            \
    X(erf, erf(x), 0)                                                                              \
    X(sigmoid, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)), 0)                               \
    X(relu, x > 0 || isnan(x) ? x : 0, x > 0 ? x : 0)                                              \
    X(gelu, x *normal_distribution(x), 0)                                                          \
    X(gelu_tanh, x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))), 0)       \
    X(silu, x / (1 + exp(-x)), 0)                                                                  \
    X(where, x != 0 ? y : z, x != 0 ? y : z)                                                       \
    X(clamp, isnan(x) ? x : x<y ? y : x> z ? z : x, x<y ? y : x> z ? z : x)                        \
    X(add_relu, isnan(x + y) ? NAN : fmax(x + y, 0), x + y > 0 ? x + y : 0)                        \
    X(mul_relu, isnan(x *y) ? NAN : fmax(x *y, 0), x *y > 0 ? x * y : 0)                           \
    X(affine, x *y + z, x * y + z)

#define DEFINE_BY_HAND(name, of_doubles, of_integers)                                              \
    static double name##_by_hand(double x, double y, double z) {                                   \
        (void)x, (void)y, (void)z;                                                                 \
        return of_doubles;                                                                         \
    }                                                                                              \
    static int64_t name##_by_hand_integer(int64_t x, int64_t y, int64_t z) {                       \
        (void)x, (void)y, (void)z;                                                                 \
        return of_integers;                                                                        \
    }
BY_HAND(DEFINE_BY_HAND)

#define BY_HAND_ROW(name, of_doubles, of_integers)                                                 \
    {#name, {name##_by_hand, name##_by_hand_integer}},
static const struct {
    const char *name;
    struct by_hand functions;
} hand_rows[] = {BY_HAND(BY_HAND_ROW)};

struct by_hand row_by_hand(const struct row *row) {
    for (unsigned i = 0; i < sizeof hand_rows / sizeof hand_rows[0]; i++)
        if (strcmp(hand_rows[i].name, row->name) == 0)
            return hand_rows[i].functions;
    return (struct by_hand){NULL, NULL};
}

/* ---- Rules and bounds ---- */

bool row_takes(const struct row *row, enum ridge_dtype dtype) {
    if (dtype >= RIDGE_Q8_0)
        return false;
    return is_float(dtype) ? row->rule != RULE_LOGIC : row->rule != RULE_FLOAT;
}

enum ridge_dtype row_gives(const struct row *row, enum ridge_dtype dtype) {
    return row->rule == RULE_COMPARE || row->rule == RULE_LOGIC ? RIDGE_U8 : dtype;
}

double row_value(const struct row *row, enum ridge_dtype dtype, double x, double y, double z) {
    struct by_hand by_hand = row_by_hand(row);
    if (is_float(dtype))
        return (by_hand.in_double ? by_hand.in_double : row->in_double)(x, y, z);
    int64_t value = (by_hand.in_integer ? by_hand.in_integer
                                        : row->in_integer)((int64_t)x, (int64_t)y, (int64_t)z);
    return (double)wrap_integer(row_gives(row, dtype), value);
}

static int bound_of(const char *name) {
    for (unsigned i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        if (strcmp(bounds[i].name, name) == 0)
            return (int)i;
    return -1;
}

static bool is_exact(const char *name) {
    for (unsigned i = 0; i < sizeof exact / sizeof exact[0]; i++)
        if (strcmp(exact[i], name) == 0)
            return true;
    return false;
}

double row_ulps(const struct row *row) {
    int bound = bound_of(row->name);
    return bound >= 0 ? bounds[bound].ulps : is_exact(row->name) ? 0 : OTHER_ULPS;
}

static double size_of(double x) {
    return isfinite(x) ? fabs(x) : 0;
}

double row_slack(const struct row *row, double x, double y, double z) {
    int bound = bound_of(row->name);
    if (bound < 0)
        return is_exact(row->name)
                   ? 0
                   : OTHER_SLACK * 0x1p-24 * (1 + size_of(x) + size_of(y) + size_of(z));
    switch (bounds[bound].cancelling) {
    case WITH_X: /* beyond 20 tanh and erf are exactly 1 */
        return size_of(x) > 20 ? 0 : bounds[bound].ulps * 0x1p-24 * size_of(x);
    case WITH_PRODUCT:
        return 0x1p-24 * size_of(x * y);
    default:
        return 0;
    }
}
