/* Substrings that mean a loader in any name, and names that consist of words about loading. */
#include "analysis/input_names.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next word of a name. Words are separated by other characters or by a capital letter. False at
 * the end. */
static bool next_word(struct text name, size_t *at, struct text *word) {
    while (*at < name.length && !is_letter(name.data[*at]))
        ++*at;
    size_t start = *at;
    while (*at < name.length && is_letter(name.data[*at]) &&
           (*at == start || name.data[*at] >= 'a' || name.data[*at - 1] < 'a'))
        ++*at;
    *word = (struct text){name.data + start, *at - start};
    return *at > start;
}

static bool is_one_of(struct text word, const char *const *words) {
    for (; *words; words++)
        if (word.length == strlen(*words)) {
            size_t same = 0;
            while (same < word.length && (word.data[same] | 32) == (*words)[same])
                same++;
            if (same == word.length)
                return true;
        }
    return false;
}

/* "next batch", "load_data", "wait for input": only words about loading data. Any other word means
 * something else: batch_norm, data parallel, load model. "batch" alone is more likely a step. */
static bool words_are_input(struct text name) {
    static const char *const data[] = {"data", "input", "inputs", "dataset", "loader", NULL};
    static const char *const acts[] = {"next",    "load",      "loading", "fetch", "get",
                                       "prepare", "preparing", "read",    NULL};
    static const char *const alone[] = {"next", "load", "loading", "fetch", NULL};
    static const char *const fill[] = {"the", "for", "of", "a", "wait", "train", "training", NULL};
    size_t at = 0, of_data = 0, of_acts = 0, batches = 0;
    struct text word;
    if (name.length > 64 || text_find(name, "::") >= 0) /* an operator's or a function's */
        return false;
    while (next_word(name, &at, &word)) {
        static const char *const batch[] = {"batch", "batches", NULL};
        of_data += is_one_of(word, data);
        of_acts += is_one_of(word, acts);
        batches += is_one_of(word, batch);
        if (!is_one_of(word, data) && !is_one_of(word, acts) && !is_one_of(word, batch) &&
            !is_one_of(word, fill))
            return false;
    }
    return of_data > 0 || (of_acts > 0 && batches > 0) || is_one_of(name, alone);
}

bool name_is_input(struct text name) {
    static const char *const parts[] = {"DataLoader",     "dataloader", "__next__",     "collate",
                                        "get_batch",      "next_batch", "prefetch",     "load_data",
                                        "input_pipeline", "Dataset",    "data_loading", NULL};
    for (const char *const *part = parts; *part; part++)
        if (text_find(name, *part) >= 0)
            return true;
    return words_are_input(name);
}
