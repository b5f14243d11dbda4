/* The kernel table as CSV. */
#include "../test.h"

#include <string.h>

#include "sample.h"

static void fill(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){"0", "H100", "gemm", "forward", NULL});
    trace_writer_next_session(writer);
    sample_write(writer, &(struct sample_names){"M1", "Apple, \"M1\"", "=1+1", "forward", NULL});
}

static bool write_kernels(const struct report *report, struct output *output,
                          struct status *status) {
    return report_write_csv(report, NULL, output, status);
}

TEST(the_csv_report_has_a_row_for_each_kernel_of_each_device) {
    struct buffer csv = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill, NULL, write_kernels, &csv, &status), status);
    CHECK_STRING(csv.data,
                 "device,device_name,name,full_name,full_names,share,total_ns,count,mean_ns,"
                 "median_ns,min_ns,max_ns,occupancy,occupancy_limit,"
                 "bytes,flops,bytes_per_s,flops_per_s,"
                 "flops_per_byte,roof_ns,roof_time_ns,of_roof,bound\r\n"
                 "0,H100,gemm,gemm,1,1,40,2,20,20,20,20,,,,,,,,,,,unknown\r\n"
                 "M1,\"Apple, \"\"M1\"\"\",'=1+1,'=1+1,1,1,40,2,20,20,20,20,,,,,,,,,,,unknown\r\n");
    buffer_finish(&csv);
}

TEST(a_csv_report_survives_running_out_of_memory) {
    sample_check_out_of_memory(fill, write_kernels);
}

static bool write_gaps(const struct report *report, struct output *output, struct status *status) {
    return report_write_csv(report, "gaps", output, status);
}

TEST(other_tables_are_csv_too_and_name_their_device) {
    struct buffer csv = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill, NULL, write_gaps, &csv, &status), status);
    CHECK(strstr(csv.data, "device,device_name,cause,share,time_ns,gaps,share_of_window,meaning,"
                           "place\r\n") == csv.data);
    CHECK(strstr(csv.data, "\r\n0,H100,"));
    CHECK(strstr(csv.data, "\r\nM1,\"Apple, \"\"M1\"\"\","));
    buffer_finish(&csv);
}

static bool write_timeline(const struct report *report, struct output *output,
                           struct status *status) {
    return report_write_csv(report, "timeline", output, status);
}

TEST(a_part_without_a_table_is_no_csv) {
    struct buffer csv = {0};
    struct status status = {0};
    CHECK(!sample_report(fill, NULL, write_timeline, &csv, &status));
    CHECK_INT(status.code, STATUS_USAGE);
    buffer_finish(&csv);
}
