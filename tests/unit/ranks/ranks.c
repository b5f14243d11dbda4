/* Generated jobs with known clocks, stragglers and losses: are the collectives matched, the clocks
 * within their bounds, the sums exact, and the costs right? */
#include "../test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "ranks/cause.h"
#include "ranks/findings.h"
#include "ranks/path.h"
#include "ranks/ranks.h"
#include "ranks/replay.h"
#include "trace/writer.h"

/* ---- the generator ---- */

struct plan {
    unsigned ranks, hosts, steps, collectives; /* collectives in a step */
    bool sequences, hosts_known;
    double offset_max, drift_max; /* of the hosts' clocks: nanoseconds, and a ratio */
    unsigned straggler;           /* UINT32_MAX: none */
    int64_t late;                 /* ns in each segment */
    unsigned jitter;              /* ns */
    unsigned loss;                /* every nth operation is not recorded; 0: none are lost */
    uint64_t seed;
};

struct truth {
    double offset[64], drift[64]; /* by host */
    int64_t length;
};

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static double uniform(uint64_t *state) {
    return (double)next_random(state) / (double)(1u << 31) * 2 - 1;
}

static uint32_t named(struct job *job, const char *name) {
    struct status status = {0};
    uint32_t id = 0;
    CHECK_OK(intern_add(&job->names, text_of(name), &id, &status), status);
    return id;
}

static int64_t local_time(const struct truth *truth, unsigned host, int64_t origin, int64_t time) {
    /* offset + drift * local, as ridge defines it: local = (time + offset) / (1 - drift) */
    double since = (double)(time - origin);
    return origin + (int64_t)llround((since + truth->offset[host]) / (1 - truth->drift[host]));
}

static void add_event(struct rank *rank, struct rank_event event) {
    struct status status = {0};
    CHECK_OK(GROW(rank->events, &rank->event_capacity, rank->event_count + 1, &status), status);
    rank->events[rank->event_count++] = event;
}

/* Every rank computes and then joins a collective, again and again. */
static void generate(const struct plan *plan, struct job *job, struct truth *truth) {
    const int64_t origin = 1700000000000000000;
    uint64_t random = plan->seed * 2654435761u + 1;
    struct status status = {0};
    named(job, "");
    uint32_t operation = named(job, "allreduce"), group = named(job, "world");
    job->ranks = memory_allocate(plan->ranks, sizeof *job->ranks, &status);
    job->rank_count = job->rank_capacity = plan->ranks;
    REQUIRE(job->ranks);
    for (unsigned h = 0; h < plan->hosts; h++) {
        truth->offset[h] = h ? uniform(&random) * plan->offset_max : 0;
        truth->drift[h] = h ? uniform(&random) * plan->drift_max : 0;
    }
    for (unsigned r = 0; r < plan->ranks; r++) {
        char host[32];
        snprintf(host, sizeof host, "host%u", r % plan->hosts);
        job->ranks[r] = (struct rank){.number = r,
                                      .local = -1,
                                      .world = plan->ranks,
                                      .host = plan->hosts_known ? named(job, host) : 0,
                                      .span = {INT64_MAX, INT64_MIN}};
    }
    int64_t now = origin, first = 0;
    for (unsigned s = 0; s < plan->steps * plan->collectives; s++) {
        int64_t arrival[512], last = 0;
        for (unsigned r = 0; r < plan->ranks; r++) {
            arrival[r] = now + 1000000 + (plan->jitter ? next_random(&random) % plan->jitter : 0) +
                         (r == plan->straggler ? plan->late : 0);
            last = MAX(last, arrival[r]);
        }
        int64_t end = last + 100000;
        for (unsigned r = 0; r < plan->ranks; r++) {
            struct rank *rank = &job->ranks[r];
            unsigned host = r % plan->hosts;
            struct rank_event event = {
                .start = local_time(truth, host, origin, arrival[r]),
                .end = local_time(truth, host, origin, end),
                .bytes = 1024u << s % plan->collectives,
                .sequence = plan->sequences ? s + 1 : 0,
                .operation = operation,
                .group = group,
                .group_size = plan->ranks,
                .group_rank = -1,
                .root = -1,
                .peer = -1,
                .collective = NO_COLLECTIVE,
            };
            if (plan->loss && next_random(&random) % plan->loss == 0)
                continue;
            add_event(rank, event);
            rank->span.start = MIN(rank->span.start, event.start);
            rank->span.end = MAX(rank->span.end, event.end);
            CHECK(intervals_add(&rank->communication, event.start, event.end, &status));
            if (rank->event_count > 1)
                CHECK(intervals_add(&rank->compute, rank->events[rank->event_count - 2].end,
                                    event.start, &status));
        }
        if (s == 0)
            first = end;
        now = end;
    }
    truth->length = now - first;
    for (unsigned r = 0; r < plan->ranks; r++)
        CHECK(intervals_subtract(&job->ranks[r].communication, &job->ranks[r].compute,
                                 &job->ranks[r].exposed, &status));
}

