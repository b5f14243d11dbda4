/* Do the kernels fill the device? Small grids, partly filled last waves, low occupancy, and small
 * kernels that run one after another. */
#include <stdio.h>

#include "diagnose/diagnosis.h"

/* The time the run saves when its kernels save `saved` in total: concurrent kernels, in other
 * queues or on other devices, save the same time. */
static int64_t saved_by_run(const struct diagnosis *diagnosis, int64_t saved) {
    const struct facts *facts = &diagnosis->facts;
    double devices = (double)diagnosis->source->device_count;
    return (int64_t)((double)saved * share_of(facts->busy, facts->kernels.total_time) / devices);
}

/* The replay speeds the largest such kernel up by the average factor of all kernels with small
 * grids. */
static void find_small_grids(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    char part[FORMAT_SIZE], words[NAME_SIZE], blocks[FORMAT_SIZE];
    if (kernels->small_grid_saved == 0)
        return;
    double factor =
        share_of(kernels->small_grid_time, kernels->small_grid_time - kernels->small_grid_saved);
    struct finding *finding = diagnose_add(diagnosis, FINDING_SMALL_GRID, CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_FASTER, trace_text(diagnosis->trace, kernels->small_grid_name),
                   factor > 1 ? factor : 1);
    /* the replay changes all kernels of that name, also those that overlap */
    int64_t saved = saved_by_run(diagnosis, kernels->small_grid_saved);
    bool replayed = finding_predict(diagnosis, finding);
    if (!replayed)
        finding->change_count = 0;
    /* pages that a kernel touches are copied while it runs; the replay leaves such copies in place
     */
    bool migrates = diagnosis->source->model->unmatched_lost > 0;
    if (!replayed || finding->recoverable > saved ||
        (migrates && 2 * finding->recoverable < saved)) {
        finding->change_count = migrates ? 0 : finding->change_count;
        finding_estimate(diagnosis, finding, saved);
    }
    short_kernel(diagnosis, kernels->small_grid_name, words);
    finding_summary(diagnosis, finding,
                    "%s of the kernel time is in long kernels with fewer blocks than half of the "
                    "%s multiprocessors, largest: %s",
                    format_percent(share_of(kernels->small_grid_time, kernels->total_time), part),
                    format_count(facts->multiprocessors, blocks), words);
    finding_best_gain(diagnosis, finding, "on all multiprocessors");
    finding_cause(diagnosis, finding,
                  "A block runs on one multiprocessor. With %s block%s most multiprocessors are "
                  "idle.",
                  format_count(kernels->small_grid_blocks, blocks),
                  kernels->small_grid_blocks == 1 ? "" : "s");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL, .name = kernels->small_grid_name},
                     "%s: %s block%s per grid", words, blocks,
                     kernels->small_grid_blocks == 1 ? "" : "s");
    finding_fix(diagnosis, finding, EFFORT_LINES, finding->change_count ? "--faster" : NULL,
                "Split the work into more blocks (a larger batch, split-K, a two-stage reduction)");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--queues",
                "Run several such kernels concurrently, on separate streams");
}

static void find_tail(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char part[FORMAT_SIZE], words[NAME_SIZE];
    if (kernels->tail_saved < kernels->total_time / 10)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_TAIL, CONFIDENCE_LOW);
    finding_estimate(diagnosis, finding, saved_by_run(diagnosis, kernels->tail_saved));
    finding->error = finding->recoverable / 2;
    short_kernel(diagnosis, kernels->tail_name, words);
    finding_summary(
        diagnosis, finding,
        "In kernels of one to four waves, the last wave leaves up to %s of the device time "
        "unused, largest: %s",
        format_percent(share_of(kernels->tail_saved, kernels->tail_time), part), words);
    finding_best_gain(diagnosis, finding, "with full waves");
    finding_cause(diagnosis, finding,
                  "The number of blocks is not a multiple of the blocks that run at once, so the "
                  "last wave fills only part of the device.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL, .name = kernels->tail_name}, "%s",
                     words);
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Choose a number of blocks just below a multiple of what runs at once, or let each "
                "block process several tiles");
}

/* The counters of a kernel of that name; NULL: none were measured. */
static const struct kernel_figures *counters_of(const struct diagnosis *diagnosis, uint32_t name) {
    const struct kernel_counters *counters = diagnosis->source->counters;
    const struct columns_activity *activity = &diagnosis->trace->activity;
    for (size_t i = 0; i < activity->count && counters && counters->launch_of; i++)
        if (activity->name[i] == name && counters->launch_of[i] != NO_ROW)
            return &counters->launches[counters->launch_of[i]].figures;
    return NULL;
}

