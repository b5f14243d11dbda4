/* ridge whatif: how long would the run take if something were different? */
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/ranks.h"
#include "cmd/report.h"
#include "cmd/terminal.h"
#include "report/whatif.h"
#include "report/select.h"

/* "NAME=2x" or "NAME=1.5"; the last = divides, as kernels' names may hold some. */
static bool parse_faster(const char *given, struct change *change, struct status *status) {
    const char *equals = strrchr(given, '=');
    char *end = NULL;
    double factor = equals ? strtod(equals + 1, &end) : 0;
    if (!equals || equals == given || end == equals + 1 || (*end != 0 && strcmp(end, "x") != 0) ||
        !(factor >= 1e-6 && factor <= 1e6))
        return status_fail(status, STATUS_USAGE,
                           "--faster takes NAME=2x: a kernel, range or function, or \"host\", and "
                           "how many times as fast; not \"%s\"",
                           given);
    change->pattern = (struct text){given, (size_t)(equals - given)};
    change->factor = factor;
    return true;
}

/* Making a change twice is no further change, or one that nobody means: 2 times as fast, twice. */
static bool is_given_once(const struct whatif *whatif, const struct change *change,
                          struct status *status) {
    for (size_t i = 0; i < whatif->count; i++) {
        const struct change *other = &whatif->changes[i];
        if (other->kind != change->kind || !text_equal(other->pattern, change->pattern))
            continue;
        bool named = change->pattern.length > 0;
        return status_fail(status, STATUS_USAGE, "--%s is given twice%s%.*s: give it once",
                           change_option(change->kind), named ? " for " : "",
                           (int)change->pattern.length, named ? change->pattern.data : "");
    }
    return true;
}

static bool add_change(struct whatif *whatif, unsigned kind, const char *value,
                       struct status *status) {
    struct change *change = &whatif->changes[whatif->count];
    uint64_t times;
    if (whatif->count == WHATIF_CHANGES_MAX)
        return status_fail(status, STATUS_USAGE, "more than %d changes at once",
                           WHATIF_CHANGES_MAX);
    *change = (struct change){.kind = kind, .factor = 1};
    if (kind == CHANGE_FASTER) {
        if (!parse_faster(value, change, status))
            return false;
    } else if (kind == CHANGE_BATCH) {
        if (!text_to_u64(text_of(value), &times) || times < 2 || times > 1000000)
            return status_fail(status, STATUS_USAGE,
                               "--batch takes how many times as much: 2, 4, ...; not \"%s\"",
                               value);
        change->factor = (double)times;
    } else {
        change->pattern = text_of(value);
    }
    if (!is_given_once(whatif, change, status))
        return false;
    whatif->count++;
    return true;
}

static bool parse_changes(const struct command_line *line, struct whatif *whatif,
                          struct status *status) {
    for (unsigned kind = 0; kind < CHANGE_COUNT; kind++) {
        const char *value;
        for (unsigned i = 0; (value = command_value_at(line, change_option(kind), i)); i++)
            if (!add_change(whatif, kind, value, status))
                return false;
    }
    if (whatif->count && command_flag(line, "all"))
        return status_fail(status, STATUS_USAGE, "--all tries every change; name none beside it");
    return true;
}

static bool make_runs(struct whatif *whatif, bool all, struct status *status) {
    const struct replay *replay = whatif->report->replay;
    whatif->unchanged.change.kind = whatif->several.change.kind = CHANGE_COUNT;
    if (whatif->report->narrowed && whatif->report->device_count == 0)
        return status_fail(status, STATUS_USAGE,
                           "no device activity was recorded in the selected part; a prediction for "
                           "a part of the run is about a device's time: select another part, or "
                           "none");
    if (!replay_run(replay, NULL, 0, &whatif->unchanged.outcome, status))
        return false;
    if (all)
        return replay_rank(replay, &whatif->ranked, &whatif->ranked_count, status);
    for (size_t i = 0; i < whatif->count; i++) {
        whatif->alone[i].change = whatif->changes[i];
        if (!replay_run(replay, &whatif->changes[i], 1, &whatif->alone[i].outcome, status))
            return false;
    }
    return whatif->count < 2 ||
           replay_run(replay, whatif->changes, whatif->count, &whatif->several.outcome, status);
}

static void finish_runs(struct whatif *whatif) {
    outcome_finish(&whatif->unchanged.outcome);
    outcome_finish(&whatif->several.outcome);
    for (size_t i = 0; i < whatif->count; i++)
        outcome_finish(&whatif->alone[i].outcome);
    replay_rank_finish(whatif->ranked, whatif->ranked_count);
}

static bool print(const struct whatif *whatif, const char *format, struct output *output,
                  struct status *status) {
    if (format && strcmp(format, "json") == 0)
        return whatif_print_json(whatif, output, status);
    return whatif_print(whatif, format && strcmp(format, "md") == 0, terminal_columns(output),
                        output, status);
}

