/* The roofline as SVG and in characters, and the tables of roofs: what is drawn, that it fits,
 * and that untrusted text does not break it. */
#include <math.h>

#include "base/array.h"
#include "base/memory.h"
#include "bench/print/print.h"
#include "bench/roofline/axes.h"
#include "bench/roofline/label_placement.h"
#include "../test.h"

#ifdef RIDGE_HAVE_EXPAT
#include <expat.h>
#endif

static struct roofs gpu(void) {
    struct roofs roofs = {.device = "cuda:0",
                          .description = "a <GPU> & more",
                          .driver = "1.2",
                          .measured_at = 1794730320};
    static const struct {
        enum roof_id roof;
        double value;
    } values[] = {
        {ROOF_MEMORY_READ, 4.3e12}, {ROOF_MEMORY_COPY, 4.2e12},  {ROOF_CACHE_READ, 9e12},
        {ROOF_F32, 60e12},          {ROOF_F16, 120e12},          {ROOF_BF16, 121e12},
        {ROOF_INT8, 240e12},        {ROOF_MATRIX_F32, 400e12},   {ROOF_MATRIX_F16, 700e12},
        {ROOF_MATRIX_BF16, 720e12}, {ROOF_MATRIX_INT8, 1400e12}, {ROOF_LAUNCH, 2100}};
    for (size_t i = 0; i < ARRAY_COUNT(values); i++)
        roofs.of[values[i].roof] = (struct roof){.value = values[i].value, .spread = 0.01};
    roofs.of[ROOF_MEMORY_COPY].stated = 4.8e12;
    snprintf(roofs.of[ROOF_MEMORY_COPY].how, sizeof roofs.of[0].how, "the driver's copy");
    snprintf(roofs.of[ROOF_SYNCHRONIZE].how, sizeof roofs.of[0].how, "the driver cannot say");
    return roofs;
}

static const struct roofline_dot dots[] = {
    {"softmax", 1.2, 4e12},
    {"matmul", 300, 500e12},
    {"the same place", 300, 500e12},
    {"</text><script>alert('x')</script>&\"", 12, 1e13},
    {"\x1b[31mred \xFF\xFE \x01 \xEF\xBF\xBF", 2, 1e12},
    {"far off", 1e-30, 1e-30},
    {"above everything", 1e30, 1e30},
    {"not a number", NAN, 1e12},
    {"nothing", 0, 0},
    {"a label that is much longer than any picture of a roofline has room for", 5, 2e13},
};
enum { DOTS = ARRAY_COUNT(dots) };

static bool svg_of(const struct roofs *roofs, size_t count, struct buffer *svg) {
    struct output output = output_into(svg);
    struct status status;
    return roofline_svg(roofs, dots, count, &output, &status) && !svg->failed;
}

static bool well_formed(struct text document) {
#ifdef RIDGE_HAVE_EXPAT
    XML_Parser parser = XML_ParserCreate("UTF-8");
    bool ok = parser && XML_Parse(parser, document.data, (int)document.length, 1) == XML_STATUS_OK;
    if (parser)
        XML_ParserFree(parser);
    return ok;
#else
    return text_starts(document, "<svg") && text_find(document, "</svg>") > 0;
#endif
}

TEST(a_ridge_point_is_where_arithmetic_meets_memory) {
    struct roofs roofs = gpu();
    struct roofline picture;
    REQUIRE(roofline_arrange(&roofs, NULL, 0, &picture));
    CHECK_INT(picture.slope_count, 2);
    CHECK_STRING(picture.slopes[0].name, "memory");
    CHECK(picture.slopes[0].value == 4.3e12); /* the faster of reading and copying */
    CHECK_INT(picture.ceiling_count, 8);
    for (unsigned i = 0; i < picture.ceiling_count; i++) {
        double ridge = roofline_ridge(&picture, &picture.ceilings[i]);
        CHECK(fabs(ridge * 4.3e12 / picture.ceilings[i].value - 1) < 1e-12);
        CHECK(scale_contains(&picture.intensity, ridge));
        CHECK(scale_contains(&picture.rate, picture.ceilings[i].value));
        CHECK(i == 0 || picture.ceilings[i - 1].value <= picture.ceilings[i].value);
    }
}

