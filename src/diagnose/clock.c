/* Did the device run below its clock? From what its health counters say; and where they say
 * nothing, from kernels of one name and grid that take longer and longer. A device at its power
 * limit, under full load, does as it should: that is said, not blamed. */
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "diagnose/diagnosis.h"

/* Bits of NVML's clock event reasons. */
enum {
    REASON_IDLE = 0x1,
    REASON_SETTING = 0x2,
    REASON_POWER_CAP = 0x4,
    REASON_HARDWARE = 0x8,
    REASON_THERMAL = 0x20,
    REASON_THERMAL_HARDWARE = 0x40,
    REASON_POWER_BRAKE = 0x80
};

struct clock_facts {
    double most, least; /* MHz, in the judged part */
    unsigned reasons;   /* seen in it */
    bool known;
    int64_t low_at;
};

static struct clock_facts read_counters(const struct diagnosis *diagnosis) {
    const struct trace *trace = diagnosis->trace;
    struct clock_facts clock = {0};
    for (size_t i = 0; i < trace->counter.count; i++) {
        struct text name = trace_text(trace, trace->counter.name[i]);
        double value = trace->counter.value[i];
        bool inside = trace->counter.time[i] >= diagnosis->facts.host_from &&
                      trace->counter.time[i] <= diagnosis->facts.host_until;
        if (text_is(name, "throttle reasons") && inside && value > 0 && value < 4096)
            clock.reasons |= (unsigned)value;
        if (text_find(name, "clock") < 0 || text_find(name, "memory") >= 0 || value <= 0)
            continue;
        if (value > clock.most)
            clock.most = value;
        if (inside && (clock.least == 0 || value < clock.least)) {
            clock.least = value;
            clock.low_at = trace->counter.time[i];
        }
        clock.known = clock.least > 0;
    }
    return clock;
}

/* ---- kernels that slow down ---- */

/* Time of the kernels of one name and grid, taken for the same work, in each quarter of the judged
 * part. */
enum { QUARTERS = 4 };
struct pace {
    int64_t time[QUARTERS];
    uint64_t count[QUARTERS];
};
struct paces {
    struct map places; /* by name and grid */
    struct pace *list;
    size_t count, capacity;
};
struct drift {
    double ratio; /* the last quarter against the first, over the kernels that slow down */
    double part;  /* of the kernel time that slows down */
    int64_t lost; /* beyond the pace of the fastest quarter */
};

