/* Attention on GPUs, in f32, with an online softmax.
 *
 * Few queries (decoding): one block per query, whose keys are divided among groups of lanes.
 * Each group has its own maximum score, sum of exponentials and weighted sum of values, which
 * are combined at the end. Many queries: one block per tile of queries; tiles of keys, then of
 * values, are staged in shared memory.
 *
 * A query without visible keys gives zeros.
 */
#include "gen/backends.h"
#include "gen/emit/attention.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_attention_cl[];

enum {
    WIDTH_MAX = 256,
    FEW_QUERIES = 8,
    GROUP_BYTES = 32768, /* of shared memory for combining the groups */
    GROUP_THREADS = 512,
};

static uint32_t shared_of(const struct device_capabilities *device) {
    return device->shared_bytes ? device->shared_bytes : 16384;
}

static bool divides(const struct attention_work *work, int64_t vector) {
    for (int i = 0; i < 3; i++)
        if (work->q_strides[i] % vector || work->k_strides[i] % vector ||
            work->v_strides[i] % vector)
            return false;
    return work->width % vector == 0;
}

static int32_t vector_of(const struct attention_work *work) {
    int32_t vector = work->type == RIDGE_F32 ? 4 : 8;
    while (!divides(work, vector))
        vector /= 2;
    return vector;
}

/* Lanes per key: one piece each, but no more than can shuffle cheaply. Without shuffles a thread
 * handles a whole key. */
static int32_t lanes_of(int64_t pieces, const struct device_capabilities *device) {
    int32_t lanes = 1;
    while (lanes < 16 && lanes < (int32_t)source_subgroup(device) && lanes < pieces)
        lanes *= 2;
    return lanes;
}

static void plan_queries(const struct attention_work *work,
                         const struct device_capabilities *device, struct kernel_request *request) {
    int32_t *choices = request->spec.choices;
    int32_t vector = choices[ATTENTION_VECTOR], lanes = lanes_of(work->width / vector, device);
    int64_t bytes = shared_of(device) < GROUP_BYTES ? shared_of(device) / 2 : GROUP_BYTES;
    int32_t threads = GROUP_THREADS;
    while (threads > lanes && (threads > (int32_t)device->block_max ||
                               threads / lanes * (work->width + 2) * 4 > bytes ||
                               (threads > 32 && threads / lanes / 2 >= work->keys)))
        threads /= 2;
    choices[ATTENTION_LANES] = lanes;
    choices[ATTENTION_THREADS] = threads;
    source_geometry(request, (double)work->batch * (double)work->heads * (double)work->queries,
                    (unsigned)threads);
}

static int64_t tile_bytes(int64_t tile, int64_t width) {
    return 4 * (2 * tile * (width + 1) + tile * (tile + 1) + 3 * tile + 128);
}

static void plan_tiles(const struct attention_work *work, const struct device_capabilities *device,
                       struct kernel_request *request) {
    int32_t *choices = request->spec.choices, tile = 32;
    while (tile > 8 && tile_bytes(tile, work->width) > shared_of(device))
        tile /= 2;
    choices[ATTENTION_METHOD] = METHOD_TILES;
    choices[ATTENTION_TILE] = tile;
    choices[ATTENTION_THREADS] = tile == 8 ? 64 : 128;
    source_geometry(
        request, (double)work->batch * (double)work->heads * (double)divide_up(work->queries, tile),
        (unsigned)choices[ATTENTION_THREADS]);
}

bool source_attention(const struct attention_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status) {
    if (work->width > WIDTH_MAX || work->width < 1)
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "attention: this device does not support heads of width %lld; the maximum is %d",
            (long long)work->width, WIDTH_MAX);
    int32_t *choices = request->spec.choices;
    request->spec.family = KERNEL_ATTENTION;
    request->spec.types[0] = (uint8_t)work->type;
    choices[ATTENTION_WIDTH] = (int32_t)work->width;
    choices[ATTENTION_CAUSAL] = work->causal;
    choices[ATTENTION_VECTOR] = vector_of(work);
    choices[ATTENTION_WINDOW] = work->window > 0;
    choices[ATTENTION_LENGTHS] = work->has_lengths;
    choices[ATTENTION_MASK] = work->has_mask;
    choices[ATTENTION_STATS] = work->stats;
    choices[ATTENTION_RESULT] = (int32_t)work->result;
    if (work->stats || work->result != ATTENTION_OUTPUT) {
        if (!attention_tensor_plan(work, device, request))
            return status_fail(status, STATUS_UNSUPPORTED,
                               "attention: no kernel has this result on this device");
    } else if (work->queries <= FEW_QUERIES)
        plan_queries(work, device, request);
    else if (!attention_tensor_plan(work, device, request))
        plan_tiles(work, device, request);
    union {
        float f32;
        uint32_t bits;
    } scale = {.f32 = work->scale};
    int64_t scalars[ATTENTION_SCALARS] = {
        work->batch,        work->heads,        work->kv_heads,     work->queries,
        work->keys,         scale.bits,         work->q_strides[0], work->q_strides[1],
        work->q_strides[2], work->k_strides[0], work->k_strides[1], work->k_strides[2],
        work->v_strides[0], work->v_strides[1], work->v_strides[2], work->window,
        work->length_stride};
    for (unsigned i = 0; i < 4; i++)
        scalars[17 + i] = work->mask_strides[i];
    for (unsigned i = 0; i < ATTENTION_SCALARS; i++)
        request->scalars[i] = scalars[i];
    request->scalar_count = ATTENTION_SCALARS;
    return true;
}

