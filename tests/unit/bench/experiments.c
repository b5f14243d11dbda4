/* The experiments on workloads, the pool and transfers: their plans run, respect the options,
 * and draw the right conclusions from results. */
#include "base/array.h"
#include "bench/experiment.h"

#include <math.h>
#include <string.h>

#include "../test.h"
#include "base/memory.h"
#include "bench/experiments/pair.h"

static const char *const names[] = {"lora",           "layers",    "lora-rank", "elementwise",
                                    "matmul",         "reduction", "gated-mlp", "attention",
                                    "batch-scaling",  "fused-ops", "pool",      "transfers",
                                    "rmsnorm-linear", "training"};
enum { NAMES = ARRAY_COUNT(names) };

static struct stage small_stage(void) {
    struct stage stage = {.device = ridge_device_open("cpu"), .options = {.small = true}};
    ridge_device_describe(stage.device, &stage.info);
    return stage;
}

static void run_case(struct stage *stage, const struct bench_case *work) {
    struct amount amount;
    struct status status;
    struct ridge_pool_stats stats;
    double error;
    void *state;
    if (!work->kind->prepare(stage, work, &state, &amount, &status)) {
        test_failed(__FILE__, __LINE__, "%s %s: %s", work->label, work->variant, status.message);
        return;
    }
    CHECK_OK(work->kind->check(state, &error, &status), status);
    for (unsigned turn = 0; turn < 3; turn++)
        CHECK_OK(work->kind->call(state, turn, &status), status);
    work->kind->finish(state);
    CHECK(ridge_pool_stats(stage->device, &stats) && stats.used_bytes == 0);
}

static void check_labels(const struct case_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        CHECK(list->cases[i].label[0] != 0);
        CHECK(list->cases[i].memory_bytes > 0);
        for (size_t k = 0; k < i; k++)
            if (strcmp(list->cases[i].label, list->cases[k].label) == 0 &&
                strcmp(list->cases[i].variant, list->cases[k].variant) == 0)
                test_failed(__FILE__, __LINE__, "%s %s is there twice", list->cases[i].label,
                            list->cases[i].variant);
    }
}

TEST(every_case_of_an_experiment_runs_and_is_right_on_the_cpu) {
    struct stage stage = small_stage();
    REQUIRE(stage.device);
    for (unsigned n = 0; n < NAMES; n++) {
        const struct experiment *experiment = experiment_find(names[n]);
        struct case_list list = {0};
        struct status status;
        REQUIRE(experiment);
        CHECK_OK(experiment->plan(experiment, &stage, &list, &status), status);
        CHECK(list.count > 0);
        check_labels(&list);
        for (size_t i = 0; i < list.count; i++)
            run_case(&stage, &list.cases[i]);
        memory_free(list.cases);
    }
    ridge_device_close(stage.device);
}

TEST(experiments_keep_to_the_sizes_batches_and_types_asked_for) {
    struct stage stage = small_stage();
    REQUIRE(stage.device);
    stage.options = (struct bench_options){.dtypes = {RIDGE_F32, RIDGE_BF16},
                                           .dtype_count = 2,
                                           .sizes = {400, 900},
                                           .size_count = 2,
                                           .batches = {2, 5},
                                           .batch_count = 2};
    for (unsigned n = 0; n < NAMES; n++) {
        const struct experiment *experiment = experiment_find(names[n]);
        struct case_list list = {0};
        struct status status;
        REQUIRE(experiment);
        CHECK_OK(experiment->plan(experiment, &stage, &list, &status), status);
        check_labels(&list);
        bool bf16 = false;
        for (size_t i = 0; i < list.count; i++) {
            int64_t size = list.cases[i].size;
            CHECK(size == 400 || size == 900 || (size == 20 || size == 30));
            if (experiment->takes & TAKES_BATCH)
                CHECK(list.cases[i].batch == 2 || list.cases[i].batch == 5);
            bf16 = bf16 || list.cases[i].dtype == RIDGE_BF16;
        }
        CHECK(bf16 == ((experiment->takes & TAKES_DTYPE) != 0));
        memory_free(list.cases);
    }
    ridge_device_close(stage.device);
}

/* ---- Conclusions ------------------------------------------------------------------------ */

/* Results of a plan whose times are made up: `ns` by the number of the case. */
static struct result *made_up(const char *name, const struct stage *stage, size_t *count,
                              double (*ns)(const struct bench_case *work, size_t number)) {
    struct case_list list = {0};
    struct status status;
    struct result *results = NULL;
    if (!experiment_find(name)->plan(experiment_find(name), stage, &list, &status) ||
        !(results = memory_allocate(list.count, sizeof *results, &status)))
        test_failed(__FILE__, __LINE__, "%s", status.message);
    for (size_t i = 0; results && i < list.count; i++) {
        struct result *result = &results[i];
        snprintf(result->experiment, sizeof result->experiment, "%s", name);
        snprintf(result->label, sizeof result->label, "%s", list.cases[i].label);
        snprintf(result->variant, sizeof result->variant, "%s", list.cases[i].variant);
        memcpy(result->numbers, list.cases[i].numbers, sizeof result->numbers);
        result->dtype = list.cases[i].dtype;
        result->size = list.cases[i].size;
        result->batch = list.cases[i].batch;
        result->compare = list.cases[i].compare;
        result->amount.bytes = result->amount.flops = list.cases[i].memory_bytes;
        double median = ns(&list.cases[i], i);
        result->time.time = (struct summary){.median = median, .low = median, .high = median};
    }
    *count = list.count;
    memory_free(list.cases);
    return results;
}

