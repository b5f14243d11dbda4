/* See fleet.h. A report is scanned once, and what is not asked for is skipped without a copy. */
#include "ranks/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"

/* ---- reading ---- */

struct reading {
    struct fleet *fleet;
    struct fleet_rank rank, device;     /* the report's, and the device that is being read */
    struct fleet_use kernel;            /* that is being read */
    size_t first_use, first_device_use; /* in fleet->uses */
    struct scan scan;
    struct buffer key, words;
    bool is_report;
    struct status *status;
};

/* Reads the members of an object; `member` leaves scan->at after the value. */
typedef bool read_member(struct reading *reading, struct text key);

static bool read_object(struct reading *reading, read_member *member) {
    struct scan *scan = &reading->scan;
    bool more;
    char byte;
    if (!scan_peek(scan, &byte, reading->status))
        return false;
    if (byte != '{')
        return json_skip(scan, reading->status);
    bool ok = scan_enter(scan, '}', &more, reading->status);
    while (ok && more) {
        struct text key;
        ok = scan_key_copy(scan, &reading->key, &key, reading->status) && member(reading, key) &&
             scan_next(scan, '}', &more, reading->status);
    }
    return ok;
}

/* The elements of an array, or the values of an object. */
static bool read_each(struct reading *reading, char opening, read_member *member,
                      bool (*finish)(struct reading *reading)) {
    struct scan *scan = &reading->scan;
    char byte, closing = opening == '{' ? '}' : ']';
    bool more;
    if (!scan_peek(scan, &byte, reading->status))
        return false;
    if (byte != opening)
        return json_skip(scan, reading->status);
    bool ok = scan_enter(scan, closing, &more, reading->status);
    while (ok && more) {
        struct text key;
        ok = (opening != '{' || scan_key_copy(scan, &reading->key, &key, reading->status)) &&
             read_object(reading, member) && (!finish || finish(reading)) &&
             scan_next(scan, closing, &more, reading->status);
    }
    return ok;
}

/* `none` for other values and for negative ones. */
static bool take_integer(struct reading *reading, int64_t none, int64_t *value) {
    struct scan *scan = &reading->scan;
    const char *after;
    bool is_number;
    char byte;
    if (!scan_peek(scan, &byte, reading->status))
        return false;
    while (!(after = scan_integer(scan, scan->at, value, &is_number)))
        if (!scan_more(scan, "a number", reading->status))
            return false;
    scan->at = after;
    if (!is_number || *value < 0)
        *value = none;
    return true;
}

/* A string, decoded into reading->words; empty for other values. */
static bool take_words(struct reading *reading) {
    struct scan *scan = &reading->scan;
    struct scan_string string;
    const char *after;
    char byte;
    buffer_clear(&reading->words);
    if (!scan_peek(scan, &byte, reading->status))
        return false;
    if (byte != '"')
        return json_skip(scan, reading->status);
    while (!(after = scan_string(scan, scan->at, &string)))
        if (!scan_more(scan, "a string", reading->status))
            return false;
    scan_decode(string.raw, &reading->words);
    scan->at = after;
    return buffer_ok(&reading->words, reading->status);
}

static bool take_name(struct reading *reading, uint32_t *name) {
    return take_words(reading) &&
           intern_add(&reading->fleet->names, buffer_as_text(&reading->words), name,
                      reading->status);
}

static bool skip(struct reading *reading) {
    return json_skip(&reading->scan, reading->status);
}

/* ---- the members of a report ---- */

static bool read_trace(struct reading *reading, struct text key) {
    if (text_is(key, "host"))
        return take_name(reading, &reading->rank.host);
    if (text_is(key, "rank"))
        return take_integer(reading, -1, &reading->rank.number);
    if (text_is(key, "world_size"))
        return take_integer(reading, -1, &reading->rank.world);
    return skip(reading);
}

static bool read_steps(struct reading *reading, struct text key) {
    if (text_is(key, "count"))
        return take_integer(reading, 0, &reading->rank.steps);
    if (text_is(key, "median_ns"))
        return take_integer(reading, 0, &reading->rank.step_median);
    return skip(reading);
}

