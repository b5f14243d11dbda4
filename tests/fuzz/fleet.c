/* Any bytes as two reports of ranks: read, joined and printed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/output.h"
#include "report/fleet.h"
#include "targets.h"

static char path[64];

static void remove_file(void) {
    unlink(path);
}

int fuzz_fleet(const uint8_t *data, size_t size) {
    struct fleet fleet = {0};
    struct buffer written = {0};
    struct output output = output_into(&written);
    struct status status = {0};
    if (!*path) {
        snprintf(path, sizeof path, "/tmp/ridge-fuzz-fleet-%ld", (long)getpid());
        atexit(remove_file);
    }
    FILE *file = fopen(path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    fleet_is_report(path);
    bool read = fleet_add(&fleet, path, &status);
    if (!read && status.code == STATUS_OK)
        abort(); /* a failure without a reason */
    if (read) {
        fleet.ranks[0].number = -1; /* two of a number are refused */
        if (!fleet_add(&fleet, path, &status) || !fleet_join(&fleet, &status) ||
            !fleet_text(&fleet, 80, &output, &status) || !fleet_json(&fleet, &output, &status) ||
            fleet.rank_count != 2)
            abort();
    }
    fleet_finish(&fleet);
    buffer_finish(&written);
    return 0;
}
