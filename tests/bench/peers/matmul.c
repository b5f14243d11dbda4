/* Multiplies the same f32 matrices with ridge's CPU device and with OpenBLAS, in turn, on all
 * cores. Prints the median GFLOP/s of both.
 */
#include <cblas.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

enum { ROUNDS = 21 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

static void compare(ridge_device *device, int64_t m, int64_t n, int64_t k) {
    int64_t a_sizes[] = {m, k}, b_sizes[] = {k, n};
    double ours[ROUNDS], theirs[ROUNDS], flops = 2.0 * (double)m * (double)n * (double)k;
    float *a = malloc((size_t)(m * k) * 4), *b = malloc((size_t)(k * n) * 4);
    float *c = malloc((size_t)(m * n) * 4), *copy = malloc((size_t)(m * n) * 4);
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, a_sizes, 1);
    ridge_tensor *y = ridge_randn(device, RIDGE_F32, 2, b_sizes, 2);
    float off = 0;
    ridge_to_host(x, a, (size_t)(m * k) * 4);
    ridge_to_host(y, b, (size_t)(k * n) * 4);
    for (int round = -2; round < ROUNDS; round++) {
        int64_t start = clock_read(CLOCK_PROCESS_CPUTIME_ID);
        ridge_tensor *product = ridge_matmul(x, y);
        ridge_synchronize(device);
        int64_t middle = clock_read(CLOCK_PROCESS_CPUTIME_ID);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)k,
                    b, (int)n, 0, c, (int)n);
        int64_t end = clock_read(CLOCK_PROCESS_CPUTIME_ID);
        if (round == 0) {
            ridge_to_host(product, copy, (size_t)(m * n) * 4);
            for (int64_t i = 0; i < m * n; i++) {
                float difference = copy[i] > c[i] ? copy[i] - c[i] : c[i] - copy[i];
                off = difference > off ? difference : off;
            }
        }
        ridge_release(product);
        if (round >= 0) {
            ours[round] = flops / (double)(middle - start);
            theirs[round] = flops / (double)(end - middle);
        }
    }
    double own = median(ours), other = median(theirs);
    printf("%5lld x %5lld x %5lld  %8.1f  %8.1f  %5.2fx  %.1e\n", (long long)m, (long long)n,
           (long long)k, own, other, own / other, (double)off);
    ridge_release(x);
    ridge_release(y);
    free(a);
    free(b);
    free(c);
    free(copy);
}

int main(void) {
    ridge_device *device = ridge_device_open("cpu");
    if (!device) {
        fprintf(stderr, "%s\n", ridge_error_message());
        return 1;
    }
    printf("kernels of OpenBLAS: %s\n", openblas_get_corename());
    printf("%-21s  %8s  %8s  %6s  %s\n", "m x n x k", "ridge", "OpenBLAS", "ratio",
           "largest difference");
    compare(device, 128, 128, 128);
    compare(device, 512, 512, 512);
    compare(device, 1024, 1024, 1024);
    compare(device, 2048, 2048, 2048);
    compare(device, 8, 2048, 2048);
    compare(device, 9, 2048, 2048);
    compare(device, 16, 2048, 2048);
    compare(device, 10000, 8, 31);
    compare(device, 10000, 3, 100);
    compare(device, 1, 4096, 4096);
    ridge_device_close(device);
    return 0;
}