static bool add_kernel(struct diagnosis *diagnosis, struct paces *paces, size_t row,
                       unsigned quarter) {
    const struct trace *trace = diagnosis->trace;
    uint64_t key = trace->activity.name[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_x[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_y[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_z[row];
    uint64_t *place = map_find(&paces->places, key);
    size_t at = place ? (size_t)*place : paces->count;
    if (!place) {
        if (!memory_grow((void **)&paces->list, &paces->capacity, paces->count + 1,
                         sizeof *paces->list, diagnosis->status) ||
            !map_set(&paces->places, key, paces->count, diagnosis->status))
            return false;
        paces->list[paces->count++] = (struct pace){0};
    }
    paces->list[at].time[quarter] += trace->activity.duration[row];
    paces->list[at].count[quarter]++;
    return true;
}

static double mean_of(const struct pace *pace, unsigned quarter) {
    return (double)pace->time[quarter] / (double)pace->count[quarter];
}

static struct drift sum_paces(const struct paces *paces) {
    struct drift drift = {0};
    double whole = 0, slowed = 0, before = 0, after = 0, lost = 0;
    for (size_t i = 0; i < paces->count; i++) {
        const struct pace *pace = &paces->list[i];
        double best = 0, time = 0;
        bool always = true;
        for (unsigned q = 0; q < QUARTERS; q++) {
            always &= pace->count[q] >= 2;
            time += (double)pace->time[q];
        }
        whole += time;
        if (!always || mean_of(pace, QUARTERS - 1) < 1.05 * mean_of(pace, 0))
            continue;
        best = mean_of(pace, 0);
        slowed += time;
        before += best * (double)pace->count[QUARTERS - 1];
        after += (double)pace->time[QUARTERS - 1];
        for (unsigned q = 0; q < QUARTERS; q++)
            if (mean_of(pace, q) > best)
                lost += (double)pace->time[q] - best * (double)pace->count[q];
    }
    if (whole > 0 && before > 0) {
        drift.part = slowed / whole;
        drift.ratio = after / before;
        drift.lost = (int64_t)lost;
    }
    return drift;
}

/* Collectives wait for other devices and may take any time. */
static struct drift find_drift(struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    const struct trace *trace = diagnosis->trace;
    struct paces paces = {0};
    struct drift drift = {0};
    if (source->device_count == 0)
        return drift;
    const struct diagnose_device *device = &source->devices[0];
    int64_t first = device->selection->windows[0].start;
    int64_t last = device->selection->windows[device->selection->count - 1].end;
    size_t end = source->model->device_first[device->id + 1];
    for (size_t i = source->model->device_first[device->id]; i < end; i++) {
        int64_t start = trace->activity.start[i];
        struct text name = trace_text(trace, trace->activity.name[i]);
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || start < first || start >= last ||
            kernel_class(name) == KERNEL_COLLECTIVE)
            continue;
        unsigned quarter = (unsigned)((double)(start - first) / (double)(last - first) * QUARTERS);
        if (!add_kernel(diagnosis, &paces, i, quarter < QUARTERS ? quarter : QUARTERS - 1)) {
            diagnosis->failed = true;
            break;
        }
    }
    drift = sum_paces(&paces);
    memory_free(paces.list);
    map_finish(&paces.places);
    return drift;
}

static const char *reason_words(unsigned reasons) {
    if (reasons & (REASON_THERMAL | REASON_THERMAL_HARDWARE))
        return "it is too hot";
    if (reasons & REASON_POWER_BRAKE)
        return "its power supply asks for it";
    if (reasons & REASON_HARDWARE)
        return "its hardware asks for it";
    if (reasons & REASON_SETTING)
        return "its clocks are set so";
    return reasons & REASON_POWER_CAP ? "it is at its power limit" : "the trace does not say why";
}

void diagnose_clock(struct diagnosis *diagnosis) {
    struct clock_facts clock = read_counters(diagnosis);
    struct drift drift = find_drift(diagnosis);
    char change[FROM_TO_SIZE];
    bool lower = clock.known && clock.least < 0.95 * clock.most;
    bool slower = drift.ratio > 1.08 && drift.part > 0.7;
    unsigned telling = clock.reasons & ~(unsigned)(REASON_IDLE | REASON_POWER_CAP);
    bool only_power = (clock.reasons & REASON_POWER_CAP) && !telling;
    bool steady_idle = (clock.reasons & REASON_IDLE) && !telling && drift.part < 0.5;
    if ((!lower && !slower) || only_power || (lower && steady_idle))
        return;
    if (lower && !telling && drift.part < 0.3)
        return; /* the clock was low only while nothing that counts ran */
    const struct prediction *full = predict_alone(diagnosis, CHANGE_FULL_CLOCK);
    bool replayed = lower && full->applicable && full->gain > 0;
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_THROTTLING, lower ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    if (replayed) {
        finding_change(finding, CHANGE_FULL_CLOCK, (struct text){0}, 0);
        finding_take(diagnosis, finding, full);
    } else {
        finding->recoverable = drift.lost;
    }
    if (lower)
        finding_summary(diagnosis, finding,
                        "The device's clock went from %.0f to %.0f MHz because %s; at the full "
                        "clock, %s",
                        clock.most, clock.least, reason_words(clock.reasons),
                        from_to(diagnosis, finding->recoverable, change));
    else
        finding_summary(diagnosis, finding,
                        "The same kernels take %.0f%% longer later in the run; at the first pace, "
                        "%s",
                        100 * (drift.ratio - 1), from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding, "%s",
                  lower ? "Kernels take longer in proportion when the device lowers its clock."
                        : "Kernels of one name and grid slow down together, as they do when the "
                          "device lowers its clock; its clock was not recorded.");
    if (drift.ratio > 1)
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT, .start = clock.low_at},
            "kernels of one name and grid take %.1f%% longer in the last quarter than in "
            "the first",
            100 * (drift.ratio - 1));
    finding_fix(diagnosis, finding, EFFORT_SETTING, "--full-clock",
                "Look at nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE: locked clocks (-rgc "
                "unlocks), a low power limit, cooling");
}
