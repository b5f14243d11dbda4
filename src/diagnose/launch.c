/* Can the host launch as fast as the device finishes? And which chains of small kernels could be
 * fused? */
#include <stdio.h>

#include "analysis/kernel_class.h"
#include "base/map.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"
#include "whatif/names.h"

/* Idle time while the host is in launch calls or in its own code. */
static int64_t launch_idle(const struct facts *facts) {
    return facts->cause[CAUSE_LAUNCH] + facts->cause[CAUSE_HOST];
}

/* Launch calls for the judged device; a process may launch on several. */
static uint64_t launch_calls(const struct diagnosis *diagnosis) {
    return diagnosis->whole->device_count > 1 ? diagnosis->source->devices[0].launches->calls
                                              : diagnosis->facts.calls[CALL_LAUNCH];
}

/* Mean idle time for each launch. */
static int64_t idle_per_launch(const struct diagnosis *diagnosis) {
    uint64_t launches = launch_calls(diagnosis);
    return launches ? launch_idle(&diagnosis->facts) / (int64_t)launches : 0;
}

static void describe_launches(struct diagnosis *diagnosis, struct finding *finding,
                              const char *graphs) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    char count[FORMAT_PLURAL_SIZE], call[FORMAT_SIZE], kernel[FORMAT_SIZE], change[FROM_TO_SIZE];
    char each[FORMAT_SIZE], median[FORMAT_SIZE + 40] = "";
    int64_t mean = kernels->count ? kernels->total_time / (int64_t)kernels->count : 0;
    int64_t apart = idle_per_launch(diagnosis);
    if (facts->launch_call_time)
        snprintf(median, sizeof median, ", %sa launch call takes %s (median)", graphs ? "and " : "",
                 format_duration(facts->launch_call_time, call));
    if (graphs)
        finding_summary(diagnosis, finding, "Kernels run for %s on average%s",
                        format_duration(mean, kernel), median);
    else
        finding_summary(diagnosis, finding, "%s; kernels run for %s on average%s",
                        format_plural(launch_calls(diagnosis), "launch", "launches", count),
                        format_duration(mean, kernel), median);
    if (graphs)
        finding_gain(diagnosis, finding, "%s, %s", graphs,
                     from_to(diagnosis, finding->recoverable, change));
    else
        finding_best_gain(diagnosis, finding, "without the gaps between launches");
    finding_cause(diagnosis, finding,
                  "On average a kernel runs for %s, then the device waits %s for the next launch.",
                  kernel, format_duration(apart, each));
}

/* A graph also gains where launching is not the problem, because the host gets to its other work
 * sooner. Then gaps are few and long; a launch-bound device has many short ones. */
static enum confidence confidence_in_graph(const struct facts *facts, int64_t gain) {
    double part = share_of(facts->short_idle, gain);
    return part > 0.6 ? CONFIDENCE_HIGH : part > 0.3 ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

static void find_launches(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    char time[FORMAT_SIZE], part[FORMAT_SIZE];
    if (kernels->count < 4 || facts->calls[CALL_LAUNCH] < 4 || idle_per_launch(diagnosis) == 0 ||
        kernels->total_time < (int64_t)kernels->count)
        return; /* the device does not wait for launches, or the trace has no durations */
    const struct prediction *graph = predict_alone(diagnosis, CHANGE_GRAPH);
    if (!graph->applicable && 2 * facts->graph_kernels > kernels->count)
        return; /* most kernels are in graphs already */
    bool waits = 4 * facts->syncs[SYNC_PLAIN].count > facts->calls[CALL_LAUNCH];
    if (!graph->applicable && waits)
        return; /* remove the synchronizations first */
    struct finding *finding = diagnose_add(diagnosis, FINDING_LAUNCH_BOUND, CONFIDENCE_HIGH);
    finding_change(finding, CHANGE_GRAPH, (struct text){0}, 0);
    const char *graphs = NULL; /* "1,200 launches become 20 graphs" */
    if (graph->applicable && (4 * graph->gain > facts->short_idle || waits)) {
        finding_take(diagnosis, finding, graph);
        finding->confidence = confidence_in_graph(facts, graph->gain);
        graphs = graph->what;
        /* a host that launches less also waits less, which is not a cost of launching */
        if (finding->recoverable > launch_idle(facts) + facts->cause[CAUSE_DEVICE] &&
            finding->confidence > CONFIDENCE_LOW)
            finding->confidence--;
    } else { /* launches one by one between allocations, copies and waits form no graph */
        int64_t idle = launch_idle(facts);
        finding_estimate(diagnosis, finding, idle < facts->short_idle ? idle : facts->short_idle);
        finding->confidence = graph->applicable ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM;
        finding->change_count = 0;
    }
    describe_launches(diagnosis, finding, graphs);
    if (launch_idle(facts) > 0)
        finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_GAP},
                         "The device is idle for %s while the host is in launch calls or between "
                         "them",
                         format_duration(launch_idle(facts), time));
    if (facts->launch_cost && kernels->short_count)
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
            "%s of the kernels are shorter than the launch cost of %s",
            format_percent((double)kernels->short_count / (double)kernels->count, part),
            format_duration(facts->launch_cost, time));
    if (graphs)
        finding_fix(diagnosis, finding, EFFORT_LINES, "--graph", "%s",
                    remedy_text(facts->framework, REMEDY_GRAPH));
    if (predict_alone(diagnosis, CHANGE_FUSE)->applicable)
        finding_fix(diagnosis, finding, EFFORT_LINES, "--fuse", "%s",
                    remedy_text(facts->framework, REMEDY_FUSE));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--batch 2", "%s",
                remedy_text(facts->framework, REMEDY_BATCH));
}

