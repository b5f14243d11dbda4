/* All targets as one libFuzzer program: $RIDGE_FUZZ names the target. One program is linked once,
 * and the environment reaches the processes that libFuzzer itself starts. */
#include <stdio.h>
#include <stdlib.h>

#include "targets.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    target = fuzz_find(getenv("RIDGE_FUZZ"));
    if (target)
        return 0;
    fprintf(stderr, "set RIDGE_FUZZ to one of:");
    for (const struct fuzz_target *known = fuzz_targets; known->name; known++)
        fprintf(stderr, " %s", known->name);
    fputc('\n', stderr);
    exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return target->run(data, size);
}
