/* RWKV-7: its equations, loading weights from every file format, and its cases. */
#include "base/array.h"
#include "bench/rwkv/case.h"

#include <math.h>
#include <stdlib.h>

#include "../test.h"
#include "../tensor/made_weights.h"
#include "base/memory.h"
#include "bench/experiment.h"

enum { LAYERS = 2, VOCABULARY = 12, TOKENS = 5, TENSORS_MAX = 80, NAME = 64, IQ3_S = 21 };

static const struct rwkv_shape shape = {LAYERS, 32, {1, 64, 96, VOCABULARY, 16, 24, 8, 16}};
static const int32_t tokens[TOKENS] = {3, 7, 11, 0, 8};

/* Computed from the published equations by another program in double precision, with weights as
 * made_value() gives them. */
static const float expected[VOCABULARY] = {0.379190f, 0.037011f,  0.148355f, -0.667701f,
                                           1.146934f, -0.898534f, 0.967656f, -0.633044f,
                                           0.255184f, 1.208446f,  0.915279f, -0.312887f};

/* Between -0.5 and 0.5, in steps that f32 holds exactly. */
static float made_value(const char *name, uint32_t index) {
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    hash += (index + 1) * 2654435761u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    hash ^= hash >> 13;
    return (float)(hash >> 16) / 65536 - 0.5f;
}

struct files {
    struct made_tensor tensors[TENSORS_MAX];
    char names[TENSORS_MAX][NAME];
    unsigned count;
    bool gguf, turned; /* turned: low-rank matrices the other way round than usual */
};

static float *values_of(const char *name, int64_t rows, int64_t columns, bool vector, bool turn) {
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t at = turn ? i % columns * rows + i / columns : i;
        float value = made_value(name, (uint32_t)at);
        values[i] = vector ? 0.5f + value : value / 2;
    }
    return values;
}

/* Low-rank matrices are made [in, out], as safetensors have them. */
static void add_weight(struct files *files, const struct rwkv_weight *weight, int64_t layer) {
    char name[NAME];
    int64_t rows = shape.sizes[weight->rows], columns = shape.sizes[weight->columns];
    bool vector = weight->rows == RWKV_ONE;
    bool low = weight->rows >= RWKV_DECAY_RANK || weight->columns >= RWKV_DECAY_RANK;
    bool as_usual = !low || files->gguf == files->turned;
    if (layer >= 0)
        snprintf(name, sizeof name, "blocks.%d.%s", (int)layer, weight->name);
    else
        snprintf(name, sizeof name, "%s", weight->name);
    float *values;
    if (as_usual)
        values = low ? values_of(name, columns, rows, false, false)
                     : values_of(name, rows, columns, vector, false);
    else
        values = values_of(name, rows, columns, false, true);
    struct made_tensor *made = &files->tensors[files->count];
    char *own = files->names[files->count++];
    *made = (struct made_tensor){.name = own, .type = "F32", .data = values};
    made->bytes = (size_t)(rows * columns) * sizeof(float);
    made->rank = vector ? 1 : 2;
    made->sizes[0] = vector ? columns : low && as_usual ? columns : rows;
    made->sizes[1] = low && as_usual ? rows : columns;
    if (!files->gguf)
        snprintf(own, NAME, "%s", name);
    else if (layer >= 0)
        snprintf(own, NAME, "blk.%d.%s", (int)layer, weight->gguf_name);
    else
        snprintf(own, NAME, "%s", weight->gguf_name);
}

/* The six mixes become one tensor. */
static void fuse_mixes(struct files *files) {
    unsigned kept = 0;
    for (unsigned i = 0; i < files->count; i++) {
        char *mark = strchr(files->names[i], '#');
        if (mark && mark[1] != '0') {
            struct made_tensor *first = &files->tensors[kept - 1];
            memcpy((char *)first->data + first->bytes, files->tensors[i].data,
                   files->tensors[i].bytes);
            first->bytes += files->tensors[i].bytes;
            free((void *)files->tensors[i].data);
            continue;
        }
        files->tensors[kept] = files->tensors[i];
        memmove(files->names[kept], files->names[i], NAME);
        struct made_tensor *tensor = &files->tensors[kept];
        tensor->name = files->names[kept++];
        if (mark) {
            *strchr(files->names[kept - 1], '#') = '\0';
            tensor->data = realloc((void *)tensor->data, 6 * tensor->bytes);
            tensor->sizes[3] = tensor->sizes[0];
            tensor->sizes[0] = 6;
            tensor->sizes[1] = tensor->sizes[2] = 1;
            tensor->rank = 4;
        }
    }
    files->count = kept;
}

