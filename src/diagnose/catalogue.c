/* Recognizes the rows of the catalogue by the names of the judged part: each name once, then each
 * call and sample by the frames of its stack. */
#include <string.h>

#include "diagnose/catalogue.h"

#include "base/array.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

/* A bit for each row. */
enum { MASK_WORDS = CATALOGUE_ROWS_MAX / 64 };
struct mask {
    uint64_t bits[MASK_WORDS];
};

/* Of a row's clauses. */
struct tally {
    double amount[CATALOGUE_CLAUSES];
    double by_time, by_count; /* of the first clause: shares of the kernel time and number, or of
                                 the host's time where it is about code */
    bool excluded;
    uint32_t top; /* string id of the largest kernel */
    int64_t top_time;
};

struct matcher {
    struct diagnosis *diagnosis;
    struct tally *tallies;
    struct mask *of_string; /* by string id: rows with a clause about code that has it */
    struct mask *excludes;  /* by string id: rows that it rules out */
    bool *known;            /* by string id */
    struct mask *of_stack;  /* by row of trace->stack, callers included */
    bool *backward;         /* by row of trace->stack: in the backward pass of PyTorch */
};

/* Takes the text up to the next `separator`; false at the end. */
static bool next_part(struct text *rest, char separator, struct text *part) {
    if (rest->length == 0)
        return false;
    const char *end = memchr(rest->data, separator, rest->length);
    *part = (struct text){rest->data, end ? (size_t)(end - rest->data) : rest->length};
    size_t used = part->length + (end != NULL);
    *rest = (struct text){rest->data + used, rest->length - used};
    return true;
}

static bool has_any(struct text name, const char *words) {
    struct text rest = words ? text_of(words) : (struct text){0}, word, part;
    while (next_part(&rest, '|', &word)) {
        bool all = true;
        while (all && next_part(&word, '&', &part))
            all = text_find_text(name, part) >= 0;
        if (all)
            return true;
    }
    return false;
}

/* Compiled functions that launch several kernels each: the program does not run eagerly. */
static bool is_compiled(const struct recorded *recorded) {
    enum { KERNELS_EACH = 4 };
    return recorded->modules && recorded->kernels >= KERNELS_EACH * recorded->modules;
}

static bool reads_results(const struct facts *facts) {
    uint64_t count = 0;
    for (unsigned class = 0; class < COPY_CLASSES; class ++)
        count += facts->directed[class][COPY_DTOH].count;
    return count > 0;
}

static bool is_for(const struct matcher *matcher, const struct pattern *row) {
    const struct facts *facts = &matcher->diagnosis->facts;
    return (row->framework == FRAMEWORK_CUDA || row->framework == facts->framework) &&
           !(row->eager && is_compiled(&facts->recorded)) && (!row->reads || reads_results(facts));
}

/* Adds to all clauses of that kind that have the name; returns whether the first clause has. */
static void add_name(struct matcher *matcher, enum catalogue_where where, uint32_t name,
                     double amount, double time, double count) {
    struct text text = trace_text(matcher->diagnosis->trace, name);
    for (size_t i = 0; i < catalogue_row_count; i++) {
        const struct pattern *row = &catalogue_rows[i];
        struct tally *tally = &matcher->tallies[i];
        if (!is_for(matcher, row))
            continue;
        tally->excluded |= has_any(text, row->unless);
        for (unsigned c = 0; c < CATALOGUE_CLAUSES; c++) {
            if (row->all[c].where != where || !has_any(text, row->all[c].words))
                continue;
            tally->amount[c] += amount;
            tally->by_time += c == 0 ? time : 0;
            tally->by_count += c == 0 ? count : 0;
        }
    }
}

struct kernel_sum {
    int64_t time;
    uint64_t count;
};

static void note_top(struct matcher *matcher, uint32_t name, int64_t time) {
    struct text text = trace_text(matcher->diagnosis->trace, name);
    for (size_t i = 0; i < catalogue_row_count; i++) {
        const struct clause *first = &catalogue_rows[i].all[0];
        struct tally *tally = &matcher->tallies[i];
        if ((first->where == CATALOGUE_KERNELS || first->where == CATALOGUE_LAUNCHES) &&
            time > tally->top_time && has_any(text, first->words)) {
            tally->top_time = time;
            tally->top = name;
        }
    }
}

