#include "targets.h"

#include <string.h>

#define FUZZ_ENTRY(name) {#name, fuzz_##name},
const struct fuzz_target fuzz_targets[] = {FUZZ_TARGETS(FUZZ_ENTRY){NULL, NULL}};

const struct fuzz_target *fuzz_find(const char *name) {
    for (const struct fuzz_target *target = fuzz_targets; name && target->name; target++)
        if (strcmp(target->name, name) == 0)
            return target;
    return NULL;
}