static const struct plan small = {.ranks = 4,
                                  .hosts = 1,
                                  .steps = 10,
                                  .collectives = 3,
                                  .sequences = true,
                                  .hosts_known = true,
                                  .straggler = UINT32_MAX,
                                  .jitter = 1000,
                                  .seed = 1};

static void join(const struct plan *plan, struct job *job, struct truth *truth) {
    struct status status = {0};
    generate(plan, job, truth);
    CHECK_OK(job_join(job, &status), status);
}

/* ---- clocks ---- */

/* The largest difference between aligned and true times over the run. */
static void check_clocks(const struct job *job, const struct plan *plan,
                         const struct truth *truth) {
    const int64_t origin = 1700000000000000000;
    for (unsigned r = 0; r < plan->ranks; r++) {
        const struct rank *rank = &job->ranks[r];
        const struct job_clock *clock = &job->clocks[rank->clock];
        if (!clock_is_aligned(job, rank) || rank->event_count == 0)
            continue;
        for (unsigned k = 0; k < 2; k++) {
            int64_t local = k ? rank->span.end : rank->span.start;
            double since = (double)(local - origin);
            unsigned host = r % plan->hosts;
            double truly = since - (truth->offset[host] + truth->drift[host] * since);
            double aligned = (double)(clock_aligned(job, rank, local) - origin);
            CHECK(fabs(aligned - truly) <= clock->error + 2);
        }
    }
}

TEST(clocks_of_hosts_are_within_their_bound) {
    static const unsigned sizes[] = {2, 3, 8, 64, 512};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t seed = 0; seed < (sizes[i] > 100 ? 2u : 20u); seed++) {
            struct plan plan = small;
            struct job job = {0};
            struct truth truth = {0};
            plan.ranks = sizes[i];
            plan.hosts = MIN(sizes[i], seed % 2 ? 2 : 8);
            plan.steps = 20;
            plan.offset_max = seed % 3 ? 5e8 : 5e3;
            plan.drift_max = seed % 4 ? 1e-4 : 0;
            plan.jitter = seed % 5 ? 200000 : 100;
            plan.loss = seed % 2 ? 20 : 0;
            plan.seed = seed + 100;
            join(&plan, &job, &truth);
            for (size_t c = 1; c < job.clock_count; c++)
                CHECK_INT(job.clocks[c].state, CLOCK_SOLVED);
            check_clocks(&job, &plan, &truth);
            job_finish(&job);
        }
}

/* The rank as a trace whose rows are in no order: a collective is a kernel with its arguments. */
static void write_rank(const struct job *job, const struct plan *plan, unsigned number, int fd) {
    const struct rank *rank = &job->ranks[number];
    struct status status = {0};
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = number + 1, .writer = 1, .level = 1},
        &status);
    REQUIRE(writer);
    trace_writer_meta_integer(writer, META_RANK, number);
    trace_writer_meta_integer(writer, META_WORLD_SIZE, plan->ranks);
    trace_writer_meta(writer, META_HOST, job_text(job, rank->host));
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 100 + number});
    uint32_t device = trace_write_device(writer, &(struct row_device){.index = number});
    uint32_t queue =
        trace_write_queue(writer, &(struct row_queue){.device = device, .process = process});
    uint32_t kernel = trace_writer_string(writer, TEXT("gemm"));
    uint32_t reduce = trace_writer_string(writer, TEXT("ncclDevKernel_AllReduce_Sum_f32"));
    size_t prime = 7919, count = rank->event_count; /* far more than the events of a rank */
    for (size_t i = 0; i < count; i++) {
        const struct rank_event *event = &rank->events[i * prime % count];
        char detail[200];
        snprintf(detail, sizeof detail,
                 "{\"Collective name\":\"allreduce\",\"dtype\":\"Byte\",\"In msg nelems\":%llu,"
                 "\"Out msg nelems\":%llu,\"Group size\":%u,\"Process Group Name\":\"0\",\"Seq\":"
                 "%llu}",
                 (unsigned long long)event->bytes, (unsigned long long)event->bytes, plan->ranks,
                 (unsigned long long)event->sequence);
        trace_write_activity(
            writer, &(struct row_activity){.start = event->start,
                                           .duration = event->end - event->start,
                                           .queue = queue,
                                           .name = reduce,
                                           .detail = trace_writer_string(writer, text_of(detail))});
        trace_write_activity(writer, &(struct row_activity){.start = event->start - 500000,
                                                            .duration = 400000,
                                                            .queue = queue,
                                                            .name = kernel});
    }
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
}

