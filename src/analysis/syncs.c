/* Walks each thread's synchronizing calls beside its list of innermost ranges. */
#include "analysis/syncs.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

static int by_time(const void *a, const void *b) {
    const struct sync_site *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    int order = text_compare(x->call_text, y->call_text);
    return order ? order : text_compare(x->range_text, y->range_text);
}

static bool add_site(const struct trace *trace, struct syncs *syncs, struct map *sites,
                     size_t *capacity, uint32_t call, uint32_t range, int64_t time,
                     struct status *status) {
    uint64_t key = (uint64_t)call << 32 | range, *known = map_find(sites, key);
    if (!known) {
        if (!GROW(syncs->sites, capacity, syncs->site_count + 1, status) ||
            !map_set(sites, key, syncs->site_count, status))
            return false;
        syncs->sites[syncs->site_count++] =
            (struct sync_site){.call = call,
                               .range = range,
                               .call_text = trace_text(trace, call),
                               .range_text = trace_text(trace, range)};
    }
    struct sync_site *site = &syncs->sites[known ? *known : syncs->site_count - 1];
    site->count++;
    site->total += time;
    site->max = time > site->max ? time : site->max;
    syncs->count++;
    syncs->total += time;
    return true;
}

static bool inside(const struct selection *selection, int64_t start) {
    return !selection || selection_contains(selection, start);
}

bool syncs_find(const struct model *model, const struct host *host,
                const struct selection *selection, struct syncs *syncs, struct status *status) {
    const struct trace *trace = model->trace;
    struct map sites = {0};
    size_t capacity = 0;
    bool ok = true;
    memset(syncs, 0, sizeof *syncs);
    for (uint32_t thread = 0; thread < trace->thread.count && ok; thread++) {
        size_t change = host->thread_first[thread], end = host->thread_first[thread + 1];
        for (size_t i = model->thread_calls[thread]; i < model->thread_calls[thread + 1] && ok;
             i++) {
            int64_t start = trace->call.start[i];
            if (trace->call.class[i] != CALL_SYNC || model->call_nested[i] ||
                !inside(selection, start))
                continue;
            while (change + 1 < end && host->change_time[change + 1] <= start)
                change++;
            uint32_t range = change < end && host->change_time[change] <= start
                                 ? host->change_range[change]
                                 : NO_ROW;
            ok = add_site(trace, syncs, &sites, &capacity, trace->call.name[i],
                          range == NO_ROW ? 0 : trace->range.name[range], trace->call.duration[i],
                          status);
        }
    }
    map_finish(&sites);
    for (size_t i = 0; i < trace->wait.count; i++)
        if (inside(selection, trace->wait.start[i])) {
            unsigned kind = trace->wait.kind[i] < WAIT_KINDS ? trace->wait.kind[i] : WAIT_UNKNOWN;
            syncs->records[kind]++;
            syncs->record_time[kind] += trace->wait.duration[i];
        }
    if (!ok) {
        syncs_finish(syncs);
        return false;
    }
    if (syncs->site_count)
        qsort(syncs->sites, syncs->site_count, sizeof *syncs->sites, by_time);
    return true;
}

void syncs_finish(struct syncs *syncs) {
    memory_free(syncs->sites);
    memset(syncs, 0, sizeof *syncs);
}
