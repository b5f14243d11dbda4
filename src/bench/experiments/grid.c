/* Experiments that are grids: the same lines at every point of types, sizes and batches. Each is a
 * row of the table at the end: workloads, axes, labels, and how to conclude.
 *
 * Some are curves over one axis. The efficient point of a curve is the smallest that is fast
 * enough: on a CPU the middle of a curve is often the highest, where data fits a cache, and larger
 * sizes may be slower again. Rates are of the median call. */
#include <stdio.h>

#include "base/array.h"
#include "base/format.h"
#include "bench/experiments/axes.h"
#include "bench/experiments/pair.h"
#include "bench/workloads/workload.h"

/* Indices of bench_case.numbers with a case's place on a curve. */
enum { CURVE_NUMBER = CASE_NUMBERS_MAX - 2, CURVE_AT = CASE_NUMBERS_MAX - 1 };

#define CURVE_EFFICIENT 0.8 /* of the best */

enum { LINES_MAX = 5 };

struct grid_line {
    const struct workload *workload;
    int64_t numbers[2]; /* the workload's */
    const char *variant;
    bool compiled, compare;
};

struct grid {
    struct grid_line lines[LINES_MAX];
    unsigned line_count;
    bool lines_first; /* all points of a line, then the next line; else all lines of a point */
    struct axis_defaults sizes, batches; /* without batches, the single batch 0 */
    enum ridge_dtype gpu_dtype;
    /* {workload}, {size}, {count} (the size as "10K"), {batch}, {0}: the first of the numbers */
    const char *label;
    enum { NO_CURVE, CURVE_OF_SIZES, CURVE_OF_BATCHES } curve;
    /* Sets the first of the workload's numbers; may be NULL. */
    int64_t (*number)(int64_t size);
};

/* ---- Planning --------------------------------------------------------------------------- */

static void append_field(const struct bench_case *work, const char *field, size_t length,
                         struct buffer *text) {
    struct text name = {field, length};
    const struct workload *workload = work->subject;
    char count[FORMAT_SIZE];
    if (text_is(name, "workload"))
        buffer_string(text, workload->name);
    else if (text_is(name, "count"))
        buffer_string(text, axes_count_text(work->size, count));
    else
        buffer_printf(text, "%lld",
                      (long long)(text_is(name, "size")    ? work->size
                                  : text_is(name, "batch") ? work->batch
                                                           : work->numbers[0]));
}

static void make_label(const char *format, const struct bench_case *work, struct buffer *text) {
    while (*format) {
        size_t plain = strcspn(format, "{");
        buffer_append(text, format, plain);
        format += plain;
        if (!*format)
            break;
        size_t length = strcspn(format, "}");
        append_field(work, format + 1, length - 1, text);
        format += length + 1;
    }
    buffer_byte(text, '\0');
}

static bool add_line(const struct grid *grid, const struct axes *axes, unsigned number,
                     enum ridge_dtype dtype, int64_t size, int64_t batch, struct case_list *list,
                     struct status *status) {
    const struct grid_line *line = &grid->lines[number];
    struct bench_case work = {.kind = line->compiled ? &workload_compiled : &workload_eager,
                              .subject = line->workload,
                              .dtype = dtype,
                              .size = size,
                              .batch = batch,
                              .numbers = {line->numbers[0], line->numbers[1]},
                              .compare = line->compare};
    struct buffer label = {0};
    if (grid->number)
        work.numbers[0] = grid->number(size);
    if (grid->curve) {
        work.numbers[CURVE_NUMBER] = grid->curve == CURVE_OF_BATCHES ? size : number;
        work.numbers[CURVE_AT] = grid->curve == CURVE_OF_BATCHES ? batch : size;
    }
    snprintf(work.variant, sizeof work.variant, "%s", line->variant ? line->variant : "");
    make_label(grid->label, &work, &label);
    bool ok = buffer_ok(&label, status) && axes_add(axes, list, &work, status, "%s", label.data);
    buffer_finish(&label);
    return ok;
}

