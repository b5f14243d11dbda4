/* Moves elements between operands and tiles, and the function table of this ISA. */
#include "gen/native/simd.h"
#include "gen/native/tiles.h"

/* ---- Conversion of elements side by side ---- */

static void copy_4(void *to, const void *from, size_t count) {
    memcpy(to, from, count * 4);
}

static void fill(void *to, const void *from, size_t count) {
    int32_t value;
    memcpy(&value, from, sizeof value);
    for (size_t i = 0; i < count; i += LANES)
        ints_store((int32_t *)to + i, ints_of(value));
}

#define WHOLE_VECTORS_THEN_REST(to_type, from_type, convert)                                       \
    to_type *out = to;                                                                             \
    const from_type *in = from;                                                                    \
    size_t i = 0;                                                                                  \
    for (; i + LANES <= count; i += LANES)                                                         \
        convert(out + i, in + i);                                                                  \
    if (i < count) {                                                                               \
        from_type rest[LANES] = {0};                                                               \
        _Alignas(VECTOR_BYTES) to_type converted[LANES];                                           \
        memcpy(rest, in + i, (count - i) * sizeof rest[0]);                                        \
        convert(converted, rest);                                                                  \
        memcpy(out + i, converted, (count - i) * sizeof converted[0]);                             \
    }

#define LOAD_F16(to, from) floats_store(to, floats_from_f16(shorts_load(from)))
#define LOAD_BF16(to, from) floats_store(to, floats_from_bf16(shorts_load(from)))
#define LOAD_U8(to, from) ints_store(to, __builtin_convertvector(bytes_load(from), ints))
#define STORE_F16(to, from) shorts_store(to, floats_to_f16(floats_load(from)))
#define STORE_BF16(to, from) shorts_store(to, floats_to_bf16(floats_load(from)))
#define STORE_U8(to, from) bytes_store(to, __builtin_convertvector(ints_load(from), bytes))

static void load_f16(void *to, const void *from, size_t count) {
    WHOLE_VECTORS_THEN_REST(float, uint16_t, LOAD_F16)
}
static void load_bf16(void *to, const void *from, size_t count) {
    WHOLE_VECTORS_THEN_REST(float, uint16_t, LOAD_BF16)
}
static void load_u8(void *to, const void *from, size_t count) {
    WHOLE_VECTORS_THEN_REST(int32_t, uint8_t, LOAD_U8)
}
static void store_f16(void *to, const void *from, size_t count) {
    WHOLE_VECTORS_THEN_REST(uint16_t, float, STORE_F16)
}
static void store_bf16(void *to, const void *from, size_t count) {
    WHOLE_VECTORS_THEN_REST(uint16_t, float, STORE_BF16)
}
static void store_u8(void *to, const void *from, size_t count) {
    WHOLE_VECTORS_THEN_REST(uint8_t, int32_t, STORE_U8)
}

#define STREAM_F32(to, from) floats_stream(to, floats_load(from))
#define STREAM_F16(to, from) shorts_stream(to, floats_to_f16(floats_load(from)))
#define STREAM_BF16(to, from) shorts_stream(to, floats_to_bf16(floats_load(from)))

/* Streaming needs whole vectors in their places; what does not begin at one is stored. */
static void stream_f32(void *to, const void *from, size_t count) {
    if ((uintptr_t)to % VECTOR_BYTES) {
        copy_4(to, from, count);
        return;
    }
    WHOLE_VECTORS_THEN_REST(float, float, STREAM_F32)
}
static void stream_f16(void *to, const void *from, size_t count) {
    if ((uintptr_t)to % VECTOR_BYTES) {
        store_f16(to, from, count);
        return;
    }
    WHOLE_VECTORS_THEN_REST(uint16_t, float, STREAM_F16)
}
static void stream_bf16(void *to, const void *from, size_t count) {
    if ((uintptr_t)to % VECTOR_BYTES) {
        store_bf16(to, from, count);
        return;
    }
    WHOLE_VECTORS_THEN_REST(uint16_t, float, STREAM_BF16)
}
static void fence(void) {
    simd_fence();
}

/* ---- Moves between layouts ---- */

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint16_t shorts8 __attribute__((vector_size(16)));
typedef uint32_t ints4 __attribute__((vector_size(16)));
#define LOW_1(a, b)                                                                                \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_1(a, b)                                                                               \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_2(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_2(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

/* A square as large as a vector of 16 bytes is long: it takes as many rounds of interleaving the
 * first half of the vectors with the second as the side has bits. */
#define TRANSPOSE_SQUARE(size, element, vector)                                                    \
    SIMD_INLINE void transpose_square_##size(element *to, ptrdiff_t to_line, const element *from,  \
                                             ptrdiff_t from_stride) {                              \
        enum { SIDE = 16 / size };                                                                 \
        vector rows[SIDE], mixed[SIDE];                                                            \
        for (int i = 0; i < SIDE; i++)                                                             \
            memcpy(&rows[i], from + i * from_stride, sizeof rows[i]);                              \
        for (int round = 1; round < SIDE; round *= 2) {                                            \
            for (int i = 0; i < SIDE / 2; i++) {                                                   \
                mixed[2 * i] = LOW_##size(rows[i], rows[i + SIDE / 2]);                            \
                mixed[2 * i + 1] = HIGH_##size(rows[i], rows[i + SIDE / 2]);                       \
            }                                                                                      \
            for (int i = 0; i < SIDE; i++)                                                         \
                rows[i] = mixed[i];                                                                \
        }                                                                                          \
        for (int i = 0; i < SIDE; i++)                                                             \
            memcpy(to + i * to_line, &rows[i], sizeof rows[i]);                                    \
    }
