/* Products of few rows with quantized weights, without unpacking the weights to floats.
 *
 * Each row of A is first turned into 16-bit integers, 32 elements to a scale (the greatest
 * magnitude becomes 32767): an element is then off by at most 2^-16 of the greatest near it, which
 * is far less than what the weights or 16-bit floats are off by. Weights meet it as integers, and
 * the sum of each 32 is exact; scales and minimums are applied to those sums in f32.
 *
 * Q4_K weights are taken four bits at a time out of 16-bit lanes, so A's elements are stored in the
 * order in which that yields them: see place_of().
 */
#include "gen/native/blocks.h"
#include "gen/native/matmul.h"
#include "gen/native/simd/matmul_elements.h"

enum { PAIRS = 2 * LANES, PARTS = MATMUL_ACTIVATION_PARTS, PART = Q4_K_PART_WEIGHTS };
typedef int16_t pairs __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t quads __attribute__((vector_size(VECTOR_BYTES)));

SIMD_INLINE pairs pairs_load(const int16_t *from) {
    pairs value;
    memcpy(&value, from, sizeof value);
    return value;
}

SIMD_INLINE pairs pairs_from_bytes(const int8_t *from) {
#if defined(SIMD_AVX512)
    return (pairs)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)from));
#elif defined(SIMD_AVX2)
    return (pairs)_mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)from));
#else
    typedef int8_t quants __attribute__((vector_size(PAIRS)));
    quants narrow;
    memcpy(&narrow, from, sizeof narrow);
    return __builtin_convertvector(narrow, pairs);
#endif
}

