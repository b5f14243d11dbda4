/* Ranges of a thread are sorted by start, an enclosing one first, so a stack of the open operators
 * gives the caller of each.
 */
#include "analysis/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

/* One call of an operator. */
struct operator_call {
    uint32_t name;
    int64_t self, total;
};

struct call_list {
    struct operator_call *items;
    size_t count, capacity;
};

struct open_operator {
    int64_t end;
    size_t call; /* index in the list; SIZE_MAX: not selected */
};

static bool add_thread(const struct model *model, uint32_t thread,
                       const struct selection *selection, struct call_list *list,
                       struct status *status) {
    const struct columns_range *range = &model->trace->range;
    struct open_operator *open = NULL;
    size_t depth = 0, capacity = 0;
    bool ok = true;
    for (size_t row = model->thread_ranges[thread]; row < model->thread_ranges[thread + 1] && ok;
         row++) {
        int64_t start = range->start[row], end = model_range_end(model, row);
        if (range->category[row] != RANGE_OP)
            continue;
        while (depth && open[depth - 1].end <= start)
            depth--;
        if (depth && open[depth - 1].call != SIZE_MAX) {
            int64_t inside = end < open[depth - 1].end ? end : open[depth - 1].end;
            struct operator_call *caller = &list->items[open[depth - 1].call];
            caller->self -= inside - start;
        }
        bool selected = !selection || selection_contains(selection, start);
        ok = GROW(open, &capacity, depth + 1, status) &&
             (!selected || GROW(list->items, &list->capacity, list->count + 1, status));
        if (!ok)
            break;
        open[depth++] = (struct open_operator){end, selected ? list->count : SIZE_MAX};
        if (selected)
            list->items[list->count++] =
                (struct operator_call){range->name[row], end - start, end - start};
    }
    memory_free(open);
    return ok;
}

static int by_name_and_self(const void *a, const void *b) {
    const struct operator_call *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->self < y->self ? -1 : x->self > y->self;
}

static int by_self(const void *a, const void *b) {
    const struct operator_group *x = a, *y = b;
    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static bool group_calls(struct call_list *list, struct operators *operators,
                        struct status *status) {
    size_t capacity = 0, first = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_name_and_self);
    for (size_t i = 1; i <= list->count; i++) {
        if (i < list->count && list->items[i].name == list->items[first].name)
            continue;
        if (!GROW(operators->groups, &capacity, operators->count + 1, status))
            return false;
        struct operator_group *group = &operators->groups[operators->count++];
        *group = (struct operator_group){.name = list->items[first].name,
                                         .count = i - first,
                                         .min = list->items[first].self,
                                         .median = list->items[first + (i - first) / 2].self,
                                         .max = list->items[i - 1].self};
        for (size_t k = first; k < i; k++) {
            group->self += list->items[k].self;
            group->total += list->items[k].total;
        }
        operators->self += group->self;
        first = i;
    }
    if (operators->count)
        qsort(operators->groups, operators->count, sizeof *operators->groups, by_self);
    return true;
}

bool operators_find(const struct model *model, const struct selection *selection,
                    struct operators *operators, struct status *status) {
    struct call_list list = {0};
    bool ok = true;
    memset(operators, 0, sizeof *operators);
    for (uint32_t thread = 1; thread < model->trace->thread.count && ok; thread++)
        ok = add_thread(model, thread, selection, &list, status);
    ok = ok && group_calls(&list, operators, status);
    memory_free(list.items);
    if (!ok)
        operators_finish(operators);
    return ok;
}

void operators_finish(struct operators *operators) {
    memory_free(operators->groups);
    memset(operators, 0, sizeof *operators);
}
