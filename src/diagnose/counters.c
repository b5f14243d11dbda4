/* What do the hardware counters show about the judged kernels? Uncoalesced access, bank conflicts,
 * divergence, spills, and what warps wait for.
 *
 * A unit that is busy for a share of a kernel's time bounds what less work for that unit can save:
 * a kernel that keeps memory 80 % busy, half of it with bytes that no thread uses, can save at most
 * 40 % of its time. Gains are such bounds. Without the unit's counter the gain is unknown. */
#include "diagnose/diagnosis.h"

enum fault {
    FAULT_UNCOALESCED,
    FAULT_CONFLICTS,
    FAULT_DIVERGENCE,
    FAULT_SPILLS,
    FAULT_STALLS,
    FAULT_COUNT
};

/* Kernels with a fault. */
struct faulty {
    int64_t time;
    double saved;    /* bound, in nanoseconds; 0: unknown */
    double top_time; /* of the launch of the longest kernel */
    uint32_t top;    /* that launch, index in the measured ones */
    uint32_t name;   /* string id of its kernel */
};

static double known_or(const struct kernel_figures *figures, enum kernel_figure figure,
                       double otherwise) {
    double value;
    return kernel_figure(figures, figure, &value) ? value : otherwise;
}

/* Bytes of fetched sectors that no thread uses, as a share. Without that counter, more sectors than
 * the widest accesses of a warp need. */
static double unused_share(const struct kernel_figures *figures) {
    enum { SECTORS_MAX = 16 }; /* of 32 accesses of 16 bytes */
    double used, sectors, loads = known_or(figures, KERNEL_LOAD_SECTORS_FIGURE, 0);
    double stores = known_or(figures, KERNEL_STORE_SECTORS_FIGURE, 0);
    if (kernel_figure(figures, KERNEL_LOAD_USED_FIGURE, &used) && used > 0) {
        double stored = known_or(figures, KERNEL_STORE_USED_FIGURE, 1);
        return loads + stores > 0
                   ? 1 - (used * loads + (stored > 0 ? stored : 1) * stores) / (loads + stores)
                   : 1 - used;
    }
    if (kernel_sectors_per_request(figures, false, &sectors) && sectors > SECTORS_MAX)
        return 1 - SECTORS_MAX / sectors;
    return 0;
}

static double spill_share(const struct kernel_figures *figures) {
    double local = known_or(figures, KERNEL_LOCAL_ACCESSES_FIGURE, 0);
    double all = known_or(figures, KERNEL_INSTRUCTIONS_FIGURE, 0);
    return local <= 0 ? 0 : all > local ? local / all : 1;
}

/* A kernel that keeps neither the multiprocessors nor memory busy waits for latency. */
static double stall_share(const struct kernel_figures *figures) {
    unsigned reason;
    double share;
    bool busy = known_or(figures, KERNEL_SM_FIGURE, 1) > 0.6 ||
                known_or(figures, KERNEL_MEMORY_FIGURE, 1) > 0.6;
    return !busy && kernel_top_stall(figures, &reason, &share) ? share : 0;
}

/* The share of the unit's work that the fault causes, from which it is reported, and the share of
 * the time that the unit is busy. */
static double measure(const struct kernel_figures *figures, enum fault fault, double *busy) {
    double share = 0;
    switch (fault) {
    case FAULT_UNCOALESCED:
        *busy = known_or(figures, KERNEL_MEMORY_FIGURE, known_or(figures, KERNEL_DRAM_FIGURE, 0));
        return unused_share(figures);
    case FAULT_CONFLICTS:
        *busy = known_or(figures, KERNEL_L1_FIGURE, known_or(figures, KERNEL_MEMORY_FIGURE, 0));
        return kernel_conflict_share(figures, &share) ? share : 0;
    case FAULT_DIVERGENCE:
        *busy = known_or(figures, KERNEL_SM_FIGURE, 0);
        return 1 - known_or(figures, KERNEL_WARPS_FIGURE, 1);
    case FAULT_SPILLS:
        *busy = 0;
        return spill_share(figures);
    default:
        *busy = 0;
        return stall_share(figures);
    }
}

static const double thresholds[FAULT_COUNT] = {
    [FAULT_UNCOALESCED] = 0.3, [FAULT_CONFLICTS] = 0.1, [FAULT_DIVERGENCE] = 0.2,
    [FAULT_SPILLS] = 0.01,     [FAULT_STALLS] = 0.3,
};