void attention_macros(struct buffer *out, const struct kernel_spec *spec) {
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    source_element_macros(out, type);
    source_define(out, "WIDTH", spec->choices[ATTENTION_WIDTH]);
    source_define(out, "THREADS", spec->choices[ATTENTION_THREADS]);
    source_define(out, "CAUSAL", spec->choices[ATTENTION_CAUSAL]);
    source_define(out, "VECTOR", spec->choices[ATTENTION_VECTOR]);
    source_define(out, "WINDOWED", spec->choices[ATTENTION_WINDOW]);
    buffer_printf(out, "#define LENGTH(batch) %s\n",
                  spec->choices[ATTENTION_LENGTHS]
                      ? "length_of(LOAD_I32(lengths, (batch) * scalars.v[16]), KEYS)"
                      : "KEYS");
    buffer_printf(out, "#define MASK(query, key) %s\n",
                  spec->choices[ATTENTION_MASK]
                      ? "LOAD(mask, batch * scalars.v[17] + head * scalars.v[18] + "
                        "(query) * scalars.v[19] + (key) * scalars.v[20])"
                      : "0.0f");
    source_define(out, "TYPE_BYTES", (long)ridge_dtype_bytes(type, 1));
    buffer_printf(out, "#define LOAD_VECTOR(p, x) LOAD_%d(p, x, 0)\n",
                  spec->choices[ATTENTION_VECTOR]);
    source_section(out, embedded_attention_cl, "macros");
}

unsigned attention_operands(const struct kernel_spec *spec, struct source_parameter *buffers) {
    static const char *const names[] = {"q", "k", "v"};
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    unsigned count = 0;
    for (; count < 3; count++)
        buffers[count] = (struct source_parameter){.name = names[count], .dtype = type};
    if (spec->choices[ATTENTION_LENGTHS])
        buffers[count++] = (struct source_parameter){.name = "lengths", .dtype = RIDGE_I32};
    if (spec->choices[ATTENTION_MASK])
        buffers[count++] = (struct source_parameter){.name = "mask", .dtype = type};
    return count;
}

bool source_attention_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated, struct status *status) {
    (void)status;
    struct buffer *out = &generated->source;
    bool tiled = spec->choices[ATTENTION_METHOD] == METHOD_TILES;
    source_device_prelude(out, device);
    attention_macros(out, spec);
    if (spec->choices[ATTENTION_METHOD] == METHOD_TENSOR) {
        attention_tensor_code(spec, device, generated);
        return true;
    }
    source_define(out, "LANES", spec->choices[ATTENTION_LANES]);
    source_define(out, "TILE", spec->choices[ATTENTION_TILE]);
    source_section(out, embedded_attention_cl, tiled ? "tile_macros" : "query_macros");
    struct source_parameter buffers[6];
    unsigned count = attention_operands(spec, buffers);
    buffers[count++] = (struct source_parameter){
        .name = "result", .dtype = (enum ridge_dtype)spec->types[0], .stored = true};
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = count,
        .scalar_count = ATTENTION_SCALARS,
        .threads = (unsigned)spec->choices[ATTENTION_THREADS],
        .scratch_words = (unsigned)spec->choices[ATTENTION_THREADS],
        .scratch_arrays = 2,
    };
    source_kernel_begin(out, device, &kernel);
    source_section(out, embedded_attention_cl, tiled ? "tile_shared" : "query_shared");
    source_kernel_body(out, device, &kernel);
    source_section(out, embedded_attention_cl, tiled ? "tile_head" : "query");
    if (tiled) {
        source_section(out, embedded_attention_cl, "tile_scores");
        source_section(out, embedded_attention_cl, "tile_values");
    }
    return true;
}
