/* Do copies between host and device limit the run: because they are small, because the host memory
 * is pageable, or because no kernel overlaps with them? Each copy counts for one of the three:
 * small copies, large pageable ones, large pinned ones. */
#include <stdio.h>

#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

static int64_t cost(const struct copy_facts *copies) {
    return copies->time > copies->call_time ? copies->time : copies->call_time;
}

/* "1.20 GB at 3.10 GB/s"; traces may have copies without sizes. */
enum { MOVED_SIZE = 2 * FORMAT_SIZE + 4 };
static char *moved_text(const struct copy_facts *copies, char text[MOVED_SIZE]) {
    char bytes[FORMAT_SIZE], rate[FORMAT_SIZE];
    if (copies->bytes == 0 || copies->time <= 0)
        snprintf(text, MOVED_SIZE, "size not recorded");
    else
        snprintf(text, MOVED_SIZE, "%s at %s", format_bytes(copies->bytes, bytes),
                 format_rate((double)copies->bytes / ((double)copies->time / 1e9), rate));
    return text;
}

static void add_copies(struct diagnosis *diagnosis, struct finding *finding,
                       const struct copy_facts *copies) {
    if (copies->count == 0 || copies->time <= 0)
        return;
    const struct trace *trace = diagnosis->trace;
    char moved[MOVED_SIZE], time[FORMAT_SIZE];
    size_t row = copies->activity;
    struct text name = trace_text(trace, trace->activity.name[row]);
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_TEXT,
                                       .name = trace->activity.name[row],
                                       .start = trace->activity.start[row],
                                       .end = model_activity_end(diagnosis->source->model, row)},
                     "%.*s: %s in total, %s", TEXT_ARGS(name), format_duration(copies->time, time),
                     moved_text(copies, moved));
}

static void add_directions(struct diagnosis *diagnosis, struct finding *finding,
                           enum copy_class class) {
    add_copies(diagnosis, finding, &diagnosis->facts.directed[class][COPY_HTOD]);
    add_copies(diagnosis, finding, &diagnosis->facts.directed[class][COPY_DTOH]);
}

/* Batches the copies, and also removes the wait after each copy if they have one. */
static void predict_small(struct diagnosis *diagnosis, struct finding *finding) {
    const struct facts *facts = &diagnosis->facts;
    const struct copy_facts *small = &facts->copies[COPIES_SMALL];
    const struct prediction *batched = predict_alone(diagnosis, CHANGE_BATCH_COPIES);
    finding_change(finding, CHANGE_BATCH_COPIES, (struct text){0}, 0);
    if (batched->applicable)
        finding_take(diagnosis, finding, batched);
    if (2 * facts->syncs[SYNC_COPY].count > small->count &&
        facts->syncs[SYNC_PLAIN].count + facts->syncs[SYNC_SCALAR].count <
            facts->syncs[SYNC_COPY].count / 4) {
        struct change both[] = {{.kind = CHANGE_BATCH_COPIES}, {.kind = CHANGE_NO_SYNC}};
        struct prediction all = predict_changes(diagnosis, both, 2);
        if (all.applicable && all.gain > finding->recoverable) {
            finding_change(finding, CHANGE_NO_SYNC, (struct text){0}, 0);
            finding_take(diagnosis, finding, &all);
        }
    }
    if (finding->recoverable == 0) {
        int64_t held = facts->cause[CAUSE_COPY_CALL] + facts->cause[CAUSE_SYNC];
        finding_estimate(diagnosis, finding, cost(small) / 2 < held ? cost(small) / 2 : held);
        finding->confidence = CONFIDENCE_LOW;
    }
}

