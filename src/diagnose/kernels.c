/* Are the kernels efficient? If their work is known, by their distance from the roof; otherwise by
 * their names, and only for kinds with a known remedy: chains of element-wise kernels, strided
 * copies, f32 matrix products without tensor cores. */
#include "base/array.h"
#include "base/min_max.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* Kernels above this share of their roof are near it. */
#define NEAR_ROOF 0.7
/* Below this share they are limited by something else than the bytes that they need. */
#define SLOW 0.5

/* Of the judged time, which may be longer than the device's. */
static double busy_share(const struct diagnosis *diagnosis) {
    return share_of(diagnosis->facts.busy, MAX(diagnosis->facts.window, diagnosis->verdict->time));
}

static bool roofs_known(const struct kernel_facts *kernels) {
    return 2 * kernels->known_time > kernels->total_time;
}

static void add_top_kernel(struct diagnosis *diagnosis, struct finding *finding, uint32_t name,
                           int64_t time) {
    char words[NAME_SIZE], part[FORMAT_SIZE];
    if (name)
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_KERNEL, .name = name},
                         "%s is the largest; kernels of its kind take %s of the kernel time",
                         short_kernel(diagnosis, name, words),
                         format_percent(share_of(time, diagnosis->facts.kernels.total_time), part));
}

static void add_roof(struct diagnosis *diagnosis, struct finding *finding,
                     enum kernel_bound bound) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char part[FORMAT_SIZE], time[FORMAT_SIZE];
    if (kernels->bound_time[bound] > 0)
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
            "%s-bound kernels reach %s of their roof, over %s",
            bound == BOUND_MEMORY ? "Memory" : "Compute",
            format_percent(share_of(kernels->bound_roof_time[bound], kernels->bound_time[bound]),
                           part),
            format_duration(kernels->bound_time[bound], time));
}

/* States the distance from the roof if `far`, otherwise judges by kernel names. */
static void describe_memory(struct diagnosis *diagnosis, struct finding *finding, bool far) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char part[FORMAT_SIZE], roof[FORMAT_SIZE], change[FROM_TO_SIZE];
    int64_t bound = kernels->bound_time[BOUND_MEMORY], named = 0;
    for (unsigned class = 0; class < KERNEL_CLASS_COUNT; class ++)
        if (kernel_class_moves_memory(class))
            named += kernels->time[class];
    if (far)
        finding_summary(
            diagnosis, finding,
            "%s of the kernel time is in memory-bound kernels, at %s of the memory roof",
            format_percent(share_of(bound, kernels->total_time), part),
            format_percent(share_of(kernels->bound_roof_time[BOUND_MEMORY], bound), roof));
    else
        finding_summary(diagnosis, finding,
                        "%s of the kernel time is in element-wise, copy, reduction and similar "
                        "kernels, which are usually memory-bound",
                        format_percent(share_of(named, kernels->total_time), part));
    if (finding->recoverable <= diagnosis->verdict->time / 100)
        return;
    if (finding->changes[0].kind == CHANGE_FUSE)
        finding_gain(diagnosis, finding, "with the chains fused, %s",
                     from_to(diagnosis, finding->recoverable, change));
    else
        finding_best_gain(diagnosis, finding, "with kernels at their roofs");
}

static const char *memory_cause(bool strided, bool slow) {
    return slow ? "The kernels take longer than memory needs for their bytes. Usual reasons are "
                  "accesses that are not contiguous within a workgroup, few bytes per "
                  "invocation, and too few workgroups."
           : strided
               ? "The kernels access memory with strides, as their names suggest: only part of "
                 "each cache line is used."
               : "Kernels that do little work per element take as long as reading and writing "
                 "memory takes.";
}

static void fix_memory(struct diagnosis *diagnosis, struct finding *finding, bool strided,
                       bool slow) {
    enum framework framework = diagnosis->facts.framework;
    if (strided)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "%s",
                    remedy_text(framework, REMEDY_CONTIGUOUS));
    if (slow)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                    "Read contiguous memory in each workgroup, several elements per invocation, "
                    "and start enough workgroups to fill the device");
    else
        finding_fix(diagnosis, finding, EFFORT_LINES, "--fuse", "%s",
                    remedy_text(framework, REMEDY_FUSE));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Move fewer bytes: smaller types (bf16, f16), in-place operations");
}

