/* Two chains of work that do not depend on each other, on two queues of a device: they may
 * overlap. Work that reads the results of both waits for the other queue first.
 *
 *   cc queues.c $(pkg-config --cflags --libs ridge) -o queues
 *   ./queues [DEVICE]
 */
#include <ridge.h>
#include <stdio.h>

enum { SIZE = 256, LENGTH = 8 };

static ridge_tensor *chain(ridge_tensor *weight, ridge_tensor *x) {
    ridge_scope_begin();
    for (int i = 0; i < LENGTH; i++)
        x = ridge_tanh(ridge_matmul(x, weight));
    ridge_keep(x);
    ridge_scope_end();
    return x;
}

static bool compute(ridge_device *device, unsigned other, float *result) {
    const int64_t sizes[] = {SIZE, SIZE};
    ridge_scope_begin();
    ridge_tensor *weight =
        ridge_mul_scalar(ridge_randn(device, RIDGE_F32, 2, sizes, 1), 0.1); /* on queue 0 */
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, sizes, 2);
    ridge_tensor *left = chain(weight, x);

    ridge_queue_use(device, other);
    ridge_queue_wait(device, 0); /* the weight must be there */
    ridge_tensor *right = chain(weight, ridge_rand(device, RIDGE_F32, 2, sizes, 3));

    ridge_queue_use(device, 0);
    ridge_queue_wait(device, other);
    ridge_tensor *mean = ridge_mean(ridge_mul(left, right), 0, NULL, false);
    bool ok = ridge_to_host(mean, result, sizeof *result);
    ridge_scope_end();
    return ok;
}

static bool run(ridge_device *device) {
    float alone, overlapped;
    unsigned other = ridge_queue_count(device) > 1 ? 1 : 0;
    if (!compute(device, 0, &alone) || !compute(device, other, &overlapped))
        return false;
    printf("two queues and one give %s results\n", alone == overlapped ? "the same" : "OTHER");
    return alone == overlapped;
}

int main(int argc, char **argv) {
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = device && run(device);
    if (!ok)
        fprintf(stderr, "queues: %s\n", ridge_error_message());
    ridge_device_close(device);
    return ok ? 0 : 1;
}