static void find_small(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct copy_facts *small = &facts->copies[COPIES_SMALL];
    size_t steps = diagnosis->source->step_count;
    char count[FORMAT_PLURAL_SIZE], each[FORMAT_SIZE] = "unknown size";
    char time[FORMAT_SIZE], change[FROM_TO_SIZE];
    /* a loop of copies may have been taken for the steps */
    bool many = small->count >= 4 * (steps ? steps : 2) ||
                (small->count >= 64 && 4 * small->call_time > diagnosis->verdict->time);
    if (!many || small->count == 0)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_SMALL_TRANSFERS, CONFIDENCE_HIGH);
    predict_small(diagnosis, finding);
    if (small->bytes >= small->count)
        format_bytes(small->bytes / small->count, each);
    int64_t mean = small->call_time / (int64_t)small->count;
    finding_summary(diagnosis, finding, "%s copies of %s on average%s%s%s",
                    format_count(small->count, count), each, mean ? ", " : "",
                    mean ? format_duration(mean, time) : "", mean ? " of host time each" : "");
    finding_gain(diagnosis, finding, "batched, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "A copy below 64 KiB takes longer to issue than to transfer, and often the host "
                  "waits for it.");
    add_directions(diagnosis, finding, COPIES_SMALL);
    finding_evidence(
        diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT}, "%s %s%s%s",
        format_plural(steps ? small->count / steps : small->count, "copy", "copies", count),
        per_step_text(diagnosis), small->call_time ? "; all calls and waits take " : "",
        small->call_time ? format_duration(small->call_time, time) : "");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--batch-copies", "%s",
                remedy_text(facts->framework, REMEDY_BATCH_COPIES));
    finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                "Create the data on the device, or keep it there between steps");
}

static const char *overlap_text(const struct diagnosis *diagnosis) {
    return diagnosis->source->step_count
               ? remedy_text(diagnosis->facts.framework, REMEDY_OVERLAP)
               : "Copy in chunks on a separate stream while kernels process the previous chunk";
}

/* Typical bytes per second of copies from pinned memory, by GPU generation: PCIe 5, 4 or 3 with 16
 * lanes, less protocol overhead. */
static double link_rate(const struct diagnosis *diagnosis) {
    uint32_t major = diagnosis->trace->device.compute_major[diagnosis->source->devices[0].id];
    return major >= 9 ? 50e9 : major == 8 ? 24e9 : 12e9;
}

/* Returns the gain of pinned memory; 0: not known. */
static int64_t find_pageable(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct copy_facts *pageable = &facts->copies[COPIES_PAGEABLE];
    char count[FORMAT_SIZE], moved[MOVED_SIZE], time[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (pageable->count == 0 ||
        (diagnosis->source->step_count && 4 * pageable->count < diagnosis->source->step_count))
        return 0;
    const struct prediction *pinned = predict_alone(diagnosis, CHANGE_PINNED);
    struct finding *finding = diagnose_add(diagnosis, FINDING_PAGEABLE, CONFIDENCE_HIGH);
    finding_change(finding, CHANGE_PINNED, (struct text){0}, 0);
    if (pinned->applicable) {
        finding_take(diagnosis, finding, pinned);
    } else { /* the rate of pinned copies was not measured */
        int64_t pinned_time = (int64_t)((double)pageable->bytes / link_rate(diagnosis) * 1e9);
        finding_estimate(diagnosis, finding,
                         cost(pageable) > pinned_time ? cost(pageable) - pinned_time : 0);
        finding->error = finding->recoverable / 4;
        finding->confidence = CONFIDENCE_MEDIUM;
        finding->change_count = 0;
    }
    finding_summary(diagnosis, finding, "%s %s from or to pageable memory (%s) %s %s",
                    format_count(pageable->count, count), pageable->count == 1 ? "copy" : "copies",
                    moved_text(pageable, moved), pageable->count == 1 ? "takes" : "take",
                    format_duration(cost(pageable), time));
    finding_gain(diagnosis, finding, "with pinned memory, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding, "%s",
                  framework_is_plain(facts->framework)
                      ? "A driver usually stages pageable memory through a pinned buffer of its "
                        "own: the data is copied twice."
                      : "The driver stages pageable memory through its own pinned buffer, and the "
                        "call blocks meanwhile: the copy does not overlap.");
    add_directions(diagnosis, finding, COPIES_PAGEABLE);
    finding_fix(diagnosis, finding, EFFORT_SETTING, "--pinned", "%s",
                remedy_text(facts->framework, REMEDY_PINNED));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--pinned --overlap-copies", "%s",
                overlap_text(diagnosis));
    return finding->recoverable;
}

/* Copies take more than half of the time even if they overlap with all kernels: the link is the
 * limit, unless most of the copies are pageable. */
static bool fills_link(const struct facts *facts, int64_t hidden) {
    return facts->copies[COPIES_PINNED].time > facts->copies[COPIES_PAGEABLE].time &&
           2 * (facts->exposed_copy - hidden) > facts->window;
}