static bool match_kernels(struct matcher *matcher) {
    const struct diagnosis *diagnosis = matcher->diagnosis;
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    const struct diagnose_device *device = &diagnosis->source->devices[0];
    const struct kernel_facts *all = &diagnosis->facts.kernels;
    struct kernel_sum *sums =
        memory_allocate(trace->strings.count + 1, sizeof *sums, diagnosis->status);
    for (size_t i = model->device_first[device->id];
         sums && i < model->device_first[device->id + 1]; i++)
        if (trace->activity.kind[i] == ACTIVITY_KERNEL &&
            selection_contains(device->selection, trace->activity.start[i])) {
            sums[trace->activity.name[i]].time += trace->activity.duration[i];
            sums[trace->activity.name[i]].count++;
        }
    for (uint32_t name = 0; sums && name < trace->strings.count; name++)
        if (sums[name].count) {
            double time = share_of(sums[name].time, all->total_time);
            double count = (double)sums[name].count / (double)all->count;
            add_name(matcher, CATALOGUE_KERNELS, name, time, time, count);
            add_name(matcher, CATALOGUE_LAUNCHES, name, count, time, count);
            note_top(matcher, name, sums[name].time);
        }
    memory_free(sums);
    return sums != NULL;
}

static void match_operators(struct matcher *matcher) {
    const struct ranges *ranges = matcher->diagnosis->source->ranges;
    for (size_t i = 0; i < ranges->count; i++)
        add_name(
            matcher, CATALOGUE_OPERATORS, ranges->groups[i].name,
            share_of(ranges->groups[i].host_time, matcher->diagnosis->verdict->time),
            share_of(ranges->groups[i].device_time, matcher->diagnosis->facts.kernels.total_time),
            0);
}

static bool is_judged_call(const struct matcher *matcher, size_t call) {
    const struct diagnosis *diagnosis = matcher->diagnosis;
    int64_t start = diagnosis->trace->call.start[call];
    return !diagnosis->source->model->call_nested[call] && start >= diagnosis->facts.host_start &&
           start < diagnosis->facts.host_end;
}

/* Of calls in each step; a run without known steps counts as several, so that start-up is none. */
static double per_turn(const struct matcher *matcher, double calls) {
    enum { TURNS = 20 };
    size_t steps = matcher->diagnosis->source->step_count;
    return calls / (double)(steps ? steps : TURNS);
}

static bool match_calls(struct matcher *matcher) {
    const struct diagnosis *diagnosis = matcher->diagnosis;
    const struct trace *trace = diagnosis->trace;
    uint64_t *counts = memory_allocate(trace->strings.count + 1, sizeof *counts, diagnosis->status);
    for (size_t i = 0; counts && i < trace->call.count; i++)
        if (is_judged_call(matcher, i))
            counts[trace->call.name[i]]++;
    for (uint32_t name = 0; counts && name < trace->strings.count; name++)
        if (counts[name])
            add_name(matcher, CATALOGUE_CALLS, name, per_turn(matcher, (double)counts[name]), 0, 0);
    memory_free(counts);
    return counts != NULL;
}

/* ---- code ---- */

static void set_bit(struct mask *mask, size_t row) {
    mask->bits[row / 64] |= 1ull << row % 64;
}

static bool has_bit(const struct mask *mask, size_t row) {
    return mask->bits[row / 64] >> row % 64 & 1;
}

static const struct clause *code_clause(const struct pattern *row, unsigned *index) {
    for (unsigned c = 0; c < CATALOGUE_CLAUSES; c++)
        if (row->all[c].where == CATALOGUE_CODE || row->all[c].where == CATALOGUE_CALLERS) {
            *index = c;
            return &row->all[c];
        }
    return NULL;
}

