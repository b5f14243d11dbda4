/* Workloads: their amounts of work, detection of wrong results, and alternating inputs. */
#include "base/array.h"
#include "bench/workloads/workload.h"

#include <math.h>
#include <string.h>

#include "../test.h"
#include "base/memory.h"
#include "gen/ops.h"
#include "tensor/tensor.h"

static struct stage cpu_stage(void) {
    struct stage stage = {.device = ridge_device_open("cpu")};
    return stage;
}

static uint64_t used_bytes(const struct stage *stage) {
    struct ridge_pool_stats stats = {0};
    ridge_pool_stats(stage->device, &stats);
    return stats.used_bytes;
}

/* ---- Amounts ---------------------------------------------------------------------------- */

enum { M = 3, N = 20, RANK = 4, HIDDEN = 12, TOKENS = 7, HEADS = 2, WIDTH = 8 };

static uint64_t flops(enum op op) {
    return op_info(op)->flops;
}

struct expected {
    const struct workload *workload;
    int64_t size, batch, numbers[2];
    uint64_t elements; /* of all inputs and the output */
    uint64_t flops, exponentials;
};

static void check_amount(struct stage *stage, const struct expected *expected,
                         const struct case_kind *kind) {
    struct bench_case work = {.kind = kind,
                              .subject = expected->workload,
                              .size = expected->size,
                              .batch = expected->batch,
                              .numbers = {expected->numbers[0], expected->numbers[1]}};
    uint64_t trigonometry =
        expected->workload == &workload_chain ? 10 * (uint64_t)expected->size : 0;
    struct amount amount;
    struct status status;
    void *state;
    workload_size_up(&work);
    if (!kind->prepare(stage, &work, &state, &amount, &status)) {
        test_failed(__FILE__, __LINE__, "%s: %s", expected->workload->name, status.message);
        return;
    }
    if (amount.bytes != 4 * expected->elements || amount.flops != expected->flops ||
        amount.exponentials != expected->exponentials || amount.trigonometry != trigonometry ||
        work.memory_bytes != amount.bytes)
        test_failed(__FILE__, __LINE__,
                    "%s: %llu bytes, %llu flops, %llu exponentials, %llu bytes of memory",
                    expected->workload->name, (unsigned long long)amount.bytes,
                    (unsigned long long)amount.flops, (unsigned long long)amount.exponentials,
                    (unsigned long long)work.memory_bytes);
    kind->finish(state);
}

