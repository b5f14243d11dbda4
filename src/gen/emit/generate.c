/* arange, rand and randn for GPUs: the functions of random.h and arange.h as text, in a loop over
 * the result's elements. */
#include <stdint.h>

#include "gen/arange.h"
#include "gen/backends.h"
#include "gen/random.h"
#include "gen/emit/dialect.h"

#define TEXT_OF(...) TEXT_OF_EXPANDED(__VA_ARGS__)
#define TEXT_OF_EXPANDED(...) #__VA_ARGS__

/* The prelude's macros are passed by name: they are expanded when the kernel is compiled. */
static const char random_text[] = TEXT_OF(
    RANDOM_FUNCTIONS(INLINE, CONSTANT_TABLE, CAST, int, UINT32, INT64, UINT64, LEADING_ZEROS)) "\n";
static const char bits_text[] = TEXT_OF(RANDOM_BITS(INLINE, UINT64)) "\n";
static const char arange_text[] = TEXT_OF(ARANGE_FUNCTIONS(INLINE, CAST, int, INT64)) "\n";

/* Neighboring threads look up different rows, which CUDA's constant memory would serialize:
 * there the table is in global memory. Lavapipe copies a constant table at each
 * access, so on a CPU it is a variable. */
static const char *const language_macros[] = {
    [LANGUAGE_CUDA] = "#define CONSTANT_TABLE __device__ const\n"
                      "#define LEADING_ZEROS(x) ((UINT32)__clz((int)(x)))\n",
    [LANGUAGE_OPENCL] = "#define CONSTANT_TABLE __constant\n#define LEADING_ZEROS(x) clz(x)\n",
    [LANGUAGE_METAL] = "#define CONSTANT_TABLE constant\n#define LEADING_ZEROS(x) clz(x)\n",
    [LANGUAGE_GLSL] = "#define LEADING_ZEROS(x) uint(31 - findMSB(x))\n",
};

void source_random_bits(struct buffer *out) {
    buffer_string(out, bits_text);
}

enum { THREADS = 256, BLOCKS_PER_UNIT = 16 };

bool source_generate_values(const struct generate_work *work,
                            const struct device_capabilities *device,
                            struct kernel_request *request, struct status *status) {
    bool whole = value_type_of(work->type) == VALUE_I32;
    request->spec.family = KERNEL_GENERATE;
    request->spec.types[0] = (uint8_t)work->type;
    request->spec.choices[0] = work->kind;
    request->spec.choices[1] = work->stepped;
    int64_t *scalars = request->scalars;
    scalars[0] = work->count;
    request->scalar_count = 2;
    if (work->kind == GENERATE_ARANGE) {
        struct arange arange;
        if (!arange_prepare(work->start, work->step, work->count, whole, &arange, status))
            return false;
        scalars[1] = arange.start;
        scalars[2] = arange.step;
        scalars[3] = arange.fine;
        scalars[4] = arange.fine_bits;
        scalars[5] = arange.point;
        request->scalar_count = 6;
    } else {
        scalars[1] = (int64_t)random_key(work->seed);
    }
    int64_t blocks = work->count / THREADS + 1;
    int64_t max = (int64_t)(device->compute_units ? device->compute_units : 1) * BLOCKS_PER_UNIT;
    request->grid[0] = (uint32_t)(blocks < max ? blocks : max);
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = THREADS;
    request->block[1] = request->block[2] = 1;
    return true;
}

static const struct {
    const char *store;
    unsigned precision; /* bits */
} element_types[RIDGE_DTYPES] = {
    [RIDGE_F32] = {"STORE_F32", 24},  [RIDGE_F16] = {"STORE_F16", 11},
    [RIDGE_BF16] = {"STORE_BF16", 8}, [RIDGE_I32] = {"STORE_I32", 0},
    [RIDGE_U8] = {"STORE_U8", 0},
};

static void emit_value(struct buffer *out, enum generate_kind kind, enum ridge_dtype type) {
    if (kind != GENERATE_ARANGE) {
        buffer_string(out, "UINT64 bits = random_bits(key, CAST(UINT64, i));\n");
        if (kind == GENERATE_RAND)
            buffer_printf(out, "float value = random_uniform(bits, %d);\n",
                          random_limit(element_types[type].precision));
        else
            buffer_string(out, "float value = random_normal(bits);\n");
        return;
    }
    buffer_string(out, "INT64 scaled = arange_fixed(scalars.v[1], scalars.v[2], scalars.v[3], "
                       "scalars.v[4], i);\n");
    if (value_type_of(type) == VALUE_F32)
        buffer_string(out, "float value = CAST(float, scaled) * "
                           "AS_FLOAT(CAST(UINT32, 127 - CAST(int, scalars.v[5])) << 23);\n");
    else
        buffer_printf(out, "int value = arange_whole(scaled, scalars.v[5])%s;\n",
                      type == RIDGE_U8 ? " & 255" : "");
}

bool source_generate_values_code(const struct kernel_spec *spec,
                                 const struct device_capabilities *device,
                                 struct kernel_generated *generated, struct status *status) {
    enum generate_kind kind = (enum generate_kind)spec->choices[0];
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    struct buffer *out = &generated->source;
    if (element_types[type].store == NULL)
        return status_fail(
            status, STATUS_USAGE,
            "numbers cannot be generated as %s; generate them as f32 and quantize them",
            ridge_dtype_name(type));
    source_prelude(out, device);
    buffer_string(out, language_macros[device->language]);
    if (device->language == LANGUAGE_GLSL)
        buffer_printf(out, "#define CONSTANT_TABLE%s\n", device->is_gpu ? " const" : "");
    buffer_string(out, kind == GENERATE_ARANGE ? arange_text : random_text);
    bool stepped = spec->choices[1] != 0;
    struct source_parameter buffers[2] = {
        {.name = "step", .dtype = RIDGE_I32, .no_alias = true},
        {.name = "result", .dtype = type, .stored = true, .no_alias = true}};
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = stepped ? buffers : buffers + 1,
        .buffer_count = stepped ? 2 : 1,
        .scalar_count = kind == GENERATE_ARANGE ? 6 : 2,
        .threads = THREADS,
    };
    source_kernel_begin(out, device, &kernel);
    source_kernel_body(out, device, &kernel);
    if (kind != GENERATE_ARANGE)
        buffer_printf(out, "UINT64 key = %s;\n",
                      stepped ? "random_step(CAST(UINT64, scalars.v[1]), LOAD_I32(step, 0))"
                              : "CAST(UINT64, scalars.v[1])");
    buffer_string(out,
                  "INT64 stride = CAST(INT64, GRID_X) * THREADS_X;\n"
                  "for (INT64 i = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X; i < scalars.v[0]; "
                  "i += stride) {\n");
    emit_value(out, kind, type);
    buffer_printf(out, "%s(result, i, value);\n}\n}\n", element_types[type].store);
    return true;
}