static void look_up(struct matcher *matcher, uint32_t string) {
    struct text text = trace_text(matcher->diagnosis->trace, string);
    unsigned index;
    if (matcher->known[string])
        return;
    matcher->known[string] = true;
    for (size_t i = 0; i < catalogue_row_count; i++) {
        const struct clause *clause = code_clause(&catalogue_rows[i], &index);
        if (!is_for(matcher, &catalogue_rows[i]))
            continue;
        if (clause && has_any(text, clause->words))
            set_bit(&matcher->of_string[string], i);
        if (has_any(text, catalogue_rows[i].unless_code))
            set_bit(&matcher->excludes[string], i);
    }
}

static void find_stacks(struct matcher *matcher) {
    const struct trace *trace = matcher->diagnosis->trace;
    const struct columns_stack *stack = &trace->stack;
    for (size_t i = 1; i < stack->count; i++) {
        const uint32_t strings[] = {stack->file[i], stack->function[i], stack->source[i]};
        for (unsigned s = 0; s < ARRAY_COUNT(strings); s++) {
            look_up(matcher, strings[s]);
            for (unsigned w = 0; w < MASK_WORDS; w++)
                matcher->of_stack[i].bits[w] |= matcher->of_string[strings[s]].bits[w];
        }
        matcher->backward[i] =
            text_starts(trace_text(trace, stack->function[i]), "_engine_run_backward") ||
            (stack->parent[i] < i && matcher->backward[stack->parent[i]]);
        for (unsigned w = 0; stack->parent[i] < i && w < MASK_WORDS; w++)
            matcher->of_stack[i].bits[w] |= matcher->of_stack[stack->parent[i]].bits[w];
    }
}

/* What the code of each row has of the calls, of the device time and of the samples. */
struct code_sums {
    double calls[CATALOGUE_ROWS_MAX], samples[CATALOGUE_ROWS_MAX];
    double device[CATALOGUE_ROWS_MAX], forward[CATALOGUE_ROWS_MAX]; /* forward: not in backward */
    double all_calls, all_samples, all_device, backward;
};

static void add_stack(const struct matcher *matcher, uint32_t stack, double amount, double *sums) {
    if (stack == 0)
        return;
    for (size_t i = 0; i < catalogue_row_count; i++)
        if (has_bit(&matcher->of_stack[stack], i))
            sums[i] += amount;
}

/* Lines that rule a row out count only if they run in the judged part. */
static void exclude_by_stack(struct matcher *matcher, uint32_t stack) {
    const struct columns_stack *columns = &matcher->diagnosis->trace->stack;
    for (; stack; stack = columns->parent[stack] < stack ? columns->parent[stack] : 0) {
        const uint32_t strings[] = {columns->file[stack], columns->function[stack],
                                    columns->source[stack]};
        for (unsigned s = 0; s < ARRAY_COUNT(strings); s++)
            for (size_t i = 0; i < catalogue_row_count; i++)
                matcher->tallies[i].excluded |= has_bit(&matcher->excludes[strings[s]], i);
    }
}

static bool load_samples(struct diagnosis *diagnosis) {
    bool ok = trace_load(diagnosis->trace, TABLE_SAMPLE, "time thread stack", diagnosis->status);
    diagnosis->failed |= !ok;
    return ok;
}

static void sum_calls(struct matcher *matcher, struct code_sums *sums) {
    const struct trace *trace = matcher->diagnosis->trace;
    uint32_t last = 0;
    for (size_t i = 0; i < trace->call.count; i++)
        if (is_judged_call(matcher, i)) {
            sums->all_calls++;
            add_stack(matcher, trace->call.stack[i], 1, sums->calls);
            if (trace->call.stack[i] != last)
                exclude_by_stack(matcher, last = trace->call.stack[i]);
        }
}

static void sum_device_time(const struct matcher *matcher, struct code_sums *sums) {
    const struct diagnosis *diagnosis = matcher->diagnosis;
    const struct model *model = diagnosis->source->model;
    const struct diagnose_device *device = &diagnosis->source->devices[0];
    const struct columns_activity *activity = &diagnosis->trace->activity;
    for (size_t i = model->device_first[device->id]; i < model->device_first[device->id + 1]; i++) {
        if (!selection_contains(device->selection, activity->start[i]))
            continue;
        double time = (double)activity->duration[i];
        uint32_t stack =
            model->launch[i] != NO_ROW ? diagnosis->trace->call.stack[model->launch[i]] : 0;
        sums->all_device += time;
        add_stack(matcher, stack, time, sums->device);
        if (matcher->backward[stack])
            sums->backward += time;
        else
            add_stack(matcher, stack, time, sums->forward);
    }
}

