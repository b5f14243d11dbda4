/* Tables as a terminal, Markdown and CSV show them. */
#include "../test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/table.h"

/* What table_write() writes, as a string that lives until the next call. */
static const char *written(const struct table *table, enum table_style style,
                           const struct table_layout *layout) {
    static char bytes[4096];
    struct status status = {0};
    struct output output;
    const char *path = test_temporary(".txt");
    bytes[0] = '\0';
    if (!output_open(&output, path, true, &status))
        return "cannot open";
    table_write(table, style, layout, &output);
    if (!output_commit(&output, &status))
        return "cannot commit";
    int fd = open(path, O_RDONLY);
    ssize_t length = read(fd, bytes, sizeof bytes - 1);
    bytes[length > 0 ? length : 0] = '\0';
    close(fd);
    return bytes;
}

static void fill(struct table *table) {
    table_column(table, "kernel", TABLE_LEFT | TABLE_FLEXIBLE);
    table_column(table, "calls", TABLE_RIGHT);
    table_cell(table, TEXT("gemm_with_a_long_name"));
    table_cellf(table, "%d", 3);
    table_cell(table, TEXT("añadir"));
    table_cellf(table, "%d", 12345678);
}

TEST(a_text_table_aligns_numbers_right_and_counts_code_points) {
    struct table table = {0};
    fill(&table);
    CHECK_STRING(written(&table, TABLE_TEXT, NULL), "kernel                    calls\n"
                                                    "─────────────────────  ────────\n"
                                                    "gemm_with_a_long_name         3\n"
                                                    "añadir                 12345678\n");
    table_finish(&table);
}

TEST(a_table_too_wide_cuts_its_flexible_column_only) {
    struct table table = {0};
    fill(&table);
    CHECK_STRING(written(&table, TABLE_TEXT, &(struct table_layout){.width = 22, .indent = 2}),
                 "  kernel         calls\n"
                 "  ──────────  ────────\n"
                 "  gemm_with…         3\n"
                 "  añadir      12345678\n");
    CHECK_STRING(written(&table, TABLE_TEXT, &(struct table_layout){.width = 1, .no_header = true}),
                 "gemm_wi…         3\n"
                 "añadir    12345678\n");
    table_finish(&table);
}

TEST(cells_that_differ_late_are_cut_in_the_middle) {
    struct table table = {0};
    table_column(&table, "kernel", TABLE_FLEXIBLE);
    table_cell(&table, TEXT("elementwise_kernel<128, 4, gpu_kernel_impl<MulFunctor<float>>>"));
    table_cell(&table, TEXT("elementwise_kernel<128, 4, gpu_kernel_impl<AddFunctor<float>>>"));
    table_cell(&table, TEXT("elementwise_kernel<128, 4, gpu_kernel_impl<AddFunctor<float>>>"));
    table_cell(&table, TEXT("elementwise_kernel<128, 2, ñ>"));
    table_cell(&table, TEXT("reduce_kernel<512, 1, ReduceOp<float, MeanOps<float, float>>>"));
    CHECK_STRING(
        written(&table, TABLE_TEXT, &(struct table_layout){.width = 36, .no_header = true}),
        "elementwise_kernel…MulFunctor<float…\n"
        "elementwise_kernel…AddFunctor<float…\n"
        "elementwise_kernel…AddFunctor<float…\n"
        "elementwise_kernel<128, 2, ñ>\n"
        "reduce_kernel<512, 1, ReduceOp<floa…\n");
    table_finish(&table);
}

TEST(a_cell_that_differs_at_its_end_shows_its_end) {
    struct table table = {0};
    table_column(&table, "kernel", TABLE_FLEXIBLE);
    table_cell(&table, TEXT("matmul_bf16xbf16xmxfp4_16x128x256x1.swiglu"));
    table_cell(&table, TEXT("matmul_bf16xbf16xmxfp4_16x128x256x1"));
    CHECK_STRING(
        written(&table, TABLE_TEXT, &(struct table_layout){.width = 30, .no_header = true}),
        "matmul_bf16xbf1…8x256x1.swiglu\n"
        "matmul_bf16xbf1…4_16x128x256x1\n");
    table_finish(&table);
}

