/* Every row of the table of operations, for every type it takes, in every layout of its operands.
 */
#include <string.h>

#include "grouped.h"

struct place {
    enum layout layout;
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
};
struct arrangement {
    const char *name;
    struct place operands[3];
};

#define ALIKE(...)                                                                                 \
    {                                                                                              \
        {__VA_ARGS__}, {__VA_ARGS__}, {                                                            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
/* The first is the one that every operation is run in; the first few suffice for a quick run. */
static const struct arrangement arrangements[] = {
    {"1000", ALIKE(CONTIGUOUS, 1, {1000})},
    {"rows and columns",
     {{CONTIGUOUS, 2, {1, 37}}, {CONTIGUOUS, 2, {29, 1}}, {CONTIGUOUS, 1, {37}}}},
    {"x transposed", {{TRANSPOSED, 2, {33, 17}}, {CONTIGUOUS, 2, {33, 17}}, {OFFSET, 2, {33, 17}}}},
    {"y a scalar", {{CONTIGUOUS, 1, {255}}, {CONTIGUOUS, 0, {0}}, {CONTIGUOUS, 1, {255}}}},
    {"offset", ALIKE(OFFSET, 1, {4099})},
    {"empty", ALIKE(CONTIGUOUS, 3, {3, 0, 2})},
    {"0-d", ALIKE(CONTIGUOUS, 0, {0})},
    {"1", ALIKE(CONTIGUOUS, 1, {1})},
    {"2", ALIKE(CONTIGUOUS, 1, {2})},
    {"3", ALIKE(CONTIGUOUS, 1, {3})},
    {"17", ALIKE(CONTIGUOUS, 1, {17})},
    {"255", ALIKE(CONTIGUOUS, 1, {255})},
    {"4099", ALIKE(CONTIGUOUS, 1, {4099})},
    {"empty 1-d", ALIKE(CONTIGUOUS, 1, {0})},
    {"rank 8", ALIKE(CONTIGUOUS, 8, {2, 1, 3, 1, 2, 2, 1, 3})},
    {"rank 8 reversed", ALIKE(REVERSED, 8, {2, 3, 2, 1, 2, 2, 2, 3})},
    {"rank 8 mixed",
     {{REVERSED, 8, {2, 3, 2, 1, 2, 2, 2, 3}},
      {PADDED, 8, {2, 3, 2, 1, 2, 2, 2, 3}},
      {CONTIGUOUS, 4, {2, 1, 2, 3}}}},
    {"all transposed", ALIKE(TRANSPOSED, 2, {65, 129})},
    {"y transposed",
     {{CONTIGUOUS, 2, {17, 64}}, {TRANSPOSED, 2, {17, 64}}, {STEPPED, 2, {17, 64}}}},
    {"stepped", ALIKE(STEPPED, 2, {13, 101})},
    {"padded", ALIKE(PADDED, 3, {3, 7, 33})},
    {"stepped and padded", {{STEPPED, 2, {9, 50}}, {PADDED, 2, {9, 50}}, {REVERSED, 2, {9, 50}}}},
    {"x a scalar", {{CONTIGUOUS, 0, {0}}, {STEPPED, 2, {5, 77}}, {CONTIGUOUS, 0, {0}}}},
    {"x broadcast", {{OFFSET, 1, {19}}, {CONTIGUOUS, 3, {4, 5, 19}}, {CONTIGUOUS, 2, {5, 1}}}},
    {"y broadcast", {{PADDED, 3, {4, 5, 19}}, {CONTIGUOUS, 2, {5, 1}}, {CONTIGUOUS, 3, {4, 1, 1}}}},
    {"both broadcast", {{TRANSPOSED, 3, {4, 1, 7}}, {STEPPED, 3, {1, 6, 7}}, {CONTIGUOUS, 0, {0}}}},
    {"empty broadcast", {{CONTIGUOUS, 2, {0, 1}}, {CONTIGUOUS, 2, {1, 5}}, {CONTIGUOUS, 0, {0}}}},
};
enum { ARRANGEMENTS = sizeof arrangements / sizeof arrangements[0], QUICK_ARRANGEMENTS = 4 };

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_I32, RIDGE_U8};

/* Comparing the wrapped sum with 0 is left to a device: these get numbers that do not wrap. */
static bool compares_sum(const struct row *row) {
    return strstr(row->name, "_relu") != NULL;
}

static double operand_value(enum ridge_dtype dtype, unsigned operand, uint64_t i, bool wraps) {
    uint64_t seed = 10 + operand, bits = noise_bits(seed + 100, i);
    if (dtype == RIDGE_U8)
        return (double)(bits % 4 == 0 ? bits >> 8 & 255 : bits >> 8 & 3);
    if (dtype == RIDGE_I32) {
        if (bits % 8 == 0 && wraps)
            return (double)wrap_integer(RIDGE_I32, (int64_t)(bits >> 16));
        return (double)((int64_t)(bits >> 8 & 255) - 100);
    }
    switch (bits % 4) {
    case 0: /* whole numbers and halves, where rounding turns */
        return (double)((int64_t)(bits >> 8 & 31) - 16) / 2;
    case 1:
        return number_round(dtype, noise_between(seed, i, -1, 1));
    case 2:
        return number_round(dtype, noise_between(seed, i, 0, 20));
    default:
        return number_round(dtype, noise_between(seed, i, -12, 12));
    }
}

static struct array operand(enum ridge_dtype dtype, unsigned number, const struct place *place,
                            bool wraps) {
    struct array array = array_make(place->rank, place->sizes);
    for (int64_t i = 0; i < array.count; i++)
        array.values[i] = operand_value(dtype, number, (uint64_t)i, wraps);
    return array;
}

static struct array broadcast_shape(const struct array *operands, unsigned count) {
    unsigned rank = 0;
    int64_t sizes[RIDGE_RANK_MAX];
    for (unsigned i = 0; i < count; i++)
        rank = operands[i].rank > rank ? operands[i].rank : rank;
    for (unsigned axis = 0; axis < rank; axis++) {
        sizes[axis] = 1;
        for (unsigned i = 0; i < count; i++)
            if (axis + operands[i].rank >= rank) {
                int64_t size = operands[i].sizes[axis + operands[i].rank - rank];
                sizes[axis] = size != 1 ? size : sizes[axis];
            }
    }
    return array_make(rank, sizes);
}

/* The row's result for broadcast operands, and its error bound. */
static struct array expected_of(const struct row *row, enum ridge_dtype dtype,
                                const struct array *operands, double **slack) {
    struct array expected = broadcast_shape(operands, row->arity);
    *slack = case_memory((size_t)expected.count + 1, sizeof **slack);
    int64_t index[RIDGE_RANK_MAX] = {0};
    for (int64_t i = 0; i < expected.count; i++) {
        double value[3] = {0};
        for (unsigned j = 0; j < row->arity; j++)
            value[j] = operands[j].values[array_place(&operands[j], expected.rank, index)];
        expected.values[i] = row_value(row, dtype, value[0], value[1], value[2]);
        (*slack)[i] = is_float(dtype) ? row_slack(row, value[0], value[1], value[2]) : 0;
        index_advance(expected.rank, expected.sizes, index);
    }
    return expected;
}

static void check(const struct row *row, enum ridge_dtype dtype, enum ridge_dtype condition,
                  const struct arrangement *arrangement) {
    if (!case_begin("elementwise %s %s %s", row->name, ridge_dtype_name(dtype), arrangement->name))
        return;
    struct array operands[3] = {{0}};
    ridge_tensor *tensors[3] = {NULL};
    for (unsigned i = 0; i < row->arity; i++) {
        enum ridge_dtype type = row->rule == RULE_WHERE && i == 0 ? condition : dtype;
        operands[i] = operand(type, i, &arrangement->operands[i], !compares_sum(row));
        tensors[i] = array_tensor(&operands[i], type, arrangement->operands[i].layout);
    }
    double *slack;
    struct array expected = expected_of(row, dtype, operands, &slack);
    ridge_tensor *got = row->call(tensors[0], tensors[1], tensors[2]);
    expect_array(got, row_gives(row, dtype), &expected, row_ulps(row), slack);
    case_end();
}

/* All operations of a type in a few kernels. */
static void check_groups(enum ridge_dtype dtype, unsigned most) {
    static const struct place place = {CONTIGUOUS, 1, {1000}};
    for (unsigned first = 0, groups = 0; first < row_count && groups < most; groups++) {
        if (!case_begin("elementwise group %u %s", groups, ridge_dtype_name(dtype)))
            return;
        struct array operands[4];
        ridge_tensor *tensors[4];
        for (unsigned i = 0; i < 4; i++) {
            enum ridge_dtype type = i == 3 ? RIDGE_I32 : dtype;
            operands[i] = operand(type, i, &place, false);
            tensors[i] = array_tensor(&operands[i], type, CONTIGUOUS);
        }
        const struct row *group[GROUP_ROWS];
        ridge_tensor *results[GROUP_ROWS];
        unsigned count = group_run(dtype, tensors, &first, group, results);
        for (unsigned i = 0; i < count; i++) {
            struct array used[3] = {operands[group[i]->rule == RULE_WHERE ? 3 : 0], operands[1],
                                    operands[2]};
            double *slack;
            struct array expected = expected_of(group[i], dtype, used, &slack);
            case_about(group[i]->name);
            expect_array(results[i], row_gives(group[i], dtype), &expected, row_ulps(group[i]),
                         slack);
        }
        case_end();
    }
}

/* A device that compiles its kernels takes all arrangements with a few operations; the others go in
 * groups, and one by one where it is not to be quick. */
static bool stands_for_others(const struct row *row, enum ridge_dtype dtype) {
    return (strcmp(row->name, "sub") == 0 && (dtype == RIDGE_F32 || dtype == RIDGE_U8)) ||
           (strcmp(row->name, "where") == 0 && dtype == RIDGE_F16);
}

static unsigned arrangements_of(const struct row *row, enum ridge_dtype dtype) {
    if (session.native)
        return ARRANGEMENTS;
    bool chosen = stands_for_others(row, dtype);
    if (session.quick)
        return chosen ? (dtype == RIDGE_F32 ? QUICK_ARRANGEMENTS : 1) : 0;
    return chosen ? ARRANGEMENTS : 1;
}

void check_elementwise(void) {
    for (unsigned t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        bool whole = !session.quick || dtypes[t] == RIDGE_F32 || dtypes[t] == RIDGE_I32;
        check_groups(dtypes[t], whole ? UINT32_MAX : dtypes[t] != RIDGE_BF16);
        for (unsigned r = 0; r < row_count; r++)
            for (unsigned a = 0;
                 row_takes(&rows[r], dtypes[t]) && a < arrangements_of(&rows[r], dtypes[t]); a++)
                check(&rows[r], dtypes[t], a % 2 ? RIDGE_I32 : RIDGE_U8, &arrangements[a]);
    }
}