static bool grid_plan(const struct grid *grid, const struct stage *stage, struct case_list *list,
                      struct status *status) {
    struct axes axes = axes_of(stage, &grid->sizes, grid->batches.cpu.count ? &grid->batches : NULL,
                               grid->gpu_dtype);
    unsigned outer = grid->lines_first ? grid->line_count : 1;
    unsigned inner = grid->lines_first ? 1 : grid->line_count;
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned o = 0; o < outer; o++)
            for (unsigned s = 0; s < axes.sizes.count; s++)
                for (unsigned b = 0; b < axes.batches.count; b++)
                    for (unsigned i = 0; i < inner; i++)
                        if (!add_line(grid, &axes, grid->lines_first ? o : i, axes.dtypes[type],
                                      axes.sizes.values[s], axes.batches.values[b], list, status))
                            return false;
    return true;
}

/* ---- Curves ----------------------------------------------------------------------------- */

/* How fast a result is, in what its curve is about: larger is better. */
typedef double curve_rate(const struct result *result);

static double per_second(double amount, const struct result *result) {
    double ns = result->time.time.median;
    return ns > 0 ? amount / ns * 1e9 : 0;
}

static double bytes_per_second(const struct result *result) {
    return per_second((double)result->amount.bytes, result);
}

static double flops_per_second(const struct result *result) {
    return per_second((double)result->amount.flops, result);
}

static double rows_per_second(const struct result *result) {
    return per_second((double)result->batch, result);
}

struct curve {
    const struct result *first, *best, *efficient; /* the smallest; the fastest; the smallest that
                                                      has CURVE_EFFICIENT of that */
    double first_rate, best_rate, efficient_rate;
};

static int64_t curve_at(const struct result *result) {
    return result->numbers[CURVE_AT];
}

static bool is_on(const struct result *result, int64_t number, enum ridge_dtype dtype) {
    return !*result->problem && result->dtype == dtype && result->numbers[CURVE_NUMBER] == number &&
           result->time.time.median > 0;
}

/* The curve of this number and type among the results; false when it has no point. */
static bool curve_find(const struct result *results, size_t count, int64_t number,
                       enum ridge_dtype dtype, curve_rate *rate, struct curve *curve) {
    *curve = (struct curve){0};
    for (size_t i = 0; i < count; i++) {
        if (!is_on(&results[i], number, dtype))
            continue;
        if (!curve->best || rate(&results[i]) > curve->best_rate) {
            curve->best = &results[i];
            curve->best_rate = rate(&results[i]);
        }
        if (!curve->first || curve_at(&results[i]) < curve_at(curve->first))
            curve->first = &results[i];
    }
    if (!curve->best)
        return false;
    curve->first_rate = rate(curve->first);
    curve->efficient = curve->best;
    for (size_t i = 0; i < count; i++)
        if (is_on(&results[i], number, dtype) &&
            rate(&results[i]) >= CURVE_EFFICIENT * curve->best_rate &&
            curve_at(&results[i]) < curve_at(curve->efficient))
            curve->efficient = &results[i];
    curve->efficient_rate = rate(curve->efficient);
    return true;
}

/* `best_NAME` and `efficient_NAME` are places on the curve; `thing` is what its axis counts. */
static bool add_curve_findings(const char *name, const struct curve *curve, const char *rate,
                               const char *thing, struct result_set *set, struct status *status) {
    const struct result *best = curve->best;
    char key[FORMAT_SIZE], at[FORMAT_SIZE], enough[FORMAT_SIZE];
    snprintf(key, sizeof key, "best_%s", name);
    axes_count_text(curve_at(best), at);
    if (!finding_add(set, best->experiment, best->device, key, (double)curve_at(best), status,
                     "%s (%s): at best %s, with %s %s.", name, ridge_dtype_name(best->dtype), rate,
                     at, thing))
        return false;
    snprintf(key, sizeof key, "efficient_%s", name);
    axes_count_text(curve_at(curve->efficient), enough);
    if (curve->efficient == best)
        return finding_add(set, best->experiment, best->device, key, (double)curve_at(best), status,
                           "%s (%s): no size below %s %s comes close to that.", name,
                           ridge_dtype_name(best->dtype), at, thing);
    return finding_add(set, best->experiment, best->device, key, (double)curve_at(curve->efficient),
                       status, "%s (%s): %s %s reach %.0f %% of that.", name,
                       ridge_dtype_name(best->dtype), enough, thing,
                       100 * curve->efficient_rate / curve->best_rate);
}

