/* Asks the questions about a job, and prints the answers as text and JSON. */
#include "report/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/section.h"
#include "ranks/replay.h"
#include "ranks/steps.h"
#include "report/job_sections.h"
#include "report/text.h"

/* ---- questions ---- */

static int by_time(const void *a, const void *b) {
    const struct collective_kind *x = a, *y = b;
    int64_t of_x = x->skew + x->transfer, of_y = y->skew + y->transfer;
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    return x->operation < y->operation ? -1 : x->operation > y->operation;
}

/* How much of the operation nothing hides, on all its ranks; and the limit of their links, if they
 * are in one host. */
static void add_members(const struct job *job, const struct collective *collective,
                        struct collective_kind *kind) {
    const struct rank *first = &job->ranks[job->members[collective->first].rank];
    bool one_host = collective->is_device;
    for (size_t i = 0; i < collective->count; i++) {
        const struct member *member = &job->members[collective->first + i];
        const struct rank *rank = &job->ranks[member->rank];
        const struct rank_event *event = &rank->events[member->event];
        kind->time += event->end - event->start;
        kind->exposed +=
            intervals_length(&rank->exposed, (struct interval){event->start, event->end});
        one_host &= rank->host == first->host;
    }
    if (kind->count == 0)
        kind->limit = one_host ? device_link_limit(job_text(job, first->device)) : 0;
}

static bool find_kinds(struct job_report *report, struct status *status) {
    const struct job *job = report->job;
    struct map known = {0};
    size_t capacity = 0;
    bool ok = true;
    for (size_t i = 0; i < job->collective_count && ok; i++) {
        const struct collective *collective = &job->collectives[i];
        uint64_t key[4] = {collective->operation, collective->group, collective->bytes,
                           collective->count};
        uint64_t hash = checksum64(key, sizeof key);
        const uint64_t *found = map_find(&known, hash);
        size_t at = found ? (size_t)*found : report->kind_count;
        if (!found) {
            ok =
                GROW(report->kinds, &capacity, at + 1, status) && map_set(&known, hash, at, status);
            if (!ok)
                break;
            report->kinds[report->kind_count++] =
                (struct collective_kind){.operation = collective->operation,
                                         .group = collective->group,
                                         .bytes = collective->bytes,
                                         .ranks = (uint32_t)collective->count,
                                         .link_bytes = collective_link_bytes(job, collective)};
        }
        struct collective_kind *kind = &report->kinds[at];
        add_members(job, collective, kind);
        int64_t skew = collective->last_arrival - collective->first_arrival;
        kind->count++;
        kind->skew += skew;
        kind->skew_max = MAX(kind->skew_max, skew);
        kind->transfer += MAX(collective->end - collective->last_arrival, 0);
    }
    map_finish(&known);
    if (ok && report->kind_count)
        qsort(report->kinds, report->kind_count, sizeof *report->kinds, by_time);
    return ok;
}

static bool ask(const struct job *job, struct job_change change, int64_t *gain,
                struct status *status) {
    bool ok = job_gain(job, &change, gain, status);
    if (job->replayed < 0)
        *gain = -1;
    return ok;
}

bool job_report_build(struct job_report *report, const struct job *job, struct status *status) {
    *report = (struct job_report){.job = job, .straggler = job_straggler(job)};
    bool ok = (report->straggler == SIZE_MAX ||
               (cause_find(job, report->straggler, &report->cause, status) &&
                job_late_steps(job, report->straggler, &report->late, status))) &&
              find_kinds(report, status) && job_path_find(job, &report->path, status) &&
              job_findings_build(&report->findings, job, status) &&
              ask(job, (struct job_change){.without_straggler = SIZE_MAX, .balanced = true},
                  &report->balanced, status) &&
              ask(job, (struct job_change){.without_straggler = SIZE_MAX, .overlapped = true},
                  &report->overlapped, status) &&
              ask(job, (struct job_change){.without_straggler = SIZE_MAX, .faster = 2},
                  &report->faster, status);
    if (!ok)
        job_report_finish(report);
    return ok;
}

void job_report_finish(struct job_report *report) {
    memory_free(report->kinds);
    job_findings_finish(&report->findings);
    job_path_finish(&report->path);
    report->kinds = NULL;
    report->kind_count = 0;
}

/* ---- sentences ---- */

static void describe_more_work(const struct rank_cause *cause, struct buffer *line,
                               const char *time) {
    char count[FORMAT_SIZE], typical[FORMAT_SIZE];
    buffer_string(line, "it has more work");
    if (cause->count)
        buffer_printf(line, ": %s kernels, the other ranks %s", format_count(cause->count, count),
                      format_count(cause->typical_count, typical));
    else if (cause->blocks)
        buffer_printf(line, ": %s thread blocks, the other ranks %s",
                      format_count(cause->blocks, count),
                      format_count(cause->typical_blocks, typical));
    buffer_printf(line, " (%s more)", time);
}

