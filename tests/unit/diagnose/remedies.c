/* Texts of the verdict must follow from its figures: which code is named, which command reproduces
 * a gain, exposed copies that overlap cannot hide, several devices, an incomplete recording. */
#include <string.h>

#include "../test.h"
#include "base/array.h"
#include "diagnose/remedies.h"
#include "loop.h"

static bool contains(const char *text, const char *part) {
    return text && strstr(text, part) != NULL;
}

static const struct finding *find(const struct verdict *verdict, enum finding_kind kind) {
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == kind)
            return &verdict->findings[i];
    return NULL;
}

static void copies_more_than_it_computes(struct scene *scene, int step) {
    (void)step;
    scene_copy(scene, COPY_HTOD, 200 << 20, false, 27000);
    layers(scene, 10 * US);
}

TEST(copies_that_no_overlap_can_hide_lead_and_the_link_is_the_limit) {
    struct scene_report played = play(copies_more_than_it_computes);
    if (!played.ok)
        return;
    const struct finding *first = &played.report.verdict.findings[0];
    CHECK(first->kind == FINDING_EXPOSED_TRANSFERS);
    CHECK(!first->minor);
    CHECK(contains(first->summary, "the link is the limit"));
    CHECK(first->fix_count > 0 && contains(first->fixes[0].words, "Move fewer bytes"));
    scene_finish(&played);
}

static void does_unnamed_work(struct scene *scene, int step) {
    (void)step;
    layers(scene, 100 * US);
    scene_host_code(scene, 4 * MS);
    scene_range(scene, RANGE_ANNOTATION, "tokenize", 700 * US);
}

static void does_named_work(struct scene *scene, int step) {
    (void)step;
    layers(scene, 100 * US);
    scene_range(scene, RANGE_ANNOTATION, "tokenize", 4 * MS);
}

TEST(host_code_is_named_only_if_it_has_most_of_the_time) {
    struct scene_report unnamed = play(does_unnamed_work), named = play(does_named_work);
    if (unnamed.ok && named.ok) {
        const struct finding *first = &unnamed.report.verdict.findings[0];
        CHECK(first->kind == FINDING_HOST_BOUND);
        CHECK(!contains(first->summary, "most of it in"));
        CHECK(!contains(first->fixes[0].words, "tokenize"));
        CHECK(first->fixes[0].effort == EFFORT_SETTING);
        first = &named.report.verdict.findings[0];
        CHECK(contains(first->summary, "most of it in tokenize"));
        CHECK(contains(first->fixes[0].words, "tokenize"));
    }
    scene_finish(&unnamed);
    scene_finish(&named);
}

static void loads_with_operators_inside(struct scene *scene, int step) {
    (void)step;
    int64_t start = scene->host;
    scene_host_code(scene, 100 * US);
    scene_range(scene, RANGE_OP, "aten::sin", 3 * MS);
    scene_annotate(scene, "next batch", start);
    layers(scene, 100 * US);
}

TEST(what_runs_inside_the_loader_is_the_inputs) {
    struct scene_report played = play(loads_with_operators_inside);
    if (!played.ok)
        return;
    const struct verdict *verdict = &played.report.verdict;
    const struct finding *first = &verdict->findings[0];
    CHECK(first->kind == FINDING_INPUT_PIPELINE);
    CHECK(contains(first->summary, "next batch"));
    CHECK(find(verdict, FINDING_ON_CPU) == NULL);
    scene_finish(&played);
}

static void loads_inside_an_iterator(struct scene *scene, int step) {
    (void)step;
    int64_t start = scene->host;
    scene_range(scene, RANGE_ANNOTATION, "dataloader.py(703): __next__", 3 * MS);
    layers(scene, 100 * US);
    scene_annotate(scene, "pt_utils.py(117): __next__", start);
}