TEST(dots_stretch_the_axes_of_a_roofline_but_not_without_limit) {
    struct roofs roofs = gpu();
    struct roofline plain, slow, absurd;
    REQUIRE(roofline_arrange(&roofs, NULL, 0, &plain));
    REQUIRE(roofline_arrange(&roofs, &(struct roofline_dot){"", 0.01, 1e9}, 1, &slow));
    CHECK(scale_contains(&slow.intensity, 0.01) && scale_contains(&slow.rate, 1e9));
    REQUIRE(roofline_arrange(&roofs, &(struct roofline_dot){"", 1e-30, 1e30}, 1, &absurd));
    CHECK(absurd.intensity.low == plain.intensity.low && absurd.rate.high == plain.rate.high);
}

TEST(roofs_that_no_hardware_has_are_not_drawn) {
    struct roofs roofs = {0};
    struct roofline picture;
    CHECK(!roofline_arrange(&roofs, NULL, 0, &picture));
    roofs.of[ROOF_F32].value = INFINITY;
    roofs.of[ROOF_F16].value = -1;
    roofs.of[ROOF_BF16].value = NAN;
    roofs.of[ROOF_MEMORY_READ].value = 1e300;
    CHECK(!roofline_arrange(&roofs, NULL, 0, &picture));
    roofs.of[ROOF_MATRIX_F16].value = 1e12;
    CHECK(roofline_arrange(&roofs, NULL, 0, &picture));
    CHECK_INT(picture.ceiling_count, 1);
}

TEST(ticks_of_a_roofline_ascend_within_the_axis) {
    struct scale scale = {0.05, 5000};
    struct tick ticks[TICKS_MAX];
    char text[TICK_SIZE];
    unsigned count = scale_ticks(&scale, ticks), labeled = 0;
    for (unsigned i = 0; i < count; i++) {
        CHECK(scale_contains(&scale, ticks[i].value));
        CHECK(i == 0 || ticks[i].value > ticks[i - 1].value);
        labeled += ticks[i].labeled;
    }
    CHECK_INT(labeled, 5); /* 0.1 to 1000 */
    CHECK_STRING(tick_number(0.1, text), "0.1");
    CHECK_STRING(tick_number(1000, text), "1000");
    CHECK_STRING(tick_rate(1e11, "FLOP/s", text), "100 GFLOP/s");
    CHECK_STRING(roofline_number(13.95, text), "13.9");
    CHECK_STRING(roofline_number(325.6, text), "326");
}

TEST(a_roofline_as_svg_is_well_formed_whatever_the_labels_hold) {
    struct roofs roofs = gpu();
    struct buffer svg = {0};
    REQUIRE(svg_of(&roofs, DOTS, &svg));
    CHECK(well_formed(buffer_as_text(&svg)));
    CHECK(text_find(buffer_as_text(&svg), "<script") < 0);
    CHECK(text_find(buffer_as_text(&svg), "<GPU>") < 0);
    CHECK(text_find(buffer_as_text(&svg), "softmax") > 0);
    CHECK(text_find(buffer_as_text(&svg), "nan") < 0);
    CHECK(text_find(buffer_as_text(&svg), "prefers-color-scheme: dark") > 0);
    buffer_finish(&svg);
}

TEST(a_device_without_any_roof_has_a_picture_that_says_so) {
    struct roofs roofs = {0};
    struct buffer svg = {0}, text = {0};
    struct output output = output_into(&text);
    struct status status;
    REQUIRE(svg_of(&roofs, 0, &svg));
    CHECK(well_formed(buffer_as_text(&svg)));
    CHECK(text_find(buffer_as_text(&svg), "Nothing to draw") > 0);
    struct section_style style = {.width = 80};
    CHECK_OK(roofline_table(&roofs, NULL, 0, &style, &output, &status), status);
    CHECK(text_starts(buffer_as_text(&text), "No roofline"));
    buffer_finish(&svg);
    buffer_finish(&text);
}