/* Ranks are read last to first. */
static void read_ranks(const struct job *from, const struct plan *plan, struct job *to) {
    struct status status = {0};
    for (unsigned r = plan->ranks; r > 0; r--) {
        struct trace *trace;
        FILE *file = tmpfile();
        REQUIRE(file);
        write_rank(from, plan, r - 1, fileno(file));
        CHECK_OK(trace_open_fd(fileno(file), "rank", &trace, &status), status);
        CHECK_OK(job_add(to, trace, "rank", &status), status);
        trace_close(trace);
        fclose(file);
    }
    CHECK_OK(job_join(to, &status), status);
}

TEST(clocks_are_within_their_bound_though_rows_are_reordered_and_lost) {
    static const unsigned sizes[] = {2, 16, 128, 512};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct plan plan = small;
        struct job planned = {0}, job = {0};
        struct truth truth = {0};
        plan.ranks = sizes[i];
        plan.hosts = MIN(sizes[i], 8);
        plan.offset_max = 5e8;
        plan.drift_max = 1e-4;
        plan.jitter = 200000;
        plan.loss = 20;
        plan.seed = 300 + i;
        generate(&plan, &planned, &truth);
        read_ranks(&planned, &plan, &job);
        CHECK_INT(job.rank_count, plan.ranks);
        for (size_t c = 1; c < job.clock_count; c++)
            CHECK_INT(job.clocks[c].state, CLOCK_SOLVED);
        CHECK((job.matched + job.partial) * 10 >= job.events * 9);
        check_clocks(&job, &plan, &truth);
        job_finish(&planned);
        job_finish(&job);
    }
}

TEST(the_bound_of_a_clock_is_as_narrow_as_the_collectives) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    plan.hosts = 2;
    plan.offset_max = 1e9;
    plan.steps = 50;
    join(&plan, &job, &truth);
    CHECK_INT(job.clock_count, 2);
    CHECK(job.clocks[1].error < 400000); /* a transfer takes 100 us */
    job_finish(&job);
}

TEST(ranks_of_one_host_share_a_clock) {
    struct job job = {0};
    struct truth truth = {0};
    join(&small, &job, &truth);
    CHECK_INT(job.clock_count, 1);
    CHECK_INT(job.clocks[0].state, CLOCK_REFERENCE);
    job_finish(&job);
}

TEST(clocks_of_unknown_hosts_that_agree_are_left_as_they_are) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    plan.hosts_known = false;
    join(&plan, &job, &truth);
    CHECK_INT(job.clock_count, 4);
    for (size_t c = 1; c < job.clock_count; c++)
        CHECK_INT(job.clocks[c].state, CLOCK_CONSISTENT);
    job_finish(&job);
}

TEST(hosts_without_a_common_collective_are_not_aligned) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    struct status status = {0};
    plan.hosts = 2;
    generate(&plan, &job, &truth);
    for (size_t i = 0; i < job.ranks[1].event_count; i++)
        job.ranks[1].events[i].group = job.ranks[3].events[i].group = named(&job, "other");
    for (unsigned r = 0; r < 4; r++)
        for (size_t i = 0; i < job.ranks[r].event_count; i++)
            job.ranks[r].events[i].group_size = 2;
    CHECK_OK(job_join(&job, &status), status);
    CHECK_INT(job.clocks[1].state, CLOCK_UNSOLVED);
    CHECK(!job.clocks[1].contradicts);
    CHECK_INT(job.replayed, -1);
    job_finish(&job);
}

TEST(operations_of_another_run_contradict_each_other) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    struct status status = {0};
    plan.hosts = 2;
    plan.ranks = 2;
    plan.jitter = 0;
    generate(&plan, &job, &truth);
    for (size_t i = 0; i < job.ranks[1].event_count; i++) {
        int64_t shift = i % 2 ? 5000000 : -5000000;
        job.ranks[1].events[i].start += shift;
        job.ranks[1].events[i].end += shift;
    }
    CHECK_OK(job_join(&job, &status), status);
    CHECK_INT(job.clocks[1].state, CLOCK_UNSOLVED);
    CHECK(job.clocks[1].contradicts);
    job_finish(&job);
}