/* "initRNG: achieved occupancy 28.1 %, at most 33.3 %, limited by registers (107 a thread)" */
static void add_measured_occupancy(struct diagnosis *diagnosis, struct finding *finding,
                                   uint32_t name, const char *words) {
    const struct kernel_figures *figures = counters_of(diagnosis, name);
    double achieved, theoretical, registers;
    char first[FORMAT_SIZE], second[FORMAT_SIZE], detail[80] = "";
    const char *limiter = figures ? kernel_occupancy_limiter(figures) : NULL;
    if (!limiter || !kernel_figure(figures, KERNEL_OCCUPANCY_FIGURE, &achieved) ||
        !kernel_figure(figures, KERNEL_THEORETICAL_FIGURE, &theoretical))
        return;
    if (kernel_figure(figures, KERNEL_REGISTERS_FIGURE, &registers))
        snprintf(detail, sizeof detail, " (%.0f registers a thread)", registers);
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                     "%s: achieved occupancy %s, at most %s, limited by %s%s", words,
                     format_percent(achieved, first), format_percent(theoretical, second), limiter,
                     detail);
}

static void find_small_blocks(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char part[FORMAT_SIZE], words[NAME_SIZE], threads[FORMAT_PLURAL_SIZE];
    struct finding *finding = diagnose_add(diagnosis, FINDING_LOW_OCCUPANCY, CONFIDENCE_MEDIUM);
    finding_estimate(diagnosis, finding, saved_by_run(diagnosis, kernels->small_block_saved));
    finding->error = finding->recoverable / 4;
    short_kernel(diagnosis, kernels->small_block_name, words);
    format_plural(kernels->small_block_threads, "thread", "threads", threads);
    finding_summary(diagnosis, finding,
                    "%s of the kernel time is in kernels of many short blocks with fewer than 64 "
                    "threads, largest: %s, %s a block",
                    format_percent(share_of(kernels->small_block_time, kernels->total_time), part),
                    words, threads);
    finding_best_gain(diagnosis, finding, "with blocks of 256 threads");
    finding_cause(diagnosis, finding,
                  "A multiprocessor holds at most 32 blocks, so its warps are few, and starting "
                  "blocks takes most of the time.%s",
                  kernels->small_block_threads < 32
                      ? " A warp has 32 threads; the others of each warp are idle."
                      : "");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL, .name = kernels->small_block_name},
                     "%s: %s a block", words, threads);
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "Use a larger block size: 128 to 256 threads, in Triton a BLOCK of 1024 elements "
                "with num_warps=4");
}

static void find_low_occupancy(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char part[FORMAT_SIZE], words[NAME_SIZE];
    if (3 * kernels->small_block_time > kernels->total_time) {
        find_small_blocks(diagnosis);
        return;
    }
    if (3 * kernels->low_occupancy_time < kernels->total_time)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_LOW_OCCUPANCY, CONFIDENCE_LOW);
    struct text name = trace_text(diagnosis->trace, kernels->low_occupancy_name);
    finding_change(finding, CHANGE_AT_ROOF, name, 0);
    if (!finding_predict(diagnosis, finding))
        finding->change_count = 0;
    short_kernel(diagnosis, kernels->low_occupancy_name, words);
    finding_summary(
        diagnosis, finding,
        "%s of the kernel time is in kernels with a theoretical occupancy below 75 %%, largest: %s",
        format_percent(share_of(kernels->low_occupancy_time, kernels->total_time), part), words);
    finding_best_gain(diagnosis, finding, "with %s at its roof", words);
    finding_cause(diagnosis, finding,
                  "Registers, shared memory or the block size limit the number of resident warps. "
                  "It may be too small to hide memory latency.");
    finding_evidence(
        diagnosis, finding,
        (struct evidence){.kind = EVIDENCE_KERNEL, .name = kernels->low_occupancy_name},
        "%s: theoretical occupancy below 75 %%", words);
    add_measured_occupancy(diagnosis, finding, kernels->low_occupancy_name, words);
    finding_fix(diagnosis, finding, EFFORT_LINES, finding->change_count ? "--at-roof" : NULL,
                "Use fewer registers (__launch_bounds__, -maxrregcount), less shared memory, or "
                "other block sizes");
}

static void find_one_queue(struct diagnosis *diagnosis) {
    char change[FROM_TO_SIZE];
    for (size_t i = 0; i < diagnosis->source->device_count; i++)
        if (diagnosis->source->devices[i].account->queues > 1)
            return;
    if (diagnosis->source->model->no_timeline)
        return;
    const struct prediction *queues = predict_alone(diagnosis, CHANGE_QUEUES);
    if (!queues->applicable)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_ONE_QUEUE, CONFIDENCE_LOW);
    finding_change(finding, CHANGE_QUEUES, (struct text){0}, 0);
    finding_take(diagnosis, finding, queues);
    finding_summary(diagnosis, finding,
                    "All kernels run in one stream, also those with small grids");
    finding_gain(diagnosis, finding, "with independent kernels in parallel, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Kernels in one stream run one after another, even if they are small.");
    finding_fix(diagnosis, finding, EFFORT_DESIGN, "--queues",
                "Run independent parts on separate streams");
}

void diagnose_grids(struct diagnosis *diagnosis) {
    if (diagnosis->facts.kernels.total_time == 0)
        return;
    find_small_grids(diagnosis);
    find_tail(diagnosis);
    find_low_occupancy(diagnosis);
    find_one_queue(diagnosis);
}