TEST(an_iterator_that_also_computes_is_not_the_loader) {
    struct scene_report played = play(loads_inside_an_iterator);
    REQUIRE(played.ok);
    const struct finding *first = &played.report.verdict.findings[0];
    CHECK(first->kind == FINDING_INPUT_PIPELINE);
    CHECK(contains(first->summary, "dataloader.py(703): __next__"));
    scene_finish(&played);
}

static void runs_generated_code(struct scene *scene, int step) {
    (void)step;
    int64_t start = scene->host;
    for (int i = 0; i < 4; i++) {
        scene_host_code(scene, 900 * US);
        scene_kernel(scene, GEMM, 100 * US, 1000);
    }
    scene_annotate(scene, "/tmp/torchinductor_user/ov/cov463qhi2m2kw6ldmzzijfv5t3.py(88): call",
                   start);
}

TEST(code_that_torch_compile_generated_is_not_quoted) {
    struct scene_report played = play(runs_generated_code);
    REQUIRE(played.ok);
    const struct finding *host = find(&played.report.verdict, FINDING_HOST_BOUND);
    REQUIRE(host);
    CHECK(contains(host->summary, "the code that torch.compile generated"));
    CHECK(!contains(host->fixes[0].words, "torchinductor"));
    scene_finish(&played);
}

/* An array operation at a time, each a module of its own, or a step in one module. */
static int modules_each_step;

static void runs_jax(struct scene *scene, int step) {
    (void)step;
    int64_t start = scene->host;
    for (int i = 0; i < 8; i++) {
        scene_host_code(scene, 60 * US);
        scene_kernel(scene, i % 2 ? "wrapped_add" : "loop_multiply_fusion", 4 * US, 132);
        if (modules_each_step > 1)
            scene_annotate(scene, "jit_add:XLA GPU module", start);
        start = modules_each_step > 1 ? scene->host : start;
    }
    if (modules_each_step == 1)
        scene_annotate(scene, "jit_step:XLA GPU module", start);
}

TEST(a_compiled_function_is_not_told_to_be_compiled) {
    for (modules_each_step = 1; modules_each_step <= 8; modules_each_step += 7) {
        struct scene_report played = play(runs_jax);
        REQUIRE(played.ok);
        bool told =
            contains(played.report.verdict.engineer, "Put the whole function under jax.jit");
        CHECK_INT(told, modules_each_step > 1);
        scene_finish(&played);
    }
}

TEST(time_before_the_first_activity_is_named) {
    struct scene scene;
    scene_begin(&scene);
    scene_call(&scene, CALL_OTHER, "cudaGetDevice", 1000, 0);
    scene_range(&scene, RANGE_ANNOTATION, "preprocess", 300 * MS);
    static const char *const names[] = {GEMM, ADD, RELU, F32_GEMM}; /* in no periodic order */
    for (uint32_t i = 0, random = 1; i < 40; i++, random = random * 1103515245 + 12345)
        scene_kernel(&scene, names[random >> 30], 2 * MS, 1000);
    scene_sync(&scene, "cudaDeviceSynchronize");
    struct scene_report played = scene_report(&scene);
    REQUIRE(played.ok);
    const struct verdict *verdict = &played.report.verdict;
    CHECK(verdict->findings[0].kind == FINDING_STARTUP);
    CHECK(contains(verdict->manager, "Start-up takes 79 % of the run, most of it in preprocess."));
    CHECK(contains(verdict->findings[0].cause, "while the host does this"));
    scene_finish(&played);
}

TEST(ranges_of_a_device_are_not_work_on_the_cpu) {
    struct scene scene;
    scene_begin(&scene);
    scene_range(&scene, RANGE_OP, "aten::mm", 30 * MS);
    scene_range(&scene, RANGE_DEVICE, "pe_exe", 30 * MS);
    struct scene_report played = scene_report(&scene);
    REQUIRE(played.ok);
    const struct verdict *verdict = &played.report.verdict;
    CHECK(verdict->findings[0].kind == FINDING_UNDECIDED);
    CHECK(contains(verdict->manager, "has ranges of a device, but no kernels"));
    CHECK(!contains(verdict->engineer, "Move the tensors"));
    scene_finish(&played);
}