static void find_memory(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    int64_t unfused = kernels->time[KERNEL_ELEMENTWISE] + kernels->time[KERNEL_STRIDED];
    int64_t memory_time = unfused + kernels->time[KERNEL_FUSED] + kernels->time[KERNEL_STREAMING];
    bool known = roofs_known(kernels);
    double reached =
        share_of(kernels->bound_roof_time[BOUND_MEMORY], kernels->bound_time[BOUND_MEMORY]);
    bool far =
        known && 2 * kernels->bound_time[BOUND_MEMORY] > kernels->total_time && reached < NEAR_ROOF;
    if (!far && 2 * memory_time < kernels->total_time)
        return;
    const struct prediction *fused = predict_alone(diagnosis, CHANGE_FUSE);
    const struct prediction *roof = predict_alone(diagnosis, CHANGE_AT_ROOF);
    /* a step of one kernel has nothing to fuse: its neighbors belong to other steps */
    bool large = 2 * kernels->short_count < kernels->count &&
                 kernels->count >= 2 * diagnosis->source->step_count;
    bool strided = 2 * kernels->time[KERNEL_STRIDED] > kernels->total_time;
    bool fuse = fused->applicable && large && 3 * unfused > kernels->total_time;
    if (!far && !fuse && !strided && (known || 2 * unfused < kernels->total_time))
        return;
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_MEMORY_BOUND,
                     far || fuse ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW); /* low: by names only */
    if (fuse && (!far || !roof->applicable || fused->gain > roof->gain)) {
        finding_change(finding, CHANGE_FUSE, (struct text){0}, 0);
        finding_take(diagnosis, finding, fused);
    } else if (far && roof->applicable) {
        finding_change(finding, CHANGE_AT_ROOF, (struct text){0}, 0);
        finding_take(diagnosis, finding, roof);
    }
    /* a device that is busy with such kernels is limited by them, whatever the gain */
    finding->decides = busy_share(diagnosis) > 0.8 && !(known && reached >= NEAR_ROOF) &&
                       (strided || 2 * unfused > kernels->total_time || far);
    /* hand-written kernels far from their roof, and no chain to fuse */
    bool slow = far && !fuse && !strided && reached < SLOW && framework_is_plain(facts->framework);
    describe_memory(diagnosis, finding, far);
    finding_cause(diagnosis, finding, "%s", memory_cause(strided, slow));
    enum kernel_class top = strided ? KERNEL_STRIDED : KERNEL_ELEMENTWISE;
    for (unsigned class = 0; class < KERNEL_CLASS_COUNT; class ++)
        if (kernel_class_moves_memory(class) && kernels->time[class] > kernels->time[top])
            top = class;
    if (!slow)
        add_top_kernel(diagnosis, finding, kernels->class_top_name[top], kernels->time[top]);
    add_roof(diagnosis, finding, BOUND_MEMORY);
    fix_memory(diagnosis, finding, strided, slow);
}

/* Speedup of f32 products on tensor cores: measured, otherwise by the device's architecture. Limits
 * seen in the trace do not count, as it did not use the tensor cores. */
static double tensor_core_speedup(const struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    uint32_t id = source->device_count ? source->devices[0].id : 0;
    const struct limits *limits = source->limits ? &source->limits[id] : NULL;
    if (limits && limits->source[DEVICE_LIMIT_F32] >= LIMIT_PUBLISHED &&
        limits->source[DEVICE_LIMIT_MATRIX_F32] >= LIMIT_PUBLISHED)
        return limits->of[DEVICE_LIMIT_MATRIX_F32] / limits->of[DEVICE_LIMIT_F32];
    return limits_matrix_ratio(diagnosis->trace->device.compute_major[id],
                               diagnosis->trace->device.compute_minor[id]);
}

/* Tensor cores that support tf32. */
static bool has_tensor_cores(const struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    return source->device_count && diagnosis->facts.framework != FRAMEWORK_METAL &&
           diagnosis->trace->device.compute_major[source->devices[0].id] >= 8;
}

/* All products of the libraries, by the parts of names that f32 ones have; else the largest. */
static void change_products(struct diagnosis *diagnosis, struct finding *finding, struct text name,
                            double factor) {
    static const char *const parts[] = {"f32f32_f32f32", "cf32cf32_f32f32", "sgemm"};
    const struct diagnose_device *device = &diagnosis->source->devices[0];
    for (unsigned part = 0; part < ARRAY_COUNT(parts); part++) {
        bool present = false;
        for (size_t i = 0; i < device->kernels->variant_count && !present; i++)
            present = text_find(device->kernels->variants[i].text, parts[part]) >= 0;
        if (present)
            finding_change(finding, CHANGE_FASTER, text_of(parts[part]), factor);
    }
    if (finding->change_count == 0)
        finding_change(finding, CHANGE_FASTER, name, factor);
}