/* ---- matching ---- */

TEST(collectives_match_by_their_sequence_numbers_though_some_are_lost) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    plan.loss = 10;
    plan.steps = 40;
    join(&plan, &job, &truth);
    CHECK(job.matched > 0 && job.partial > 0);
    for (size_t i = 0; i < job.collective_count; i++) {
        const struct collective *collective = &job.collectives[i];
        for (size_t k = 0; k < collective->count; k++) {
            const struct member *member = &job.members[collective->first + k];
            CHECK_INT(job.ranks[member->rank].events[member->event].sequence, collective->sequence);
        }
    }
    job_finish(&job);
}

TEST(collectives_without_sequence_numbers_match_by_order) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    plan.sequences = false;
    join(&plan, &job, &truth);
    CHECK_INT(job.matched, job.events);
    CHECK_INT(job.collective_count, 30);
    job_finish(&job);
}

/* On one host each is matched with those that it overlaps, or not at all. */
TEST(collectives_without_sequence_numbers_match_by_time_where_some_are_lost) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    plan.sequences = false;
    plan.loss = 15;
    plan.steps = 40;
    join(&plan, &job, &truth);
    CHECK(2 * (job.matched + job.partial) > job.events);
    CHECK_INT(job.contradictions, 0);
    job_finish(&job);
}

TEST(a_group_that_more_ranks_share_than_it_has_is_not_matched) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    struct status status = {0};
    generate(&plan, &job, &truth);
    for (unsigned r = 0; r < 4; r++)
        for (size_t i = 0; i < job.ranks[r].event_count; i++)
            job.ranks[r].events[i].group_size = 2; /* two groups of one name */
    CHECK_OK(job_join(&job, &status), status);
    CHECK_INT(job.matched, 0);
    CHECK_INT(job.collective_count, 0);
    job_finish(&job);
}

TEST(a_rank_twice_is_an_error) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    struct status status = {0};
    generate(&plan, &job, &truth);
    job.ranks[2].number = 1;
    CHECK(!job_join(&job, &status));
    CHECK(strstr(status.message, "rank 1 is there twice") != NULL);
    job_finish(&job);
}

TEST(missing_ranks_are_listed) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    struct status status = {0};
    generate(&plan, &job, &truth);
    job.ranks[3].number = 6;
    job.ranks[0].world = 8;
    CHECK_OK(job_join(&job, &status), status);
    CHECK_INT(job_missing(&job, 0), 3);
    CHECK_INT(job_missing(&job, 3), 7);
    CHECK_INT(job_missing(&job, 4), -1);
    job_finish(&job);
}

/* ---- the account ---- */

TEST(the_parts_of_a_rank_sum_to_its_window) {
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct plan plan = small;
        struct job job = {0};
        struct truth truth = {0};
        struct rank_account sum = {0};
        plan.seed = seed;
        plan.hosts = 1 + seed % 3;
        plan.offset_max = 1e7;
        plan.drift_max = 5e-5;
        plan.jitter = 500000;
        plan.loss = seed % 2 ? 9 : 0;
        join(&plan, &job, &truth);
        for (unsigned r = 0; r < plan.ranks; r++) {
            const struct rank_account *a = &job.ranks[r].account;
            CHECK_INT(a->compute + a->wait + a->transfer + a->unmatched + a->copy + a->idle,
                      a->window);
            CHECK(a->compute >= 0 && a->wait >= 0 && a->transfer >= 0 && a->unmatched >= 0 &&
                  a->copy >= 0 && a->idle >= 0);
            sum.window += a->window;
            sum.wait += a->wait;
        }
        CHECK_INT(job.account.window, sum.window);
        CHECK_INT(job.account.wait, sum.wait);
        job_finish(&job);
    }
}

TEST(waiting_ends_when_the_last_rank_arrives) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    plan.jitter = 0;
    plan.straggler = 2;
    plan.late = 250000;
    join(&plan, &job, &truth);
    CHECK_INT(job.ranks[0].account.wait, 29 * 250000);
    CHECK_INT(job.ranks[0].account.transfer, 29 * 100000);
    CHECK_INT(job.ranks[2].account.wait, 0);
    CHECK_INT(job.ranks[2].account.compute, 29 * 1250000);
    job_finish(&job);
}

