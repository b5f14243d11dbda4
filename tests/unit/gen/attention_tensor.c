/* Attention on CUDA's matrix units, run as C by warp_shim.h: the fragments, copies and barriers of
 * the kernels are checked without a GPU. */
#include <stdlib.h>
#include <unistd.h>

#include "native_run.h"

#include "base/array.h"
#include "base/text.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_prelude_cuda_h[], embedded_mma_h[];

enum { BUFFERS_MAX = 12 };

/* As in warp_shim_main.h. */
struct shim_file {
    int64_t grid, threads, buffers, sizes[BUFFERS_MAX], scalars[40];
};

struct shim_buffer {
    void *data;
    size_t bytes;
};

static struct device_capabilities gpu(void) {
    return (struct device_capabilities){
        .language = LANGUAGE_CUDA,
        .compute_units = 4,
        .subgroup = 32,
        .block_max = 1024,
        .shared_bytes = 48 * 1024,
        .shared_max = 227 * 1024,
        .threads_per_unit = 2048,
        .major = 9,
    };
}

/* ---- Running a kernel ----------------------------------------------------------------------- */

/* Writes what precedes `end` in the source, which continues behind it then. */
static void write_up_to(FILE *file, struct text *source, const char *end) {
    ptrdiff_t at = text_find(*source, end);
    if (at < 0) {
        test_failed(__FILE__, __LINE__, "not in the source: %.40s", end);
        return;
    }
    fwrite(source->data, 1, (size_t)at, file);
    source->data += (size_t)at + strlen(end);
    source->length -= (size_t)at + strlen(end);
}

/* Writes what precedes a section of an embedded file in the source, and leaves the section out. */
static void leave_out(FILE *file, struct text *source, const unsigned char *from,
                      const char *section) {
    struct buffer text = {0};
    source_section(&text, from, section);
    buffer_byte(&text, '\0');
    if (!text.failed)
        write_up_to(file, source, text.data);
    buffer_finish(&text);
}

static bool write_program(const char *path, const struct kernel_generated *generated,
                          enum ridge_dtype type, unsigned buffer_count) {
    struct text rest = buffer_as_text(&generated->source);
    int folder = (int)(strrchr(__FILE__, '/') + 1 - __FILE__);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "#define SHIM_OF_CUDA\n#define SHIM_RUNS\n%s#include \"%.*skernel_shim.h\"\n",
            type == RIDGE_BF16 ? "#define SHIM_BF16\n" : "", folder, __FILE__);
    leave_out(file, &rest, embedded_prelude_cuda_h, NULL);
    leave_out(file, &rest, embedded_mma_h, NULL);
    leave_out(file, &rest, embedded_mma_h, "staged");
    write_up_to(file, &rest, "extern \"C\" ");
    fwrite(rest.data, 1, rest.length, file);
    fprintf(file, "#define CALL(b, v) %s(", generated->name);
    for (unsigned i = 0; i < buffer_count; i++)
        fprintf(file, "(void *)(b)[%u], ", i);
    fprintf(file, "*(struct scalars *)(void *)(v))\n#include \"%.*swarp_shim_main.h\"\n", folder,
            __FILE__);
    return fclose(file) == 0;
}

static bool write_buffers(const char *path, const struct kernel_request *request,
                          const struct shim_buffer *buffers, unsigned count) {
    static const char zeros[16];
    struct shim_file header = {request->grid[0], request->block[0], count, {0}, {0}};
    for (unsigned i = 0; i < count; i++)
        header.sizes[i] = (int64_t)buffers[i].bytes;
    memcpy(header.scalars, request->scalars, request->scalar_count * sizeof request->scalars[0]);
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    fwrite(&header, sizeof header, 1, file);
    for (unsigned i = 0; i < count; i++) {
        fwrite(buffers[i].data, 1, buffers[i].bytes, file);
        fwrite(zeros, 1, (16 - buffers[i].bytes % 16) % 16, file);
    }
    return fclose(file) == 0;
}

static bool read_buffers(const char *path, const struct shim_buffer *buffers, unsigned count) {
    FILE *file = fopen(path, "rb");
    bool ok = file && fseek(file, sizeof(struct shim_file), SEEK_SET) == 0;
    for (unsigned i = 0; i < count && ok; i++)
        ok = fread(buffers[i].data, 1, buffers[i].bytes, file) == buffers[i].bytes &&
             fseek(file, (long)((16 - buffers[i].bytes % 16) % 16), SEEK_CUR) == 0;
    if (file)
        fclose(file);
    return ok;
}

