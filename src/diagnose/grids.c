/* Do the kernels fill the device? Grids of fewer blocks than it has multiprocessors, last waves of
 * a few blocks, blocks of which few fit at once, and kernels that could run beside each other. */
#include "diagnose/diagnosis.h"

/* What the run saves when its kernels save so much in all: those that run at the same time, in
 * other queues or on other devices, save the same time. */
static int64_t saved_by_run(const struct diagnosis *diagnosis, int64_t saved) {
    const struct facts *facts = &diagnosis->facts;
    double devices = (double)diagnosis->source->device_count;
    return (int64_t)((double)saved * share_of(facts->busy, facts->kernels.total_time) / devices);
}

/* The replay makes the kernel as much faster as the idle multiprocessors would: the others with
 * such grids go with it in proportion. */
static void find_small_grids(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    char part[FORMAT_SIZE], words[NAME_SIZE], change[FROM_TO_SIZE], blocks[FORMAT_SIZE];
    if (kernels->small_grid_saved == 0)
        return;
    double factor =
        share_of(kernels->small_grid_time, kernels->small_grid_time - kernels->small_grid_saved);
    struct finding *finding = diagnose_add(diagnosis, FINDING_SMALL_GRID, CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_FASTER, trace_text(diagnosis->trace, kernels->small_grid_name),
                   factor > 1 ? factor : 1);
    if (!finding_predict(diagnosis, finding)) {
        finding_estimate(diagnosis, finding, saved_by_run(diagnosis, kernels->small_grid_saved));
        finding->change_count = 0;
    }
    short_kernel(diagnosis, kernels->small_grid_name, words);
    finding_summary(diagnosis, finding,
                    "%s of the kernel time is in long kernels of fewer blocks than the %s "
                    "multiprocessors, most "
                    "in %s; spread over all, up to %s",
                    format_percent(share_of(kernels->small_grid_time, kernels->total_time), part),
                    format_count(facts->multiprocessors, blocks), words,
                    from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "A block runs on one multiprocessor: with %s blocks the others have nothing to "
                  "do.",
                  format_count(kernels->small_grid_blocks, blocks));
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL, .name = kernels->small_grid_name},
                     "%s: a grid of %s blocks", words, blocks);
    finding_fix(diagnosis, finding, EFFORT_LINES, finding->change_count ? "--faster" : NULL,
                "Split the work into more blocks: a larger batch, split-K, a two-stage reduction");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--queues",
                "Run several such kernels at once, in queues of their own");
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
        "In kernels of a few waves of blocks the last one leaves up to %s of their time "
        "unused, most in %s",
        format_percent(share_of(kernels->tail_saved, kernels->tail_time), part), words);
    finding_cause(diagnosis, finding,
                  "The blocks do not come out even with what runs at once, so the last ones run "
                  "on a nearly empty device.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL, .name = kernels->tail_name}, "%s",
                     words);
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Choose blocks so that their number is just below a multiple of what runs at once, "
                "or let each block take several pieces");
}

static void find_low_occupancy(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char part[FORMAT_SIZE], words[NAME_SIZE];
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
        "%s of the kernel time is in kernels that cannot fill three quarters of a "
        "multiprocessor, most in %s",
        format_percent(share_of(kernels->low_occupancy_time, kernels->total_time), part), words);
    finding_cause(diagnosis, finding,
                  "Registers, shared memory or the block's size allow few warps at once, too few "
                  "to hide waiting for memory.");
    finding_evidence(
        diagnosis, finding,
        (struct evidence){.kind = EVIDENCE_KERNEL, .name = kernels->low_occupancy_name},
        "%s: theoretical occupancy below 75%%", words);
    finding_fix(diagnosis, finding, EFFORT_LINES, finding->change_count ? "--at-roof" : NULL,
                "Use fewer registers (__launch_bounds__, -maxrregcount), less shared memory, or "
                "other block sizes");
}

static void find_one_queue(struct diagnosis *diagnosis) {
    char change[FROM_TO_SIZE];
    for (size_t i = 0; i < diagnosis->source->device_count; i++)
        if (diagnosis->source->devices[i].account->queues > 1)
            return;
    const struct prediction *queues = predict_alone(diagnosis, CHANGE_QUEUES);
    if (!queues->applicable)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_ONE_QUEUE, CONFIDENCE_LOW);
    finding_change(finding, CHANGE_QUEUES, (struct text){0}, 0);
    finding_take(diagnosis, finding, queues);
    finding_summary(diagnosis, finding,
                    "All kernels are in one queue and many leave most of the device free; in two, "
                    "where they do not need each other, %s",
                    from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Kernels of one queue run one after another, however small they are.");
    finding_fix(diagnosis, finding, EFFORT_DESIGN, "--queues",
                "Put parts that do not need each other into streams of their own");
}

void diagnose_grids(struct diagnosis *diagnosis) {
    if (diagnosis->facts.kernels.total_time == 0)
        return;
    find_small_grids(diagnosis);
    find_tail(diagnosis);
    find_low_occupancy(diagnosis);
    find_one_queue(diagnosis);
}
