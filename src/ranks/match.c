/* Which operations of the ranks are the same collective?
 *
 * Two operations match if their groups and their sequence numbers are equal. Without sequence
 * numbers, the nth operation of a rank with this group, kind and size matches the nth of the
 * others. If ranks have different numbers of those, some were lost: then they match where they
 * overlap in time, on one host, and not at all across hosts. Messages match by sender, receiver and
 * order. An operation that more ranks share than its group has is ambiguous and not matched.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "ranks/ranks.h"

/* A class of operations: those that differ only in their place in the order. */
static uint64_t class_key(const struct rank_event *event, struct text operation) {
    uint64_t parts[5] = {event->group, event->operation, event->sequence, 0, 0};
    if (event->sequence == 0)
        parts[3] = event->bytes;
    if (text_is(operation, "send") || text_is(operation, "recv")) {
        bool sends = text_is(operation, "send");
        parts[1] = 0;
        parts[2] = 0;
        parts[3] = (uint64_t)(uint32_t)(sends ? event->group_rank : event->peer) + 1;
        parts[4] = (uint64_t)(uint32_t)(sends ? event->peer : event->group_rank) + 1;
    }
    return checksum64(parts, sizeof parts);
}

static uint64_t place_key(uint64_t class, uint64_t place) {
    uint64_t parts[2] = {class, place};
    return checksum64(parts, sizeof parts);
}

