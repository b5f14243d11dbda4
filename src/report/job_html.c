/* The page of a job: its report, and what the page draws of it. Times are nanoseconds from the
 * start of the job's window, on the common clock. */
#include <stdlib.h>

#include "base/json_write.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "ranks/steps.h"
#include "report/job.h"
#include "report/job_sections.h"
#include "report/report.h"

/* What a page holds at most. */
enum {
    BARS = 400000,
    BARS_OF_RANK = 6000,
    LINKS = 4000,
    LINK_MEMBERS = 200000,
    HEAT_CELLS = 200000
};

static int64_t from_start(const struct job *job, const struct rank *rank, int64_t time) {
    return clock_aligned(job, rank, time) - job->window.start;
}

/* Starts and lengths, one after another; gaps shorter than `shortest` are closed. */
static void write_bars(struct json *json, const char *key, const struct job *job,
                       const struct rank *rank, const struct intervals *set, int64_t shortest) {
    struct interval open = {0, -1};
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i <= set->count; i++) {
        bool more = i < set->count && set->list[i].start < rank->window.end;
        struct interval next = {0};
        if (more)
            next = (struct interval){MAX(set->list[i].start, rank->window.start),
                                     MIN(set->list[i].end, rank->window.end)};
        if (more && next.end <= next.start)
            continue;
        if (more && open.end >= 0 && next.start - open.end < shortest) {
            open.end = MAX(open.end, next.end);
            continue;
        }
        if (open.end >= 0) {
            json_integer(json, from_start(job, rank, open.start));
            json_integer(json, open.end - open.start);
        }
        if (!more)
            break;
        open = next;
    }
    json_end_array(json);
}

static bool write_ranks(struct json *json, const struct job *job, struct status *status) {
    int64_t limit = MIN(BARS_OF_RANK, BARS / (int64_t)MAX(job->rank_count, 1));
    int64_t shortest = (job->window.end - job->window.start) / MAX(limit, 1);
    bool ok = true;
    json_member_integer(json, "shortest_ns", shortest);
    json_key(json, "rows");
    json_begin_array(json);
    for (size_t r = 0; ok && r < job->rank_count; r++) {
        const struct rank *rank = &job->ranks[r];
        struct intervals moving = {0};
        for (size_t e = 0; ok && e < rank->event_count; e++) {
            const struct rank_event *event = &rank->events[e];
            if (event->collective == NO_COLLECTIVE)
                continue;
            struct member member = {(uint32_t)r, (uint32_t)e};
            int64_t release =
                collective_release(job, &job->collectives[event->collective], &member);
            ok = intervals_add(&moving, MAX(event->start, clock_local(job, rank, release)),
                               event->end, status);
        }
        intervals_sort(&moving);
        json_begin_object(json);
        json_member_integer(json, "rank", rank->number);
        json_member_text(json, "host", job_text(job, rank->host));
        write_bars(json, "communication", job, rank, &rank->communication, shortest);
        write_bars(json, "transfer", job, rank, &moving, shortest);
        write_bars(json, "compute", job, rank, &rank->compute, shortest);
        json_end_object(json);
        intervals_finish(&moving);
    }
    json_end_array(json);
    return ok;
}

/* ---- links ---- */

struct link {
    size_t collective;
    int64_t length;
};

static int by_length(const void *a, const void *b) {
    const struct link *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->collective < y->collective ? -1 : x->collective > y->collective;
}

static void write_link(struct json *json, const struct job *job,
                       const struct collective *collective) {
    json_begin_object(json);
    json_member_text(json, "operation", job_text(job, collective->operation));
    json_member_unsigned(json, "bytes", collective->bytes);
    json_member_integer(json, "last", job->ranks[collective->last_rank].number);
    json_member_integer(json, "skew_ns", collective->last_arrival - collective->first_arrival);
    json_member_integer(json, "transfer_ns", MAX(collective->end - collective->last_arrival, 0));
    json_key(json, "members"); /* row, start, length */
    json_begin_array(json);
    for (size_t i = 0; i < collective->count; i++) {
        const struct member *member = &job->members[collective->first + i];
        const struct rank *rank = &job->ranks[member->rank];
        const struct rank_event *event = &rank->events[member->event];
        json_integer(json, member->rank);
        json_integer(json, from_start(job, rank, event->start));
        json_integer(json, event->end - event->start);
    }
    json_end_array(json);
    json_end_object(json);
}

/* The longest collectives in the window. */
static bool write_links(struct json *json, const struct job *job, struct status *status) {
    struct link *links = memory_allocate(job->collective_count + 1, sizeof *links, status);
    size_t count = 0, members = 0, written = 0;
    if (!links)
        return false;
    for (size_t i = 0; i < job->collective_count; i++) {
        const struct collective *collective = &job->collectives[i];
        if (collective->end > job->window.start && collective->first_arrival < job->window.end)
            links[count++] = (struct link){i, collective->end - collective->first_arrival};
    }
    qsort(links, count, sizeof *links, by_length);
    json_key(json, "links");
    json_begin_array(json);
    for (; written < count && written < LINKS; written++) {
        const struct collective *collective = &job->collectives[links[written].collective];
        if ((members += collective->count) > LINK_MEMBERS)
            break;
        write_link(json, job, collective);
    }
    json_end_array(json);
    json_member_unsigned(json, "links_left_out", count - written);
    memory_free(links);
    return true;
}

/* ---- steps ---- */

/* Rows of ranks, columns of steps: the time of each without exposed communication. */
static void write_heat(struct json *json, const struct job *job) {
    size_t steps = MIN(job_step_count(job), HEAT_CELLS / MAX(job->rank_count, 1));
    json_key(json, "steps");
    json_begin_array(json);
    for (size_t s = 0; s < steps; s++) {
        struct interval window = {0, 0};
        job_step_window(job, 0, s, &window);
        json_integer(json, from_start(job, &job->ranks[0], window.end));
    }
    json_end_array(json);
    json_key(json, "heat");
    json_begin_array(json);
    for (size_t r = 0; r < job->rank_count; r++)
        for (size_t s = 0; s < steps; s++)
            json_integer(json, job_step_own(job, r, s));
    json_end_array(json);
}

bool job_report_html(const struct job_report *report, const char *name, struct output *output,
                     struct status *status) {
    const struct job *job = report->job;
    struct buffer text = {0};
    struct output into = output_into(&text);
    struct json json = {.output = &into};
    json_begin_object(&json);
    json_member_string(&json, "name", name);
    json_member_integer(&json, "time_ns", job->window.end - job->window.start);
    json_key(&json, "sentences");
    job_write_sentences(report, &json);
    bool ok = write_ranks(&json, job, status) && write_links(&json, job, status);
    write_heat(&json, job);
    json_key(&json, "tables");
    json_begin_array(&json);
    ok = ok && job_write_tables(report, &json, status);
    json_end_array(&json);
    json_end_object(&json);
    ok = ok && buffer_ok(&text, status) &&
         report_write_job_html(buffer_as_text(&text), output, status);
    buffer_finish(&text);
    return ok;
}