/* Of threads that call the API. */
static void sum_samples(struct matcher *matcher, struct code_sums *sums) {
    const struct diagnosis *diagnosis = matcher->diagnosis;
    const struct columns_sample *sample = &diagnosis->trace->sample;
    const size_t *calls = diagnosis->source->model->thread_calls;
    uint32_t last = 0;
    for (size_t i = 0; i < sample->count; i++) {
        uint32_t thread = sample->thread[i];
        if (sample->time[i] < diagnosis->facts.host_start ||
            sample->time[i] >= diagnosis->facts.host_end || calls[thread] == calls[thread + 1])
            continue;
        sums->all_samples++;
        add_stack(matcher, sample->stack[i], 1, sums->samples);
        if (sample->stack[i] != last)
            exclude_by_stack(matcher, last = sample->stack[i]);
    }
}

static double part_of(double part, double all) {
    return all > 0 ? part / all : 0;
}

static double largest(double a, double b, double c) {
    return a > b ? (a > c ? a : c) : b > c ? b : c;
}

/* Kernels of the backward pass have no line of the forward pass: they are taken to be divided like
 * the kernels of the forward pass. */
static double device_share(const struct code_sums *sums, size_t row) {
    double share = part_of(sums->device[row], sums->all_device);
    double backward = part_of(sums->backward, sums->all_device);
    double of_forward = part_of(sums->forward[row], sums->all_device - sums->backward);
    return share + of_forward * backward < 1 ? share + of_forward * backward : 1;
}

static void match_row(struct matcher *matcher, const struct code_sums *sums, size_t row,
                      unsigned clause) {
    struct tally *tally = &matcher->tallies[row];
    double of_calls = part_of(sums->calls[row], sums->all_calls);
    double of_samples = part_of(sums->samples[row], sums->all_samples);
    if (catalogue_rows[row].all[clause].where == CATALOGUE_CALLERS)
        tally->amount[clause] = per_turn(matcher, sums->calls[row]);
    else
        tally->amount[clause] =
            largest(of_calls, part_of(sums->device[row], sums->all_device), of_samples);
    if (clause == 0) {
        tally->by_time = device_share(sums, row);
        tally->by_count = of_calls > of_samples ? of_calls : of_samples;
    }
}

static void match_code(struct matcher *matcher) {
    struct code_sums sums = {0};
    unsigned clause = 0;
    if (!load_samples(matcher->diagnosis))
        return;
    find_stacks(matcher);
    sum_calls(matcher, &sums);
    sum_device_time(matcher, &sums);
    sum_samples(matcher, &sums);
    for (size_t i = 0; i < catalogue_row_count; i++)
        if (code_clause(&catalogue_rows[i], &clause))
            match_row(matcher, &sums, i, clause);
}

/* ---- findings ---- */

static bool is_recognized(const struct matcher *matcher, size_t row) {
    const struct pattern *pattern = &catalogue_rows[row];
    const struct tally *tally = &matcher->tallies[row];
    if (tally->excluded || !is_for(matcher, pattern))
        return false;
    for (unsigned c = 0; c < CATALOGUE_CLAUSES; c++)
        if (pattern->all[c].where &&
            (tally->amount[c] < pattern->all[c].min || tally->amount[c] <= 0))
            return false;
    return true;
}

/* A chain leaves at least one kernel in each step. */
static double saved_part(const struct matcher *matcher, size_t row) {
    const struct diagnosis *diagnosis = matcher->diagnosis;
    size_t steps = diagnosis->source->step_count ? diagnosis->source->step_count : 1;
    double saves = catalogue_rows[row].saves;
    double kernels = matcher->tallies[row].by_count * (double)diagnosis->facts.kernels.count;
    double most = kernels > 0 ? 1 - (double)steps / kernels : 0;
    return !catalogue_rows[row].chain || saves < most ? saves : most > 0 ? most : 0;
}

