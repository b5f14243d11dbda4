/* transfers: the same bytes between host and device in many small pieces and in one large one.
 * Each transfer has a fixed cost: how large is it? */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/memory.h"
#include "bench/experiments/axes.h"
#include "bench/experiments/pair.h"
#include "bench/run.h"

enum { PIECES = 100 };
enum { PIECE_COUNT = 0, TO_DEVICE = 1 }; /* among the numbers */

struct state {
    ridge_device *device;
    unsigned pieces;
    bool to_device;
    int64_t piece; /* elements */
    float *sent, *received;
    ridge_tensor *tensors[PIECES];
};

static void transfers_finish(void *context) {
    struct state *state = context;
    for (unsigned i = 0; i < PIECES; i++)
        ridge_release(state->tensors[i]);
    memory_free(state->sent);
    memory_free(state->received);
    memory_free(state);
}

/* A multiple of what all pieces together have at least: an element each. */
static int64_t elements_of(int64_t size) {
    int64_t elements = size / (int64_t)sizeof(float) / PIECES * PIECES;
    return elements < PIECES ? PIECES : elements;
}

static ridge_tensor *send(struct state *state, unsigned piece) {
    return ridge_from_host(state->device, RIDGE_F32, 1, &state->piece,
                           state->sent + piece * state->piece);
}

static bool receive(struct state *state, unsigned piece) {
    return ridge_to_host(state->tensors[piece], state->received + piece * state->piece,
                         (size_t)state->piece * sizeof(float));
}

static bool fill(struct state *state, int64_t elements, struct status *status) {
    state->sent = memory_allocate((size_t)elements, sizeof *state->sent, status);
    state->received = memory_allocate((size_t)elements, sizeof *state->received, status);
    if (!state->sent || !state->received)
        return false;
    ridge_tensor *random = ridge_randn(state->device, RIDGE_F32, 1, &elements, 1);
    bool ok = ridge_to_host(random, state->sent, (size_t)elements * sizeof *state->sent);
    ridge_release(random);
    for (unsigned i = 0; ok && i < state->pieces; i++)
        ok = (state->tensors[i] = send(state, i)) != NULL;
    return ok || run_tensor_failed(status);
}

static bool transfers_prepare(struct stage *stage, const struct bench_case *work, void **made,
                              struct amount *amount, struct status *status) {
    int64_t elements = elements_of(work->size);
    struct state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return false;
    state->device = stage->device;
    state->pieces = (unsigned)work->numbers[PIECE_COUNT];
    state->to_device = work->numbers[TO_DEVICE];
    state->piece = elements / state->pieces;
    if (!fill(state, elements, status)) {
        transfers_finish(state);
        return false;
    }
    *amount = (struct amount){.transfer_bytes = (uint64_t)elements * sizeof(float),
                              .transfer_count = state->pieces,
                              .transfer_to_device = state->to_device};
    *made = state;
    return true;
}

static bool transfers_call(void *context, unsigned turn, struct status *status) {
    struct state *state = context;
    (void)turn;
    for (unsigned i = 0; i < state->pieces; i++) {
        if (!state->to_device) {
            if (!receive(state, i))
                return run_tensor_failed(status);
            continue;
        }
        ridge_tensor *sent = send(state, i);
        if (!sent)
            return run_tensor_failed(status);
        ridge_release(sent);
    }
    return true;
}

/* There and back, nothing may change. */
static bool transfers_check(void *context, double *error, struct status *status) {
    struct state *state = context;
    *error = 0;
    for (unsigned i = 0; i < state->pieces; i++) {
        if (!receive(state, i))
            return run_tensor_failed(status);
        if (memcmp(state->received + i * state->piece, state->sent + i * state->piece,
                   (size_t)state->piece * sizeof(float)) != 0)
            return status_fail(status, STATUS_INPUT,
                               "piece %u of %u came back from the device with different bytes", i,
                               state->pieces);
    }
    return true;
}

static const struct case_kind kind = {.prepare = transfers_prepare,
                                      .call = transfers_call,
                                      .check = transfers_check,
                                      .finish = transfers_finish};

static bool add(struct case_list *list, int64_t size, bool to_device, unsigned pieces,
                struct status *status) {
    char total[FORMAT_SIZE], piece[FORMAT_SIZE];
    int64_t bytes = elements_of(size) * (int64_t)sizeof(float);
    struct bench_case work = {.kind = &kind,
                              .dtype = RIDGE_F32,
                              .size = size,
                              .numbers = {[PIECE_COUNT] = pieces, [TO_DEVICE] = to_device},
                              .memory_bytes = (uint64_t)bytes,
                              .compare = pieces == 1};
    snprintf(work.label, sizeof work.label, "%sB %s", axes_count_text(bytes, total),
             to_device ? "to the device" : "to the host");
    snprintf(work.variant, sizeof work.variant, "%u x %sB", pieces,
             axes_count_text(bytes / pieces, piece));
    return case_add(list, &work, status);
}

static bool transfers_plan(const struct experiment *experiment, const struct stage *stage,
                           struct case_list *list, struct status *status) {
    (void)experiment;
    static const struct axis_defaults sizes = {
        .cpu = {1, {4000000}}, .gpu = {1, {4000000}}, .tests = {1, {40000}}};
    struct axes axes = axes_of(stage, &sizes, NULL, RIDGE_F32);
    for (unsigned i = 0; i < axes.sizes.count; i++)
        for (unsigned to_host = 0; to_host < 2; to_host++)
            if (!add(list, axes.sizes.values[i], !to_host, PIECES, status) ||
                !add(list, axes.sizes.values[i], !to_host, 1, status))
                return false;
    return true;
}

static bool transfers_conclude(const struct experiment *experiment, const struct stage *stage,
                               const struct result *results, size_t count, struct result_set *set,
                               struct status *status) {
    (void)experiment, (void)stage;
    for (size_t i = 0; i < count; i++) {
        struct pair pair;
        char words[FORMAT_SIZE], price[FORMAT_SIZE], besides[FORMAT_SIZE * 2] = "";
        if (!results[i].compare || !pair_of(results, i, &pair))
            continue;
        double each = (pair.before->time.time.median - pair.after->time.time.median) / (PIECES - 1);
        if (pair.is_telling && each > 0)
            snprintf(besides, sizeof besides, ", each of which costs %s in addition to its bytes",
                     format_duration((int64_t)each, price));
        if (!finding_add(set, results[i].experiment, results[i].device,
                         results[i].numbers[TO_DEVICE] ? "gain_to_device" : "gain_to_host",
                         100 * pair.faster, status, "%s: one transfer is %s %d%s.",
                         results[i].label, pair_words(&pair, words), PIECES, besides))
            return false;
    }
    return true;
}

const struct experiment experiment_transfers = {
    .name = "transfers",
    .summary = "Many small transfers between host and device against one large one",
    .sizes = "bytes in total; 4000000, in 100 pieces and in one",
    .takes = TAKES_SIZE,
    .plan = transfers_plan,
    .conclude = transfers_conclude,
};
