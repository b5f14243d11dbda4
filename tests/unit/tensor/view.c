/* Views against brute force: each operation on a view must reach the same elements in the same
 * order as walking all indices of the one before it. */
#include "base/array.h"
#include "tensor/view.h"

#include <stdint.h>

#include "../test.h"

enum { ELEMENTS_MAX = 4096, STEPS = 6, ROUNDS = 400 };

/* The position of each element of a view, in row-major order. */
struct places {
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
    int64_t count;
    int64_t at[ELEMENTS_MAX];
};

static uint64_t state;

static uint64_t below(uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

static int64_t count_of(unsigned rank, const int64_t *sizes) {
    int64_t count = 1;
    for (unsigned axis = 0; axis < rank; axis++)
        count *= sizes[axis];
    return count;
}

static void index_of(const struct places *places, int64_t number, int64_t *index) {
    for (unsigned axis = places->rank; axis-- > 0;) {
        index[axis] = number % places->sizes[axis];
        number /= places->sizes[axis];
    }
}

static int64_t number_of(const struct places *places, const int64_t *index) {
    int64_t number = 0;
    for (unsigned axis = 0; axis < places->rank; axis++)
        number = number * places->sizes[axis] + index[axis];
    return number;
}

static void walk(const struct view *view, struct places *places) {
    places->rank = view->rank;
    memcpy(places->sizes, view->sizes, sizeof places->sizes);
    places->count = count_of(view->rank, view->sizes);
    for (int64_t i = 0; i < places->count; i++) {
        int64_t index[RIDGE_RANK_MAX];
        index_of(places, i, index);
        places->at[i] = view->offset;
        for (unsigned axis = 0; axis < view->rank; axis++)
            places->at[i] += index[axis] * view->strides[axis];
    }
}

/* The view must have these sizes and reach these elements. */
static bool reaches(const struct view *view, const struct places *expected) {
    static struct places actual;
    walk(view, &actual);
    return actual.rank == expected->rank && actual.count == expected->count &&
           memcmp(actual.sizes, expected->sizes, actual.rank * sizeof actual.sizes[0]) == 0 &&
           memcmp(actual.at, expected->at, (size_t)actual.count * sizeof actual.at[0]) == 0;
}

static void random_sizes(unsigned *rank, int64_t *sizes) {
    *rank = (unsigned)below(5);
    for (unsigned axis = 0; axis < *rank; axis++)
        sizes[axis] = below(12) == 0 ? 0 : (int64_t)below(5) + 1;
}

static struct view random_contiguous(void) {
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
    struct view view = {0};
    struct status status = {0};
    random_sizes(&rank, sizes);
    CHECK_OK(view_contiguous(rank, sizes, &view, &status), status);
    return view;
}

/* ---- One random operation, on the view and by walking ------------------------------------- */

static void permute(struct view *view, struct places *places) {
    unsigned axes[RIDGE_RANK_MAX];
    for (unsigned axis = 0; axis < view->rank; axis++)
        axes[axis] = axis;
    for (unsigned axis = view->rank; axis-- > 1;) {
        unsigned other = (unsigned)below(axis + 1), moved = axes[axis];
        axes[axis] = axes[other];
        axes[other] = moved;
    }
    static struct places result;
    result = (struct places){.rank = places->rank, .count = places->count};
    for (unsigned axis = 0; axis < result.rank; axis++)
        result.sizes[axis] = places->sizes[axes[axis]];
    for (int64_t i = 0; i < result.count; i++) {
        int64_t index[RIDGE_RANK_MAX], from[RIDGE_RANK_MAX];
        index_of(&result, i, index);
        for (unsigned axis = 0; axis < result.rank; axis++)
            from[axes[axis]] = index[axis];
        result.at[i] = places->at[number_of(places, from)];
    }
    struct status status = {0};
    struct view before = *view;
    CHECK_OK(view_permute(&before, axes, view, &status), status);
    *places = result;
}

static void slice(struct view *view, struct places *places) {
    if (view->rank == 0)
        return;
    unsigned axis = (unsigned)below(view->rank);
    int64_t size = places->sizes[axis], begin = (int64_t)below((uint64_t)size + 1);
    int64_t end = begin + (int64_t)below((uint64_t)(size - begin) + 1);
    int64_t step = (int64_t)below(3) + 1;
    static struct places result;
    result = (struct places){.rank = places->rank};
    memcpy(result.sizes, places->sizes, sizeof result.sizes);
    result.sizes[axis] = 0;
    for (int64_t at = begin; at < end; at += step)
        result.sizes[axis]++;
    result.count = count_of(result.rank, result.sizes);
    for (int64_t i = 0; i < result.count; i++) {
        int64_t index[RIDGE_RANK_MAX];
        index_of(&result, i, index);
        index[axis] = begin + index[axis] * step;
        result.at[i] = places->at[number_of(places, index)];
    }
    struct status status = {0};
    struct view before = *view;
    bool from_end = below(2) && begin < size;
    int named = below(2) ? (int)axis : (int)axis - (int)view->rank;
    CHECK_OK(view_slice(&before, named, from_end ? begin - size : begin,
                        end == size && below(2) ? INT64_MAX : end, step, view, &status),
             status);
    *places = result;
}

static void broadcast(struct view *view, struct places *places) {
    int64_t sizes[RIDGE_RANK_MAX];
    unsigned added = (unsigned)below(2), rank = places->rank + added;
    if (rank > RIDGE_RANK_MAX)
        return;
    for (unsigned axis = 0; axis < rank; axis++) {
        int64_t size = axis < added ? 1 : places->sizes[axis - added];
        sizes[axis] = size == 1 ? (int64_t)below(4) : size;
    }
    if (count_of(rank, sizes) > ELEMENTS_MAX)
        return;
    static struct places result;
    result = (struct places){.rank = rank, .count = count_of(rank, sizes)};
    memcpy(result.sizes, sizes, rank * sizeof sizes[0]);
    for (int64_t i = 0; i < result.count; i++) {
        int64_t index[RIDGE_RANK_MAX], from[RIDGE_RANK_MAX];
        index_of(&result, i, index);
        for (unsigned axis = 0; axis < places->rank; axis++)
            from[axis] = places->sizes[axis] == 1 ? 0 : index[axis + added];
        result.at[i] = places->at[number_of(places, from)];
    }
    struct status status = {0};
    struct view before = *view;
    CHECK_OK(view_broadcast(&before, rank, sizes, view, &status), status);
    *places = result;
}

/* Adding or dropping an axis of size 1 changes sizes and no element. */
static void insert_or_drop(struct view *view, struct places *places) {
    struct status status = {0};
    unsigned axis = (unsigned)below(view->rank + 1);
    if (axis < view->rank && view->sizes[axis] == 1) {
        view_drop_axis(view, axis);
        memmove(&places->sizes[axis], &places->sizes[axis + 1],
                (places->rank - axis - 1) * sizeof places->sizes[0]);
        places->rank--;
    } else if (view->rank < RIDGE_RANK_MAX) {
        CHECK_OK(view_insert_axis(view, axis, &status), status);
        memmove(&places->sizes[axis + 1], &places->sizes[axis],
                (places->rank - axis) * sizeof places->sizes[0]);
        places->sizes[axis] = 1;
        places->rank++;
    }
}

/* Other sizes for as many elements: prime factors dealt out to the axes. */
static unsigned deal_out(int64_t count, int64_t *sizes) {
    unsigned rank = (unsigned)below(4) + 1;
    for (unsigned axis = 0; axis < rank; axis++)
        sizes[axis] = 1;
    for (int64_t factor = 2; count > 1; factor++)
        for (; count % factor == 0; count /= factor)
            sizes[below(rank)] *= factor;
    return rank;
}

/* Whether some strides put the elements of these sizes, in order, at these places. */
static bool strides_exist(const struct places *places) {
    int64_t strides[RIDGE_RANK_MAX] = {0};
    for (unsigned axis = 0; axis < places->rank; axis++) {
        int64_t index[RIDGE_RANK_MAX] = {0};
        if (places->sizes[axis] < 2)
            continue;
        index[axis] = 1;
        strides[axis] = places->at[number_of(places, index)] - places->at[0];
    }
    for (int64_t i = 0; i < places->count; i++) {
        int64_t index[RIDGE_RANK_MAX], at = places->at[0];
        index_of(places, i, index);
        for (unsigned axis = 0; axis < places->rank; axis++)
            at += index[axis] * strides[axis];
        if (at != places->at[i])
            return false;
    }
    return true;
}

static void reshape(struct view *view, struct places *places) {
    int64_t sizes[RIDGE_RANK_MAX], asked[RIDGE_RANK_MAX];
    if (places->count == 0)
        return;
    static struct places result;
    result = *places;
    result.rank = deal_out(places->count, sizes);
    memcpy(result.sizes, sizes, sizeof sizes);
    memcpy(asked, sizes, sizeof sizes);
    if (below(2))
        asked[below(result.rank)] = -1;
    struct status status = {0};
    struct view before = *view, after;
    bool possible = false;
    CHECK_OK(view_reshape(&before, result.rank, asked, &after, &possible, &status), status);
    CHECK_INT(possible, strides_exist(&result));
    if (!possible)
        return;
    *view = after;
    *places = result;
}

static void (*const operations[])(struct view *, struct places *) = {
    permute, slice, broadcast, insert_or_drop, reshape,
};

TEST(every_operation_on_a_view_reaches_the_elements_that_walking_finds) {
    static struct places places;
    state = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct view view = random_contiguous();
        walk(&view, &places);
        for (int step = 0; step < STEPS; step++) {
            operations[below(ARRAY_COUNT(operations))](&view, &places);
            REQUIRE(reaches(&view, &places));
        }
    }
}

