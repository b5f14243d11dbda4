/* Rows of the metric table become figures: each name of a counter that an expression needs has a
 * slot, the slots of a launch are filled from its rows, and the expressions are evaluated when it
 * ends. */
#include "analysis/kernel_counters.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/kernels.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/min_max.h"

enum merge { MERGE_SUM, MERGE_MEAN };

#define KERNEL_FIGURE_KEY(ID, key, merge) #key,
static const char *const figure_keys[] = {KERNEL_FIGURES(KERNEL_FIGURE_KEY)};
#define KERNEL_FIGURE_MERGE(ID, key, merge) MERGE_##merge,
static const enum merge figure_merges[] = {KERNEL_FIGURES(KERNEL_FIGURE_MERGE)};
_Static_assert(KERNEL_FIGURE_COUNT <= 64, "known is a bit set");

const char *kernel_figure_key(unsigned figure) {
    return figure < KERNEL_FIGURE_COUNT ? figure_keys[figure] : "?";
}

/* The usual targets of tuning guides. */
const struct kernel_target kernel_targets[] = {
    {KERNEL_OCCUPANCY_FIGURE, "occupancy", 0.75, true},
    {KERNEL_MEMORY_FIGURE, "memory", 0.80, true},
    {KERNEL_WARPS_FIGURE, "warp efficiency", 0.90, true},
    {KERNEL_BRANCHES_FIGURE, "uniform branches", 0.90, true},
    {KERNEL_BANK_CONFLICTS_FIGURE, "bank conflicts", 0, false},
    {KERNEL_LOCAL_ACCESSES_FIGURE, "spills", 0, false},
};
const size_t kernel_target_count = ARRAY_COUNT(kernel_targets);

/* ---- Expressions ---- */

/* What the sum of the terms is multiplied with. */
enum times { TIMES_ONE, TIMES_SECONDS, TIMES_CYCLES };

enum { TERMS_MAX = 3 };
struct expression {
    enum kernel_figure figure;
    double scale;
    enum times times;
    struct {
        const char *counter;
        double factor;
    } terms[TERMS_MAX];
};

#define PERCENT(figure, counter)                                                                   \
    {                                                                                              \
        KERNEL_##figure##_FIGURE, 0.01, TIMES_ONE, {                                               \
            { counter, 1 }                                                                         \
        }                                                                                          \
    }
#define ONE(figure, counter)                                                                       \
    {                                                                                              \
        KERNEL_##figure##_FIGURE, 1, TIMES_ONE, {                                                  \
            { counter, 1 }                                                                         \
        }                                                                                          \
    }
#define SUM(figure, first, second)                                                                 \
    {                                                                                              \
        KERNEL_##figure##_FIGURE, 1, TIMES_ONE, {                                                  \
            {first, 1}, {                                                                          \
                second, 1                                                                          \
            }                                                                                      \
        }                                                                                          \
    }
#define OPERATIONS(figure, unit, letter)                                                           \
    {                                                                                              \
        KERNEL_##figure##_FIGURE, 1, TIMES_ONE, {                                                  \
            {unit "__sass_thread_inst_executed_op_" letter "add_pred_on.sum", 1},                  \
                {unit "__sass_thread_inst_executed_op_" letter "mul_pred_on.sum", 1}, {            \
                unit "__sass_thread_inst_executed_op_" letter "fma_pred_on.sum", 2                 \
            }                                                                                      \
        }                                                                                          \
    }
#define OPERATIONS_PER_CYCLE(figure, letter)                                                       \
    {                                                                                              \
        KERNEL_##figure##_FIGURE, 1, TIMES_CYCLES, {                                               \
            {"smsp__sass_thread_inst_executed_op_" letter "add_pred_on.sum.per_cycle_elapsed", 1}, \
                {"smsp__sass_thread_inst_executed_op_" letter "mul_pred_on.sum.per_cycle_elapsed", \
                 1},                                                                               \
            {                                                                                      \
                "smsp__sass_thread_inst_executed_op_" letter "fma_pred_on.sum.per_cycle_elapsed",  \
                    2                                                                              \
            }                                                                                      \
        }                                                                                          \
    }

