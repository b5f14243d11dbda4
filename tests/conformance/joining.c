/* cat, stack, split, unstack and assign. */
#include "arrays.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_I32, RIDGE_U8};

enum { PARTS = 4 };
static const int64_t lengths[PARTS] = {3, 1, 0, 6};

/* Parts of different lengths, each in another layout. */
static void check_cat(enum ridge_dtype dtype, unsigned axis) {
    if (!case_begin("cat %s axis %u", ridge_dtype_name(dtype), axis))
        return;
    int64_t sizes[3] = {4, 5, 6};
    struct array parts[PARTS];
    ridge_tensor *tensors[PARTS];
    for (unsigned i = 0; i < PARTS; i++) {
        sizes[axis] = lengths[i];
        parts[i] = array_noise(dtype, 3, sizes, 0, 100, i);
        tensors[i] = array_tensor(&parts[i], dtype, (enum layout)i);
    }
    sizes[axis] = 10;
    struct array expected = array_make(3, sizes);
    int64_t index[3] = {0};
    for (int64_t i = 0; i < expected.count; i++) {
        int64_t at[3] = {index[0], index[1], index[2]};
        unsigned part = 0;
        while (at[axis] >= lengths[part])
            at[axis] -= lengths[part++];
        /* Not by array_place(), which treats an axis of size 1 as broadcast. */
        const int64_t *s = parts[part].sizes;
        expected.values[i] = parts[part].values[(at[0] * s[1] + at[1]) * s[2] + at[2]];
        index_advance(3, sizes, index);
    }
    expect_exactly(ridge_cat(tensors, PARTS, (int)axis), dtype, &expected);
    expect_exactly(ridge_cat(tensors, PARTS, (int)axis - 3), dtype, &expected);
    case_end();
}

static void check_many(void) {
    if (!case_begin("cat of 40"))
        return;
    ridge_tensor *parts[40];
    struct array expected = array_make(SIZES(40, 3));
    for (int64_t i = 0; i < 40; i++) {
        struct array row = array_noise(RIDGE_F32, SIZES(1, 3), -1, 1, (uint64_t)i);
        parts[i] = array_tensor(&row, RIDGE_F32, CONTIGUOUS);
        for (int64_t j = 0; j < 3; j++)
            expected.values[i * 3 + j] = row.values[j];
    }
    expect_exactly(ridge_cat(parts, 40, 0), RIDGE_F32, &expected);
    case_end();
}

static void check_stack(enum ridge_dtype dtype, int axis) {
    if (!case_begin("stack, unstack, split %s axis %d", ridge_dtype_name(dtype), axis))
        return;
    struct array parts[3];
    ridge_tensor *tensors[3], *back[3];
    for (unsigned i = 0; i < 3; i++) {
        parts[i] = array_noise(dtype, SIZES(4, 5), 0, 100, i);
        tensors[i] = array_tensor(&parts[i], dtype, CONTIGUOUS);
    }
    ridge_tensor *stacked = ridge_stack(tensors, 3, axis);
    CASE_CHECK(ridge_tensor_rank(stacked) == 3 && ridge_tensor_size(stacked, axis) == 3);
    if (!ridge_unstack(stacked, axis, back))
        case_fail("%s", ridge_error_message());
    else
        for (unsigned i = 0; i < 3; i++)
            expect_exactly(back[i], dtype, &parts[i]);
    if (!ridge_split(stacked, 3, axis, back))
        case_fail("%s", ridge_error_message());
    else
        for (unsigned i = 0; i < 3; i++)
            expect_exactly(ridge_squeeze(back[i], axis), dtype, &parts[i]);
    case_end();
}

/* ---- assign ---- */

static void check_assign(enum ridge_dtype from, enum ridge_dtype to, enum layout layout) {
    if (!case_begin("assign %s to %s %s", ridge_dtype_name(from), ridge_dtype_name(to),
                    layout_name(layout)))
        return;
    struct array whole = array_noise(to, SIZES(6, 7), 0, 100, 1);
    struct array source = array_noise(from, SIZES(3, 1), 0, 100, 2);
    ridge_tensor *target = array_tensor(&whole, to, layout);
    ridge_tensor *part = ridge_slice(ridge_slice(target, 0, 1, 6, 2), 1, 2, 6, 1);
    CASE_CHECK(ridge_assign(part, array_tensor(&source, from, CONTIGUOUS)));
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 2; j < 6; j++) {
            double value = source.values[i];
            whole.values[(1 + 2 * i) * 7 + j] =
                is_float(to) ? number_round(to, value) : (double)(int64_t)value;
        }
    expect_exactly(target, to, &whole);
    case_end();
}

/* Moving elements within a tensor is as if the source had been copied first. */
static void check_overlapping(int64_t from, int64_t to) {
    if (!case_begin("assign overlapping from %lld to %lld", (long long)from, (long long)to))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(10000), -1, 1, 5);
    struct array expected = array_noise(RIDGE_F32, SIZES(10000), -1, 1, 5);
    ridge_tensor *tensor = array_tensor(&x, RIDGE_F32, CONTIGUOUS);
    CASE_CHECK(ridge_assign(ridge_slice(tensor, 0, to, to + 9000, 1),
                            ridge_slice(tensor, 0, from, from + 9000, 1)));
    for (int64_t i = 0; i < 9000; i++)
        expected.values[to + i] = x.values[from + i];
    expect_exactly(tensor, RIDGE_F32, &expected);
    case_end();
}

static void check_transposing(void) {
    if (!case_begin("assign the transpose of itself"))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(70, 70), -1, 1, 6);
    struct array expected = array_make(SIZES(70, 70));
    for (int64_t i = 0; i < 4900; i++)
        expected.values[i] = x.values[i % 70 * 70 + i / 70];
    ridge_tensor *tensor = array_tensor(&x, RIDGE_F32, CONTIGUOUS);
    CASE_CHECK(ridge_assign(tensor, ridge_transpose(tensor, 0, 1)));
    expect_exactly(tensor, RIDGE_F32, &expected);
    case_end();
}

void check_joining(void) {
    unsigned types = session.quick ? 1 : sizeof dtypes / sizeof dtypes[0];
    for (unsigned i = 0; i < types; i++) {
        for (unsigned axis = session.quick; axis < 3; axis += 1 + session.quick)
            check_cat(dtypes[i], axis);
        for (int axis = -3; axis < (session.quick ? -2 : 3); axis++)
            check_stack(dtypes[i], axis);
        check_assign(RIDGE_I32, dtypes[i], TRANSPOSED);
        if (session.quick)
            continue;
        check_assign(dtypes[i], dtypes[i], PADDED);
        check_assign(dtypes[i], RIDGE_F32, CONTIGUOUS);
    }
    check_overlapping(0, 1);
    if (session.quick)
        return;
    check_many();
    check_overlapping(1000, 0);
    check_overlapping(0, 1000);
    check_transposing();
}