static void find_f32_products(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    int64_t time = kernels->time[KERNEL_MATMUL_F32];
    double factor = tensor_core_speedup(diagnosis);
    char part[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (2 * time < kernels->total_time || !has_tensor_cores(diagnosis))
        return;
    struct text name = trace_text(diagnosis->trace, kernels->class_top_name[KERNEL_MATMUL_F32]);
    bool f64 = kernel_is_f64(name);
    struct finding *finding = diagnose_add(diagnosis, FINDING_COMPUTE_BOUND, CONFIDENCE_LOW);
    if (factor > 1) {
        change_products(diagnosis, finding, name, factor);
        if (!finding_predict(diagnosis, finding))
            finding->change_count = 0;
    }
    finding->decides = busy_share(diagnosis) > 0.8 && 4 * time > 3 * kernels->total_time;
    finding_summary(diagnosis, finding, "%s of the kernel time is in %s",
                    format_percent(share_of(time, kernels->total_time), part),
                    f64 ? "f64 matrix products" : "f32 matrix products without tensor cores");
    finding_gain(diagnosis, finding, "with tf32, about %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding, "%s",
                  f64 ? "f64 products reach only a small part of the tensor core throughput in "
                        "tf32, bf16 or f16."
                      : "f32 products outside the tensor cores reach only a small part of the "
                        "tensor core throughput in tf32, bf16 or f16.");
    add_top_kernel(diagnosis, finding, kernels->class_top_name[KERNEL_MATMUL_F32], time);
    add_roof(diagnosis, finding, BOUND_COMPUTE);
    finding_fix(diagnosis, finding, EFFORT_SETTING, finding->change_count ? "--faster" : NULL, "%s",
                remedy_text(facts->framework, f64 ? REMEDY_FROM_F64 : REMEDY_PRECISION));
}

static void find_slow_products(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    double reached =
        share_of(kernels->bound_roof_time[BOUND_COMPUTE], kernels->bound_time[BOUND_COMPUTE]);
    char part[FORMAT_SIZE], roof[FORMAT_SIZE];
    if (!roofs_known(kernels) || 2 * kernels->bound_time[BOUND_COMPUTE] < kernels->total_time ||
        reached >= NEAR_ROOF || 2 * kernels->time[KERNEL_MATMUL_F32] > kernels->total_time)
        return;
    const struct prediction *at_roof = predict_alone(diagnosis, CHANGE_AT_ROOF);
    struct finding *finding = diagnose_add(diagnosis, FINDING_COMPUTE_BOUND, CONFIDENCE_LOW);
    finding_change(finding, CHANGE_AT_ROOF, (struct text){0}, 0);
    if (at_roof->applicable)
        finding_take(diagnosis, finding, at_roof);
    finding_summary(
        diagnosis, finding,
        "%s of the kernel time is in compute-bound kernels, at %s of the compute roof",
        format_percent(share_of(kernels->bound_time[BOUND_COMPUTE], kernels->total_time), part),
        format_percent(reached, roof));
    finding_best_gain(diagnosis, finding, "with kernels at their roofs");
    finding_cause(diagnosis, finding,
                  "The shapes may not fill the device: few rows, sizes that are not multiples of "
                  "the tile, or a kernel tuned for other shapes.");
    add_top_kernel(diagnosis, finding, kernels->class_top_name[KERNEL_MATMUL],
                   kernels->time[KERNEL_MATMUL]);
    finding_fix(diagnosis, finding, EFFORT_LINES, "--at-roof",
                "Use sizes that are multiples of 64 or 128, and larger batches");
}

static void find_short_kernels(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    int64_t time = kernels->bound_time[BOUND_LATENCY];
    char part[FORMAT_SIZE];
    const struct prediction *at_roof;
    if (2 * time < kernels->total_time || busy_share(diagnosis) < 0.5)
        return;
    at_roof = predict_alone(diagnosis, CHANGE_AT_ROOF);
    struct finding *finding = diagnose_add(diagnosis, FINDING_LATENCY_BOUND, CONFIDENCE_LOW);
    finding_change(finding, CHANGE_AT_ROOF, (struct text){0}, 0);
    if (at_roof->applicable)
        finding_take(diagnosis, finding, at_roof);
    finding_summary(diagnosis, finding,
                    "%s of the kernel time is in kernels too short or too small to reach a roof",
                    format_percent(share_of(time, kernels->total_time), part));
    finding_best_gain(diagnosis, finding, "with kernels at their roofs");
    finding_cause(diagnosis, finding,
                  "A kernel of a few microseconds ends before it saturates memory or arithmetic.");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--fuse", "%s",
                remedy_text(diagnosis->facts.framework, REMEDY_FUSE));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--batch 2", "%s",
                remedy_text(diagnosis->facts.framework, REMEDY_BATCH));
}

void diagnose_kernels(struct diagnosis *diagnosis) {
    if (diagnosis->facts.kernels.total_time == 0)
        return;
    find_memory(diagnosis);
    find_f32_products(diagnosis);
    find_slow_products(diagnosis);
    find_short_kernels(diagnosis);
}
