/* The experiment on a Llama model: every dtype agrees with the reference, and nothing stays
 * allocated. */
#include "bench/experiment.h"

#include <string.h>

#include "../test.h"
#include "base/memory.h"

static void run_case(struct stage *stage, const struct bench_case *work) {
    struct ridge_pool_stats stats;
    struct status status;
    struct amount amount;
    double error = 1;
    void *state;
    if (!work->kind->prepare(stage, work, &state, &amount, &status)) {
        test_failed(__FILE__, __LINE__, "%s %s: %s", work->label, work->variant, status.message);
        return;
    }
    CHECK_OK(work->kind->check(state, &error, &status), status);
    CHECK(error > 0);
    for (unsigned turn = 0; turn < 140; turn++) /* the cache has 128 places behind the prompt */
        CHECK_OK(work->kind->call(state, turn, &status), status);
    CHECK(amount.bytes > 0 && amount.flops > 0);
    work->kind->finish(state);
    CHECK(ridge_pool_stats(stage->device, &stats) && stats.used_bytes == 0);
}

TEST(the_llm_experiment_agrees_with_its_reference_in_every_dtype) {
    struct stage stage = {.device = ridge_device_open("cpu"),
                          .options = {.small = true,
                                      .dtypes = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_Q8_0,
                                                 RIDGE_Q4_K, RIDGE_Q4_0},
                                      .dtype_count = 6}};
    const struct experiment *experiment = experiment_find("llm");
    struct case_list list = {.cases = NULL};
    struct status status;
    REQUIRE(experiment);
    CHECK_OK(experiment->plan(experiment, &stage, &list, &status), status);
    CHECK_INT(list.count, 12);
    for (size_t i = 0; i < list.count; i++)
        run_case(&stage, &list.cases[i]);
    memory_free(list.cases);
    ridge_device_close(stage.device);
}

TEST(a_llama_model_that_does_not_exist_is_refused) {
    struct stage stage = {.options = {.sizes = {123}, .size_count = 1}};
    const struct experiment *experiment = experiment_find("llm");
    struct case_list list = {.cases = NULL};
    struct status status;
    CHECK(!experiment->plan(experiment, &stage, &list, &status));
    CHECK(strstr(status.message, "110, 1100 or 8000"));
    memory_free(list.cases);
}
