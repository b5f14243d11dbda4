/* Reads $RIDGE_PROBE, without touching it. */
#include "probe/options.h"

#define CAPTURE "capture="

static void read_word(struct probe_options *options, struct text word) {
    ptrdiff_t equals = text_find(word, "=");
    if (equals < 0)
        return;
    struct text name = {word.data, (size_t)equals};
    struct text value = {word.data + equals + 1, word.length - (size_t)equals - 1};
    uint64_t number;
    if (text_is(name, "nvtx"))
        options->nvtx = !text_is(value, "0");
    else if (text_is(name, "cuda"))
        options->cuda = !text_is(value, "0");
    else if (text_is(name, "graph"))
        options->by_node = text_is(value, "node");
    else if (text_is(name, "room") && text_to_u64(value, &number))
        options->room = number;
    else if (text_is(name, "from") && text_to_u64(value, &number) && number < INT64_MAX)
        options->from = (int64_t)number;
}

struct probe_options options_parse(const char *words) {
    struct probe_options options = {.nvtx = true, .cuda = true};
    struct text rest = text_of(words ? words : "");
    while (rest.length > 0) {
        if (text_starts(rest, CAPTURE)) {
            size_t before = sizeof CAPTURE - 1;
            options.capture = (struct text){rest.data + before, rest.length - before};
            break;
        }
        ptrdiff_t comma = text_find(rest, ",");
        size_t length = comma < 0 ? rest.length : (size_t)comma;
        read_word(&options, (struct text){rest.data, length});
        size_t taken = comma < 0 ? length : length + 1;
        rest = (struct text){rest.data + taken, rest.length - taken};
    }
    return options;
}
