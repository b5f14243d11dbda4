/* Attention of f16 and bf16 and its gradients on CUDA's matrix units.
 *
 * Forward: a block has a tile of queries in shared memory and walks the keys that they see, a span
 * at a time. A warp has whole rows of the scores in registers, so the online softmax exchanges
 * values within a quad of lanes only, and the scores, exponentials by then, are the left operand of
 * the product with the values without leaving the registers. Copies of the next keys run while the
 * values are multiplied, and those of the values while the keys are.
 *
 * Backward: the weights are computed again from the stats of the forward pass. One kernel walks the
 * keys for a tile of queries (dq), another one the queries for a tile of keys (dk and dv), where
 * all products are transposed. No result is summed by atomic operations: equal runs have equal
 * results.
 */
#include "gen/emit/attention.h"
#include "gen/emit/kernel_file.h"
#include "gen/emit/mma.h"

extern const unsigned char embedded_attention_tensor_cl[];

/* Wider heads need more registers than there are. */
enum { TENSOR_VECTOR = 8, TENSOR_WIDTH_MAX = 128 };

static int32_t padded(int64_t width) {
    return (int32_t)(divide_up(width, 16) * 16);
}

/* Bytes of shared memory: own lines of one or two operands, and the spans. */
static uint32_t shared_bytes(const struct kernel_spec *spec) {
    const int32_t *choices = spec->choices;
    int32_t rows = choices[ATTENTION_THREADS] / 32 * 16 * choices[ATTENTION_LANES];
    int32_t span = choices[ATTENTION_TILE], line = 2 * (padded(choices[ATTENTION_WIDTH]) + 8);
    switch ((enum attention_result)choices[ATTENTION_RESULT]) {
    case ATTENTION_DQ:
        return (uint32_t)((2 * rows + 4 * span) * line);
    case ATTENTION_DKV:
        return (uint32_t)((2 * rows + 4 * span) * line + 4 * span * 4);
    default:
        return (uint32_t)((rows + 2 * span) * line);
    }
}

/* The sums of a warp's rows, the scores and the operands have to fit into 255 registers. */
static void choose_tiles(const struct attention_work *work, int32_t *choices) {
    bool wide = padded(work->width) > 64, keys = work->result == ATTENTION_DKV;
    choices[ATTENTION_LANES] = keys && wide ? 1 : 2;
    choices[ATTENTION_THREADS] = keys && wide ? 256 : 128;
    choices[ATTENTION_TILE] = keys || (work->result == ATTENTION_DQ && wide) ? 32 : 64;
}

/* Blocks: a tile of queries, or for DKV of keys, of a head each. */
static int64_t block_count(const struct attention_work *work, const int32_t *choices) {
    int64_t rows = choices[ATTENTION_THREADS] / 32 * 16 * choices[ATTENTION_LANES];
    return work->result == ATTENTION_DKV
               ? work->batch * work->kv_heads * divide_up(work->keys, rows)
               : work->batch * work->heads * divide_up(work->queries, rows);
}

static bool strides_divide(const struct attention_work *work) {
    for (int i = 0; i < 3; i++)
        if (work->q_strides[i] % TENSOR_VECTOR || work->k_strides[i] % TENSOR_VECTOR ||
            work->v_strides[i] % TENSOR_VECTOR)
            return false;
    return work->width % TENSOR_VECTOR == 0;
}

/* Scores are compared before they are scaled, so the scale must not be negative. */
static bool set_choices(const struct attention_work *work, const struct device_capabilities *device,
                        struct kernel_spec *spec) {
    int32_t *choices = spec->choices;
    if (!has_mma(device) || (work->type != RIDGE_F16 && work->type != RIDGE_BF16) ||
        work->width < 1 || work->width > TENSOR_WIDTH_MAX || !strides_divide(work) ||
        !(work->scale > 0 && work->scale < 1e30f))
        return false;
    choices[ATTENTION_METHOD] = METHOD_TENSOR;
    choices[ATTENTION_WIDTH] = (int32_t)work->width;
    choices[ATTENTION_VECTOR] = TENSOR_VECTOR;
    choices[ATTENTION_RESULT] = (int32_t)work->result;
    choose_tiles(work, choices);
    /* Smaller tiles when large ones would leave compute units idle. */
    if (choices[ATTENTION_LANES] > 1 && block_count(work, choices) < device->compute_units)
        choices[ATTENTION_LANES] = 1;
    return shared_bytes(spec) <= device->shared_max &&
           (int32_t)device->block_max >= choices[ATTENTION_THREADS];
}