static bool conclude_sizes(const struct grid *grid, bool flops, const struct result *results,
                           size_t count, struct result_set *set, struct status *status) {
    for (unsigned number = 0; number < grid->line_count; number++)
        for (unsigned dtype = 0; dtype < RIDGE_DTYPES; dtype++) {
            struct curve curve;
            char rate[FORMAT_SIZE];
            if (!curve_find(results, count, number, (enum ridge_dtype)dtype,
                            flops ? flops_per_second : bytes_per_second, &curve))
                continue;
            if (flops)
                format_operations(curve.best_rate, rate);
            else
                format_rate(curve.best_rate, rate);
            if (!add_curve_findings(grid->lines[number].workload->name, &curve, rate,
                                    flops ? "rows and columns" : "elements", set, status))
                return false;
        }
    return true;
}

static bool conclude_bytes(const struct experiment *experiment, const struct stage *stage,
                           const struct result *results, size_t count, struct result_set *set,
                           struct status *status) {
    (void)stage;
    return conclude_sizes(experiment->grid, false, results, count, set, status);
}

static bool conclude_flops(const struct experiment *experiment, const struct stage *stage,
                           const struct result *results, size_t count, struct result_set *set,
                           struct status *status) {
    (void)stage;
    return conclude_sizes(experiment->grid, true, results, count, set, status);
}

static bool add_batch_findings(const struct curve *curve, struct result_set *set,
                               struct status *status) {
    const struct result *best = curve->best;
    char rows[FORMAT_SIZE];
    format_count((uint64_t)curve->best_rate, rows);
    if (!finding_add(set, best->experiment, best->device, "best_batch", (double)best->batch, status,
                     "Layers of %lld (%s): batch %lld is best, with %s rows/s, %.1fx the rate of "
                     "batch %lld.",
                     (long long)best->size, ridge_dtype_name(best->dtype), (long long)best->batch,
                     rows, curve->best_rate / curve->first_rate, (long long)curve->first->batch))
        return false;
    if (curve->efficient == best)
        return finding_add(set, best->experiment, best->device, "efficient_batch",
                           (double)best->batch, status,
                           "Layers of %lld (%s): it is also the smallest efficient batch.",
                           (long long)best->size, ridge_dtype_name(best->dtype));
    return finding_add(set, best->experiment, best->device, "efficient_batch",
                       (double)curve->efficient->batch, status,
                       "Layers of %lld (%s): batch %lld is the smallest efficient batch, with %.0f "
                       "%% of the best throughput and %.0f %% of its latency.",
                       (long long)best->size, ridge_dtype_name(best->dtype),
                       (long long)curve->efficient->batch,
                       100 * curve->efficient_rate / curve->best_rate,
                       100 * curve->efficient->time.time.median / best->time.time.median);
}

/* Curves are numbered by their layers' size: each is found at its first result. */
static bool is_first_of_curve(const struct result *results, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (results[i].size == results[at].size && results[i].dtype == results[at].dtype)
            return false;
    return true;
}

static bool conclude_batches(const struct experiment *experiment, const struct stage *stage,
                             const struct result *results, size_t count, struct result_set *set,
                             struct status *status) {
    (void)experiment, (void)stage;
    for (size_t i = 0; i < count; i++) {
        struct curve curve;
        if (is_first_of_curve(results, i) &&
            curve_find(results, count, results[i].size, results[i].dtype, rows_per_second,
                       &curve) &&
            !add_batch_findings(&curve, set, status))
            return false;
    }
    return true;
}

/* ---- LoRA ------------------------------------------------------------------------------- */

/* Each layer is followed by the same one with its adapter. */
static bool conclude_adapters(const struct experiment *experiment, const struct stage *stage,
                              const struct result *results, size_t count, struct result_set *set,
                              struct status *status) {
    (void)experiment, (void)stage;
    for (size_t i = 1; i < count; i += 2) {
        struct pair pair;
        char words[FORMAT_SIZE];
        if (!pair_of(results, i, &pair))
            continue;
        double flops = (double)pair.after->amount.flops / (double)pair.before->amount.flops - 1;
        if (!finding_add(set, results[i].experiment, results[i].device, "adapter_cost",
                         -100 * pair.saved, status,
                         "%s: with the adapter it is %s without it, for %.1f %% more operations.",
                         results[i].label, pair_words(&pair, words), 100 * flops))
            return false;
    }
    return true;
}

