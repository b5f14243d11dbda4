/* Did the fix do what was predicted? The what-if change that corresponds to what happened, replayed
 * on the trace before, beside the step after. */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "compare/diff.h"

/* Which change would have predicted a cause. */
static const struct {
    const char *cause;
    enum change_kind kind;
} changes[] = {
    {"graph", CHANGE_GRAPH},         {"fused", CHANGE_FUSE},
    {"sync", CHANGE_NO_SYNC},        {"pinned", CHANGE_PINNED},
    {"copies", CHANGE_BATCH_COPIES}, {"hidden-copies", CHANGE_OVERLAP_COPIES},
    {"alloc", CHANGE_NO_ALLOC},      {"compile", CHANGE_NO_COMPILE},
    {"kernel", CHANGE_FASTER},       {"host", CHANGE_NO_HOST},
    {"overlap", CHANGE_QUEUES},      {"clock", CHANGE_FULL_CLOCK},
};

static const struct diff_row *largest_kernel(const struct diff *diff) {
    for (size_t i = 0; i < diff->row_count; i++)
        if (diff->rows[i].part == PART_BUSY && diff->rows[i].kind == ROW_BOTH &&
            diff->rows[i].duration[AFTER] > 0)
            return &diff->rows[i];
    return NULL;
}

static bool choose_change(const struct diff *diff, struct change *change) {
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        if (strcmp(diff->cause, changes[i].cause) != 0)
            continue;
        *change = (struct change){.kind = changes[i].kind};
        if (change->kind == CHANGE_FASTER) {
            const struct diff_row *row = largest_kernel(diff);
            if (!row)
                return false;
            change->pattern = row->name[BEFORE];
            change->factor = row->duration[BEFORE] / row->duration[AFTER];
        }
        return true;
    }
    return false;
}

bool diff_predict(struct diff *diff, struct status *status) {
    const struct replay *replay = diff->sides[BEFORE].report->replay;
    struct prediction *prediction = &diff->prediction;
    struct change change;
    struct outcome outcome = {0};
    char times[2][FORMAT_SIZE];
    prediction->asked = true;
    if (diff->change >= 0 || !choose_change(diff, &change)) {
        snprintf(prediction->words, sizeof prediction->words,
                 "No what-if change corresponds to this difference: %s.",
                 diff->change >= 0 ? "the step did not become faster"
                                   : "ridge whatif --all lists what can be predicted");
        return true;
    }
    if (!replay_predict(replay, &change, 1, &outcome, status))
        return false;
    prediction->option = change_option(change.kind);
    if (!outcome.applicable || outcome.before <= 0) {
        snprintf(prediction->words, sizeof prediction->words,
                 "--%s predicts nothing for the trace before: %.300s", prediction->option,
                 outcome.why_not);
        outcome_finish(&outcome);
        return true;
    }
    double step = (double)diff->sides[BEFORE].step;
    prediction->known = true;
    prediction->step = (int64_t)(step * (double)outcome.after / (double)outcome.before);
    prediction->error = (int64_t)(step * (double)outcome.error / (double)outcome.before);
    double off = (double)prediction->step / (double)diff->sides[AFTER].step - 1;
    snprintf(prediction->words, sizeof prediction->words,
             "Predicted by --%s on the trace before: %s a %s; measured: %s (the prediction is "
             "%.1f %% %s).",
             prediction->option, format_duration(prediction->step, times[0]),
             diff->sides[AFTER].unit, format_duration(diff->sides[AFTER].step, times[1]),
             off < 0 ? -off * 100 : off * 100, off < 0 ? "too low" : "too high");
    outcome_finish(&outcome);
    return true;
}