TEST(amounts_of_workloads_are_those_of_the_table_of_operations) {
    uint64_t exp = flops(OP_EXP), mul = flops(OP_MUL), add = flops(OP_ADD), relu = flops(OP_RELU);
    uint64_t sum = flops(OP_REDUCE_SUM), max = flops(OP_REDUCE_MAX), sub = flops(OP_SUB);
    uint64_t seen = (uint64_t)HEADS * TOKENS * (TOKENS + 1) / 2;
    const struct expected rows[] = {
        {&workload_chain, N, 0, {0}, 2 * N, 20 * N * exp, 10 * N},
        {&workload_add, N, 0, {0}, 3 * N, N * add, 0},
        {&workload_mul, N, 0, {0}, 3 * N, N * mul, 0},
        {&workload_exp, N, 0, {0}, 2 * N, N * exp, N},
        {&workload_relu, N, 0, {0}, 2 * N, N * relu, 0},
        {&workload_gelu, N, 0, {0}, 2 * N, N * flops(OP_GELU), 0},
        {&workload_add_relu, N, 0, {0}, 3 * N, N * flops(OP_ADD_RELU), 0},
        {&workload_add_then_relu, N, 0, {0}, 3 * N, N * (add + relu), 0},
        {&workload_mul_relu, N, 0, {0}, 3 * N, N * flops(OP_MUL_RELU), 0},
        {&workload_mul_then_relu, N, 0, {0}, 3 * N, N * (mul + relu), 0},
        {&workload_affine, N, 0, {0}, 4 * N, N * flops(OP_AFFINE), 0},
        {&workload_mul_then_add, N, 0, {0}, 4 * N, N * (mul + add), 0},
        {&workload_sum, N, 0, {0}, N + 1, N * sum, 0},
        {&workload_row_max, M * N, 0, {N}, M * N + M, M * N * max, 0},
        {&workload_softmax,
         N,
         M,
         {0},
         2 * M * N,
         M * N * (max + sub + exp + sum + flops(OP_DIV)),
         M * N},
        {&workload_rms_norm,
         N,
         M,
         {0},
         2 * M * N + N,
         M * N * (flops(OP_SQUARE) + sum + 2 * mul) + M * (mul + add + flops(OP_RSQRT)),
         0},
        {&workload_layer_norm,
         N,
         M,
         {0},
         2 * M * N + 2 * N,
         M * N * (sum + sub + flops(OP_SQUARE) + sum + 2 * mul + add) +
             M * (2 * mul + add + flops(OP_RSQRT)),
         0},
        {&workload_matmul, N, M, {0}, 2 * M * N + N * N, 2 * M * N * N, 0},
        {&workload_matmul, N, 0, {0}, 3 * N * N, 2 * N * N * N, 0},
        {&workload_matmul_relu, N, M, {0}, 2 * M * N + N * N, 2 * M * N * N + M * N * relu, 0},
        {&workload_matmul_then_relu, N, M, {0}, 2 * M * N + N * N, 2 * M * N * N + M * N * relu, 0},
        {&workload_linear, N, M, {0}, 2 * M * N + N * N, 2 * M * N * N, 0},
        {&workload_lora,
         N,
         M,
         {RANK},
         2 * M * N + N * N + 2 * N * RANK,
         2 * M * N * N + 4 * M * N * RANK + M * N * (mul + add),
         0},
        {&workload_gated_mlp,
         N,
         M,
         {HIDDEN},
         2 * M * N + 3 * N * HIDDEN,
         6 * M * N * HIDDEN + M * HIDDEN * (flops(OP_SILU) + mul),
         M * HIDDEN},
        {&workload_attention,
         TOKENS,
         1,
         {HEADS, WIDTH},
         4 * HEADS * TOKENS * WIDTH,
         seen * (4 * WIDTH + 4),
         seen},
        {&workload_rmsnorm_linear,
         N,
         M,
         {0},
         2 * M * N + N + N * N,
         2 * M * N * N + M * N * (flops(OP_SQUARE) + sum + 2 * mul) +
             M * (mul + add + flops(OP_RSQRT)),
         0},
        {&workload_mlp, N, M, {0}, 2 * M * N + 3 * N * N, 6 * M * N * N + 2 * M * N * relu, 0},
    };
    struct stage stage = cpu_stage();
    REQUIRE(stage.device);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        check_amount(&stage, &rows[i], &workload_eager);
        check_amount(&stage, &rows[i], &workload_compiled);
    }
    CHECK_INT(used_bytes(&stage), 0);
    ridge_device_close(stage.device);
}

static struct amount amount_of(struct stage *stage, const struct bench_case *work) {
    struct amount amount = {0};
    struct status status;
    void *state;
    if (work->kind->prepare(stage, work, &state, &amount, &status))
        work->kind->finish(state);
    else
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return amount;
}

TEST(an_eager_chain_moves_each_intermediate_and_a_compiled_one_none) {
    struct stage stage = cpu_stage();
    REQUIRE(stage.device);
    struct bench_case work = {.kind = &workload_eager, .subject = &workload_chain, .size = 1000};
    struct amount eager = amount_of(&stage, &work);
    work.kind = &workload_compiled;
    struct amount compiled = amount_of(&stage, &work);
    CHECK_INT(eager.kernels, 20);
    CHECK_INT(eager.moved_bytes, 20 * 2 * 4000);
    CHECK_INT(compiled.kernels, 0);
    CHECK_INT(compiled.replays, 1);
    CHECK_INT(compiled.graph_kernels, 1);
    CHECK_INT(compiled.moved_bytes, 2 * 4000);
    CHECK_INT(eager.bytes, compiled.bytes);
    ridge_device_close(stage.device);
}

TEST(sizes_that_no_memory_holds_are_sized_up_without_going_around) {
    const struct workload *const workloads[] = {
        &workload_add,       &workload_softmax,   &workload_matmul, &workload_lora,
        &workload_gated_mlp, &workload_attention, &workload_mlp,    &workload_sum};
    const int64_t sizes[] = {INT64_MAX, INT64_MAX / 2, (int64_t)1 << 40};
    for (unsigned i = 0; i < ARRAY_COUNT(workloads); i++)
        for (unsigned s = 0; s < 3; s++) {
            struct bench_case work = {.subject = workloads[i],
                                      .size = sizes[s],
                                      .batch = sizes[s],
                                      .numbers = {INT64_MAX / 3, 64}};
            workload_size_up(&work);
            CHECK(work.memory_bytes >= (uint64_t)1 << 42);
        }
}

