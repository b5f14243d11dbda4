/* Does the device communicate while it could compute? Collectives that no compute kernel hides are
 * the account's exposed communication. Their sizes come from the arguments that torch.profiler
 * records; with several devices in the trace, the shortest of the kernels of one collective moves
 * data and the others also wait for it. */
#include "analysis/communication.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* A collective below this size takes as long as its latency on the links of today. */
enum { SMALL_MESSAGE = 1 << 20 };

struct traffic {
    uint64_t count, known; /* collectives; with known size */
    int64_t known_time;
    double bytes, link_bytes;
    uint64_t small_count;
    int64_t small_time;
    double small_bytes;
    double best_rate;  /* bytes per second of the fastest large collective; 0: there is none */
    uint32_t top_name; /* string id of the kernel with the most time */
    int64_t top_time;
    uint64_t ranks;
    bool gathers; /* all-gather or reduce-scatter: sharded parameters */
};

static void add_message(struct traffic *traffic, const struct message *message, int64_t duration) {
    if (message->bytes == 0 || duration <= 0)
        return;
    double rate = (double)message->bytes / (double)duration * 1e9;
    traffic->known++;
    traffic->known_time += duration;
    traffic->bytes += (double)message->bytes;
    traffic->link_bytes += message_link_bytes(message);
    traffic->ranks = MAX(traffic->ranks, message->ranks);
    traffic->gathers |= text_find(message->operation, "gather") >= 0 ||
                        text_find(message->operation, "scatter") >= 0;
    if (message->bytes < SMALL_MESSAGE) {
        traffic->small_count++;
        traffic->small_time += duration;
        traffic->small_bytes += (double)message->bytes;
    } else if (rate > traffic->best_rate) {
        traffic->best_rate = rate;
    }
}

static void find_traffic(struct diagnosis *diagnosis, struct traffic *traffic) {
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    const struct diagnose_device *device = &diagnosis->source->devices[0];
    int64_t *by_name =
        memory_allocate(trace->strings.count + 1, sizeof *by_name, diagnosis->status);
    diagnosis->failed |=
        !by_name || !trace_load(diagnosis->trace, TABLE_ACTIVITY, "detail", diagnosis->status);
    for (size_t i = model->device_first[device->id];
         !diagnosis->failed && i < model->device_first[device->id + 1]; i++) {
        struct message message;
        uint32_t name = trace->activity.name[i];
        if (!model_communicates(model, i) ||
            !selection_contains(device->selection, trace->activity.start[i]))
            continue;
        traffic->count++;
        by_name[name] += trace->activity.duration[i];
        if (by_name[name] > traffic->top_time) {
            traffic->top_time = by_name[name];
            traffic->top_name = name;
        }
        if (message_read(trace_text(trace, trace->activity.detail[i]), &message))
            add_message(traffic, &message, trace->activity.duration[i]);
    }
    memory_free(by_name);
    trace_unload(diagnosis->trace, TABLE_ACTIVITY, "detail");
}

static double link_limit(const struct diagnosis *diagnosis) {
    uint32_t name = diagnosis->trace->device.name[diagnosis->source->devices[0].id];
    return device_link_limit(trace_text(diagnosis->trace, name));
}

static void add_traffic(struct diagnosis *diagnosis, struct finding *finding,
                        const struct traffic *traffic) {
    char count[FORMAT_PLURAL_SIZE], bytes[FORMAT_SIZE], rate[FORMAT_SIZE], link[FORMAT_SIZE];
    char limit[FORMAT_SIZE], name[NAME_SIZE], time[FORMAT_SIZE];
    if (traffic->top_name)
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_KERNEL, .name = traffic->top_name},
                         "%s is the largest: %s", short_kernel(diagnosis, traffic->top_name, name),
                         format_duration(traffic->top_time, time));
    if (traffic->known == 0)
        return;
    double seconds = (double)traffic->known_time / 1e9, published = link_limit(diagnosis);
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                     "%s with known size: %s at %s (algorithm bandwidth)",
                     format_plural(traffic->known, "collective", "collectives", count),
                     format_bytes((uint64_t)traffic->bytes, bytes),
                     format_rate(traffic->bytes / seconds, rate));
    if (traffic->link_bytes > 0 && published > 0)
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
            "Each device sends %s (ring algorithm, %llu ranks); the published limit of "
            "its links inside one machine is %s",
            format_rate(traffic->link_bytes / seconds, link), (unsigned long long)traffic->ranks,
            format_rate(published, limit));
}

