/* What if the launches of each step were one CUDA graph, or one submission? A maximal run of
 * launches of one thread becomes one launch if it contains nothing that cannot be captured (a wait,
 * a blocking copy, an allocation, compilation) and no host time that is clearly separate work; its
 * kernels run back to back. */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/run.h"

struct grapher {
    struct run *run;
    uint32_t *head;    /* by call: the launch of its graph, or NO_ROW */
    uint8_t *launches; /* by call: 1 = it launched something, 2 = it is counted */
    uint8_t *begun;    /* by call: 1 = its graph has a kernel, 2 = one in the timed part */
    uint64_t graphs;
    uint64_t selected_graphs, selected_launches; /* in the timed part */
    bool counting;                               /* only count the graphs, change nothing */
    bool divide; /* also split between periodic steps, which may be layers */
};

static bool can_be_captured(const struct run *run, uint32_t call) {
    const struct replay *replay = run->replay;
    unsigned class = replay->class[call];
    if (run_call_removed(run, call))
        return true;
    return !replay->blocks[call] && !replay->source.model->call_loads[call] &&
           (class == CALL_LAUNCH || class == CALL_COPY || class == CALL_OTHER);
}

/* Host time far above the typical: it stays, between two graphs. */
static bool is_other_work(const struct run *run, uint32_t call) {
    enum { FAR_ABOVE = 30 };
    const struct replay *replay = run->replay;
    return run->host_time[call] > FAR_ABOVE * (replay->host_time_typical + replay->launch_call);
}

/* Makes the calls from launch `first` to launch `last` one graph. */
static void make_graph(struct grapher *grapher, uint32_t first, uint32_t last, uint64_t launches) {
    struct run *run = grapher->run;
    if (first == NO_ROW || launches < 2)
        return;
    for (uint32_t i = first; i <= last && !grapher->counting; i++) {
        if (!is_outer(run->replay, i))
            continue;
        grapher->head[i] = first;
        if (i != first)
            run_drop_call(run, i, true);
    }
    grapher->graphs++;
}

static bool same_iteration(const struct grapher *grapher, uint32_t a, uint32_t b) {
    const struct replay *replay = grapher->run->replay;
    return grapher->divide ? replay->call_step[a] == replay->call_step[b] : same_step(replay, a, b);
}

static void walk_thread(struct grapher *grapher, uint32_t thread) {
    struct run *run = grapher->run;
    const struct replay *replay = run->replay;
    const struct model *model = replay->source.model;
    uint32_t first = NO_ROW, last = NO_ROW;
    uint64_t launches = 0;
    for (size_t i = model->thread_calls[thread]; i < model->thread_calls[thread + 1]; i++) {
        uint32_t call = (uint32_t)i;
        if (!is_outer(replay, call))
            continue;
        bool loop = in_loop(replay, replay->call_step[call]);
        bool captured = loop && can_be_captured(run, call);
        bool separate = (last != NO_ROW && !same_iteration(grapher, last, call)) ||
                        replay->follows[call] != NO_ROW || is_other_work(run, call);
        if (first != NO_ROW && (!captured || separate)) {
            make_graph(grapher, first, last, launches);
            first = last = NO_ROW;
            launches = 0;
        }
        if (captured && grapher->launches[call] && !run_call_removed(run, call)) {
            first = first == NO_ROW ? call : first;
            last = call;
            launches++;
        }
    }
    make_graph(grapher, first, last, launches);
}

/* The host cost of a graph launch and the gap between its kernels: as measured, else as typical for
 * launches and queues here. The time of each further kernel was measured with empty kernels; it
 * bounds both the host cost per kernel and the gap between two kernels. The split is unknown, so
 * each gets half. */
static int64_t half_graph_kernel(const struct replay *replay, uint32_t device) {
    const struct limits *limits = replay->source.limits;
    double limit = limits ? limits[device].of[DEVICE_LIMIT_GRAPH_KERNEL] : 0;
    return limit > 0 && limit < 1e9 ? (int64_t)(limit / 2) : -1;
}

static int64_t graph_call(const struct replay *replay, uint32_t device) {
    const struct limits *limits = replay->source.limits;
    double limit = limits ? limits[device].of[DEVICE_LIMIT_GRAPH_REPLAY] : 0;
    return limit > 0 && limit < 1e9 ? (int64_t)limit : replay->launch_call;
}

static int64_t graph_gap(const struct replay *replay, uint32_t device) {
    int64_t typical = MAX(replay->typical[device].queue, 0);
    int64_t half = half_graph_kernel(replay, device);
    return half < 0 ? typical : MIN(typical, half);
}

