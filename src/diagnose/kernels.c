/* The device is busy: is it busy well? Where the work of the kernels is known, against their roofs;
 * else by what kind of kernels they are, and then only where a kind has known better ways: chains
 * of element-wise kernels, strided copies, products in f32 beside idle matrix units. */
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* Kernels that take this part of their roof's speed are near it. */
#define NEAR_ROOF 0.7

static double busy_share(const struct diagnosis *diagnosis) {
    return share_of(diagnosis->facts.busy, diagnosis->facts.window);
}

static bool roofs_known(const struct kernel_facts *kernels) {
    return 2 * kernels->known_time > kernels->total_time;
}

static void add_top_kernel(struct diagnosis *diagnosis, struct finding *finding, uint32_t name,
                           int64_t time) {
    char words[NAME_SIZE], part[FORMAT_SIZE];
    if (name)
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_KERNEL, .name = name},
            "%s leads what has %s of the kernel time", short_kernel(diagnosis, name, words),
            format_percent(share_of(time, diagnosis->facts.kernels.total_time), part));
}

static void add_roof(struct diagnosis *diagnosis, struct finding *finding,
                     enum kernel_bound bound) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char part[FORMAT_SIZE], time[FORMAT_SIZE];
    if (kernels->bound_time[bound] > 0)
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
            "kernels bound by %s reach %s of their roof, over %s",
            bound == BOUND_MEMORY ? "memory" : "arithmetic",
            format_percent(share_of(kernels->bound_roof_time[bound], kernels->bound_time[bound]),
                           part),
            format_duration(kernels->bound_time[bound], time));
}

static void find_memory(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    int64_t unfused = kernels->time[KERNEL_ELEMENTWISE] + kernels->time[KERNEL_STRIDED];
    int64_t memory_time = unfused + kernels->time[KERNEL_FUSED] + kernels->time[KERNEL_STREAMING];
    char part[FORMAT_SIZE], change[FROM_TO_SIZE];
    bool known = roofs_known(kernels);
    double reached =
        share_of(kernels->bound_roof_time[BOUND_MEMORY], kernels->bound_time[BOUND_MEMORY]);
    bool far =
        known && 2 * kernels->bound_time[BOUND_MEMORY] > kernels->total_time && reached < NEAR_ROOF;
    if (!far && 2 * memory_time < kernels->total_time)
        return;
    const struct prediction *fused = predict_alone(diagnosis, CHANGE_FUSE);
    const struct prediction *roof = predict_alone(diagnosis, CHANGE_AT_ROOF);
    /* a step of one kernel has nothing to be fused with: its neighbours are the next steps' */
    bool large = 2 * kernels->short_count < kernels->count &&
                 kernels->count >= 2 * diagnosis->source->step_count;
    bool strided = 2 * kernels->time[KERNEL_STRIDED] > kernels->total_time;
    bool fuse = fused->applicable && large && 3 * unfused > kernels->total_time;
    if (!far && !fuse && !strided && (known || 2 * unfused < kernels->total_time))
        return;
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_MEMORY_BOUND,
                     far || fuse ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW); /* low: by names alone */
    if (fuse && (!far || !roof->applicable || fused->gain > roof->gain)) {
        finding_change(finding, CHANGE_FUSE, (struct text){0}, 0);
        finding_take(diagnosis, finding, fused);
    } else if (far && roof->applicable) {
        finding_change(finding, CHANGE_AT_ROOF, (struct text){0}, 0);
        finding_take(diagnosis, finding, roof);
    }
    /* a device that is busy with nothing but such kernels is bound by them, whatever they could be
     */
    finding->decides = busy_share(diagnosis) > 0.8 && !(known && reached >= NEAR_ROOF) &&
                       (strided || 2 * unfused > kernels->total_time || far);
    bool gains = finding->recoverable > diagnosis->verdict->time / 100;
    finding_summary(
        diagnosis, finding, "%s of the kernel time is in kernels that wait for memory%s%s",
        format_percent(share_of(memory_time, kernels->total_time), part), gains ? "; mended, " : "",
        gains ? from_to(diagnosis, finding->recoverable, change) : "");
    finding_cause(diagnosis, finding, "%s",
                  strided ? "The kernels go through memory with strides: of each line that is "
                            "fetched only a part is used."
                          : "Kernels that do one small operation to each element take as long as "
                            "reading and writing it does.");
    enum kernel_class most = strided ? KERNEL_STRIDED : KERNEL_ELEMENTWISE;
    for (unsigned class = 0; class < KERNEL_CLASS_COUNT; class ++)
        if (kernel_class_moves_memory(class) && kernels->time[class] > kernels->time[most])
            most = class;
    add_top_kernel(diagnosis, finding, kernels->class_top_name[most], kernels->time[most]);
    add_roof(diagnosis, finding, BOUND_MEMORY);
    if (strided)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "%s",
                    remedy_text(facts->framework, REMEDY_CONTIGUOUS));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--fuse", "%s",
                remedy_text(facts->framework, REMEDY_FUSE));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Move fewer bytes: a smaller type (bf16, f16), in-place operations");
}

