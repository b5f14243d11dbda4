/* Is device memory nearly full or fragmented? Then allocations fail and are retried after freeing
 * cached blocks, which waits for the device. */
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* Share of device memory above which the next allocation may fail. */
#define NEARLY_FULL 0.95

static void find_retries(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    char count[FORMAT_SIZE], frees[FORMAT_SIZE], change[FROM_TO_SIZE];
    const struct prediction *without = predict_alone(diagnosis, CHANGE_NO_ALLOC);
    struct finding *finding = diagnose_add(diagnosis, FINDING_MEMORY_PRESSURE, CONFIDENCE_HIGH);
    finding_change(finding, CHANGE_NO_ALLOC, (struct text){0}, 0);
    if (without->applicable)
        finding_take(diagnosis, finding, without);
    else
        finding_estimate(diagnosis, finding, facts->cause[CAUSE_ALLOC]);
    finding_summary(diagnosis, finding, "%s allocation%s failed for lack of memory, with %s free%s",
                    format_count(facts->failed_allocations, count),
                    facts->failed_allocations == 1 ? "" : "s", format_count(facts->frees, frees),
                    facts->frees == 1 ? "" : "s");
    finding_gain(diagnosis, finding, "with enough memory, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "When device memory is full, the allocator frees its cached blocks, which waits "
                  "for the device, and retries.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_CALL, .name = facts->alloc_name},
                     "Allocation calls that failed: %s", count);
    finding_fix(diagnosis, finding, EFFORT_SETTING, "--no-alloc",
                facts->framework == FRAMEWORK_TORCH
                    ? "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
                    : "Leave more memory free, or use a pool that grows in place");
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Use a smaller batch, activation checkpointing or a smaller type");
}

static void find_full(struct diagnosis *diagnosis, const struct diagnose_device *device) {
    const struct memory_use *memory = &diagnosis->source->memory[device->id];
    uint64_t whole = diagnosis->trace->device.memory_bytes[device->id];
    uint64_t reserved_peak =
        memory->reserved_max > memory->high_water ? memory->reserved_max : memory->high_water;
    bool full = whole && (double)reserved_peak > NEARLY_FULL * (double)whole;
    bool fragmented = whole && memory->reserved_max > whole / 2 &&
                      memory->reserved_max > memory->high_water + memory->high_water / 2;
    char used[FORMAT_SIZE], reserved[FORMAT_SIZE], of[FORMAT_SIZE];
    if (!full && !fragmented)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_MEMORY_PRESSURE, CONFIDENCE_LOW);
    finding->device = device->id;
    finding->remark = true; /* costs no time unless an allocation fails */
    finding_summary(diagnosis, finding, "Peak use is %s of %s device memory; %s is reserved",
                    format_bytes(memory->high_water, used), format_bytes(whole, of),
                    format_bytes(reserved_peak, reserved));
    finding_cause(diagnosis, finding, "%s",
                  fragmented ? "The allocator reserves much more than is in use: free memory is "
                               "fragmented."
                             : "Device memory is nearly full: a larger input may not fit.");
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                diagnosis->facts.framework == FRAMEWORK_TORCH
                    ? "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
                    : "Allocate the largest blocks first and keep them");
}

void diagnose_memory(struct diagnosis *diagnosis) {
    if (diagnosis->facts.failed_allocations)
        find_retries(diagnosis);
    if (diagnosis->source->memory)
        for (size_t i = 0; i < diagnosis->whole->device_count; i++)
            find_full(diagnosis, &diagnosis->whole->devices[i]);
}
