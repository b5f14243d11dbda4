/* The work of framework operators against formulas worked out by hand. */
#include "../test.h"

#include "analysis/operator_work.h"
#include "base/array.h"

static struct operator_work of(const char *name, const char *detail) {
    struct arguments arguments;
    if (!arguments_read(text_of(detail), &arguments))
        return (struct operator_work){0};
    return operator_work(text_of(name), &arguments);
}

struct expected {
    const char *name, *detail;
    double flops, bytes;
};

static void check_all(const struct expected *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct operator_work work = of(rows[i].name, rows[i].detail);
        if (work.flops != rows[i].flops || work.bytes != rows[i].bytes)
            test_failed(__FILE__, __LINE__, "%s %s: %.17g flops and %.17g bytes, not %.17g, %.17g",
                        rows[i].name, rows[i].detail, work.flops, work.bytes, rows[i].flops,
                        rows[i].bytes);
    }
}
#define CHECK_ALL(rows) check_all(rows, ARRAY_COUNT(rows))

TEST(a_product_costs_two_operations_for_each_pair_and_reads_and_writes_each_matrix_once) {
    static const struct expected rows[] = {
        {"aten::mm", "{\"Input Dims\":[[3,5],[5,7]],\"Input type\":[\"float\",\"float\"]}",
         2.0 * 3 * 5 * 7, 4.0 * (3 * 5 + 5 * 7 + 3 * 7)},
        {"aten::addmm",
         "{\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"Scalar\",\"Scalar\"],"
         "\"Input Dims\":[[7],[3,5],[5,7],[],[]]}",
         2.0 * 3 * 5 * 7, 2.0 * (7 + 3 * 5 + 5 * 7 + 3 * 7)},
        {"aten::bmm",
         "{\"Input Dims\":[[4,3,5],[4,5,7]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]}",
         2.0 * 4 * 3 * 5 * 7, 2.0 * 4 * (3 * 5 + 5 * 7 + 3 * 7)},
        {"aten::baddbmm",
         "{\"Input Dims\":[[4,3,7],[4,3,5],[4,5,7]],"
         "\"Input type\":[\"float\",\"float\",\"float\"]}",
         2.0 * 4 * 3 * 5 * 7, 4.0 * 4 * (3 * 7 + 3 * 5 + 5 * 7 + 3 * 7)},
        {"aten::matmul", "{\"Input Dims\":[[2,3,5],[5,7]],\"Input type\":[\"float\",\"float\"]}",
         2.0 * 6 * 5 * 7, 4.0 * (30 + 35 + 42)},
        {"aten::matmul",
         "{\"Input Dims\":[[2,4,3,5],[2,4,5,7]],\"Input type\":[\"float\",\"float\"]}",
         2.0 * 8 * 3 * 5 * 7, 4.0 * 8 * (15 + 35 + 21)},
        {"aten::linear",
         "{\"Input Dims\":[[2,3,5],[7,5],[7]],\"Input type\":[\"float\",\"float\",\"float\"]}",
         2.0 * 6 * 5 * 7, 4.0 * (30 + 35 + 42)},
        {"aten::mv", "{\"Input Dims\":[[3,5],[5]],\"Input type\":[\"float\",\"float\"]}",
         2.0 * 3 * 5, 4.0 * (15 + 5 + 3)},
    };
    CHECK_ALL(rows);
    CHECK_INT(of(rows[0].name, rows[0].detail).kind, OPERATOR_PRODUCT);
    CHECK_INT(of(rows[1].name, rows[1].detail).type, ELEMENT_F16);
    CHECK_INT(of(rows[2].name, rows[2].detail).type, ELEMENT_BF16);
}

