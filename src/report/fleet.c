/* The tables and sentences of many ranks that were joined by their reports. */
#include "report/fleet.h"

#include <stdlib.h>

#include "base/format.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/section.h"
#include "report/text.h"

enum { TEXT_ROWS = 10 };

/* The ranks in the order in which they are printed. */
struct fleet_view {
    const struct fleet *fleet;
    const struct fleet_rank **ranks; /* most time outside communication first */
};

static struct text name_of(const struct fleet_view *view, uint32_t name) {
    return intern_text(&view->fleet->names, name);
}

static struct value known_text(struct text text) {
    return text.length ? value_text(text) : value_unknown();
}

static struct value known_integer(int64_t value) {
    return value >= 0 ? value_integer(value) : value_unknown();
}

static struct value share_of(const struct fleet_rank *rank, int64_t part) {
    return rank->window > 0 ? value_ratio(part, rank->window) : value_unknown();
}

/* ---- tables ---- */

#define HOST(name, ...) SECTION_VALUE(name, struct fleet_view, struct fleet_host, __VA_ARGS__)
HOST(host_name, value_text(name_of(of, at->host)))
HOST(host_ranks, value_integer((int64_t)at->ranks))
HOST(host_own, known_integer(at->own))
HOST(host_ratio, at->own >= 0 ? value_real(at->ratio) : value_unknown())

static const void *host_row(const void *source, size_t index) {
    const struct fleet *fleet = ((const struct fleet_view *)source)->fleet;
    return index < fleet->host_count ? &fleet->hosts[index] : NULL;
}

static const struct column host_columns[] = {
    {"ranks", "ranks", UNIT_COUNT, 0, host_ranks},
    {"own_ns", "own time", UNIT_NS, 0, host_own},
    {"ratio", "to median", UNIT_FACTOR, 0, host_ratio},
    {"host", "host", UNIT_TEXT, COLUMN_FLEXIBLE, host_name},
    {0},
};
static const struct section section_hosts = {
    .key = "hosts", .title = "Hosts", .columns = host_columns, .row = host_row, .rows = "hosts"};

#define RANK(name, ...) SECTION_VALUE(name, struct fleet_view, struct fleet_rank, __VA_ARGS__)
RANK(rank_number, known_integer(at->number))
RANK(rank_own, known_integer(fleet_own_time(at)))
RANK(rank_step, at->step_median > 0 ? value_integer(at->step_median) : value_unknown())
RANK(rank_busy, share_of(at, at->busy))
RANK(rank_communication, share_of(at, at->communication))
RANK(rank_copy, share_of(at, at->copy))
RANK(rank_idle, share_of(at, at->idle))
RANK(rank_host, known_text(name_of(of, at->host)))
RANK(rank_device, known_text(name_of(of, at->device)))
RANK(rank_source, value_text(name_of(of, at->source)))

static const void *rank_row(const void *source, size_t index) {
    const struct fleet_view *view = source;
    return index < view->fleet->rank_count ? view->ranks[index] : NULL;
}

static const struct column rank_columns[] = {
    {"rank", "rank", UNIT_ID, 0, rank_number},
    {"own_ns", "own time", UNIT_NS, 0, rank_own},
    {"step_median_ns", "step", UNIT_NS, 0, rank_step},
    {"busy", "busy", UNIT_SHARE, 0, rank_busy},
    {"exposed_communication", "comm", UNIT_SHARE, 0, rank_communication},
    {"exposed_copy", "copy", UNIT_SHARE, 0, rank_copy},
    {"idle", "idle", UNIT_SHARE, 0, rank_idle},
    {"host", "host", UNIT_TEXT, COLUMN_FLEXIBLE, rank_host},
    {"device", NULL, UNIT_TEXT, 0, rank_device},
    {"source", NULL, UNIT_TEXT, 0, rank_source},
    {0},
};
static const struct section section_ranks = {
    .key = "ranks", .title = "Ranks", .columns = rank_columns, .row = rank_row, .rows = "ranks"};

#define KERNEL(name, ...) SECTION_VALUE(name, struct fleet_view, struct fleet_kernel, __VA_ARGS__)
KERNEL(kernel_name, value_text(name_of(of, at->kernel)))
KERNEL(kernel_rank, known_integer(of->fleet->ranks[at->rank].number))
KERNEL(kernel_ranks, value_integer((int64_t)at->ranks))
KERNEL(kernel_mean, value_integer(at->mean))
KERNEL(kernel_typical, value_integer(at->typical))
KERNEL(kernel_excess, value_integer(at->excess))

static const void *kernel_row(const void *source, size_t index) {
    const struct fleet *fleet = ((const struct fleet_view *)source)->fleet;
    return index < fleet->kernel_count ? &fleet->kernels[index] : NULL;
}

static const struct column kernel_columns[] = {
    {"excess_ns", "excess", UNIT_NS, 0, kernel_excess},
    {"rank", "rank", UNIT_ID, 0, kernel_rank},
    {"mean_ns", "mean", UNIT_NS, 0, kernel_mean},
    {"typical_ns", "median", UNIT_NS, 0, kernel_typical},
    {"ranks", NULL, UNIT_COUNT, 0, kernel_ranks},
    {"kernel", "kernel", UNIT_TEXT, COLUMN_FLEXIBLE, kernel_name},
    {0},
};
static const struct section fleet_kernels_section = {.key = "kernels",
                                                     .title = "Kernels",
                                                     .columns = kernel_columns,
                                                     .row = kernel_row,
                                                     .rows = "kernels"};