/* Calls are counted, not kernels: a submission may launch several. */
static void count_selected(struct grapher *grapher, size_t activity, uint32_t call, uint32_t head) {
    const struct replay *replay = grapher->run->replay;
    int64_t start = replay->start[activity];
    if (replay->trace->activity.kind[activity] != ACTIVITY_KERNEL ||
        run_activity_removed(grapher->run, activity) ||
        inside_device_part(replay, activity_device(replay, activity), start, start + 1) == 0)
        return;
    grapher->selected_launches += !(grapher->launches[call] & 2);
    grapher->launches[call] |= 2;
    grapher->selected_graphs += !(grapher->begun[head] & 2);
    grapher->begun[head] |= 2;
}

/* The call submits the kernels while the device starts with the first: a kernel is launched as long
 * after the call's start as the kernels before it cost the host. */
static void launch_from_graphs(struct grapher *grapher) {
    struct run *run = grapher->run;
    const struct replay *replay = run->replay;
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t call = run->launch[i], previous = run->previous[i];
        uint32_t device = activity_device(replay, i);
        if (call == NO_ROW || grapher->head[call] == NO_ROW)
            continue;
        uint32_t head = grapher->head[call];
        count_selected(grapher, i, call, head);
        if (!(grapher->begun[head] & 1)) {
            grapher->begun[head] |= 1;
            run->call_cost[head] = graph_call(replay, device);
        } else if (!run_activity_removed(run, i)) {
            run->call_cost[head] += MAX(half_graph_kernel(replay, device), 0);
        }
        run->launch[i] = head;
        run->from_start[i] = 1;
        run->launch_lag[i] = run->call_cost[head] + MAX(replay->typical[device].launch, 0);
        if (previous != NO_ROW && run->launch[previous] == head)
            run->queue_lag[i] = graph_gap(replay, device);
    }
}

static bool prepare_columns(struct grapher *grapher, struct status *status) {
    struct run *run = grapher->run;
    const struct replay *replay = run->replay;
    size_t activities = replay->activities;
    grapher->head = memory_allocate(replay->calls, sizeof *grapher->head, status);
    grapher->launches = memory_allocate(replay->calls, 1, status);
    grapher->begun = memory_allocate(replay->calls, 1, status);
    if (!grapher->head || !grapher->launches || !grapher->begun || !run_edit_calls(run, status) ||
        !RUN_WRITABLE(run, launch, activities, status) ||
        !RUN_WRITABLE(run, from_start, activities, status) ||
        !RUN_WRITABLE(run, launch_lag, activities, status) ||
        !RUN_WRITABLE(run, queue_lag, activities, status))
        return false;
    for (size_t i = 0; i < replay->calls; i++)
        grapher->head[i] = NO_ROW;
    for (size_t i = 0; i < activities; i++)
        if (run->launch[i] != NO_ROW && !run_activity_removed(run, i))
            grapher->launches[run->launch[i]] = 1;
    return true;
}

/* A graph is captured once and launched in every iteration. Where the period may be a layer, graphs
 * span several periods, but not the whole run, which nobody would capture as one graph. */
static void find_graphs(struct grapher *grapher) {
    enum { ITERATIONS_MIN = 3 };
    const struct replay *replay = grapher->run->replay;
    if (replay->source.steps->source == STEPS_PERIODIC) {
        grapher->counting = true;
        for (uint32_t thread = 0; thread < replay->threads; thread++)
            walk_thread(grapher, thread);
        grapher->divide = grapher->graphs < ITERATIONS_MIN;
        grapher->counting = false;
        grapher->graphs = 0;
    }
    for (uint32_t thread = 0; thread < replay->threads; thread++)
        walk_thread(grapher, thread);
}

/* Vulkan's launches are submissions of command buffers; it has no graphs. */
static bool are_submissions(const struct grapher *grapher) {
    const struct replay *replay = grapher->run->replay;
    for (size_t i = 0; i < replay->calls; i++)
        if (grapher->launches[i])
            return text_starts(call_name(replay, i), "vkQueueSubmit");
    return false;
}

bool change_graph(struct run *run, const struct change *change, struct outcome *outcome,
                  struct status *status) {
    struct grapher grapher = {.run = run};
    char a[FORMAT_PLURAL_SIZE], b[FORMAT_PLURAL_SIZE];
    (void)change;
    if (run->replay->has_graphs) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "most kernels are already launched together, by graphs or command buffers");
        return true;
    }
    bool ok = prepare_columns(&grapher, status);
    if (ok)
        find_graphs(&grapher);
    if (ok && grapher.graphs)
        launch_from_graphs(&grapher);
    bool submitted = ok && are_submissions(&grapher);
    memory_free(grapher.head);
    memory_free(grapher.launches);
    memory_free(grapher.begun);
    outcome->applicable = grapher.graphs > 0;
    if (!ok)
        return false;
    if (!grapher.graphs) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "the loop has no two consecutive launches without a wait between them");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s become %s",
             format_plural(grapher.selected_launches, "launch", "launches", a),
             format_plural(grapher.selected_graphs, submitted ? "submission" : "graph",
                           submitted ? "submissions" : "graphs", b));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "shapes and addresses are the same in every step, and the host code between the "
             "launches does nothing else");
    run->assumption_error += 0.05;
    return true;
}