static void describe_cause(const struct job_report *report, struct buffer *line) {
    const struct job *job = report->job;
    const struct rank_cause *cause = &report->cause;
    char time[FORMAT_SIZE], ratio[FORMAT_SIZE];
    struct text label = job_text(job, cause->label), place = job_text(job, cause->place);
    format_duration(cause->explained, time);
    switch (cause->kind) {
    case LATE_SLOWER:
        buffer_printf(line, "the same work takes %s as long as on the other ranks (%s more)",
                      format_ratio(cause->ratio, ratio), time);
        break;
    case LATE_LONGER:
        if (label.length && place.length)
            buffer_printf(line, "%.*s (%.*s) takes", TEXT_ARGS(label), TEXT_ARGS(place));
        else if (label.length)
            buffer_printf(line, "%.*s takes", TEXT_ARGS(label));
        else
            buffer_printf(line, "the same %s take",
                          job->ranks[report->straggler].has_device ? "kernels" : "functions");
        buffer_printf(line, " %s as long as on the other ranks (%s more)",
                      format_ratio(cause->ratio, ratio), time);
        label.length = place.length = 0;
        break;
    case LATE_MORE_WORK:
        describe_more_work(cause, line, time);
        break;
    case LATE_INPUT:
        buffer_printf(line, "it loads input for longer (%s more)", time);
        break;
    case LATE_COLLECTOR:
        buffer_printf(line, "garbage collection (%s more)", time);
        break;
    case LATE_SLEEP:
        buffer_printf(line, "it sleeps (%s more)", time);
        break;
    case LATE_BLOCKED:
        buffer_printf(line, "it is blocked on %s (%s more)", blocked_on_name(cause->blocked_on),
                      time);
        break;
    case LATE_PROCESSOR:
        buffer_printf(line, "it is ready to run without a processor (%s more)", time);
        break;
    case LATE_HOST:
        buffer_printf(line, "its device waits for host code (%s more)", time);
        break;
    case LATE_COPY:
        buffer_printf(line, "its device copies for longer (%s more)", time);
        break;
    default:
        buffer_printf(line, "unexplained; what was recorded of its own time does not differ enough "
                            "from the other ranks");
        return;
    }
    if (label.length)
        buffer_printf(line, " in %.*s", TEXT_ARGS(label));
    if (place.length)
        buffer_printf(line, " (%.*s)", TEXT_ARGS(place));
    if (cause->clock_mhz > 0)
        buffer_printf(line, "; its clock is %.0f MHz, that of the others %.0f MHz",
                      cause->clock_mhz, cause->typical_mhz);
}

static bool say_straggler(const struct job_report *report, size_t index, struct buffer *line) {
    const struct job *job = report->job;
    char cost[FORMAT_SIZE], part[FORMAT_SIZE], step[FORMAT_SIZE], share[FORMAT_SIZE];
    if (report->straggler == SIZE_MAX) {
        if (index > 0 || job->replayed < 0)
            return false;
        buffer_printf(line, "No rank holds the job back: without its slowest rank it would gain "
                            "less than 2 %%.");
        return true;
    }
    const struct rank *rank = &job->ranks[report->straggler];
    if (index > 2 || (index == 2 && report->late.count == 0))
        return false;
    if (index == 2) {
        buffer_printf(line, "It is late in %zu of %zu steps, most in step %zu (%s).",
                      report->late.count, job_step_count(job), report->late.worst + 1,
                      format_duration(report->late.worst_time, step));
        return true;
    }
    if (index == 1) {
        buffer_string(line, "Cause on that rank: ");
        describe_cause(report, line);
        buffer_byte(line, '.');
        return true;
    }
    uint64_t collectives = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        collectives += job->ranks[r].last_arrivals;
    buffer_printf(
        line,
        "Rank %lld holds the job back: it is the last to arrive at %s of the collectives. "
        "Without it the job takes %s less (%s)",
        (long long)rank->number,
        format_percent((double)rank->last_arrivals / (double)MAX(collectives, 1), share),
        format_duration(rank->cost, cost),
        format_percent((double)rank->cost / (double)job->replayed, part));
    if (job->steps.count)
        buffer_printf(line, ", %s a step", format_duration(job_step_time(job, rank->cost), step));
    buffer_byte(line, '.');
    return true;
}

/* "of rank 0, 1, 2 and 3" for a group whose members are known by its collectives. */
static void list_group(const struct job *job, uint32_t group, struct buffer *line) {
    enum { LISTED = 8 };
    for (size_t i = 0; i < job->collective_count; i++) {
        const struct collective *collective = &job->collectives[i];
        if (collective->group != group)
            continue;
        for (size_t k = 0; k < collective->count && k < LISTED; k++)
            buffer_printf(line, "%s%lld", k ? ", " : "",
                          (long long)job->ranks[job->members[collective->first + k].rank].number);
        if (collective->count > LISTED)
            buffer_printf(line, ", ... (%zu)", collective->count);
        return;
    }
}

static void describe_pipeline(const struct job *job, const struct job_finding *finding,
                              struct buffer *line) {
    char share[4][FORMAT_SIZE];
    double window = (double)MAX(job->window.end - job->window.start, 1);
    const int64_t parts[] = {finding->warm_up + finding->steady + finding->drain, finding->warm_up,
                             finding->steady, finding->drain};
    for (size_t i = 0; i < 4; i++)
        format_percent((double)parts[i] / window, share[i]);
    buffer_printf(line,
                  "Pipeline bubbles: its %zu stages do not compute %s of the time (warm-up %s, "
                  "steady %s, drain %s)",
                  finding->stages, share[0], share[1], share[2], share[3]);
}

