/* Does the device wait for host code, and for which: data loading or something else? Only time that
 * exceeds the usual time between two launches counts; the usual time belongs to launching. */
#include <stdio.h>

#include "base/min_max.h"
#include "base/memory.h"
#include "base/search.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"
#include "whatif/names.h"

/* ---- data loading ---- */

/* Ranges of one name. Those that are mostly nested in a data loading range belong to it: operators
 * and functions that a loader calls are data loading, not other host code. */
struct occurrences {
    uint32_t total, nested; /* nested: in a data loading range */
    uint32_t parent;        /* string id of the last such range */
    bool checked, input;    /* name_is_input(), cached */
};

static bool is_input_name(const struct trace *trace, struct occurrences *occurrences,
                          uint32_t name) {
    if (!occurrences[name].checked) {
        occurrences[name].checked = true;
        occurrences[name].input = name_is_input(trace_text(trace, name));
    }
    return occurrences[name].input;
}

static void count_occurrences(const struct model *model, size_t thread,
                              struct occurrences *occurrences) {
    const struct trace *trace = model->trace;
    int64_t until = INT64_MIN; /* end of the open data loading range */
    uint32_t parent = 0;
    for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++) {
        uint32_t name = trace->range.name[i];
        occurrences[name].total++;
        if (trace->range.start[i] < until) {
            occurrences[name].nested++;
            occurrences[name].parent = parent;
        } else if (trace->range.category[i] != RANGE_OP &&
                   is_input_name(trace, occurrences, name)) {
            until = model_range_end(model, i);
            parent = name;
        }
    }
}

/* What a stack is below, by its innermost such frame of Python. */
enum host_purpose { PURPOSE_NONE, PURPOSE_PYTHON, PURPOSE_LOADS, PURPOSE_COMPILES };
struct stack_purpose {
    uint8_t purpose;
    uint32_t name; /* string id of the function that loads data */
};

/* Files of compilers of Triton, JAX, CuPy and torch.compile. */
static bool name_is_compiler(struct text name) {
    static const char *const files[] = {"compiler.py)",   "code_generator.py)", "convert_frame.py)",
                                        "compile_fx.py)", "codecache.py)",      NULL};
    for (const char *const *file = files; *file; file++)
        if (text_find(name, *file) >= 0)
            return true;
    return false;
}

/* Loaders, items of data sets, and transforms of torchvision, by function or file. */
static bool python_loads(struct text name) {
    static const char *const parts[] = {".__getitem__ (", "(_color.py)",     "(_geometry.py)",
                                        "(_augment.py)",  "(_transform.py)", NULL};
    static const char *const others[] = {"(container.py)", "(_tensor.py)", NULL};
    for (const char *const *other = others; *other; other++)
        if (text_find(name, *other) >= 0)
            return false;
    for (const char *const *part = parts; *part; part++)
        if (text_find(name, *part) >= 0)
            return true;
    return name_is_input(name);
}

static bool find_purposes(const struct trace *trace, struct stack_purpose *of) {
    bool any = false;
    for (size_t i = 1; i < trace->stack.count; i++) {
        struct text name = trace_text(trace, trace->stack.function[i]);
        bool python = text_is(trace_text(trace, trace->stack.module[i]), STACK_PYTHON);
        if (trace->stack.parent[i] < i)
            of[i] = of[trace->stack.parent[i]];
        if (python && python_loads(name))
            of[i] = (struct stack_purpose){PURPOSE_LOADS, trace->stack.function[i]};
        else if (python && name_is_compiler(name))
            of[i] = (struct stack_purpose){PURPOSE_COMPILES, 0};
        else if (python && of[i].purpose == PURPOSE_NONE)
            of[i].purpose = PURPOSE_PYTHON;
        any |= of[i].purpose > PURPOSE_PYTHON;
    }
    return any;
}

