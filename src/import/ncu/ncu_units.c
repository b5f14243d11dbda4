/* Printed values, units and labels of Nsight Compute.
 *
 * Units of printed values are scaled for people, row by row: "us", "Kbyte", "Gbyte/s". The trace
 * has base units, as binary reports do. Digits may have separators of a locale: a comma is a
 * decimal point only if it is followed by other than three digits. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/text_lines.h"
#include "import/ncu/ncu.h"

/* ---- Units ---- */

struct unit_word {
    const char *word, *base;
    double scale;
};

/* Prefixes are decimal: 32,768 bytes print as 32.77 Kbyte. */
static const struct unit_word unit_words[] = {
    {"ns", "ns", 1},         {"nsecond", "ns", 1},   {"us", "ns", 1e3},      {"usecond", "ns", 1e3},
    {"ms", "ns", 1e6},       {"msecond", "ns", 1e6}, {"s", "ns", 1e9},       {"second", "ns", 1e9},
    {"byte", "byte", 1},     {"Kbyte", "byte", 1e3}, {"Mbyte", "byte", 1e6}, {"Gbyte", "byte", 1e9},
    {"Tbyte", "byte", 1e12}, {"hz", "Hz", 1},        {"Hz", "Hz", 1},        {"Khz", "Hz", 1e3},
    {"Mhz", "Hz", 1e6},      {"Ghz", "Hz", 1e9},
};

static const struct unit_word *find_unit(struct text word) {
    for (size_t i = 0; i < ARRAY_COUNT(unit_words); i++)
        if (text_is(word, unit_words[i].word))
            return &unit_words[i];
    return NULL;
}

/* "Gbyte/second" becomes "byte/s" and 1e9; an unknown unit stays as it is. */
static double base_unit(struct text unit, struct buffer *base) {
    struct text above = text_split(&unit, '/');
    const struct unit_word *word = find_unit(above), *below = find_unit(unit);
    double scale = word ? word->scale : 1;
    bool rate = below && text_is(text_of(below->base), "ns");
    if (rate && text_is(above, "cycle")) {
        buffer_string(base, "Hz");
        return 1e9 / below->scale;
    }
    if (word)
        buffer_string(base, word->base);
    else
        buffer_text(base, above);
    if (rate) {
        buffer_string(base, "/s");
        return scale * 1e9 / below->scale;
    }
    if (unit.length) {
        buffer_byte(base, '/');
        buffer_text(base, unit);
    }
    return scale;
}

struct text ncu_unit_of_metric(struct text name) {
    static const struct {
        const char *part, *unit;
    } parts[] = {
        {"pct", "%"},
        {".ratio", ""},
        {"per_cycle", ""},
        {"occupancy_limit_", "block"},
        {"time_duration", "ns"},
        {"registers_per_thread", "register/thread"},
        {"shared_mem_per_block", "byte/block"},
        {"shared_mem_config_size", "byte"},
        {"bytes", "byte"},
        {"sectors", "sector"},
        {"requests", "request"},
        {"wavefronts", "wavefront"},
        {"inst_executed", "inst"},
        {"inst_issued", "inst"},
        {"cycles", "cycle"},
    };
    if (text_find(name, ".per_second") >= 0)
        return text_find(name, "bytes") >= 0            ? TEXT("byte/s")
               : text_find(name, "cycles_elapsed") >= 0 ? TEXT("Hz")
                                                        : TEXT("1/s");
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        if (text_find(name, parts[i].part) >= 0)
            return text_of(parts[i].unit);
    return TEXT("");
}

/* ---- Values ---- */

/* Whether the separator at `at` is followed by exactly three digits: then it groups digits. */
static bool groups_digits(struct text value, size_t at) {
    size_t digits = 0;
    while (at + 1 + digits < value.length && value.data[at + 1 + digits] >= '0' &&
           value.data[at + 1 + digits] <= '9')
        digits++;
    return digits == 3;
}

/* "77,712.51", "9,00", "4.0e-05", "12 (1; 2; 3)". False for texts and missing values. */
static bool read_number(struct text value, double *number) {
    char digits[64];
    size_t length = 0;
    const char *list = value.length ? memchr(value.data, '(', value.length) : NULL;
    if (list && list > value.data)
        value.length = (size_t)(list - value.data);
    value = text_trim(value);
    bool point = value.length && memchr(value.data, '.', value.length);
    for (size_t i = 0; i < value.length && length + 1 < sizeof digits; i++) {
        char c = value.data[i];
        if (c == ',' && (point || groups_digits(value, i)))
            continue;
        digits[length++] = c == ',' ? '.' : c;
    }
    digits[length] = 0;
    char *end;
    *number = strtod(digits, &end);
    bool starts_right = digits[0] == '-' || (digits[0] >= '0' && digits[0] <= '9');
    return starts_right && *end == 0 && isfinite(*number);
}

