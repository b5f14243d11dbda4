/* Does the host wait for the device inside the loop? A wait for a copy of data belongs to the copy
 * (transfers.c); what is left are waits for their own sake, and those for a value that the program
 * looks at: a few bytes to the host, then a synchronisation. One at the end of a run is none. */
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* The site with most time among those of the waiting call's name. */
static struct text sync_site(const struct diagnosis *diagnosis, uint32_t call) {
    const struct syncs *syncs = diagnosis->source->syncs;
    uint32_t name = diagnosis->trace->call.name[call];
    for (size_t i = 0; i < syncs->site_count; i++)
        if (syncs->sites[i].call == name && syncs->sites[i].range_text.length)
            return syncs->sites[i].range_text;
    return (struct text){0};
}

static void add_evidence(struct diagnosis *diagnosis, struct finding *finding,
                         const struct sync_facts *syncs, const char *what) {
    const struct trace *trace = diagnosis->trace;
    char count[FORMAT_SIZE], time[FORMAT_SIZE];
    if (syncs->count == 0)
        return;
    struct text name = trace_text(trace, trace->call.name[syncs->call]);
    struct text site = sync_site(diagnosis, syncs->call);
    finding_evidence(
        diagnosis, finding,
        (struct evidence){.kind = EVIDENCE_CALL,
                          .name = trace->call.name[syncs->call],
                          .start = trace->call.start[syncs->call],
                          .end = model_call_end(diagnosis->source->model, syncs->call)},
        "%.*s%s: %s %s, %s%s%.*s", TEXT_ARGS(name), what, format_count(syncs->count, count),
        syncs->count == 1 ? "time" : "times", format_duration(syncs->time, time),
        site.length ? ", inside " : "", TEXT_ARGS(site));
}

/* The part of the waits that is the loop's in a run without steps. */
static double steady_sync_fraction(const struct facts *facts) {
    int64_t counts[QUARTERS], all = 0;
    for (unsigned quarter = 0; quarter < QUARTERS; quarter++) {
        counts[quarter] = (int64_t)facts->quarter_calls[CALL_SYNC][quarter];
        all += counts[quarter];
    }
    return all ? steady_fraction(counts, 1, all) : 1; /* blocking copies alone */
}

void diagnose_sync(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct sync_facts *plain = &facts->syncs[SYNC_PLAIN];
    const struct sync_facts *scalar = &facts->syncs[SYNC_SCALAR];
    const struct sync_facts *copies = &facts->syncs[SYNC_COPY];
    size_t steps = diagnosis->source->step_count;
    uint64_t count = plain->count + scalar->count;
    char number[FORMAT_SIZE], time[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (count < 3 || (steps && 3 * count < steps))
        return; /* once in many steps is how it should be */
    const struct prediction *without = predict_alone(diagnosis, CHANGE_NO_SYNC);
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_SYNC_IN_LOOP, steps ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_SYNC, (struct text){0}, 0);
    if (without->applicable) {
        finding_take(diagnosis, finding, without);
    } else {
        finding_estimate(diagnosis, finding, facts->cause[CAUSE_SYNC]);
        finding->confidence = CONFIDENCE_MEDIUM;
        finding->change_count = 0;
    }
    int64_t own = plain->time + scalar->time;
    if (steps == 0) /* a start waits as well, more often than long: by count */
        finding->recoverable =
            (int64_t)((double)finding->recoverable * steady_sync_fraction(facts));
    if (copies->time > own / 8) /* the prediction took those out as well */
        finding->recoverable =
            (int64_t)((double)finding->recoverable * share_of(own, own + copies->time));
    const struct sync_facts *most = scalar->time > plain->time ? scalar : plain;
    struct text name = trace_text(diagnosis->trace, diagnosis->trace->call.name[most->call]);
    struct text site = sync_site(diagnosis, most->call);
    finding_summary(diagnosis, finding,
                    "%s waits in the loop (%.*s%s%.*s%s) hold the host for %s; without them %s",
                    format_count(count, number), TEXT_ARGS(name), site.length ? " in " : "",
                    TEXT_ARGS(site), scalar->count > plain->count ? ", to read a value" : "",
                    format_duration(own, time), from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding, "%s",
                  scalar->count > plain->count
                      ? "The program looks at a value of the device in every turn (.item(), "
                        "nonzero, if on a tensor): the host waits for it, and the device "
                        "then waits for the host's next launch."
                      : "The host waits until the device has finished; when it goes on, the "
                        "device has nothing to do until the next launch arrives.");
    add_evidence(diagnosis, finding, plain, "");
    add_evidence(diagnosis, finding, scalar, " after copying a few bytes to the host");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-sync", "%s",
                remedy_text(facts->framework, REMEDY_NO_SYNC));
    finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                "Decide on the device what the value decides (masks, conditional graph nodes)");
}