static bool is_about_launching(enum finding_kind kind) {
    return kind == FINDING_LAUNCH_BOUND || kind == FINDING_TINY_KERNELS ||
           kind == FINDING_HOST_BOUND;
}

/* What the fix saves of the time of the first clause: of the kernels, or, where launching limits
 * the run, of short kernels and the host's time for launching. */
static int64_t gain_of(const struct matcher *matcher, size_t row, enum finding_kind kind) {
    const struct facts *facts = &matcher->diagnosis->facts;
    const struct tally *tally = &matcher->tallies[row];
    double kernels = (double)facts->kernel_union * (tally->by_time < 1 ? tally->by_time : 1);
    double launching = (double)(facts->cause[CAUSE_LAUNCH] + facts->cause[CAUSE_HOST] +
                                facts->cause[CAUSE_DEVICE] + facts->cause[CAUSE_SYNC]);
    double most = 0.97 * (double)matcher->diagnosis->verdict->time; /* something remains */
    double gain = kernels;
    if (is_about_launching(kind))
        gain = kernels * share_of(facts->kernels.short_time, facts->kernels.total_time) +
               launching * (tally->by_count < 1 ? tally->by_count : 1);
    gain *= saved_part(matcher, row);
    return (int64_t)(gain < most ? gain : most);
}

static void write_fix(struct diagnosis *diagnosis, struct finding *finding,
                      const struct pattern *row) {
    finding_fix(diagnosis, finding, row->effort, NULL, "%s%s%s%s", row->words,
                row->where ? " [" : "", row->where ? row->where : "", row->where ? "]" : "");
}

/* The fix comes first: it is more specific than what the rule offers. But a graph whose gain was
 * replayed stays before fixes of launches without a known gain. */
static void insert_fix(struct diagnosis *diagnosis, struct finding *finding,
                       const struct pattern *row, bool gains) {
    size_t count = finding->fix_count;
    bool launches = finding->kind == FINDING_LAUNCH_BOUND || finding->kind == FINDING_TINY_KERNELS;
    size_t place = !gains && launches && count && finding->fixes[0].replayed ? 1 : 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(finding->fixes[i].words, row->words, strlen(row->words)) == 0)
            return;
    write_fix(diagnosis, finding, row);
    for (size_t i = count; i > place && finding->fix_count > count; i--) {
        struct fix kept = finding->fixes[i];
        finding->fixes[i] = finding->fixes[i - 1];
        finding->fixes[i - 1] = kept;
    }
}

static void describe_gain(struct diagnosis *diagnosis, struct finding *finding, int64_t gain) {
    char change[FROM_TO_SIZE];
    finding_estimate(diagnosis, finding, gain);
    finding->error = finding->recoverable / 5;
    finding_gain(diagnosis, finding, "about %s", from_to(diagnosis, finding->recoverable, change));
    diagnose_set_text(diagnosis, &finding->assumes, "%s",
                      "the change saves as much as it did in other programs");
}

/* A fix that saves more than the finding predicts, because it also removes what a replay keeps,
 * makes its gain the finding's. */
static void add_fix(struct diagnosis *diagnosis, struct finding *finding, const struct pattern *row,
                    int64_t gain) {
    bool gains = gain > finding->recoverable;
    insert_fix(diagnosis, finding, row, gains);
    if (!gains || diagnosis->failed)
        return;
    describe_gain(diagnosis, finding, gain);
    finding->change_count = 0;
    for (size_t i = 0; i < finding->fix_count; i++)
        finding->fixes[i].replayed = false;
}

static void add_finding(struct diagnosis *diagnosis, const struct pattern *row,
                        const struct tally *tally, int64_t gain) {
    char part[FORMAT_SIZE], name[NAME_SIZE];
    struct finding *finding = diagnose_add(diagnosis, row->if_none, CONFIDENCE_MEDIUM);
    finding->decides = 2 * diagnosis->facts.busy > diagnosis->facts.window &&
                       10 * diagnosis->facts.busy > diagnosis->verdict->time;
    finding_summary(diagnosis, finding, "%s of the kernel time is in %s",
                    format_percent(tally->by_time, part), row->what);
    if (gain > 0)
        describe_gain(diagnosis, finding, gain);
    finding_cause(diagnosis, finding,
                  "The names of these kernels show a pattern with a known remedy.");
    if (tally->top)
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_KERNEL, .name = tally->top},
                         "%s is the largest of them", short_kernel(diagnosis, tally->top, name));
    write_fix(diagnosis, finding, row);
}

