/* Patterns that an expert recognizes by the kernels of a run, and what to write instead. One row
 * each: the kernels, the share of the kernel time that they must have, kernels that rule it out,
 * the findings that the fix belongs to, and the finding to add if none of them was made.
 *
 * A row promises no gain unless removing its kernels is what the fix does.
 */
#include "base/array.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

enum { PARTS = 4 };
#define ON(kind) (1ull << FINDING_##kind)
#define LAUNCHES (ON(LAUNCH_BOUND) | ON(TINY_KERNELS) | ON(HOST_BOUND))
#define WAITS (ON(SYNC_IN_LOOP) | LAUNCHES)

static const struct pattern {
    enum framework framework;   /* FRAMEWORK_CUDA: any */
    const char *kernels[PARTS]; /* parts of names; their share is summed */
    bool all;                   /* a kernel of every part must be there */
    double min_share;
    const char *unless[PARTS];   /* parts of names that rule the pattern out */
    uint64_t belongs;            /* findings whose fix it is */
    enum finding_kind otherwise; /* FINDING_COUNT: none */
    bool removes;                /* the fix removes exactly these kernels */
    enum effort effort;
    const char *what, *words;
} patterns[] = {
    {FRAMEWORK_TORCH,
     {"oftmax", "oftMax"},
     false,
     0.15,
     {"flash", "sdpa", "fmha", "nll_loss"},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_LINES,
     "softmax kernels between matrix products",
     "Compute attention with torch.nn.functional.scaled_dot_product_attention, which does not "
     "write "
     "the scores to memory"},
    {FRAMEWORK_TORCH,
     {"nchwToNhwc", "nhwcToNchw"},
     false,
     0.08,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     true,
     EFFORT_LINES,
     "layout conversions around convolutions",
     "Keep the model and its input in channels_last (.to(memory_format=torch.channels_last)), so "
     "that no layout is converted"},
    {FRAMEWORK_TORCH,
     {"batch_norm_transform_input", "bn_fw_inf"},
     false,
     0.10,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_LINES,
     "batch norm in inference",
     "Fold batch norm into the convolution before inference "
     "(torch.nn.utils.fusion.fuse_conv_bn_eval, or torch.compile)"},
    {FRAMEWORK_TORCH,
     {"indexFuncLargeIndex", "indexFuncSmallIndex", "scatter_add", "index_add"},
     false,
     0.3,
     {NULL},
     ON(LATENCY_BOUND) | ON(MEMORY_BOUND),
     FINDING_LATENCY_BOUND,
     false,
     EFFORT_LINES,
     "index_add and scatter kernels, which add with atomics",
     "Where many rows add to few, sort by index and reduce segments (torch.segment_reduce), or "
     "multiply by a one-hot matrix: atomics to one address run one after another"},
    {FRAMEWORK_TORCH,
     {"CatArrayBatchedCopy"},
     false,
     0.2,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_LINES,
     "kernels of torch.cat",
     "Preallocate the tensor and write into it (a KV cache: StaticCache, index_copy_) instead of "
     "torch.cat in every step"},
    {FRAMEWORK_CUDA,
     {"cupy_add__", "cupy_multiply__", "cupy_subtract__", "cupy_true_divide__"},
     false,
     0.3,
     {NULL},
     ON(MEMORY_BOUND) | LAUNCHES,
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_LINES,
     "element-wise kernels of CuPy, one for each operation",
     "Fuse the expression with @cupy.fuse() or write it as one cupy.ElementwiseKernel"},
    {FRAMEWORK_TORCH,
     {"addcdiv", "addcmul", "sqrt_kernel"},
     true,
     0.15,
     {"multi_tensor_apply", "FusedAdam", "fused_adam"},
     LAUNCHES,
     FINDING_COUNT,
     false,
     EFFORT_SETTING,
     "an optimizer that steps tensor by tensor",
     "Use the fused optimizer (torch.optim.AdamW(..., fused=True), or foreach=True)"},
    {FRAMEWORK_TORCH,
     {"NormTwoOps", "reciprocal_kernel"},
     true,
     0.15,
     {"multi_tensor_apply"},
     LAUNCHES,
     FINDING_COUNT,
     false,
     EFFORT_SETTING,
     "norms tensor by tensor",
     "Clip all gradients at once (torch.nn.utils.clip_grad_norm_(..., foreach=True))"},
    {FRAMEWORK_TORCH,
     {"write_indices", "onzero"},
     false,
     0.01,
     {NULL},
     WAITS | ON(COMPILATION),
     FINDING_COUNT,
     false,
     EFFORT_LINES,
     "nonzero and boolean masks",
     "Use torch.where or masked_fill instead of boolean masks and nonzero(), whose size the host "
     "must wait for"},
    {FRAMEWORK_TORCH,
     {"embedding_backward", "embedding_dense", "compute_grad_weight"},
     false,
     0.2,
     {NULL},
     ON(MEMORY_BOUND) | ON(LATENCY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_SETTING,
     "gradients of embeddings",
     "Use sparse gradients (nn.Embedding(sparse=True) with torch.optim.SparseAdam)"},
    {FRAMEWORK_TORCH,
     {"FillFunctor"},
     false,
     0.15,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_SETTING,
     "kernels that fill tensors",
     "Do not fill what is overwritten: zero_grad(set_to_none=True), torch.empty instead of "
     "torch.zeros"},
    {FRAMEWORK_TORCH,
     {"direct_copy_kernel"},
     false,
     0.25,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_LINES,
     "kernels that copy tensors",
     "Avoid copies between layouts and types (.contiguous(), .to(dtype), reshape of a transposed "
     "tensor) in the loop"},
    {FRAMEWORK_TORCH,
     {"im2col", "col2im"},
     false,
     0.08,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_SETTING,
     "im2col kernels",
     "Let cuDNN compute the convolutions (torch.backends.cudnn.enabled=True)"},
    {FRAMEWORK_TORCH,
     {"distribution_elementwise", "fused_dropout"},
     false,
     0.15,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_LINES,
     "random numbers and dropout",
     "Fuse dropout with its neighbours (torch.compile), or generate random numbers ahead"},
    {FRAMEWORK_TORCH,
     {"kDequantize", "dequantize_block"},
     false,
     0.15,
     {NULL},
     ON(MEMORY_BOUND),
     FINDING_MEMORY_BOUND,
     false,
     EFFORT_LINES,
     "dequantization kernels",
     "Use a kernel that multiplies quantized weights directly (torchao, Marlin) instead of "
     "dequantizing them first"},
};

struct matches {
    int64_t time[ARRAY_COUNT(patterns)];
    bool present[ARRAY_COUNT(patterns)][PARTS];
    bool excluded[ARRAY_COUNT(patterns)];
    uint32_t top[ARRAY_COUNT(patterns)]; /* string id of the largest kernel */
    int64_t top_time[ARRAY_COUNT(patterns)];
};

static void match_name(struct matches *matches, struct text name, uint32_t id, int64_t time) {
    for (size_t i = 0; i < ARRAY_COUNT(patterns); i++) {
        bool found = false;
        for (unsigned part = 0; part < PARTS; part++) {
            const char *kernel = patterns[i].kernels[part], *other = patterns[i].unless[part];
            bool here = kernel && text_find(name, kernel) >= 0;
            matches->present[i][part] |= here;
            matches->excluded[i] |= other && text_find(name, other) >= 0;
            found |= here;
        }
        if (found && time > matches->top_time[i]) {
            matches->top_time[i] = time;
            matches->top[i] = id;
        }
        matches->time[i] += found ? time : 0;
    }
}

/* Kernel time of the judged part by name, then each name once. */
static bool find_matches(struct diagnosis *diagnosis, struct matches *matches) {
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    const struct diagnose_device *device = &diagnosis->source->devices[0];
    int64_t *by_name =
        memory_allocate(trace->strings.count + 1, sizeof *by_name, diagnosis->status);
    diagnosis->failed |= !by_name;
    for (size_t i = model->device_first[device->id];
         by_name && i < model->device_first[device->id + 1]; i++)
        if (trace->activity.kind[i] == ACTIVITY_KERNEL &&
            selection_contains(device->selection, trace->activity.start[i]))
            by_name[trace->activity.name[i]] += trace->activity.duration[i];
    for (uint32_t name = 0; by_name && name < trace->strings.count; name++)
        if (by_name[name])
            match_name(matches, trace_text(trace, name), name, by_name[name]);
    memory_free(by_name);
    return by_name != NULL;
}

static bool is_recognized(const struct diagnosis *diagnosis, const struct matches *matches,
                          size_t row) {
    const struct pattern *pattern = &patterns[row];
    const struct facts *facts = &diagnosis->facts;
    if (matches->excluded[row] || matches->time[row] == 0 ||
        (pattern->framework != FRAMEWORK_CUDA && pattern->framework != facts->framework))
        return false;
    for (unsigned part = 0; pattern->all && part < PARTS; part++)
        if (pattern->kernels[part] && !matches->present[row][part])
            return false;
    return share_of(matches->time[row], facts->kernels.total_time) >= pattern->min_share;
}

/* The fix comes first: it is more specific than what the rule offers. */
static void add_fix(struct diagnosis *diagnosis, struct finding *finding,
                    const struct pattern *pattern) {
    size_t count = finding->fix_count;
    finding_fix(diagnosis, finding, pattern->effort, NULL, "%s", pattern->words);
    for (size_t i = count; i > 0 && finding->fix_count > count; i--) {
        struct fix kept = finding->fixes[i];
        finding->fixes[i] = finding->fixes[i - 1];
        finding->fixes[i - 1] = kept;
    }
}

static void predict_removal(struct diagnosis *diagnosis, struct finding *finding,
                            const struct pattern *pattern, const bool present[PARTS]) {
    enum { TIMES = 1000 };
    for (unsigned part = 0; part < PARTS; part++)
        if (pattern->kernels[part] && present[part])
            finding_change(finding, CHANGE_FASTER, text_of(pattern->kernels[part]), TIMES);
    if (!finding_predict(diagnosis, finding))
        finding->change_count = 0;
}

static void add_finding(struct diagnosis *diagnosis, const struct pattern *pattern,
                        const struct matches *matches, size_t row) {
    char part[FORMAT_SIZE], change[FROM_TO_SIZE], name[NAME_SIZE];
    struct finding *finding = diagnose_add(diagnosis, pattern->otherwise, CONFIDENCE_MEDIUM);
    if (pattern->removes)
        predict_removal(diagnosis, finding, pattern, matches->present[row]);
    finding->decides = share_of(diagnosis->facts.busy, diagnosis->facts.window) > 0.5;
    finding_summary(
        diagnosis, finding, "%s of the kernel time is in %s",
        format_percent(share_of(matches->time[row], diagnosis->facts.kernels.total_time), part),
        pattern->what);
    finding_gain(diagnosis, finding, "without them, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "The names of these kernels show a pattern with a known remedy.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_KERNEL, .name = matches->top[row]},
                     "%s is the largest of them", short_kernel(diagnosis, matches->top[row], name));
    finding_fix(diagnosis, finding, pattern->effort, finding->change_count ? "--faster" : NULL,
                "%s", pattern->words);
}

/* Runs after the rules and before the ranking. */
void diagnose_catalogue(struct diagnosis *diagnosis) {
    struct matches matches = {0};
    if (diagnosis->source->device_count == 0 || diagnosis->facts.kernels.total_time == 0 ||
        !find_matches(diagnosis, &matches))
        return;
    for (size_t row = 0; row < ARRAY_COUNT(patterns) && !diagnosis->failed; row++) {
        struct verdict *verdict = diagnosis->verdict;
        bool added = false;
        if (!is_recognized(diagnosis, &matches, row))
            continue;
        for (size_t i = 0; i < verdict->count; i++)
            if (patterns[row].belongs >> verdict->findings[i].kind & 1) {
                add_fix(diagnosis, &verdict->findings[i], &patterns[row]);
                added = true;
            }
        if (!added && patterns[row].otherwise != FINDING_COUNT)
            add_finding(diagnosis, &patterns[row], &matches, row);
    }
}
