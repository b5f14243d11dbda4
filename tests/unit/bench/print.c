/* Tables of results at any width, and the sentences below them. */
#include "../test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/print/print_results.h"
#include "made_up.h"

static struct status status;

static char *printed(const struct result_set *set, enum table_style style, unsigned width) {
    static struct buffer text;
    struct output output = output_into(&text);
    buffer_clear(&text);
    CHECK_OK(print_results(set, &(struct section_style){.style = style, .width = width}, &output,
                           &status),
             status);
    buffer_byte(&text, '\0');
    return text.data;
}

static bool add(struct result_set *set, const struct result *result) {
    return result_add(set, result, &status) != NULL;
}

static size_t widest_line(const char *text) {
    size_t widest = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        size_t width = table_text_width((struct text){text, length});
        widest = width > widest ? width : widest;
        text += length + (text[length] == '\n');
    }
    return widest;
}

TEST(figures_have_few_digits_and_never_too_many) {
    char text[FORMAT_SIZE];
    CHECK_STRING(print_number(0, 3, text), "0.000");
    CHECK_STRING(print_number(0.01234, 3, text), "0.012");
    CHECK_STRING(print_number(0.1234, 3, text), "0.123");
    CHECK_STRING(print_number(1.234, 3, text), "1.23");
    CHECK_STRING(print_number(9.996, 3, text), "10.0");
    CHECK_STRING(print_number(99.96, 3, text), "100");
    CHECK_STRING(print_number(1234.4, 3, text), "1,234");
    CHECK_STRING(print_number(NAN, 3, text), "-");
    CHECK_STRING(print_share(0.934, text), "93 %");
    CHECK_STRING(print_share(0.0934, text), "9.3 %");
    CHECK_STRING(print_share(0.0001, text), "<0.1 %");
    CHECK_STRING(print_share(7.32, text), "7.3x"); /* no share: a factor */
    CHECK_STRING(print_times(49.7, text), "50");
    CHECK_STRING(print_times(1.8, text), "1.80");
}

/* 100 µs for what takes 50 at the roof; 20 times that. */
static bool make_pair(struct result_set *set) {
    struct result eager = made_up_result("fusion", "chain of 20", "eager", 2e6);
    struct result compiled = made_up_result("fusion", "chain of 20", "compiled", 1e5);
    compiled.compare = true;
    return add(set, &eager) && add(set, &compiled);
}

TEST(the_line_furthest_from_its_roof_is_named_with_its_factor) {
    struct result_set set = {0};
    REQUIRE(make_pair(&set));
    const char *text = printed(&set, TABLE_TEXT, 0);
    CHECK(strstr(text, "chain of 20, eager is farthest from its roof: 40x slower than the "
                       "hardware allows (memory)") != NULL);
    CHECK(strstr(text, "20.0x") != NULL); /* the compiled line against the eager one */
    CHECK(strstr(text, "2.5 %  memory") != NULL);
    CHECK(strstr(text, "50.0 %  memory") != NULL);
    result_set_finish(&set);
}

TEST(a_line_near_its_roof_says_how_near) {
    struct result_set set = {0};
    struct result result = made_up_result("layers", "softmax", "", 53763);
    REQUIRE(add(&set, &result));
    const char *text = printed(&set, TABLE_TEXT, 80);
    CHECK(strstr(text, "softmax is at 93 % of what the hardware allows (memory).") != NULL);
    CHECK(strstr(text, "18.6 GB/s") != NULL); /* a million bytes in 53.8 µs */
    CHECK(strstr(text, "4.65 GFLOP/s") != NULL);
    result_set_finish(&set);
}

TEST(tables_fit_the_terminal_and_lose_no_label) {
    struct result_set set = {0};
    static const char *const devices[] = {"cpu", "opencl:0"};
    snprintf(set.peer, sizeof set.peer, "PyTorch 2.11.0");
    for (int device = 0; device < 2; device++)
        for (int i = 0; i < 10; i++) {
            char label[56];
            snprintf(label, sizeof label, "a label as long as labels are, number %d", i / 2);
            struct result result = made_up_result("fusion", label, i % 2 ? "compiled" : "eager",
                                                  1e4 * (i + 1) * (i + 1));
            snprintf(result.device, sizeof result.device, "%s", devices[device]);
            result.has_peer = true;
            result.peer = made_up_times(2e4, 0.01);
            REQUIRE(add(&set, &result));
        }
    for (unsigned width = 80; width <= 200; width += 20) {
        const char *text = printed(&set, TABLE_TEXT, width);
        CHECK(widest_line(text) <= width);
        CHECK(strstr(text, "a label as long as labels are, number 4\n") ||
              strstr(text, "a label as long as labels are, number 4  "));
        CHECK(strstr(text, "PyTorch") && strstr(text, "vs peer") && strstr(text, "faster"));
    }
    result_set_finish(&set);
}