TEST(a_job_repeats_its_collectives_in_steps) {
    struct job job = {0};
    struct truth truth = {0};
    join(&small, &job, &truth);
    CHECK_INT(job.steps.period, 3);
    CHECK_INT(job.steps.count, 10);
    job_finish(&job);
}

/* ---- the replay ---- */

TEST(an_unchanged_replay_takes_as_long_as_the_job) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct plan plan = small;
        struct job job = {0};
        struct truth truth = {0};
        plan.seed = seed;
        plan.jitter = 700000;
        plan.ranks = 2 + (unsigned)seed;
        join(&plan, &job, &truth);
        CHECK_INT(job.replayed, truth.length);
        job_finish(&job);
    }
}

TEST(a_straggler_costs_what_it_is_late) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    plan.jitter = 0;
    plan.straggler = 3;
    plan.late = 250000;
    join(&plan, &job, &truth);
    CHECK_INT(job.ranks[3].cost, 29 * 250000);
    CHECK_INT(job.ranks[3].last_arrivals, 30);
    job_finish(&job);
}

TEST(the_critical_path_goes_through_the_late_rank) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    struct status status = {0};
    struct job_path path;
    plan.jitter = 0;
    plan.straggler = 2;
    plan.late = 500000;
    join(&plan, &job, &truth);
    CHECK_OK(job_path_find(&job, &path, &status), status);
    CHECK_INT(path.own[2], 29 * 1500000);
    CHECK_INT(path.transfer, 29 * 100000);
    CHECK_INT(path.own[0] + path.own[1] + path.own[3] + path.unmatched, 0);
    CHECK_INT(path.length, truth.length);
    job_path_finish(&path);
    job_finish(&job);
}

TEST(the_critical_path_is_as_long_as_the_job) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct plan plan = small;
        struct job job = {0};
        struct truth truth = {0};
        struct status status = {0};
        struct job_path path;
        plan.ranks = 2 + (unsigned)seed;
        plan.jitter = 300000;
        plan.seed = seed;
        join(&plan, &job, &truth);
        CHECK_OK(job_path_find(&job, &path, &status), status);
        int64_t sum = path.transfer + path.unmatched;
        for (unsigned r = 0; r < plan.ranks; r++)
            sum += path.own[r];
        CHECK_INT(sum, truth.length);
        job_path_finish(&path);
        job_finish(&job);
    }
}

TEST(faster_communication_shortens_the_transfers) {
    struct plan plan = small;
    struct job job = {0};
    struct truth truth = {0};
    struct status status = {0};
    int64_t length = 0;
    bool possible = false;
    plan.jitter = 0;
    join(&plan, &job, &truth);
    struct job_change change = {.without_straggler = SIZE_MAX, .faster = 2};
    CHECK_OK(job_replay(&job, &change, &length, &possible, &status), status);
    CHECK(possible);
    CHECK_INT(job.replayed - length, 29 * 50000);
    change = (struct job_change){.without_straggler = SIZE_MAX, .overlapped = true};
    CHECK_OK(job_replay(&job, &change, &length, &possible, &status), status);
    CHECK(possible && length < job.replayed);
    job_finish(&job);
}

/* ---- causes ---- */

static void add_part(struct job *job, unsigned rank, struct rank_part part) {
    struct status status = {0};
    struct rank *of = &job->ranks[rank];
    CHECK_OK(GROW(of->parts, &of->part_capacity, of->part_count + 1, &status), status);
    of->parts[of->part_count++] = part;
}

static struct rank_cause cause_of(struct job *job, unsigned rank) {
    struct status status = {0};
    struct rank_cause cause;
    CHECK_OK(job_join(job, &status), status);
    CHECK_OK(cause_find(job, rank, &cause, &status), status);
    return cause;
}

