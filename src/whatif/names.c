/* Names that are not known have no meaning here and are left alone. */
#include "whatif/names.h"

#include <string.h>

#include "base/memory.h"

/* Greedy matching that backtracks to the latest star: linear but for repeated near misses. */
static bool matches_whole(struct text name, struct text pattern) {
    size_t n = 0, p = 0, star = SIZE_MAX, resume = 0;
    while (n < name.length) {
        if (p < pattern.length && (pattern.data[p] == '?' ||
                                   (pattern.data[p] == name.data[n] && pattern.data[p] != '*'))) {
            n++;
            p++;
        } else if (p < pattern.length && pattern.data[p] == '*') {
            star = p++;
            resume = n;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.data[p] == '*')
        p++;
    return p == pattern.length;
}

bool name_matches(struct text name, struct text pattern) {
    if (pattern.length == 0)
        return true;
    if (memchr(pattern.data, '*', pattern.length) || memchr(pattern.data, '?', pattern.length))
        return matches_whole(name, pattern);
    return text_find_text(name, pattern) >= 0;
}

static bool has(struct text name, const char *part) {
    return text_find(name, part) >= 0;
}

bool name_is_compilation(struct text name) {
    if (has(name, "Compiled") || has(name, "compiled") || has(name, "Cache Lookup") ||
        has(name, "/torchinductor_") || has(name, "eval_frame.py"))
        return false; /* it runs compiled code */
    return has(name, "compile") || has(name, "Compile") || has(name, "nvrtc") ||
           has(name, "inductor") || has(name, "dynamo");
}

bool name_trait_begin(struct name_trait *trait, const struct trace *trace,
                      bool (*has)(struct text name), struct status *status) {
    *trait = (struct name_trait){.trace = trace, .has = has};
    trait->known = memory_allocate(trace->strings.count, 1, status);
    return trait->known != NULL;
}

void name_trait_finish(struct name_trait *trait) {
    memory_free(trait->known);
    trait->known = NULL;
}

static bool is_clock(struct text name) {
    bool clock = text_find(name, "clock") >= 0 || text_find(name, "Clock") >= 0;
    return clock && text_find(name, "memory") < 0 && text_find(name, "Memory") < 0 &&
           text_find(name, "mem_") < 0 && text_find(name, "video") < 0;
}

struct clock_counter names_clock_counter(const struct trace *trace, uint32_t device) {
    struct clock_counter shared = {0};
    uint32_t rejected = 0; /* the last other name: rows of one counter are often consecutive */
    for (size_t i = 0; i < trace->counter.count; i++) {
        uint32_t name = trace->counter.name[i], owner = trace->counter.device[i];
        if ((owner && owner != device) || name == rejected || (!owner && shared.name))
            continue;
        if (!is_clock(trace_text(trace, name)))
            rejected = name;
        else if (owner)
            return (struct clock_counter){name, owner};
        else
            shared = (struct clock_counter){name, 0};
    }
    return shared;
}