static void add_launch(const struct diagnosis *diagnosis, size_t row, uint32_t launch,
                       struct faulty faults[FAULT_COUNT]) {
    const struct measured_launch *measured = &diagnosis->source->counters->launches[launch];
    double duration = (double)diagnosis->trace->activity.duration[row], busy;
    for (unsigned fault = 0; fault < FAULT_COUNT; fault++) {
        struct faulty *sum = &faults[fault];
        double share = measure(&measured->figures, fault, &busy);
        if (share < thresholds[fault])
            continue;
        sum->time += (int64_t)duration;
        sum->saved += duration * share * (busy < 1 ? busy : 1);
        if (duration > sum->top_time || sum->name == 0) {
            sum->top_time = duration;
            sum->top = launch;
            sum->name = diagnosis->trace->activity.name[row];
        }
    }
}

static void find_faults(const struct diagnosis *diagnosis, struct faulty faults[FAULT_COUNT]) {
    const struct diagnose_source *source = diagnosis->source;
    const struct model *model = source->model;
    for (size_t d = 0; d < source->device_count; d++) {
        const struct diagnose_device *device = &source->devices[d];
        for (size_t i = model->device_first[device->id]; i < model->device_first[device->id + 1];
             i++) {
            uint32_t launch = source->counters->launch_of[i];
            if (launch != NO_ROW &&
                selection_contains(device->selection, diagnosis->trace->activity.start[i]))
                add_launch(diagnosis, i, launch, faults);
        }
    }
}

/* ---- Findings ---- */

static void describe_uncoalesced(struct diagnosis *diagnosis, struct finding *finding,
                                 const struct kernel_figures *figures, const char *name) {
    char part[FORMAT_SIZE];
    double sectors;
    finding_cause(diagnosis, finding,
                  "The threads of a warp access addresses that are far apart: memory moves whole "
                  "sectors of 32 bytes, of which only a part is used.");
    if (kernel_sectors_per_request(figures, false, &sectors))
        finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                         "%s: %.1f sectors for each load of a warp, %s of their bytes unused", name,
                         sectors, format_percent(unused_share(figures), part));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Let neighboring threads access neighboring addresses: change the layout or the "
                "index, or transpose through shared memory");
}

static void describe_conflicts(struct diagnosis *diagnosis, struct finding *finding,
                               const struct kernel_figures *figures, const char *name) {
    char conflicts[FORMAT_SIZE], wavefronts[FORMAT_SIZE];
    finding_cause(diagnosis, finding,
                  "Threads of a warp access different words of the same bank of shared memory, "
                  "one after another.");
    finding_evidence(
        diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
        "%s: %s bank conflicts in %s wavefronts", name,
        format_count((uint64_t)known_or(figures, KERNEL_BANK_CONFLICTS_FIGURE, 0), conflicts),
        format_count((uint64_t)known_or(figures, KERNEL_SHARED_WAVEFRONTS_FIGURE, 0), wavefronts));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Pad the rows of arrays in shared memory by one element, or swizzle their index");
}

static void describe_divergence(struct diagnosis *diagnosis, struct finding *finding,
                                const struct kernel_figures *figures, const char *name) {
    char part[FORMAT_SIZE];
    finding_cause(diagnosis, finding,
                  "Threads of a warp take different branches, which run one after another.");
    finding_evidence(
        diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
        "%s: %.1f of 32 threads of a warp are active on average, a warp execution efficiency of %s",
        name, 32 * known_or(figures, KERNEL_WARPS_FIGURE, 1),
        format_percent(known_or(figures, KERNEL_WARPS_FIGURE, 1), part));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Sort or group the work so that the threads of a warp take the same branch");
}

static void describe_spills(struct diagnosis *diagnosis, struct finding *finding,
                            const struct kernel_figures *figures, const char *name) {
    char count[FORMAT_SIZE];
    finding_cause(diagnosis, finding,
                  "Values that do not fit into registers, and arrays with indexes known only at "
                  "run time, are in local memory.");
    finding_evidence(
        diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
        "%s: %s instructions access local memory, at %.0f registers a thread", name,
        format_count((uint64_t)known_or(figures, KERNEL_LOCAL_ACCESSES_FIGURE, 0), count),
        known_or(figures, KERNEL_REGISTERS_FIGURE, 0));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Allow more registers (__launch_bounds__, -maxrregcount), keep fewer values at a "
                "time, and unroll loops over small arrays");
}