TEST(two_flexible_columns_share_the_cut) {
    struct table table = {0};
    table_column(&table, "a", TABLE_FLEXIBLE);
    table_column(&table, "b", TABLE_FLEXIBLE);
    table_cell(&table, TEXT("0123456789012345678901234567890123456789"));
    table_cell(&table, TEXT("01234567890123456789"));
    CHECK_STRING(
        written(&table, TABLE_TEXT, &(struct table_layout){.width = 32, .no_header = true}),
        "01234567890123…  01234567890123…\n");
    table_finish(&table);
}

TEST(control_characters_and_bad_bytes_cannot_reach_the_terminal) {
    struct table table = {0};
    table_column(&table, "x", TABLE_LEFT);
    table_cell(&table, TEXT("a\x1b[31m\nb\xff\xc2\x9b|\0end"));
    CHECK_STRING(written(&table, TABLE_TEXT, &(struct table_layout){.no_header = true}),
                 "a\xEF\xBF\xBD[31m b\xEF\xBF\xBD\xEF\xBF\xBD|\xEF\xBF\xBD"
                 "end\n");
    table_finish(&table);
}

TEST(markdown_escapes_what_would_break_the_table) {
    struct table table = {0};
    table_column(&table, "name", TABLE_LEFT);
    table_column(&table, "n", TABLE_RIGHT);
    table_cell(&table, TEXT("a|b<int*> x_y __z"));
    table_cell(&table, TEXT("1"));
    table_cell(&table, TEXT("half a row"));
    CHECK_STRING(written(&table, TABLE_MARKDOWN, NULL), "| name | n |\n"
                                                        "|---|---:|\n"
                                                        "| a\\|b\\<int\\*> x_y \\_\\_z | 1 |\n"
                                                        "| half a row |  |\n");
    table_finish(&table);
}

TEST(csv_is_quoted_by_rfc_4180) {
    struct table table = {0};
    table_column(&table, "a,b", TABLE_LEFT);
    table_column(&table, "c", TABLE_RIGHT);
    table_cell(&table, TEXT("say \"hi\"\nthere"));
    table_cell(&table, TEXT("1.5"));
    table_cell(&table, TEXT("\""));
    table_cell(&table, TEXT(""));
    CHECK_STRING(written(&table, TABLE_CSV, NULL), "\"a,b\",c\r\n"
                                                   "\"say \"\"hi\"\"\nthere\",1.5\r\n"
                                                   "\"\"\"\",\r\n");
    table_finish(&table);
}

static const char *csv_field(struct text field) {
    static struct buffer written;
    buffer_clear(&written);
    struct output output = output_into(&written);
    table_csv_field(&output, field);
    buffer_byte(&written, '\0');
    return written.data;
}

TEST(csv_fields_are_never_formulas_and_numbers_stay_numbers) {
    CHECK_STRING(csv_field(TEXT("=1+1")), "'=1+1");
    CHECK_STRING(csv_field(TEXT("=HYPERLINK(\"x\",\"y\")")),
                 "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
    CHECK_STRING(csv_field(TEXT("@sum")), "'@sum");
    CHECK_STRING(csv_field(TEXT("+cmd")), "'+cmd");
    CHECK_STRING(csv_field(TEXT("-2+3")), "'-2+3");
    CHECK_STRING(csv_field(TEXT("\t=1")), "'\t=1");
    CHECK_STRING(csv_field(TEXT("\r=1")), "\"'\r=1\"");
    CHECK_STRING(csv_field(TEXT("-5")), "-5");
    CHECK_STRING(csv_field(TEXT("-1.5e-07")), "-1.5e-07");
    CHECK_STRING(csv_field(TEXT("-Inf")), "-Inf");
    CHECK_STRING(csv_field(TEXT("a=b")), "a=b");
}

TEST(an_empty_table_is_its_header) {
    struct table table = {0};
    table_column(&table, "name", TABLE_LEFT);
    CHECK_INT(table_rows(&table), 0);
    CHECK_STRING(written(&table, TABLE_TEXT, NULL), "name\n────\n");
    table_finish(&table);
}

TEST(a_table_that_runs_out_of_memory_fails_and_stays_usable) {
    for (uint64_t nth = 1; nth <= 5; nth++) {
        struct table table = {0};
        struct status status = {0};
        memory_fail_from(nth);
        fill(&table);
        memory_fail_from(0);
        CHECK(!table_ok(&table, &status));
        CHECK_INT(status.code, STATUS_MEMORY);
        written(&table, TABLE_TEXT, NULL);
        table_finish(&table);
    }
}
