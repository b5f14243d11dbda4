/* Are links used as fast as they could be? Groups that do the same are compared with each other and
 * with the published limit of the device's links. */
#include <stdlib.h>

#include "analysis/communication.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"
#include "ranks/findings.h"
#include "ranks/replay.h"

static const uint64_t LARGE = 1 << 20; /* smaller transfers are dominated by their latency */
static const double SLOWER = 1.5;      /* than the others */
static const double LIMIT_SHARE = 0.5; /* of a published limit: less is slow */
static const double REACHABLE = 0.8;   /* of a published limit, as ring all-reduces reach */

/* Collectives of one operation, size and group, or messages of one sender and receiver. */
struct use {
    uint32_t operation, group;
    uint64_t bytes, count;
    size_t ranks;
    int64_t sender, receiver; /* rank numbers of a message; else -1 */
    int64_t transfer;         /* sum */
    double link_bytes;        /* of one */
    bool spans_hosts, is_device;
};

struct uses {
    const struct job *job;
    struct use *list;
    size_t count, capacity;
    size_t *of;            /* by collective: index in `list` */
    double *scale;         /* by use: factor of its transfers in a change */
    double *by_collective; /* likewise */
};

static int64_t transfer_of(const struct collective *collective) {
    return MAX(collective->end - collective->last_arrival, 0);
}

static bool spans_hosts(const struct job *job, const struct collective *collective) {
    uint32_t host = job->ranks[job->members[collective->first].rank].host;
    for (size_t i = 1; i < collective->count; i++)
        if (job->ranks[job->members[collective->first + i].rank].host != host)
            return true;
    return false;
}

static void find_ends(const struct job *job, const struct collective *collective, struct use *use) {
    use->sender = use->receiver = -1;
    for (size_t i = 0; collective->dependence == DEPENDS_SENDER && i < collective->count; i++) {
        const struct member *member = &job->members[collective->first + i];
        const struct rank *rank = &job->ranks[member->rank];
        if (text_is(job_text(job, rank->events[member->event].operation), "recv"))
            use->receiver = rank->number;
        else
            use->sender = rank->number;
    }
}

static bool list_uses(struct uses *uses, struct status *status) {
    const struct job *job = uses->job;
    struct map known = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < job->collective_count; i++) {
        const struct collective *collective = &job->collectives[i];
        struct use use = {.operation = collective->operation,
                          .group = collective->group,
                          .bytes = collective->bytes,
                          .ranks = collective->count,
                          .link_bytes = collective->dependence == DEPENDS_SENDER
                                            ? (double)collective->bytes
                                            : collective_link_bytes(job, collective),
                          .spans_hosts = spans_hosts(job, collective),
                          .is_device = collective->is_device};
        find_ends(job, collective, &use);
        uint64_t key[5] = {use.sender < 0 ? use.operation : 0, use.group, use.bytes,
                           (uint64_t)use.sender, (uint64_t)use.receiver};
        uint64_t hash = checksum64(key, sizeof key);
        const uint64_t *found = map_find(&known, hash);
        uses->of[i] = found ? (size_t)*found : uses->count;
        if (!found) {
            ok = GROW(uses->list, &uses->capacity, uses->count + 1, status) &&
                 map_set(&known, hash, uses->count, status);
            if (ok)
                uses->list[uses->count++] = use;
        }
        if (ok) {
            uses->list[uses->of[i]].count++;
            uses->list[uses->of[i]].transfer += transfer_of(collective);
        }
    }
    map_finish(&known);
    return ok;
}

static double mean_transfer(const struct use *use) {
    return (double)use->transfer / (double)MAX(use->count, 1);
}

static double rate_of(const struct use *use) {
    return use->transfer > 0 ? use->link_bytes / (mean_transfer(use) / 1e9) : 0;
}

static void reset_scale(struct uses *uses) {
    for (size_t i = 0; i < uses->count; i++)
        uses->scale[i] = 1;
}

static bool add(struct job_findings *findings, struct uses *uses, struct job_finding finding,
                struct status *status) {
    struct job_change change = {.without_straggler = SIZE_MAX,
                                .transfer_scale = uses->by_collective};
    for (size_t i = 0; i < uses->job->collective_count; i++)
        uses->by_collective[i] = uses->scale[uses->of[i]];
    return job_gain(uses->job, &change, &finding.cost, status) &&
           job_finding_add(findings, uses->job, finding, status);
}

/* ---- slow links ---- */