static bool is_in_gap(const struct gap_intervals *gaps, int64_t time) {
    size_t after = 0;
    PARTITION_POINT(after, gaps->count, i, gaps->list[i].start <= time);
    return after > 0 && gaps->list[after - 1].cause == CAUSE_HOST &&
           time < gaps->list[after - 1].start + gaps->list[after - 1].length;
}

/* Stacks are often cut before the frames that tell, and native functions have no Python frames:
 * those that have them, in the idle time of host code, stand for all. */
static void find_shares(struct diagnosis *diagnosis, const struct stack_purpose *of,
                        const struct gap_intervals *gaps) {
    const struct columns_sample *sample = &diagnosis->trace->sample;
    const size_t *calls = diagnosis->source->model->thread_calls;
    uint64_t counts[PURPOSE_COMPILES + 1] = {0};
    for (size_t i = 0; i < sample->count; i++) {
        const struct stack_purpose *stack = &of[sample->stack[i]];
        if (calls[sample->thread[i]] == calls[sample->thread[i] + 1] || !stack->purpose ||
            !is_in_gap(gaps, sample->time[i]))
            continue;
        counts[stack->purpose]++;
        if (stack->purpose == PURPOSE_LOADS)
            diagnosis->loader = stack->name;
    }
    enum { SAMPLES_MIN = 20 };
    double all =
        (double)(counts[PURPOSE_PYTHON] + counts[PURPOSE_LOADS] + counts[PURPOSE_COMPILES]);
    if (all < SAMPLES_MIN)
        return;
    diagnosis->loading_share = (double)counts[PURPOSE_LOADS] / all;
    diagnosis->compiling_share = (double)counts[PURPOSE_COMPILES] / all;
}

static void judge_samples(struct diagnosis *diagnosis) {
    struct trace *trace = diagnosis->trace;
    const struct diagnose_source *source = diagnosis->source;
    struct stack_purpose *of = memory_allocate(trace->stack.count, sizeof *of, diagnosis->status);
    struct gap_intervals gaps = {0};
    diagnosis->failed |=
        !of || !trace_load(trace, TABLE_SAMPLE, "time thread stack", diagnosis->status);
    if (!diagnosis->failed && source->device_count && find_purposes(trace, of)) {
        diagnosis->failed |= !gaps_list(source->model, source->host, source->devices[0].id,
                                        source->devices[0].selection, &gaps, diagnosis->status);
        if (!diagnosis->failed)
            find_shares(diagnosis, of, &gaps);
    }
    gap_intervals_finish(&gaps);
    memory_free(of);
}

/* A range that launches most of the device's work is a loop around loading and computing. */
static void exclude_loops(const struct diagnosis *diagnosis, struct occurrences *occurrences) {
    const struct ranges *ranges = diagnosis->source->ranges;
    for (size_t i = 0; i < ranges->count; i++)
        if (2 * ranges->groups[i].activities > diagnosis->facts.kernels.count)
            occurrences[ranges->groups[i].name].checked = true;
}

void data_loading_find(struct diagnosis *diagnosis) {
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    struct occurrences *occurrences =
        memory_allocate(trace->strings.count + 1, sizeof *occurrences, diagnosis->status);
    diagnosis->data_loading_range = memory_allocate(
        trace->strings.count + 1, sizeof *diagnosis->data_loading_range, diagnosis->status);
    diagnosis->failed |= !occurrences || !diagnosis->data_loading_range;
    if (!diagnosis->failed)
        exclude_loops(diagnosis, occurrences);
    for (size_t thread = 1; !diagnosis->failed && thread < trace->thread.count; thread++)
        count_occurrences(model, thread, occurrences);
    if (!diagnosis->failed && trace->sample.count && trace->stack.count > 1)
        judge_samples(diagnosis);
    for (size_t name = 0; !diagnosis->failed && name < trace->strings.count; name++)
        if (2 * (uint64_t)occurrences[name].nested > occurrences[name].total)
            diagnosis->data_loading_range[name] = occurrences[name].parent;
    memory_free(occurrences);
}