/* ---- chains ---- */

/* A maximal run of element-wise kernels in one queue. */
enum { CHAIN_NAMES = 6 };
struct chain {
    uint32_t names[CHAIN_NAMES];
    size_t length;
    uint64_t hash;
    int64_t start, end;
};
struct chains {
    struct map counts; /* by hash */
    struct chain top;  /* the one with the most kernels in all its occurrences */
    uint64_t top_count, count, kernels;
};

static void end_chain(struct diagnosis *diagnosis, struct chains *chains, struct chain *chain) {
    if (chain->length >= 2) {
        uint64_t *seen = map_find(&chains->counts, chain->hash);
        uint64_t count = seen ? *seen + 1 : 1;
        if (!map_set(&chains->counts, chain->hash, count, diagnosis->status))
            diagnosis->failed = true;
        chains->count++;
        chains->kernels += chain->length;
        if (count * chain->length > chains->top_count * chains->top.length) {
            chains->top = *chain;
            chains->top_count = count;
        }
    }
    chain->length = 0;
    chain->hash = 0xCBF29CE484222325u;
}

static void find_chains(struct diagnosis *diagnosis, struct chains *chains) {
    const struct diagnose_source *source = diagnosis->source;
    const struct trace *trace = diagnosis->trace;
    for (size_t d = 0; d < source->device_count; d++) {
        struct chain chain = {.hash = 0xCBF29CE484222325u};
        uint32_t queue = 0, id = source->devices[d].id;
        for (size_t i = source->model->device_first[id]; i < source->model->device_first[id + 1];
             i++) {
            uint32_t name = trace->activity.name[i];
            bool member =
                trace->activity.kind[i] == ACTIVITY_KERNEL &&
                selection_contains(source->devices[d].selection, trace->activity.start[i]) &&
                kernel_elementwise_inputs(trace_text(trace, name)) > 0;
            if (!member || trace->activity.queue[i] != queue)
                end_chain(diagnosis, chains, &chain);
            queue = trace->activity.queue[i];
            if (!member)
                continue;
            if (chain.length == 0)
                chain.start = trace->activity.start[i];
            if (chain.length < CHAIN_NAMES)
                chain.names[chain.length] = name;
            chain.length++;
            chain.hash = (chain.hash ^ name) * 0x100000001B3u;
            chain.end = model_activity_end(source->model, i);
        }
        end_chain(diagnosis, chains, &chain);
    }
}

static void add_chain(struct diagnosis *diagnosis, struct finding *finding,
                      const struct chains *chains) {
    struct buffer words = {0};
    char name[NAME_SIZE], count[FORMAT_SIZE];
    size_t shown = chains->top.length < CHAIN_NAMES ? chains->top.length : CHAIN_NAMES;
    for (size_t i = 0; i < shown; i++)
        buffer_printf(&words, "%s%s", i ? ", " : "",
                      short_kernel(diagnosis, chains->top.names[i], name));
    if (shown < chains->top.length)
        buffer_printf(&words, " and %zu more", chains->top.length - shown);
    struct text list = buffer_as_text(&words);
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL,
                                       .name = chains->top.names[0],
                                       .start = chains->top.start,
                                       .end = chains->top.end},
                     "This chain runs %s%s: %.*s",
                     chains->top_count == 1 ? "once" : format_count(chains->top_count, count),
                     chains->top_count == 1 ? "" : " times", TEXT_ARGS(list));
    diagnosis->failed |= !buffer_ok(&words, diagnosis->status);
    buffer_finish(&words);
}