TEST(an_operator_with_most_of_the_time_is_named_without_kernels) {
    struct scene scene;
    scene_begin(&scene);
    scene_call(&scene, CALL_LAUNCH, "cudaLaunchKernel", 10 * MS, 1);
    scene_range(&scene, RANGE_OP, "aten::normal_", 80 * MS);
    scene_call(&scene, CALL_LAUNCH, "cudaLaunchKernel", 10 * MS, 2);
    struct scene_report played = scene_report(&scene);
    REQUIRE(played.ok);
    CHECK(contains(played.report.verdict.manager, "The host is in aten::normal_ 80 %"));
    CHECK(contains(played.report.verdict.manager, "GPU time is unknown"));
    scene_finish(&played);
}

TEST(operators_that_only_query_the_device_ran_on_the_cpu) {
    struct scene scene;
    scene_begin(&scene);
    scene_call(&scene, CALL_OTHER, "cudaGetDeviceCount", 10 * US, 0);
    scene_range(&scene, RANGE_OP, "aten::mkldnn_convolution", 80 * MS);
    scene_call(&scene, CALL_SYNC, "cudaDeviceSynchronize", 10 * US, 0);
    struct scene_report played = scene_report(&scene);
    REQUIRE(played.ok);
    CHECK(played.report.verdict.findings[0].kind == FINDING_ON_CPU);
    scene_finish(&played);
}

/* A process of one call that creates a context, a few kernels, and an exit. */
static struct scene_report short_program(int64_t create, int64_t kernel, uint32_t blocks) {
    struct scene scene;
    scene_begin(&scene);
    scene_call(&scene, CALL_ALLOC, "cudaMalloc", create, 0);
    for (int i = 0; i < 3; i++)
        scene_kernel(&scene, "divide_all", kernel, blocks);
    scene_sync(&scene, "cudaDeviceSynchronize");
    scene_call(&scene, CALL_ALLOC, "cudaFree", 100 * US, 0);
    return scene_report(&scene);
}

TEST(a_short_program_is_mostly_start_up) {
    struct scene_report played = short_program(200 * MS, 50 * US, 1000);
    REQUIRE(played.ok);
    const struct verdict *verdict = &played.report.verdict;
    CHECK(verdict->findings[0].kind == FINDING_STARTUP);
    CHECK(contains(verdict->manager, "Start-up takes >99 % of the run, most of it in cudaMalloc."));
    CHECK(contains(verdict->findings[0].cause, "create the context"));
    scene_finish(&played);
}

TEST(a_few_long_kernels_are_judged) {
    struct scene_report played = short_program(20 * MS, 200 * MS, 2);
    REQUIRE(played.ok);
    CHECK(played.report.verdict.findings[0].kind == FINDING_SMALL_GRID);
    scene_finish(&played);
    played = short_program(20 * MS, 200 * MS, 100000);
    REQUIRE(played.ok);
    CHECK(contains(played.report.verdict.manager, "How efficient its kernels are was not"));
    scene_finish(&played);
}

#define LIGHTNING "[pl][profile][_TrainingEpochLoop].train_dataloader_next"

static void loads_as_lightning_does(struct scene *scene, int step) {
    (void)step;
    scene_range(scene, RANGE_ANNOTATION, LIGHTNING, 3 * MS);
    layers(scene, 100 * US);
}

static void loads_with_operators_as_lightning_does(struct scene *scene, int step) {
    (void)step;
    int64_t start = scene->host;
    scene_host_code(scene, 100 * US);
    scene_range(scene, RANGE_OP, "aten::sin", 3 * MS);
    scene_annotate(scene, LIGHTNING, start);
    layers(scene, 100 * US);
}

TEST(a_loader_in_brackets_is_named) {
    static act *const steps[] = {loads_as_lightning_does, loads_with_operators_as_lightning_does};
    for (int i = 0; i < 2; i++) {
        struct scene_report played = play(steps[i]);
        REQUIRE(played.ok);
        const struct finding *first = &played.report.verdict.findings[0];
        CHECK(first->kind == FINDING_INPUT_PIPELINE);
        CHECK(contains(first->summary, LIGHTNING " takes 3."));
        scene_finish(&played);
    }
}