/* The ranks of one layer follow each other. */
static bool conclude_ranks(const struct experiment *experiment, const struct stage *stage,
                           const struct result *results, size_t count, struct result_set *set,
                           struct status *status) {
    size_t ranks = experiment->grid->line_count;
    (void)stage;
    for (size_t i = 0; i + ranks <= count; i += ranks) {
        const struct result *low = &results[i], *high = &results[i + ranks - 1];
        if (*low->problem || *high->problem || !(low->time.time.median > 0))
            continue;
        double ratio = high->time.time.median / low->time.time.median;
        double flops = (double)high->amount.flops / (double)low->amount.flops;
        if (!finding_add(set, low->experiment, low->device, "rank_cost", ratio, status,
                         "%lldx%lld, batch %lld (%s): rank %lld takes %.2fx as long as rank %lld, "
                         "for %.2fx the operations.",
                         (long long)low->size, (long long)low->size, (long long)low->batch,
                         ridge_dtype_name(low->dtype), (long long)high->numbers[0], ratio,
                         (long long)low->numbers[0], flops))
            return false;
    }
    return true;
}

/* ---- The table -------------------------------------------------------------------------- */

/* Eight thirds of the width in whole blocks of 64, as models of this kind have it. */
static int64_t hidden_of(int64_t size) {
    return size > INT64_MAX / 8 ? INT64_MAX : (size * 8 / 3 + 63) / 64 * 64;
}

static bool plan_grid(const struct experiment *experiment, const struct stage *stage,
                      struct case_list *list, struct status *status) {
    return grid_plan(experiment->grid, stage, list, status);
}

#define ELEMENTS                                                                                   \
    {                                                                                              \
        .cpu = {6, {1000, 10000, 100000, 1000000, 10000000, 100000000}},                           \
        .gpu = {6, {1000, 10000, 100000, 1000000, 10000000, 100000000}}, .tests = {                \
            2,                                                                                     \
            {1000, 10000}                                                                          \
        }                                                                                          \
    }
#define ELEMENTS_TEXT "elements; 1000 to 100000000 in powers of ten"

/* A cheap operation, a function and a longer expression. From which size on is the time bound by
 * memory rather than by the launch? */
static const struct grid elementwise = {
    .lines = {{.workload = &workload_add},
              {.workload = &workload_exp},
              {.workload = &workload_gelu}},
    .line_count = 3,
    .lines_first = true,
    .sizes = ELEMENTS,
    .gpu_dtype = RIDGE_F32,
    .label = "{workload} {count}",
    .curve = CURVE_OF_SIZES,
};
const struct experiment experiment_elementwise = {
    .name = "elementwise",
    .summary = "add, exp and gelu over sizes: the smallest efficient size and the best",
    .sizes = ELEMENTS_TEXT,
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .grid = &elementwise,
    .plan = plan_grid,
    .conclude = conclude_bytes,
};

/* Everything is read and almost nothing written: how close is it to the memory's read bandwidth? */
static const struct grid reduction = {
    .lines = {{.workload = &workload_sum, .numbers = {1000}},
              {.workload = &workload_row_max, .numbers = {1000}}},
    .line_count = 2,
    .lines_first = true,
    .sizes = ELEMENTS,
    .gpu_dtype = RIDGE_F32,
    .label = "{workload} {count}",
    .curve = CURVE_OF_SIZES,
};
const struct experiment experiment_reduction = {
    .name = "reduction",
    .summary = "The sum of all elements and the largest of each row, over sizes",
    .sizes = ELEMENTS_TEXT,
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .grid = &reduction,
    .plan = plan_grid,
    .conclude = conclude_bytes,
};

/* From which size on is arithmetic the limit, and how much of it is reached? */
static const struct grid matmul = {
    .lines = {{.workload = &workload_matmul}},
    .line_count = 1,
    .sizes = {.cpu = {6, {64, 128, 256, 512, 1024, 2048}},
              .gpu = {8, {64, 128, 256, 512, 1024, 2048, 4096, 8192}},
              .tests = {2, {32, 65}}},
    .gpu_dtype = RIDGE_F16,
    .label = "matmul {size}x{size}",
    .curve = CURVE_OF_SIZES,
};
const struct experiment experiment_matmul = {
    .name = "matmul",
    .summary = "Square matrix products over sizes: the smallest efficient size and the best",
    .sizes = "rows and columns; 64 to 2048 in powers of two (GPU: to 8192)",
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .grid = &matmul,
    .plan = plan_grid,
    .conclude = conclude_flops,
};

