/* The parts of a difference sum to it, swapping the sides negates it, and a trace does not differ
 * from itself: on random traces, and on every pair of recorded ones. */
#include "../test.h"
#include "compare/diff_parts.h"
#include "../analysis/build.h"

#include <dirent.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compare/diff.h"
#include "import/import.h"

static uint32_t seed = 4711;
static uint32_t random_below(uint32_t limit) {
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

static int64_t sum_of_rows(const struct diff *diff, int64_t part[PART_COUNT]) {
    int64_t sum = 0;
    memset(part, 0, PART_COUNT * sizeof *part);
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        CHECK_INT(row->change, row->time[AFTER] - row->time[BEFORE]);
        CHECK_INT(row->change, row->by_count + row->by_duration);
        part[row->part] += row->change;
        sum += row->change;
    }
    return sum;
}

static void check_sums(const struct diff *diff) {
    int64_t part[PART_COUNT], sum = 0;
    CHECK_INT(sum_of_rows(diff, part), diff->change);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        CHECK_INT(part[i], diff->part[i]);
        sum += diff->part[i];
    }
    CHECK_INT(sum, diff->change);
    for (unsigned at = BEFORE; at < SIDES; at++) {
        const struct side *side = &diff->sides[at];
        int64_t time = 0, by_part[PART_COUNT] = {0};
        for (size_t i = 0; i < side->entry_count; i++) {
            CHECK(side->entries[i].sum >= 0 && side->entries[i].time >= 0);
            time += side->entries[i].time;
            by_part[side->entries[i].part] += side->entries[i].sum;
        }
        CHECK_INT(time, side->step);
        CHECK_INT(by_part[PART_BUSY], side->account.busy);
        CHECK_INT(by_part[PART_COMMUNICATION], side->account.exposed_communication);
        CHECK_INT(by_part[PART_COPY], side->account.exposed_copy);
        for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
            CHECK_INT(by_part[PART_IDLE + cause], side->gaps.cause_time[cause]);
    }
}

/* Whether the rows of one diff are those of the other with the sides swapped. */
static void check_negated(const struct diff *diff, const struct diff *swapped) {
    CHECK_INT(diff->change, -swapped->change);
    for (unsigned i = 0; i < PART_COUNT; i++)
        CHECK_INT(diff->part[i], -swapped->part[i]);
    CHECK_INT(diff->row_count, swapped->row_count);
    for (size_t i = 0; i < diff->row_count && i < swapped->row_count; i++) {
        CHECK_INT(diff->rows[i].change, -swapped->rows[i].change);
        CHECK_INT(diff->rows[i].by_count, -swapped->rows[i].by_count);
        CHECK_INT(diff->rows[i].time[BEFORE], swapped->rows[i].time[AFTER]);
        CHECK_INT(diff->rows[i].part, swapped->rows[i].part);
    }
}

static void check_pair(const struct report *a, const struct report *b) {
    struct diff diff, swapped;
    struct status status = {0};
    REQUIRE(diff_build(&diff, a, b, &status));
    REQUIRE(diff_build(&swapped, b, a, &status));
    check_sums(&diff);
    check_negated(&diff, &swapped);
    diff_finish(&diff);
    diff_finish(&swapped);
}

static void check_same(const struct report *report) {
    struct diff diff;
    struct status status = {0};
    REQUIRE(diff_build(&diff, report, report, &status));
    check_sums(&diff);
    for (size_t i = 0; i < diff.row_count; i++)
        CHECK_INT(diff.rows[i].change, 0);
    CHECK(strcmp(diff.cause, "none") == 0);
    diff_finish(&diff);
}

/* ---- random traces ---- */

static struct trace *random_trace(void) {
    static const char *const names[] = {"gemm", "relu", "norm", "copy", "fused"};
    struct build build;
    build_begin(&build);
    unsigned steps = 1 + random_below(9), families = 1 + random_below(5);
    int64_t time = 1000;
    for (unsigned step = 0; step < steps; step++) {
        int64_t began = time;
        unsigned rows = 1 + random_below(8);
        for (unsigned i = 0; i < rows; i++) {
            int64_t start = time + random_below(60), end = start + random_below(80);
            uint64_t correlation = 1 + step * 100 + i;
            build_call(&build, 0, (int)random_below(CALL_CLASSES), start - 20, start - 5,
                       "cudaLaunchKernel", correlation);
            build_activity(&build, (int)random_below(BUILD_QUEUES), (int)random_below(3), start,
                           end, names[random_below(families)], correlation);
            time = start + random_below(70);
        }
        build_range(&build, 0, RANGE_ANNOTATION, began, time + 100, "step");
        time += 100 + random_below(50);
    }
    return build_end(&build);
}

