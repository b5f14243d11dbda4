/* Did the device run below its maximum clock? Read from clock counters; without them, from kernels
 * of one name and grid that become slower during the run. A device at its power limit under full
 * load works as designed: that is a remark, not a fault. */
#include <stdio.h>

#include "diagnose/diagnosis.h"
#include "whatif/names.h"

/* Bits of NVML's clock event reasons. */
enum {
    REASON_IDLE = 0x1,
    REASON_CLOCKS_SETTING = 0x2,
    REASON_SW_POWER_CAP = 0x4,
    REASON_HW_SLOWDOWN = 0x8,
    REASON_SW_THERMAL = 0x20,
    REASON_HW_THERMAL = 0x40,
    REASON_HW_POWER_BRAKE = 0x80
};

/* The largest slowdown that a power limit explains if no reason was recorded. Power grows with at
 * least the square of the clock, as the voltage changes with it, and a device that would draw more
 * than twice its limit is rare: so at most the square root of two. */
#define POWER_LIMIT_SLOWDOWN_MAX 1.41

/* "26.3 % longer than in the first quarter", from 2 on "5.7x as long as in the first quarter". */
enum { LONGER_SIZE = 64 };
static const char *longer_by(double ratio, char text[LONGER_SIZE]) {
    char number[FORMAT_SIZE];
    if (ratio >= 2)
        snprintf(text, LONGER_SIZE, "%s as long as in the first quarter",
                 format_ratio(ratio, number));
    else
        snprintf(text, LONGER_SIZE, "%s longer than in the first quarter",
                 format_percent(ratio - 1, number));
    return text;
}

struct clock_facts {
    double max_mhz, min_mhz; /* of the trace; of the judged part */
    unsigned reasons;        /* in effect in the judged part */
    size_t readings;         /* of the clock in the judged part */
    int64_t min_time;
};

/* Counters are written when they change: the last reading before the judged part holds in it. */
struct reading {
    bool known;
    int64_t time;
    double value;
};

static void keep_latest(struct reading *reading, int64_t time, double value) {
    if (!reading->known || time >= reading->time)
        *reading = (struct reading){true, time, value};
}

/* The first reading after the judged part also covers the time before it. */
static void keep_earliest(struct reading *reading, int64_t time, double value) {
    if (!reading->known || time < reading->time)
        *reading = (struct reading){true, time, value};
}

static void add_clock(struct clock_facts *clock, int64_t time, double value) {
    clock->readings += value > 0;
    if (value > 0 && (clock->min_mhz == 0 || value < clock->min_mhz)) {
        clock->min_mhz = value;
        clock->min_time = time;
    }
}

static void add_reasons(struct clock_facts *clock, double value) {
    if (value > 0 && value < 4096)
        clock->reasons |= (unsigned)value;
}

/* Thermal state of the machine and performance state of an Apple GPU, in the judged part: each is
 * written when it changes. */
struct state_facts {
    double hottest;      /* COUNTER_THERMAL_STATE; 0 nominal or unknown */
    double lowest, best; /* COUNTER_PERFORMANCE_STATE; of the part and of the run; 0 unknown */
};

enum { THERMAL_SERIOUS = 2 };

static const char *thermal_name(double state) {
    return state >= 3 ? "critical" : "serious";
}

static const char *performance_name(double state) {
    return state >= 3 ? "maximum" : state >= 2 ? "medium" : "minimum";
}

static struct state_facts read_states(const struct diagnosis *diagnosis) {
    const struct trace *trace = diagnosis->trace;
    struct state_facts states = {0};
    struct reading thermal = {0}, performance = {0};
    for (size_t i = 0; i < trace->counter.count; i++) {
        struct text name = trace_text(trace, trace->counter.name[i]);
        int64_t time = trace->counter.time[i];
        double value = trace->counter.value[i];
        bool is_thermal = text_is(name, COUNTER_THERMAL_STATE);
        if (!is_thermal && !text_is(name, COUNTER_PERFORMANCE_STATE))
            continue;
        if (!is_thermal && value > states.best)
            states.best = value;
        if (time < diagnosis->facts.host_start)
            keep_latest(is_thermal ? &thermal : &performance, time, value);
        else if (time <= diagnosis->facts.host_end && is_thermal)
            states.hottest = value > states.hottest ? value : states.hottest;
        else if (time <= diagnosis->facts.host_end && (!states.lowest || value < states.lowest))
            states.lowest = value;
    }
    if (thermal.known && thermal.value > states.hottest)
        states.hottest = thermal.value;
    if (performance.known && (!states.lowest || performance.value < states.lowest))
        states.lowest = performance.value;
    return states;
}

/* The machine is hot, and the GPU slower than before: by its state or by its kernels. */
static bool is_hot(const struct state_facts *states, const struct drift *drift) {
    return states->hottest >= THERMAL_SERIOUS &&
           (states->lowest < states->best || (drift->ratio > 1.03 && drift->part > 0.3));
}