/* Compute kernels can hide no more communication than the time in which they run alone. */
static int64_t hideable(const struct diagnosis *diagnosis) {
    const struct account *account = diagnosis->source->devices[0].account;
    int64_t hidden = account->communication_union - account->exposed_communication;
    int64_t alone = account->busy - hidden;
    return MIN(alone, account->exposed_communication);
}

static void find_exposed(struct diagnosis *diagnosis, const struct traffic *traffic) {
    const struct facts *facts = &diagnosis->facts;
    const struct account *account = diagnosis->source->devices[0].account;
    char part[FORMAT_SIZE], of[FORMAT_SIZE], all[FORMAT_SIZE];
    int64_t gain = hideable(diagnosis);
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_EXPOSED_COMMUNICATION, CONFIDENCE_MEDIUM);
    finding_estimate(diagnosis, finding, gain);
    finding->error = finding->recoverable / 2;
    finding->decides = 5 * facts->exposed_communication > facts->window;
    finding_summary(diagnosis, finding,
                    "Collectives run for %s, of which %s (%s of the time) does not overlap with "
                    "compute kernels",
                    format_duration(account->communication_union, all),
                    format_duration(facts->exposed_communication, of),
                    format_percent(share_of(facts->exposed_communication, facts->window), part));
    finding_best_gain(diagnosis, finding, "with full overlap");
    finding_cause(diagnosis, finding, "%s",
                  2 * gain < facts->exposed_communication
                      ? "Communication takes longer than the compute kernels that could hide it."
                      : "The device waits for communication before it computes further, though "
                        "compute kernels run for long enough to hide it.");
    add_traffic(diagnosis, finding, traffic);
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "%s",
                remedy_text(facts->framework, REMEDY_OVERLAP_COLLECTIVES));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Send fewer bytes: reduce gradients in bf16, accumulate gradients over several "
                "batches (no_sync() between them)");
    if (traffic->gathers)
        finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                    "Shard over fewer devices (hybrid sharding inside one machine)");
}

/* What small collectives cost above the rate of the large ones. */
static void find_small(struct diagnosis *diagnosis, const struct traffic *traffic) {
    const struct facts *facts = &diagnosis->facts;
    const struct account *account = diagnosis->source->devices[0].account;
    char count[FORMAT_SIZE], all[FORMAT_SIZE], time[FORMAT_SIZE], change[FROM_TO_SIZE];
    char bytes[FORMAT_SIZE];
    size_t steps = MAX(diagnosis->source->step_count, 1);
    if (traffic->small_count < 4 * steps || traffic->best_rate <= 0)
        return;
    double excess = (double)traffic->small_time - traffic->small_bytes / traffic->best_rate * 1e9;
    double exposed = share_of(account->exposed_communication, account->communication_union);
    if (excess <= 0)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_SMALL_MESSAGES, CONFIDENCE_MEDIUM);
    /* concurrent collectives cost their time once */
    double most = (double)account->exposed_communication * excess / (double)traffic->small_time;
    finding_estimate(diagnosis, finding, (int64_t)MIN(excess * exposed, most));
    finding->error = finding->recoverable / 2;
    finding_summary(
        diagnosis, finding, "%s of %s collectives have less than 1 MiB, %s on average, and take %s",
        format_count(traffic->small_count, count), format_count(traffic->count, all),
        format_bytes((uint64_t)(traffic->small_bytes / (double)traffic->small_count), bytes),
        format_duration(traffic->small_time, time));
    finding_gain(diagnosis, finding, "combined, at the rate of the large ones, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "A small collective takes as long as its latency: its bytes hardly matter.");
    add_traffic(diagnosis, finding, traffic);
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL, "%s",
                remedy_text(facts->framework, REMEDY_LARGER_MESSAGES));
}