TEST(a_late_rank_is_explained_by_what_it_does_more) {
    for (unsigned kind = 0; kind < 4; kind++) {
        struct plan plan = small;
        struct job job = {0};
        struct truth truth = {0};
        plan.jitter = 0;
        plan.straggler = 1;
        plan.late = 500000;
        generate(&plan, &job, &truth);
        for (unsigned r = 0; r < 4; r++) {
            add_part(&job, r,
                     (struct rank_part){PART_RUNNING, named(&job, "forward"), 0, 0, false, false,
                                        r == 1 && kind == 1 ? 44000000 : 29000000, 29, 0, 0});
            add_part(&job, r,
                     (struct rank_part){PART_RUNNING, named(&job, "norm"), 0, 0, false, false,
                                        r == 1 && kind == 1 ? 44000000 : 29000000, 29, 0, 0});
        }
        add_part(&job, 1,
                 (struct rank_part){PART_RUNNING, named(&job, "extra"), named(&job, "a.py:7"), 0,
                                    false, kind == 2, kind == 1 ? 0 : 14500000, 29, 0, 0});
        if (kind == 3)
            job.ranks[1].parts[2].is_input = true;
        struct rank_cause cause = cause_of(&job, 1);
        static const enum late_kind expected[] = {LATE_MORE_WORK, LATE_LONGER, LATE_COLLECTOR,
                                                  LATE_INPUT};
        CHECK_INT(cause.kind, expected[kind]);
        CHECK_INT(cause.excess, 29 * 500000);
        job_finish(&job);
    }
}

/* ---- findings ---- */

/* Ranks with a program each: computing, collectives and messages, in simulated time. */
struct script {
    struct job *job;
    int64_t now[16];
};

static void begin_script(struct script *script, struct job *job, unsigned ranks,
                         unsigned per_host) {
    struct status status = {0};
    *script = (struct script){.job = job};
    named(job, "");
    job->ranks = memory_allocate(ranks, sizeof *job->ranks, &status);
    REQUIRE(job->ranks);
    job->rank_count = job->rank_capacity = ranks;
    for (unsigned r = 0; r < ranks; r++) {
        char host[32];
        snprintf(host, sizeof host, "host%u", r / per_host);
        job->ranks[r] = (struct rank){.number = r,
                                      .local = -1,
                                      .world = ranks,
                                      .host = named(job, host),
                                      .has_device = true,
                                      .device = named(job, "NVIDIA H100 80GB HBM3"),
                                      .span = {INT64_MAX, INT64_MIN}};
        script->now[r] = 1000000000;
    }
}

static void compute(struct script *script, unsigned rank, int64_t time) {
    struct status status = {0};
    CHECK(intervals_add(&script->job->ranks[rank].compute, script->now[rank],
                        script->now[rank] + time, &status));
    script->now[rank] += time;
}

static void join_in(struct script *script, unsigned rank, struct rank_event event, int64_t end) {
    struct status status = {0};
    struct rank *of = &script->job->ranks[rank];
    event.start = script->now[rank];
    event.end = end;
    event.is_device = true;
    event.collective = NO_COLLECTIVE;
    add_event(of, event);
    CHECK(intervals_add(&of->communication, event.start, end, &status));
    of->span.start = MIN(of->span.start, event.start);
    of->span.end = MAX(of->span.end, end);
    script->now[rank] = end;
}

/* Ranks first, first + stride, ...: the transfer begins when the last has come. */
static void collective(struct script *script, const char *operation, const char *group,
                       unsigned first, unsigned stride, unsigned count, uint64_t bytes,
                       int64_t transfer) {
    int64_t last = 0;
    for (unsigned i = 0; i < count; i++)
        last = MAX(last, script->now[first + i * stride]);
    for (unsigned i = 0; i < count; i++)
        join_in(script, first + i * stride,
                (struct rank_event){.bytes = bytes,
                                    .operation = named(script->job, operation),
                                    .group = named(script->job, group),
                                    .group_size = count,
                                    .group_rank = (int32_t)i,
                                    .root = -1,
                                    .peer = -1},
                last + transfer);
}

/* The sender goes on at once. */
static void message(struct script *script, unsigned from, unsigned to, uint64_t bytes,
                    int64_t transfer) {
    struct rank_event event = {.bytes = bytes,
                               .group = named(script->job, "stages"),
                               .group_size = (uint32_t)script->job->rank_count,
                               .root = -1};
    int64_t sent = script->now[from], end = MAX(sent, script->now[to]) + transfer;
    event.operation = named(script->job, "send");
    event.group_rank = (int32_t)from;
    event.peer = (int32_t)to;
    join_in(script, from, event, sent + 1);
    event.operation = named(script->job, "recv");
    event.group_rank = (int32_t)to;
    event.peer = (int32_t)from;
    join_in(script, to, event, end);
}

static struct job_finding judged(struct job *job, enum job_finding_kind kind) {
    struct status status = {0};
    struct job_findings findings;
    struct job_finding found = {.cost = -1};
    for (size_t r = 0; r < job->rank_count; r++) {
        intervals_sort(&job->ranks[r].communication);
        CHECK(intervals_subtract(&job->ranks[r].communication, &job->ranks[r].compute,
                                 &job->ranks[r].exposed, &status));
    }
    CHECK_OK(job_join(job, &status), status);
    CHECK_OK(job_findings_build(&findings, job, &status), status);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.list[i].kind == kind)
            found = findings.list[i];
    job_findings_finish(&findings);
    return found;
}