static const struct result_finding *finding_of(const struct result_set *set, const char *key) {
    for (size_t i = 0; i < set->finding_count; i++)
        if (strcmp(set->findings[i].key, key) == 0)
            return &set->findings[i];
    return NULL;
}

static double value_of(const struct result_set *set, const char *key) {
    const struct result_finding *finding = finding_of(set, key);
    return finding ? finding->value : NAN;
}

/* A launch of 5 microseconds, then a gigabyte a second. */
static double launch_and_bytes(const struct bench_case *work, size_t number) {
    (void)number;
    return 5000 + (double)work->memory_bytes;
}

TEST(the_smallest_efficient_size_is_the_first_near_the_best) {
    struct stage stage = small_stage();
    REQUIRE(stage.device);
    stage.options = (struct bench_options){.sizes = {100, 1000, 10000, 100000}, .size_count = 4};
    size_t count;
    struct result_set set = {0};
    struct status status;
    struct result *results = made_up("elementwise", &stage, &count, launch_and_bytes);
    REQUIRE(results);
    CHECK_OK(experiment_find("elementwise")
                 ->conclude(experiment_find("elementwise"), &stage, results, count, &set, &status),
             status);
    CHECK(value_of(&set, "best_add") == 100000);
    CHECK(value_of(&set, "efficient_add") == 10000);
    CHECK(value_of(&set, "best_gelu") == 100000);
    result_set_finish(&set);
    memory_free(results);
    ridge_device_close(stage.device);
}

/* Rows are free up to 16, then each costs as much as the weights. */
static double weights_and_rows(const struct bench_case *work, size_t number) {
    (void)number;
    return work->batch <= 16 ? 1000 : 1000.0 * (double)work->batch / 16;
}

TEST(the_smallest_efficient_batch_is_where_rows_stop_being_free) {
    struct stage stage = small_stage();
    REQUIRE(stage.device);
    stage.options = (struct bench_options){
        .batches = {1, 2, 4, 8, 16, 32, 64}, .batch_count = 7, .small = true};
    size_t count;
    struct result_set set = {0};
    struct status status;
    struct result *results = made_up("batch-scaling", &stage, &count, weights_and_rows);
    REQUIRE(results);
    CHECK_OK(
        experiment_find("batch-scaling")
            ->conclude(experiment_find("batch-scaling"), &stage, results, count, &set, &status),
        status);
    CHECK(value_of(&set, "efficient_batch") == 16);
    CHECK(value_of(&set, "best_batch") == 16);
    result_set_finish(&set);
    memory_free(results);
    ridge_device_close(stage.device);
}

/* The second of each pair takes two thirds of the first's time. */
static double pairs(const struct bench_case *work, size_t number) {
    (void)work;
    return number % 2 ? 2000 : 3000;
}

TEST(pairs_are_compared_in_percent) {
    static const struct {
        const char *experiment, *key;
        double value;
    } rows[] = {{"fused-ops", "gain", 50},         {"transfers", "gain_to_device", 50},
                {"transfers", "gain_to_host", 50}, {"pool", "saved", 100.0 / 3},
                {"pool", "reuse_rate", 0.99},      {"lora", "adapter_cost", -100.0 / 3}};
    struct stage stage = small_stage();
    REQUIRE(stage.device);
    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
        size_t count;
        struct result_set set = {0};
        struct status status;
        struct result *results = made_up(rows[i].experiment, &stage, &count, pairs);
        REQUIRE(results);
        CHECK_OK(experiment_find(rows[i].experiment)
                     ->conclude(experiment_find(rows[i].experiment), &stage, results, count, &set,
                                &status),
                 status);
        if (!(fabs(value_of(&set, rows[i].key) - rows[i].value) < 0.02))
            test_failed(__FILE__, __LINE__, "%s: %s is %g, not %g", rows[i].experiment, rows[i].key,
                        value_of(&set, rows[i].key), rows[i].value);
        result_set_finish(&set);
        memory_free(results);
        ridge_pool_clear(stage.device);
    }
    ridge_device_close(stage.device);
}

TEST(a_difference_within_the_error_of_the_medians_tells_nothing) {
    struct result results[2] = {
        {.time.time = {.median = 100, .low = 95, .high = 106}},
        {.time.time = {.median = 104, .low = 103, .high = 105}},
    };
    struct pair pair;
    char words[40];
    REQUIRE(pair_of(results, 1, &pair));
    CHECK_STRING(pair_words(&pair, words), "not measurably different from");
    results[0].time.time.high = 102;
    REQUIRE(pair_of(results, 1, &pair));
    CHECK_STRING(pair_words(&pair, words), "4 % slower than");
    results[1].time.time.quartile_high = 900; /* too uneven for a ratio */
    CHECK_STRING(pair_words(&pair, words), "slower than");
    CHECK(!pair_of(results, 0, &pair));
}

TEST(results_with_a_problem_lead_to_no_conclusion) {
    struct stage stage = small_stage();
    REQUIRE(stage.device);
    for (unsigned n = 0; n < NAMES; n++) {
        const struct experiment *experiment = experiment_find(names[n]);
        size_t count;
        struct result_set set = {0};
        struct status status;
        struct result *results = made_up(names[n], &stage, &count, pairs);
        REQUIRE(results);
        for (size_t i = 0; i < count; i++)
            snprintf(results[i].problem, sizeof results[i].problem, "too large");
        if (experiment->conclude)
            CHECK_OK(experiment->conclude(experiment, &stage, results, count, &set, &status),
                     status);
        CHECK(set.finding_count == 0 || strcmp(set.findings[0].key, "reuse_rate") == 0);
        result_set_finish(&set);
        memory_free(results);
    }
    ridge_device_close(stage.device);
}