TEST(a_convolution_costs_its_window_for_each_element_of_its_result) {
    static const struct expected rows[] = {
        /* 224 by 224, window 7, stride 2, padding 3: 112 by 112 */
        {"aten::convolution",
         "{\"Input Dims\":[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"float\",\"float\",\"\",\"ScalarList\",\"ScalarList\",\"ScalarList\","
         "\"Scalar\",\"ScalarList\",\"Scalar\"],"
         "\"Concrete Inputs\":[\"\",\"\",\"\",\"[2, 2]\",\"[3, 3]\",\"[1, 1]\",\"False\",\"[0, "
         "0]\",\"1\"]}",
         2.0 * 32 * 64 * 112 * 112 * 3 * 49,
         4.0 * (32.0 * 3 * 224 * 224 + 64 * 3 * 49 + 32.0 * 64 * 112 * 112)},
        /* stride 2 and 1, padding 3 and 0: 112 by 218 */
        {"aten::convolution",
         "{\"Input Dims\":[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"],"
         "\"Concrete Inputs\":[\"\",\"\",\"\",\"[2, 1]\",\"[3, 0]\",\"[1, 1]\",\"False\",\"[0, "
         "0]\",\"1\"]}",
         2.0 * 32 * 64 * 112 * 218 * 3 * 49,
         4.0 * (32.0 * 3 * 224 * 224 + 64 * 3 * 49 + 32.0 * 64 * 112 * 218)},
        /* one number is for both directions */
        {"aten::convolution",
         "{\"Input Dims\":[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"],"
         "\"Concrete Inputs\":[\"\",\"\",\"\",\"[2]\",\"[3]\",\"[1]\",\"False\",\"[0]\",\"1\"]}",
         2.0 * 32 * 64 * 112 * 112 * 3 * 49,
         4.0 * (32.0 * 3 * 224 * 224 + 64 * 3 * 49 + 32.0 * 64 * 112 * 112)},
        /* cudnn's has padding before stride; 4 groups; dilated by 2: reaches over 5 */
        {"aten::cudnn_convolution",
         "{\"Input Dims\":[[2,8,10,10],[16,2,3,3],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"c10::Half\",\"c10::Half\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"],"
         "\"Concrete Inputs\":[\"\",\"\",\"[0, 0]\",\"[1, 1]\",\"[2, 2]\",\"4\",\"False\","
         "\"False\",\"True\"]}",
         2.0 * 2 * 16 * 36 * 2 * 9, 2.0 * (2 * 8 * 100 + 16 * 2 * 9 + 2 * 16 * 36)},
        {"aten::convolution_backward",
         "{\"Input Dims\":[[2,16,8,8],[2,8,10,10],[16,8,3,3],[],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"],"
         "\"Concrete Inputs\":[\"\",\"\",\"\",\"[0]\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"False\","
         "\"[0, 0]\",\"1\",\"[True, True, False]\"]}",
         2 * (2.0 * 2 * 16 * 64 * 8 * 9), 4.0 * (2 * 16 * 64 + 2 * (2 * 8 * 100 + 16 * 8 * 9))},
        {"aten::cudnn_convolution_backward_input",
         "{\"Input Dims\":[[],[2,16,8,8],[16,8,3,3]],\"Input type\":[\"\",\"float\",\"float\"]}",
         2.0 * 2 * 16 * 64 * 8 * 9, 0},
    };
    CHECK_ALL(rows);
}

TEST(attention_is_two_products_and_half_of_them_when_causal) {
    static const struct expected rows[] = {
        {"aten::scaled_dot_product_attention",
         "{\"Input Dims\":[[2,4,10,8],[2,4,20,8],[2,4,20,8],[],[],[],[]],"
         "\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"\",\"Scalar\",\"Scalar\","
         "\"\"],\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"0.\",\"False\",\"\"]}",
         2 * (2.0 * 8 * 10 * 20 * 8), 2.0 * (2 * 4 * 8) * (10 + 20 + 20 + 10)},
        {"aten::_flash_attention_forward", /* heads behind positions */
         "{\"Input Dims\":[[2,10,4,8],[2,10,4,8],[2,10,4,8],[],[],[],[],[],[]],"
         "\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"\",\"\",\"\","
         "\"\",\"\",\"\"],"
         "\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"\",\"10\",\"10\",\"0.\",\"True\"]}",
         2.0 * 8 * 10 * 10 * 8, 2.0 * 4 * (2 * 10 * 4 * 8)},
    };
    CHECK_ALL(rows);
}