static enum dependence dependence_of(struct text operation, int32_t root) {
    static const char *const all[] = {"allreduce", "allgather", "reduce_scatter", "alltoall",
                                      "barrier"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (text_is(operation, all[i]))
            return DEPENDS_ALL;
    if (text_is(operation, "send") || text_is(operation, "recv"))
        return DEPENDS_SENDER;
    if (root < 0)
        return DEPENDS_UNKNOWN;
    if (text_is(operation, "broadcast") || text_is(operation, "scatter"))
        return DEPENDS_ROOT;
    if (text_is(operation, "reduce") || text_is(operation, "gather"))
        return DEPENDS_GATHER;
    return DEPENDS_UNKNOWN;
}

/* ---- places in the order ---- */

/* Operations of one class on one rank, in order. */
struct class_list {
    uint64_t key;
    uint32_t rank;
    uint32_t *events;
    size_t count, capacity;
};

struct matching {
    struct job *job;
    struct map lists; /* (class, rank) to index in `classes` */
    struct class_list *classes;
    size_t class_count, class_capacity;
    struct map longest; /* class to the index of its longest list */
    struct map lossy;   /* classes whose lists differ in length */
    struct map open;    /* place to index of the collective */
};

static bool list_event(struct matching *matching, uint64_t class, uint32_t rank, uint32_t event,
                       struct status *status) {
    uint64_t key = place_key(class, rank);
    const uint64_t *known = map_find(&matching->lists, key);
    size_t at = known ? (size_t)*known : matching->class_count;
    if (!known) {
        if (!GROW(matching->classes, &matching->class_capacity, at + 1, status) ||
            !map_set(&matching->lists, key, at, status))
            return false;
        matching->classes[matching->class_count++] =
            (struct class_list){.key = class, .rank = rank};
    }
    struct class_list *list = &matching->classes[at];
    if (!GROW(list->events, &list->capacity, list->count + 1, status))
        return false;
    list->events[list->count++] = event;
    return true;
}

static bool list_events(struct matching *matching, struct status *status) {
    struct job *job = matching->job;
    for (uint32_t r = 0; r < job->rank_count; r++)
        for (uint32_t e = 0; e < job->ranks[r].event_count; e++) {
            const struct rank_event *event = &job->ranks[r].events[e];
            struct text operation = job_text(job, event->operation);
            job->events++;
            if (text_is(operation, "wait")) {
                job->waits++;
                continue;
            }
            if (operation.length &&
                !list_event(matching, class_key(event, operation), r, e, status))
                return false;
        }
    for (size_t i = 0; i < matching->class_count; i++) {
        const struct class_list *list = &matching->classes[i];
        const uint64_t *known = map_find(&matching->longest, list->key);
        if ((!known || matching->classes[*known].count < list->count) &&
            !map_set(&matching->longest, list->key, i, status))
            return false;
    }
    for (size_t i = 0; i < matching->class_count; i++) {
        const struct class_list *list = &matching->classes[i];
        if (matching->classes[*map_find(&matching->longest, list->key)].count != list->count &&
            !map_set(&matching->lossy, list->key, 1, status))
            return false;
    }
    return true;
}

/* ---- members ---- */

static bool join_event(struct matching *matching, uint64_t place, uint32_t rank, uint32_t event,
                       struct status *status) {
    struct job *job = matching->job;
    struct rank_event *own = &job->ranks[rank].events[event];
    const uint64_t *known = map_find(&matching->open, place);
    if (known) {
        own->collective = (size_t)*known;
        job->collectives[own->collective].count++;
        return true;
    }
    if (!GROW(job->collectives, &job->collective_capacity, job->collective_count + 1, status) ||
        !map_set(&matching->open, place, job->collective_count, status))
        return false;
    own->collective = job->collective_count;
    job->collectives[job->collective_count++] = (struct collective){
        .operation = own->operation,
        .group = own->group,
        .bytes = own->bytes,
        .sequence = own->sequence,
        .dependence = dependence_of(job_text(job, own->operation), own->root),
        .count = 1,
        .expected = own->group_size,
        .is_device = own->is_device,
    };
    return true;
}

static bool same_host(const struct job *job, uint32_t a, uint32_t b) {
    return job->ranks[a].host && job->ranks[a].host == job->ranks[b].host;
}

/* Some operations were lost: each matches the one of the longest list that it overlaps in time. */
static bool join_by_time(struct matching *matching, const struct class_list *list,
                         const struct class_list *longest, struct status *status) {
    struct job *job = matching->job;
    size_t at = 0;
    if (!same_host(job, list->rank, longest->rank))
        return true;
    for (size_t i = 0; i < list->count; i++) {
        const struct rank_event *own = &job->ranks[list->rank].events[list->events[i]];
        const struct rank_event *other = NULL;
        for (; at < longest->count; at++) {
            other = &job->ranks[longest->rank].events[longest->events[at]];
            if (other->end >= own->start)
                break;
        }
        if (at == longest->count)
            return true;
        if (other->start > own->end)
            continue;
        if (!join_event(matching, place_key(list->key, at++), list->rank, list->events[i], status))
            return false;
    }
    return true;
}

/* A message has two lists, the sender's and the receiver's: the order decides alone. */
static bool join_lists(struct matching *matching, struct status *status) {
    for (size_t i = 0; i < matching->class_count; i++) {
        const struct class_list *list = &matching->classes[i];
        const struct class_list *longest =
            &matching->classes[*map_find(&matching->longest, list->key)];
        const struct rank_event *event = &matching->job->ranks[list->rank].events[list->events[0]];
        if (list != longest && event->sequence == 0 && map_find(&matching->lossy, list->key)) {
            if (!join_by_time(matching, list, longest, status))
                return false;
            continue;
        }
        for (size_t k = 0; k < list->count; k++)
            if (!join_event(matching, place_key(list->key, k), list->rank, list->events[k], status))
                return false;
    }
    return true;
}

static size_t expected_members(const struct job *job, const struct collective *collective) {
    if (collective->dependence == DEPENDS_SENDER)
        return 2;
    return collective->expected ? collective->expected
                                : (size_t)MAX(job->world, (int64_t)job->rank_count);
}

/* Leaves out what has no partner or too many, and lists the members of the rest. */
static bool list_members(struct job *job, struct status *status) {
    size_t *renumbered = memory_allocate(job->collective_count + 1, sizeof *renumbered, status);
    size_t kept = 0, members = 0;
    if (!renumbered)
        return false;
    for (size_t i = 0; i < job->collective_count; i++) {
        struct collective collective = job->collectives[i];
        bool matched =
            collective.count > 1 && collective.count <= MAX(expected_members(job, &collective), 2);
        renumbered[i] = matched ? kept : NO_COLLECTIVE;
        if (!matched)
            continue;
        collective.first = members;
        members += collective.count;
        collective.count = 0;
        job->collectives[kept++] = collective;
    }
    job->collective_count = kept;
    job->member_count = members;
    job->members = memory_allocate(members + 1, sizeof *job->members, status);
    for (uint32_t r = 0; job->members && r < job->rank_count; r++)
        for (uint32_t e = 0; e < job->ranks[r].event_count; e++) {
            struct rank_event *event = &job->ranks[r].events[e];
            if (event->collective == NO_COLLECTIVE)
                continue;
            event->collective = renumbered[event->collective];
            if (event->collective == NO_COLLECTIVE)
                continue;
            struct collective *collective = &job->collectives[event->collective];
            job->members[collective->first + collective->count++] = (struct member){r, e};
        }
    memory_free(renumbered);
    return job->members != NULL;
}

static void count_matched(struct job *job) {
    for (size_t i = 0; i < job->collective_count; i++) {
        const struct collective *collective = &job->collectives[i];
        if (collective->count >= expected_members(job, collective))
            job->matched += collective->count;
        else
            job->partial += collective->count;
    }
}

bool job_match(struct job *job, struct status *status) {
    struct matching matching = {.job = job};
    bool ok = list_events(&matching, status) && join_lists(&matching, status) &&
              list_members(job, status);
    if (ok)
        count_matched(job);
    for (size_t i = 0; i < matching.class_count; i++)
        memory_free(matching.classes[i].events);
    memory_free(matching.classes);
    map_finish(&matching.lists);
    map_finish(&matching.longest);
    map_finish(&matching.lossy);
    map_finish(&matching.open);
    return ok;
}