enum { MS = 1000000, STEPS = 6 };

/* GPipe: all micro-batches forward, then all backward, twice as long; then an all-reduce. */
static void run_pipeline(struct script *script, unsigned stages, unsigned batches,
                         const int64_t *forward) {
    for (unsigned b = 0; b < batches; b++)
        for (unsigned s = 0; s < stages; s++) {
            compute(script, s, forward[s]);
            if (s + 1 < stages)
                message(script, s, s + 1, 4096, 1000);
        }
    for (unsigned b = 0; b < batches; b++)
        for (unsigned s = stages; s > 0; s--) {
            compute(script, s - 1, 2 * forward[s - 1]);
            if (s > 1)
                message(script, s - 1, s - 2, 4096, 1000);
        }
    collective(script, "allreduce", "world", 0, 1, stages, 1024, 1000);
}

TEST(bubbles_of_a_pipeline_are_those_of_its_schedule) {
    static const int64_t forward[] = {MS, MS, MS, MS};
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 4, 4);
    collective(&script, "allreduce", "world", 0, 1, 4, 1024, 1000);
    for (unsigned i = 0; i < STEPS; i++)
        run_pipeline(&script, 4, 8, forward);
    struct job_finding found = judged(&job, JOB_PIPELINE);
    /* (stages - 1) * (forward + backward) of (stages - 1 + batches) * (forward + backward) */
    CHECK_INT(found.stages, 4);
    CHECK(fabs((double)found.cost / (STEPS * 9.0 * MS) - 1) < 0.02);
    CHECK(fabs((double)(found.warm_up + found.steady + found.drain) / (STEPS * 9.0 * MS) - 1) <
          0.02);
    CHECK(found.warm_up > 0 && found.drain > found.warm_up);
    job_finish(&job);
}

TEST(a_stage_with_more_work_is_an_imbalance) {
    static const int64_t forward[] = {MS, 2 * MS, MS, MS};
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 4, 4);
    collective(&script, "allreduce", "world", 0, 1, 4, 1024, 1000);
    for (unsigned i = 0; i < STEPS; i++)
        run_pipeline(&script, 4, 8, forward);
    struct job_finding found = judged(&job, JOB_STAGES);
    CHECK_INT(found.rank, 1);
    CHECK(fabs(found.ratio - 1.6) < 0.02); /* 2 of a mean of 1.25 */
    /* 8 * 2 * 3 + 9 ms before; 11 * 1.25 * 3 after */
    CHECK(fabs((double)found.cost / STEPS / MS - (57 - 41.25)) < 0.5);
    job_finish(&job);
}

TEST(experts_with_more_tokens_are_an_imbalance) {
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 4, 4);
    collective(&script, "allreduce", "world", 0, 1, 4, 1024, 1000);
    for (unsigned i = 0; i < STEPS * 2; i++) {
        collective(&script, "alltoall", "experts", 0, 1, 4, 2048, 1000);
        for (unsigned r = 0; r < 4; r++)
            compute(&script, r, r == i % 4 ? 5 * MS : MS);
        collective(&script, "alltoall", "experts", 0, 1, 4, 2048, 1000);
        collective(&script, "allreduce", "world", 0, 1, 4, 1024, 1000);
    }
    struct job_finding found = judged(&job, JOB_EXPERTS);
    CHECK(fabs((double)found.cost / (STEPS * 2 * 3.0 * MS) - 1) < 0.02); /* 5 ms, mean 2 ms */
    job_finish(&job);
}

TEST(a_host_whose_ranks_are_all_slower_is_named) {
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 8, 4);
    collective(&script, "allreduce", "world", 0, 1, 8, 1024, 1000);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned r = 0; r < 8; r++)
            compute(&script, r, r >= 4 ? 12 * MS : 10 * MS);
        collective(&script, "allreduce", "world", 0, 1, 8, 1024, 1000);
    }
    struct job_finding found = judged(&job, JOB_SLOW_HOST);
    CHECK(text_is(job_text(&job, found.host), "host1"));
    CHECK(fabs((double)found.cost / (STEPS * 2.0 * MS) - 1) < 0.01);
    job_finish(&job);
}

