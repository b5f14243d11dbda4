/* A compiled step of a transformer serves every position: caches that are updated at a position,
 * rope and attention that read it, sampling that draws anew. A step that does not take the position
 * as a tensor is refused. */
#include <math.h>
#include <string.h>

#include "arrays.h"

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, WIDTH = 16, ROOM = 12, STEPS = 9 };

struct caches {
    ridge_tensor *keys, *values;
    int64_t position; /* for the function that does it wrong */
};

/* in: q [batch, heads, tokens, width], k, v [batch, kv_heads, tokens, width], position [1]. */
static bool step(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    const struct caches *caches = context;
    int64_t tokens = ridge_tensor_size(in[0], 2);
    ridge_tensor *steps = ridge_arange(ridge_tensor_device(in[0]), RIDGE_I32, tokens, 0, 1);
    ridge_tensor *positions = ridge_add(steps, in[3]);
    ridge_tensor *q = ridge_rope(in[0], positions, 10000, false);
    if (!ridge_update(caches->keys, ridge_rope(in[1], positions, 10000, false), 2, in[3]) ||
        !ridge_update(caches->values, in[2], 2, in[3]))
        return false;
    struct ridge_attention_mask mask = {.causal = true,
                                        .lengths = ridge_add_scalar(in[3], (double)tokens)};
    out[0] = ridge_attention_masked(q, caches->keys, caches->values, 0.25f, &mask);
    return out[0] != NULL;
}

static bool baked(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    const struct caches *caches = context;
    ridge_tensor *row = ridge_slice(caches->values, 2, caches->position, caches->position + 1, 1);
    out[0] = ridge_add(in[2], row);
    return out[0] != NULL;
}

static void make_inputs(ridge_tensor **all) {
    struct array q = array_noise(RIDGE_F32, SIZES(BATCH, HEADS, STEPS, WIDTH), -2, 2, 1);
    struct array k = array_noise(RIDGE_F32, SIZES(BATCH, KV_HEADS, STEPS, WIDTH), -2, 2, 2);
    struct array v = array_noise(RIDGE_F32, SIZES(BATCH, KV_HEADS, STEPS, WIDTH), -1, 1, 3);
    all[0] = array_tensor(&q, RIDGE_F32, CONTIGUOUS);
    all[1] = array_tensor(&k, RIDGE_F32, CONTIGUOUS);
    all[2] = array_tensor(&v, RIDGE_F32, CONTIGUOUS);
}

static struct caches make_caches(void) {
    int64_t sizes[4] = {BATCH, KV_HEADS, ROOM, WIDTH};
    return (struct caches){.keys = ridge_full(session.device, RIDGE_F32, 4, sizes, NAN),
                           .values = ridge_full(session.device, RIDGE_F32, 4, sizes, NAN)};
}

/* The inputs of tokens first .. last - 1. */
static void cut(ridge_tensor *const *all, int32_t first, int64_t last, ridge_tensor **in) {
    for (int i = 0; i < 3; i++)
        in[i] = ridge_contiguous(ridge_slice(all[i], 2, first, last, 1));
    in[3] = ridge_from_host(session.device, RIDGE_I32, SIZES(1), &first);
}

static void check_steps(int64_t prompt) {
    if (!case_begin("one compiled step for every position after a prompt of %lld",
                    (long long)prompt))
        return;
    ridge_tensor *all[3], *in[4], *got[STEPS] = {NULL};
    make_inputs(all);
    struct caches caches = make_caches();
    ridge_tensor *positions = ridge_arange(session.device, RIDGE_I32, STEPS, 0, 1);
    struct array expected = array_read(ridge_attention(ridge_rope(all[0], positions, 10000, false),
                                                       ridge_rope(all[1], positions, 10000, false),
                                                       all[2], 0.25f, true));
    cut(all, 0, prompt, in);
    ridge_program *program = ridge_compile(step, &caches, in, 4, 1);
    int count = 0;
    for (int64_t at = 0, next; at < STEPS && program; at = next) {
        next = at == 0 ? prompt : at + 1;
        cut(all, (int32_t)at, next, in);
        if (!ridge_program_run(program, in, &got[count++]))
            case_fail("position %lld: %s", (long long)at, ridge_error_message());
    }
    double *slack = case_memory((size_t)(BATCH * HEADS * STEPS * WIDTH), sizeof *slack);
    for (int i = 0; i < BATCH * HEADS * STEPS * WIDTH; i++)
        slack[i] = 1e-5;
    if (expected.values)
        expect_array(ridge_cat(got, (unsigned)count, 2), RIDGE_F32, &expected, 0, slack);
    ridge_program_release(program);
    case_end();
}

static void check_refused(void) {
    if (!case_begin("a compiled step with its position built in is refused"))
        return;
    ridge_tensor *all[3], *in[4], *out = NULL;
    make_inputs(all);
    struct caches caches = make_caches();
    cut(all, 0, 1, in);
    ridge_program *program = ridge_compile(baked, &caches, in, 4, 1);
    CASE_CHECK(program && ridge_program_run(program, in, &out));
    caches.position = 1;
    CASE_CHECK(!ridge_program_run(program, in, &out));
    CASE_CHECK(strstr(ridge_error_message(), "input tensor") != NULL);
    ridge_error_clear();
    caches.position = 0;
    CASE_CHECK(ridge_program_run(program, in, &out));
    ridge_tensor *kept = caches.values;
    caches.values = caches.keys;
    CASE_CHECK(!ridge_program_run(program, in, &out));
    CASE_CHECK(strstr(ridge_error_message(), "another tensor") != NULL);
    ridge_error_clear();
    caches.values = kept;
    ridge_program_release(program);
    case_end();
}

void check_decoding(void) {
    check_steps(1);
    check_refused();
    if (!session.quick)
        check_steps(4);
}
