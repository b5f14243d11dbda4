/* Each distinct name is shortened once; rows are then counted by group number, and durations are
 * collected group by group (a counting sort) for the medians. */
#include "analysis/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/key_index.h"
#include "base/sort.h"

struct gather {
    const struct model *model;
    const struct occupancy *occupancy;
    const struct work *work;
    const struct selection *by_device;
    size_t first, end;                /* activities */
    struct key_index variant_of_name; /* by string id */
    size_t variant_capacity, group_capacity;
};

static bool counts(const struct gather *gather, size_t activity) {
    return gather->model->trace->activity.kind[activity] == ACTIVITY_KERNEL &&
           model_selected(gather->model, gather->by_device, activity);
}

enum occupancy_limit kernel_occupancy_limit(const struct kernel_occupancy *occupancy) {
    unsigned largest = 0;
    for (unsigned limit = 1; limit < OCCUPANCY_LIMITS; limit++)
        if (occupancy->limit_time[limit] > occupancy->limit_time[largest])
            largest = limit;
    return largest;
}

static void add_occupancy(const struct gather *gather, size_t activity,
                          struct kernel_occupancy *sum) {
    const struct occupancy *occupancy = gather->occupancy;
    int64_t duration = gather->model->trace->activity.duration[activity];
    if (!occupancy->share || occupancy->share[activity] <= 0)
        return;
    sum->time += duration;
    sum->weighted += (double)occupancy->share[activity] * (double)duration;
    sum->limit_time[occupancy->limit[activity]] += duration;
}

static void add_limits(const struct gather *gather, size_t activity, struct kernel_limits *sum) {
    const struct work *work = gather->work;
    int64_t duration = gather->model->trace->activity.duration[activity];
    if (!work->bytes)
        return;
    if (work->bytes[activity] > 0) {
        sum->bytes += work->bytes[activity];
        sum->bytes_time += duration;
    }
    if (work->flops[activity] > 0) {
        sum->flops += work->flops[activity];
        sum->flops_time += duration;
    }
    if (work->roof_ns[activity] > 0) {
        sum->roof += (double)work->roof_ns[activity];
        sum->roof_time += duration;
    }
    sum->bound_time[work->bound[activity]] += duration;
    sum->estimated |= work->source[activity] == WORK_SHADER;
}

static double a_second(double amount, int64_t ns) {
    return ns > 0 ? amount / (double)ns * 1e9 : 0;
}

double kernel_limits_byte_rate(const struct kernel_limits *limits) {
    return a_second(limits->bytes, limits->bytes_time);
}

double kernel_limits_flop_rate(const struct kernel_limits *limits) {
    return a_second(limits->flops, limits->flops_time);
}

double kernel_limits_intensity(const struct kernel_limits *limits) {
    double bytes = kernel_limits_byte_rate(limits);
    return bytes > 0 ? kernel_limits_flop_rate(limits) / bytes : 0;
}

double kernel_limits_reached(const struct kernel_limits *limits) {
    if (limits->roof_time <= 0)
        return 0;
    double reached = limits->roof / (double)limits->roof_time;
    return reached < 1 ? reached : 1; /* roofs are floats */
}

enum kernel_bound kernel_limits_bound(const struct kernel_limits *limits) {
    unsigned largest = BOUND_UNKNOWN;
    for (unsigned bound = 1; bound < KERNEL_BOUNDS; bound++)
        if (limits->bound_time[bound] > limits->bound_time[largest])
            largest = bound;
    return largest;
}

static bool add_variant(struct gather *gather, struct kernels *kernels, uint32_t name,
                        struct status *status) {
    struct buffer text = {0};
    uint32_t id = 0;
    bool ok = kernel_short_name(trace_text(gather->model->trace, name), &text, status) &&
              intern_add(&kernels->names, buffer_as_text(&text), &id, status);
    buffer_finish(&text);
    if (!ok ||
        !GROW(kernels->variants, &gather->variant_capacity, kernels->variant_count + 1, status))
        return false;
    /* ids of the intern table count from 1 in order of appearance, 0 being "" */
    size_t group = id;
    while (kernels->group_count <= group) {
        if (!GROW(kernels->groups, &gather->group_capacity, kernels->group_count + 1, status))
            return false;
        kernels->groups[kernels->group_count++] = (struct kernel_group){.min = INT64_MAX};
    }
    kernels->groups[group].short_name = intern_text(&kernels->names, id);
    kernels->groups[group].full_names++;
    kernels->variants[kernels->variant_count++] = (struct kernel_variant){
        .name = name, .text = trace_text(gather->model->trace, name), .group = group};
    return true;
}