static bool run_kernel(const struct attention_work *work, const struct shim_buffer *buffers,
                       unsigned count) {
    struct device_capabilities device = gpu();
    struct kernel_request request;
    struct kernel_generated generated;
    struct status status = {0};
    char program[256], source[256], data[256], command[2048];
    snprintf(program, sizeof program, "%s", test_temporary(".run"));
    snprintf(source, sizeof source, "%s", test_temporary(".c"));
    snprintf(data, sizeof data, "%s", test_temporary(".data"));
    if (!kernel_attention(work, &device, &request, &status) ||
        !kernel_generate(&request.spec, &device, &generated, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return false;
    }
    snprintf(command, sizeof command, "cc -std=gnu11 -O1 -w -I. -o '%s' '%s' -lm && '%s' '%s'",
             program, source, program, data);
    bool ok = write_program(source, &generated, work->type, count) &&
              write_buffers(data, &request, buffers, count) && system(command) == 0 &&
              read_buffers(data, buffers, count);
    kernel_generated_finish(&generated);
    return ok;
}

/* ---- The definition ------------------------------------------------------------------------- */

struct problem {
    struct attention_work work;
    void *q, *k, *v, *g, *mask, *result, *dq, *dk, *dv;
    int32_t lengths[4];
    float *stats, *means;
    double *weights; /* of one query */
};

static int64_t q_count(const struct attention_work *work) {
    return work->batch * work->heads * work->queries * work->width;
}

static int64_t kv_count(const struct attention_work *work) {
    return work->batch * work->kv_heads * work->keys * work->width;
}

static int64_t length_of(const struct problem *p, int64_t batch) {
    return p->work.has_lengths ? p->lengths[batch] : p->work.keys;
}

static bool sees(const struct problem *p, int64_t batch, int64_t query, int64_t key) {
    int64_t length = length_of(p, batch);
    int64_t end = p->work.causal ? length - p->work.queries + query + 1 : length;
    return key < end && (p->work.window == 0 || key >= end - p->work.window);
}

static double dot(const struct problem *p, const void *a, int64_t a_row, const void *b,
                  int64_t b_row) {
    double sum = 0;
    for (int64_t c = 0; c < p->work.width; c++)
        sum += element(a, p->work.type, a_row * p->work.width + c) *
               element(b, p->work.type, b_row * p->work.width + c);
    return sum;
}

/* The weights of the keys of a query; returns the logarithm of their sum to base 2. */
static double weigh(struct problem *p, int64_t row, int64_t kv_row) {
    const struct attention_work *work = &p->work;
    int64_t query = row % work->queries, batch = row / work->queries / work->heads;
    double most = -INFINITY, sum = 0;
    for (int64_t key = 0; key < work->keys; key++) {
        double x = dot(p, p->q, row, p->k, kv_row + key) * work->scale;
        if (work->has_mask)
            x += element(p->mask, work->type, query * work->keys + key);
        p->weights[key] = sees(p, batch, query, key) ? x : -INFINITY;
        most = fmax(most, p->weights[key]);
    }
    for (int64_t key = 0; key < work->keys; key++)
        sum += p->weights[key] = isinf(most) ? 0 : exp(p->weights[key] - most);
    for (int64_t key = 0; key < work->keys && sum > 0; key++)
        p->weights[key] /= sum;
    return sum > 0 ? most / log(2) + log2(sum) : INFINITY;
}

static double worst(double worst, double got, double expected, double size) {
    double error = fabs(got - expected) / size;
    return error <= worst ? worst : error; /* NaN is worse */
}

static void check_forward(struct problem *p, double tolerance) {
    const struct attention_work *work = &p->work;
    double off = 0, stats_off = 0;
    for (int64_t row = 0; row < work->batch * work->heads * work->queries; row++) {
        int64_t head = row / work->queries;
        int64_t kv_head = head / work->heads * work->kv_heads +
                          head % work->heads / (work->heads / work->kv_heads);
        double logarithm = weigh(p, row, kv_head * work->keys);
        if (isinf(logarithm))
            CHECK(isinf(p->stats[row]));
        else
            stats_off = worst(stats_off, p->stats[row], logarithm, 1);
        p->means[row] = 0;
        for (int64_t c = 0; c < work->width; c++) {
            double sum = 0;
            for (int64_t key = 0; key < work->keys; key++)
                sum += p->weights[key] *
                       element(p->v, work->type, (kv_head * work->keys + key) * work->width + c);
            int64_t at = row * work->width + c;
            off = worst(off, element(p->result, work->type, at), sum, 1);
            p->means[row] += (float)(sum * element(p->g, work->type, at));
        }
    }
    if (!(off <= tolerance) || !(stats_off <= 1e-3))
        test_failed(__FILE__, __LINE__, "%s width %lld queries %lld: off by %g, stats by %g",
                    ridge_dtype_name(work->type), (long long)work->width, (long long)work->queries,
                    off, stats_off);
}

static void check_gradients(struct problem *p, double tolerance) {
    const struct attention_work *work = &p->work;
    struct status status = {0};
    double *dq = memory_allocate((size_t)q_count(work), sizeof *dq, &status);
    double *dk = memory_allocate((size_t)kv_count(work), sizeof *dk, &status);
    double *dv = memory_allocate((size_t)kv_count(work), sizeof *dv, &status);
    REQUIRE(dq && dk && dv);
    for (int64_t row = 0; row < work->batch * work->heads * work->queries; row++) {
        int64_t head = row / work->queries, width = work->width;
        int64_t kv_row = work->keys * (head / work->heads * work->kv_heads +
                                       head % work->heads / (work->heads / work->kv_heads));
        weigh(p, row, kv_row);
        for (int64_t key = 0; key < work->keys; key++) {
            double change = p->weights[key] * work->scale *
                            (dot(p, p->g, row, p->v, kv_row + key) - p->means[row]);
            for (int64_t c = 0; c < width; c++) {
                int64_t at = row * width + c, kv_at = (kv_row + key) * width + c;
                dq[at] += change * element(p->k, work->type, kv_at);
                dk[kv_at] += change * element(p->q, work->type, at);
                dv[kv_at] += p->weights[key] * element(p->g, work->type, at);
            }
        }
    }
    double off[3] = {0};
    for (int64_t i = 0; i < q_count(work); i++)
        off[0] = worst(off[0], element(p->dq, work->type, i), dq[i], 1 + fabs(dq[i]));
    for (int64_t i = 0; i < kv_count(work); i++) {
        off[1] = worst(off[1], element(p->dk, work->type, i), dk[i], 1 + fabs(dk[i]));
        off[2] = worst(off[2], element(p->dv, work->type, i), dv[i], 1 + fabs(dv[i]));
    }
    for (int i = 0; i < 3; i++)
        if (!(off[i] <= tolerance))
            test_failed(__FILE__, __LINE__, "%s width %lld: gradient of %c off by %g",
                        ridge_dtype_name(work->type), (long long)work->width, "qkv"[i], off[i]);
    memory_free(dq);
    memory_free(dk);
    memory_free(dv);
}

static unsigned operands(struct problem *p, struct shim_buffer *buffers) {
    const struct attention_work *work = &p->work;
    size_t q_bytes = ridge_dtype_bytes(work->type, q_count(work));
    size_t kv_bytes = ridge_dtype_bytes(work->type, kv_count(work));
    unsigned count = 0;
    buffers[count++] = (struct shim_buffer){p->q, q_bytes};
    buffers[count++] = (struct shim_buffer){p->k, kv_bytes};
    buffers[count++] = (struct shim_buffer){p->v, kv_bytes};
    if (work->has_lengths)
        buffers[count++] = (struct shim_buffer){p->lengths, sizeof p->lengths};
    if (work->has_mask)
        buffers[count++] = (struct shim_buffer){
            p->mask, ridge_dtype_bytes(work->type, work->queries * work->keys)};
    return count;
}

static void run_forward(struct problem *p) {
    struct shim_buffer buffers[BUFFERS_MAX];
    size_t rows = (size_t)(p->work.batch * p->work.heads * p->work.queries);
    unsigned count = operands(p, buffers);
    p->work.stats = true;
    buffers[count++] =
        (struct shim_buffer){p->result, ridge_dtype_bytes(p->work.type, q_count(&p->work))};
    buffers[count++] = (struct shim_buffer){p->stats, rows * sizeof(float)};
    CHECK(run_kernel(&p->work, buffers, count));
    p->work.stats = false;
}

static void run_backward(struct problem *p, enum attention_result result) {
    struct shim_buffer buffers[BUFFERS_MAX];
    size_t rows = (size_t)(p->work.batch * p->work.heads * p->work.queries);
    size_t q_bytes = ridge_dtype_bytes(p->work.type, q_count(&p->work));
    size_t kv_bytes = ridge_dtype_bytes(p->work.type, kv_count(&p->work));
    unsigned count = operands(p, buffers);
    buffers[count++] = (struct shim_buffer){p->g, q_bytes};
    buffers[count++] = (struct shim_buffer){p->stats, rows * sizeof(float)};
    buffers[count++] = (struct shim_buffer){p->means, rows * sizeof(float)};
    if (result == ATTENTION_DQ) {
        buffers[count++] = (struct shim_buffer){p->dq, q_bytes};
    } else {
        buffers[count++] = (struct shim_buffer){p->dk, kv_bytes};
        buffers[count++] = (struct shim_buffer){p->dv, kv_bytes};
    }
    p->work.result = result;
    CHECK(run_kernel(&p->work, buffers, count));
    p->work.result = ATTENTION_OUTPUT;
}

static struct attention_work work_of(enum ridge_dtype type, int64_t batch, int64_t heads,
                                     int64_t kv_heads, int64_t queries, int64_t keys,
                                     int64_t width) {
    return (struct attention_work){
        .type = type,
        .batch = batch,
        .heads = heads,
        .kv_heads = kv_heads,
        .queries = queries,
        .keys = keys,
        .width = width,
        .q_strides = {heads * queries * width, queries * width, width},
        .k_strides = {kv_heads * keys * width, keys * width, width},
        .v_strides = {kv_heads * keys * width, keys * width, width},
        .mask_strides = {0, 0, keys, 1},
        .length_stride = 1,
        .scale = 1.5f / sqrtf((float)width),
    };
}

static void check(struct attention_work work) {
    struct status status = {0};
    struct problem p = {.work = work};
    int64_t rows = work.batch * work.heads * work.queries;
    p.q = noise_array(work.type, q_count(&work), 1, &status);
    p.k = noise_array(work.type, kv_count(&work), 2, &status);
    p.v = noise_array(work.type, kv_count(&work), 3, &status);
    p.g = noise_array(work.type, q_count(&work), 4, &status);
    p.mask = noise_array(work.type, work.queries * work.keys, 5, &status);
    p.result = noise_array(work.type, q_count(&work), 6, &status);
    p.dq = noise_array(work.type, q_count(&work), 7, &status);
    p.dk = noise_array(work.type, kv_count(&work), 8, &status);
    p.dv = noise_array(work.type, kv_count(&work), 9, &status);
    p.stats = memory_allocate((size_t)rows, sizeof(float), &status);
    p.means = memory_allocate((size_t)rows, sizeof(float), &status);
    p.weights = memory_allocate((size_t)work.keys, sizeof(double), &status);
    for (int64_t i = 0; i < 4; i++)
        p.lengths[i] = (int32_t)(work.keys - 5 - i * work.keys / 3);
    double unit = work.type == RIDGE_BF16 ? 0x1p-8 : 0x1p-11;
    run_forward(&p);
    check_forward(&p, 2 * unit);
    run_backward(&p, ATTENTION_DQ);
    run_backward(&p, ATTENTION_DKV);
    check_gradients(&p, 4 * unit);
    void *all[] = {p.q,  p.k,  p.v,  p.g,     p.mask,  p.result,
                   p.dq, p.dk, p.dv, p.stats, p.means, p.weights};
    for (unsigned i = 0; i < ARRAY_COUNT(all); i++)
        memory_free(all[i]);
}

static bool can_run(void) {
    if (system("printf '#include <ucontext.h>\\n_Float16 x;\\n' | "
               "cc -x c -fsyntax-only - > /dev/null 2>&1") == 0 &&
        access("tests/unit/gen/warp_shim.h", R_OK) == 0)
        return true;
    test_skip("no C compiler with _Float16 and ucontext here, or not started in the checkout");
    return false;
}

TEST(attention_on_matrix_units_agrees_with_the_definition) {
    if (!can_run())
        return;
    check(work_of(RIDGE_F16, 1, 1, 1, 300, 70, 64));
    check(work_of(RIDGE_BF16, 1, 2, 1, 40, 77, 128));
}

TEST(attention_on_matrix_units_hides_keys) {
    if (!can_run())
        return;
    struct attention_work work = work_of(RIDGE_F16, 2, 4, 2, 90, 100, 24);
    work.causal = work.has_lengths = true;
    work.window = 20;
    check(work);
    work = work_of(RIDGE_BF16, 2, 2, 2, 20, 70, 16);
    work.has_lengths = work.has_mask = true;
    check(work);
}

TEST(attention_of_wide_heads_does_not_use_matrix_units) {
    struct device_capabilities device = gpu();
    struct attention_work wide = work_of(RIDGE_F16, 1, 1, 1, 20, 40, 256);
    struct attention_work fits = work_of(RIDGE_F16, 1, 1, 1, 20, 40, 128);
    CHECK(!kernel_attention_fits(&wide, &device));
    CHECK(kernel_attention_fits(&fits, &device));
    fits.scale = -1;
    CHECK(!kernel_attention_fits(&fits, &device));
    fits.scale = 1;
    device.major = 7;
    CHECK(!kernel_attention_fits(&fits, &device));
}