/* The operations between the products of a transformer. Each reads its rows and writes them once,
 * so only memory should count. */
static const struct grid layers = {
    .lines = {{.workload = &workload_softmax},
              {.workload = &workload_layer_norm},
              {.workload = &workload_rms_norm}},
    .line_count = 3,
    .lines_first = true,
    .sizes = {.cpu = {2, {1024, 4096}}, .gpu = {2, {1024, 4096}}, .tests = {1, {100}}},
    .batches = {.cpu = {1, {1024}}, .gpu = {1, {8192}}, .tests = {2, {1, 7}}},
    .gpu_dtype = RIDGE_F16,
    .label = "{workload} {batch}x{size}",
};
const struct experiment experiment_layers = {
    .name = "layers",
    .summary = "softmax, layer_norm and rms_norm over rows",
    .sizes = "width of a row; 1024, 4096",
    .batches = "rows; 1024 (GPU: 8192)",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &layers,
    .plan = plan_grid,
};

/* Eager, as a training framework runs it, beside the layer without the adapter. The adapter has
 * little work but needs extra launches: what does it cost? */
static const struct grid lora = {
    .lines = {{.workload = &workload_matmul, .numbers = {8}, .variant = "without"},
              {.workload = &workload_lora, .numbers = {8}, .variant = "with LoRA"}},
    .line_count = 2,
    .sizes = {.cpu = {3, {512, 1024, 2048}},
              .gpu = {3, {512, 2048, 4096}},
              .tests = {3, {16, 40, 64}}},
    .batches = {.cpu = {2, {1, 32}}, .gpu = {2, {1, 32}}, .tests = {1, {3}}},
    .gpu_dtype = RIDGE_F16,
    .label = "{size}x{size}, batch {batch}",
};
const struct experiment experiment_lora = {
    .name = "lora",
    .summary = "A linear layer with and without a low-rank adapter, in three sizes",
    .sizes = "width of the layer; 512, 1024, 2048 (GPU: 512, 2048, 4096)",
    .batches = "rows; 1, 32",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &lora,
    .plan = plan_grid,
    .conclude = conclude_adapters,
};

/* Sixteen times the rank is sixteen times the adapter's work, still little compared with the
 * layer's: does the time confirm that? */
static const struct grid lora_rank = {
    .lines = {{.workload = &workload_lora, .numbers = {4}},
              {.workload = &workload_lora, .numbers = {8}},
              {.workload = &workload_lora, .numbers = {16}},
              {.workload = &workload_lora, .numbers = {32}},
              {.workload = &workload_lora, .numbers = {64}}},
    .line_count = 5,
    .sizes = {.cpu = {1, {1024}}, .gpu = {1, {2048}}, .tests = {1, {48}}},
    .batches = {.cpu = {1, {1}}, .gpu = {1, {1}}, .tests = {1, {2}}},
    .gpu_dtype = RIDGE_F16,
    .label = "{size}x{size}, batch {batch}, rank {0}",
};
const struct experiment experiment_lora_rank = {
    .name = "lora-rank",
    .summary = "A LoRA layer with adapters of rank 4, 8, 16, 32 and 64",
    .sizes = "width of the layer; 1024 (GPU: 2048)",
    .batches = "rows; 1",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &lora_rank,
    .plan = plan_grid,
    .conclude = conclude_ranks,
};

/* silu(x gate) * (x up) down, with the same arguments on every device, so that devices can be
 * compared line by line. */
static const struct grid gated_mlp = {
    .lines = {{.workload = &workload_gated_mlp, .compiled = true}},
    .line_count = 1,
    .sizes = {.cpu = {2, {1024, 4096}}, .gpu = {2, {1024, 4096}}, .tests = {1, {32}}},
    .batches = {.cpu = {2, {1, 8}}, .gpu = {2, {1, 8}}, .tests = {2, {1, 3}}},
    .gpu_dtype = RIDGE_F32,
    .label = "{size} to {0}, batch {batch}",
    .number = hidden_of,
};
const struct experiment experiment_gated_mlp = {
    .name = "gated-mlp",
    .summary = "The feed-forward block of a transformer, identical on every device",
    .sizes = "width; 1024, 4096 (hidden: 8/3 of it)",
    .batches = "rows; 1, 8",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &gated_mlp,
    .plan = plan_grid,
};