TEST(a_fix_names_the_options_that_give_the_findings_figure) {
    struct scene_report played = play(tiny);
    if (!played.ok)
        return;
    const struct finding *first = &played.report.verdict.findings[0];
    CHECK(first->kind == FINDING_LAUNCH_BOUND);
    CHECK(contains(first->summary, "graphs"));
    CHECK(first->fix_count > 0 && first->fixes[0].command &&
          strcmp(first->fixes[0].command, "--steps steady --graph") == 0);
    scene_finish(&played);
}

static void one_kernel(struct scene *scene, int step) {
    for (int i = 0; i < (step == 0 ? 400 : 40); i++) {
        scene_host_code(scene, 150 * US);
        scene_kernel(scene, "probe", 8 * US, 64);
    }
}

TEST(a_loop_of_one_launch_is_no_graph) {
    struct scene_report played = play(one_kernel);
    if (!played.ok)
        return;
    const struct finding *launches = find(&played.report.verdict, FINDING_LAUNCH_BOUND);
    for (size_t i = 0; launches && i < launches->fix_count; i++)
        CHECK(!contains(launches->fixes[i].command, "--graph"));
    CHECK(!launches || launches->confidence < CONFIDENCE_HIGH);
    scene_finish(&played);
}

/* The same again on another device, a little later. */
static void on_two_devices(struct scene *scene, int step) {
    static uint32_t other;
    int64_t start = scene->device_free;
    if (step == 0) {
        uint32_t device = trace_write_device(
            scene->writer,
            &(struct row_device){.label = trace_writer_string(scene->writer, TEXT("1"))});
        other = trace_write_queue(scene->writer, &(struct row_queue){.device = device});
    }
    layers(scene, 50 * US);
    trace_write_activity(
        scene->writer,
        &(struct row_activity){.start = start,
                               .duration = 20 * US,
                               .queue = other,
                               .kind = ACTIVITY_KERNEL,
                               .name = trace_writer_string(scene->writer, TEXT("copy_of_it")),
                               .bytes = BYTES_UNKNOWN});
    scene_sync(scene, "cudaDeviceSynchronize");
    scene_host_code(scene, 3 * MS);
}

TEST(idle_time_of_several_devices_is_not_added_up) {
    struct scene_report played = play(on_two_devices);
    if (!played.ok)
        return;
    const struct verdict *verdict = &played.report.verdict;
    CHECK(played.report.device_count == 2);
    CHECK(contains(verdict->part, "on device"));
    for (size_t i = 0; i < verdict->count; i++)
        CHECK(verdict->findings[i].recoverable <= verdict->time);
    scene_finish(&played);
}

TEST(findings_on_top_of_each_other_never_exceed_the_time) {
    static act *const steps[] = {tiny, reads_a_value, many_small_copies, compiles, does_named_work};
    for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
        struct scene_report played = play(steps[i]);
        int64_t sum = 0;
        if (!played.ok)
            return;
        for (size_t k = 0; k < played.report.verdict.count; k++)
            sum += played.report.verdict.findings[k].additional;
        CHECK(sum <= played.report.verdict.time);
        scene_finish(&played);
    }
}

static void loses_events(struct scene *scene, int step) {
    if (step == 0)
        trace_writer_dropped(scene->writer, 12);
    layers(scene, 200 * US);
}

TEST(a_verdict_on_a_lossy_recording_says_so) {
    struct scene_report lossy = play(loses_events), whole = play(does_named_work);
    if (lossy.ok && whole.ok) {
        CHECK(contains(lossy.report.verdict.caution, "12 events were lost"));
        CHECK(whole.report.verdict.caution == NULL);
    }
    scene_finish(&lossy);
    scene_finish(&whole);
}