static bool read_account(struct reading *reading, struct text key) {
    struct fleet_rank *of = &reading->device;
    int64_t *value = text_is(key, "window_ns")                  ? &of->window
                     : text_is(key, "busy_ns")                  ? &of->busy
                     : text_is(key, "exposed_communication_ns") ? &of->communication
                     : text_is(key, "exposed_copy_ns")          ? &of->copy
                     : text_is(key, "idle_ns")                  ? &of->idle
                                                                : NULL;
    return value ? take_integer(reading, 0, value) : skip(reading);
}

static bool read_kernel(struct reading *reading, struct text key) {
    int64_t count;
    if (text_is(key, "full_name"))
        return take_name(reading, &reading->kernel.kernel);
    if (text_is(key, "total_ns"))
        return take_integer(reading, 0, &reading->kernel.total);
    if (!text_is(key, "count"))
        return skip(reading);
    bool ok = take_integer(reading, 0, &count);
    reading->kernel.count = ok ? (uint64_t)count : 0;
    return ok;
}

static bool finish_kernel(struct reading *reading) {
    struct fleet *fleet = reading->fleet;
    struct fleet_use use = reading->kernel;
    reading->kernel = (struct fleet_use){0};
    if (use.count == 0 || fleet->use_count - reading->first_device_use >= FLEET_KERNELS)
        return true;
    if (!GROW(fleet->uses, &fleet->use_capacity, fleet->use_count + 1, reading->status))
        return false;
    use.rank = (uint32_t)fleet->rank_count;
    fleet->uses[fleet->use_count++] = use;
    return true;
}

static bool read_device(struct reading *reading, struct text key) {
    if (text_is(key, "name"))
        return take_name(reading, &reading->device.device);
    if (text_is(key, "account"))
        return read_object(reading, read_account);
    if (text_is(key, "kernels"))
        return read_each(reading, '[', read_kernel, finish_kernel);
    return skip(reading);
}

/* Of several devices the one with the longest account is kept, and its kernels. */
static bool finish_device(struct reading *reading) {
    struct fleet *fleet = reading->fleet;
    const struct fleet_rank *device = &reading->device;
    size_t kernels = fleet->use_count - reading->first_device_use;
    if (device->window > reading->rank.window) {
        if (kernels)
            memmove(fleet->uses + reading->first_use, fleet->uses + reading->first_device_use,
                    kernels * sizeof *fleet->uses);
        fleet->use_count = reading->first_use + kernels;
        reading->rank.device = device->device;
        reading->rank.window = device->window;
        reading->rank.busy = device->busy;
        reading->rank.communication = device->communication;
        reading->rank.copy = device->copy;
        reading->rank.idle = device->idle;
    } else {
        fleet->use_count = reading->first_device_use;
    }
    reading->first_device_use = fleet->use_count;
    reading->device = (struct fleet_rank){0};
    return true;
}

static bool read_root(struct reading *reading, struct text key) {
    if (text_is(key, "schema")) {
        bool ok = take_words(reading);
        reading->is_report = ok && text_is(buffer_as_text(&reading->words), "ridge-report");
        return ok && (reading->is_report ||
                      status_fail(reading->status, STATUS_INPUT,
                                  "this is no report of 'ridge report --format json'"));
    }
    if (text_is(key, "trace"))
        return read_object(reading, read_trace);
    if (text_is(key, "steps"))
        return read_object(reading, read_steps);
    if (text_is(key, "devices"))
        return read_each(reading, '{', read_device, finish_device);
    return skip(reading);
}

bool fleet_is_report(const char *path) {
    struct status ignored = {0};
    struct input input;
    if (!input_open(&input, path, &ignored))
        return false;
    while (!input.at_end && input.length < 512 && input_more(&input, 1 << 16, &ignored)) {
    }
    struct text head = {input.data, MIN(input.length, 512)};
    bool is_report = text_find(head, "\"ridge-report\"") >= 0 && text_find(head, "\"schema\"") >= 0;
    input_close(&input);
    return is_report;
}

