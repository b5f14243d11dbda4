/* Runs every operation on one device against double-precision references.
 *
 *   conformance DEVICE [--part NAME] [--filter WORD] [--quick]
 *
 * Prints failures and finally `N passed, N failed, N skipped`; exits with 1 if something
 * failed, and with `SKIP reason` and 77 if the device cannot be used.
 */
#include <stdio.h>
#include <string.h>

#include "cases.h"

#define PART(name)                                                                                 \
    { #name, check_##name }
static const struct {
    const char *name;
    void (*check)(void);
} parts[] = {
    PART(elementwise),    PART(special_values), PART(casts),        PART(creation),
    PART(views),          PART(joining),        PART(reductions),   PART(norms),
    PART(matmul),         PART(layers),         PART(quantized),    PART(models),
    PART(attention),      PART(indices),        PART(convolutions), PART(decoding),
    PART(compiled),       PART(random_graphs),  PART(misuse),       PART(large),
    PART(failing_memory), PART(gradients),      PART(training),     PART(custom),
};

static bool read_arguments(int count, char **arguments, const char **device, const char **part) {
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--quick") == 0)
            session.quick = true;
        else if (strcmp(arguments[i], "--filter") == 0 && i + 1 < count)
            session.filter = arguments[++i];
        else if (strcmp(arguments[i], "--part") == 0 && i + 1 < count)
            *part = arguments[++i];
        else if (!*device && arguments[i][0] != '-')
            *device = arguments[i];
        else
            return false;
    }
    return *device != NULL;
}

int main(int count, char **arguments) {
    const char *device = NULL, *part = NULL;
    if (!read_arguments(count, arguments, &device, &part)) {
        fprintf(stderr, "usage: conformance DEVICE [--part NAME] [--filter WORD] [--quick]\n");
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
        if (!part || strcmp(part, parts[i].name) == 0)
            parts[i].check();
    ridge_device_close(session.device);
    printf("%u passed, %u failed, %u skipped\n", session.passed, session.failed, session.skipped);
    return session.failed ? 1 : 0;
}
