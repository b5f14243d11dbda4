/* Operators of the forward pass and what computes their gradients. */
#include "../test.h"
#include "build.h"

#include "analysis/ranges.h"
#include "trace/nvtx_operator.h"

static void add_operator(struct build *build, int thread, int64_t start, int64_t end,
                         const char *name, uint64_t sequence) {
    trace_write_range(build->writer, &(struct row_range){
                                         .start = start,
                                         .duration = end - start,
                                         .thread = build->thread[thread],
                                         .name = trace_writer_string(build->writer, text_of(name)),
                                         .category = RANGE_OP,
                                         .sequence = sequence,
                                     });
}

static int64_t backward_of(const struct trace *trace, const struct ranges *ranges,
                           const char *name) {
    for (size_t i = 0; i < ranges->count; i++)
        if (text_is(trace_text(trace, ranges->groups[i].name), name))
            return ranges->groups[i].backward;
    return -1;
}

TEST(a_gradient_counts_for_the_last_operator_with_its_number_and_for_what_encloses_that) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct ranges ranges;
    build_begin(&build);
    build_range(&build, 0, RANGE_ANNOTATION, 0, 100, "layer");
    add_operator(&build, 0, 10, 60, "aten::linear", 8); /* peeks at the number */
    add_operator(&build, 0, 12, 15, "aten::t", 8);
    add_operator(&build, 0, 20, 50, "aten::addmm", 9);
    build_call(&build, 0, CALL_LAUNCH, 30, 32, "launch", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 40, 47, "k", 1);
    add_operator(&build, 1, 140, 190, "autograd::engine::evaluate_function: AddmmBackward0", 9);
    add_operator(&build, 1, 145, 185, "AddmmBackward0", 9);
    add_operator(&build, 1, 146, 160, "aten::mm", 0);
    build_call(&build, 1, CALL_LAUNCH, 150, 152, "launch", 2);
    build_activity(&build, 0, ACTIVITY_KERNEL, 160, 165, "k", 2);
    add_operator(&build, 1, 190, 195, "TBackward0", 8);
    build_call(&build, 1, CALL_LAUNCH, 191, 192, "launch", 3);
    build_activity(&build, 0, ACTIVITY_KERNEL, 200, 203, "k", 3);
    add_operator(&build, 0, 300, 310, "aten::addmm", 9); /* of a later pass */
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(ranges_find(&model, NULL, &ranges, &status));
    CHECK_INT(backward_of(trace, &ranges, "layer"), 8);
    CHECK_INT(backward_of(trace, &ranges, "aten::linear"), 8);
    CHECK_INT(backward_of(trace, &ranges, "aten::t"), 3);
    CHECK_INT(backward_of(trace, &ranges, "aten::addmm"), 5);
    CHECK_INT(backward_of(trace, &ranges, "AddmmBackward0"), 0);
    ranges_finish(&ranges);
    model_finish(&model);
    trace_close(trace);
}

TEST(an_operator_of_emit_nvtx_is_split_from_its_numbers) {
    uint64_t sequence;
    CHECK_INT(nvtx_operator(TEXT("aten::mm, seq = 3, op_id = 31"), &sequence), 8);
    CHECK_INT(sequence, 4);
    CHECK_INT(nvtx_operator(TEXT("aten::to, op_id = 31, sizes = [[2]]"), &sequence), 8);
    CHECK_INT(sequence, 0);
    CHECK_INT(nvtx_operator(TEXT("seq = 3"), &sequence), 0);
    CHECK_INT(nvtx_operator(TEXT("f, seq = 99999999999999999999999"), &sequence), 1);
    CHECK_INT(nvtx_operator(TEXT(""), &sequence), 0);
}