uint32_t data_loading_range(const struct diagnosis *diagnosis, uint32_t name) {
    if (name == 0)
        return 0;
    return name_is_input(trace_text(diagnosis->trace, name)) ? name
                                                             : diagnosis->data_loading_range[name];
}

/* ---- host code ---- */

/* Idle time during host code, by name. */
struct host_names {
    int64_t total;
    uint32_t top_name; /* string id */
    int64_t top_time;
    int64_t unnamed; /* in code without a specific name, see is_named() */
};

/* False for no name, and for names of functions and ranges that enclose the whole program. */
static bool is_named(const struct diagnosis *diagnosis, uint32_t name) {
    static const char *const whole[] = {"main",         "_start", "__libc_start_main",
                                        "start_thread", "clone",  NULL};
    struct text words = trace_text(diagnosis->trace, name);
    for (const char *const *one = whole; *one; one++)
        if (text_is(words, *one))
            return false;
    return words.length && words.data[0] != '[' && !text_starts(words, "ProfilerStep") &&
           !text_starts(words, "main(") && !text_starts(words, "<module>");
}

static struct host_names sum_names(const struct diagnosis *diagnosis, bool input) {
    struct host_names sum = {0};
    for (size_t d = 0; d < diagnosis->source->device_count; d++) {
        const struct gap_names *names = &diagnosis->source->devices[d].gaps->host_names;
        for (size_t i = 0; i < names->count; i++) {
            const struct gap_name *name = &names->list[i];
            uint32_t of_input = data_loading_range(diagnosis, name->name);
            if ((of_input != 0) != input)
                continue;
            sum.total += name->time;
            if (!input && !is_named(diagnosis, name->name)) {
                sum.unnamed += name->time;
            } else if (name->time > sum.top_time) {
                sum.top_time = name->time;
                sum.top_name = input ? of_input : name->name;
            }
        }
    }
    return sum;
}

/* The state that the launching threads are in most of the idle time; "": none, or not known. */
static const char *thread_state_text(const struct diagnosis *diagnosis) {
    int64_t of[STATES] = {0};
    for (size_t d = 0; d < diagnosis->source->device_count; d++)
        for (unsigned state = 0; state < STATES; state++)
            of[state] += diagnosis->source->devices[d].gaps->host_state[state].time;
    int64_t known = of[STATE_RUNNING] + of[STATE_READY] + of[STATE_BLOCKED];
    if (known == 0)
        return "";
    if (2 * of[STATE_BLOCKED] > known)
        return " (mostly blocked)";
    if (2 * of[STATE_READY] > known)
        return " (mostly runnable, without a CPU)";
    return 2 * of[STATE_RUNNING] > known ? " (mostly running)" : "";
}

/* One prefetching worker hides loading behind the device's work; several hide all of it. */
static void predict_input(struct diagnosis *diagnosis, struct finding *finding,
                          const struct host_names *input) {
    const struct prediction *ahead = predict_alone(diagnosis, CHANGE_PREFETCH);
    struct change gone = {.kind = CHANGE_NO_HOST,
                          .pattern = trace_text(diagnosis->trace, input->top_name)};
    struct prediction without = predict_changes(diagnosis, &gone, 1);
    if (without.applicable && (!ahead->applicable || without.gain > ahead->gain)) {
        finding_change(finding, CHANGE_NO_HOST, gone.pattern, 0);
        finding_take(diagnosis, finding, &without);
    } else if (ahead->applicable) {
        finding_change(finding, CHANGE_PREFETCH, (struct text){0}, 0);
        finding_take(diagnosis, finding, ahead);
    } else {
        finding_estimate(diagnosis, finding, input->total);
        finding->confidence = CONFIDENCE_MEDIUM;
    }
}