/* ---- Results ---------------------------------------------------------------------------- */

static void check_right(struct stage *stage, const struct workload *workload,
                        enum ridge_dtype dtype, int64_t size, int64_t batch) {
    const struct case_kind *const kinds[] = {&workload_eager, &workload_compiled};
    for (unsigned k = 0; k < 2; k++) {
        struct bench_case work = {.kind = kinds[k],
                                  .subject = workload,
                                  .dtype = dtype,
                                  .size = size,
                                  .batch = batch,
                                  .numbers = {5, 8}};
        struct amount amount;
        struct status status;
        double error = -1;
        void *state = NULL;
        bool prepared = kinds[k]->prepare(stage, &work, &state, &amount, &status);
        if (!prepared || !kinds[k]->check(state, &error, &status))
            test_failed(__FILE__, __LINE__, "%s %s: %s", ridge_dtype_name(dtype), workload->name,
                        status.message);
        CHECK(error >= 0 && error < 0.04);
        if (prepared)
            kinds[k]->finish(state);
    }
}

TEST(workloads_give_what_their_references_say_in_every_type) {
    const struct workload *const workloads[] = {&workload_chain,
                                                &workload_add,
                                                &workload_mul,
                                                &workload_exp,
                                                &workload_relu,
                                                &workload_gelu,
                                                &workload_add_relu,
                                                &workload_mul_relu,
                                                &workload_add_then_relu,
                                                &workload_affine,
                                                &workload_softmax,
                                                &workload_layer_norm,
                                                &workload_rms_norm,
                                                &workload_sum,
                                                &workload_row_max,
                                                &workload_matmul,
                                                &workload_linear,
                                                &workload_matmul_relu,
                                                &workload_lora,
                                                &workload_gated_mlp,
                                                &workload_attention,
                                                &workload_mlp,
                                                &workload_mul_then_relu,
                                                &workload_mul_then_add,
                                                &workload_rmsnorm_linear,
                                                &workload_matmul_then_relu};
    struct stage stage = cpu_stage();
    REQUIRE(stage.device);
    for (unsigned i = 0; i < ARRAY_COUNT(workloads); i++)
        for (unsigned dtype = RIDGE_F32; dtype <= RIDGE_BF16; dtype++) {
            check_right(&stage, workloads[i], (enum ridge_dtype)dtype, 37, 3);
            check_right(&stage, workloads[i], (enum ridge_dtype)dtype, 1, 1);
        }
    check_right(&stage, &workload_linear, RIDGE_Q8_0, 256, 3);
    check_right(&stage, &workload_linear, RIDGE_Q4_K, 256, 3);
    CHECK_INT(used_bytes(&stage), 0);
    ridge_device_close(stage.device);
}

static double a_little_more(const struct host_inputs *inputs, int64_t index) {
    return workload_matmul.reference(inputs, index) +
           (index == inputs->shape->outputs - 1 ? 0.01 : 0);
}

static bool not_a_number(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)context;
    outputs[0] = ridge_log(ridge_add_scalar(ridge_mul_scalar(inputs[0], 0), -1));
    return outputs[0] != NULL;
}

static bool too_few(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)context;
    outputs[0] = ridge_slice(inputs[0], 0, 1, INT64_MAX, 1);
    return outputs[0] != NULL;
}

