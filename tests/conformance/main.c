/* Runs every operation on one device against double-precision references.
 *
 *   conformance DEVICE [--filter WORD] [--quick]
 *
 * Prints what failed and at last `N passed, N failed, N skipped`; ends with 1 when something
 * failed, and with `SKIP reason` and 77 when the device cannot be used here. */
#include <stdio.h>
#include <string.h>

#include "cases.h"

static void (*const parts[])(void) = {
    check_elementwise, check_special_values, check_casts,         check_creation,
    check_views,       check_joining,        check_reductions,    check_norms,
    check_matmul,      check_layers,         check_quantized,     check_models,
    check_attention,   check_compiled,       check_random_graphs, check_misuse,
    check_large,       check_failing_memory,
};

static bool read_arguments(int count, char **arguments, const char **device) {
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--quick") == 0)
            session.quick = true;
        else if (strcmp(arguments[i], "--filter") == 0 && i + 1 < count)
            session.filter = arguments[++i];
        else if (!*device && arguments[i][0] != '-')
            *device = arguments[i];
        else
            return false;
    }
    return *device != NULL;
}

int main(int count, char **arguments) {
    const char *device = NULL;
    if (!read_arguments(count, arguments, &device)) {
        fprintf(stderr, "usage: conformance DEVICE [--filter WORD] [--quick]\n");
        return 2;
    }
    session.device = ridge_device_open(device);
    struct ridge_device_info info;
    if (!session.device || !ridge_device_describe(session.device, &info)) {
        printf("SKIP %s\n", ridge_error_message());
        return 77;
    }
    snprintf(session.name, sizeof session.name, "%s", info.name);
    session.native = strncmp(info.name, "cpu", 3) == 0;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        parts[i]();
    ridge_device_close(session.device);
    printf("%u passed, %u failed, %u skipped\n", session.passed, session.failed, session.skipped);
    return session.failed ? 1 : 0;
}