bool fleet_add(struct fleet *fleet, const char *path, struct status *status) {
    struct reading reading = {.fleet = fleet,
                              .rank = {.number = -1, .world = -1},
                              .first_use = fleet->use_count,
                              .first_device_use = fleet->use_count,
                              .status = status};
    struct input input;
    uint32_t empty;
    if (!intern_add(&fleet->names, TEXT(""), &empty, status) || !input_open(&input, path, status))
        return false;
    scan_open(&reading.scan, &input);
    bool ok = read_object(&reading, read_root);
    if (ok && !reading.is_report)
        ok = status_fail(status, STATUS_INPUT, "this is no report of 'ridge report --format json'");
    ok = ok && intern_add(&fleet->names, text_of(path), &reading.rank.source, status) &&
         GROW(fleet->ranks, &fleet->rank_capacity, fleet->rank_count + 1, status);
    if (ok)
        fleet->ranks[fleet->rank_count++] = reading.rank;
    else if (status->code == STATUS_INPUT)
        status_context(status, "%s", path);
    scan_close(&reading.scan);
    buffer_finish(&reading.key);
    buffer_finish(&reading.words);
    return ok;
}

/* ---- joining ---- */

int64_t fleet_own_time(const struct fleet_rank *rank) {
    if (rank->window <= 0)
        return -1;
    return (rank->window - rank->communication) / MAX(rank->steps, 1);
}