/* By the share of the samples, as no name has all of the loading. */
static void estimate_input(struct diagnosis *diagnosis, struct finding *finding) {
    const struct prediction *without = predict_alone(diagnosis, CHANGE_NO_HOST);
    int64_t host = without->applicable ? without->gain : diagnosis->facts.cause[CAUSE_HOST];
    finding_estimate(diagnosis, finding, (int64_t)(diagnosis->loading_share * (double)host));
    finding->error = finding->recoverable / 10;
}

/* Mean duration of ranges of that name; 0: there are none. */
static int64_t time_of_range(const struct diagnosis *diagnosis, uint32_t name) {
    const struct ranges *ranges = diagnosis->source->ranges;
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->groups[i].name == name && ranges->groups[i].count)
            return ranges->groups[i].host_time / (int64_t)ranges->groups[i].count;
    return 0;
}

static int64_t find_input(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    struct host_names input = sum_names(diagnosis, true);
    char name[NAME_SIZE], time[FORMAT_SIZE], change[FROM_TO_SIZE];
    int64_t sampled = (int64_t)(diagnosis->loading_share * (double)facts->cause[CAUSE_HOST]);
    bool by_samples = sampled > input.total && diagnosis->loading_share > 0.5;
    if (by_samples)
        input = (struct host_names){.total = sampled, .top_name = diagnosis->loader};
    if (input.total == 0 || input.top_name == 0)
        return 0;
    struct finding *finding = diagnose_add(diagnosis, FINDING_INPUT_PIPELINE, CONFIDENCE_HIGH);
    if (by_samples)
        estimate_input(diagnosis, finding);
    else
        predict_input(diagnosis, finding, &input);
    int64_t mean = time_of_range(diagnosis, input.top_name);
    short_name(trace_text(diagnosis->trace, input.top_name), name);
    finding_summary(diagnosis, finding, "%s %s%s%s on the launching thread", name,
                    mean ? "takes " : "runs", mean ? format_duration(mean, time) : "",
                    mean ? " on average," : "");
    finding_gain(diagnosis, finding, "with the input prepared in advance, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(
        diagnosis, finding,
        "The thread that launches kernels also loads and prepares the input%s. The device "
        "has no work until the input is ready.",
        thread_state_text(diagnosis));
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_RANGE, .name = input.top_name},
                     "Data loading (largest: %s): the device is idle for %s", name,
                     format_duration(input.total, time));
    bool gone = finding->change_count && finding->changes[0].kind == CHANGE_NO_HOST;
    finding_fix(diagnosis, finding, EFFORT_SETTING, gone ? "--no-host" : "--prefetch", "%s",
                remedy_text(facts->framework, REMEDY_PREFETCH));
    cpu_describe_workers(diagnosis, finding);
    finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                "Preprocess once and store the result, or preprocess on the device");
    return finding->recoverable;
}

/* Without steps, one gap with most of the gain is start-up: a library load, a first call. */
static bool is_startup(const struct diagnosis *diagnosis, int64_t gain) {
    int64_t longest = 0;
    for (size_t d = 0; d < diagnosis->source->device_count; d++) {
        const struct gaps *gaps = diagnosis->source->devices[d].gaps;
        if (gaps->top_count && gaps->top[0].cause[CAUSE_HOST] > longest)
            longest = gaps->top[0].cause[CAUSE_HOST];
    }
    return diagnosis->source->step_count == 0 && 2 * longest > gain;
}

/* Host time that other findings already claim. */
static int64_t claimed_by_findings(const struct diagnosis *diagnosis) {
    int64_t claimed = 0;
    for (size_t i = 0; i < diagnosis->verdict->count; i++) {
        const struct finding *finding = &diagnosis->verdict->findings[i];
        int64_t calls = diagnosis->facts.cause[CAUSE_COMPILE];
        if (finding->kind == FINDING_COMPILATION && finding->recoverable > calls)
            claimed += finding->recoverable - calls;
        else if (finding->kind == FINDING_ON_CPU || finding->kind == FINDING_SYNC_IN_LOOP)
            claimed += finding->recoverable;
    }
    return claimed;
}