/* Products of 16-bit integers, each lane the sum of two that lie within the same quarter. */
SIMD_INLINE ints multiply_pairs(pairs a, pairs b) {
#if defined(SIMD_AVX512)
    return (ints)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(SIMD_AVX2)
    return (ints)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return (ints)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(SIMD_NEON)
    int32x4_t low = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
    return (ints)vmlal_high_s16(low, (int16x8_t)a, (int16x8_t)b);
#else
    ints sum;
    for (int i = 0; i < LANES; i++)
        sum[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
    return sum;
#endif
}

/* ---- A's rows as integers ---- */

/* Where element `index` of 256 is stored for Q4_K: 16-bit lane t of a vector of quants holds the
 * bytes 2 t and 2 t + 1, and its four numbers are met one after the other, from the lowest. */
static int place_of(int index) {
    int part = index / PART, byte = part / 2 * PART + index % PART;
    int vector = byte / VECTOR_BYTES, lane = byte % VECTOR_BYTES / 2;
    int number = byte % 2 * 2 + part % 2;
    return (vector * 4 + number) * PAIRS + lane;
}

/* The sum is of what the integers stand for, not of x: then what rounding did to an element meets
 * its weight less the minimum, as the element itself does. */
static void quantize_part(const float *x, int16_t *values, float *scale, float *sum) {
    floats greatest = floats_of(0), poison = floats_of(0);
    for (int i = 0; i < PART; i += LANES) {
        floats some = floats_load(x + i);
        greatest = floats_max(greatest, floats_abs(some));
        poison += some * 0;
    }
    float max = 0;
    for (int i = 0; i < LANES; i++)
        max = greatest[i] > max ? greatest[i] : max;
    /* Values that are not finite must propagate to the product. */
    bool finite = floats_sum(poison) == 0, tiny = max < 0x1p-100f;
    *scale = finite ? (tiny ? 0 : max / 32767) : NAN;
    floats inverse = floats_of(finite && !tiny ? 32767 / max : 0);
    int32_t total = 0;
    for (int i = 0; i < PART; i += LANES) {
        floats scaled = finite ? floats_load(x + i) * inverse : floats_of(0);
        int32_t wide[LANES];
        ints_store(wide, __builtin_convertvector(floats_round_small(scaled), ints));
        for (int j = 0; j < LANES; j++) {
            values[i + j] = (int16_t)wide[j];
            total += wide[j];
        }
    }
    *sum = *scale * (float)total;
}

static void quantize_activations(const struct native_call *call, int64_t row, int64_t block,
                                 struct matmul_activations *to) {
    const struct matmul_plan *plan = (const struct matmul_plan *)call->scalars;
    const struct matmul_context *context = call->context;
    int64_t step = block * MATMUL_ACTIVATIONS;
    int64_t depth = MIN(MATMUL_ACTIVATIONS, plan->k - step);
    int64_t first = row / plan->m * plan->a_batch + row % plan->m * plan->a_row;
    float x[MATMUL_ACTIVATIONS] = {0};
    element_run(x, call->buffers[0], context->a_type, first + step * plan->a_column, plan->a_column,
                depth);
    int16_t values[MATMUL_ACTIVATIONS];
    for (int part = 0; part < PARTS; part++)
        quantize_part(x + part * PART, values + part * PART, &to->scales[part], &to->sums[part]);
    bool in_order = context->b_type == RIDGE_Q8_0;
    for (int i = 0; i < MATMUL_ACTIVATIONS; i++)
        to->values[in_order ? i : place_of(i)] = values[i];
}

/* Columns follow each other in memory, so prefetch ahead; the hardware prefetcher stops at page
 * boundaries. */
SIMD_INLINE void prefetch(const void *block, size_t bytes) {
    enum { AHEAD = 4096, LINE = 64 };
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch((const char *)block + AHEAD + i);
}

/* ---- Q8_0 ---- */

/* One column with `rows` rows of A, whose blocks are `a_row` apart. */
SIMD_INLINE void dot_q8_0(const struct q8_0_block *column, int64_t count,
                          const struct matmul_activations *a, int64_t a_row, const int rows,
                          float *result) {
    floats sums[MATMUL_FEW_ROWS];
    UNROLL for (int i = 0; i < rows; i++) {
        sums[i] = floats_of(0);
    }
    for (int64_t b = 0; b < count; b++) {
        prefetch(&column[b], sizeof column[b]);
        float scale = f16_to_float(column[b].scale);
        const struct matmul_activations *of_a = a + b / PARTS;
        int64_t part = b % PARTS;
        ints products[MATMUL_FEW_ROWS];
        UNROLL for (int i = 0; i < rows; i++) {
            products[i] = ints_of(0);
        }
        UNROLL for (int v = 0; v < PART; v += PAIRS) {
            pairs weights = pairs_from_bytes(column[b].quants + v);
            UNROLL for (int i = 0; i < rows; i++) {
                products[i] +=
                    multiply_pairs(weights, pairs_load(of_a[i * a_row].values + part * PART + v));
            }
        }
        UNROLL for (int i = 0; i < rows; i++) {
            sums[i] += __builtin_convertvector(products[i], floats) *
                       floats_of(scale * of_a[i * a_row].scales[part]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        result[i] = floats_sum(sums[i]);
    }
}

/* ---- Q4_K ---- */

/* A block's scales and then its minimums, of each part, in f32. */
enum { SIDES = 2 * PARTS / LANES };
struct sides {
    floats of[SIDES];
};

/* The header is four 32-bit words, the first of which holds the two f16; q4_k_unpack() describes
 * the others. Here all are unpacked at once. */
SIMD_INLINE struct sides q4_k_sides(const struct q4_k_block *block) {
    typedef uint32_t words __attribute__((vector_size(16)));
    words header;
    memcpy(&header, block, sizeof header);
    words first = __builtin_shufflevector(header, header, 1, 1, 2, 2);
    words third = __builtin_shufflevector(header, header, 3, 3, 3, 3);
    words unpacked =
        (first >> (words){0, 2, 0, 2} & (words){0x3f3f3f3f, 0x30303030, 0x3f3f3f3f, 0x30303030}) |
        (third >> (words){0, 0, 0, 4} & (words){0, 0x0f0f0f0f, 0, 0x0f0f0f0f});
    bytes narrow[SIDES];
    memcpy(narrow, &unpacked, sizeof unpacked);
    /* The first two of these; loading more of the block is no dearer. */
    floats both = floats_from_f16(shorts_load(&block->scale));
    struct sides sides;
#if defined(SIMD_AVX512)
    floats scales =
        __builtin_shufflevector(both, both, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    sides.of[0] = floats_from_bytes(narrow[0]) * scales;
#else
    UNROLL for (int s = 0; s < SIDES; s++) {
        sides.of[s] = floats_from_bytes(narrow[s]) * floats_of(s < SIDES / 2 ? both[0] : both[1]);
    }
#endif
    return sides;
}

/* The factors of the sums of a vector of quants, low or high halves. */
#if defined(SIMD_AVX512)
typedef floats factors;
#define FACTORS_OF(all, vector, high)                                                              \
    ((vector) == 0 ? ((high) ? __builtin_shufflevector(all, all, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3,  \
                                                       3, 3, 3, 3, 3)                              \
                             : __builtin_shufflevector(all, all, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2,  \
                                                       2, 2, 2, 2, 2))                             \
                   : ((high) ? __builtin_shufflevector(all, all, 5, 5, 5, 5, 5, 5, 5, 5, 7, 7, 7,  \
                                                       7, 7, 7, 7, 7)                              \
                             : __builtin_shufflevector(all, all, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6,  \
                                                       6, 6, 6, 6, 6)))
#else
typedef struct {
    float of[PARTS];
} factors;
#define FACTORS_OF(all, vector, high) floats_of((all).of[(vector)*VECTOR_BYTES / PART * 2 + (high)])
#endif

/* The factors for one row of A; adds what the minimums take away to `taken`: on the widest vectors
 * its upper half alone counts. */
SIMD_INLINE factors q4_k_factors(const struct sides *sides, const struct matmul_activations *a,
                                 floats *taken) {
#if defined(SIMD_AVX512)
    _Static_assert(offsetof(struct matmul_activations, sums) ==
                       offsetof(struct matmul_activations, scales) + sizeof a->scales,
                   "scales and sums are loaded as one vector");
    floats all = sides->of[0] * floats_load(a->scales);
    *taken += all;
    return all;
#else
    factors all;
    UNROLL for (int s = 0; s < SIDES / 2; s++) {
        floats_store(all.of + s * LANES, sides->of[s] * floats_load(a->scales + s * LANES));
        *taken += sides->of[SIDES / 2 + s] * floats_load(a->sums + s * LANES);
    }
    return all;
#endif
}

SIMD_INLINE float q4_k_total(floats sum, floats taken) {
#if defined(SIMD_AVX512)
    ints upper = ints_count() >= LANES / 2;
    return floats_sum(sum - (floats)((ints)taken & upper));
#else
    return floats_sum(sum - taken);
#endif
}

SIMD_INLINE void dot_q4_k(const struct q4_k_block *column, int64_t count,
                          const struct matmul_activations *a, int64_t a_row, const int rows,
                          float *result) {
    floats sums[MATMUL_FEW_ROWS], taken[MATMUL_FEW_ROWS];
    UNROLL for (int i = 0; i < rows; i++) {
        sums[i] = taken[i] = floats_of(0);
    }
    for (int64_t b = 0; b < count; b++) {
        prefetch(&column[b], sizeof column[b]);
        struct sides sides = q4_k_sides(&column[b]);
        factors all[MATMUL_FEW_ROWS];
        UNROLL for (int i = 0; i < rows; i++) {
            all[i] = q4_k_factors(&sides, &a[i * a_row + b], &taken[i]);
        }
        UNROLL for (int v = 0; v < (int)sizeof column[b].quants / VECTOR_BYTES; v++) {
            quads quants;
            memcpy(&quants, column[b].quants + v * VECTOR_BYTES, sizeof quants);
            pairs first = (pairs)(quants & 15), second = (pairs)(quants >> 4 & 15);
            pairs third = (pairs)(quants >> 8 & 15), fourth = (pairs)(quants >> 12);
            UNROLL for (int i = 0; i < rows; i++) {
                const int16_t *values = a[i * a_row + b].values + v * 4 * PAIRS;
                ints low = multiply_pairs(first, pairs_load(values)) +
                           multiply_pairs(third, pairs_load(values + 2 * PAIRS));
                ints high = multiply_pairs(second, pairs_load(values + PAIRS)) +
                            multiply_pairs(fourth, pairs_load(values + 3 * PAIRS));
                sums[i] += __builtin_convertvector(low, floats) * FACTORS_OF(all[i], v, 0);
                sums[i] += __builtin_convertvector(high, floats) * FACTORS_OF(all[i], v, 1);
            }
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        result[i] = q4_k_total(sums[i], taken[i]);
    }
}

/* ---- Units ---- */

typedef void dot_function(const void *column, int64_t count, const struct matmul_activations *a,
                          int64_t a_row, float *result);
#define DOT(type, rows)                                                                            \
    static void dot_##type##_##rows(const void *column, int64_t count,                             \
                                    const struct matmul_activations *a, int64_t a_row,             \
                                    float *result) {                                               \
        dot_##type(column, count, a, a_row, rows, result);                                         \
    }
#define DOTS(type)                                                                                 \
    DOT(type, 1)                                                                                   \
    DOT(type, 2)                                                                                   \
    DOT(type, 3)                                                                                   \
    DOT(type, 4)                                                                                   \
    DOT(type, 5)                                                                                   \
    DOT(type, 6)                                                                                   \
    DOT(type, 7)                                                                                   \
    DOT(type, 8)                                                                                   \
    static dot_function *const dots_##type[MATMUL_FEW_ROWS] = {                                    \
        dot_##type##_1, dot_##type##_2, dot_##type##_3, dot_##type##_4,                            \
        dot_##type##_5, dot_##type##_6, dot_##type##_7, dot_##type##_8};
DOTS(q8_0)
DOTS(q4_k)

/* Piece `number` is a part of k of some columns of a batch. */
static void run_piece(const struct native_call *call, int64_t number) {
    const struct matmul_plan *plan = (const struct matmul_plan *)call->scalars;
    const struct matmul_context *context = call->context;
    bool q8_0 = context->b_type == RIDGE_Q8_0;
    int64_t weights = q8_0 ? Q8_0_WEIGHTS : Q4_K_WEIGHTS;
    size_t block_bytes = q8_0 ? sizeof(struct q8_0_block) : sizeof(struct q4_k_block);
    dot_function *dot = q8_0 ? dots_q8_0[plan->m - 1] : dots_q4_k[plan->m - 1];

    int64_t across = matmul_blocks(plan->n, plan->columns);
    int64_t part = number % plan->parts, unit = number / plan->parts;
    int64_t batch = unit / across, column = unit % across * plan->columns;
    int64_t from = MIN(part * plan->part_depth, plan->k);
    int64_t depth = MIN(plan->part_depth, plan->k - from);
    int64_t columns = MIN(plan->columns, plan->n - column);

    int64_t a_row = matmul_blocks(plan->k, MATMUL_ACTIVATIONS);
    const struct matmul_activations *a = (const struct matmul_activations *)call->shared +
                                         batch * plan->m * a_row + from / MATMUL_ACTIVATIONS;
    const char *b =
        (const char *)call->buffers[1] +
        (size_t)((batch * plan->b_batch + column * plan->b_column + from) / weights) * block_bytes;
    size_t b_column = (size_t)(plan->b_column / weights) * block_bytes;
    float *sums =
        plan->parts > 1 ? matmul_part_sums(call, plan, number) : matmul_scratch(call) + MATMUL_SUMS;
    for (int64_t j = 0; j < columns; j++) {
        float results[MATMUL_FEW_ROWS];
        dot(b + (size_t)j * b_column, depth / weights, a, a_row, results);
        for (int64_t i = 0; i < plan->m; i++)
            sums[i * plan->columns + j] = results[i];
    }
    if (plan->parts == 1)
        matmul_finish_unit(call, unit, sums);
}

void SIMD_NAME(matmul_quantized)(const struct native_call *call) {
    const struct matmul_plan *plan = (const struct matmul_plan *)call->scalars;
    struct matmul_activations *a = call->shared;
    int64_t blocks = matmul_blocks(plan->k, MATMUL_ACTIVATIONS);
    int64_t pieces = plan->batch * plan->m * blocks, units = (int64_t)call->units;
    for (size_t begin, end; native_take(call, 1, &begin, &end);)
        for (int64_t i = (int64_t)begin; i < pieces; i += units)
            quantize_activations(call, i / blocks, i % blocks, &a[i]);
    native_barrier(call);
    for (size_t begin, end; native_take(call, 1, &begin, &end);)
        for (int64_t i = (int64_t)begin; i < plan->total; i += units)
            run_piece(call, i);
    if (plan->parts > 1) {
        native_barrier(call);
        matmul_join_parts(call);
    }
}
