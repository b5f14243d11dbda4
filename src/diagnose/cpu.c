/* Does work run on the CPU that belongs on the device? Operators of a framework that take the host
 * long and launch nothing, while a device is there and waits; or a trace without GPU activity. */
#include "base/array.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"
#include "whatif/names.h"

static const struct range_group *group_of(const struct ranges *ranges, uint32_t name) {
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->groups[i].name == name)
            return &ranges->groups[i];
    return NULL;
}

/* An operator that launches nothing and is too long to be only the way to one that does. */
static bool runs_on_cpu(const struct diagnosis *diagnosis, const struct range_group *group) {
    int64_t floor =
        20 * (diagnosis->facts.launch_call_time ? diagnosis->facts.launch_call_time : 5000);
    return group && group->category == RANGE_OP &&
           !name_is_input(trace_text(diagnosis->trace, group->name)) && group->activities == 0 &&
           group->count && group->host_self / (int64_t)group->count > floor;
}

static void find_operators(struct diagnosis *diagnosis) {
    const struct ranges *ranges = diagnosis->source->ranges;
    const struct range_group *most = NULL;
    int64_t time = 0, most_time = 0;
    char words[FORMAT_SIZE], change[FROM_TO_SIZE];
    for (size_t d = 0; d < diagnosis->source->device_count; d++) {
        const struct gap_names *names = &diagnosis->source->devices[d].gaps->host_names;
        for (size_t i = 0; i < names->count && i < 64; i++) {
            const struct range_group *group = group_of(ranges, names->list[i].name);
            if (!names->list[i].name || !runs_on_cpu(diagnosis, group) ||
                data_loading_range(diagnosis, group->name))
                continue;
            time += names->list[i].time;
            if (names->list[i].time > most_time) {
                most_time = names->list[i].time;
                most = group;
            }
        }
    }
    if (!most || 20 * time < diagnosis->verdict->time)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_ON_CPU, CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_HOST, trace_text(diagnosis->trace, most->name), 0);
    if (!finding_predict(diagnosis, finding)) {
        finding_estimate(diagnosis, finding, time);
        finding->change_count = 0;
    }
    struct text name = trace_text(diagnosis->trace, most->name);
    finding_summary(diagnosis, finding,
                    "The device waits %s for operators that run on the CPU, most of all %.*s; "
                    "without them %s",
                    format_duration(time, words), TEXT_ARGS(name),
                    from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Their tensors are in the host's memory, so the framework computes them there.");
    finding_evidence(
        diagnosis, finding, (struct evidence){.kind = EVIDENCE_RANGE, .name = most->name},
        "%.*s: %llu times, launches nothing", TEXT_ARGS(name), (unsigned long long)most->count);
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-host", "%s",
                remedy_text(diagnosis->facts.framework, REMEDY_TO_DEVICE));
}

/* The framework's operator that had most of the host's time; NULL: none had a notable part. */
static const struct range_group *main_operator(const struct diagnosis *diagnosis) {
    const struct ranges *ranges = diagnosis->source->ranges;
    const struct range_group *most = NULL;
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->groups[i].category == RANGE_OP &&
            (!most || ranges->groups[i].host_self > most->host_self))
            most = &ranges->groups[i];
    return most && 20 * most->host_self >= diagnosis->verdict->time ? most : NULL;
}

static bool device_listed(const struct trace *trace) {
    for (size_t id = 1; id < trace->device.count; id++)
        if (trace->device.listed[id])
            return true;
    return false;
}

static void describe_operators(struct diagnosis *diagnosis, struct finding *finding,
                               const struct range_group *most) {
    struct text name = trace_text(diagnosis->trace, most->name);
    char time[FORMAT_SIZE];
    finding_summary(diagnosis, finding,
                    "No GPU activity was recorded; operators ran on the CPU, %.*s for %s",
                    TEXT_ARGS(name), format_duration(most->host_self, time));
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_RANGE, .name = most->name},
                     "%.*s: %s of the host's own time", TEXT_ARGS(name), time);
}