/* Groups and pairs that do the same are of one class. */
static int compare_class(const struct use *a, const struct use *b) {
    uint64_t x[] = {a->sender >= 0 ? 0 : a->operation + 1, a->bytes, a->ranks, a->is_device,
                    a->spans_hosts};
    uint64_t y[] = {b->sender >= 0 ? 0 : b->operation + 1, b->bytes, b->ranks, b->is_device,
                    b->spans_hosts};
    for (size_t i = 0; i < ARRAY_COUNT(x); i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int by_class(const void *a, const void *b) {
    const struct use *x = *(struct use *const *)a, *y = *(struct use *const *)b;
    int order = compare_class(x, y);
    return order ? order : x < y ? -1 : x > y;
}

/* A use that is slower than those of its class. */
struct slow_use {
    struct use *use;
    int64_t typical, excess;
};

/* The lower median of the others of the class. */
static int64_t typical_transfer(struct use *const *class, size_t count, size_t own,
                                int64_t *times) {
    size_t others = 0;
    for (size_t k = 0; k < count; k++)
        if (k != own)
            times[others++] = (int64_t)mean_transfer(class[k]);
    return others ? sort_select(times, others, (others - 1) / 2) : 0;
}

/* Those that cost most; few, since each is replayed. */
enum { SLOW_USES = 3 };
static void keep_slow(struct slow_use slow[SLOW_USES], struct slow_use found) {
    for (size_t i = 0; i < SLOW_USES; i++)
        if (found.excess > slow[i].excess) {
            struct slow_use next = slow[i];
            slow[i] = found;
            found = next;
        }
}

/* Classes of thousands of groups are compared by their median once: leaving out the group itself
 * would not change it. */
static void judge_class(struct use *const *class, size_t count, int64_t *times,
                        struct slow_use slow[SLOW_USES]) {
    enum { MANY = 64 };
    int64_t typical = typical_transfer(class, count, SIZE_MAX, times);
    for (size_t i = 0; i < count && count > 1; i++) {
        struct use *use = class[i];
        double own = mean_transfer(use);
        if (count < MANY)
            typical = typical_transfer(class, count, i, times);
        if (typical > 0 && own > SLOWER * (double)typical)
            keep_slow(slow, (struct slow_use){use, typical,
                                              use->transfer - typical * (int64_t)use->count});
    }
}

static bool find_slow_links(struct job_findings *findings, struct uses *uses,
                            struct status *status) {
    struct slow_use slow[SLOW_USES] = {0};
    int64_t *times = memory_allocate(uses->count + 1, sizeof *times, status);
    struct use **order = memory_allocate(uses->count + 1, sizeof *order, status);
    bool ok = times && order;
    size_t count = 0;
    for (size_t i = 0; ok && i < uses->count; i++)
        if (uses->list[i].bytes >= LARGE && uses->list[i].count >= 3)
            order[count++] = &uses->list[i];
    if (count)
        qsort(order, count, sizeof *order, by_class);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && compare_class(order[i], order[end]) == 0;)
            end++;
        judge_class(order + i, end - i, times, slow);
    }
    for (size_t i = 0; ok && i < SLOW_USES && slow[i].use; i++) {
        const struct use *use = slow[i].use;
        double own = mean_transfer(use), typical = (double)slow[i].typical;
        reset_scale(uses);
        uses->scale[use - uses->list] = typical / own;
        ok = add(findings, uses,
                 (struct job_finding){.kind = JOB_SLOW_LINK,
                                      .group = use->group,
                                      .operation = use->operation,
                                      .sender = use->sender,
                                      .receiver = use->receiver,
                                      .ratio = own / typical,
                                      .rate = rate_of(use),
                                      .typical_rate = use->link_bytes / (typical / 1e9)},
                 status);
    }
    memory_free(times);
    memory_free(order);
    return ok;
}

/* ---- limits ---- */

static double limit_of(const struct uses *uses) {
    double limit = 0;
    for (size_t r = 0; r < uses->job->rank_count; r++) {
        const struct rank *rank = &uses->job->ranks[r];
        double of_rank = rank->device ? device_link_limit(job_text(uses->job, rank->device)) : 0;
        limit = r == 0 ? of_rank : MIN(limit, of_rank);
    }
    return limit;
}

/* Inside one machine; nothing is known about the links between machines. */
static bool find_below_limit(struct job_findings *findings, struct uses *uses,
                             struct status *status) {
    double limit = limit_of(uses);
    size_t worst = SIZE_MAX;
    if (limit <= 0)
        return true;
    reset_scale(uses);
    for (size_t i = 0; i < uses->count; i++) {
        const struct use *use = &uses->list[i];
        double rate = rate_of(use);
        if (use->bytes < 16 * LARGE || !use->is_device || use->spans_hosts ||
            !(rate > 0 && rate < LIMIT_SHARE * limit))
            continue;
        uses->scale[i] = rate / (REACHABLE * limit);
        if (worst == SIZE_MAX || use->transfer > uses->list[worst].transfer)
            worst = i;
    }
    if (worst == SIZE_MAX)
        return true;
    struct job_finding finding = {.kind = JOB_LINK_LIMIT,
                                  .group = uses->list[worst].group,
                                  .operation = uses->list[worst].operation,
                                  .rate = rate_of(&uses->list[worst]),
                                  .typical_rate = limit,
                                  .sender = -1,
                                  .receiver = -1};
    return add(findings, uses, finding, status);
}

/* ---- topology ---- */