static void was_cut(struct scene *scene, int step) {
    if (step == 0)
        trace_writer_meta(scene->writer, META_TRUNCATED, TEXT("the file ends in the middle"));
    layers(scene, 200 * US);
}

TEST(a_verdict_on_a_source_that_was_cut_says_so) {
    struct scene_report cut = play(was_cut);
    if (cut.ok)
        CHECK(contains(cut.report.verdict.caution, "the recording is truncated or damaged"));
    scene_finish(&cut);
}

TEST(calls_without_kernels_are_listed_by_their_class) {
    struct scene scene;
    scene_begin(&scene);
    scene_call(&scene, CALL_OTHER, "cudaGetDevice", 2 * US, 0);
    scene_call(&scene, CALL_ALLOC, "cudaMalloc", 2 * US, 0);
    scene_call(&scene, CALL_ALLOC, "cudaFree", 2 * US, 0);
    struct scene_report played = scene_report(&scene);
    if (!played.ok)
        return;
    const struct finding *first = &played.report.verdict.findings[0];
    CHECK(first->kind == FINDING_UNDECIDED);
    CHECK(contains(first->summary, "3 GPU API calls were recorded, but no kernels"));
    REQUIRE(first->evidence_count > 0);
    CHECK_STRING(first->evidence[0].words, "1 other call, 2 allocations and frees");
    scene_finish(&played);
}

TEST(remedies_are_in_the_terms_of_the_framework) {
    CHECK(contains(remedy_text(FRAMEWORK_TORCH, REMEDY_GRAPH), "torch.cuda.graph"));
    CHECK(contains(remedy_text(FRAMEWORK_JAX, REMEDY_GRAPH), "jax.jit"));
    CHECK(contains(remedy_text(FRAMEWORK_RIDGE, REMEDY_GRAPH), "ridge_compile()"));
    CHECK(contains(remedy_text(FRAMEWORK_METAL, REMEDY_GRAPH), "command buffer"));
    CHECK(contains(remedy_text(FRAMEWORK_JAX, REMEDY_PINNED), "cudaMallocHost"));
    CHECK(contains(remedy_text(FRAMEWORK_OPENCL, REMEDY_PINNED), "CL_MEM_ALLOC_HOST_PTR"));
    CHECK(contains(remedy_text(FRAMEWORK_OPENCL, REMEDY_NO_SYNC), "clFinish"));
    CHECK(contains(remedy_text(FRAMEWORK_VULKAN, REMEDY_GRAPH), "command buffer"));
    CHECK(contains(remedy_text(FRAMEWORK_VULKAN, REMEDY_COMPILE_AHEAD), "VkPipelineCache"));
    for (enum remedy remedy = 0; remedy < REMEDY_COUNT; remedy++)
        CHECK(!contains(remedy_text(FRAMEWORK_OPENCL, remedy), "cuda") &&
              !contains(remedy_text(FRAMEWORK_OPENCL, remedy), "CUDA") &&
              !contains(remedy_text(FRAMEWORK_VULKAN, remedy), "cuda") &&
              !contains(remedy_text(FRAMEWORK_VULKAN, remedy), "CUDA"));
    CHECK(contains(remedy_text(FRAMEWORK_METAL, REMEDY_PINNED), "cudaMallocHost"));
}

TEST(a_recorder_is_named_for_the_api_that_was_called) {
    static const struct {
        const char *call;
        bool is_rocm;
    } cases[] = {{"hipMalloc", true}, {"cudaMalloc", false}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct scene scene;
        bool named = false;
        scene_begin(&scene);
        scene_call(&scene, CALL_ALLOC, cases[i].call, 2 * US, 0);
        struct scene_report played = scene_report(&scene);
        if (!played.ok)
            return;
        const struct finding *first = &played.report.verdict.findings[0];
        for (size_t fix = 0; fix < first->fix_count; fix++)
            named |= contains(first->fixes[fix].words, "rocprofv3");
        CHECK_INT(named, cases[i].is_rocm);
        scene_finish(&played);
    }
}
