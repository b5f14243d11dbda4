/* arange, rand and randn on the CPU. The loops are plain ones over functions without branches,
 * which the compiler turns into vectors. */
#include "gen/native/generate.h"

#include "gen/native/simd/widen.h"
#include "gen/random.h"

enum { TILE = 512 };

static void uniform_tile(float *to, uint64_t key, uint64_t first, int count, int32_t limit) {
    for (int i = 0; i < count; i++)
        to[i] = random_uniform(random_bits(key, first + (uint64_t)i), limit);
}

static void normal_tile(float *to, uint64_t key, uint64_t first, int count) {
    for (int i = 0; i < count; i++)
        to[i] = random_normal(random_bits(key, first + (uint64_t)i));
}

static void arange_tile(float *to, const struct arange *arange, int64_t first, int count) {
    struct arange a = *arange;
    uint32_t scale_bits = (uint32_t)(127 - a.point) << 23; /* 2^-point */
    float scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    for (int i = 0; i < count; i++)
        to[i] = scale * (float)arange_fixed(a.start, a.step, a.fine, a.fine_bits, first + i);
}

static int32_t arange_integer(const struct arange *a, int64_t i) {
    return arange_whole(arange_fixed(a->start, a->step, a->fine, a->fine_bits, i), a->point);
}

static void generate_integers(const struct generate_plan *plan, void *result, int64_t first,
                              int64_t last) {
    if (plan->type == RIDGE_I32)
        for (int64_t i = first; i < last; i++)
            ((int32_t *)result)[i] = arange_integer(&plan->arange, i);
    else
        for (int64_t i = first; i < last; i++)
            ((uint8_t *)result)[i] = (uint8_t)arange_integer(&plan->arange, i);
}

static unsigned precision_of(enum ridge_dtype type) {
    return type == RIDGE_F32 ? 24 : type == RIDGE_F16 ? 11 : 8;
}

static void generate_floats(const struct generate_plan *plan, void *result, int64_t first,
                            int64_t last) {
    enum ridge_dtype type = (enum ridge_dtype)plan->type;
    size_t bytes = ridge_dtype_bytes(type, 1);
    for (int64_t at = first; at < last; at += TILE) {
        float tile[TILE];
        int count = last - at < TILE ? (int)(last - at) : TILE;
        char *to = (char *)result + (size_t)at * bytes;
        float *values = type == RIDGE_F32 ? (float *)to : tile;
        if (plan->kind == GENERATE_ARANGE)
            arange_tile(values, &plan->arange, at, count);
        else if (plan->kind == GENERATE_RAND)
            uniform_tile(values, plan->key, (uint64_t)at, count, random_limit(precision_of(type)));
        else
            normal_tile(values, plan->key, (uint64_t)at, count);
        if (type != RIDGE_F32)
            narrow(to, type, tile, count);
    }
}

void SIMD_NAME(generate_values)(const struct native_call *call) {
    struct generate_plan made = *(const struct generate_plan *)(const void *)call->scalars;
    const struct generate_plan *plan = &made;
    if (made.stepped)
        made.key = random_step(made.key, *(const int32_t *)call->buffers[0]);
    void *result = call->buffers[made.stepped ? 1 : 0];
    bool integers = plan->type == RIDGE_I32 || plan->type == RIDGE_U8;
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t first = (int64_t)begin * GENERATE_UNIT;
        int64_t last = first + GENERATE_UNIT < plan->count ? first + GENERATE_UNIT : plan->count;
        if (integers)
            generate_integers(plan, result, first, last);
        else
            generate_floats(plan, result, first, last);
    }
}