/* Work grows with the square of the length, memory only with the length: when it is done in one
 * kernel, arithmetic should be the limit. */
static const struct grid attention = {
    .lines = {{.workload = &workload_attention, .numbers = {16, 64}, .compiled = true}},
    .line_count = 1,
    .sizes = {.cpu = {3, {256, 1024, 2048}}, .gpu = {3, {256, 1024, 2048}}, .tests = {2, {7, 32}}},
    .batches = {.cpu = {1, {1}}, .gpu = {1, {1}}, .tests = {1, {1}}},
    .gpu_dtype = RIDGE_F32,
    .label = "{size} tokens, batch {batch}",
};
const struct experiment experiment_attention = {
    .name = "attention",
    .summary = "Causal attention, 16 heads of width 64, identical on every device",
    .sizes = "tokens; 256, 1024, 2048",
    .batches = "sequences; 1",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &attention,
    .plan = plan_grid,
};

/* The norm is a hundredth of the work: what does it cost as a separate operation? */
static const struct grid rmsnorm_linear = {
    .lines = {{.workload = &workload_rmsnorm_linear, .variant = "eager"},
              {.workload = &workload_rmsnorm_linear,
               .variant = "compiled",
               .compiled = true,
               .compare = true}},
    .line_count = 2,
    .sizes = {.cpu = {2, {1024, 4096}}, .gpu = {2, {1024, 4096}}, .tests = {1, {48}}},
    .batches = {.cpu = {2, {1, 8}}, .gpu = {2, {1, 8}}, .tests = {2, {1, 3}}},
    .gpu_dtype = RIDGE_F32,
    .label = "{size}x{size}, batch {batch}",
};
const struct experiment experiment_rmsnorm_linear = {
    .name = "rmsnorm-linear",
    .summary = "RMS norm and a linear layer, eager and compiled, identical on every device",
    .sizes = "width; 1024, 4096",
    .batches = "rows; 1, 8",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &rmsnorm_linear,
    .plan = plan_grid,
};

/* The weights are read once for all rows, so rows are nearly free until arithmetic is the limit:
 * which batch is the smallest that is efficient, and which the best? */
static const struct grid batch_scaling = {
    .lines = {{.workload = &workload_mlp, .compiled = true}},
    .line_count = 1,
    .sizes = {.cpu = {1, {1024}}, .gpu = {1, {4096}}, .tests = {1, {32}}},
    .batches = {.cpu = {11, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
                .gpu = {11, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
                .tests = {3, {1, 4, 16}}},
    .gpu_dtype = RIDGE_F16,
    .label = "3 layers of {size}, batch {batch}",
    .curve = CURVE_OF_BATCHES,
};
const struct experiment experiment_batch_scaling = {
    .name = "batch-scaling",
    .summary =
        "Three layers over batch sizes: throughput, the smallest efficient batch and the best",
    .sizes = "width of the layers; 1024 (GPU: 4096)",
    .batches = "rows; 1 to 1024 in powers of two",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &batch_scaling,
    .plan = plan_grid,
    .conclude = conclude_batches,
};

/* Forward pass, gradients and update: operation by operation, and as one program. */
static const struct grid training = {
    .lines = {{.workload = &workload_train_mlp, .variant = "eager"},
              {.workload = &workload_train_mlp,
               .variant = "compiled",
               .compiled = true,
               .compare = true},
              {.workload = &workload_train_block, .variant = "eager"},
              {.workload = &workload_train_block,
               .variant = "compiled",
               .compiled = true,
               .compare = true}},
    .line_count = 4,
    .sizes = {.cpu = {2, {256, 512}}, .gpu = {2, {512, 2048}}, .tests = {1, {32}}},
    .batches = {.cpu = {1, {16}}, .gpu = {1, {64}}, .tests = {1, {2}}},
    .gpu_dtype = RIDGE_F32,
    .label = "{workload} {size}, batch {batch}",
};
const struct experiment experiment_training = {
    .name = "training",
    .summary = "A training step of three layers and of a transformer block of 128 tokens",
    .sizes = "width; 256, 512 (GPU: 512, 2048)",
    .batches = "rows or sequences; 16 (GPU: 64)",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .grid = &training,
    .plan = plan_grid,
};
