/* Reports on traces in which entities are missing, as in damaged files and in traces of other
 * tools: rows of unknown threads and queues, no devices, no calls, no time. They must go through,
 * in every format, and no share may be outside 0 to 100 %. */
#include "../test.h"

#include <stdlib.h>
#include <unistd.h>

#include "report/report.h"
#include "trace/writer.h"

enum { RUNS = 400, ENTITIES = 3 };

static uint32_t state;
static uint32_t random_below(uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

/* Each kind of entity is there, missing now and then, or missing altogether. */
static void thin(uint32_t *ids, size_t count) {
    uint32_t missing = random_below(3);
    for (size_t i = 0; i < count; i++)
        if (missing == 2 || (missing == 1 && random_below(2)))
            ids[i] = 0;
}

struct entities {
    uint32_t process[ENTITIES], thread[ENTITIES], device[ENTITIES], queue[ENTITIES];
};

static void write_entities(struct trace_writer *writer, struct entities *ids) {
    for (unsigned i = 0; i < ENTITIES; i++)
        ids->process[i] = trace_write_process(writer, &(struct row_process){.pid = i + 1});
    thin(ids->process, ENTITIES);
    for (unsigned i = 0; i < ENTITIES; i++) {
        ids->thread[i] = trace_write_thread(
            writer,
            &(struct row_thread){.process = ids->process[random_below(ENTITIES)], .tid = 10 + i});
        ids->device[i] = trace_write_device(writer, &(struct row_device){.index = i, .listed = 1});
    }
    thin(ids->device, ENTITIES);
    for (unsigned i = 0; i < ENTITIES; i++)
        ids->queue[i] = trace_write_queue(
            writer, &(struct row_queue){.device = ids->device[random_below(ENTITIES)],
                                        .process = ids->process[random_below(ENTITIES)],
                                        .stream = i});
    thin(ids->thread, ENTITIES);
    thin(ids->queue, ENTITIES);
}

static void write_row(struct trace_writer *writer, const struct entities *ids, bool calls) {
    static const char *const names[] = {"cudaLaunchKernel", "gemm", "load", "ProfilerStep#1"};
    uint32_t name = trace_writer_string(writer, text_of(names[random_below(4)]));
    uint32_t thread = ids->thread[random_below(ENTITIES)];
    uint32_t queue = ids->queue[random_below(ENTITIES)];
    int64_t start = random_below(1000), duration = random_below(4) ? random_below(90) : 0;
    uint64_t correlation = random_below(12);
    switch (random_below(6)) {
    case 0:
    case 1:
        trace_write_activity(writer, &(struct row_activity){.start = start,
                                                            .duration = duration,
                                                            .queue = queue,
                                                            .name = name,
                                                            .kind = (uint8_t)random_below(3),
                                                            .correlation = correlation});
        break;
    case 2:
    case 3:
        if (calls)
            trace_write_call(writer,
                             &(struct row_call){.start = start,
                                                .duration = duration,
                                                .thread = thread,
                                                .name = name,
                                                .class = (uint8_t)random_below(CALL_CLASSES),
                                                .correlation = correlation});
        break;
    case 4:
        trace_write_range(writer, &(struct row_range){.start = start,
                                                      .duration = duration,
                                                      .thread = thread,
                                                      .queue = queue,
                                                      .name = name,
                                                      .category = (uint8_t)random_below(4)});
        break;
    default:
        trace_write_wait(writer, &(struct row_wait){.start = start,
                                                    .duration = duration,
                                                    .queue = queue,
                                                    .kind = (uint8_t)random_below(4),
                                                    .awaited = ids->queue[random_below(ENTITIES)],
                                                    .correlation = correlation});
    }
}

static void write_thinned(struct trace_writer *writer) {
    struct entities ids;
    bool calls = random_below(3) > 0;
    write_entities(writer, &ids);
    for (unsigned rows = random_below(50); rows > 0; rows--)
        write_row(writer, &ids, calls);
}

/* Shares end with "%"; a coefficient of variation is none. */
static void check_shares(const char *written) {
    for (const char *sign = strchr(written, '%'); sign; sign = strchr(sign + 1, '%')) {
        const char *from = sign;
        while (from > written && strchr("0123456789.,", from[-1]))
            from--;
        bool variation = from - written >= 10 && memcmp(from - 10, "variation ", 10) == 0;
        if (from == sign || variation)
            continue;
        double share = strtod(from, NULL);
        if (share > 100 || (from > written && from[-1] == '-'))
            test_failed(__FILE__, __LINE__, "a share of %.*s%%", (int)(sign - from), from);
    }
}

static bool rank_changes(const struct report *report, struct status *status) {
    struct ranked_change *ranked;
    size_t count;
    struct replay *replay = report_replay(report, report->selections, report->narrowed,
                                          (struct step_range){1, 0}, status);
    bool ok = replay && replay_rank(replay, &ranked, &count, status);
    if (ok)
        replay_rank_finish(ranked, count);
    replay_destroy(replay);
    return ok;
}

static bool write_all(const struct report *report, struct status *status) {
    struct buffer text = {0}, other = {0};
    struct output words = output_into(&text), rest = output_into(&other);
    struct page_summary summary;
    bool ok = report_write_text(report, &(struct report_style){.width = 80}, &words, status) &&
              report_write_markdown(report, &words, status) &&
              report_write_csv(report, NULL, &rest, status) &&
              report_write_json(report, &rest, status) &&
              report_write_html(&report, 1, &rest, &summary, status);
    buffer_byte(&text, 0);
    if (ok && buffer_ok(&text, status))
        check_shares(text.data);
    buffer_finish(&text);
    buffer_finish(&other);
    return ok;
}

typedef void write_rows(struct trace_writer *writer);

static struct trace *trace_of(write_rows *write, struct status *status) {
    struct trace *trace = NULL;
    FILE *file = tmpfile();
    struct trace_writer *writer =
        file ? trace_writer_create(
                   fileno(file), &(struct trace_writer_options){.session = 1, .writer = 1}, status)
             : NULL;
    if (writer)
        write(writer);
    if (writer && trace_writer_finish(writer, status) &&
        !trace_open_fd(fileno(file), "thinned", &trace, status))
        trace = NULL;
    trace_writer_destroy(writer);
    if (file)
        fclose(file);
    return trace;
}

static void check_run(uint32_t run) {
    struct status status = {0};
    struct report_options options = {.trace_name = "thinned.ridge", .top = 5};
    struct report report;
    if (run % 4 == 3)
        options.window = "100ns,400ns";
    state = run;
    struct trace *trace = trace_of(write_thinned, &status);
    REQUIRE(trace);
    if (report_build(&report, trace, &options, &status)) {
        for (size_t i = 0; i < report.verdict.count; i++)
            CHECK(report.verdict.findings[i].recoverable <= report.verdict.time);
        CHECK_OK(rank_changes(&report, &status), status);
        CHECK_OK(write_all(&report, &status), status);
        report_finish(&report);
    } else if (status.code != STATUS_USAGE) { /* the run may end before the window */
        test_failed(__FILE__, __LINE__, "run %u: %s", (unsigned)run, status.message);
    }
    trace_close(trace);
}

TEST(traces_with_missing_entities_go_through_every_format_and_change) {
    for (uint32_t run = 0; run < RUNS; run++)
        check_run(run);
}

static void write_snapshot(struct trace_writer *writer) {
    uint32_t device = trace_write_device(writer, &(struct row_device){.index = 0, .listed = 1});
    for (int64_t i = 0; i < 3; i++)
        trace_write_memory(writer, &(struct row_memory){.time = i,
                                                        .device = device,
                                                        .address = 64 * (uint64_t)i,
                                                        .bytes = 1000000,
                                                        .reserved = 5000000});
}

TEST(a_trace_of_allocations_alone_is_told_by_its_peak) {
    struct status status = {0};
    struct report report;
    struct trace *trace = trace_of(write_snapshot, &status);
    REQUIRE(trace);
    REQUIRE(report_build(&report, trace,
                         &(struct report_options){.trace_name = "snapshot.pickle", .top = 5},
                         &status));
    CHECK_STRING(report.verdict.manager,
                 "Memory in use peaks at 3.00 MB of 5.00 MB that the allocator reserves.");
    CHECK(strcmp(finding_key(report.verdict.findings[0].kind), "undecided") == 0);
    CHECK_OK(write_all(&report, &status), status);
    report_finish(&report);
    trace_close(trace);
}