static int by_number(const void *a, const void *b) {
    const struct fleet_rank *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_own(const void *a, const void *b) {
    const struct fleet_host *x = a, *y = b;
    return x->own > y->own ? -1 : x->own < y->own ? 1 : x->host < y->host ? -1 : x->host > y->host;
}

static int by_excess(const void *a, const void *b) {
    const struct fleet_kernel *x = a, *y = b;
    return x->excess > y->excess ? -1 : x->excess < y->excess;
}

static int by_kernel(const void *a, const void *b) {
    const struct fleet_use *x = a, *y = b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Ranks are in order of their number; kernels refer to them by the order of reading. */
static bool order_ranks(struct fleet *fleet, struct status *status) {
    uint32_t *place = memory_allocate(fleet->rank_count + 1, sizeof *place, status);
    if (!place)
        return false;
    for (size_t i = 0; i < fleet->rank_count; i++)
        fleet->ranks[i].place = i;
    if (fleet->rank_count)
        qsort(fleet->ranks, fleet->rank_count, sizeof *fleet->ranks, by_number);
    for (size_t i = 0; i < fleet->rank_count; i++)
        place[fleet->ranks[i].place] = (uint32_t)i;
    for (size_t i = 0; i < fleet->use_count; i++)
        fleet->uses[i].rank = place[fleet->uses[i].rank];
    memory_free(place);
    fleet->world = -1;
    for (size_t i = 0; i < fleet->rank_count; i++) {
        fleet->world = MAX(fleet->world, fleet->ranks[i].world);

        if (i > 0 && fleet->ranks[i].number >= 0 &&
            fleet->ranks[i].number == fleet->ranks[i - 1].number) {
            struct text one = intern_text(&fleet->names, fleet->ranks[i - 1].source);
            struct text other = intern_text(&fleet->names, fleet->ranks[i].source);
            return status_fail(status, STATUS_INPUT,
                               "rank %lld is there twice, in %.*s and %.*s; pass the reports of "
                               "one run",
                               (long long)fleet->ranks[i].number, TEXT_ARGS(one), TEXT_ARGS(other));
        }
    }
    return true;
}

static void find_slowest(struct fleet *fleet, int64_t *values) {
    size_t count = 0, steps = 0;
    fleet->slowest = SIZE_MAX;
    for (size_t i = 0; i < fleet->rank_count; i++) {
        int64_t own = fleet_own_time(&fleet->ranks[i]);
        if (own < 0)
            continue;
        values[count++] = own;
        if (fleet->slowest == SIZE_MAX || own > fleet_own_time(&fleet->ranks[fleet->slowest]))
            fleet->slowest = i;
    }
    fleet->own_median = count ? sort_select(values, count, (count - 1) / 2) : 0;
    for (size_t i = 0; i < fleet->rank_count; i++)
        if (fleet->ranks[i].step_median > 0)
            values[steps++] = fleet->ranks[i].step_median;
    fleet->step_median = steps ? sort_select(values, steps, (steps - 1) / 2) : 0;
}

static bool find_hosts(struct fleet *fleet, int64_t *values, struct status *status) {
    struct map known = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < fleet->rank_count; i++) {
        uint32_t host = fleet->ranks[i].host;
        if (!intern_text(&fleet->names, host).length || map_find(&known, host))
            continue;
        ok = map_set(&known, host, 1, status) &&
             GROW(fleet->hosts, &fleet->host_capacity, fleet->host_count + 1, status);
        if (ok)
            fleet->hosts[fleet->host_count++] = (struct fleet_host){.host = host};
    }
    map_finish(&known);
    for (size_t h = 0; ok && h < fleet->host_count; h++) {
        struct fleet_host *host = &fleet->hosts[h];
        size_t count = 0;
        for (size_t i = 0; i < fleet->rank_count; i++)
            if (fleet->ranks[i].host == host->host) {
                host->ranks++;
                if (fleet_own_time(&fleet->ranks[i]) >= 0)
                    values[count++] = fleet_own_time(&fleet->ranks[i]);
            }
        host->own = count ? sort_select(values, count, (count - 1) / 2) : -1;
        host->ratio = fleet->own_median > 0 ? (double)host->own / (double)fleet->own_median : 0;
    }
    if (ok && fleet->host_count)
        qsort(fleet->hosts, fleet->host_count, sizeof *fleet->hosts, by_own);
    return ok;
}

/* Kernels that at least three ranks run, and whose launches take 5 % longer on one of them. */
static bool find_kernels(struct fleet *fleet, int64_t *values, struct status *status) {
    static const double margin = 1.05;
    if (fleet->use_count)
        qsort(fleet->uses, fleet->use_count, sizeof *fleet->uses, by_kernel);
    for (size_t i = 0, end; i < fleet->use_count; i = end) {
        size_t count = 0, worst = i;
        for (end = i; end < fleet->use_count && fleet->uses[end].kernel == fleet->uses[i].kernel;
             end++) {
            const struct fleet_use *use = &fleet->uses[end], *most = &fleet->uses[worst];
            values[count++] = use->total / (int64_t)use->count;
            if (use->total / (int64_t)use->count > most->total / (int64_t)most->count)
                worst = end;
        }
        const struct fleet_use *use = &fleet->uses[worst];
        int64_t mean = use->total / (int64_t)use->count;
        int64_t typical = sort_select(values, count, (count - 1) / 2);
        if (count < 3 || (double)mean < margin * (double)typical)
            continue;
        if (!GROW(fleet->kernels, &fleet->kernel_capacity, fleet->kernel_count + 1, status))
            return false;
        fleet->kernels[fleet->kernel_count++] =
            (struct fleet_kernel){.kernel = use->kernel,
                                  .rank = use->rank,
                                  .ranks = count,
                                  .mean = mean,
                                  .typical = typical,
                                  .excess = (mean - typical) * (int64_t)use->count};
    }
    if (fleet->kernel_count)
        qsort(fleet->kernels, fleet->kernel_count, sizeof *fleet->kernels, by_excess);
    return true;
}

bool fleet_join(struct fleet *fleet, struct status *status) {
    size_t most = MAX(fleet->rank_count, fleet->use_count);
    int64_t *values = memory_allocate(most + 1, sizeof *values, status);
    bool ok = values && order_ranks(fleet, status);
    if (ok)
        find_slowest(fleet, values);
    ok = ok && find_hosts(fleet, values, status) && find_kernels(fleet, values, status);
    memory_free(values);
    return ok;
}

void fleet_finish(struct fleet *fleet) {
    memory_free(fleet->ranks);
    memory_free(fleet->uses);
    memory_free(fleet->hosts);
    memory_free(fleet->kernels);
    intern_finish(&fleet->names);
    *fleet = (struct fleet){0};
}
