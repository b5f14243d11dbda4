/* Rotary position embedding on the CPU.
 *
 * Angles are computed in double, where position * frequency keeps its fraction up to positions
 * of many millions. A token's cosines and sines serve all its heads; they are advanced from
 * token to token by a complex product, whose error over a unit's few tokens is below f32
 * precision.
 */
#include "gen/native/rope.h"

#include <math.h>

#include "base/min_max.h"
#include "gen/native/simd/widen.h"

/* Of each pair of elements. */
struct angles {
    int64_t pairs;
    double *cosine, *sine;
    double *turn_cosine, *turn_sine; /* from a token to the next */
    float *cosine_f32, *sine_f32;
};

static void place_angles(struct angles *angles, int64_t pairs, void *scratch) {
    angles->pairs = pairs;
    angles->cosine = scratch;
    angles->sine = angles->cosine + pairs;
    angles->turn_cosine = angles->sine + pairs;
    angles->turn_sine = angles->turn_cosine + pairs;
    angles->cosine_f32 = (float *)(angles->turn_sine + pairs);
    angles->sine_f32 = angles->cosine_f32 + pairs;
}

static void start_angles(struct angles *angles, double base, int64_t position, bool turns) {
    double ratio = pow(base, -1.0 / (double)angles->pairs), frequency = 1;
    for (int64_t i = 0; i < angles->pairs; i++, frequency *= ratio) {
        double angle = (double)position * frequency;
        angles->cosine[i] = cos(angle);
        angles->sine[i] = sin(angle);
        angles->turn_cosine[i] = turns ? cos(frequency) : 1;
        angles->turn_sine[i] = turns ? sin(frequency) : 0;
    }
}

static void round_angles(struct angles *angles) {
    for (int64_t i = 0; i < angles->pairs; i++) {
        angles->cosine_f32[i] = (float)angles->cosine[i];
        angles->sine_f32[i] = (float)angles->sine[i];
    }
}

static void turn_angles(struct angles *angles) {
    for (int64_t i = 0; i < angles->pairs; i++) {
        double cosine = angles->cosine[i], sine = angles->sine[i];
        angles->cosine[i] = cosine * angles->turn_cosine[i] - sine * angles->turn_sine[i];
        angles->sine[i] = sine * angles->turn_cosine[i] + cosine * angles->turn_sine[i];
    }
}

static void rotate_halves(float *restrict to, const float *restrict x,
                          const struct angles *angles) {
    int64_t pairs = angles->pairs;
    const float *restrict cosine = angles->cosine_f32, *restrict sine = angles->sine_f32;
    for (int64_t i = 0; i < pairs; i++) {
        to[i] = x[i] * cosine[i] - x[i + pairs] * sine[i];
        to[i + pairs] = x[i + pairs] * cosine[i] + x[i] * sine[i];
    }
}

static void rotate_neighbors(float *restrict to, const float *restrict x,
                             const struct angles *angles) {
    const float *restrict cosine = angles->cosine_f32, *restrict sine = angles->sine_f32;
    for (int64_t i = 0; i < angles->pairs; i++) {
        to[2 * i] = x[2 * i] * cosine[i] - x[2 * i + 1] * sine[i];
        to[2 * i + 1] = x[2 * i + 1] * cosine[i] + x[2 * i] * sine[i];
    }
}

/* One row; the last element of an odd width is unchanged. `room` holds two rows. */
static void rotate_row(const struct rope_plan *plan, void *to, const void *from,
                       const struct angles *angles, float *room) {
    enum ridge_dtype type = (enum ridge_dtype)plan->type;
    const float *x = from;
    float *result = to;
    if (type != RIDGE_F32) {
        widen(room, type, from, plan->width);
        x = room;
        result = room + plan->width;
    }
    if (plan->interleaved)
        rotate_neighbors(result, x, angles);
    else
        rotate_halves(result, x, angles);
    if (plan->width % 2)
        result[plan->width - 1] = x[plan->width - 1];
    if (type != RIDGE_F32)
        narrow(to, type, result, plan->width);
}

static void rotate_token(const struct native_call *call, const struct rope_plan *plan,
                         const struct angles *angles, int64_t token, int64_t first_head,
                         int64_t end_head, float *room) {
    int64_t bytes_each = (int64_t)ridge_dtype_bytes((enum ridge_dtype)plan->type, 1);
    for (int64_t h = first_head; h < end_head; h++) {
        int64_t from = h / plan->heads * plan->strides[0] + h % plan->heads * plan->strides[1] +
                       token * plan->strides[2];
        int64_t to = (h * plan->tokens + token) * plan->width;
        rotate_row(plan, (char *)call->buffers[2] + to * bytes_each,
                   (const char *)call->buffers[0] + from * bytes_each, angles, room);
    }
}

/* Tokens of heads that share their positions. */
static void rotate_tokens(const struct native_call *call, const struct rope_plan *plan,
                          struct angles *angles, int64_t first, int64_t last, int64_t head,
                          int64_t end_head, float *room) {
    const int32_t *positions =
        (const int32_t *)call->buffers[1] + head / plan->heads * plan->position_strides[0];
    for (int64_t t = first, before = 0; t < last; t++) {
        int64_t position = positions[t * plan->position_strides[1]];
        if (t > first && position == before + 1)
            turn_angles(angles);
        else
            start_angles(angles, plan->base, position, last - t > 1);
        before = position;
        round_angles(angles);
        rotate_token(call, plan, angles, t, head, end_head, room);
    }
}

void SIMD_NAME(rope)(const struct native_call *call) {
    const struct rope_plan *plan = (const void *)call->scalars;
    struct angles angles;
    place_angles(&angles, plan->width / 2, call->scratch);
    float *room = angles.sine_f32 + angles.pairs;
    int64_t all_heads = plan->batch * plan->heads;
    int64_t sharing = plan->position_strides[0] == 0 ? all_heads : plan->heads;
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t unit = (int64_t)begin;
        if (unit >= plan->token_units * plan->head_units)
            continue;
        int64_t first = unit / plan->head_units * plan->unit_tokens;
        int64_t head = unit % plan->head_units * plan->unit_heads;
        int64_t last = MIN(first + plan->unit_tokens, plan->tokens);
        int64_t end_head =
            all_heads - head < plan->unit_heads ? all_heads : head + plan->unit_heads;
        while (head < end_head) {
            int64_t same = MIN((head / sharing + 1) * sharing, end_head);
            rotate_tokens(call, plan, &angles, first, last, head, same, room);
            head = same;
        }
    }
}