static bool has_finding(const struct verdict *verdict, uint64_t kinds) {
    for (size_t i = 0; i < verdict->count; i++)
        if (kinds >> verdict->findings[i].kind & 1)
            return true;
    return false;
}

static void apply(struct matcher *matcher, size_t row) {
    struct verdict *verdict = matcher->diagnosis->verdict;
    for (size_t i = 0; i < verdict->count; i++)
        if (catalogue_rows[row].belongs >> verdict->findings[i].kind & 1)
            add_fix(matcher->diagnosis, &verdict->findings[i], &catalogue_rows[row],
                    gain_of(matcher, row, verdict->findings[i].kind));
}

static bool prepare(struct matcher *matcher) {
    const struct trace *trace = matcher->diagnosis->trace;
    struct status *status = matcher->diagnosis->status;
    size_t strings = trace->strings.count + 1;
    matcher->tallies = memory_allocate(catalogue_row_count, sizeof *matcher->tallies, status);
    matcher->of_string = memory_allocate(strings, sizeof *matcher->of_string, status);
    matcher->excludes = memory_allocate(strings, sizeof *matcher->excludes, status);
    matcher->known = memory_allocate(strings, sizeof *matcher->known, status);
    matcher->of_stack = memory_allocate(trace->stack.count, sizeof *matcher->of_stack, status);
    matcher->backward = memory_allocate(trace->stack.count, sizeof *matcher->backward, status);
    return matcher->tallies && matcher->of_string && matcher->excludes && matcher->known &&
           matcher->of_stack && matcher->backward && match_kernels(matcher) && match_calls(matcher);
}

static void forget(struct matcher *matcher) {
    memory_free(matcher->tallies);
    memory_free(matcher->of_string);
    memory_free(matcher->excludes);
    memory_free(matcher->known);
    memory_free(matcher->of_stack);
    memory_free(matcher->backward);
}

static double order_of(const struct matcher *matcher, size_t row) {
    return catalogue_rows[row].saves *
           (matcher->tallies[row].by_time + matcher->tallies[row].by_count);
}

/* By gain, so that the fix with the largest one is first; otherwise from general to specific. */
static void apply_all(struct matcher *matcher) {
    bool done[CATALOGUE_ROWS_MAX] = {false};
    for (size_t row = 0; row < catalogue_row_count && !matcher->diagnosis->failed; row++)
        if (catalogue_rows[row].what && is_recognized(matcher, row) &&
            !has_finding(matcher->diagnosis->verdict, catalogue_rows[row].saves > 0
                                                          ? 1ull << catalogue_rows[row].if_none
                                                          : catalogue_rows[row].belongs))
            add_finding(matcher->diagnosis, &catalogue_rows[row], &matcher->tallies[row],
                        gain_of(matcher, row, catalogue_rows[row].if_none));
    for (size_t turn = 0; turn < catalogue_row_count && !matcher->diagnosis->failed; turn++) {
        size_t least = catalogue_row_count;
        for (size_t row = 0; row < catalogue_row_count; row++)
            if (!done[row] && is_recognized(matcher, row) &&
                (least == catalogue_row_count || order_of(matcher, row) < order_of(matcher, least)))
                least = row;
        if (least == catalogue_row_count)
            return;
        done[least] = true;
        apply(matcher, least);
    }
}

/* Runs after the rules and before the ranking. */
void diagnose_catalogue(struct diagnosis *diagnosis) {
    struct matcher matcher = {.diagnosis = diagnosis};
    if (diagnosis->source->device_count == 0 || diagnosis->facts.kernels.total_time == 0)
        return;
    diagnosis->failed |= !prepare(&matcher);
    if (!diagnosis->failed) {
        match_operators(&matcher);
        if (diagnosis->trace->stack.count > 1 && diagnosis->trace->call.stack)
            match_code(&matcher);
        apply_all(&matcher);
    }
    forget(&matcher);
}