/* Checks every line of a text against a width. */
static void check_lines(struct text text, unsigned width) {
    while (text.length > 0) {
        const char *end = memchr(text.data, '\n', text.length);
        REQUIRE(end != NULL);
        struct text line = {text.data, (size_t)(end - text.data)};
        if (table_text_width(line) > width)
            test_failed(__FILE__, __LINE__, "wider than %u: %.*s", width, TEXT_ARGS(line));
        CHECK(line.length == 0 || line.data[line.length - 1] != ' ');
        text = (struct text){end + 1, text.length - line.length - 1};
    }
}

TEST(a_roofline_as_tables_keeps_to_the_width_of_the_terminal) {
    struct roofs roofs = gpu(), plain = {0};
    plain.of[ROOF_F32].value = 1e11;
    plain.of[ROOF_MEMORY_COPY].value = 1e10;
    for (unsigned width = 60; width <= 200; width += 20)
        for (unsigned i = 0; i < 4; i++) {
            struct buffer text = {0};
            struct output output = output_into(&text);
            struct section_style style = {.width = width};
            struct status status;
            CHECK_OK(roofline_table(i % 2 ? &roofs : &plain, dots, i < 2 ? DOTS : 0, &style,
                                    &output, &status),
                     status);
            check_lines(buffer_as_text(&text), width > 75 ? width : 75);
            CHECK(!memchr(text.data, '\x1b', text.length));
            buffer_finish(&text);
        }
}

TEST(a_roofline_as_tables_has_ridge_points_and_shares) {
    struct roofs roofs = gpu();
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct section_style style = {.width = 80};
    struct status status;
    REQUIRE(roofline_table(&roofs, dots, DOTS, &style, &output, &status));
    /* 60 TFLOP/s over 4.3 TB/s of memory and over 9 TB/s of cache */
    CHECK(text_find(buffer_as_text(&text), "f32          60.0 TFLOP/s           14      6.67\n") >
          0);
    /* 4 of the 1.2 x 4.3 TFLOP/s that memory allows */
    CHECK(text_find(buffer_as_text(&text), "4.00 TFLOP/s       77.5 %  softmax\n") > 0);
    CHECK(text_find(buffer_as_text(&text), "?            ?  not a number\n") > 0);
    buffer_finish(&text);
}

TEST(labels_in_a_drawing_do_not_cover_one_another) {
    struct label_space label_space = {.bounds = {0, 0, 600, 400}};
    struct box boxes[60];
    unsigned placed = 0;
    struct status status;
    for (unsigned i = 0; i < 60; i++) {
        bool found;
        REQUIRE(label_place(&label_space, 100 + i * 37 % 400, 50 + i * 53 % 300, 90, 16,
                            &boxes[placed], &found, &status));
        placed += found;
    }
    CHECK(placed > 30);
    for (unsigned i = 0; i < placed; i++) {
        CHECK(boxes[i].left >= 0 && boxes[i].right <= 600);
        CHECK(boxes[i].top >= 0 && boxes[i].bottom <= 400);
        for (unsigned j = 0; j < i; j++)
            CHECK(!box_overlaps(&boxes[i], &boxes[j]));
    }
    label_space_finish(&label_space);
}

TEST(a_label_that_can_avoid_a_line_does) {
    struct label_space label_space = {.bounds = {0, 0, 600, 400}};
    struct segment line = {210, 0, 210, 400};
    struct status status;
    struct box box;
    bool found;
    REQUIRE(label_space_line(&label_space, line, &status));
    REQUIRE(label_place(&label_space, 200, 200, 90, 16, &box, &found, &status));
    CHECK(found && !box_crosses(&box, &line));
    label_space_finish(&label_space);
}

