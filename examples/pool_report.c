/* The buffer pool: its content after a loop, how often it saved an allocation, and how to
 * shrink it.
 *
 *   cc pool_report.c $(pkg-config --cflags --libs ridge) -o pool_report
 *   ./pool_report [DEVICE]
 */
#include <inttypes.h>
#include <ridge.h>
#include <stdio.h>

enum { STEPS = 50, ROWS = 256, WIDTH = 1024 };

/* One step: intermediates of a few sizes, all released at its end. */
static bool step(ridge_tensor *x, ridge_tensor *weight) {
    ridge_scope_begin();
    ridge_tensor *h = ridge_relu(ridge_mul(x, weight));
    ridge_tensor *normed = ridge_rms_norm(ridge_add(h, x), NULL, 1e-5f);
    ridge_tensor *loss = ridge_mean(ridge_square(normed), 1, (int[]){-1}, false);
    bool ok = loss != NULL;
    ridge_scope_end();
    return ok;
}

static bool report(const ridge_device *device, const char *when) {
    struct ridge_pool_stats stats;
    if (!ridge_pool_stats(device, &stats))
        return false;
    printf("Buffer pool %s\n", when);
    printf("  idle buffers  %" PRIu64 " in %" PRIu64 " size classes, %" PRIu64 " bytes\n",
           stats.pooled_buffers, stats.size_classes, stats.pooled_bytes);
    printf("  in tensors    %" PRIu64 " bytes, %" PRIu64 " asked for\n", stats.used_bytes,
           stats.requested_bytes);
    printf("  peak          %" PRIu64 " bytes\n", stats.high_water_bytes);
    printf("  allocations   %" PRIu64 ", %" PRIu64 " reused: %.1f%%\n", stats.allocations,
           stats.reuses, 100 * stats.reuse_rate);
    return true;
}

static bool run(ridge_device *device) {
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){ROWS, WIDTH}, 1);
    ridge_tensor *weight = ridge_randn(device, RIDGE_F32, 1, (int64_t[]){WIDTH}, 2);
    for (int i = 0; i < STEPS; i++)
        if (!step(x, weight))
            return false;
    return report(device, "after the loop") &&
           /* Clears one size class, then shrinks the pool to two megabytes, then clears it. */
           ridge_pool_clear_size(device, ROWS * sizeof(float)) &&
           ridge_pool_shrink_to_fit(device, 2 << 20) && report(device, "made smaller") &&
           /* Without idle buffers each step allocates again. */
           ridge_pool_set_capacity(device, 0) && step(x, weight) &&
           report(device, "with a capacity of 0");
}

int main(int argc, char **argv) {
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = device && run(device);
    if (!ok)
        fprintf(stderr, "pool_report: %s\n", ridge_error_message());
    ridge_device_close(device);
    return ok ? 0 : 1;
}