static void check_caught(struct stage *stage, const struct workload *workload, const char *words) {
    struct bench_case work = {.kind = &workload_eager, .subject = workload, .size = 50};
    struct amount amount;
    struct status status = {0};
    double error;
    void *state;
    if (!work.kind->prepare(stage, &work, &state, &amount, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    CHECK(!work.kind->check(state, &error, &status));
    CHECK(status.code == STATUS_INPUT);
    if (!strstr(status.message, words))
        test_failed(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", status.message, words);
    work.kind->finish(state);
}

TEST(a_wrong_element_is_caught_and_named) {
    struct stage stage = cpu_stage();
    REQUIRE(stage.device);
    struct workload wrong = workload_matmul;
    wrong.reference = a_little_more;
    check_caught(&stage, &wrong, "element 2499");
    wrong = workload_exp;
    wrong.function = not_a_number;
    check_caught(&stage, &wrong, "nan");
    wrong.function = too_few;
    check_caught(&stage, &wrong, "49 elements, not 50");
    ridge_device_close(stage.device);
}

TEST(a_workload_that_fails_says_why_and_leaves_nothing) {
    struct stage stage = cpu_stage();
    REQUIRE(stage.device);
    struct bench_case work = {.kind = &workload_compiled,
                              .subject = &workload_linear,
                              .dtype = RIDGE_Q4_K,
                              .size = 100,
                              .batch = 1};
    struct amount amount;
    struct status status = {0};
    void *state;
    CHECK(!work.kind->prepare(&stage, &work, &state, &amount, &status));
    CHECK(strstr(status.message, "256") != NULL);
    work.size = 256;
    bool ok = false;
    for (uint64_t nth = 1; nth < 400 && !ok; nth++) {
        memory_fail_from(nth);
        ok = work.kind->prepare(&stage, &work, &state, &amount, &status);
        memory_fail_from(0);
        if (ok)
            work.kind->finish(state);
        else
            CHECK(status.code == STATUS_MEMORY);
        CHECK_INT(used_bytes(&stage), 0);
    }
    CHECK(ok);
    ridge_device_close(stage.device);
}

/* ---- Turns ------------------------------------------------------------------------------ */

static void check_turns(struct stage *stage, const struct case_kind *kind,
                        const struct workload *workload, int64_t size, bool rotates) {
    uint64_t cache = stage->device->device->capabilities.cache_bytes;
    struct bench_case work = {.kind = kind, .subject = workload, .size = size, .batch = 4};
    struct amount amount;
    struct status status;
    void *state;
    if (!kind->prepare(stage, &work, &state, &amount, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    CHECK(rotates ? amount.touched > 2 * cache : amount.touched == amount.bytes);
    /* Twice around: addresses must come again, or no call is ever like one before. */
    for (unsigned turn = 0; turn < 80; turn++)
        CHECK_OK(kind->call(state, turn, &status), status);
    uint64_t used = used_bytes(stage);
    for (unsigned turn = 0; turn < 80; turn++)
        CHECK_OK(kind->call(state, turn, &status), status);
    CHECK_INT(used_bytes(stage), used);
    kind->finish(state);
    CHECK_INT(used_bytes(stage), 0);
}

TEST(inputs_take_turns_until_they_exceed_the_cache_twice) {
    struct stage stage = cpu_stage();
    REQUIRE(stage.device);
    stage.device->device->capabilities.cache_bytes = 1 << 20;
    check_turns(&stage, &workload_eager, &workload_add, 1 << 14, true);
    check_turns(&stage, &workload_compiled, &workload_add, 1 << 14, true);
    check_turns(&stage, &workload_compiled, &workload_mlp, 128, true);
    check_turns(&stage, &workload_eager, &workload_add, 1000, false);
    check_turns(&stage, &workload_compiled, &workload_add, 1 << 20, false);
    ridge_device_close(stage.device);
}

TEST(a_peer_gets_the_same_work_unless_it_cannot) {
    struct stage stage = cpu_stage();
    REQUIRE(stage.device);
    struct bench_case work = {.kind = &workload_compiled,
                              .subject = &workload_lora,
                              .dtype = RIDGE_F16,
                              .size = 64,
                              .batch = 2,
                              .numbers = {8}};
    struct peer_work peer;
    REQUIRE(work.kind->peer(&stage, &work, &peer));
    CHECK_STRING(peer.name, "lora");
    CHECK(peer.compiled);
    CHECK_INT(peer.input_count, 4);
    CHECK_INT(peer.inputs[2].sizes[1], 8);
    CHECK(peer.inputs[3].dtype == RIDGE_F16);
    CHECK(peer.numbers[0] == 2.0);
    CHECK_INT(peer.turns, 1);
    work.subject = &workload_linear;
    work.dtype = RIDGE_Q8_0;
    CHECK(!work.kind->peer(&stage, &work, &peer));
    ridge_device_close(stage.device);
}