TEST(a_picture_without_memory_fails_and_leaves_nothing) {
    struct roofs roofs = gpu();
    unsigned failures = 0;
    for (uint64_t nth = 1; nth < 5000; nth += 7) {
        struct buffer svg = {0}, text = {0};
        struct output to_svg = output_into(&svg), to_text = output_into(&text);
        struct section_style style = {.width = 80};
        struct status status;
        memory_fail_from(nth);
        bool ok = roofline_svg(&roofs, dots, DOTS, &to_svg, &status) && !svg.failed &&
                  !to_svg.failed && roofline_table(&roofs, dots, DOTS, &style, &to_text, &status) &&
                  !text.failed && !to_text.failed;
        memory_fail_from(0);
        buffer_finish(&svg);
        buffer_finish(&text);
        if (ok)
            break;
        failures++;
    }
    CHECK(failures > 3);
}

static struct text print_in(const struct roofs *roofs, enum table_style style,
                            struct buffer *text) {
    struct output output = output_into(text);
    struct section_style how = {.style = style, .width = 80};
    struct status status;
    buffer_clear(text);
    CHECK_OK(print_roofs(roofs, &how, &output, &status), status);
    return buffer_as_text(text);
}

TEST(a_table_of_roofs_has_every_roof_and_why_one_is_missing) {
    struct roofs roofs = gpu();
    struct buffer text = {0};
    for (unsigned style = TABLE_TEXT; style <= TABLE_CSV; style++) {
        struct text printed = print_in(&roofs, (enum table_style)style, &text);
        for (unsigned id = 0; id < ROOF_COUNT; id++)
            CHECK(text_find(printed,
                            style == TABLE_CSV ? roof_infos[id].key : roof_infos[id].words) >= 0);
        CHECK(text_find(printed, "the driver cannot say") > 0);
        CHECK(text_find(printed, "the driver's copy") > 0);
    }
    check_lines(print_in(&roofs, TABLE_TEXT, &text), 80);
    CHECK(text_find(buffer_as_text(&text), "4.20 TB/s  1.0 %  4.80 TB/s     87.5 %\n") > 0);
    roofs = (struct roofs){0};
    check_lines(print_in(&roofs, TABLE_TEXT, &text), 80);
    buffer_finish(&text);
}

TEST(transfers_stand_in_a_row_for_each_size) {
    struct roofs roofs = gpu();
    struct buffer text = {0};
    for (unsigned i = 0; i < 4; i++) {
        struct transfer_roof *transfer = &roofs.transfers[roofs.transfer_count++];
        *transfer =
            (struct transfer_roof){.bytes = 65536, .to_device = i < 2, .pinned = i % 2 == 0};
        transfer->roof = (struct roof){.value = i == 3 ? 0 : (i + 1) * 1e9, .spread = 0.02};
        snprintf(transfer->roof.how, sizeof transfer->roof.how, "%s", i == 3 ? "too slow" : "");
    }
    struct text printed = print_in(&roofs, TABLE_TEXT, &text);
    CHECK(text_find(printed, "65.5 KB  1.00 GB/s ±2 %  2.00 GB/s ±2 %  3.00 GB/s ±2 %") > 0);
    CHECK(text_find(printed, "out, pageable: too slow") > 0);
    check_lines(printed, 80);
    CHECK(text_find(print_in(&roofs, TABLE_CSV, &text), ",to_device_pinned,65536,1000000000,B/s,") >
          0);
    buffer_finish(&text);
}

TEST(a_value_of_a_roof_has_the_unit_that_fits) {
    char text[48];
    CHECK_STRING(print_roof_value(ROOF_RATE, 1.979e15, text), "1.98 PFLOP/s");
    CHECK_STRING(print_roof_value(ROOF_BANDWIDTH, 4.1e9, text), "4.10 GB/s");
    CHECK_STRING(print_roof_value(ROOF_LATENCY, 3200, text), "3.20 µs");
    CHECK_STRING(print_roof_value(ROOF_LATENCY, 18.24, text), "18.2 ns");
    CHECK_STRING(print_roof_value(ROOF_LATENCY, NAN, text), "-");
    CHECK_STRING(print_roof_value(ROOF_RATE, INFINITY, text), "-");
    CHECK_STRING(print_value_of_roof(ROOF_MATRIX_INT8, 1.4e15, text), "1.40 POP/s");
    CHECK_STRING(print_value_of_roof(ROOF_F32, 999, text), "999 FLOP/s");
}
