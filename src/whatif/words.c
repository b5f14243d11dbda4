/* Sentences of fixed room from names of any length: a name is cut where a letter ends, a sentence
 * where a word does. */
#include "whatif/words.h"

#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "whatif/names.h"

static const char cut_mark[] = "\xE2\x80\xA6";

void text_join(char *to, const char *words) {
    size_t length = strlen(to), room = OUTCOME_TEXT - length, mark = sizeof cut_mark - 1;
    bool is_cut = length >= mark && memcmp(to + length - mark, cut_mark, mark) == 0;
    if (words[0] == 0 || is_cut)
        return;
    int needed = snprintf(to + length, room, "%s%s", length ? "; " : "", words);
    if (needed >= 0 && (size_t)needed < room)
        return;
    size_t end = OUTCOME_TEXT - sizeof cut_mark;
    while (end > 0 && to[end] != ' ')
        end--;
    memcpy(to + end, cut_mark, sizeof cut_mark);
}

/* Appends a name, or its beginning. */
static void append_name(char *to, const char *before, struct text name) {
    enum { LONGEST = 60 };
    size_t length = strlen(to);
    struct text shown = {name.data, name.length < LONGEST ? name.length : LONGEST};
    shown.length = text_utf8_valid(shown);
    snprintf(to + length, OUTCOME_TEXT - length, "%s%.*s%s", before, TEXT_ARGS(shown),
             shown.length < name.length ? cut_mark : "");
}

bool name_is_present(const struct trace *trace, struct text pattern, const int64_t *weight) {
    for (uint32_t i = 0; i < trace->strings.count; i++)
        if (weight[i] > 0 && name_matches(trace_text(trace, i), pattern))
            return true;
    return false;
}

bool explain_no_match(struct outcome *outcome, const struct trace *trace, const char *what,
                      struct text pattern, const int64_t *weight) {
    enum { SHOWN = 3 };
    uint32_t shown[SHOWN];
    size_t count = 0, names = 0;
    for (uint32_t i = 0; i < trace->strings.count; i++) {
        if (weight[i] <= 0)
            continue;
        names++;
        size_t place = count < SHOWN ? count++ : SHOWN;
        for (; place > 0 && weight[shown[place - 1]] < weight[i]; place--)
            if (place < SHOWN)
                shown[place] = shown[place - 1];
        if (place < SHOWN)
            shown[place] = i;
    }
    if (names == 0)
        return false;
    char *text = outcome->why_not;
    snprintf(text, OUTCOME_TEXT, "no %s is called ", what);
    append_name(text, "", pattern);
    for (size_t i = 0; i < count; i++)
        append_name(text,
                    i            ? ", "
                    : names == 1 ? "; there is "
                                 : "; there are ",
                    trace_text(trace, shown[i]));
    if (names > count) {
        char more[FORMAT_SIZE];
        size_t length = strlen(text);
        snprintf(text + length, OUTCOME_TEXT - length, " and %s more",
                 format_count(names - count, more));
    }
    return true;
}