#define CYCLES_PER_SECOND "smsp__cycles_elapsed.avg.per_second"

/* In order of preference. DURATION is first: others are multiplied with it. */
static const struct expression expressions[] = {
    ONE(DURATION, "gpu__time_duration.sum"),
    PERCENT(SM, "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    PERCENT(MEMORY, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),
    PERCENT(MEMORY, "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"),
    PERCENT(DRAM, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    PERCENT(DRAM, "dram__throughput.avg.pct_of_peak_sustained_elapsed"),
    {KERNEL_DRAM_FIGURE,
     0.01,
     TIMES_ONE,
     {{"dram__bytes_read.sum.pct_of_peak_sustained_elapsed", 1},
      {"dram__bytes_write.sum.pct_of_peak_sustained_elapsed", 1}}},
    PERCENT(L1, "l1tex__throughput.avg.pct_of_peak_sustained_active"),
    PERCENT(L1_HITS, "l1tex__t_sector_hit_rate.pct"),
    PERCENT(L2_HITS, "lts__t_sector_hit_rate.pct"),
    PERCENT(OCCUPANCY, "sm__warps_active.avg.pct_of_peak_sustained_active"),
    PERCENT(THEORETICAL, "sm__maximum_warps_per_active_cycle_pct"),
    PERCENT(TENSOR, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
    PERCENT(TENSOR, "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"),
    PERCENT(TENSOR, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"),
    {KERNEL_WARPS_FIGURE,
     1.0 / 32,
     TIMES_ONE,
     {{"smsp__thread_inst_executed_per_inst_executed.ratio", 1}}},
    PERCENT(WARPS, "smsp__thread_inst_executed_per_inst_executed.pct"),
    PERCENT(BRANCHES, "smsp__sass_average_branch_targets_threads_uniform.pct"),
    ONE(DRAM_BYTES, "dram__bytes.sum"),
    SUM(DRAM_BYTES, "dram__bytes_read.sum", "dram__bytes_write.sum"),
    SUM(DRAM_BYTES, "dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
    {KERNEL_DRAM_BYTES_FIGURE, 1, TIMES_SECONDS, {{"dram__bytes.sum.per_second", 1}}},
    ONE(LOAD_SECTORS, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ONE(LOAD_REQUESTS, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ONE(STORE_SECTORS, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ONE(STORE_REQUESTS, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    PERCENT(LOAD_USED, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"),
    PERCENT(STORE_USED, "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"),
    SUM(BANK_CONFLICTS, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
    ONE(BANK_CONFLICTS, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
    SUM(SHARED_WAVEFRONTS, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    ONE(SHARED_WAVEFRONTS, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
    SUM(LOCAL_ACCESSES, "smsp__sass_inst_executed_op_local_ld.sum",
        "smsp__sass_inst_executed_op_local_st.sum"),
    SUM(LOCAL_ACCESSES, "smsp__inst_executed_op_local_ld.sum",
        "smsp__inst_executed_op_local_st.sum"),
    SUM(LOCAL_ACCESSES, "sass__inst_executed_local_loads", "sass__inst_executed_local_stores"),
    ONE(INSTRUCTIONS, "smsp__inst_executed.sum"),
    ONE(INSTRUCTIONS, "sm__inst_executed.sum"),
    ONE(F16_FLOPS, "smsp__sass_thread_inst_executed_ops_hadd_hmul_hfma_pred_on.sum"),
    OPERATIONS(F16_FLOPS, "smsp", "h"),
    OPERATIONS(F16_FLOPS, "sm", "h"),
    ONE(F32_FLOPS, "smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.sum"),
    OPERATIONS(F32_FLOPS, "smsp", "f"),
    OPERATIONS(F32_FLOPS, "sm", "f"),
    OPERATIONS_PER_CYCLE(F32_FLOPS, "f"),
    ONE(F64_FLOPS, "smsp__sass_thread_inst_executed_ops_dadd_dmul_dfma_pred_on.sum"),
    OPERATIONS(F64_FLOPS, "smsp", "d"),
    OPERATIONS(F64_FLOPS, "sm", "d"),
    OPERATIONS_PER_CYCLE(F64_FLOPS, "d"),
    /* AMD: sizes are in KiB */
    PERCENT(SM, "VALUBusy"),
    PERCENT(MEMORY, "MemUnitBusy"),
    PERCENT(L2_HITS, "L2CacheHit"),
    PERCENT(OCCUPANCY, "OccupancyPercent"),
    PERCENT(WARPS, "VALUUtilization"),
    {KERNEL_DRAM_BYTES_FIGURE, 1024, TIMES_ONE, {{"FETCH_SIZE", 1}, {"WRITE_SIZE", 1}}},
    ONE(REGISTERS, "launch__registers_per_thread"),
    SUM(SHARED, "launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"),
    ONE(WAVES, "launch__waves_per_multiprocessor"),
    ONE(LIMIT_REGISTERS, "launch__occupancy_limit_registers"),
    ONE(LIMIT_SHARED, "launch__occupancy_limit_shared_mem"),
    ONE(LIMIT_WARPS, "launch__occupancy_limit_warps"),
    ONE(LIMIT_BLOCKS, "launch__occupancy_limit_blocks"),
    ONE(LIMIT_BARRIERS, "launch__occupancy_limit_barriers"),
};

/* ---- Stalls ---- */

static const struct {
    const char *name, *meaning;
} stalls[STALL_REASONS] = {
    {"barrier", "other warps of the block at a barrier"},
    {"branch_resolving", "the target of a branch"},
    {"dispatch_stall", "the dispatcher"},
    {"drain", "stores to memory before the warp ends"},
    {"gmma", "a matrix instruction of the warp group"},
    {"imc_miss", "constants that are not in the cache"},
    {"lg_throttle", "a queue for global and local memory that is full"},
    {"long_scoreboard", "data from global, local or texture memory"},
    {"math_pipe_throttle", "a math pipeline that is busy"},
    {"membar", "a memory barrier"},
    {"mio_throttle", "a queue for shared memory and special functions that is full"},
    {"misc", "other reasons"},
    {"no_instruction", "instructions that are not in the cache"},
    {"not_selected", "the scheduler, which chose another ready warp"},
    {"short_scoreboard", "data from shared memory or special functions"},
    {"sleeping", "the end of a sleep"},
    {"tex_throttle", "a queue for texture memory that is full"},
    {"wait", "a fixed latency of the instruction before"},
    {"selected", "nothing: it issued"},
};
const char *stall_name(unsigned reason) {
    return reason < STALL_REASONS ? stalls[reason].name : "?";
}

const char *stall_meaning(unsigned reason) {
    return reason < STALL_REASONS ? stalls[reason].meaning : "?";
}

/* Cycles per issued instruction are preferred to samples. */
int stall_of_counter(struct text name, bool *sampled) {
    static const struct {
        const char *prefix, *suffix;
    } forms[] = {{"smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"},
                 {"smsp__average_warp_latency_issue_stalled_", ".ratio"},
                 {"smsp__pcsamp_warps_issue_stalled_", ""}};
    for (unsigned form = 0; form < ARRAY_COUNT(forms); form++) {
        size_t before = strlen(forms[form].prefix), after = strlen(forms[form].suffix);
        if (!text_starts(name, forms[form].prefix) || name.length < before + after ||
            memcmp(name.data + name.length - after, forms[form].suffix, after) != 0)
            continue;
        struct text reason = {name.data + before, name.length - before - after};
        *sampled = form == 2;
        for (int i = 0; i < STALL_REASONS; i++)
            if (text_is(reason, stalls[i].name) ||
                (text_is(reason, "no_instructions") &&
                 text_is(text_of(stalls[i].name), "no_instruction")))
                return i;
    }
    return -1;
}

/* ---- Launches ---- */

/* What a counter of a name is for; by string id. */
struct use {
    uint32_t slot; /* 1 + index in the values of a launch; 0: none */
    int8_t stall;  /* reason, or -1 */
    bool sampled;  /* of stalls */
    bool tensor;   /* operations on tensor cores */
};

struct builder {
    const struct trace *trace;
    struct kernel_counters *counters;
    struct use *uses;
    struct intern slots; /* names of counters: the id is the slot */
    double *values;      /* by slot, of the current launch */
    bool *present;
    double samples[STALL_REASONS]; /* of the current launch */
    size_t launch_capacity, kernel_capacity;
};

static bool add_slots(struct builder *builder, struct status *status) {
    uint32_t id;
    for (size_t i = 0; i < ARRAY_COUNT(expressions); i++)
        for (size_t k = 0; k < TERMS_MAX && expressions[i].terms[k].counter; k++)
            if (!intern_add(&builder->slots, text_of(expressions[i].terms[k].counter), &id, status))
                return false;
    if (!intern_add(&builder->slots, TEXT(CYCLES_PER_SECOND), &id, status))
        return false;
    builder->values = memory_allocate(builder->slots.count, sizeof *builder->values, status);
    builder->present = memory_allocate(builder->slots.count, sizeof *builder->present, status);
    return builder->values && builder->present;
}

/* Operations of all kinds of sources on tensor cores: "sm__ops_path_tensor_src_fp16_dst_fp32.sum".
 * Names with further qualifiers are parts of these. */
static bool counts_tensor_operations(struct text name) {
    return text_starts(name, "sm__ops_path_tensor_src_") && text_find(name, "sparsity") < 0 &&
           name.length > 4 && memcmp(name.data + name.length - 4, ".sum", 4) == 0;
}

static bool find_uses(struct builder *builder, struct status *status) {
    const struct trace *trace = builder->trace;
    builder->uses = memory_allocate(trace->strings.count, sizeof *builder->uses, status);
    if (!builder->uses)
        return false;
    for (size_t i = 0; i < trace->metric.count; i++) {
        uint32_t id = trace->metric.name[i];
        struct use *use = &builder->uses[id];
        struct text name = trace_text(trace, id);
        if (use->slot)
            continue;
        uint32_t slot = intern_find(&builder->slots, name);
        use->slot = slot == UINT32_MAX ? 0 : slot + 1;
        use->stall = (int8_t)stall_of_counter(name, &use->sampled);
        use->tensor = counts_tensor_operations(name);
        if (!use->slot)
            use->slot = UINT32_MAX; /* known to be of no use as a value */
    }
    return true;
}

static bool term_value(const struct builder *builder, const char *counter, double *value) {
    uint32_t slot = intern_find(&builder->slots, text_of(counter));
    *value = builder->values[slot];
    return builder->present[slot];
}

static bool evaluate(const struct builder *builder, const struct expression *expression,
                     const struct kernel_figures *figures, double *sum) {
    double value, seconds = figures->value[KERNEL_DURATION_FIGURE] / 1e9, clock;
    *sum = 0;
    for (size_t i = 0; i < TERMS_MAX && expression->terms[i].counter; i++) {
        if (!term_value(builder, expression->terms[i].counter, &value))
            return false;
        *sum += value * expression->terms[i].factor;
    }
    *sum *= expression->scale;
    if (expression->times == TIMES_ONE)
        return true;
    *sum *= seconds;
    if (expression->times == TIMES_CYCLES) {
        if (!term_value(builder, CYCLES_PER_SECOND, &clock))
            return false;
        *sum *= clock;
    }
    return seconds > 0;
}

static void end_launch(struct builder *builder) {
    struct kernel_counters *counters = builder->counters;
    if (counters->launch_count == 0)
        return;
    struct kernel_figures *figures = &counters->launches[counters->launch_count - 1].figures;
    for (size_t i = 0; i < ARRAY_COUNT(expressions); i++) {
        enum kernel_figure figure = expressions[i].figure;
        double value;
        if (figures->known >> figure & 1 || !evaluate(builder, &expressions[i], figures, &value))
            continue;
        figures->value[figure] = value;
        figures->known |= (uint64_t)1 << figure;
    }
    bool timed = false;
    for (unsigned reason = 0; reason < STALL_REASONS; reason++)
        timed = timed || figures->stall[reason] > 0;
    if (!timed)
        memcpy(figures->stall, builder->samples, sizeof figures->stall);
    memset(builder->present, 0, builder->slots.count * sizeof *builder->present);
    memset(builder->samples, 0, sizeof builder->samples);
}

static bool begin_launch(struct builder *builder, size_t row, struct status *status) {
    struct kernel_counters *counters = builder->counters;
    const struct columns_metric *metric = &builder->trace->metric;
    end_launch(builder);
    if (!GROW(counters->launches, &builder->launch_capacity, counters->launch_count + 1, status))
        return false;
    counters->launches[counters->launch_count++] = (struct measured_launch){
        .kernel = metric->kernel[row],
        .device = metric->device[row],
        .grid = {metric->grid_x[row], metric->grid_y[row], metric->grid_z[row]},
        .block = {metric->block_x[row], metric->block_y[row], metric->block_z[row]},
        .first_row = row,
    };
    return true;
}

static void take_row(struct builder *builder, size_t row) {
    const struct columns_metric *metric = &builder->trace->metric;
    const struct use *use = &builder->uses[metric->name[row]];
    struct kernel_figures *figures =
        &builder->counters->launches[builder->counters->launch_count - 1].figures;
    double value = metric->value[row];
    if (metric->file[row])
        return; /* of one instruction */
    if (use->slot != UINT32_MAX) {
        builder->values[use->slot - 1] = value;
        builder->present[use->slot - 1] = true;
    }
    if (use->stall >= 0 && value > 0)
        *(use->sampled ? &builder->samples[use->stall] : &figures->stall[use->stall]) = value;
    if (use->tensor) {
        figures->value[KERNEL_TENSOR_FLOPS_FIGURE] += value;
        figures->known |= (uint64_t)1 << KERNEL_TENSOR_FLOPS_FIGURE;
    }
}

/* A launch ends where the number changes or its first counter comes again: several recordings may
 * follow each other. */
static bool read_launches(struct builder *builder, struct status *status) {
    const struct columns_metric *metric = &builder->trace->metric;
    uint32_t first_name = 0;
    for (size_t i = 0; i < metric->count; i++) {
        bool same = i > 0 && metric->launch[i] == metric->launch[i - 1] &&
                    metric->kernel[i] == metric->kernel[i - 1] &&
                    (metric->name[i] != first_name || metric->file[i]);
        if (!same) {
            first_name = metric->name[i];
            if (!begin_launch(builder, i, status))
                return false;
        }
        take_row(builder, i);
    }
    end_launch(builder);
    return true;
}

/* ---- Kernels ---- */

static void add_figures(struct kernel_figures *sum, const struct kernel_figures *figures,
                        double weight, double *weights) {
    for (unsigned i = 0; i < KERNEL_FIGURE_COUNT; i++) {
        double value;
        if (!kernel_figure(figures, i, &value))
            continue;
        if (figure_merges[i] == MERGE_SUM) {
            sum->value[i] += value;
        } else {
            weights[i] += weight;
            sum->value[i] += (value - sum->value[i]) * weight / weights[i];
        }
        sum->known |= (uint64_t)1 << i;
    }
    for (unsigned reason = 0; reason < STALL_REASONS; reason++)
        sum->stall[reason] += figures->stall[reason] * weight;
}

static int kernels_by_time(const void *a, const void *b) {
    const struct measured_kernel *x = a, *y = b;
    double first = x->figures.value[KERNEL_DURATION_FIGURE],
           second = y->figures.value[KERNEL_DURATION_FIGURE];
    if (first != second)
        return first < second ? 1 : -1;
    return text_compare(x->short_name, y->short_name);
}

/* The index of the kernel's group; ids of the intern table count from 1. */
static bool find_kernel(struct builder *builder, uint32_t kernel, size_t *place,
                        struct status *status) {
    struct kernel_counters *counters = builder->counters;
    struct buffer name = {0};
    uint32_t id = 0;
    bool ok = kernel_short_name(trace_text(builder->trace, kernel), &name, status) &&
              intern_add(&counters->names, buffer_as_text(&name), &id, status);
    buffer_finish(&name);
    *place = id;
    if (!ok || id < counters->kernel_count)
        return ok;
    if (!GROW(counters->kernels, &builder->kernel_capacity, (size_t)id + 1, status))
        return false;
    while (counters->kernel_count <= id)
        counters->kernels[counters->kernel_count++] = (struct measured_kernel){0};
    counters->kernels[id].short_name = intern_text(&counters->names, id);
    counters->kernels[id].kernel = kernel;
    counters->kernels[id].name_id = id;
    return true;
}

/* Launches know the name of their kernel; from here on, its index in the sorted kernels. */
static bool number_kernels(struct kernel_counters *counters, struct status *status) {
    uint32_t *index_of = memory_allocate(counters->names.count + 1, sizeof *index_of, status);
    if (!index_of)
        return false;
    for (size_t i = 0; i < counters->kernel_count; i++)
        index_of[counters->kernels[i].name_id] = (uint32_t)i;
    for (size_t i = 0; i < counters->launch_count; i++)
        counters->launches[i].measured = index_of[counters->launches[i].measured];
    memory_free(index_of);
    return true;
}

static bool group_launches(struct builder *builder, struct status *status) {
    struct kernel_counters *counters = builder->counters;
    double(*weights)[KERNEL_FIGURE_COUNT] =
        memory_allocate(counters->launch_count + 1, sizeof *weights, status);
    bool ok = weights != NULL;
    for (size_t i = 0; i < counters->launch_count && ok; i++) {
        struct measured_launch *launch = &counters->launches[i];
        size_t place;
        double weight = MAX(launch->figures.value[KERNEL_DURATION_FIGURE], 1.0);
        ok = find_kernel(builder, launch->kernel, &place, status);
        if (!ok)
            break;
        struct measured_kernel *kernel = &counters->kernels[place];
        kernel->launches++;
        launch->measured = (uint32_t)place;
        add_figures(&kernel->figures, &launch->figures, weight, weights[place]);
    }
    memory_free(weights);
    size_t kept = 0;
    for (size_t i = 0; i < counters->kernel_count; i++)
        if (counters->kernels[i].launches)
            counters->kernels[kept++] = counters->kernels[i];
    counters->kernel_count = kept;
    if (kept)
        qsort(counters->kernels, kept, sizeof *counters->kernels, kernels_by_time);
    return ok && number_kernels(counters, status);
}

/* ---- Activities ---- */

struct join_key {
    uint32_t name; /* id of the kernel's name without template arguments */
    uint32_t grid[3], block[3];
};

struct join {
    struct intern names, keys;
    uint32_t *name_of;             /* by string id: 1 + id in names; 0: not yet */
    uint32_t *first, *last, *next; /* by key, by key, by launch: chains of 1 + launch */
    uint32_t *turn;                /* by key: the launch of the next activity */
};

/* Compilers and tools print template arguments differently. */
static bool join_name(struct join *join, const struct trace *trace, uint32_t kernel, uint32_t *id,
                      struct status *status) {
    struct buffer name = {0};
    if (join->name_of[kernel]) {
        *id = join->name_of[kernel] - 1;
        return true;
    }
    bool ok = kernel_short_name(trace_text(trace, kernel), &name, status);
    struct text base = buffer_as_text(&name);
    const char *arguments = base.length > 1 ? memchr(base.data + 1, '<', base.length - 1) : NULL;
    if (arguments)
        base.length = (size_t)(arguments - base.data);
    ok = ok && intern_add(&join->names, base, id, status);
    buffer_finish(&name);
    if (ok)
        join->name_of[kernel] = *id + 1;
    return ok;
}

static struct text key_text(const struct join_key *key) {
    return (struct text){(const char *)key, sizeof *key};
}

static bool chain_launches(struct join *join, const struct trace *trace,
                           const struct kernel_counters *counters, struct status *status) {
    size_t count = counters->launch_count + 2;
    join->first = memory_allocate(count, sizeof *join->first, status);
    join->last = memory_allocate(count, sizeof *join->last, status);
    join->next = memory_allocate(count, sizeof *join->next, status);
    join->turn = memory_allocate(count, sizeof *join->turn, status);
    join->name_of = memory_allocate(trace->strings.count, sizeof *join->name_of, status);
    if (!join->first || !join->last || !join->next || !join->turn || !join->name_of)
        return false;
    for (size_t i = 0; i < counters->launch_count; i++) {
        const struct measured_launch *launch = &counters->launches[i];
        struct join_key key;
        uint32_t id;
        memcpy(key.grid, launch->grid, sizeof key.grid);
        memcpy(key.block, launch->block, sizeof key.block);
        if (!join_name(join, trace, launch->kernel, &key.name, status) ||
            !intern_add(&join->keys, key_text(&key), &id, status))
            return false;
        if (join->first[id])
            join->next[join->last[id] - 1] = (uint32_t)i + 1;
        else
            join->first[id] = join->turn[id] = (uint32_t)i + 1;
        join->last[id] = (uint32_t)i + 1;
    }
    return true;
}

/* The launch for the next activity of a key; NO_ROW: none was measured. */
static uint32_t next_launch(struct join *join, const struct join_key *key) {
    struct join_key without_sizes = {.name = key->name};
    uint32_t id = intern_find(&join->keys, key_text(key));
    if (id == UINT32_MAX)
        id = intern_find(&join->keys, key_text(&without_sizes));
    if (id == UINT32_MAX || !join->turn[id])
        return NO_ROW;
    uint32_t launch = join->turn[id] - 1;
    join->turn[id] = join->next[launch] ? join->next[launch] : join->first[id];
    return launch;
}

static bool join_activities(const struct model *model, struct kernel_counters *counters,
                            struct join *join, struct status *status) {
    struct trace *trace = model->trace;
    const struct columns_activity *activity = &trace->activity;
    if (!trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z block_x block_y block_z", status))
        return false;
    for (size_t i = 0; i < activity->count; i++) {
        struct join_key key = {
            .grid = {activity->grid_x[i], activity->grid_y[i], activity->grid_z[i]},
            .block = {activity->block_x[i], activity->block_y[i], activity->block_z[i]}};
        counters->launch_of[i] = NO_ROW;
        if (activity->kind[i] != ACTIVITY_KERNEL)
            continue;
        if (!join_name(join, trace, activity->name[i], &key.name, status))
            return false;
        counters->launch_of[i] = next_launch(join, &key);
    }
    return true;
}

static bool join_launches(const struct model *model, struct kernel_counters *counters,
                          struct status *status) {
    struct join join = {0};
    counters->launch_of =
        memory_allocate(model->trace->activity.count, sizeof *counters->launch_of, status);
    bool ok = counters->launch_of && chain_launches(&join, model->trace, counters, status) &&
              join_activities(model, counters, &join, status);
    intern_finish(&join.names);
    intern_finish(&join.keys);
    memory_free(join.name_of);
    memory_free(join.first);
    memory_free(join.last);
    memory_free(join.next);
    memory_free(join.turn);
    return ok;
}

bool kernel_counters_find(const struct model *model, struct kernel_counters *counters,
                          struct status *status) {
    struct trace *trace = model->trace;
    struct builder builder = {.trace = trace, .counters = counters};
    memset(counters, 0, sizeof *counters);
    if (!trace_load(trace, TABLE_METRIC, NULL, status))
        return false;
    if (trace->metric.count == 0)
        return true;
    bool ok = add_slots(&builder, status) && find_uses(&builder, status) &&
              read_launches(&builder, status) && group_launches(&builder, status) &&
              kernel_lines_find(trace, counters, &counters->lines, status) &&
              join_launches(model, counters, status);
    intern_finish(&builder.slots);
    memory_free(builder.uses);
    memory_free(builder.values);
    memory_free(builder.present);
    if (!ok)
        kernel_counters_finish(counters);
    return ok;
}

void kernel_counters_finish(struct kernel_counters *counters) {
    memory_free(counters->launches);
    memory_free(counters->kernels);
    memory_free(counters->launch_of);
    kernel_lines_finish(&counters->lines);
    intern_finish(&counters->names);
    memset(counters, 0, sizeof *counters);
}

/* ---- Figures of figures ---- */

static bool ratio_of(const struct kernel_figures *figures, enum kernel_figure part,
                     enum kernel_figure whole, double *value) {
    double above, below;
    if (!kernel_figure(figures, part, &above) || !kernel_figure(figures, whole, &below) ||
        below <= 0)
        return false;
    *value = above / below;
    return true;
}

bool kernel_sectors_per_request(const struct kernel_figures *figures, bool stores, double *value) {
    return stores
               ? ratio_of(figures, KERNEL_STORE_SECTORS_FIGURE, KERNEL_STORE_REQUESTS_FIGURE, value)
               : ratio_of(figures, KERNEL_LOAD_SECTORS_FIGURE, KERNEL_LOAD_REQUESTS_FIGURE, value);
}

bool kernel_conflict_share(const struct kernel_figures *figures, double *value) {
    if (!ratio_of(figures, KERNEL_BANK_CONFLICTS_FIGURE, KERNEL_SHARED_WAVEFRONTS_FIGURE, value))
        return false;
    *value = MIN(*value, 1.0);
    return true;
}

bool kernel_figures_flops(const struct kernel_figures *figures, double *value) {
    double part, tensor;
    bool uses_tensor = kernel_figure(figures, KERNEL_TENSOR_FIGURE, &tensor) && tensor > 0;
    *value = 0;
    if (!kernel_figure(figures, KERNEL_F32_FLOPS_FIGURE, value))
        return false;
    if (kernel_figure(figures, KERNEL_F16_FLOPS_FIGURE, &part))
        *value += part;
    if (kernel_figure(figures, KERNEL_F64_FLOPS_FIGURE, &part))
        *value += part;
    if (kernel_figure(figures, KERNEL_TENSOR_FLOPS_FIGURE, &part))
        *value += part;
    else if (uses_tensor)
        return false;
    return true;
}

const char *kernel_occupancy_limiter(const struct kernel_figures *figures) {
    static const struct {
        enum kernel_figure figure;
        const char *name;
    } limits[] = {{KERNEL_LIMIT_REGISTERS_FIGURE, "registers"},
                  {KERNEL_LIMIT_SHARED_FIGURE, "shared memory"},
                  {KERNEL_LIMIT_WARPS_FIGURE, "warps"},
                  {KERNEL_LIMIT_BLOCKS_FIGURE, "blocks"},
                  {KERNEL_LIMIT_BARRIERS_FIGURE, "barriers"}};
    const char *limiter = NULL;
    double smallest = 0, value;
    for (size_t i = 0; i < ARRAY_COUNT(limits); i++)
        if (kernel_figure(figures, limits[i].figure, &value) && value > 0 &&
            (!limiter || value < smallest)) {
            limiter = limits[i].name;
            smallest = value;
        }
    return limiter;
}

bool kernel_top_stall(const struct kernel_figures *figures, unsigned *reason, double *share) {
    double sum = 0, top = 0;
    for (unsigned i = 0; i < STALL_REASONS; i++) {
        sum += figures->stall[i];
        if (i != STALL_SELECTED && figures->stall[i] > top) {
            top = figures->stall[i];
            *reason = i;
        }
    }
    *share = sum > 0 ? top / sum : 0;
    return top > 0;
}
