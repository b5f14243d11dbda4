/* The kernel table as CSV. */
#include "../test.h"

#include "sample.h"

static void fill(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){"0", "H100", "gemm", "forward", NULL});
    trace_writer_next_session(writer);
    sample_write(writer, &(struct sample_names){"M1", "Apple, \"M1\"", "=1+1", "forward", NULL});
}

TEST(the_csv_report_has_a_row_for_each_kernel_of_each_device) {
    struct buffer csv = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill, NULL, report_write_csv, &csv, &status), status);
    CHECK_STRING(csv.data,
                 "device,device_name,kernel,full_name,full_names,count,total_ns,mean_ns,"
                 "median_ns,min_ns,max_ns,share,occupancy,"
                 "occupancy_limit,bytes,flops,bytes_per_s,flops_per_s,"
                 "flops_per_byte,roof_ns,roof_time_ns,of_roof,bound\r\n"
                 "0,H100,gemm,gemm,1,2,40,20,20,20,20,1,,,,,,,,,,,unknown\r\n"
                 "M1,\"Apple, \"\"M1\"\"\",'=1+1,'=1+1,1,2,40,20,20,20,20,1,,,,,,,,,,,unknown\r\n");
    buffer_finish(&csv);
}

TEST(a_csv_report_survives_running_out_of_memory) {
    sample_check_out_of_memory(fill, report_write_csv);
}
