/* Operators on the CPU: self time, nested and selected. */
#include "analysis/operators.h"

#include "../test.h"
#include "build.h"

TEST(an_operator_has_the_time_that_it_does_not_give_to_others) {
    struct build build;
    struct model model;
    struct operators operators;
    struct status status = {0};
    struct selection selection = {0};
    build_begin(&build);
    build_range(&build, 0, RANGE_OP, 0, 100, "aten::conv2d");
    build_range(&build, 0, RANGE_OP, 10, 90, "aten::mkldnn_convolution");
    build_range(&build, 0, RANGE_ANNOTATION, 15, 80, "mine");
    build_range(&build, 0, RANGE_OP, 20, 30, "aten::empty");
    build_range(&build, 0, RANGE_OP, 200, 260, "aten::conv2d");
    build_range(&build, 1, RANGE_OP, 0, 50, "aten::mm");
    struct trace *trace = build_end(&build);
    REQUIRE(trace && model_build(&model, trace, &status));
    REQUIRE(operators_find(&model, NULL, &operators, &status));
    REQUIRE(operators.count == 4);
    CHECK(text_is(trace_text(trace, operators.groups[0].name), "aten::conv2d"));
    CHECK_INT(operators.groups[0].self, 20 + 60);
    CHECK_INT(operators.groups[0].total, 160);
    CHECK_INT(operators.groups[0].median, 60);
    CHECK_INT(operators.groups[1].self, 70);
    CHECK_INT(operators.self, 20 + 60 + 70 + 10 + 50);
    operators_finish(&operators);
    REQUIRE(selection_add(&selection, 5, 40, &status));
    REQUIRE(operators_find(&model, &selection, &operators, &status));
    CHECK_INT(operators.count, 2); /* those that start in it */
    CHECK_INT(operators.self, 80);
    operators_finish(&operators);
    selection_finish(&selection);
    model_finish(&model);
    trace_close(trace);
}