static bool count_rows(struct gather *gather, struct kernels *kernels, struct status *status) {
    const struct trace *trace = gather->model->trace;
    for (size_t i = gather->first; i < gather->end; i++) {
        if (!counts(gather, i))
            continue;
        uint32_t name = trace->activity.name[i];
        size_t place;
        if (!key_index_find(&gather->variant_of_name, name, &place, status) ||
            (place == kernels->variant_count && !add_variant(gather, kernels, name, status)))
            return false;
        struct kernel_variant *variant = &kernels->variants[place];
        struct kernel_group *group = &kernels->groups[variant->group];
        int64_t duration = trace->activity.duration[i];
        add_occupancy(gather, i, &group->occupancy);
        add_occupancy(gather, i, &kernels->occupancy);
        add_limits(gather, i, &group->limits);
        add_limits(gather, i, &kernels->limits);
        variant->count++;
        variant->total += duration;
        group->count++;
        group->total += duration;
        group->min = duration < group->min ? duration : group->min;
        group->max = duration > group->max ? duration : group->max;
    }
    return true;
}

static bool find_medians(struct gather *gather, struct kernels *kernels, struct status *status) {
    const struct trace *trace = gather->model->trace;
    int64_t *durations = memory_allocate(kernels->count, sizeof *durations, status);
    size_t *next = memory_allocate(kernels->group_count + 1, sizeof *next, status);
    bool ok = durations && next;
    if (ok) {
        for (size_t group = 0; group < kernels->group_count; group++)
            next[group + 1] = next[group] + kernels->groups[group].count;
        for (size_t i = gather->first; i < gather->end; i++)
            if (counts(gather, i)) {
                size_t variant = 0; /* it exists: nothing is allocated */
                key_index_find(&gather->variant_of_name, trace->activity.name[i], &variant, status);
                durations[next[kernels->variants[variant].group]++] = trace->activity.duration[i];
            }
        size_t start = 0; /* next[g] is now the end of group g */
        for (size_t group = 0; group < kernels->group_count; group++) {
            size_t count = next[group] - start;
            if (count)
                kernels->groups[group].median = sort_select(durations + start, count, count / 2);
            start = next[group];
        }
        if (kernels->count)
            kernels->median = sort_select(durations, kernels->count, kernels->count / 2);
    }
    memory_free(durations);
    memory_free(next);
    return ok;
}

static int groups_by_time(const void *a, const void *b) {
    const struct kernel_group *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return text_compare(x->short_name, y->short_name);
}

static int variants_by_time(const void *a, const void *b) {
    const struct kernel_variant *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return text_compare(x->text, y->text);
}

/* Sorts both lists, drops empty groups and renumbers the groups of variants. */
static bool rank_kernels(struct kernels *kernels, struct status *status) {
    size_t *place = memory_allocate(kernels->group_count, sizeof *place, status);
    if (!place)
        return false;
    for (size_t i = 0; i < kernels->group_count; i++)
        kernels->groups[i].full_name = (uint32_t)i; /* the old index, temporarily */
    if (kernels->group_count)
        qsort(kernels->groups, kernels->group_count, sizeof *kernels->groups, groups_by_time);
    size_t kept = 0;
    for (size_t i = 0; i < kernels->group_count; i++) {
        place[kernels->groups[i].full_name] = kept;
        if (kernels->groups[i].count)
            kernels->groups[kept++] = kernels->groups[i];
    }
    kernels->group_count = kept;
    if (kernels->variant_count)
        qsort(kernels->variants, kernels->variant_count, sizeof *kernels->variants,
              variants_by_time);
    for (size_t i = kernels->variant_count; i-- > 0;) {
        kernels->variants[i].group = place[kernels->variants[i].group];
        kernels->groups[kernels->variants[i].group].full_name = kernels->variants[i].name;
    }
    memory_free(place);
    return true;
}

bool kernels_find(const struct model *model, const struct occupancy *occupancy,
                  const struct work *work, uint32_t device, const struct selection *by_device,
                  struct kernels *kernels, struct status *status) {
    const struct trace *trace = model->trace;
    memset(kernels, 0, sizeof *kernels);
    struct gather gather = {
        .model = model,
        .occupancy = occupancy,
        .work = work,
        .by_device = by_device,
        .end = trace->activity.count,
    };
    if (device) {
        gather.first = model->device_first[device];
        gather.end = model->device_first[device + 1];
    }
    bool ok = count_rows(&gather, kernels, status);
    kernels->min = INT64_MAX;
    for (size_t i = 0; i < kernels->group_count && ok; i++) {
        const struct kernel_group *group = &kernels->groups[i];
        kernels->count += group->count;
        kernels->total += group->total;
        kernels->min = group->min < kernels->min ? group->min : kernels->min;
        kernels->max = group->max > kernels->max ? group->max : kernels->max;
    }
    if (kernels->count == 0)
        kernels->min = 0;
    ok = ok && find_medians(&gather, kernels, status) && rank_kernels(kernels, status);
    key_index_finish(&gather.variant_of_name);
    if (!ok)
        kernels_finish(kernels);
    return ok;
}

void kernels_finish(struct kernels *kernels) {
    memory_free(kernels->groups);
    memory_free(kernels->variants);
    intern_finish(&kernels->names);
    memset(kernels, 0, sizeof *kernels);
}