/* Whether one name has most of the time, or enough to be named. */
static bool has_top_name(const struct host_names *own) {
    return 2 * own->top_time > own->total;
}

static bool is_notable(const struct host_names *own) {
    return 8 * own->top_time > own->total;
}

/* Code that torch.compile generated: it allocates and launches, and does nothing else. */
static bool is_generated(const struct diagnosis *diagnosis, uint32_t name) {
    return text_find(trace_text(diagnosis->trace, name), "/torchinductor_") >= 0;
}

/* The fix for code with most of the time. Code that also launches cannot be moved: an operator of a
 * framework prepares its launch; other ranges contain something else besides launches. */
static void fix_named(struct diagnosis *diagnosis, struct finding *finding, uint32_t name,
                      const char *words, const char *option) {
    const struct ranges *ranges = diagnosis->source->ranges;
    const struct range_group *group = NULL;
    for (size_t i = 0; i < ranges->count && !group; i++)
        if (ranges->groups[i].name == name && ranges->groups[i].activities > 0)
            group = &ranges->groups[i];
    if (group && (group->category == RANGE_OP || is_generated(diagnosis, name)))
        finding_fix(diagnosis, finding, EFFORT_LINES, "--graph", "%s",
                    remedy_text(diagnosis->facts.framework, REMEDY_GRAPH));
    else if (group)
        finding_fix(diagnosis, finding, EFFORT_LINES, option,
                    "Find what %s does besides launching (nested ranges or CPU sampling show it) "
                    "and move it out of the loop or into another thread",
                    words);
    else
        finding_fix(diagnosis, finding, EFFORT_LINES, option,
                    "Move %s out of the loop or into another thread, or run it less often", words);
}

static void add_first_fix(struct diagnosis *diagnosis, struct finding *finding,
                          const struct host_names *own, const char *words, bool shared) {
    /* the replay also removes time that other findings claim */
    const char *option = shared ? NULL : "--no-host";
    if (has_top_name(own)) {
        fix_named(diagnosis, finding, own->top_name, words, option);
        return;
    }
    const char *ranges = remedy_range_apis(diagnosis->facts.framework);
    if (2 * own->unnamed > own->total)
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    diagnosis->trace->sample.count
                        ? "Add ranges to the loop (%s) or sample a longer run to see what the host "
                          "does"
                        : "Record with CPU sampling or with ranges in the loop (%s) to see what "
                          "the host does",
                    ranges);
    finding_fix(diagnosis, finding, EFFORT_LINES, option,
                "Move host code between launches out of the loop or into another thread");
}

/* Where the time is, behind "host code". */
static char *top_name_text(const struct host_names *own, const char *name, char *text,
                           size_t size) {
    char part[FORMAT_SIZE];
    if (has_top_name(own))
        snprintf(text, size, ", most of it in %s", name);
    else if (is_notable(own))
        snprintf(text, size, " (largest: %s, %s)", name,
                 format_percent(share_of(own->top_time, own->total), part));
    else if (2 * own->unnamed > own->total)
        snprintf(text, size, ", mostly unnamed");
    else
        snprintf(text, size, ", under many names");
    return text;
}

/* "the code that torch.compile generated", or the name itself. */
static void host_name_text(const struct diagnosis *diagnosis, uint32_t name, char *text) {
    if (is_generated(diagnosis, name))
        snprintf(text, NAME_SIZE, "the code that torch.compile generated");
    else
        short_name(trace_text(diagnosis->trace, name), text);
}