/* ---- waiting for other devices ---- */

struct collective_times {
    int64_t *duration;
    size_t count;
};

static void collect_times(struct diagnosis *diagnosis, const struct diagnose_device *device,
                          struct collective_times *times) {
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    size_t first = model->device_first[device->id], end = model->device_first[device->id + 1];
    times->duration = memory_allocate(end - first + 1, sizeof *times->duration, diagnosis->status);
    diagnosis->failed |= !times->duration;
    for (size_t i = first; !diagnosis->failed && i < end; i++)
        if (model_communicates(model, i) &&
            selection_contains(device->selection, trace->activity.start[i]))
            times->duration[times->count++] = trace->activity.duration[i];
}

/* Time that the judged device waits in its collectives: what they take beyond the shortest kernel
 * of the same collective on another device. -1: not known, the devices do not run the same ones. */
static int64_t find_waiting(struct diagnosis *diagnosis) {
    const struct diagnose_source *whole = diagnosis->whole;
    struct collective_times own = {0};
    int64_t waiting = 0;
    size_t peers = 0;
    collect_times(diagnosis, &diagnosis->source->devices[0], &own);
    int64_t *shortest = memory_allocate(own.count + 1, sizeof *shortest, diagnosis->status);
    diagnosis->failed |= !shortest;
    for (size_t k = 0; !diagnosis->failed && k < own.count; k++)
        shortest[k] = own.duration[k];
    for (size_t i = 0; !diagnosis->failed && i < whole->device_count; i++) {
        struct collective_times other = {0};
        if (whole->devices[i].id == diagnosis->source->devices[0].id)
            continue;
        collect_times(diagnosis, &whole->devices[i], &other);
        peers += other.count == own.count;
        for (size_t k = 0; other.count == own.count && k < own.count; k++)
            shortest[k] = MIN(shortest[k], other.duration[k]);
        memory_free(other.duration);
    }
    for (size_t k = 0; !diagnosis->failed && k < own.count; k++)
        waiting += own.duration[k] - shortest[k];
    memory_free(own.duration);
    memory_free(shortest);
    return peers ? waiting : -1;
}

static void find_imbalance(struct diagnosis *diagnosis, const struct traffic *traffic) {
    const struct account *account = diagnosis->source->devices[0].account;
    char time[FORMAT_SIZE], part[FORMAT_SIZE];
    if (diagnosis->whole->device_count < 2)
        return;
    int64_t waiting = find_waiting(diagnosis);
    if (waiting <= 0 || diagnosis->failed)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_RANK_IMBALANCE, CONFIDENCE_MEDIUM);
    finding_estimate(diagnosis, finding, MIN(waiting, account->exposed_communication));
    finding->error = finding->recoverable / 2;
    finding_summary(diagnosis, finding,
                    "%s of the time in collectives (%s) is waiting for other devices of the trace",
                    format_percent(share_of(waiting, account->communication_sum), part),
                    format_duration(waiting, time));
    finding_best_gain(diagnosis, finding, "with balanced devices");
    finding_cause(diagnosis, finding,
                  "A collective ends when the last device has joined it. The shortest kernel of a "
                  "collective moves data, the others wait first.");
    add_traffic(diagnosis, finding, traffic);
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Give every device the same work: equal batches and sequence lengths (sort or "
                "bucket by length), and no logging or checkpoints on one rank alone");
}

void diagnose_communication(struct diagnosis *diagnosis) {
    struct traffic traffic = {0};
    if (diagnosis->source->device_count == 0 || diagnosis->facts.exposed_communication <= 0)
        return;
    find_traffic(diagnosis, &traffic);
    if (diagnosis->failed)
        return;
    find_exposed(diagnosis, &traffic);
    find_small(diagnosis, &traffic);
    find_imbalance(diagnosis, &traffic);
}