static void describe_link(const struct job *job, const struct job_finding *finding,
                          struct buffer *line) {
    char rate[FORMAT_SIZE], typical[FORMAT_SIZE], ratio[FORMAT_SIZE];
    struct text operation = job_text(job, finding->operation);
    format_rate(finding->rate, rate);
    format_rate(finding->typical_rate, typical);
    format_ratio(finding->ratio, ratio);
    if (finding->kind == JOB_TOPOLOGY) {
        buffer_string(line, "Topology: groups that span hosts (ranks ");
        list_group(job, finding->group, line);
        buffer_printf(line,
                      ") transfer %s as much as groups inside hosts, at %s instead of %s; exchange "
                      "their places",
                      ratio, rate, typical);
    } else if (finding->kind == JOB_LINK_LIMIT) {
        buffer_printf(line,
                      "Links below their limit: %.*s moves %s over each link, the published limit "
                      "is %s",
                      TEXT_ARGS(operation), rate, typical);
    } else if (finding->sender >= 0) {
        buffer_printf(line,
                      "Slow link: messages from rank %lld to rank %lld take %s as long as between "
                      "other ranks (%s, others %s)",
                      (long long)finding->sender, (long long)finding->receiver, ratio, rate,
                      typical);
    } else {
        buffer_printf(line, "Slow link: %.*s of ranks ", TEXT_ARGS(operation));
        list_group(job, finding->group, line);
        buffer_printf(line, " takes %s as long as in other groups (%s, others %s)", ratio, rate,
                      typical);
    }
}

static void describe_finding(const struct job *job, const struct job_finding *finding,
                             struct buffer *line) {
    char text[FORMAT_SIZE], bytes[FORMAT_SIZE];
    switch (finding->kind) {
    case JOB_PIPELINE:
        describe_pipeline(job, finding, line);
        break;
    case JOB_STAGES:
        buffer_printf(line, "Stages are not balanced: rank %lld computes %s as long as the mean",
                      (long long)job->ranks[finding->rank].number,
                      format_ratio(finding->ratio, text));
        break;
    case JOB_EXPERTS:
        buffer_printf(line,
                      "Experts are not balanced: rank %lld takes %s as long as the mean before "
                      "all-to-alls",
                      (long long)job->ranks[finding->rank].number,
                      format_ratio(finding->ratio, text));
        break;
    case JOB_OVERLAP:
        buffer_printf(line, "Exposed transfers take %s of each rank; overlapped with computing",
                      format_duration(finding->transfer, text));
        break;
    case JOB_SLOW_HOST:
        buffer_printf(line,
                      "Host %.*s is slower: its ranks take %s as long as those of other hosts",
                      TEXT_ARGS(job_text(job, finding->host)), format_ratio(finding->ratio, text));
        break;
    case JOB_SMALL_MESSAGES:
        buffer_printf(line,
                      "Small messages: %.0f collectives of %s on average in each step; combined",
                      finding->count, format_bytes(finding->bytes, bytes));
        break;
    default:
        describe_link(job, finding, line);
    }
}

static bool say_finding(const struct job_report *report, size_t index, struct buffer *line) {
    const struct job *job = report->job;
    char cost[FORMAT_SIZE], part[FORMAT_SIZE], step[FORMAT_SIZE];
    if (index >= report->findings.count)
        return false;
    const struct job_finding *finding = &report->findings.list[index];
    describe_finding(job, finding, line);
    buffer_printf(line, "%s the job takes at best %s less (%s",
                  finding->kind == JOB_OVERLAP || finding->kind == JOB_SMALL_MESSAGES
                      ? ","
                      : ". Without this",
                  format_duration(finding->cost, cost),
                  format_percent((double)finding->cost / (double)job->replayed, part));
    if (job->steps.count)
        buffer_printf(line, ", %s a step",
                      format_duration(job_step_time(job, finding->cost), step));
    buffer_string(line, ").");
    return true;
}

static bool say_missing(const struct job *job, struct buffer *line) {
    int64_t missing = job_missing(job, 0);
    bool several = job_missing(job, 1) >= 0;
    if (missing < 0)
        return false;
    buffer_printf(line, "Missing: %s %lld", several ? "ranks" : "rank", (long long)missing);
    for (size_t i = 1; i < 10 && (missing = job_missing(job, i)) >= 0; i++)
        buffer_printf(line, ", %lld", (long long)missing);
    buffer_printf(line, "%s of %lld; nothing is known about %s time.",
                  job_missing(job, 10) >= 0 ? ", ..." : "", (long long)job->world,
                  several ? "their" : "its");
    return true;
}

static bool say_cut(const struct job *job, struct buffer *line) {
    size_t count = 0, listed = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        count += job->ranks[r].is_cut;
    for (size_t r = 0; r < job->rank_count; r++)
        if (job->ranks[r].is_cut)
            buffer_printf(line, "%s %lld",
                          listed++     ? ","
                          : count == 1 ? "Cut short: rank"
                                       : "Cut short: ranks",
                          (long long)job->ranks[r].number);
    if (count)
        buffer_printf(line, "; %s or %s damage.",
                      count == 1 ? "the recording has no end" : "the recordings have no end",
                      count == 1 ? "has" : "have");
    return count > 0;
}