static void add_name(struct diagnosis *diagnosis, struct finding *finding,
                     const struct host_names *own, const char *name) {
    char time[FORMAT_SIZE], part[FORMAT_SIZE];
    if (is_notable(own))
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_RANGE, .name = own->top_name},
                         "%s: %s, %s of this idle time", name, format_duration(own->top_time, time),
                         format_percent(share_of(own->top_time, own->total), part));
    if (8 * own->unnamed > own->total)
        finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_GAP},
                         "%s (%s) is in code without a range or sample of its own",
                         format_percent(share_of(own->unnamed, own->total), part),
                         format_duration(own->unnamed, time));
}

/* A framework that evaluates lazily builds a graph first: the GPU gets all work of a step at once,
 * at its end. */
static void add_lazy(struct diagnosis *diagnosis, struct finding *finding,
                     const struct host_names *own) {
    const struct facts *facts = &diagnosis->facts;
    struct text name = trace_text(diagnosis->trace, own->top_name);
    size_t steps = diagnosis->source->step_count;
    if (facts->framework != FRAMEWORK_METAL || text_find(name, "mlx") < 0 || steps == 0 ||
        facts->kernels.count < 4 * steps || 2 * facts->cause[CAUSE_HOST] < facts->idle)
        return;
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_GAP},
                     "Lazy evaluation: the GPU gets its work in one burst a step, after %.*s has "
                     "run",
                     TEXT_ARGS(name));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Evaluate earlier (mx.async_eval), so that the GPU works while the next graph is "
                "built");
}

void diagnose_host(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    char name[NAME_SIZE], time[FORMAT_SIZE], change[FROM_TO_SIZE], names[NAME_SIZE + 60];
    int64_t input = find_input(diagnosis), others = claimed_by_findings(diagnosis);
    struct host_names own = sum_names(diagnosis, false);
    const struct prediction *without = predict_alone(diagnosis, CHANGE_NO_HOST);
    if (!without->applicable || without->gain <= input + others || own.total == 0 ||
        per_step(diagnosis, own.total) == 0 || is_startup(diagnosis, without->gain))
        return;
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_HOST_BOUND,
                     diagnosis->source->step_count ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_HOST, (struct text){0}, 0);
    finding_take(diagnosis, finding, without);
    finding_estimate(diagnosis, finding, finding->recoverable - input - others);
    if (finding->recoverable > own.total && diagnosis->source->devices[0].account->queues > 1)
        finding->recoverable = own.total; /* overlap between queues is a guess */
    /* The replay also removes host code before the first launch, which is not between launches. */
    finding_estimate(diagnosis, finding, MIN(finding->recoverable, facts->idle));
    host_name_text(diagnosis, own.top_name, name);
    finding_summary(diagnosis, finding, "The device is idle for %s %s during host code%s%s",
                    format_duration(per_step(diagnosis, own.total), time), per_step_text(diagnosis),
                    top_name_text(&own, name, names, sizeof names),
                    input ? ", data loading not counted" : "");
    finding_gain(diagnosis, finding, "without %s, %s",
                 10 * finding->recoverable > 8 * own.total ? "this host code"
                 : others                                  ? "the part that no other finding covers"
                                                           : "what exceeds the usual launch gap",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Between launches the launching thread does other work%s, for longer than the "
                  "device has work queued.",
                  thread_state_text(diagnosis));
    finding->unexplained = !has_top_name(&own) && 2 * own.unnamed > own.total;
    add_name(diagnosis, finding, &own, name);
    add_first_fix(diagnosis, finding, &own, name, input + others > 0);
    add_lazy(diagnosis, finding, &own);
    if (predict_alone(diagnosis, CHANGE_NO_SYNC)->applicable)
        finding_fix(diagnosis, finding, EFFORT_LINES, "--no-sync",
                    "Remove the synchronizations from the loop, so that host code overlaps with "
                    "device work");
    finding_fix(diagnosis, finding, EFFORT_DESIGN, "--batch 2", "%s",
                remedy_text(facts->framework, REMEDY_BATCH));
}