static void diagnose_heat(struct diagnosis *diagnosis, const struct state_facts *states) {
    const struct drift *drift = &diagnosis->facts.drift;
    char change[FROM_TO_SIZE], lowered[80] = "";
    struct finding *finding = diagnose_add(diagnosis, FINDING_THROTTLING, CONFIDENCE_HIGH);
    finding_estimate(diagnosis, finding, drift->lost);
    if (states->lowest && states->lowest < states->best)
        snprintf(lowered, sizeof lowered, ", and the GPU performance state falls from %s to %s",
                 performance_name(states->best), performance_name(states->lowest));
    finding_summary(diagnosis, finding, "The thermal state is %s%s", thermal_name(states->hottest),
                    lowered);
    if (finding->recoverable > 0)
        finding_gain(diagnosis, finding, "at the initial speed, %s",
                     from_to(diagnosis, finding->recoverable, change));
    else
        finding->remark = true;
    finding_cause(diagnosis, finding,
                  "macOS lowers the GPU's clock when the machine is hot. Kernels slow down with "
                  "it.");
    char longer[LONGER_SIZE];
    if (drift->ratio > 1)
        finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                         "In the last quarter, kernels of the same name and grid take %s",
                         longer_by(drift->ratio, longer));
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "Let the machine cool down, and keep the measurement short");
}

static struct clock_facts read_counters(const struct diagnosis *diagnosis, uint32_t device) {
    const struct trace *trace = diagnosis->trace;
    int64_t from = diagnosis->facts.host_start, until = diagnosis->facts.host_end;
    struct clock_facts clock = {0};
    struct clock_counter counter = names_clock_counter(trace, device);
    struct reading clock_before = {0}, reasons_before = {0}, reasons_after = {0};
    for (size_t i = 0; i < trace->counter.count; i++) {
        int64_t time = trace->counter.time[i];
        double value = trace->counter.value[i];
        bool clocks = counter.name && is_clock_reading(trace, &counter, i);
        bool reasons = !clocks &&
                       (!trace->counter.device[i] || trace->counter.device[i] == device) &&
                       text_is(trace_text(trace, trace->counter.name[i]), "throttle reasons");
        if (!reasons && !clocks)
            continue;
        if (clocks && value > clock.max_mhz)
            clock.max_mhz = value;
        if (time < from)
            keep_latest(reasons ? &reasons_before : &clock_before, time, value);
        else if (time <= until && reasons)
            add_reasons(&clock, value);
        else if (time <= until)
            add_clock(&clock, time, value);
        else if (reasons)
            keep_earliest(&reasons_after, time, value);
    }
    add_reasons(&clock, reasons_before.value);
    add_reasons(&clock, reasons_after.value);
    add_clock(&clock, from, clock_before.value);
    return clock;
}

/* Of the device with the lowest clock relative to its maximum. */
static struct clock_facts find_clock(const struct diagnosis *diagnosis) {
    struct clock_facts slowest = {0};
    for (size_t i = 0; i < diagnosis->source->device_count; i++) {
        struct clock_facts clock = read_counters(diagnosis, diagnosis->source->devices[i].id);
        if (clock.min_mhz > 0 && (slowest.min_mhz == 0 || clock.min_mhz * slowest.max_mhz <
                                                              slowest.min_mhz * clock.max_mhz))
            slowest = clock;
    }
    return slowest;
}

static const char *reason_text(unsigned reasons) {
    if (reasons & (REASON_SW_THERMAL | REASON_HW_THERMAL))
        return "thermal slowdown";
    if (reasons & REASON_HW_POWER_BRAKE)
        return "power brake";
    if (reasons & REASON_HW_SLOWDOWN)
        return "hardware slowdown";
    if (reasons & REASON_CLOCKS_SETTING)
        return "application clock setting";
    return reasons & REASON_SW_POWER_CAP ? "power limit" : "reason not recorded";
}

static bool is_below_max(const struct clock_facts *clock) {
    return clock->min_mhz > 0 && clock->min_mhz < 0.95 * clock->max_mhz;
}

/* Whether the power limit explains the slowdown: it is the only recorded reason; or no reason was
 * recorded, the load is high enough, and the slowdown is within what the limit can cause. */
static bool is_power_limit(const struct diagnosis *diagnosis, const struct clock_facts *clock,
                           const struct drift *drift) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    unsigned reasons = clock->reasons & ~(unsigned)REASON_IDLE;
    int64_t products = kernels->time[KERNEL_MATMUL] + kernels->time[KERNEL_MATMUL_F32];
    bool full_load = 2 * products > kernels->total_time &&
                     share_of(diagnosis->facts.busy, diagnosis->facts.window) > 0.9;
    if (reasons)
        return reasons == REASON_SW_POWER_CAP;
    return !is_below_max(clock) && full_load && drift->ratio <= POWER_LIMIT_SLOWDOWN_MAX;
}

