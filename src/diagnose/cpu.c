/* Does work run on the CPU instead of the device? Long operators of a framework that launch nothing
 * while the device is idle; or a trace without GPU activity. */
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

/* An operator that launches nothing and is too long to be only overhead of one that does. */
static bool runs_on_cpu(const struct diagnosis *diagnosis, const struct range_group *group) {
    int64_t floor =
        20 * (diagnosis->facts.launch_call_time ? diagnosis->facts.launch_call_time : 5000);
    return group && group->category == RANGE_OP &&
           !name_is_input(trace_text(diagnosis->trace, group->name)) && group->activities == 0 &&
           group->count && group->host_self / (int64_t)group->count > floor;
}

static void find_operators(struct diagnosis *diagnosis) {
    const struct ranges *ranges = diagnosis->source->ranges;
    const struct range_group *top = NULL;
    int64_t time = 0, top_time = 0;
    char words[FORMAT_SIZE], change[FROM_TO_SIZE];
    for (size_t d = 0; d < diagnosis->source->device_count; d++) {
        const struct gap_names *names = &diagnosis->source->devices[d].gaps->host_names;
        for (size_t i = 0; i < names->count && i < 64; i++) {
            const struct range_group *group = group_of(ranges, names->list[i].name);
            if (!names->list[i].name || !runs_on_cpu(diagnosis, group) ||
                data_loading_range(diagnosis, group->name))
                continue;
            time += names->list[i].time;
            if (names->list[i].time > top_time) {
                top_time = names->list[i].time;
                top = group;
            }
        }
    }
    if (!top || 20 * time < diagnosis->verdict->time)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_ON_CPU, CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_HOST, trace_text(diagnosis->trace, top->name), 0);
    if (!finding_predict(diagnosis, finding)) {
        finding_estimate(diagnosis, finding, time);
        finding->change_count = 0;
    }
    struct text name = trace_text(diagnosis->trace, top->name);
    finding_summary(diagnosis, finding,
                    "The device is idle for %s while operators run on the CPU, largest: %.*s",
                    format_duration(time, words), TEXT_ARGS(name));
    finding_gain(diagnosis, finding, "without %.*s, %s",
                 TEXT_ARGS(finding->change_count ? name : TEXT("them")),
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "The operators launch no kernels: their tensors are probably in host memory.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_RANGE, .name = top->name},
                     "%.*s: %llu call%s, no kernel launched", TEXT_ARGS(name),
                     (unsigned long long)top->count, top->count == 1 ? "" : "s");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-host", "%s",
                remedy_text(diagnosis->facts.framework, REMEDY_TO_DEVICE));
}

/* The operator with the most host time; NULL: none has 5 % of the run. */
static const struct range_group *main_operator(const struct diagnosis *diagnosis) {
    const struct ranges *ranges = diagnosis->source->ranges;
    const struct range_group *top = NULL;
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->groups[i].category == RANGE_OP &&
            (!top || ranges->groups[i].host_self > top->host_self))
            top = &ranges->groups[i];
    return top && 20 * top->host_self >= diagnosis->verdict->time ? top : NULL;
}

static bool device_listed(const struct trace *trace) {
    for (size_t id = 1; id < trace->device.count; id++)
        if (trace->device.listed[id])
            return true;
    return false;
}

static void describe_operators(struct diagnosis *diagnosis, struct finding *finding,
                               const struct range_group *top) {
    struct text name = trace_text(diagnosis->trace, top->name);
    char time[FORMAT_SIZE];
    finding_summary(diagnosis, finding, "Of the operators on the CPU, %.*s takes the most time: %s",
                    TEXT_ARGS(name), format_duration(top->host_self, time));
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_RANGE, .name = top->name},
                     "%.*s: %s of host time (self)", TEXT_ARGS(name), time);
}

/* The functions with the most self time. */
static void describe_samples(struct diagnosis *diagnosis, struct finding *finding) {
    enum { FUNCTIONS = 3 };
    const struct samples *samples = diagnosis->source->samples;
    char time[FORMAT_SIZE], part[FORMAT_SIZE];
    const struct sample_function *top = &samples->functions[samples->by_own[0]];
    format_percent(samples_share(samples, top->own, top->own_samples), part);
    if (samples->weight > 0)
        finding_summary(
            diagnosis, finding, "The top function is %.*s with %s of %s CPU time (self)",
            TEXT_ARGS(top->function_text), part, format_duration(samples->weight, time));
    else
        finding_summary(diagnosis, finding,
                        "The top function is %.*s with %s of the samples (self)",
                        TEXT_ARGS(top->function_text), part);
    for (size_t i = 0; i < samples->function_count && i < FUNCTIONS; i++) {
        const struct sample_function *one = &samples->functions[samples->by_own[i]];
        bool python = sample_is_python(one); /* its name includes the file */
        if (one->own_samples == 0)
            break;
        format_percent(samples_share(samples, one->own, one->own_samples), part);
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_FUNCTION, .name = one->function},
            "%.*s%s%.*s%s: %s (self)", TEXT_ARGS(one->function_text), python ? "" : " (",
            TEXT_ARGS(python ? TEXT("") : one->module_text), python ? "" : ")", part);
    }
}

/* The framework with more than 5 % of the samples in its libraries, which could have used a device;
 * FRAMEWORK_CUDA: none. */
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

/* The trace has no GPU activity and no GPU API call: report the top operator or sampled function. A
 * GPU may have worked unrecorded. */
static void find_no_device(struct diagnosis *diagnosis) {
    const struct samples *samples = diagnosis->source->samples;
    const struct range_group *top = main_operator(diagnosis);
    bool listed = device_listed(diagnosis->trace), sampled = samples->function_count > 0;
    enum framework framework = top ? diagnosis->facts.framework : sampled_framework(samples);
    if (!top && !listed && !sampled)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_ON_CPU,
                                           listed && !sampled ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
    finding->decides = true;
    if (top)
        describe_operators(diagnosis, finding, top);
    else if (sampled)
        describe_samples(diagnosis, finding);
    else
        finding_summary(diagnosis, finding,
                        "The machine has a GPU, but no GPU activity was recorded");
    finding_cause(
        diagnosis, finding,
        "No GPU activity was recorded: the program does not use a GPU, or its GPU activity "
        "was not recorded.");
    if (sampled && !top && framework == FRAMEWORK_CUDA)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                    "See the functions under CPU samples, or the flame graph of the HTML page");
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