TRANSPOSE_SQUARE(1, uint8_t, bytes16)
TRANSPOSE_SQUARE(2, uint16_t, shorts8)
TRANSPOSE_SQUARE(4, uint32_t, ints4)

/* The general loops run along the longer side. Transposing (neighbors of a line's first element
 * in `from` are the lines' first elements) is done square by square, whole lines of `from` first:
 * those are lines of cache. */
#define MOVE(size, element)                                                                        \
    static void strided_##size(element *to, ptrdiff_t to_line, ptrdiff_t to_stride,                \
                               const element *from, ptrdiff_t from_line, ptrdiff_t from_stride,    \
                               size_t lines, size_t width) {                                       \
        if (lines > width) {                                                                       \
            strided_##size(to, to_stride, to_line, from, from_stride, from_line, width, lines);    \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < lines; i++) {                                                       \
            const element *in = from + (ptrdiff_t)i * from_line;                                   \
            element *out = to + (ptrdiff_t)i * to_line;                                            \
            if (from_stride == 1 && to_stride == 1)                                                \
                memcpy(out, in, width * sizeof *out);                                              \
            else if (from_stride == 0 && to_stride == 1)                                           \
                for (size_t j = 0; j < width; j++)                                                 \
                    out[j] = *in;                                                                  \
            else                                                                                   \
                for (size_t j = 0; j < width; j++)                                                 \
                    out[(ptrdiff_t)j * to_stride] = in[(ptrdiff_t)j * from_stride];                \
        }                                                                                          \
    }                                                                                              \
    static void transpose_##size(element *to, ptrdiff_t to_line, const element *from,              \
                                 ptrdiff_t from_stride, size_t lines, size_t width) {              \
        enum { SIDE = 16 / size };                                                                 \
        size_t squares = width / SIDE * SIDE, square_lines = lines / SIDE * SIDE;                  \
        for (size_t j = 0; j < squares; j += SIDE)                                                 \
            for (size_t i = 0; i < square_lines; i += SIDE)                                        \
                transpose_square_##size(to + (ptrdiff_t)i * to_line + j, to_line,                  \
                                        from + i + (ptrdiff_t)j * from_stride, from_stride);       \
        strided_##size(to + squares, to_line, 1, from + (ptrdiff_t)squares * from_stride, 1,       \
                       from_stride, square_lines, width - squares);                                \
        strided_##size(to + (ptrdiff_t)square_lines * to_line, to_line, 1, from + square_lines, 1, \
                       from_stride, lines - square_lines, width);                                  \
    }                                                                                              \
    static void move_##size(void *to, ptrdiff_t to_line, ptrdiff_t to_stride, const void *from,    \
                            ptrdiff_t from_line, ptrdiff_t from_stride, size_t lines,              \
                            size_t width) {                                                        \
        enum { SIDE = 16 / size };                                                                 \
        bool square = lines >= SIDE && width >= SIDE;                                              \
        if (square && to_stride == 1 && from_line == 1 && from_stride > 1)                         \
            transpose_##size(to, to_line, from, from_stride, lines, width);                        \
        else if (square && from_stride == 1 && to_line == 1 && to_stride > 1)                      \
            transpose_##size(to, to_stride, from, from_line, width, lines);                        \
        else                                                                                       \
            strided_##size(to, to_line, to_stride, from, from_line, from_stride, lines, width);    \
    }
MOVE(1, uint8_t)
MOVE(2, uint16_t)
MOVE(4, uint32_t)

/* ---- The table ---- */

extern tile_expression *const SIMD_NAME(tile_expressions)[2][OP_EXPRESSIONS];
extern tile_expression SIMD_NAME(tile_divide_by_one);
extern tile_reduce *const SIMD_NAME(tile_reduces)[2][TILE_REDUCTIONS];
extern tile_reduce_rows *const SIMD_NAME(tile_row_reduces)[2][TILE_REDUCTIONS];
extern tile_reduce SIMD_NAME(tile_sum_squares);
extern tile_reduce_rows SIMD_NAME(tile_sum_squares_rows);
extern const struct tile_functions SIMD_NAME(tile_functions);

const struct tile_functions SIMD_NAME(tile_functions) = {
    .lanes = LANES,
    .expressions = SIMD_NAME(tile_expressions),
    .load = {[RIDGE_F32] = copy_4,
             [RIDGE_F16] = load_f16,
             [RIDGE_BF16] = load_bf16,
             [RIDGE_I32] = copy_4,
             [RIDGE_U8] = load_u8},
    .store = {[RIDGE_F32] = copy_4,
              [RIDGE_F16] = store_f16,
              [RIDGE_BF16] = store_bf16,
              [RIDGE_I32] = copy_4,
              [RIDGE_U8] = store_u8},
    .stream = {[RIDGE_F32] = stream_f32,
               [RIDGE_F16] = stream_f16,
               [RIDGE_BF16] = stream_bf16,
               [RIDGE_I32] = stream_f32},
    .fence = fence,
    .fill = fill,
    .divide_by_one = SIMD_NAME(tile_divide_by_one),
    .move = {move_1, move_2, move_4},
    .reduce = SIMD_NAME(tile_reduces),
    .reduce_rows = SIMD_NAME(tile_row_reduces),
    .sum_squares = SIMD_NAME(tile_sum_squares),
    .sum_squares_rows = SIMD_NAME(tile_sum_squares_rows),
};