/* The functions with the most CPU time. */
static void describe_samples(struct diagnosis *diagnosis, struct finding *finding) {
    enum { FUNCTIONS = 3 };
    const struct samples *samples = diagnosis->source->samples;
    char time[FORMAT_SIZE], part[FORMAT_SIZE];
    const struct sample_function *most = &samples->functions[samples->by_own[0]];
    format_percent(samples_share(samples, most->own, most->own_samples), part);
    if (samples->weight > 0)
        finding_summary(
            diagnosis, finding,
            "No GPU activity was recorded; of %s of CPU time %s was in %.*s itself, the most of "
            "all functions",
            format_duration(samples->weight, time), part, TEXT_ARGS(most->function_text));
    else
        finding_summary(diagnosis, finding,
                        "No GPU activity was recorded; %s of the samples are in %.*s itself, the "
                        "most of all functions",
                        part, TEXT_ARGS(most->function_text));
    for (size_t i = 0; i < samples->function_count && i < FUNCTIONS; i++) {
        const struct sample_function *one = &samples->functions[samples->by_own[i]];
        bool python = sample_is_python(one); /* its name says where it is */
        if (one->own_samples == 0)
            break;
        format_percent(samples_share(samples, one->own, one->own_samples), part);
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_FUNCTION, .name = one->function},
            "%.*s%s%.*s%s: %s by itself", TEXT_ARGS(one->function_text), python ? "" : " (",
            TEXT_ARGS(python ? TEXT("") : one->module_text), python ? "" : ")", part);
    }
}

/* The framework whose libraries the processors were in for a notable part, and which could have
 * used a device; FRAMEWORK_CUDA: none of them. */
static enum framework sampled_framework(const struct samples *samples) {
    static const struct {
        const char *library;
        enum framework framework;
    } libraries[] = {{"libtorch", FRAMEWORK_TORCH},
                     {"xla_extension", FRAMEWORK_JAX},
                     {"libjax", FRAMEWORK_JAX},
                     {"libmlx", FRAMEWORK_METAL}};
    for (size_t k = 0; k < ARRAY_COUNT(libraries); k++) {
        uint64_t inside = 0, all = 0;
        for (size_t i = 0; i < samples->function_count; i++) {
            all += samples->functions[i].self_samples;
            if (text_find(samples->functions[i].module_text, libraries[k].library) >= 0)
                inside += samples->functions[i].self_samples;
        }
        if (20 * inside > all)
            return libraries[k].framework;
    }
    return FRAMEWORK_CUDA;
}

/* No GPU activity and no GPU API call is in the trace: the operators of a framework, or the
 * functions that were sampled, say where the work was. Whether a GPU did some of it unrecorded is
 * not known. */
static void find_no_device(struct diagnosis *diagnosis) {
    const struct samples *samples = diagnosis->source->samples;
    const struct range_group *most = main_operator(diagnosis);
    bool listed = device_listed(diagnosis->trace), sampled = samples->function_count > 0;
    enum framework framework = most ? diagnosis->facts.framework : sampled_framework(samples);
    if (!most && !listed && !sampled)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_ON_CPU,
                                           listed && !sampled ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
    finding->decides = true;
    if (most)
        describe_operators(diagnosis, finding, most);
    else if (sampled)
        describe_samples(diagnosis, finding);
    else
        finding_summary(diagnosis, finding,
                        "The machine has a GPU, but no GPU activity was recorded");
    finding_cause(diagnosis, finding,
                  "The program does not use a GPU, or its GPU activity was not recorded.");
    if (sampled && !most && framework == FRAMEWORK_CUDA)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                    "Look at the functions under CPU samples, or at the page's flame graph");
    else
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "%s",
                    remedy_text(framework, REMEDY_TO_DEVICE));
}

void diagnose_cpu(struct diagnosis *diagnosis) {
    if (diagnosis->source->device_count > 0)
        find_operators(diagnosis);
    else if (diagnosis->facts.recorded.activities == 0 && !kernels_are_missing(&diagnosis->facts))
        find_no_device(diagnosis);
}
