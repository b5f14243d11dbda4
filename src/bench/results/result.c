/* A set of results: adding and finding lines and findings, and ownership. */
#include "bench/results/result.h"

#include <stdarg.h>
#include <string.h>

#include "base/memory.h"
#include "bench/results/result_members.h"

struct result *result_add(struct result_set *set, const struct result *result,
                          struct status *status) {
    if (!GROW(set->results, &set->capacity, set->count + 1, status))
        return NULL;
    set->results[set->count] = *result;
    return &set->results[set->count++];
}

bool finding_add(struct result_set *set, const char *experiment, const char *device,
                 const char *key, double value, struct status *status, const char *format, ...) {
    struct result_finding finding = {.value = value};
    struct buffer words = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&words, format, arguments);
    va_end(arguments);
    bool ok = buffer_ok(&words, status) &&
              GROW(set->findings, &set->finding_capacity, set->finding_count + 1, status) &&
              (finding.text = text_copy(buffer_as_text(&words), status));
    buffer_finish(&words);
    if (!ok)
        return false;
    result_copy_text(finding.experiment, sizeof finding.experiment, text_of(experiment));
    result_copy_text(finding.device, sizeof finding.device, text_of(device));
    result_copy_text(finding.key, sizeof finding.key, text_of(key));
    set->findings[set->finding_count++] = finding;
    return true;
}

const struct result *result_find(const struct result_set *set, const struct result *like) {
    for (size_t i = 0; i < set->count; i++) {
        const struct result *result = &set->results[i];
        if (strcmp(result->label, like->label) == 0 &&
            strcmp(result->variant, like->variant) == 0 &&
            strcmp(result->experiment, like->experiment) == 0 &&
            strcmp(result->device, like->device) == 0)
            return result;
    }
    return NULL;
}

void result_set_finish(struct result_set *set) {
    for (size_t i = 0; i < set->count; i++)
        memory_free(set->results[i].spans);
    for (size_t i = 0; i < set->finding_count; i++)
        memory_free(set->findings[i].text);
    memory_free(set->results);
    memory_free(set->findings);
    memory_free(set->roofs);
    memory_free(set->reference);
    *set = (struct result_set){0};
}