static bool say_matched(const struct job *job, struct buffer *line) {
    char all[FORMAT_SIZE], matched[FORMAT_SIZE], partial[FORMAT_SIZE], share[FORMAT_SIZE];
    char waits[FORMAT_PLURAL_SIZE];
    if (job->events == 0) {
        buffer_string(line, "No collective or message was recorded: nothing shows how the ranks "
                            "depend on each other.");
        return true;
    }
    uint64_t operations = job->events - job->waits;
    buffer_printf(line, "%s of %s operations (%s) are matched over all ranks of their group",
                  format_count(job->matched, matched), format_count(operations, all),
                  format_percent((double)job->matched / (double)MAX(operations, 1), share));
    if (job->partial)
        buffer_printf(line, ", %s lack a rank", format_count(job->partial, partial));
    if (job->waits)
        buffer_printf(line, "; %s for requests are not matched",
                      format_plural(job->waits, "wait", "waits", waits));
    buffer_byte(line, '.');
    return true;
}

/* More clocks than CLOCKS_NAMED are summed up. */
enum { CLOCKS_NAMED = 8 };

static size_t clock_lines(const struct job *job) {
    size_t clocks = job->clock_count ? job->clock_count - 1 : 0;
    return clocks > CLOCKS_NAMED ? 1 : clocks;
}

static void sum_clocks(const struct job *job, struct buffer *line) {
    char error[FORMAT_SIZE];
    size_t unsolved = 0;
    double worst = 0;
    for (size_t i = 1; i < job->clock_count; i++) {
        unsolved += job->clocks[i].state == CLOCK_UNSOLVED;
        if (job->clocks[i].state != CLOCK_UNSOLVED)
            worst = MAX(worst, job->clocks[i].error);
    }
    size_t aligned = job->clock_count - 1 - unsolved;
    if (aligned)
        buffer_printf(line, "Clocks: %zu are aligned with that of rank %lld, within %s", aligned,
                      (long long)job->ranks[job->clocks[0].reference].number,
                      format_duration((int64_t)llround(worst), error));
    else
        buffer_string(line, "Clocks: none is aligned");
    if (unsolved && aligned)
        buffer_printf(line, "; %zu are not", unsolved);
    buffer_byte(line, '.');
}

static bool say_clock(const struct job *job, size_t index, struct buffer *line) {
    char offset[FORMAT_SIZE], error[FORMAT_SIZE];
    if (index >= clock_lines(job))
        return false;
    if (job->clock_count - 1 > CLOCKS_NAMED) {
        sum_clocks(job, line);
        return true;
    }
    const struct job_clock *clock = &job->clocks[index + 1];
    struct text host = job_text(job, clock->host);
    char name[300];
    if (host.length)
        snprintf(name, sizeof name, "host %.*s", (int)MIN(host.length, 200), host.data);
    else
        snprintf(name, sizeof name, "rank %lld", (long long)job->ranks[clock->reference].number);
    format_duration((int64_t)llround(fabs(clock->offset)), offset);
    format_duration((int64_t)llround(clock->error), error);
    if (clock->state == CLOCK_SOLVED)
        buffer_printf(line, "Clock of %s: %s%s, drift %.3g ppm, within %s (from %zu bounds).", name,
                      clock->offset < 0 ? "-" : "+", offset, clock->drift * 1e6, error,
                      clock->constraints);
    else if (clock->state == CLOCK_CONSISTENT)
        buffer_printf(line,
                      "Clock of %s: its host is not recorded; its times agree with one common "
                      "clock, within %s.",
                      name, error);
    else if (clock->contradicts)
        buffer_printf(line,
                      "Clock of %s: not aligned. No offset and drift satisfy its operations; they "
                      "are of another run, or matched wrongly.",
                      name);
    else
        buffer_printf(line, "Clock of %s: not aligned. No collective connects it with rank %lld.",
                      name, (long long)job->ranks[0].number);
    return true;
}

static bool say_contradictions(const struct job *job, struct buffer *line) {
    char count[FORMAT_PLURAL_SIZE], most[FORMAT_SIZE];
    if (job->contradictions == 0)
        return false;
    buffer_printf(line,
                  "%s before the last rank arrives, by up to %s: the clocks of the devices "
                  "differ by that much.",
                  format_plural(job->contradictions, "collective ends", "collectives end", count),
                  format_duration(job->contradiction_max, most));
    return true;
}

/* Against a rank without communication. */
static bool say_efficiency(const struct job_report *report, struct buffer *line) {
    const struct job *job = report->job;
    const struct rank_account *account = &job->account;
    char share[FORMAT_SIZE], alone[FORMAT_SIZE];
    if (job->shared_count < 2 || account->window <= 0)
        return false;
    int64_t own = account->compute + account->copy + account->idle;
    int64_t mean = own / (int64_t)MAX(job->rank_count, 1);
    buffer_printf(line, "Efficiency %s: without communication the mean rank would take %s",
                  format_percent((double)own / (double)account->window, share),
                  format_duration(job->steps.count ? job_step_time(job, mean) : mean, alone));
    buffer_string(line, job->steps.count ? " a step." : ".");
    return true;
}