/* A low clock with a reason, or with kernels that became slower; or kernels that slow down together
 * while the clock was read too rarely to rule that out. */
static bool is_slowed(const struct clock_facts *clock, const struct drift *drift) {
    enum { READINGS = 3 };
    unsigned reasons = clock->reasons & ~(unsigned)REASON_IDLE;
    if (is_below_max(clock))
        return reasons || drift->part > 0.5 || (!clock->reasons && drift->part > 0.3);
    return clock->readings < READINGS && drift->ratio > 1.08 && drift->part > 0.7;
}

/* Text of a column of the judged device. */
static struct text device_text(const struct diagnosis *diagnosis, const uint32_t *column) {
    const struct diagnose_source *source = diagnosis->source;
    if (source->device_count == 0)
        return TEXT("");
    return trace_text(diagnosis->trace, column[source->devices[0].id]);
}

bool judges_cpu(const struct diagnosis *diagnosis) {
    return text_starts(device_text(diagnosis, diagnosis->trace->device.label), "cpu");
}

static const char *remedy_of(const struct diagnosis *diagnosis, bool power_limit) {
    struct text vendor = device_text(diagnosis, diagnosis->trace->device.vendor);
    if (vendor.length && !text_is(vendor, "NVIDIA"))
        return power_limit
                   ? "Raise the power limit if permitted, or use a type that needs less power"
                   : "Check for locked clocks, a low power limit or poor cooling";
    return power_limit ? "Raise the power limit if permitted (nvidia-smi -pl), or use a type that "
                         "needs less power"
                       : "Check nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE for locked clocks "
                         "(-rgc unlocks), a low power limit or poor cooling";
}

static void describe_slowdown(struct diagnosis *diagnosis, struct finding *finding,
                              const struct clock_facts *clock, const struct drift *drift) {
    bool lower = is_below_max(clock);
    char change[FROM_TO_SIZE], longer[LONGER_SIZE];
    from_to(diagnosis, finding->recoverable, change);
    if (lower)
        finding_summary(diagnosis, finding,
                        "The clock is as low as %.0f MHz, below the maximum of %.0f MHz (%s)",
                        clock->min_mhz, clock->max_mhz, reason_text(clock->reasons));
    else
        finding_summary(diagnosis, finding,
                        "In the last quarter, kernels of the same name and grid take %s%s",
                        longer_by(drift->ratio, longer),
                        finding->remark ? ", as at a power limit under full load" : "");
    finding_gain(diagnosis, finding, "%s, %s", lower ? "at the full clock" : "at the initial speed",
                 change);
    finding_cause(diagnosis, finding, "%s",
                  lower
                      ? "Kernels slow down when the device lowers its clock."
                      : "Kernels slow down together, as they do when the device lowers its clock. "
                        "The clock itself was not recorded or read too rarely.");
    if (drift->ratio > 1)
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_TEXT, .start = clock->min_time},
                         "In the last quarter, kernels of the same name and grid take %s",
                         longer_by(drift->ratio, longer));
    if (!lower)
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    "Record the clock: ridge run -- COMMAND reads clocks, power and the reasons "
                    "for throttling");
    finding_fix(diagnosis, finding, EFFORT_SETTING, lower ? "--full-clock" : NULL, "%s",
                remedy_of(diagnosis, finding->remark));
}

/* Kernels on a CPU also slow down when other programs run: without a recorded clock that is no sign
 * of throttling. */
static bool is_throttled(const struct diagnosis *diagnosis, const struct clock_facts *clock) {
    return is_slowed(clock, &diagnosis->facts.drift) &&
           (is_below_max(clock) || !judges_cpu(diagnosis));
}

void diagnose_clock(struct diagnosis *diagnosis) {
    struct clock_facts clock = find_clock(diagnosis);
    const struct drift *drift = &diagnosis->facts.drift;
    struct state_facts states = read_states(diagnosis);
    if (is_hot(&states, drift)) {
        diagnose_heat(diagnosis, &states);
        return;
    }
    if (!is_throttled(diagnosis, &clock))
        return;
    const struct prediction *full = predict_alone(diagnosis, CHANGE_FULL_CLOCK);
    bool known = is_below_max(&clock) && full->applicable && full->gain > 0;
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_THROTTLING, known ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    finding->unexplained = !is_below_max(&clock);
    finding->remark = is_power_limit(diagnosis, &clock, drift);
    if (known) {
        finding_change(finding, CHANGE_FULL_CLOCK, (struct text){0}, 0);
        finding_take(diagnosis, finding, full);
    } else {
        finding_estimate(diagnosis, finding, drift->lost);
    }
    describe_slowdown(diagnosis, finding, &clock, drift);
}