TEST(a_group_that_transfers_slower_has_a_slow_link) {
    struct job job = {0};
    struct script script;
    static const char *const groups[] = {"dp0", "dp1", "dp2", "dp3"};
    begin_script(&script, &job, 8, 8);
    collective(&script, "allreduce", "world", 0, 1, 8, 1024, 1000);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned r = 0; r < 8; r++)
            compute(&script, r, 10 * MS);
        for (unsigned g = 0; g < 4; g++)
            collective(&script, "allreduce", groups[g], g, 4, 2, 64 << 20, g == 2 ? 4 * MS : MS);
        collective(&script, "allreduce", "world", 0, 1, 8, 1024, 1000);
    }
    struct job_finding found = judged(&job, JOB_SLOW_LINK);
    CHECK(text_is(job_text(&job, found.group), "dp2"));
    CHECK(fabs(found.ratio - 4) < 0.01);
    CHECK(fabs((double)found.cost / (STEPS * 3.0 * MS) - 1) < 0.01);
    job_finish(&job);
}

TEST(transfers_far_below_the_limit_of_the_links_are_named) {
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 4, 4);
    collective(&script, "allreduce", "world", 0, 1, 4, 1024, 1000);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned r = 0; r < 4; r++)
            compute(&script, r, 10 * MS);
        /* 1.5 * 100 MB in 10 ms: 15 GB/s of 450 GB/s */
        collective(&script, "allreduce", "world", 0, 1, 4, 100000000, 10 * MS);
    }
    struct job_finding found = judged(&job, JOB_LINK_LIMIT);
    CHECK(fabs(found.rate / 15e9 - 1) < 0.01);
    CHECK(fabs(found.typical_rate - 450e9) < 1);
    CHECK(fabs((double)found.cost / (STEPS * 10.0 * MS * (1 - 15.0 / 360)) - 1) < 0.01);
    job_finish(&job);
}

TEST(groups_with_much_traffic_belong_inside_hosts) {
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 4, 2);
    collective(&script, "allreduce", "world", 0, 1, 4, 1024, 1000);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned r = 0; r < 4; r++)
            compute(&script, r, 10 * MS);
        /* tensor parallel over hosts: 8 times 100 MB at 10 GB/s; data parallel inside: 100 GB/s */
        for (unsigned k = 0; k < 8; k++) {
            collective(&script, "allreduce", "tp0", 0, 2, 2, 100000000, 10 * MS);
            collective(&script, "allreduce", "tp1", 1, 2, 2, 100000000, 10 * MS);
        }
        collective(&script, "allreduce", "dp0", 0, 1, 2, 100000000, MS);
        collective(&script, "allreduce", "dp1", 2, 1, 2, 100000000, MS);
        collective(&script, "allreduce", "world", 0, 1, 4, 1024, 1000);
    }
    struct job_finding found = judged(&job, JOB_TOPOLOGY);
    CHECK(fabs(found.ratio - 8) < 0.01);
    CHECK(fabs((double)found.cost / (STEPS * (81.0 - 18.0) * MS) - 1) < 0.01);
    job_finish(&job);
}

TEST(transfers_that_nothing_hides_could_overlap) {
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 4, 4);
    collective(&script, "allreduce", "world", 0, 1, 4, 1024, 3 * MS);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned r = 0; r < 4; r++)
            compute(&script, r, 10 * MS);
        collective(&script, "allreduce", "world", 0, 1, 4, 1024, 3 * MS);
    }
    struct job_finding found = judged(&job, JOB_OVERLAP);
    CHECK_INT(found.cost, STEPS * 3 * MS);
    job_finish(&job);
    CHECK_INT(judged(&job, JOB_OVERLAP).cost, -1); /* of no ranks */
    job_finish(&job);
}

TEST(many_small_collectives_in_a_step_are_named) {
    struct job job = {0};
    struct script script;
    begin_script(&script, &job, 4, 4);
    collective(&script, "allreduce", "world", 0, 1, 4, 1 << 21, 3 * MS);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned k = 0; k < 10; k++) {
            for (unsigned r = 0; r < 4; r++)
                compute(&script, r, MS);
            collective(&script, "allreduce", "norms", 0, 1, 4, 256, MS);
        }
        collective(&script, "allreduce", "world", 0, 1, 4, 1 << 21, 3 * MS);
    }
    struct job_finding found = judged(&job, JOB_SMALL_MESSAGES);
    CHECK(fabs(found.count - 10) < 2);
    CHECK(fabs((double)found.cost / (STEPS * 9.0 * MS) - 1) < 0.2);
    job_finish(&job);
}