/* The ranks with the longest parts of the path; the rest is other ranks. */
static bool say_path(const struct job_report *report, struct buffer *line) {
    enum { NAMED = 3 };
    const struct job *job = report->job;
    const struct job_path *path = &report->path;
    char share[FORMAT_SIZE];
    int64_t sum = path->transfer + path->unmatched, left = 0, named[NAMED] = {0};
    size_t ranks[NAMED], count = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        sum += path->own[r];
    if (job->replayed < 0 || sum <= 0)
        return false;
    buffer_string(line, "Critical path: ");
    for (; count < NAMED; count++) {
        size_t best = SIZE_MAX;
        for (size_t r = 0; r < job->rank_count; r++) {
            bool taken = false;
            for (size_t i = 0; i < count; i++)
                taken |= ranks[i] == r;
            if (!taken && path->own[r] * 100 >= sum &&
                (best == SIZE_MAX || path->own[r] > path->own[best]))
                best = r;
        }
        if (best == SIZE_MAX)
            break;
        ranks[count] = best;
        named[count] = path->own[best];
        buffer_printf(line, "rank %lld %s, ", (long long)job->ranks[best].number,
                      format_percent((double)path->own[best] / (double)sum, share));
    }
    for (size_t r = 0; r < job->rank_count; r++)
        left += path->own[r];
    for (size_t i = 0; i < count; i++)
        left -= named[i];
    if (left * 100 >= sum)
        buffer_printf(line, "other ranks %s, ", format_percent((double)left / (double)sum, share));
    if (path->unmatched > 0)
        buffer_printf(line, "unmatched communication %s, ",
                      format_percent((double)path->unmatched / (double)sum, share));
    buffer_printf(line, "transfers %s.",
                  format_percent((double)path->transfer / (double)sum, share));
    return true;
}

static bool say_gains(const struct job_report *report, struct buffer *line) {
    char balanced[FORMAT_SIZE], overlapped[FORMAT_SIZE], faster[FORMAT_SIZE], whole[FORMAT_SIZE];
    if (report->job->replayed < 0 || report->balanced < 0)
        return false;
    buffer_printf(line,
                  "Of %s the job would gain %s with balanced ranks, %s with communication at "
                  "twice the speed",
                  format_duration(report->job->replayed, whole),
                  format_duration(report->balanced, balanced),
                  format_duration(MAX(report->faster, 0), faster));
    if (report->overlapped >= 0 && report->job->steps.period > 1)
        buffer_printf(line, ", and at most %s if it overlapped with computing inside each step",
                      format_duration(report->overlapped, overlapped));
    buffer_byte(line, '.');
    return true;
}

/* ---- tables ---- */

static struct value share_of(const struct rank *rank, int64_t part) {
    return value_ratio(part, rank->account.window);
}

#define RANK(name, ...) SECTION_VALUE(name, struct job_report, struct rank, __VA_ARGS__)
RANK(rank_number, value_integer(at->number))
RANK(rank_host, at->host ? value_text(job_text(of->job, at->host)) : value_unknown())
RANK(rank_source, value_text(job_text(of->job, at->source)))
RANK(rank_device, at->device       ? value_text(job_text(of->job, at->device))
                  : at->has_device ? value_unknown()
                                   : value_none())
RANK(rank_window, value_integer(at->account.window))
RANK(rank_compute, share_of(at, at->account.compute))
RANK(rank_wait, share_of(at, at->account.wait))
RANK(rank_transfer, share_of(at, at->account.transfer))
RANK(rank_unmatched, at->account.unmatched ? share_of(at, at->account.unmatched) : value_none())
RANK(rank_copy, at->has_device ? share_of(at, at->account.copy) : value_none())
RANK(rank_idle, share_of(at, at->account.idle))
RANK(rank_last, value_integer((int64_t)at->last_arrivals))
RANK(rank_lateness, value_integer(at->lateness))
RANK(rank_cost, at->cost >= 0 ? value_integer(at->cost) : value_none())
RANK(rank_compute_ns, value_integer(at->account.compute))
RANK(rank_wait_ns, value_integer(at->account.wait))
RANK(rank_transfer_ns, value_integer(at->account.transfer))
RANK(rank_unmatched_ns, value_integer(at->account.unmatched))
RANK(rank_copy_ns, value_integer(at->account.copy))
RANK(rank_idle_ns, value_integer(at->account.idle))
RANK(rank_clock_error, of->job->clocks[at->clock].state == CLOCK_UNSOLVED
                           ? value_unknown()
                           : value_integer((int64_t)llround(of->job->clocks[at->clock].error)))

static const void *rank_row(const void *source, size_t index) {
    const struct job_report *report = source;
    return index < report->job->rank_count ? &report->job->ranks[index] : NULL;
}