static int64_t different(const struct places *places) {
    static bool seen[ELEMENTS_MAX * 4];
    memset(seen, 0, sizeof seen);
    int64_t count = 0;
    for (int64_t i = 0; i < places->count; i++) {
        count += !seen[places->at[i]];
        seen[places->at[i]] = true;
    }
    return count;
}

TEST(what_is_said_of_a_view_is_what_walking_counts) {
    static struct places places;
    state = 2;
    for (int round = 0; round < ROUNDS; round++) {
        struct view view = random_contiguous();
        walk(&view, &places);
        for (int step = 0; step < STEPS; step++) {
            operations[below(ARRAY_COUNT(operations))](&view, &places);
            int64_t extent = 0;
            bool in_order = true;
            for (int64_t i = 0; i < places.count; i++) {
                extent = places.at[i] >= extent ? places.at[i] + 1 : extent;
                in_order = in_order && places.at[i] == places.at[0] + i;
            }
            REQUIRE(view_count(&view) == places.count);
            REQUIRE(view_extent(&view) == extent);
            REQUIRE(view_touched(&view) == different(&places));
            REQUIRE(places.count == 0 || view_is_contiguous(&view) == in_order);
        }
    }
}

/* ---- Broadcasting two shapes ------------------------------------------------------------- */