bool ncu_printed(struct ncu *ncu, struct text name, struct text unit, struct text value,
                 struct status *status) {
    struct buffer base = {0};
    double number;
    if (!read_number(value, &number) || name.length == 0)
        return true;
    struct text metric = ncu_metric_of_label(name, unit);
    double scale = base_unit(text_trim(unit), &base);
    bool ok = buffer_ok(&base, status) &&
              ncu_number(ncu, metric, buffer_as_text(&base), number * scale, status);
    buffer_finish(&base);
    return ok;
}

void ncu_dimensions(struct text text, uint32_t size[3]) {
    memset(size, 0, 3 * sizeof *size);
    if (text.length < 2 || text.data[0] != '(')
        return;
    text = (struct text){text.data + 1, text.length - 2};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t value;
        if (!text_to_u64(text_trim(text_split(&text, ',')), &value) || value > UINT32_MAX) {
            memset(size, 0, 3 * sizeof *size);
            return;
        }
        size[i] = (uint32_t)value;
    }
}

/* ---- Labels of the details page ---- */

/* X(label, metric) */
#define LABELS(X)                                                                                  \
    X("Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active")                     \
    X("Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active")                   \
    X("Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active")                     \
    X("Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio")        \
    X("Avg. Divergent Branches", "smsp__sass_branch_targets_threads_divergent.avg")                \
    X("Avg. Executed Instructions Per Scheduler", "smsp__inst_executed.avg")                       \
    X("Avg. Issued Instructions Per Scheduler", "smsp__inst_issued.avg")                           \
    X("Avg. Not Predicated Off Threads Per Warp",                                                  \
      "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")                                \
    X("Block Limit Barriers", "launch__occupancy_limit_barriers")                                  \
    X("Block Limit Registers", "launch__occupancy_limit_registers")                                \
    X("Block Limit SM", "launch__occupancy_limit_blocks")                                          \
    X("Block Limit Shared Mem", "launch__occupancy_limit_shared_mem")                              \
    X("Block Limit Warps", "launch__occupancy_limit_warps")                                        \
    X("Block Size", "launch__block_size")                                                          \
    X("Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct")                \
    X("Branch Instructions", "smsp__inst_executed_op_branch.sum")                                  \
    X("Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed")               \
    X("DRAM Frequency", "dram__cycles_elapsed.avg.per_second")                                     \
    X("DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")                 \
    X("Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver")                     \
    X("Duration", "gpu__time_duration.sum")                                                        \
    X("Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic")                   \
    X("Elapsed Cycles", "gpc__cycles_elapsed.max")                                                 \
    X("Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active")                 \
    X("Executed Instructions", "smsp__inst_executed.sum")                                          \
    X("Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active")                             \
    X("Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed")                           \
    X("Grid Size", "launch__grid_size")                                                            \
    X("Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_active")                      \
    X("Issued Instructions", "smsp__inst_issued.sum")                                              \
    X("Issued Ipc Active", "sm__inst_issued.avg.per_cycle_active")                                 \
    X("Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active")                      \
    X("L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active")             \
    X("L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct")                                           \
    X("L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed")                  \
    X("L2 Hit Rate", "lts__t_sector_hit_rate.pct")                                                 \
    X("Max Bandwidth", "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed") \
    X("Mem Busy", "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed")       \
    X("Mem Pipes Busy", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed")                 \
    X("Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")     \
    X("No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active")                         \
    X("One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active")               \
    X("Registers Per Thread", "launch__registers_per_thread")                                      \
    X("SM Active Cycles", "sm__cycles_active.avg")                                                 \
    X("SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_active")                    \
    X("SM Frequency", "gpc__cycles_elapsed.avg.per_second")                                        \
    X("SOL DRAM", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")                        \
    X("SOL L1/TEX Cache", "l1tex__throughput.avg.pct_of_peak_sustained_active")                    \
    X("SOL L2 Cache", "lts__throughput.avg.pct_of_peak_sustained_elapsed")                         \
    X("SOL Memory", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")            \
    X("SOL SM", "sm__throughput.avg.pct_of_peak_sustained_elapsed")                                \
    X("Shared Memory Configuration Size", "launch__shared_mem_config_size")                        \
    X("Static Shared Memory Per Block", "launch__shared_mem_per_block_static")                     \
    X("Theoretical Active Warps per SM", "sm__maximum_warps_avg_per_active_cycle")                 \
    X("Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct")                           \
    X("Threads", "launch__thread_count")                                                           \
    X("Warp Cycles Per Executed Instruction",                                                      \
      "smsp__average_warps_active_per_inst_executed.ratio")                                        \
    X("Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio")    \
    X("Waves Per SM", "launch__waves_per_multiprocessor")

struct text ncu_metric_of_label(struct text label, struct text unit) {
#define LABEL_ROW(label, metric) {label, metric},
    static const struct { const char *label, *metric; } labels[] = {LABELS(LABEL_ROW)};
    label = text_trim(label);
    if (text_is(label, "Memory Throughput") && text_find(unit, "/") >= 0)
        return TEXT("dram__bytes.sum.per_second");
    for (size_t i = 0; i < ARRAY_COUNT(labels); i++)
        if (text_is(label, labels[i].label))
            return text_of(labels[i].metric);
    return label;
}