static void make_files(struct files *files, bool gguf, bool turned) {
    *files = (struct files){.gguf = gguf, .turned = turned};
    for (unsigned i = 0; i < rwkv_model_weight_count; i++)
        add_weight(files, &rwkv_model_weights[i], -1);
    for (int64_t layer = 0; layer < LAYERS; layer++)
        for (unsigned i = 0; i < rwkv_layer_weight_count; i++)
            if (rwkv_layer_has(&rwkv_layer_weights[i], layer))
                add_weight(files, &rwkv_layer_weights[i], layer);
    if (gguf)
        fuse_mixes(files);
}

static struct weights *open_files(struct files *files, struct buffer *bytes,
                                  struct status *status) {
    static const struct made_pair pairs[] = {{"general.architecture", "rwkv7", 0},
                                             {"rwkv7.wkv.head_size", NULL, 32}};
    for (unsigned i = 0; !files->gguf && i < files->count; i++)
        if (strstr(files->tensors[i].name, "r_k")) {
            files->tensors[i].rank = 2;
            files->tensors[i].sizes[0] = 2;
            files->tensors[i].sizes[1] = 32;
        }
    if (files->gguf)
        made_gguf(bytes, files->tensors, files->count, pairs, 2);
    else
        made_safetensors(bytes, files->tensors, files->count);
    return weights_open_bytes(bytes->data, bytes->length, status);
}

static void free_files(struct files *files) {
    for (unsigned i = 0; i < files->count; i++)
        free((void *)files->tensors[i].data);
}

/* Runs the tokens `step` at a time, as a program or one operation after another. */
static void run_tokens(const struct rwkv_model *model, int step, bool compiled,
                       float logits[VOCABULARY]) {
    enum { INPUTS = 1 + 3 * LAYERS, OUTPUTS = 2 + 3 * LAYERS };
    ridge_tensor *inputs[INPUTS], *outputs[OUTPUTS];
    ridge_scope_begin();
    for (unsigned i = 1; i < INPUTS; i++)
        inputs[i] = rwkv_make_state((i - 1) % 3, model->device, &model->shape, 1);
    for (int at = 0; at < TOKENS; at += step) {
        inputs[0] = ridge_from_host(model->device, RIDGE_I32, 2, (int64_t[]){1, step}, tokens + at);
        ridge_program *program =
            compiled ? ridge_compile(rwkv_step, (void *)model, inputs, INPUTS, OUTPUTS) : NULL;
        bool ok = compiled ? ridge_program_run(program, inputs, outputs)
                           : rwkv_step((void *)model, inputs, outputs);
        ridge_program_release(program);
        if (!ok) {
            test_failed(__FILE__, __LINE__, "%s", ridge_error_message());
            break;
        }
        memcpy(inputs + 1, outputs + 2, 3 * LAYERS * sizeof *inputs);
    }
    CHECK(ridge_to_floats(outputs[0], logits, VOCABULARY));
    int32_t token = -1;
    CHECK(ridge_to_host(outputs[1], &token, sizeof token) && token == 9);
    ridge_scope_end();
}

static void check_logits(const struct rwkv_model *model, double tolerance) {
    for (unsigned method = 0; method < 4; method++) {
        float logits[VOCABULARY] = {0};
        run_tokens(model, method % 2 ? 1 : TOKENS, method / 2, logits);
        for (unsigned i = 0; i < VOCABULARY; i++)
            if (!(fabs((double)logits[i] - (double)expected[i]) < tolerance))
                test_failed(__FILE__, __LINE__, "way %u: logit %u is %.6f, not %.6f", method, i,
                            (double)logits[i], (double)expected[i]);
    }
}