static bool broadcast_by_hand(unsigned a_rank, const int64_t *a, unsigned b_rank, const int64_t *b,
                              unsigned *rank, int64_t *sizes) {
    *rank = a_rank > b_rank ? a_rank : b_rank;
    for (unsigned axis = 0; axis < *rank; axis++) {
        int64_t of_a = axis + a_rank < *rank ? 1 : a[axis + a_rank - *rank];
        int64_t of_b = axis + b_rank < *rank ? 1 : b[axis + b_rank - *rank];
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return false;
        sizes[axis] = of_a == 1 ? of_b : of_a;
    }
    return true;
}

TEST(shapes_broadcast_from_their_last_axes) {
    state = 3;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned rank, expected_rank;
        int64_t sizes[RIDGE_RANK_MAX] = {0}, expected[RIDGE_RANK_MAX] = {0};
        random_sizes(&rank, sizes);
        struct view other = random_contiguous();
        for (unsigned axis = 0; axis < other.rank && axis < rank; axis++)
            if (below(2))
                other.sizes[other.rank - 1 - axis] = sizes[rank - 1 - axis];
        bool fits =
            broadcast_by_hand(rank, sizes, other.rank, other.sizes, &expected_rank, expected);
        struct status status = {0};
        REQUIRE(view_broadcast_sizes(&other, &rank, sizes, &status) == fits);
        if (!fits)
            continue;
        CHECK_INT(rank, expected_rank);
        CHECK(memcmp(sizes, expected, rank * sizeof sizes[0]) == 0);
    }
}