static const struct column rank_columns[] = {
    {"rank", "rank", UNIT_ID, 0, rank_number},
    {"window_ns", "time", UNIT_NS, 0, rank_window},
    {NULL, "compute", UNIT_SHARE, 0, rank_compute},
    {NULL, "wait", UNIT_SHARE, 0, rank_wait},
    {NULL, "transfer", UNIT_SHARE, 0, rank_transfer},
    {NULL, "unmatched", UNIT_SHARE, 0, rank_unmatched},
    {NULL, "copy", UNIT_SHARE, 0, rank_copy},
    {NULL, "idle", UNIT_SHARE, 0, rank_idle},
    {"compute_ns", NULL, UNIT_NS, 0, rank_compute_ns},
    {"wait_ns", NULL, UNIT_NS, 0, rank_wait_ns},
    {"transfer_ns", NULL, UNIT_NS, 0, rank_transfer_ns},
    {"unmatched_ns", NULL, UNIT_NS, 0, rank_unmatched_ns},
    {"copy_ns", NULL, UNIT_NS, 0, rank_copy_ns},
    {"idle_ns", NULL, UNIT_NS, 0, rank_idle_ns},
    {"last_arrivals", "last", UNIT_COUNT, 0, rank_last},
    {"lateness_ns", NULL, UNIT_NS, 0, rank_lateness},
    {"cost_ns", "cost", UNIT_NS, 0, rank_cost},
    {"clock_error_ns", NULL, UNIT_NS, 0, rank_clock_error},
    {"device", NULL, UNIT_TEXT, 0, rank_device},
    {"source", NULL, UNIT_TEXT, 0, rank_source},
    {"host", "host", UNIT_TEXT, COLUMN_FLEXIBLE, rank_host},
    {0},
};
static const struct section section_ranks = {
    .key = "ranks", .title = "Ranks", .columns = rank_columns, .row = rank_row, .rows = "ranks"};

static double seconds_of(const struct collective_kind *kind) {
    return (double)kind->transfer / 1e9;
}

#define KIND(name, ...) SECTION_VALUE(name, struct job_report, struct collective_kind, __VA_ARGS__)
KIND(kind_operation, value_text(job_text(of->job, at->operation)))
KIND(kind_group, at->group ? value_text(job_text(of->job, at->group)) : value_unknown())
KIND(kind_ranks, value_integer(at->ranks))
KIND(kind_count, value_integer((int64_t)at->count))
KIND(kind_bytes, at->bytes ? value_integer((int64_t)at->bytes) : value_unknown())
KIND(kind_skew, value_integer(at->skew / (int64_t)at->count))
KIND(kind_skew_max, value_integer(at->skew_max))
KIND(kind_transfer, value_integer(at->transfer / (int64_t)at->count))
KIND(kind_algorithm, at->bytes && at->transfer > 0
                         ? value_real((double)at->bytes * (double)at->count / seconds_of(at))
                         : value_unknown())
KIND(kind_bus, at->link_bytes > 0 && at->transfer > 0
                   ? value_real(at->link_bytes * (double)at->count / seconds_of(at))
                   : value_unknown())

KIND(kind_limit, at->limit > 0 ? value_real(at->limit) : value_unknown())
KIND(kind_exposed, at->time > 0 ? value_ratio(at->exposed, at->time) : value_unknown())

static const void *kind_row(const void *source, size_t index) {
    const struct job_report *report = source;
    return index < report->kind_count ? &report->kinds[index] : NULL;
}

static const struct column kind_columns[] = {
    {"count", "count", UNIT_COUNT, 0, kind_count},
    {"ranks", "ranks", UNIT_COUNT, 0, kind_ranks},
    {"bytes", "bytes", UNIT_BYTES, 0, kind_bytes},
    {"skew_ns", "skew", UNIT_NS, 0, kind_skew},
    {"skew_max_ns", "max", UNIT_NS, 0, kind_skew_max},
    {"transfer_ns", "transfer", UNIT_NS, 0, kind_transfer},
    {"algorithm_bytes_per_s", "algorithm", UNIT_BYTES_PER_S, 0, kind_algorithm},
    {"bus_bytes_per_s", "bus", UNIT_BYTES_PER_S, 0, kind_bus},
    {"limit_bytes_per_s", "limit", UNIT_BYTES_PER_S, 0, kind_limit},
    {"exposed", "exposed", UNIT_SHARE, 0, kind_exposed},
    {"operation", "operation", UNIT_TEXT, COLUMN_FLEXIBLE, kind_operation},
    {"group", NULL, UNIT_TEXT, 0, kind_group},
    {0},
};
static const struct section section_collectives = {.key = "collectives",
                                                   .title = "Collectives",
                                                   .columns = kind_columns,
                                                   .row = kind_row,
                                                   .rows = "kinds"};

/* ---- text ---- */

enum { TEXT_RANKS = 16, TEXT_KINDS = 6 };

static void say(struct output *output, unsigned width, const char *before, struct buffer *line) {
    struct report_style style = {.width = width};
    struct text_writer writer = {.style = &style, .output = output};
    text_wrapped(&writer, before, strlen(before) > 2 ? "    " : "  ", buffer_as_text(line));
    buffer_clear(line);
}

