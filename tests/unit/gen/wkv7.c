/* The RWKV-7 recurrence on the CPU against its formula in double. */
#include "native_run.h"

#include "base/array.h"

enum { R, W, K, V, A, B, STATE, Y, AFTER, BUFFERS };

/* S = S diag(w) + (S a) b' + v k',  y = S r, for one head. */
static double reference_error(const struct wkv7_work *work, void *const *buffers, int64_t batch,
                              int64_t head, double *state) {
    int64_t width = work->width, matrix = (batch * work->heads + head) * width * width;
    double worst = 0;
    for (int64_t i = 0; i < width * width; i++)
        state[i] = ((const float *)buffers[STATE])[matrix + i];
    for (int64_t t = 0; t < work->tokens; t++) {
        int64_t at = ((batch * work->tokens + t) * work->heads + head) * width;
#define AT(buffer, j) element(buffers[buffer], work->type, at + (j))
        for (int64_t i = 0; i < width; i++) {
            double *row = state + i * width, applied = 0, y = 0;
            for (int64_t j = 0; j < width; j++)
                applied += row[j] * AT(A, j);
            for (int64_t j = 0; j < width; j++) {
                row[j] = row[j] * AT(W, j) + applied * AT(B, j) + AT(V, i) * AT(K, j);
                y += row[j] * AT(R, j);
            }
            double error = fabs(AT(Y, i) - y) / (1 + fabs(y));
            worst = error <= worst ? worst : error;
        }
#undef AT
    }
    for (int64_t i = 0; i < width * width; i++) {
        double after = ((const float *)buffers[AFTER])[matrix + i];
        double error = fabs(after - state[i]) / (1 + fabs(state[i]));
        worst = error <= worst ? worst : error;
    }
    return worst;
}

static void fill(const struct wkv7_work *work, void **buffers, struct status *status) {
    int64_t count = work->batch * work->tokens * work->heads * work->width;
    int64_t state_count = work->batch * work->heads * work->width * work->width;
    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = i == STATE || i == AFTER
                         ? noise_array(RIDGE_F32, state_count, (uint64_t)i, status)
                         : noise_array(work->type, count, (uint64_t)i, status);
    double gentle = work->width > 0 ? 1 / sqrt((double)work->width) : 1;
    for (int64_t i = 0; i < count; i++) {
        set_element(buffers[W], work->type, i, 0.9 + 0.1 * noise((uint64_t)i));
        set_element(buffers[A], work->type, i, gentle * noise((uint64_t)i + 5));
        set_element(buffers[B], work->type, i, gentle * noise((uint64_t)i + 6));
    }
}

static void check(struct wkv7_work work, unsigned threads) {
    struct status status;
    void *buffers[BUFFERS];
    fill(&work, buffers, &status);
    double *state = memory_allocate((size_t)(work.width * work.width), sizeof *state, &status);
    struct device_capabilities device = native_device(threads);
    struct kernel_request request = {0};
    REQUIRE(state);
    CHECK_OK(native_wkv7(&work, &device, &request, &status), status);
    CHECK_OK(native_run(&request, native_wkv7_code, buffers, threads, &status), status);
    double bound = work.type == RIDGE_F32 ? 1e-5 : work.type == RIDGE_F16 ? 6e-4 : 5e-3;
    for (int64_t i = 0; i < work.batch * work.heads; i++) {
        double error = reference_error(&work, buffers, i / work.heads, i % work.heads, state);
        if (!(error <= bound))
            test_failed(__FILE__, __LINE__, "%s width %lld tokens %lld: off by %g",
                        ridge_dtype_name(work.type), (long long)work.width, (long long)work.tokens,
                        error);
    }
    memory_free(state);
    for (int i = 0; i < BUFFERS; i++)
        memory_free(buffers[i]);
}

TEST(wkv7_follows_its_formula) {
    static const int64_t widths[] = {1, 3, 16, 33, 64, 100};
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (size_t i = 0; i < ARRAY_COUNT(widths); i++)
            for (enum ridge_dtype type = RIDGE_F32; type <= RIDGE_BF16; type++)
                check((struct wkv7_work){type, 2, 5, 3, widths[i]}, 2);
}

TEST(wkv7_of_one_head_is_shared_by_threads_and_of_no_tokens_keeps_the_state) {
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        check((struct wkv7_work){RIDGE_F32, 1, 20, 1, 64}, 4);
        check((struct wkv7_work){RIDGE_F32, 1, 0, 2, 32}, 2);
        check((struct wkv7_work){RIDGE_F32, 0, 3, 2, 32}, 2);
    }
}