/* ---- What is refused ---------------------------------------------------------------------- */

TEST(impossible_sizes_are_refused) {
    struct view view;
    struct status status = {0};
    const int64_t half = (int64_t)1 << 31;
    CHECK(!view_contiguous(9, (int64_t[9]){1, 1, 1, 1, 1, 1, 1, 1, 1}, &view, &status));
    CHECK(!view_contiguous(1, (int64_t[]){-1}, &view, &status));
    CHECK(!view_contiguous(1, (int64_t[]){INT64_MAX}, &view, &status));
    CHECK(!view_contiguous(3, (int64_t[]){half, half, half}, &view, &status));
    /* Also behind a size of 0, which would hide the product's overflow. */
    CHECK(!view_contiguous(4, (int64_t[]){0, half, half, half}, &view, &status));
    CHECK_OK(view_contiguous(8, (int64_t[8]){1, 1, 1, 1, 1, 1, 1, 1}, &view, &status), status);
}

TEST(a_view_may_be_made_from_its_own_sizes) {
    struct view view = {.rank = 2, .sizes = {3, 4}};
    struct status status = {0};
    CHECK_OK(view_contiguous(view.rank, view.sizes, &view, &status), status);
    CHECK_INT(view_count(&view), 12);
    CHECK_INT(view.strides[0], 4);
}

TEST(reshapes_that_hold_another_number_of_elements_are_refused) {
    struct view view, out;
    struct status status = {0};
    bool possible;
    CHECK_OK(view_contiguous(2, (int64_t[]){3, 4}, &view, &status), status);
    CHECK(!view_reshape(&view, 1, (int64_t[]){13}, &out, &possible, &status));
    CHECK(!view_reshape(&view, 2, (int64_t[]){-1, -1}, &out, &possible, &status));
    CHECK(!view_reshape(&view, 2, (int64_t[]){-1, 5}, &out, &possible, &status));
    CHECK(!view_reshape(&view, 2, (int64_t[]){-1, 0}, &out, &possible, &status));
    CHECK(!view_reshape(&view, 2, (int64_t[]){-2, 6}, &out, &possible, &status));
    CHECK(!view_reshape(&view, 3, (int64_t[]){INT64_MAX, INT64_MAX, 2}, &out, &possible, &status));
    CHECK(!view_reshape(&view, 9, (int64_t[9]){12, 1, 1, 1, 1, 1, 1, 1, 1}, &out, &possible,
                        &status));
}

TEST(slices_beyond_the_axis_are_refused) {
    struct view view, out;
    struct status status = {0};
    CHECK_OK(view_contiguous(1, (int64_t[]){5}, &view, &status), status);
    CHECK(!view_slice(&view, 0, 2, 6, 1, &out, &status));
    CHECK(!view_slice(&view, 0, -6, 5, 1, &out, &status));
    CHECK(!view_slice(&view, 0, 3, 2, 1, &out, &status));
    CHECK(!view_slice(&view, 0, 0, 5, 0, &out, &status));
    CHECK(!view_slice(&view, 0, INT64_MIN, INT64_MAX, 1, &out, &status));
    CHECK(!view_slice(&view, 1, 0, 1, 1, &out, &status));
    CHECK(!view_slice(&view, -2, 0, 1, 1, &out, &status));
    CHECK_OK(view_slice(&view, 0, 1, INT64_MAX, INT64_MAX, &out, &status), status);
    CHECK_INT(out.sizes[0], 1);
}

TEST(orders_of_axes_that_name_one_twice_are_refused) {
    struct view view, out;
    struct status status = {0};
    CHECK_OK(view_contiguous(2, (int64_t[]){2, 3}, &view, &status), status);
    CHECK(!view_permute(&view, (unsigned[]){0, 0}, &out, &status));
    CHECK(!view_permute(&view, (unsigned[]){0, 2}, &out, &status));
    CHECK(!view_broadcast(&view, 1, (int64_t[]){3}, &out, &status));
    CHECK(!view_broadcast(&view, 2, (int64_t[]){4, 3}, &out, &status));
}