static void say_head(const struct job_report *report, struct buffer *line) {
    const struct job *job = report->job;
    char length[FORMAT_SIZE], step[FORMAT_SIZE], ranks[FORMAT_PLURAL_SIZE];
    char hosts[FORMAT_PLURAL_SIZE];
    size_t known = 0;
    for (size_t i = 0; i < job->clock_count; i++)
        known += job->clocks[i].host != 0;
    buffer_printf(line, "A job of %s", format_plural(job->rank_count, "rank", "ranks", ranks));
    if (known)
        buffer_printf(line, " on %s", format_plural(known, "host", "hosts", hosts));
    if (job->shared_count >= 2)
        buffer_printf(line, ": %s from the first collective that all ranks share to the last",
                      format_duration(job->window.end - job->window.start, length));
    if (job->steps.count)
        buffer_printf(
            line, ", %zu steps of %s", job->steps.count,
            format_duration(job_step_time(job, job->window.end - job->window.start), step));
    buffer_byte(line, '.');
}

static bool write_table(const struct section *section, const struct job_report *report,
                        const char *note, unsigned width, size_t rows, struct output *output,
                        struct status *status) {
    if (section_rows(section, report) == 0)
        return true;
    output_printf(output, "\n%s  %s\n", section->title, note);
    return section_write(
        section, report,
        &(struct section_style){.style = TABLE_TEXT, .width = width, .indent = 2, .rows = rows},
        output, status);
}

/* Of those that have something to say, the nth. */
static bool say_trust(const struct job *job, size_t nth, struct buffer *line) {
    static bool (*const sayers[])(const struct job *job, struct buffer *line) = {
        say_matched, say_missing, say_cut, say_contradictions};
    size_t seen = 0;
    for (size_t i = 0; i < ARRAY_COUNT(sayers); i++) {
        buffer_clear(line);
        if (i == 3) {
            size_t clocks = clock_lines(job);
            if (nth < seen + clocks)
                return say_clock(job, nth - seen, line);
            seen += clocks;
        }
        if (sayers[i](job, line) && seen++ == nth)
            return true;
    }
    buffer_clear(line);
    return false;
}

bool job_report_text(const struct job_report *report, unsigned width, struct output *output,
                     struct status *status) {
    const struct job *job = report->job;
    struct buffer line = {0};
    say_head(report, &line);
    say(output, width, "", &line);
    if (job->replayed >= 0)
        output_printf(output, "\n");
    for (size_t i = 0; say_straggler(report, i, &line); i++)
        say(output, width, i ? "  " : "", &line);
    static bool (*const sayers[])(const struct job_report *,
                                  struct buffer *) = {say_efficiency, say_path, say_gains};
    for (size_t i = 0; i < ARRAY_COUNT(sayers); i++)
        if (sayers[i](report, &line))
            say(output, width, "", &line);
    if (report->findings.count)
        output_printf(output, "\nFindings\n");
    for (size_t i = 0; say_finding(report, i, &line); i++)
        say(output, width, "  - ", &line);
    bool ok =
        write_table(&section_ranks, report,
                    "compute + wait + transfer + copy + idle = time; cost: of being later", width,
                    TEXT_RANKS, output, status) &&
        write_table(&section_collectives, report,
                    "means; skew: last arrival after the first, transfer: from then to the end",
                    width, TEXT_KINDS, output, status);
    output_printf(output, "\nTrust\n");
    for (size_t i = 0; say_trust(job, i, &line); i++)
        say(output, width, "  - ", &line);
    ok = ok && buffer_ok(&line, status);
    buffer_finish(&line);
    return ok;
}

/* ---- for the page ---- */

static void write_sentence(struct json *json, const char *part, struct buffer *line) {
    json_begin_object(json);
    json_member_string(json, "part", part);
    json_member_text(json, "text", buffer_as_text(line));
    json_end_object(json);
    buffer_clear(line);
}

void job_write_sentences(const struct job_report *report, struct json *json) {
    struct buffer line = {0};
    json_begin_array(json);
    say_head(report, &line);
    write_sentence(json, "head", &line);
    for (size_t i = 0; say_straggler(report, i, &line); i++)
        write_sentence(json, "straggler", &line);
    if (say_efficiency(report, &line))
        write_sentence(json, "gains", &line);
    if (say_path(report, &line))
        write_sentence(json, "gains", &line);
    if (say_gains(report, &line))
        write_sentence(json, "gains", &line);
    for (size_t i = 0; say_finding(report, i, &line); i++)
        write_sentence(json, "finding", &line);
    for (size_t i = 0; say_trust(report->job, i, &line); i++)
        write_sentence(json, "trust", &line);
    json_end_array(json);
    buffer_finish(&line);
}

bool job_write_tables(const struct job_report *report, struct json *json, struct status *status) {
    enum { ROWS = 1000 };
    return section_write_json_table(&section_ranks, "ranks", report, ROWS, json, status) &&
           section_write_json_table(&section_collectives, "collectives", report, ROWS, json,
                                    status);
}

/* ---- JSON ---- */

static void write_account_json(struct json *json, const struct rank_account *account) {
    json_begin_object(json);
    json_member_integer(json, "window_ns", account->window);
    json_member_integer(json, "compute_ns", account->compute);
    json_member_integer(json, "wait_ns", account->wait);
    json_member_integer(json, "transfer_ns", account->transfer);
    json_member_integer(json, "unmatched_ns", account->unmatched);
    json_member_integer(json, "copy_ns", account->copy);
    json_member_integer(json, "idle_ns", account->idle);
    json_end_object(json);
}