/* On an idle device, fusion saves launches. On a device that is busy with large kernels it saves
 * memory traffic; that is the memory-bound finding (kernels.c). */
static void find_tiny(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    char count[FORMAT_SIZE], in_chains[FORMAT_SIZE], change[FROM_TO_SIZE];
    struct chains chains = {0};
    if (kernels->count < 8 || 2 * kernels->short_count < kernels->count ||
        kernels->count < 2 * diagnosis->source->step_count)
        return;
    const struct prediction *fused = predict_alone(diagnosis, CHANGE_FUSE);
    if (!fused->applicable)
        return;
    find_chains(diagnosis, &chains);
    if (chains.count) {
        bool is_idle = launch_idle(facts) > facts->window / 8;
        struct finding *finding = diagnose_add(diagnosis, FINDING_TINY_KERNELS,
                                               is_idle ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
        finding_change(finding, CHANGE_FUSE, (struct text){0}, 0);
        finding_take(diagnosis, finding, fused);
        finding_summary(diagnosis, finding,
                        "%s of %s kernels are element-wise and in chains that could be fused",
                        format_count(chains.kernels, in_chains),
                        format_count(kernels->count, count));
        finding_gain(diagnosis, finding, "with one kernel per chain, %s",
                     from_to(diagnosis, finding->recoverable, change));
        finding_cause(diagnosis, finding,
                      "Each small operation is a separate kernel: it costs a launch and a round "
                      "trip to memory for every intermediate value.");
        add_chain(diagnosis, finding, &chains);
        finding_fix(diagnosis, finding, EFFORT_LINES, "--fuse", "%s",
                    remedy_text(facts->framework, REMEDY_FUSE));
        finding_fix(diagnosis, finding, EFFORT_LINES, "--graph", "%s",
                    remedy_text(facts->framework, REMEDY_GRAPH));
    }
    map_finish(&chains.counts);
}

/* Metal's own label of an encoder; Instruments has no names of kernels without the shader
 * timeline. */
#define METAL_ENCODER "Compute Command"

static bool is_unnamed(const struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    const struct kernels *kernels = source->device_count ? source->devices[0].kernels : NULL;
    int64_t unnamed = 0;
    for (size_t i = 0; kernels && i < kernels->group_count; i++)
        if (text_find(kernels->groups[i].short_name, METAL_ENCODER) >= 0)
            unnamed += kernels->groups[i].total;
    return kernels && 2 * unnamed > kernels->total;
}

/* Many short encoders one after another are what a framework without fusion does, also where the
 * GPU looks busy. Whether they can be fused is not known without their names. */
static void find_short_encoders(struct diagnosis *diagnosis) {
    enum { ENCODERS_MIN = 4, SHORT_NS = 100000 };
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    size_t steps = diagnosis->source->step_count ? diagnosis->source->step_count : 1;
    int64_t mean = kernels->count ? kernels->total_time / (int64_t)kernels->count : 0;
    char count[FORMAT_SIZE], each[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (facts->framework != FRAMEWORK_METAL || kernels->count < 8 * ENCODERS_MIN ||
        kernels->count < ENCODERS_MIN * steps || mean > SHORT_NS || !is_unnamed(diagnosis))
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_TINY_KERNELS, CONFIDENCE_LOW);
    finding_change(finding, CHANGE_FUSE, TEXT(METAL_ENCODER), 0);
    if (!finding_predict(diagnosis, finding))
        finding->change_count = 0;
    finding->decides = true;
    finding_summary(diagnosis, finding, "%s encoders of %s on average run one after another",
                    format_count(kernels->count, count), format_duration(mean, each));
    diagnose_set_text(diagnosis, &finding->headline,
                      "%s short encoders run one after another, probably operations that could be "
                      "fused. The trace does not name their kernels.",
                      count);
    if (finding->change_count)
        finding_gain(diagnosis, finding, "if they are element-wise and fused, %s",
                     from_to(diagnosis, finding->recoverable, change));
    finding_cause(
        diagnosis, finding,
        "Each small operation is a separate kernel: it costs a launch and a round trip to "
        "memory for every intermediate value. The trace does not name the kernels.");
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                     "%s encoders, %s each on average", count, each);
    finding_fix(diagnosis, finding, EFFORT_LINES, "--fuse", "%s",
                remedy_text(facts->framework, REMEDY_FUSE));
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "Name the kernels: set encoder labels, or record with the shader timeline of "
                "Instruments");
}

void diagnose_launch(struct diagnosis *diagnosis) {
    find_launches(diagnosis);
    find_tiny(diagnosis);
    find_short_encoders(diagnosis);
}