TEST(rwkv_logits_are_those_of_the_equations_from_either_file_and_for_any_type) {
    static const struct {
        bool gguf, turned;
        enum ridge_dtype dtype;
        double tolerance;
    } methods[] = {
        {false, false, RIDGE_F32, 2e-5}, {true, false, RIDGE_F32, 2e-5},
        {false, true, RIDGE_F32, 2e-5},  {true, true, RIDGE_F32, 2e-5},
        {true, false, RIDGE_F16, 0.02},  {false, false, RIDGE_Q8_0, 0.1},
    };
    ridge_device *device = ridge_device_open("cpu");
    for (unsigned i = 0; i < ARRAY_COUNT(methods); i++) {
        struct files files;
        struct buffer bytes = {0};
        struct status status = {0};
        struct rwkv_shape found;
        make_files(&files, methods[i].gguf, methods[i].turned);
        struct weights *file = open_files(&files, &bytes, &status);
        CHECK_OK(file && rwkv_shape_of_file(file, &found, &status), status);
        CHECK(memcmp(&found, &shape, sizeof shape) == 0);
        struct rwkv_extent whole = rwkv_extent_whole(&shape);
        enum ridge_dtype product = methods[i].dtype == RIDGE_F16 ? RIDGE_F16 : RIDGE_F32;
        struct rwkv_model *model =
            file ? rwkv_model_load(device, &shape, methods[i].dtype, product, &whole, file, &status)
                 : NULL;
        CHECK_OK(model != NULL, status);
        if (model)
            check_logits(model, methods[i].tolerance);
        rwkv_model_finish(model);
        weights_close(file);
        buffer_finish(&bytes);
        free_files(&files);
    }
    ridge_device_close(device);
}

/* The file with one tensor changed must be refused with that tensor's name. */
static void check_refused(ridge_device *device, struct files *files, const char *name,
                          const char *why) {
    struct buffer bytes = {0};
    struct status status = {0};
    struct rwkv_shape found;
    struct rwkv_model *model = NULL;
    struct weights *file = open_files(files, &bytes, &status);
    REQUIRE(file);
    if (rwkv_shape_of_file(file, &found, &status)) {
        struct rwkv_extent whole = rwkv_extent_whole(&found);
        model = rwkv_model_load(device, &found, RIDGE_F32, RIDGE_F32, &whole, file, &status);
    }
    CHECK(model == NULL);
    if (!strstr(status.message, name) || !strstr(status.message, why))
        test_failed(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", status.message, why);
    rwkv_model_finish(model);
    weights_close(file);
    buffer_finish(&bytes);
}

static struct made_tensor *tensor_of(struct files *files, const char *name) {
    for (unsigned i = 0; i < files->count; i++)
        if (strcmp(files->tensors[i].name, name) == 0)
            return &files->tensors[i];
    return NULL;
}

TEST(a_weight_that_is_missing_or_of_another_shape_or_type_is_named) {
    ridge_device *device = ridge_device_open("cpu");
    struct files files;
    make_files(&files, true, false);
    struct made_tensor *tensor = tensor_of(&files, "blk.1.time_mix_v1.weight");
    REQUIRE(tensor);
    tensor->name = "something.else";
    check_refused(device, &files, "blk.1.time_mix_v1.weight", "is missing");
    tensor->name = "blk.1.time_mix_v1.weight";
    tensor = tensor_of(&files, "blk.1.time_mix_output.weight");
    REQUIRE(tensor);
    tensor->sizes[0] = 32;
    check_refused(device, &files, "blk.1.time_mix_output.weight", "should be 64 x 64");
    tensor->sizes[0] = 64;
    tensor = tensor_of(&files, "blk.0.channel_mix_value.weight");
    REQUIRE(tensor);
    tensor->number = IQ3_S;
    check_refused(device, &files, "blk.0.channel_mix_value.weight", "IQ3_S");
    tensor->number = 0;
    tensor_of(&files, "blk.0.attn_norm.weight")->name = "norm";
    check_refused(device, &files, "blk.0.attn_norm.weight", "not an RWKV-7 model");
    free_files(&files);
    ridge_device_close(device);
}

TEST(parameters_of_the_published_models_are_what_their_names_say) {
    static const int64_t sizes[] = {100, 400, 1500, 2900};
    static const double millions[] = {191, 450, 1527, 2947};
    for (unsigned i = 0; i < 4; i++) {
        struct rwkv_shape published;
        CHECK(rwkv_shape_published(sizes[i], &published));
        CHECK(fabs((double)rwkv_parameters(&published) / 1e6 / millions[i] - 1) < 0.01);
    }
}

static void run_case(struct stage *stage, const struct bench_case *work) {
    struct amount amount;
    struct status status = {0};
    struct ridge_pool_stats stats;
    double error;
    void *state;
    if (!work->kind->prepare(stage, work, &state, &amount, &status)) {
        test_failed(__FILE__, __LINE__, "%s: %s", work->label, status.message);
        return;
    }
    CHECK(amount.flops > 0 && amount.bytes > 0 && amount.bytes <= amount.touched);
    CHECK(amount.bytes <= work->memory_bytes);
    CHECK_OK(work->kind->check(state, &error, &status), status);
    CHECK(error > 0 || work->numbers[RWKV_CASE_WHAT] == RWKV_WKV || work->dtype == RIDGE_F32);
    for (unsigned turn = 0; turn < 3; turn++)
        CHECK_OK(work->kind->call(state, turn, &status), status);
    work->kind->finish(state);
    CHECK(ridge_pool_stats(stage->device, &stats) && stats.used_bytes == 0);
}

static struct stage small_stage(void) {
    struct stage stage = {.device = ridge_device_open("cpu"), .options = {.small = true}};
    ridge_device_describe(stage.device, &stage.info);
    return stage;
}

TEST(every_part_of_an_rwkv_model_runs_and_is_right_in_every_type) {
    struct stage stage = small_stage();
    struct case_list list = {0};
    struct status status = {0};
    const struct experiment *experiment = experiment_find("rwkv");
    static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_Q8_0,
                                              RIDGE_Q4_K};
    memcpy(stage.options.dtypes, dtypes, sizeof dtypes);
    stage.options.dtype_count = 5;
    stage.options.batches[0] = 1;
    stage.options.batches[1] = 3;
    stage.options.batch_count = 2;
    REQUIRE(experiment && stage.device);
    CHECK_OK(experiment->plan(experiment, &stage, &list, &status), status);
    CHECK_INT(list.count, 5 * 2 * (RWKV_PARTS + 2));
    for (size_t i = 0; i < list.count; i++)
        run_case(&stage, &list.cases[i]);
    memory_free(list.cases);
    ridge_device_close(stage.device);
}

