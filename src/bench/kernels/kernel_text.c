/* The kernels of sweep.cl for every device that takes source: macros for sizes, the head, and the
 * sections of the kernel. */
#include "bench/kernels/kernel_case.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_sweep_cl[];

static void kernel_text_begin(const struct kernel_plan *plan,
                              const struct device_capabilities *device, bool last,
                              struct buffer *out) {
    struct source_parameter product[] = {
        {.name = "a", .dtype = RIDGE_F32, .no_alias = true},
        {.name = "b", .dtype = RIDGE_F32, .no_alias = true},
        {.name = "c", .dtype = RIDGE_F32, .stored = true, .no_alias = true},
    };
    struct source_parameter simple[] = {
        {.name = "x", .dtype = RIDGE_F32, .no_alias = true},
        {.name = plan->which == HAND_SUM ? "sums" : "y",
         .dtype = RIDGE_F32,
         .stored = true,
         .no_alias = true},
    };
    bool is_product = kernel_is_product(plan->which);
    bool sums = plan->few_rows || plan->which == HAND_SUM || plan->which == HAND_READ;
    struct source_kernel kernel = {
        .name = kernel_name_of(plan, last),
        .buffers = is_product ? product : simple,
        .buffer_count = is_product ? 3 : 2,
        .scalar_count = is_product ? 3 : 2,
        .threads = (unsigned)plan->block,
        .scratch_words = sums ? (unsigned)plan->block : 0,
        .scratch_arrays = 1,
    };
    source_define(out, "THREADS", (long)plan->block);
    source_kernel_begin(out, device, &kernel);
    if (is_product && !sums)
        source_section(out, embedded_sweep_cl, "tile_shared");
    source_kernel_body(out, device, &kernel);
}

static void product_text(const struct kernel_plan *plan, const struct device_capabilities *device,
                         struct buffer *out) {
    source_define(out, "READS", plan->which != HAND_COMPUTE);
    source_define(out, "COMPUTES", plan->which != HAND_READ);
    source_define(out, "VECTOR", (long)plan->vector);
    if (plan->few_rows) {
        source_define(out, "ROWS", (long)plan->m);
        source_define(out, "LANES", GROUP_LANES);
        buffer_string(out, plan->vector == 4
                               ? "#define LOAD_LINE(p, v) LOAD_F32_4(p, v, 0)\n"
                               : "#define LOAD_LINE(p, v) ((v)[0] = LOAD_F32(p, 0))\n");
    } else {
        source_define(out, "TILE_ROWS", (long)plan->tile_rows);
        source_define(out, "TILE_COLUMNS", (long)plan->tile_columns);
        source_define(out, "THREAD_ROWS", (long)plan->thread_rows);
        source_define(out, "THREAD_COLUMNS", (long)plan->thread_columns);
        source_define(out, "DEPTH", (long)plan->depth);
        source_section(out, embedded_sweep_cl, "tile_macros");
    }
    kernel_text_begin(plan, device, false, out);
    buffer_string(out, "int M = CAST(int, scalars.v[0]), N = CAST(int, scalars.v[1]);\n"
                       "int K = CAST(int, scalars.v[2]);\n");
    if (plan->few_rows) {
        source_section(out, embedded_sweep_cl, "rows");
    } else {
        source_section(out, embedded_sweep_cl, "tile_head");
        source_section(out, embedded_sweep_cl,
                       plan->which == HAND_READ ? "tile_read" : "tile_compute");
        source_section(out, embedded_sweep_cl, "tile_store");
    }
    buffer_string(out, "}\n");
}

void kernel_text(const struct kernel_plan *plan, const struct device_capabilities *device,
                 bool last, struct buffer *out) {
    source_device_prelude(out, device);
    if (kernel_is_product(plan->which)) {
        product_text(plan, device, out);
        return;
    }
    kernel_text_begin(plan, device, last, out);
    buffer_string(out, "INT64 N = scalars.v[0], PARTS = scalars.v[1];\n");
    source_section(out, embedded_sweep_cl,
                   last                      ? "sum_last"
                   : plan->which == HAND_SUM ? "sum"
                                             : "scale");
    buffer_string(out, "}\n");
}