static void describe_stalls(struct diagnosis *diagnosis, struct finding *finding,
                            const struct kernel_figures *figures, const char *name) {
    unsigned reason = 0;
    double share = 0;
    char part[FORMAT_SIZE];
    kernel_top_stall(figures, &reason, &share);
    finding->remark = true;
    finding_cause(diagnosis, finding, "Warps wait most for %s (%s).", stall_meaning(reason),
                  stall_name(reason));
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                     "%s: %s of the cycles between two instructions of a warp", name,
                     format_percent(share, part));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Give each multiprocessor more independent work: more warps, or several elements "
                "for each thread");
}

static const struct {
    enum finding_kind kind;
    const char *what;    /* "N % of the kernel time is in kernels ..." */
    enum line_cost cost; /* of its lines */
    const char *counted; /* "N % of its ..." */
    void (*describe)(struct diagnosis *diagnosis, struct finding *finding,
                     const struct kernel_figures *figures, const char *name);
} fault_rules[FAULT_COUNT] = {
    [FAULT_UNCOALESCED] = {FINDING_UNCOALESCED, "with uncoalesced memory access", LINE_UNCOALESCED,
                           "excess sectors", describe_uncoalesced},
    [FAULT_CONFLICTS] = {FINDING_BANK_CONFLICTS, "with bank conflicts in shared memory",
                         LINE_CONFLICTS, "bank conflicts", describe_conflicts},
    [FAULT_DIVERGENCE] = {FINDING_DIVERGENCE, "with divergent warps", LINE_DIVERGENCE,
                          "divergent branches", describe_divergence},
    [FAULT_SPILLS] = {FINDING_SPILLS, "that use local memory", LINE_SPILLS,
                      "sectors of local memory", describe_spills},
    [FAULT_STALLS] = {FINDING_STALLS, "that keep neither multiprocessors nor memory busy",
                      LINE_STALLS, "stall samples", describe_stalls},
};

/* The line of the largest kernel that causes most of the fault. */
static void name_line(struct diagnosis *diagnosis, struct finding *finding, enum fault fault,
                      const struct measured_launch *launch) {
    const struct kernel_lines *lines = &diagnosis->source->counters->lines;
    char part[FORMAT_SIZE];
    struct buffer place = {0};
    double share;
    unsigned reason;
    const struct kernel_line *line =
        kernel_lines_top(lines, launch->measured, fault_rules[fault].cost, &share);
    if (!line || !kernel_line_format(diagnosis->trace, line, &place, diagnosis->status)) {
        buffer_finish(&place);
        return;
    }
    bool stalls = fault == FAULT_STALLS && kernel_line_top_stall(line, &reason);
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                     "%.*s: %s of its %s%s%s", (int)place.length, place.data,
                     format_percent(share, part), fault_rules[fault].counted,
                     stalls ? ", mostly " : "", stalls ? stall_name(reason) : "");
    buffer_finish(&place);
}

static void add_finding(struct diagnosis *diagnosis, enum fault fault, const struct faulty *sum) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    const struct measured_launch *launch = &diagnosis->source->counters->launches[sum->top];
    const struct kernel_figures *figures = &launch->figures;
    char part[FORMAT_SIZE], name[NAME_SIZE];
    struct finding *finding = diagnose_add(diagnosis, fault_rules[fault].kind, CONFIDENCE_MEDIUM);
    double busy = share_of(diagnosis->facts.busy, kernels->total_time);
    finding_estimate(diagnosis, finding, (int64_t)(sum->saved * (busy < 1 ? busy : 1)));
    finding->error = finding->recoverable / 2;
    short_kernel(diagnosis, sum->name, name);
    finding_summary(diagnosis, finding, "%s of the kernel time is in kernels %s, largest: %s",
                    format_percent(share_of(sum->time, kernels->total_time), part),
                    fault_rules[fault].what, name);
    finding_best_gain(diagnosis, finding, "without it");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL, .name = sum->name}, "%s", name);
    fault_rules[fault].describe(diagnosis, finding, figures, name);
    name_line(diagnosis, finding, fault, launch);
}

void diagnose_counters(struct diagnosis *diagnosis) {
    struct faulty faults[FAULT_COUNT] = {0};
    const struct kernel_counters *counters = diagnosis->source->counters;
    if (!counters || !counters->launch_of || diagnosis->facts.kernels.total_time == 0)
        return;
    find_faults(diagnosis, faults);
    for (unsigned fault = 0; fault < FAULT_COUNT; fault++)
        if (10 * faults[fault].time > diagnosis->facts.kernels.total_time)
            add_finding(diagnosis, fault, &faults[fault]);
}
