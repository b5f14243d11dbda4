/* Results for other programs: one table for the whole set, always the same columns, figures in
 * full and in base units. Unknown figures are empty. */
#include <math.h>
#include <ridge.h>

#include "bench/print/print_results.h"

static void field(struct output *output, const char *text) {
    table_csv_field(output, text_of(text));
    output_write(output, ",", 1);
}

static void number(struct output *output, double value) {
    if (isfinite(value))
        output_printf(output, "%.15g", value);
    output_write(output, ",", 1);
}

static void known(struct output *output, double value) {
    number(output, value > 0 ? value : NAN);
}

static void write_measured(struct output *output, const struct result *result) {
    const struct summary *time = &result->time.time;
    bool has = print_has_figures(result);
    known(output, has ? time->median : NAN);
    known(output, has ? time->low : NAN);
    known(output, has ? time->high : NAN);
    number(output, has ? statistics_spread(time) : NAN);
    known(output, has ? result->device_ns : NAN);
    known(output, has ? result->kernels : NAN);
    known(output, sheet_value(result, SHEET_BYTE_RATE));
    known(output, sheet_value(result, SHEET_FLOP_RATE));
}

static void write_row(struct output *output, const struct result *result) {
    bool has = print_has_figures(result), limited = has && result->limit.ns > 0;
    bool peer = has && result->has_peer && result->peer.time.median > 0;
    field(output, result->experiment);
    field(output, result->label);
    field(output, result->variant);
    field(output, result->device);
    field(output, ridge_dtype_name(result->dtype));
    number(output, (double)result->size);
    number(output, (double)result->batch);
    write_measured(output, result);
    number(output, (double)result->amount.bytes);
    number(output, (double)result->amount.moved_bytes);
    number(output, (double)result->amount.flops);
    field(output, limited ? sheet_roof_name(result) : "");
    number(output, limited ? result->limit.ns / result->time.time.median : NAN);
    number(output, limited ? result->limit.ns : NAN);
    number(output, peer ? result->peer.time.median : NAN);
    number(output, peer ? result->peer.time.median / result->time.time.median : NAN);
    number(output, result->checked ? result->error : NAN);
    field(output, result->problem);
    table_csv_field(output, text_of(result->notes));
    output_write(output, "\r\n", 2);
}

void print_results_csv(const struct result_set *set, bool header, struct output *output) {
    if (header)
        output_printf(
            output,
            "experiment,label,variant,device,dtype,size,batch,time_ns,time_low_ns,"
            "time_high_ns,spread,device_ns,kernels,bytes_per_s,flops_per_s,bytes,moved_bytes,"
            "flops,roof,share_of_roof,roof_ns,peer_ns,peer_ratio,error,problem,notes\r\n");
    for (size_t i = 0; i < set->count; i++)
        write_row(output, &set->results[i]);
}