TEST(an_elementwise_operator_reads_its_inputs_and_writes_the_broadcast_shape) {
    static const struct expected rows[] = {
        {"aten::mul", "{\"Input Dims\":[[16,5,1],[1,5,8]],\"Input type\":[\"float\",\"float\"]}",
         16 * 5 * 8, 4.0 * (80 + 40 + 640)},
        {"aten::add", /* a number does not widen a tensor */
         "{\"Input Dims\":[[4,3],[],[]],\"Input type\":[\"c10::Half\",\"double\",\"Scalar\"]}", 12,
         2.0 * 24 + 8},
        {"aten::add_",
         "{\"Input Dims\":[[4,3],[4,3],[]],\"Input type\":[\"c10::Half\",\"float\",\"Scalar\"]}",
         12, 12 * (2.0 + 4 + 2)},
        {"aten::clamp_min", /* the third is the result that the caller provided */
         "{\"Input Dims\":[[6],[],[6]],\"Input type\":[\"float\",\"Int\",\"float\"]}", 6, 48},
        {"aten::eq", "{\"Input Dims\":[[6],[6]],\"Input type\":[\"long int\",\"long int\"]}", 6,
         2 * 48.0 + 6},
        {"aten::copy_",
         "{\"Input Dims\":[[6],[6],[]],\"Input type\":[\"c10::BFloat16\",\"float\",\"Scalar\"]}", 0,
         12.0 + 24},
        {"aten::fill_", "{\"Input Dims\":[[6],[]],\"Input type\":[\"float\",\"Scalar\"]}", 0, 24},
        {"triton_poi_fused_add_cos_sin_0",
         "{\"Input Dims\":[[10,10],[10,10],[10,10],[]],"
         "\"Input type\":[\"float\",\"float\",\"float\",\"Scalar\"]}",
         0, 1200},
    };
    CHECK_ALL(rows);
}

TEST(reductions_normalizations_and_lookups_touch_each_element_once) {
    static const struct expected rows[] = {
        {"aten::sum",
         "{\"Input Dims\":[[16,5,8],[],[],[]],\"Input type\":[\"float\",\"ScalarList\",\"Scalar\","
         "\"\"],\"Concrete Inputs\":[\"\",\"[-1]\",\"True\",\"\"]}",
         640, 4.0 * (640 + 80)},
        {"aten::mean", "{\"Input Dims\":[[16,5,8]],\"Input type\":[\"float\"]}", 640, 4.0 * 641},
        {"aten::_softmax",
         "{\"Input Dims\":[[16,40],[],[]],\"Input type\":[\"c10::Half\",\"Scalar\",\"Scalar\"]}",
         5 * 640, 2.0 * 2 * 640},
        {"aten::native_layer_norm",
         "{\"Input Dims\":[[16,40],[],[40],[40],[]],"
         "\"Input type\":[\"float\",\"ScalarList\",\"float\",\"float\",\"Scalar\"]}",
         8 * 640, 4.0 * (2 * 640 + 80)},
        {"aten::cudnn_batch_norm_backward",
         "{\"Input Dims\":[[2,3,4,4],[2,3,4,4],[3]],\"Input "
         "type\":[\"float\",\"float\",\"float\"]}",
         12 * 96, 4.0 * (3 * 96 + 3)},
        {"aten::embedding",
         "{\"Input Dims\":[[1000,64],[8,10]],\"Input type\":[\"float\",\"long int\"]}", 0,
         8.0 * 80 + 2 * 4.0 * 80 * 64},
        {"aten::index_select",
         "{\"Input Dims\":[[1000,64],[],[5]],\"Input type\":[\"float\",\"Scalar\",\"long int\"],"
         "\"Concrete Inputs\":[\"\",\"1\",\"\"]}",
         0, 8.0 * 5 + 2 * 4.0 * 1000 * 5},
    };
    CHECK_ALL(rows);
    struct operator_work cat = of("aten::cat", "{\"Input Dims\":[[[2,3],[4,3]],[]],"
                                               "\"Input type\":[\"TensorList\",\"Scalar\"]}");
    CHECK(cat.bytes == 0 && cat.elements == 2 * 18);
}

