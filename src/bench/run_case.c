/* The output is checked before anything is timed: a fast wrong answer is no figure. The traced
 * calls come last, since recording them slows them down. */
#include "bench/run_case.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/results/compare.h"
#include "tensor/tensor.h"

#define NOISY 0.2 /* spread */
#define SETTLE_NS 5000000

struct timed {
    struct run_stage *run;
    const struct case_kind *kind;
    void *state;
    unsigned turn;
};

bool run_tensor_failed(struct status *status) {
    *status = *tensor_status();
    ridge_error_clear();
    if (status->code == STATUS_OK)
        status_fail(status, STATUS_IO, "the device failed without a reason");
    return false;
}

static bool is_stopped(const struct run_options *options, struct status *status) {
    if (options->stop && *options->stop)
        return !status_fail(status, STATUS_IO, "stopped");
    return false;
}

static bool timed_batch(void *context, unsigned calls, double *ns, struct status *status) {
    struct timed *timed = context;
    if (is_stopped(timed->run->options, status))
        return false;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++)
        if (!timed->kind->call(timed->state, timed->turn++, status))
            return false;
    if (!ridge_synchronize(timed->run->stage.device))
        return run_tensor_failed(status);
    *ns = measure_clock() - start;
    return true;
}

static void add_note(struct result *result, const char *note) {
    size_t used = strlen(result->notes);
    if (*note && !strstr(result->notes, note))
        snprintf(result->notes + used, sizeof result->notes - used, "%s%s", used ? "; " : "", note);
}

/* A peer that fails costs its own figure, not ours; one that is gone is not asked again. */
static void lose_peer(struct run_stage *run, struct result *result, struct status *status) {
    char note[160];
    snprintf(note, sizeof note, "no figure of the peer: %.120s", status->message);
    add_note(result, note);
    if (status->code != STATUS_UNSUPPORTED) {
        peer_stop(run->peer);
        run->peer = NULL;
    }
    *status = (struct status){0};
}

static bool prepare_peer(struct run_stage *run, const struct bench_case *work,
                         struct result *result) {
    struct peer_work peer = {0};
    struct status status = {0};
    bool has = false;
    if (!run->peer || !work->kind->peer || !work->kind->peer(&run->stage, work, &peer))
        return false;
    if (peer_prepare(run->peer, &peer, &has, &status))
        return has;
    lose_peer(run, result, &status);
    return false;
}

/* What the peer said when a batch of it failed: the measuring loop cannot tell whose it was. */
struct peer_timed {
    struct peer *peer;
    bool failed;
};

static bool peer_timed_batch(void *context, unsigned calls, double *ns, struct status *status) {
    struct peer_timed *timed = context;
    timed->failed = !peer_batch(timed->peer, calls, ns, status);
    /* Its threads go on looking for work for a while, on the processors that ours need next. */
    nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
    return !timed->failed;
}

static bool is_noisy(const struct measurement *measurement) {
    return !measurement->steady || statistics_spread(&measurement->time) > NOISY;
}

static bool time_case(struct run_stage *run, const struct bench_case *work, void *state,
                      struct result *result, struct status *status) {
    struct timed timed = {.run = run, .kind = work->kind, .state = state};
    struct peer_timed peer = {.peer = run->peer};
    struct measured_work works[2] = {{.context = &timed, .batch = timed_batch},
                                     {.context = &peer, .batch = peer_timed_batch}};
    struct measurement measurements[2];
    struct health before, after;
    char words[160] = "";
    bool has_peer = prepare_peer(run, work, result);
    health_read(run->health, &before);
    bool ok = measure(&run->options->measure, works, has_peer ? 2 : 1, measurements, status);
    if (!ok && peer.failed && !is_stopped(run->options, status)) {
        lose_peer(run, result, status);
        has_peer = false;
        health_read(run->health, &before);
        ok = measure(&run->options->measure, works, 1, measurements, status);
    }
    if (!ok)
        return false;
    health_read(run->health, &after);
    if (health_disturbed(&before, &after, words, sizeof words))
        add_note(result, words);
    if (is_noisy(&measurements[0]))
        add_note(result, "noisy");
    if (has_peer && is_noisy(&measurements[1]))
        add_note(result, "the peer's times are noisy");
    measurement_add(&result->time, &measurements[0]);
    compare_keep_round(result, &measurements[0], has_peer ? NULL : &before, &after);
    if (has_peer)
        measurement_add(&result->peer, &measurements[1]);
    result->has_peer = has_peer;
    return true;
}

static void set_problem(struct result *result, const char *what, const struct status *status) {
    snprintf(result->problem, sizeof result->problem, "%s%.160s", what, status->message);
}

/* Whether the failure is this case's own, to be shown in its line. */
static bool is_its_own(const struct status *status) {
    return status->code == STATUS_UNSUPPORTED || status->code == STATUS_MEMORY ||
           status->code == STATUS_USAGE;
}

static bool check_case(const struct bench_case *work, void *state, struct result *result,
                       struct status *status) {
    if (!work->kind->check)
        return true;
    if (work->kind->check(state, &result->error, status)) {
        result->checked = true;
        return true;
    }
    if (status->code != STATUS_INPUT)
        return false;
    set_problem(result, "wrong result: ", status);
    result->wrong = true;
    *status = (struct status){0};
    return true;
}

static bool first_round(struct run_stage *run, const struct bench_case *work, void *state,
                        struct result *result, struct status *status) {
    if (!check_case(work, state, result, status))
        return false;
    if (result->wrong)
        return true;
    if (!time_case(run, work, state, result, status) ||
        !run_traced(run, work, state, result, status))
        return false;
    result->limit = roofs_limit(&run->stage.roofs, &result->amount);
    return true;
}

static bool later_round(struct run_stage *run, const struct bench_case *work, void *state,
                        struct result *result, struct status *status) {
    return time_case(run, work, state, result, status);
}

bool run_case(struct run_stage *run, const struct bench_case *work, struct result *result,
              struct status *status) {
    void *state = NULL;
    struct amount amount = {0};
    bool first = result->round_count == 0;
    if (*result->problem)
        return true;
    bool ok = work->kind->prepare(&run->stage, work, &state, &amount, status);
    if (ok) {
        if (first)
            result->amount = amount;
        ok = (first ? first_round : later_round)(run, work, state, result, status);
        work->kind->finish(state);
    }
    ridge_pool_clear(run->stage.device);
    if (ok || (run->options->stop && *run->options->stop) || !is_its_own(status))
        return ok || status_context(status, "%s", work->label);
    set_problem(result, "", status);
    *status = (struct status){0};
    return true;
}
