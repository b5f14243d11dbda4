/* Views: the position of each element. Elements hold their position in the whole tensor, so the
 * value that is read shows where it was read. */
#include "arrays.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_I32, RIDGE_U8};

/* Elements 0, 1, 2, ... of f32 unless told otherwise. */
static ridge_tensor *numbered(unsigned rank, const int64_t *sizes) {
    struct array array = array_make(rank, sizes);
    for (int64_t i = 0; i < array.count; i++)
        array.values[i] = (double)i;
    return array_tensor(&array, RIDGE_F32, CONTIGUOUS);
}

/* The view must have these sizes, and elements at offset + index . strides of the whole. */
static void expect_view(ridge_tensor *view, int64_t offset, unsigned rank, const int64_t *sizes,
                        const int64_t *strides) {
    struct array expected = array_make(rank, sizes);
    int64_t index[RIDGE_RANK_MAX] = {0};
    for (int64_t i = 0; i < expected.count; i++) {
        int64_t at = offset;
        for (unsigned axis = 0; axis < rank; axis++)
            at += index[axis] * strides[axis];
        expected.values[i] = (double)at;
        index_advance(rank, sizes, index);
    }
    expect_exactly(view, RIDGE_F32, &expected);
}
#define STRIDES(...)                                                                               \
    (const int64_t[]) {                                                                            \
        __VA_ARGS__                                                                                \
    }

static void check_layout(enum ridge_dtype dtype, enum layout layout) {
    if (!case_begin("read %s %s", ridge_dtype_name(dtype), layout_name(layout)))
        return;
    struct array x = array_noise(dtype, SIZES(3, 5, 7, 11), 0, 200, 3);
    ridge_tensor *tensor = array_tensor(&x, dtype, layout);
    CASE_CHECK(ridge_tensor_contiguous(tensor) == (layout == CONTIGUOUS || layout == OFFSET));
    expect_exactly(tensor, dtype, &x);
    ridge_tensor *whole = ridge_contiguous(tensor);
    CASE_CHECK(ridge_tensor_contiguous(whole));
    expect_exactly(whole, dtype, &x);
    case_end();
}

static void check_slices(void) {
    if (!case_begin("slice and select"))
        return;
    ridge_tensor *x = numbered(SIZES(6, 10, 4));
    expect_view(ridge_slice(x, 1, 2, 9, 3), 8, SIZES(6, 3, 4), STRIDES(40, 12, 1));
    expect_view(ridge_slice(x, -2, -4, INT64_MAX, 2), 24, SIZES(6, 2, 4), STRIDES(40, 8, 1));
    expect_view(ridge_slice(x, 0, 0, -1, 4), 0, SIZES(2, 10, 4), STRIDES(160, 4, 1));
    expect_view(ridge_slice(x, 2, 3, 4, 1), 3, SIZES(6, 10, 1), STRIDES(40, 4, 1));
    expect_view(ridge_slice(x, 0, 3, 3, 1), 0, SIZES(0, 10, 4), STRIDES(40, 4, 1));
    expect_view(ridge_slice(ridge_slice(x, 1, 1, 9, 2), 1, 1, 4, 2), 12, SIZES(6, 2, 4),
                STRIDES(40, 16, 1));
    expect_view(ridge_select(x, 0, -1), 200, SIZES(10, 4), STRIDES(4, 1));
    expect_view(ridge_select(x, 1, 3), 12, SIZES(6, 4), STRIDES(40, 1));
    expect_view(ridge_select(ridge_select(ridge_select(x, 2, 1), 1, 2), 0, 5), 209, 0, NULL,
                STRIDES(0));
    case_end();
}

static void check_shapes(void) {
    if (!case_begin("transpose, permute, unsqueeze, squeeze"))
        return;
    ridge_tensor *x = numbered(SIZES(3, 4, 5));
    expect_view(ridge_transpose(x, 0, -1), 0, SIZES(5, 4, 3), STRIDES(1, 5, 20));
    expect_view(ridge_transpose(x, 1, 1), 0, SIZES(3, 4, 5), STRIDES(20, 5, 1));
    expect_view(ridge_permute(x, (const unsigned[]){2, 0, 1}), 0, SIZES(5, 3, 4),
                STRIDES(1, 20, 5));
    expect_view(ridge_unsqueeze(x, 0), 0, SIZES(1, 3, 4, 5), STRIDES(0, 20, 5, 1));
    expect_view(ridge_unsqueeze(x, -1), 0, SIZES(3, 4, 5, 1), STRIDES(20, 5, 1, 0));
    expect_view(ridge_squeeze(ridge_unsqueeze(x, 1), 1), 0, SIZES(3, 4, 5), STRIDES(20, 5, 1));
    expect_view(ridge_broadcast(x, SIZES(2, 3, 4, 5)), 0, SIZES(2, 3, 4, 5), STRIDES(0, 20, 5, 1));
    expect_view(ridge_broadcast(ridge_slice(x, 1, 2, 3, 1), SIZES(3, 6, 5)), 10, SIZES(3, 6, 5),
                STRIDES(20, 0, 1));
    expect_view(ridge_broadcast(numbered(0, NULL), SIZES(4, 3)), 0, SIZES(4, 3), STRIDES(0, 0));
    CASE_CHECK(ridge_tensor_size(x, -1) == 5 && ridge_tensor_size(x, 0) == 3);
    CASE_CHECK(ridge_tensor_size(x, 3) == 0 && ridge_tensor_size(x, -4) == 0);
    CASE_CHECK(ridge_tensor_stride(ridge_transpose(x, 0, 2), 0) == 1);
    CASE_CHECK(ridge_tensor_count(x) == 60 && ridge_tensor_bytes(x) == 240);
    CASE_CHECK(ridge_tensor_device(x) == session.device);
    case_end();
}

