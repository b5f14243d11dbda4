/* Two lines, one of which should improve on the other: did it help? A difference is significant
 * if the confidence intervals of the two medians do not overlap; otherwise its sign is chance,
 * and the text does not mention it. */
#include "bench/experiments/pair.h"

#include <stdio.h>

bool pair_of(const struct result *results, size_t at, struct pair *pair) {
    if (at == 0 || *results[at - 1].problem || *results[at].problem)
        return false;
    const struct summary *before = &results[at - 1].time.time, *after = &results[at].time.time;
    if (!(before->median > 0) || !(after->median > 0))
        return false;
    *pair = (struct pair){.before = &results[at - 1],
                          .after = &results[at],
                          .faster = before->median / after->median - 1,
                          .saved = 1 - after->median / before->median,
                          .is_telling = after->high < before->low || before->high < after->low};
    return true;
}

char *pair_words(const struct pair *pair, char text[FORMAT_SIZE]) {
    double longer = 1 / (1 + pair->faster) - 1;
    bool even = statistics_support_ratio(&pair->before->time.time, &pair->after->time.time);
    if (!pair->is_telling)
        snprintf(text, FORMAT_SIZE, "not measurably different from");
    else if (!even)
        snprintf(text, FORMAT_SIZE, "%s than", pair->faster >= 0 ? "faster" : "slower");
    else if (pair->faster >= 1)
        snprintf(text, FORMAT_SIZE, "%.1fx as fast as", 1 + pair->faster);
    else if (pair->faster >= 0)
        snprintf(text, FORMAT_SIZE, "%.0f %% faster than", 100 * pair->faster);
    else if (longer < 1)
        snprintf(text, FORMAT_SIZE, "%.0f %% slower than", 100 * longer);
    else
        snprintf(text, FORMAT_SIZE, "%.1fx slower than", 1 + longer);
    return text;
}