TEST(what_the_work_depends_on_and_was_not_recorded_makes_it_unknown) {
    static const struct {
        const char *name, *detail;
    } rows[] = {
        {"aten::convolution", /* which stride? */
         "{\"Input Dims\":[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}"},
        {"aten::scaled_dot_product_attention", /* causal? */
         "{\"Input Dims\":[[2,4,10,8],[2,4,20,8],[2,4,20,8],[],[],[],[]],"
         "\"Input type\":[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\"]}"},
        {"aten::mm", "{\"Input Dims\":[[3,5],[6,7]],\"Input type\":[\"float\",\"float\"]}"},
        {"aten::mm", "{\"Input Dims\":[[3,5],[5,7]],\"Input type\":[\"\",\"\"]}"},
        {"aten::mm", "{\"Input Dims\":[[3,5]],\"Input type\":[\"float\"]}"},
        {"aten::frobnicate", "{\"Input Dims\":[[3,5]],\"Input type\":[\"float\"]}"},
        {"mm", "{\"Input Dims\":[[3,5],[5,7]],\"Input type\":[\"float\",\"float\"]}"},
        {"aten::mul", "{\"Input Dims\":[[]],\"Input type\":[\"Scalar\"]}"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        if (of(rows[i].name, rows[i].detail).kind != OPERATOR_UNKNOWN)
            test_failed(__FILE__, __LINE__, "row %zu, %s, is not unknown", i, rows[i].name);
}

TEST(damaged_shapes_are_not_read_beyond_their_end) {
    static const char whole[] =
        "{\"Input Dims\":[[3,5],[[5,7],[2]],[]],\"Input type\":[\"float\",\"fl\\\"oat\",\"\"],"
        "\"Concrete Inputs\":[\"\",\"[1, 2]\",\"True\"]}";
    struct arguments arguments;
    char part[sizeof whole];
    for (size_t length = 0; length < sizeof whole; length++) {
        memcpy(part, whole, length); /* without its end: a reader beyond would find other bytes */
        memset(part + length, '7', sizeof part - length);
        arguments_read((struct text){part, length}, &arguments);
    }
    REQUIRE(arguments_read(text_of(whole), &arguments));
    CHECK_INT(arguments.count, 3);
    CHECK(arguments.list[1].is_list && arguments.list[1].elements == 37);
    CHECK(
        !arguments_read(text_of("{\"Input Dims\":[[-3]],\"Input type\":[\"float\"]}"), &arguments));
    CHECK(!arguments_read(text_of("{\"Input Dims\":[[1e99]],\"Input type\":[\"float\"]}"),
                          &arguments));
    CHECK(of("aten::mm", "{\"Input Dims\":[[9000000000000000000,9000000000000000000],"
                         "[9000000000000000000,9]],\"Input type\":[\"float\",\"float\"]}")
              .kind == OPERATOR_UNKNOWN);
}

TEST(attention_of_shapes_that_do_not_fit_has_no_known_work) {
    static const char *const query[] = {"[2,4,6,8]", "[2,4,8]"};
    static const char *const key[] = {"[2,4,6,8]", "[4,6,8]", "[2,4,6,7]"};
    static const char *const value[] = {"[2,4,6,8]", "[4,6,8]"};
    static const char *const types[] = {"float", "unheard"};
    static const char *const causal[] = {"False", "maybe"};
    unsigned known = 0;
    for (unsigned i = 0; i < 2 * 3 * 2 * 2 * 2; i++) {
        char detail[512];
        snprintf(detail, sizeof detail,
                 "{\"Input Dims\":[%s,%s,%s,[],[],[]],\"Input "
                 "type\":[\"%s\",\"%s\",\"%s\",\"\",\"Scalar\","
                 "\"Scalar\"],\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"0.\",\"%s\"]}",
                 query[i % 2], key[i / 2 % 3], value[i / 6 % 2], types[i / 12 % 2],
                 types[i / 12 % 2], types[i / 12 % 2], causal[i / 24]);
        struct operator_work work = of("aten::scaled_dot_product_attention", detail);
        known += work.kind == OPERATOR_PRODUCT;
        if (i == 0)
            CHECK(work.flops == 2.0 * 2 * 8 * 6 * 6 * 8 && work.bytes == 4.0 * 4 * 2 * 4 * 6 * 8);
        else
            CHECK(work.flops == 0 && work.bytes == 0);
    }
    CHECK_INT(known, 1);
}

#define FLOATS(dims) "{\"Input Dims\":" dims ",\"Input type\":[\"float\",\"float\",\"float\"]}"
#define BACKWARD(dims, transposed, mask)                                                           \
    "{\"Input Dims\":" dims ",\"Input type\":[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\","  \
    "\"\",\"\",\"\",\"\"],\"Concrete Inputs\":[\"\",\"\",\"\",\"[0]\",\"[1, 1]\",\"[0, 0]\","      \
    "\"[1, 1]\",\"" transposed "\",\"[0, 0]\",\"1\",\"" mask "\"]}"
#define FITTING "[[2,16,8,8],[2,8,10,10],[16,8,3,3],[],[],[],[],[],[],[],[]]"

TEST(operators_whose_shapes_do_not_fit_have_no_known_work) {
    static const struct expected rows[] = {
        {"aten::mm", FLOATS("[[3,5],[6,7]]"), 0, 0},
        {"aten::mm", FLOATS("[[3,5]]"), 0, 0},
        {"aten::mv", FLOATS("[[3,5],[6]]"), 0, 0},
        {"aten::mv", FLOATS("[[3,5],[5,1]]"), 0, 0},
        {"aten::mv", FLOATS("[[5],[5]]"), 0, 0},
        {"aten::matmul", FLOATS("[[5],[5,7]]"), 0, 0},
        {"aten::matmul", FLOATS("[[3,5],[5]]"), 0, 0},
        {"aten::matmul", FLOATS("[[3,5],[6,7]]"), 0, 0},
        {"aten::matmul", FLOATS("[[3,0],[0,7]]"), 0, 0},
        {"aten::matmul", FLOATS("[[2,3,5],[4,5,7]]"), 0, 0},
        {"aten::matmul", FLOATS("[[1,2,3,5],[2,5,7]]"), 0, 0},
        {"aten::cudnn_convolution_backward_input", FLOATS("[[],[2,16,8,8]]"), 0, 0},
        {"aten::cudnn_convolution_backward_input", FLOATS("[[],[2,16],[16,8]]"), 0, 0},
        {"aten::cudnn_convolution_backward_input", FLOATS("[[],[2,16,8],[16,8,3,3]]"), 0, 0},
        {"aten::cudnn_convolution_backward_input", FLOATS("[[],[2,15,8,8],[16,8,3,3]]"), 0, 0},
        {"aten::cudnn_convolution_backward_input", FLOATS("[[],[2,0,8,8],[0,8,3,3]]"), 0, 0},
        {"aten::convolution_backward", BACKWARD(FITTING, "True", "[True, True, False]"), 0, 0},
        {"aten::convolution_backward", BACKWARD(FITTING, "False", "[False, False, True]"), 0, 0},
        {"aten::convolution_backward",
         BACKWARD("[[2,16,8,8],[2,8,10,10],[16,8],[],[],[],[],[],[],[],[]]", "False",
                  "[True, True, False]"),
         0, 0},
    };
    CHECK_ALL(rows);
}

TEST(each_gradient_of_a_convolution_costs_as_much_as_the_convolution) {
    static const struct expected rows[] = {
        {"aten::convolution_backward", BACKWARD(FITTING, "False", "[True, False, True]"),
         2.0 * 2 * 16 * 64 * 8 * 9, 4.0 * (2 * 16 * 64 + 2 * 8 * 100 + 16 * 8 * 9)},
        {"aten::convolution_backward", BACKWARD(FITTING, "False", "[False, True, False]"),
         2.0 * 2 * 16 * 64 * 8 * 9, 4.0 * (2 * 16 * 64 + 2 * 8 * 100 + 16 * 8 * 9)},
    };
    CHECK_ALL(rows);
}

/* Five products instead of two, and a gradient for each input. */
TEST(the_backward_pass_of_attention_costs_two_and_a_half_times_as_much) {
    static const struct expected rows[] = {
        {"aten::_scaled_dot_product_flash_attention_backward",
         "{\"Input Dims\":[[2,4,10,6],[2,4,10,8],[2,4,20,8],[2,4,20,6],[],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\",\"\",\"\",\"\","
         "\"\",\"\",\"\",\"\",\"\"],\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
         "\"\",\"\",\"0.\",\"False\"]}",
         2.5 * 2 * 8 * 200 * (8 + 6), 2 * 2.0 * 8 * (10 * 8 + 20 * 8 + 20 * 6 + 10 * 6)},
        {"aten::_flash_attention_backward",
         "{\"Input Dims\":[[2,10,4,8],[2,10,4,8],[2,20,4,8],[2,20,4,8],[],[],[],[],[],[],[],[]],"
         "\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\",\"\",\"\",\"\","
         "\"\",\"\",\"\",\"\",\"\"],\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
         "\"\",\"\",\"0.\",\"True\"]}",
         2.5 * 2 * 8 * 200 * 0.5 * (8 + 8), 2 * 2.0 * 8 * (10 * 8 + 20 * 8 + 20 * 8 + 10 * 8)},
    };
    CHECK_ALL(rows);
}