/* All weights but the embedding's are read for each token, and the parts' add up to them. */
TEST(the_bytes_of_an_rwkv_token_are_those_of_its_weights) {
    struct status status = {0};
    ridge_device *device = ridge_device_open("cpu");
    struct rwkv_shape small = rwkv_shape_small(RIDGE_F32);
    struct rwkv_extent whole = rwkv_extent_whole(&small);
    struct rwkv_model *model =
        rwkv_model_load(device, &small, RIDGE_F32, RIDGE_F32, &whole, NULL, &status);
    CHECK_OK(model != NULL, status);
    REQUIRE(model);
    uint64_t table = 4 * 256 * 128, row = 4 * 128, norm = 2 * 4 * 128, parts = norm + row;
    CHECK_INT(rwkv_step_bytes(model, 1), 4 * rwkv_parameters(&small) - table + row);
    for (int64_t layer = 0; layer < small.layers; layer++)
        for (unsigned part = 0; part < RWKV_HEAD; part++)
            parts += rwkv_part_bytes(&(struct rwkv_place){model, layer}, (enum rwkv_part)part);
    parts += rwkv_part_bytes(&(struct rwkv_place){model, 0}, RWKV_HEAD);
    CHECK_INT(rwkv_step_bytes(model, 1), parts);
    rwkv_model_finish(model);
    ridge_device_close(device);
}

TEST(the_rwkv_experiment_refuses_what_makes_no_sense) {
    struct stage stage = small_stage();
    const struct experiment *experiment = experiment_find("rwkv");
    struct case_list list = {0};
    struct status status = {0};
    REQUIRE(experiment && stage.device);
    stage.options = (struct bench_options){.sizes = {123}, .size_count = 1};
    CHECK(!experiment->plan(experiment, &stage, &list, &status) && strstr(status.message, "1500"));
    stage.options = (struct bench_options){.model = "/nonexistent"};
    CHECK(!experiment->plan(experiment, &stage, &list, &status) &&
          strstr(status.message, "/nonexistent"));
    stage.options = (struct bench_options){.dtypes = {RIDGE_U8}, .dtype_count = 1};
    CHECK(!experiment->plan(experiment, &stage, &list, &status) && strstr(status.message, "u8"));
    stage.options = (struct bench_options){.batches = {0}, .batch_count = 1};
    CHECK(!experiment->plan(experiment, &stage, &list, &status) &&
          strstr(status.message, "0 sequences"));
    memory_free(list.cases);
    ridge_device_close(stage.device);
}