static void check_reshape(void) {
    if (!case_begin("reshape"))
        return;
    ridge_tensor *x = numbered(SIZES(4, 6, 5));
    expect_view(ridge_reshape(x, SIZES(-1)), 0, SIZES(120), STRIDES(1));
    expect_view(ridge_reshape(x, SIZES(2, 2, -1, 10)), 0, SIZES(2, 2, 3, 10),
                STRIDES(60, 30, 10, 1));
    /* A view if strides can express it... */
    ridge_tensor *part = ridge_slice(x, 1, 1, 5, 1);
    expect_view(ridge_reshape(part, SIZES(2, 2, 2, 2, 5)), 5, SIZES(2, 2, 2, 2, 5),
                STRIDES(60, 30, 10, 5, 1));
    /* ...and a copy otherwise. */
    ridge_tensor *turned = ridge_transpose(x, 0, 1);
    struct array order = array_read(turned);
    order.rank = 2;
    order.sizes[0] = 12;
    order.sizes[1] = 10;
    expect_exactly(ridge_reshape(turned, SIZES(12, 10)), RIDGE_F32, &order);
    expect_view(ridge_reshape(numbered(0, NULL), SIZES(1, 1)), 0, SIZES(1, 1), STRIDES(0, 0));
    expect_view(ridge_reshape(numbered(SIZES(1)), 0, NULL), 0, 0, NULL, STRIDES(0));
    expect_view(ridge_reshape(numbered(SIZES(0, 3)), SIZES(5, 0)), 0, SIZES(5, 0), STRIDES(0, 0));
    case_end();
}

/* What is written through a view is seen through the others. */
static void check_sharing(void) {
    if (!case_begin("views share data, copies do not"))
        return;
    ridge_tensor *x = numbered(SIZES(4, 5));
    ridge_tensor *copy = ridge_add_scalar(x, 0);
    ridge_tensor *turned = ridge_transpose(x, 0, 1);
    ridge_tensor *other = ridge_retain(x);
    CASE_CHECK(ridge_assign(ridge_slice(x, 0, 1, 2, 1),
                            ridge_full(session.device, RIDGE_F32, 0, NULL, -1)));
    ridge_release(x);
    struct array read = array_read(turned), same = array_read(other);
    for (int64_t i = 0; i < 20 && read.values && same.values; i++) {
        int64_t row = i % 4, column = i / 4;
        CASE_CHECK(read.values[i] == (row == 1 ? -1 : (double)(row * 5 + column)));
        CASE_CHECK(same.values[row * 5 + column] == read.values[i]);
    }
    expect_view(copy, 0, SIZES(4, 5), STRIDES(5, 1));
    case_end();
}

/* ridge_keep() takes a tensor out of its scope, ridge_scope_end() releases the others. */
static void check_scopes(void) {
    if (!case_begin("scopes"))
        return;
    ridge_scope_begin();
    ridge_scope_begin();
    ridge_tensor *kept = ridge_keep(numbered(SIZES(1000)));
    for (int i = 0; i < 10; i++)
        ridge_add(kept, kept);
    ridge_scope_end();
    expect_view(kept, 0, SIZES(1000), STRIDES(1));
    ridge_keep(kept);
    ridge_scope_end();
    expect_view(kept, 0, SIZES(1000), STRIDES(1));
    case_end();
}

void check_views(void) {
    for (unsigned i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        for (unsigned layout = 0; layout < LAYOUTS; layout++)
            if (!session.quick || dtypes[i] == RIDGE_F32 || dtypes[i] + layout == LAYOUTS)
                check_layout(dtypes[i], (enum layout)layout);
    check_sharing();
    check_scopes();
    if (session.quick)
        return;
    check_slices();
    check_shapes();
    check_reshape();
}