/* ---- text ---- */

static void write_head(const struct fleet *fleet, struct buffer *line) {
    char count[FORMAT_PLURAL_SIZE], hosts[FORMAT_PLURAL_SIZE], step[FORMAT_SIZE];
    buffer_printf(line, "%s", format_plural(fleet->rank_count, "report", "reports", count));
    if (fleet->world > (int64_t)fleet->rank_count)
        buffer_printf(line, " of %lld ranks", (long long)fleet->world);
    if (fleet->host_count)
        buffer_printf(line, " on %s", format_plural(fleet->host_count, "host", "hosts", hosts));
    if (fleet->step_median > 0)
        buffer_printf(line, "; the median step takes %s",
                      format_duration(fleet->step_median, step));
    buffer_byte(line, '.');
}

/* Ranks of a job end each step together: the one that communicates least works longest. */
static void write_slowest(const struct fleet *fleet, struct buffer *line) {
    char own[FORMAT_SIZE], typical[FORMAT_SIZE], cost[FORMAT_SIZE];
    if (fleet->slowest == SIZE_MAX) {
        buffer_string(line, "No report has the account of a device.");
        return;
    }
    const struct fleet_rank *rank = &fleet->ranks[fleet->slowest];
    const char *each = rank->steps > 0 ? " a step" : "";
    int64_t time = fleet_own_time(rank);
    buffer_printf(line,
                  "Rank %lld works longest outside communication: %s%s, the median rank %s. It "
                  "delays the others by at most %s%s; its trace and those of other ranks show by "
                  "how much and why ('ridge ranks TRACE...').",
                  (long long)rank->number, format_duration(time, own), each,
                  format_duration(fleet->own_median, typical),
                  format_duration(MAX(time - fleet->own_median, 0), cost), each);
}

static void say(struct output *output, unsigned width, struct buffer *line) {
    struct report_style style = {.width = width};
    struct text_writer writer = {.style = &style, .output = output};
    text_wrapped(&writer, "", "  ", buffer_as_text(line));
    buffer_clear(line);
}

static bool write_table(const struct section *section, const struct fleet_view *view,
                        const char *note, unsigned width, struct output *output,
                        struct status *status) {
    if (section_rows(section, view) == 0)
        return true;
    output_printf(output, "\n%s  %s\n", section->title, note);
    return section_write(section, view,
                         &(struct section_style){
                             .style = TABLE_TEXT, .width = width, .indent = 2, .rows = TEXT_ROWS},
                         output, status);
}

static int by_own(const void *a, const void *b) {
    const struct fleet_rank *x = *(const struct fleet_rank *const *)a,
                            *y = *(const struct fleet_rank *const *)b;
    int64_t of_x = fleet_own_time(x), of_y = fleet_own_time(y);
    return of_x != of_y            ? (of_x > of_y ? -1 : 1)
           : x->number < y->number ? -1
                                   : x->number > y->number;
}

static bool view_create(const struct fleet *fleet, struct fleet_view *view, struct status *status) {
    *view = (struct fleet_view){fleet, NULL};
    view->ranks = memory_allocate(fleet->rank_count + 1, sizeof *view->ranks, status);
    if (!view->ranks)
        return false;
    for (size_t i = 0; i < fleet->rank_count; i++)
        view->ranks[i] = &fleet->ranks[i];
    qsort(view->ranks, fleet->rank_count, sizeof *view->ranks, by_own);
    return true;
}

bool fleet_text(const struct fleet *fleet, unsigned width, struct output *output,
                struct status *status) {
    struct fleet_view view;
    struct buffer line = {0};
    if (!view_create(fleet, &view, status))
        return false;
    write_head(fleet, &line);
    say(output, width, &line);
    write_slowest(fleet, &line);
    say(output, width, &line);
    bool ok = write_table(&section_hosts, &view,
                          "own time: outside communication, the median of the ranks, a step", width,
                          output, status) &&
              write_table(&section_ranks, &view, "most own time first; shares of the whole time",
                          width, output, status) &&
              write_table(&fleet_kernels_section, &view,
                          "whose launches take longer on one rank than the median", width, output,
                          status) &&
              buffer_ok(&line, status);
    buffer_finish(&line);
    memory_free(view.ranks);
    return ok;
}

bool fleet_json(const struct fleet *fleet, struct output *output, struct status *status) {
    struct fleet_view view;
    struct json json = {.output = output, .pretty = true};
    if (!view_create(fleet, &view, status))
        return false;
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge-fleet-1");
    json_member_unsigned(&json, "reports", fleet->rank_count);
    json_member_integer(&json, "world_size", fleet->world);
    json_member_integer(&json, "step_median_ns", fleet->step_median);
    json_member_integer(&json, "own_median_ns", fleet->own_median);
    const struct section *const sections[] = {&section_hosts, &section_ranks,
                                              &fleet_kernels_section};
    bool ok = true;
    for (size_t i = 0; i < 3 && ok; i++) {
        json_key(&json, sections[i]->key);
        ok = section_write_json(sections[i], &view, &json, status);
    }
    json_end_object(&json);
    memory_free(view.ranks);
    return ok;
}
