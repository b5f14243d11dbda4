/* Predictions by replay, cached per change, and the findings that take their gain from them. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

/* Changes that do not affect how long kernels run. */
static bool keeps_kernels(const struct change *changes, size_t count) {
    for (size_t i = 0; i < count; i++)
        switch (changes[i].kind) {
        case CHANGE_GRAPH:
        case CHANGE_NO_SYNC:
        case CHANGE_PINNED:
        case CHANGE_BATCH_COPIES:
        case CHANGE_OVERLAP_COPIES:
        case CHANGE_NO_ALLOC:
        case CHANGE_NO_COMPILE:
        case CHANGE_PREFETCH:
        case CHANGE_NO_HOST:
            break;
        default:
            return false;
        }
    return true;
}

/* Upper bound of the gain of such changes: the time in which no kernel runs. The replay may let
 * kernels of several queues overlap; how many really would is not known. */
static int64_t max_gain(const struct diagnosis *diagnosis, const struct prediction *prediction) {
    return prediction->before - diagnosis->facts.kernel_union;
}

/* Faster kernels gain no more than their part of the time in which kernels run, even if recorded
 * kernels overlap that do not run at once; -1: other changes. */
static int64_t max_gain_of_faster(const struct diagnosis *diagnosis, const struct change *changes,
                                  size_t count) {
    double factor = 1;
    for (size_t i = 0; i < count; i++) {
        if (changes[i].kind != CHANGE_FASTER)
            return -1;
        factor = changes[i].factor > factor ? changes[i].factor : factor;
    }
    return count ? (int64_t)((double)diagnosis->facts.kernel_union * (1 - 1 / factor)) : -1;
}

struct prediction predict_changes(struct diagnosis *diagnosis, const struct change *changes,
                                  size_t count) {
    struct prediction prediction = {0};
    struct outcome outcome = {0};
    if (diagnosis->failed || !diagnosis->source->replay)
        return prediction;
    if (!replay_predict(diagnosis->source->replay, changes, count, &outcome, diagnosis->status)) {
        diagnosis->failed = true;
        return prediction;
    }
    prediction.applicable = outcome.applicable || count == 0;
    prediction.before = outcome.before;
    prediction.after = outcome.after;
    prediction.gain = outcome.unchanged - outcome.after;
    if (keeps_kernels(changes, count) && prediction.gain > max_gain(diagnosis, &prediction))
        prediction.gain = max_gain(diagnosis, &prediction);
    int64_t faster = max_gain_of_faster(diagnosis, changes, count);
    if (faster >= 0 && prediction.gain > faster)
        prediction.gain = faster;
    prediction.error = outcome.error;
    memcpy(prediction.what, outcome.what, sizeof prediction.what);
    memcpy(prediction.assumes, outcome.assumes, sizeof prediction.assumes);
    memcpy(prediction.why_not, outcome.why_not, sizeof prediction.why_not);
    outcome_finish(&outcome);
    return prediction;
}

const struct prediction *predict_alone(struct diagnosis *diagnosis, enum change_kind kind) {
    if (!diagnosis->predicted[kind]) {
        diagnosis->alone[kind] = predict_changes(diagnosis, &(struct change){.kind = kind}, 1);
        diagnosis->predicted[kind] = true;
    }
    return &diagnosis->alone[kind];
}

void finding_estimate(const struct diagnosis *diagnosis, struct finding *finding, int64_t time) {
    int64_t judged = diagnosis->verdict->time;
    finding->recoverable = time < 0 ? 0 : time < judged ? time : judged;
}

void finding_take(struct diagnosis *diagnosis, struct finding *finding,
                  const struct prediction *prediction) {
    finding_estimate(diagnosis, finding, prediction->gain);
    finding->error = prediction->error;
    if (prediction->assumes[0])
        diagnose_set_text(diagnosis, &finding->assumes, "%s", prediction->assumes);
}

/* A hint must reproduce the gain. Where a rule counts only part of the replayed gain, or the replay
 * gains nothing, the fix keeps its words and loses its command. */
static void check_hint(struct diagnosis *diagnosis, struct finding *finding) {
    if (finding->change_count == 0)
        return;
    struct change written[ARRAY_COUNT(finding->changes)];
    char names[ARRAY_COUNT(finding->changes)][NAME_SIZE];
    for (size_t i = 0; i < finding->change_count; i++) {
        written[i] = finding->changes[i];
        written[i].pattern = change_pattern(&finding->changes[i], names[i], &diagnosis->failed);
    }
    struct prediction again = predict_changes(diagnosis, written, finding->change_count);
    int64_t apart = llabs(again.before - again.after - finding->recoverable);
    if (again.applicable && 100 * apart <= finding->recoverable && finding->recoverable > 0)
        return;
    for (size_t i = 0; i < finding->fix_count; i++)
        if (finding->fixes[i].replayed) {
            memory_free(finding->fixes[i].command);
            finding->fixes[i].command = NULL;
        }
}

void diagnose_check_hints(struct diagnosis *diagnosis) {
    for (size_t i = 0; !diagnosis->failed && i < diagnosis->verdict->count; i++)
        check_hint(diagnosis, &diagnosis->verdict->findings[i]);
}

bool finding_predict(struct diagnosis *diagnosis, struct finding *finding) {
    if (finding->change_count == 0)
        return false;
    struct prediction prediction =
        predict_changes(diagnosis, finding->changes, finding->change_count);
    if (prediction.applicable)
        finding_take(diagnosis, finding, &prediction);
    return prediction.applicable;
}