TEST(what_could_not_be_measured_says_why) {
    struct result_set set = {0};
    struct result result = made_up_result("matmul", "matmul 8192", "", 1);
    result.time = (struct measurement){0};
    snprintf(result.problem, sizeof result.problem, "the device lacks f16");
    REQUIRE(add(&set, &result));
    CHECK(strstr(printed(&set, TABLE_TEXT, 80), "matmul 8192: the device lacks f16") != NULL);
    struct result fine = made_up_result("matmul", "matmul 64", "", 1e5);
    snprintf(fine.notes, sizeof fine.notes, "noisy");
    REQUIRE(add(&set, &fine));
    const char *text = printed(&set, TABLE_TEXT, 80);
    CHECK(strstr(text, "¹ the device lacks f16") != NULL);
    CHECK(strstr(text, "² noisy") != NULL);
    result_set_finish(&set);
}

TEST(no_results_is_said_in_words) {
    struct result_set set = {0};
    CHECK_STRING(printed(&set, TABLE_TEXT, 80), "There are no results.\n");
}

TEST(results_of_one_case_on_several_devices_are_neighbors) {
    struct result_set set = {0};
    for (int i = 0; i < 4; i++) {
        struct result result = made_up_result("attention", i % 2 ? "two" : "one", "", 1e5 + i);
        snprintf(result.device, sizeof result.device, "%s", i < 2 ? "cpu" : "cuda:0");
        REQUIRE(add(&set, &result));
    }
    struct sheet sheet;
    struct section_style style = {.style = TABLE_TEXT, .width = 80};
    CHECK_OK(sheet_init(&sheet, &set, "attention", &style, &status), status);
    REQUIRE(sheet.count == 4);
    CHECK(sheet.rows[0] == &set.results[0] && sheet.rows[1] == &set.results[2]);
    CHECK(sheet.rows[2] == &set.results[1] && sheet.rows[3] == &set.results[3]);
    sheet_finish(&sheet);
    result_set_finish(&set);
}

TEST(csv_has_one_header_and_raw_figures) {
    struct result_set set = {0};
    REQUIRE(make_pair(&set));
    set.results[0].experiment[0] = '='; /* what a spreadsheet would run */
    const char *text = printed(&set, TABLE_CSV, 80);
    CHECK(strncmp(text, "experiment,label,variant,device,dtype,", 38) == 0);
    CHECK(strstr(text, "\r\n'=usion,chain of 20,eager,cpu,f32,0,0,2000000,") != NULL);
    CHECK(strstr(text, ",0.025,memory,50000,,,,,\r\n") != NULL);
    result_set_finish(&set);
}

TEST(labels_cannot_steer_a_terminal_or_become_markup) {
    struct result_set set = {0};
    struct result result = made_up_result("layers", "a\033[31m|b\n<i>", "", 1e5);
    REQUIRE(add(&set, &result));
    CHECK(!strchr(printed(&set, TABLE_TEXT, 80), '\033'));
    const char *markdown = printed(&set, TABLE_MARKDOWN, 80);
    CHECK(!strchr(markdown, '\033') && !strstr(markdown, "m|b") && !strstr(markdown, " <i>"));
    result_set_finish(&set);
}

static char *timeline(const struct span *spans, size_t count, int64_t length, unsigned cells) {
    static struct buffer text;
    struct output output = output_into(&text);
    buffer_clear(&text);
    print_timeline(spans, count, length, cells, &output);
    buffer_byte(&text, '\0');
    return text.data;
}

TEST(a_timeline_shows_kernels_copies_and_gaps) {
    static const struct span spans[] = {
        {0, 20, false}, {10, 20, false}, {40, 50, true}, {60, 64, false}, {90, 200, false}};
    CHECK_STRING(timeline(spans, 5, 100, 10), "██  = ▒  █");
    CHECK_STRING(timeline(spans, 5, 0, 10), "");
    CHECK_STRING(timeline(spans, 1, 2, 10), "██");
    static const struct span odd[] = {{-5, 5, false}, {INT64_MAX - 1, INT64_MAX, false}};
    CHECK_STRING(timeline(odd, 2, 10, 2), "█ ");
}