bool kernel_attention_fits(const struct attention_work *work,
                           const struct device_capabilities *device) {
    struct kernel_spec spec = {.family = KERNEL_ATTENTION};
    return set_choices(work, device, &spec);
}

bool attention_tensor_plan(const struct attention_work *work,
                           const struct device_capabilities *device,
                           struct kernel_request *request) {
    struct kernel_spec spec = request->spec;
    if (!set_choices(work, device, &spec))
        return false;
    request->spec = spec;
    request->shared_bytes = shared_bytes(&spec);
    int64_t blocks = block_count(work, spec.choices);
    request->grid[0] = (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX);
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = (uint32_t)spec.choices[ATTENTION_THREADS];
    request->block[1] = request->block[2] = 1;
    return true;
}

static unsigned results_of(const struct kernel_spec *spec, struct source_parameter *buffers) {
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    enum attention_result result = (enum attention_result)spec->choices[ATTENTION_RESULT];
    unsigned count = 0;
    if (result != ATTENTION_OUTPUT) {
        buffers[count++] = (struct source_parameter){.name = "g", .dtype = type};
        buffers[count++] = (struct source_parameter){.name = "stats", .dtype = RIDGE_F32};
        buffers[count++] = (struct source_parameter){.name = "means", .dtype = RIDGE_F32};
    }
    buffers[count++] = (struct source_parameter){.name = "result", .dtype = type, .stored = true};
    if (result == ATTENTION_DKV)
        buffers[count++] =
            (struct source_parameter){.name = "second", .dtype = type, .stored = true};
    if (spec->choices[ATTENTION_STATS])
        buffers[count++] =
            (struct source_parameter){.name = "stats", .dtype = RIDGE_F32, .stored = true};
    return count;
}

static void tensor_macros(struct buffer *out, const struct kernel_spec *spec) {
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    source_mma(out, type);
    source_mma_staged(out);
    source_define(out, "PADDED", padded(spec->choices[ATTENTION_WIDTH]));
    source_define(out, "ROW_TILES", spec->choices[ATTENTION_LANES]);
    source_define(out, "SPAN", spec->choices[ATTENTION_TILE]);
    source_define(out, "MASKED", spec->choices[ATTENTION_MASK]);
    buffer_printf(out, "#define PACK(low, high) PACK_%s(low, high)\n",
                  type == RIDGE_BF16 ? "BF16" : "F16");
    buffer_string(out, "#define STORE_STATS(query, all, greatest) ");
    buffer_string(out, spec->choices[ATTENTION_STATS]
                           ? "if (part == 0 && (query) < QUERIES) "
                             "stats[row_of_heads * QUERIES + (query)] = "
                             "(all) == 0.0f ? INFINITE : (greatest) + log2f(all)\n"
                           : "\n");
    source_section(out, embedded_attention_tensor_cl, "macros");
}

void attention_tensor_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    struct source_parameter buffers[10];
    unsigned count = attention_operands(spec, buffers);
    enum attention_result result = (enum attention_result)spec->choices[ATTENTION_RESULT];
    tensor_macros(out, spec);
    generated->code.shared_max = shared_bytes(spec);
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = count + results_of(spec, buffers + count),
        .scalar_count = ATTENTION_SCALARS,
        .threads = (unsigned)spec->choices[ATTENTION_THREADS],
        .blocks_per_unit = spec->choices[ATTENTION_THREADS] > 128 ? 1 : 2,
        .dynamic_shared = true,
    };
    source_kernel_begin(out, device, &kernel);
    source_section(out, embedded_attention_tensor_cl, "body");
    if (result == ATTENTION_DKV) {
        source_section(out, embedded_attention_tensor_cl, "gradient_of_keys");
    } else {
        source_section(out, embedded_attention_tensor_cl, "queries");
        source_section(out, embedded_attention_tensor_cl,
                       result == ATTENTION_DQ ? "gradient_of_queries" : "forward");
    }
}