static bool open_random(struct report *report, struct trace **trace) {
    struct status status = {0};
    struct report_options options = {
        .trace_name = "random", .top = 10, .no_verdict = true, .steady = random_below(2)};
    *trace = random_trace();
    if (!*trace)
        return false;
    if (report_build(report, *trace, &options, &status) && report->device_count)
        return true;
    trace_close(*trace);
    return false;
}

TEST(parts_of_a_difference_of_random_traces_sum_to_it) {
    for (unsigned trial = 0; trial < 150; trial++) {
        struct report a, b;
        struct trace *first, *second;
        if (!open_random(&a, &first))
            continue;
        if (open_random(&b, &second)) {
            check_pair(&a, &b);
            report_finish(&b);
            trace_close(second);
        }
        check_same(&a);
        report_finish(&a);
        trace_close(first);
    }
}

/* ---- recorded traces ---- */

enum { TRACES_MAX = 400 };
static struct {
    struct trace *trace;
    struct report report;
    char path[600];
} recorded[TRACES_MAX];

static bool is_trace(const char *name) {
    static const char *const suffixes[] = {".ridge", ".json.gz", "_trace.json", ".sqlite", ".pb"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strstr(name, suffixes[i]))
            return true;
    return false;
}

static size_t open_folder(const char *folder, size_t count, unsigned every) {
    DIR *open = opendir(folder);
    struct dirent *entry;
    unsigned seen = 0;
    while (open && (entry = readdir(open)) && count < TRACES_MAX) {
        struct status status = {0};
        struct report_options options = {.top = 10, .no_verdict = true, .steady = true};
        struct import_options import = {0};
        if (!is_trace(entry->d_name) || seen++ % every)
            continue;
        snprintf(recorded[count].path, sizeof recorded[count].path, "%s/%s", folder, entry->d_name);
        options.trace_name = recorded[count].path;
        if (!import_open(options.trace_name, &import, &recorded[count].trace, &status))
            continue;
        if (!report_build(&recorded[count].report, recorded[count].trace, &options, &status)) {
            trace_close(recorded[count].trace);
            continue;
        }
        if (recorded[count].report.device_count) {
            count++;
            continue;
        }
        report_finish(&recorded[count].report);
        trace_close(recorded[count].trace);
    }
    if (open)
        closedir(open);
    return count;
}

/* RIDGE_ALL_PAIRS=1 compares every pair, those of RIDGE_FIXTURES included; else a fifth of the
 * traces, each with each. */
TEST(parts_of_a_difference_of_recorded_traces_sum_to_it) {
    unsigned every = getenv("RIDGE_ALL_PAIRS") ? 1 : 5;
    size_t count = open_folder("tests/corpus/traces", 0, every);
    count = open_folder("tests/compare/pairs", count, every);
    count = open_folder("tests/fixtures", count, 1);
    for (unsigned i = 0; every == 1 && getenv("RIDGE_FIXTURES") && i < 3; i++)
        count =
            open_folder(test_fixture(((const char *[]){"kineto", "nsys", "xplane"})[i]), count, 1);
    for (size_t i = 0; i < count; i++) {
        check_same(&recorded[i].report);
        for (size_t k = i + 1; k < count; k++)
            check_pair(&recorded[i].report, &recorded[k].report);
    }
    for (size_t i = 0; i < count; i++) {
        report_finish(&recorded[i].report);
        trace_close(recorded[i].trace);
    }
}

TEST(units_that_alternate_are_halves_of_one) {
    struct status status = {0};
    int64_t lengths[60];
    for (size_t i = 0; i < 60; i++) /* long and short, with 2 % of noise */
        lengths[i] = (i % 2 ? 16000 : 84000) + (int64_t)(i * 7919 % 13) * 100;
    double spread = noise_of_units(lengths, 60, &status);
    CHECK(spread > 0 && spread < 0.02);
    CHECK(noise_of_units(lengths, 6, &status) > 0.1); /* too few to know */
}