static void describe_link(struct diagnosis *diagnosis, struct finding *finding) {
    const struct facts *facts = &diagnosis->facts;
    const struct copy_facts *pinned = &facts->copies[COPIES_PINNED];
    char part[FORMAT_SIZE], moved[MOVED_SIZE], busy[FORMAT_SIZE];
    finding->holds = true;
    finding_summary(diagnosis, finding,
                    "Exposed copies fill %s of the time (%s) and kernels %s: the link is the limit",
                    format_percent(share_of(facts->exposed_copy, facts->window), part),
                    moved_text(pinned, moved),
                    format_percent(share_of(facts->busy, facts->window), busy));
    finding_best_gain(diagnosis, finding, "with full overlap");
    finding_cause(diagnosis, finding,
                  "Transferring these bytes takes longer than the kernels run, so overlap cannot "
                  "hide the copies.");
    add_directions(diagnosis, finding, COPIES_PINNED);
    add_directions(diagnosis, finding, COPIES_PAGEABLE);
    finding_fix(
        diagnosis, finding, EFFORT_LINES, NULL,
        "Move fewer bytes: transfer smaller types (u8, bf16) and keep reused data (weights) "
        "on the device");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--overlap-copies", "%s",
                overlap_text(diagnosis));
    finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                "Do more work per transfer: a larger batch each time weights are copied");
}

static void find_exposed(struct diagnosis *diagnosis, int64_t pinned_gain) {
    const struct facts *facts = &diagnosis->facts;
    const struct copy_facts *pinned = &facts->copies[COPIES_PINNED];
    const struct copy_facts *pageable = &facts->copies[COPIES_PAGEABLE];
    char time[FORMAT_SIZE], all[FORMAT_SIZE], bytes[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (pinned->count + pageable->count == 0 || facts->exposed_copy == 0)
        return;
    const struct prediction *overlap = predict_alone(diagnosis, CHANGE_OVERLAP_COPIES);
    struct finding *finding = diagnose_add(diagnosis, FINDING_EXPOSED_TRANSFERS, CONFIDENCE_HIGH);
    finding_change(finding, CHANGE_OVERLAP_COPIES, (struct text){0}, 0);
    if (overlap->applicable) {
        finding_take(diagnosis, finding, overlap);
    } else {
        int64_t large = pinned->time + pageable->time;
        finding_estimate(diagnosis, finding,
                         facts->exposed_copy < large ? facts->exposed_copy : large);
        if (finding->recoverable > facts->busy)
            finding->recoverable = facts->busy; /* kernels cannot hide more than they run */
        finding->confidence = CONFIDENCE_MEDIUM;
        finding->change_count = 0;
    }
    if (fills_link(facts, finding->recoverable)) {
        describe_link(diagnosis, finding);
        return;
    }
    /* the replay of overlap assumes pinned memory; its gain belongs to the pageable finding */
    if (pinned_gain > finding->recoverable)
        pinned_gain = finding->recoverable;
    finding_estimate(diagnosis, finding, finding->recoverable - pinned_gain);
    int64_t whole = pinned->time + pageable->time;
    uint64_t known = pinned->bytes + pageable->bytes;
    finding_summary(
        diagnosis, finding, "Copies of %s take %s, of which %s does not overlap with kernels",
        known ? format_bytes(known, bytes) : "unknown size", format_duration(whole, all),
        format_duration(facts->exposed_copy < whole ? facts->exposed_copy : whole, time));
    finding_gain(diagnosis, finding, "%s, %s",
                 pinned_gain ? "once pinned, with overlap" : "with overlap",
                 from_to_after(diagnosis, pinned_gain, finding->recoverable, change));
    finding_cause(
        diagnosis, finding,
        "The copies are in the same stream as the kernels, or the host waits for them, so "
        "kernels start only after the copies.");
    add_directions(diagnosis, finding, COPIES_PINNED);
    add_directions(diagnosis, finding, COPIES_PAGEABLE);
    finding_fix(diagnosis, finding, EFFORT_LINES,
                pinned_gain ? "--pinned --overlap-copies" : "--overlap-copies", "%s",
                overlap_text(diagnosis));
    finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                "Move fewer bytes: transfer smaller types (u8, bf16), or keep the data on the "
                "device");
}

void diagnose_transfers(struct diagnosis *diagnosis) {
    find_small(diagnosis);
    find_exposed(diagnosis, find_pageable(diagnosis));
}