/* Traffic of groups inside hosts, or of those that span hosts though a host could hold them. */
struct traffic {
    double bytes, seconds; /* of all links */
    size_t groups, largest;
};

static size_t ranks_of_a_host(const struct job *job) {
    size_t most = 0;
    for (size_t r = 0; r < job->rank_count; r++) {
        size_t count = 0;
        for (size_t k = 0; k < job->rank_count; k++)
            count += job->ranks[k].host == job->ranks[r].host;
        most = MAX(most, count);
    }
    return most;
}

static bool is_partial(const struct uses *uses, const struct use *use, size_t per_host) {
    return use->ranks < uses->job->rank_count && use->ranks <= per_host && use->link_bytes > 0 &&
           use->bytes >= LARGE && use->sender < 0;
}

static struct traffic sum_traffic(const struct uses *uses, bool spanning, size_t per_host) {
    struct traffic traffic = {.largest = SIZE_MAX};
    for (size_t i = 0; i < uses->count; i++) {
        const struct use *use = &uses->list[i];
        if (use->spans_hosts != spanning || !is_partial(uses, use, per_host))
            continue;
        traffic.bytes += use->link_bytes * (double)use->count * (double)use->ranks;
        traffic.seconds += (double)use->transfer / 1e9 * (double)use->ranks;
        traffic.groups++;
        if (traffic.largest == SIZE_MAX || use->transfer > uses->list[traffic.largest].transfer)
            traffic.largest = i;
    }
    return traffic;
}

/* The groups with more traffic should be those inside hosts. */
static bool find_topology(struct job_findings *findings, struct uses *uses, struct status *status) {
    static const double margin = 1.2;
    const struct job *job = uses->job;
    size_t per_host = ranks_of_a_host(job);
    if (job->clock_count < 2 || per_host < 2 || per_host == job->rank_count)
        return true;
    struct traffic across = sum_traffic(uses, true, per_host);
    struct traffic inside = sum_traffic(uses, false, per_host);
    if (!across.groups || !inside.groups || across.seconds <= 0 || inside.seconds <= 0)
        return true;
    double rate = across.bytes / across.seconds, typical = inside.bytes / inside.seconds;
    if (across.bytes < margin * inside.bytes || typical < SLOWER * rate)
        return true;
    reset_scale(uses);
    for (size_t i = 0; i < uses->count; i++)
        if (is_partial(uses, &uses->list[i], per_host))
            uses->scale[i] = uses->list[i].spans_hosts ? rate / typical : typical / rate;
    struct job_finding finding = {.kind = JOB_TOPOLOGY,
                                  .group = uses->list[across.largest].group,
                                  .operation = uses->list[across.largest].operation,
                                  .rate = rate,
                                  .typical_rate = typical,
                                  .ratio = across.bytes / inside.bytes,
                                  .sender = -1,
                                  .receiver = -1};
    return add(findings, uses, finding, status);
}

/* ---- small messages ---- */

/* Those of one group and operation in a step could be one. */
static bool find_small(struct job_findings *findings, struct uses *uses, struct status *status) {
    enum { MANY = 4 };
    const struct job *job = uses->job;
    double steps = (double)MAX(job->steps.count, 1), count = 0, bytes = 0;
    size_t top = SIZE_MAX;
    reset_scale(uses);
    for (size_t i = 0; i < uses->count; i++) {
        const struct use *use = &uses->list[i];
        double in_step = (double)use->count / steps;
        if (use->bytes == 0 || use->bytes >= LARGE || in_step < MANY || use->sender >= 0)
            continue;
        uses->scale[i] = 1 / in_step;
        count += in_step;
        bytes += in_step * (double)use->bytes;
        if (top == SIZE_MAX || use->transfer > uses->list[top].transfer)
            top = i;
    }
    if (top == SIZE_MAX)
        return true;
    struct job_finding finding = {.kind = JOB_SMALL_MESSAGES,
                                  .group = uses->list[top].group,
                                  .operation = uses->list[top].operation,
                                  .count = count,
                                  .bytes = (uint64_t)(bytes / count),
                                  .sender = -1,
                                  .receiver = -1};
    return add(findings, uses, finding, status);
}

bool find_links(struct job_findings *findings, const struct job *job, struct status *status) {
    struct uses uses = {.job = job};
    uses.of = memory_allocate(job->collective_count + 1, sizeof *uses.of, status);
    uses.by_collective =
        memory_allocate(job->collective_count + 1, sizeof *uses.by_collective, status);
    bool ok = uses.of && uses.by_collective && list_uses(&uses, status) &&
              (uses.scale = memory_allocate(uses.count + 1, sizeof *uses.scale, status)) &&
              find_slow_links(findings, &uses, status) &&
              find_below_limit(findings, &uses, status) && find_topology(findings, &uses, status) &&
              find_small(findings, &uses, status);
    memory_free(uses.of);
    memory_free(uses.scale);
    memory_free(uses.by_collective);
    memory_free(uses.list);
    return ok;
}