static void write_straggler_json(struct json *json, const struct job_report *report) {
    const struct job *job = report->job;
    json_key(json, "straggler");
    if (report->straggler == SIZE_MAX) {
        json_null(json);
        return;
    }
    const struct rank *rank = &job->ranks[report->straggler];
    json_begin_object(json);
    json_member_integer(json, "rank", rank->number);
    json_member_integer(json, "cost_ns", rank->cost);
    json_member_string(json, "cause", cause_name(report->cause.kind));
    json_member_integer(json, "excess_ns", report->cause.excess);
    json_member_integer(json, "explained_ns", report->cause.explained);
    json_member_text(json, "function", job_text(job, report->cause.label));
    json_member_text(json, "place", job_text(job, report->cause.place));
    json_member_unsigned(json, "late_steps", report->late.count);
    json_member_unsigned(json, "worst_step", report->late.count ? report->late.worst + 1 : 0);
    json_end_object(json);
}

static void write_gain(struct json *json, const char *key, int64_t gain) {
    json_key(json, key);
    if (gain < 0)
        json_null(json);
    else
        json_integer(json, gain);
}

static void write_findings_json(struct json *json, const struct job_report *report) {
    const struct job *job = report->job;
    struct buffer line = {0};
    json_key(json, "findings");
    json_begin_array(json);
    for (size_t i = 0; i < report->findings.count; i++) {
        const struct job_finding *finding = &report->findings.list[i];
        buffer_clear(&line);
        say_finding(report, i, &line);
        json_begin_object(json);
        json_member_string(json, "kind", job_finding_name(finding->kind));
        json_member_integer(json, "cost_ns", finding->cost);
        json_member_integer(json, "step_cost_ns", job_step_time(job, finding->cost));
        json_member_text(json, "text", buffer_as_text(&line));
        json_end_object(json);
    }
    json_end_array(json);
    buffer_finish(&line);
}

static void write_path_json(struct json *json, const struct job_report *report) {
    const struct job *job = report->job;
    json_key(json, "critical_path");
    json_begin_object(json);
    json_member_integer(json, "transfer_ns", report->path.transfer);
    json_member_integer(json, "unmatched_ns", report->path.unmatched);
    json_key(json, "ranks");
    json_begin_array(json);
    for (size_t r = 0; r < job->rank_count; r++)
        if (report->path.own[r] > 0) {
            json_begin_object(json);
            json_member_integer(json, "rank", job->ranks[r].number);
            json_member_integer(json, "own_ns", report->path.own[r]);
            json_end_object(json);
        }
    json_end_array(json);
    json_end_object(json);
}

static void write_clocks_json(struct json *json, const struct job *job) {
    static const char *const states[] = {[CLOCK_REFERENCE] = "reference",
                                         [CLOCK_SHARED] = "shared",
                                         [CLOCK_CONSISTENT] = "consistent",
                                         [CLOCK_SOLVED] = "solved",
                                         [CLOCK_UNSOLVED] = "unsolved"};
    json_key(json, "clocks");
    json_begin_array(json);
    for (size_t i = 0; i < job->clock_count; i++) {
        const struct job_clock *clock = &job->clocks[i];
        json_begin_object(json);
        json_member_text(json, "host", job_text(job, clock->host));
        json_member_integer(json, "rank", job->ranks[clock->reference].number);
        json_member_string(json, "state", states[clock->state]);
        json_member_integer(json, "offset_ns", (int64_t)llround(clock->offset));
        json_member_number(json, "drift", clock->drift);
        json_member_integer(json, "error_ns", (int64_t)llround(clock->error));
        json_member_unsigned(json, "bounds", clock->constraints);
        json_end_object(json);
    }
    json_end_array(json);
}

bool job_report_json(const struct job_report *report, struct output *output,
                     struct status *status) {
    const struct job *job = report->job;
    struct json json = {.output = output, .pretty = true};
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge-job-1");
    json_member_unsigned(&json, "ranks_read", job->rank_count);
    json_member_integer(&json, "world_size", job->world);
    json_key(&json, "missing");
    json_begin_array(&json);
    for (size_t i = 0; job_missing(job, i) >= 0; i++)
        json_integer(&json, job_missing(job, i));
    json_end_array(&json);
    json_member_integer(&json, "time_ns", job->window.end - job->window.start);
    json_member_unsigned(&json, "steps", job->steps.count);
    json_member_unsigned(&json, "operations", job->events - job->waits);
    json_member_unsigned(&json, "matched", job->matched);
    json_member_unsigned(&json, "partly_matched", job->partial);
    json_key(&json, "account");
    write_account_json(&json, &job->account);
    write_straggler_json(&json, report);
    json_key(&json, "gains");
    json_begin_object(&json);
    write_gain(&json, "balanced_ns", report->balanced);
    write_gain(&json, "overlapped_ns", report->overlapped);
    write_gain(&json, "communication_2x_ns", report->faster);
    json_end_object(&json);
    write_findings_json(&json, report);
    write_path_json(&json, report);
    write_clocks_json(&json, job);
    json_key(&json, "ranks");
    bool ok = section_write_json(&section_ranks, report, &json, status);
    json_key(&json, "collectives");
    ok = section_write_json(&section_collectives, report, &json, status) && ok;
    json_end_object(&json);
    return ok;
}