static int run_whatif(const struct command_line *line) {
    struct status status = {0};
    unsigned count;
    struct report_options options = {
        .trace_name = command_arguments(line, NULL)[0],
        .device = command_value(line, "device"),
        .range = command_value(line, "range"),
        .steps = command_value(line, "steps"),
        .window = command_value(line, "window"),
        .top = 10,
        .steady = true,
        .keep_replay = true,
        .no_verdict = true,
    };
    struct whatif whatif = {.count = 0};
    struct opened_report opened;
    struct output output;
    const char *format = command_flag(line, "json") ? "json" : command_value(line, "format");
    if (!parse_changes(line, &whatif, &status))
        return command_fail(line, &status);
    if (whatif_is_of_job(line)) {
        if (whatif.count || command_flag(line, "all"))
            return command_usage(line, "--no-straggler, --comm, --overlap-comm and --link are "
                                       "about a job; give no other change beside them");
        return whatif_job(line);
    }
    if (command_arguments(line, &count), count > 1)
        return command_usage(line, "several traces are those of the ranks of a job: add "
                                   "--no-straggler, --comm, --overlap-comm or --link");
    if (!select_check(&options, &status) ||
        !output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    bool ok = report_open(&opened, &options, command_flag(line, "skip-invalid"), &status);
    if (ok) {
        whatif.report = &opened.report;
        ok = make_runs(&whatif, command_flag(line, "all"), &status) &&
             print(&whatif, format, &output, &status);
        finish_runs(&whatif);
        report_close(&opened);
    }
    ok = output_close(&output, ok, &status);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"all", 'a', NULL, "try every change, largest gain first"},
    {"graph", 0, NULL, "launch each step's kernels at once: a CUDA graph, one submission"},
    {"fuse", 0, "[=NAME]", "fuse chains of element-wise kernels, or of kernels of this name"},
    {"no-sync", 0, "[=NAME]",
     "remove synchronization from the loop, or from calls and ranges of this name"},
    {"pinned", 0, NULL, "copy from and to pinned memory"},
    {"batch-copies", 0, NULL, "merge consecutive small copies"},
    {"overlap-copies", 0, NULL, "copy in a separate queue, one step ahead"},
    {"no-alloc", 0, "[=NAME]", "allocate before the loop, or from a pool"},
    {"no-compile", 0, "[=NAME]", "compile and load modules before the loop"},
    {"faster", 0, "NAME=2x", "make kernels, ranges or functions of this name, or \"host\", faster"},
    {"at-roof", 0, "[=NAME]", "run kernels, or those of this name, at their roof"},
    {"queues", 0, NULL, "run neighboring kernels with small grids concurrently"},
    {"prefetch", 0, "[=NAME]", "prepare the input (ranges of this name) in another worker"},
    {"no-host", 0, "[=NAME]",
     "remove host code of this name, or the most expensive, from the loop"},
    {"full-clock", 0, NULL, "run at the device's full clock"},
    {"batch", 0, "N", "process N times as much per step, in N times fewer steps"},
    {"no-straggler", 0, "[=RANK]",
     "of a job: the rank that costs most, or this one, as fast as the others"},
    {"comm", 0, "2x", "of a job: transfers this many times as fast"},
    {"overlap-comm", 0, NULL, "of a job: communication delays only the end of each step"},
    {"link", 0, "400G", "of a job: transfers at this many bits per second"},
    {"device", 'd', "LABEL", "only this device, as the report names it"},
    {"range", 'r', "NAME", "only what was launched inside ranges of this name"},
    {"steps", 's', "A-B",
     "only these steps, counted from 1; \"steady\": those after warm-up "
     "(the default); \"all\": the whole run"},
    {"window", 'w', "T1,T2", "only this time from the run's start, such as 10ms,1.5s"},
    {"format", 0, "text|md|json", "output format (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "overwrite FILE if it exists"},
    {"skip-invalid", 0, NULL, "drop and count events with invalid times instead of failing"},
    {0},
};

const struct command command_whatif = {
    .name = "whatif",
    .arguments = "TRACE",
    .summary = "Predict what a change would gain",
    .details =
        "TRACE is a .ridge file or any trace that ridge imports.\n\n"
        "The trace is replayed as a dependency graph: each thread's calls in program order with "
        "host time between them, launches, queues, events, synchronization and copies. The output "
        "is the new time and its error bound, the change, what it assumes, the account of each "
        "device before and after, and the next bottleneck. Several changes are applied together, "
        "and each alone in a table. Without a change the replay reproduces the measured "
        "time.\n\n"
        "A NAME with * or ? is a pattern for whole names; otherwise it matches a part of them.\n\n"
        "The whole run is replayed. The time is that of the part that the verdict of ridge report "
        "is about: the steady steps if the run has at least three steps, else the whole run. "
        "--steps all selects the whole run; --range, --steps and --window another part.\n\n"
        "--no-straggler, --comm, --overlap-comm and --link replay all ranks of a distributed job "
        "together, from the first collective that they share to the last: TRACE is then as for "
        "'ridge ranks', a trace with several ranks, several traces or a folder.",
    .examples = "ridge whatif run.ridge --all\twhat would help most?\n"
                "ridge whatif run.ridge --graph\tlaunches as graphs\n"
                "ridge whatif run.ridge --no-sync --fuse\tboth, and each alone\n"
                "ridge whatif traces/ --no-straggler --comm 2x\ta job\n"
                "ridge whatif run.ridge --faster '*gemm*=2x' --steps steady\tone kernel, one part",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 100000,
    .run = run_whatif,
};