/* What the matrix units would do to f32 products: as measured, else as the device's kind has it.
 * What the trace itself shows says nothing of units that it did not use. */
static double matrix_factor(const struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    uint32_t id = source->device_count ? source->devices[0].id : 0;
    const struct limits *limits = source->limits ? &source->limits[id] : NULL;
    if (limits && limits->source[DEVICE_LIMIT_F32] >= LIMIT_STATED &&
        limits->source[DEVICE_LIMIT_MATRIX_F32] >= LIMIT_STATED)
        return limits->of[DEVICE_LIMIT_MATRIX_F32] / limits->of[DEVICE_LIMIT_F32];
    return limits_matrix_ratio(diagnosis->trace->device.compute_major[id],
                               diagnosis->trace->device.compute_minor[id]);
}

/* Matrix units that do f32 products with tf32. */
static bool has_matrix_units(const struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    return source->device_count && diagnosis->facts.framework != FRAMEWORK_METAL &&
           diagnosis->trace->device.compute_major[source->devices[0].id] >= 8;
}

static void find_f32_products(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    int64_t time = kernels->time[KERNEL_MATMUL_F32];
    double factor = matrix_factor(diagnosis);
    char part[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (2 * time < kernels->total_time || !has_matrix_units(diagnosis))
        return;
    struct text name = trace_text(diagnosis->trace, kernels->class_top_name[KERNEL_MATMUL_F32]);
    bool f64 = kernel_is_f64(name);
    struct finding *finding = diagnose_add(diagnosis, FINDING_COMPUTE_BOUND, CONFIDENCE_LOW);
    if (factor > 1) {
        finding_change(finding, CHANGE_FASTER, name, factor);
        if (!finding_predict(diagnosis, finding))
            finding->change_count = 0;
    }
    finding->decides = busy_share(diagnosis) > 0.8 && 4 * time > 3 * kernels->total_time;
    finding_summary(diagnosis, finding, "%s of the kernel time is in %s%s%s",
                    format_percent(share_of(time, kernels->total_time), part),
                    f64 ? "f64 products" : "f32 products that do without the fast matrix units",
                    finding->recoverable ? "; with tf32, about " : "",
                    finding->recoverable ? from_to(diagnosis, finding->recoverable, change) : "");
    finding_cause(diagnosis, finding, "%s",
                  f64 ? "In f64 the device does a small part of what its matrix units do in tf32, "
                        "bf16 or f16."
                      : "In f32 the products run on the ordinary units, which do a small part of "
                        "what the device's matrix units do in tf32, bf16 or f16.");
    add_top_kernel(diagnosis, finding, kernels->class_top_name[KERNEL_MATMUL_F32], time);
    add_roof(diagnosis, finding, BOUND_COMPUTE);
    finding_fix(diagnosis, finding, EFFORT_SETTING, finding->change_count ? "--faster" : NULL, "%s",
                remedy_text(facts->framework, f64 ? REMEDY_FROM_F64 : REMEDY_PRECISION));
}

static void find_slow_products(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    double reached =
        share_of(kernels->bound_roof_time[BOUND_COMPUTE], kernels->bound_time[BOUND_COMPUTE]);
    char part[FORMAT_SIZE], roof[FORMAT_SIZE], change[FROM_TO_SIZE];
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
        "%s of the kernel time is in products that reach %s of the arithmetic roof; at "
        "it, %s",
        format_percent(share_of(kernels->bound_time[BOUND_COMPUTE], kernels->total_time), part),
        format_percent(reached, roof), from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "The shapes do not fill the units: few rows, sizes that are no multiple of the "
                  "tiles, or a kernel that was not made for them.");
    add_top_kernel(diagnosis, finding, kernels->class_top_name[KERNEL_MATMUL],
                   kernels->time[KERNEL_MATMUL]);
    finding_fix(diagnosis, finding, EFFORT_LINES, "--at-roof",
                "Choose sizes that are multiples of 64 or 128, and larger batches");
}

static void find_short_kernels(struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    int64_t time = kernels->bound_time[BOUND_LATENCY];
    char part[FORMAT_SIZE], change[FROM_TO_SIZE];
    const struct prediction *at_roof;
    if (2 * time < kernels->total_time || busy_share(diagnosis) < 0.5)
        return;
    at_roof = predict_alone(diagnosis, CHANGE_AT_ROOF);
    struct finding *finding = diagnose_add(diagnosis, FINDING_LATENCY_BOUND, CONFIDENCE_LOW);
    finding_change(finding, CHANGE_AT_ROOF, (struct text){0}, 0);
    if (at_roof->applicable)
        finding_take(diagnosis, finding, at_roof);
    finding_summary(diagnosis, finding,
                    "%s of the kernel time is in kernels too short or too small for any roof; at "
                    "their roofs, %s",
                    format_percent(share_of(time, kernels->total_time), part),
                    from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "A kernel of a few microseconds is over before memory or arithmetic are busy.");
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