TEST(both_timelines_stand_on_one_axis) {
    struct result_set set = {0};
    REQUIRE(make_pair(&set));
    for (size_t i = 0; i < 2; i++) {
        struct result *result = &set.results[i];
        result->spans = memory_allocate(2, sizeof *result->spans, &status);
        REQUIRE(result->spans);
        result->span_count = 2;
        int64_t gap = i ? 0 : 500;
        result->spans[0] = (struct span){0, 250, false};
        result->spans[1] = (struct span){250 + gap, 500 + gap, false};
    }
    const char *text = printed(&set, TABLE_TEXT, 80);
    CHECK(strstr(text, "2 kernels, busy 50.0 % of 1.00 µs") != NULL);
    CHECK(strstr(text, "2 kernels, busy 100 % of 500 ns") != NULL);
    CHECK(widest_line(text) <= 80);
    result_set_finish(&set);
}

TEST(a_sweep_is_drawn_as_bars_of_its_best) {
    struct result_set set = {0};
    for (int i = 0; i < 3; i++) {
        char variant[24];
        snprintf(variant, sizeof variant, "block %d", 32 << i);
        struct result result = made_up_result("workgroup-sweep", "add", variant, 1e5 * (i + 1));
        result.curve = true;
        REQUIRE(add(&set, &result));
    }
    const char *text = printed(&set, TABLE_TEXT, 0);
    CHECK(strstr(text, " ████████████  ") != NULL);
    CHECK(strstr(text, " ██████  ") != NULL);
    CHECK(strstr(text, " ████  ") != NULL);
    result_set_finish(&set);
}

TEST(a_comparison_says_faster_slower_or_no_measurable_difference) {
    struct result_set set = {0};
    REQUIRE(make_pair(&set));
    const struct result *a = &set.results[0], *b = &set.results[1];
    struct comparison rows[] = {
        {.before = a, .after = a, .ratio = 1.004, .low = 0.99, .high = 1.02, .noise = 0.02},
        {.before = b,
         .after = b,
         .ratio = 0.96,
         .low = 0.95,
         .high = 0.97,
         .verdict = COMPARISON_FASTER},
        {.before = a,
         .after = b,
         .ratio = 3,
         .low = 2.9,
         .high = 3.1,
         .verdict = COMPARISON_SLOWER},
        {.after = b, .verdict = COMPARISON_ABSENT},
    };
    struct comparison_set comparison = {.rows = rows, .count = 4, .drift = 0.03};
    struct buffer text = {0};
    struct output output = output_into(&text);
    for (enum table_style style = TABLE_TEXT; style <= TABLE_CSV; style++)
        CHECK_OK(print_comparison(&comparison, &(struct section_style){.style = style, .width = 80},
                                  &output, &status),
                 status);
    buffer_byte(&text, '\0');
    CHECK(strstr(text.data, "no measurable difference") != NULL);
    CHECK(strstr(text.data, "faster by 4.0 %") != NULL);
    CHECK(strstr(text.data, "slower, 3.00x") != NULL);
    CHECK(strstr(text.data, "The machine was 3.0 % slower in the later run.") != NULL);
    CHECK(strstr(text.data,
                 "1 slower, 1 faster, 1 without a measurable difference, 1 in one run") != NULL);
    buffer_finish(&text);
    result_set_finish(&set);
}

TEST(running_out_of_memory_while_printing_is_reported) {
    struct result_set set = {0};
    REQUIRE(make_pair(&set));
    const char *path = test_temporary(".txt");
    bool ok = false;
    for (uint64_t nth = 1; nth < 5000 && !ok; nth++) {
        struct output output;
        REQUIRE(output_open(&output, path, true, &status));
        memory_fail_from(nth);
        ok = print_results(&set, &(struct section_style){.style = TABLE_TEXT, .width = 60}, &output,
                           &status);
        memory_fail_from(0);
        CHECK(ok || status.code == STATUS_MEMORY);
        output_abandon(&output);
    }
    CHECK(ok);
    result_set_finish(&set);
}
