/* A loop is identified by the caller of its function, the function and the line of its header.
 *
 * Calls with equal stacks are ambiguous: one instruction may launch several kernels, or it is
 * executed once an iteration. They count as iterations only if the loop has no other sign of
 * iterations.
 */
#include "analysis/loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lines.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"

enum {
    DEPTH_MAX = 1100, /* frames of a stack */
    SHARE_MIN = 10,   /* a loop with less than 1 / SHARE_MIN of the calls is not the run's */
    COUNTED_MAX = 12, /* loops whose iterations are counted */
    TURNS_MIN = 3,
};

/* ---- The tree of loops ---------------------------------------------------------------------- */

struct builder {
    const struct trace *trace;
    struct loops *loops;
    size_t capacity;
    struct map known; /* hash of the identity -> index + 1 */
};

static uint64_t loop_key(const struct trace *trace, uint32_t row, uint32_t line, uint32_t around) {
    uint32_t parts[] = {trace->stack.parent[row], trace->stack.file[row],
                        trace->stack.function_line[row], line, around};
    return checksum64(parts, sizeof parts);
}

/* Reads "LINE TEXT" up to the newline. */
static bool next_header(struct text *rest, uint32_t *line, struct text *text) {
    if (rest->length == 0)
        return false;
    ptrdiff_t newline = text_find(*rest, "\n");
    struct text header = {rest->data, newline < 0 ? rest->length : (size_t)newline};
    size_t taken = newline < 0 ? header.length : header.length + 1;
    *rest = (struct text){rest->data + taken, rest->length - taken};
    uint64_t number = 0;
    size_t digits = 0;
    while (digits < header.length && digits < 9 && header.data[digits] >= '0' &&
           header.data[digits] <= '9')
        number = 10 * number + (uint64_t)(header.data[digits++] - '0');
    *line = (uint32_t)number;
    size_t skip = digits < header.length ? digits + 1 : digits;
    *text = (struct text){header.data + skip, header.length - skip};
    return digits > 0;
}

static bool add_loop(struct builder *builder, uint32_t row, uint32_t line, struct text text,
                     uint32_t *around, struct status *status) {
    const struct trace *trace = builder->trace;
    struct loops *loops = builder->loops;
    uint64_t key = loop_key(trace, row, line, *around);
    const uint64_t *known = map_find(&builder->known, key);
    if (!known) {
        if (!GROW(loops->list, &builder->capacity, loops->count + 1, status) ||
            !map_set(&builder->known, key, loops->count + 1, status))
            return false;
        loops->list[loops->count++] = (struct program_loop){
            .frame = row,
            .caller = trace->stack.parent[row],
            .line = line,
            .text = text,
            .around = *around,
            .offset = trace->stack.offset[row],
        };
        *around = (uint32_t)loops->count;
        return true;
    }
    struct program_loop *loop = &loops->list[*known - 1];
    if (trace->stack.offset[row] < loop->offset)
        loop->offset = trace->stack.offset[row];
    *around = (uint32_t)*known;
    return true;
}

static bool build_tree(struct builder *builder, struct status *status) {
    const struct trace *trace = builder->trace;
    for (uint32_t row = 1; row < trace->stack.count; row++) {
        uint32_t around = builder->loops->inner[trace->stack.parent[row]], line;
        struct text rest = trace_text(trace, trace->stack.loops[row]), text;
        while (next_header(&rest, &line, &text))
            /* a comprehension or lambda has the line's loops around it as well */
            if (line >= trace->stack.function_line[row] &&
                !add_loop(builder, row, line, text, &around, status))
                return false;
        builder->loops->inner[row] = around;
    }
    return true;
}

static void count_calls(const struct model *model, struct loops *loops) {
    const struct trace *trace = model->trace;
    for (size_t i = 0; i < trace->call.count; i++) {
        if (model->call_nested[i] || !trace->call.stack[i] ||
            (trace->call.class[i] != CALL_LAUNCH && trace->call.class[i] != CALL_COPY))
            continue;
        loops->calls++;
        for (uint32_t loop = loops->inner[trace->call.stack[i]]; loop;
             loop = loops->list[loop - 1].around)
            loops->list[loop - 1].calls++;
    }
}

static bool is_inside(const struct loops *loops, uint32_t inner, uint32_t loop) {
    while (inner && inner != loop)
        inner = loops->list[inner - 1].around;
    return inner == loop;
}

/* ---- Turns ---------------------------------------------------------------------------------- */

/* A stack from the outermost frame inwards. */
struct path {
    uint32_t rows[DEPTH_MAX];
    unsigned count;
};

static void read_path(const struct trace *trace, uint32_t row, struct path *path) {
    unsigned count = 0;
    for (uint32_t at = row; at && count < DEPTH_MAX; at = trace->stack.parent[at])
        count++;
    path->count = count;
    for (uint32_t at = row; at && count > 0; at = trace->stack.parent[at])
        path->rows[--count] = at;
}

static void copy_path(struct path *to, const struct path *from) {
    memcpy(to->rows, from->rows, from->count * sizeof *from->rows);
    to->count = from->count;
}

struct turn_finder {
    const struct model *model;
    const struct loops *loops;
    uint32_t loop;                    /* index + 1 */
    unsigned depth;                   /* of its frame in a path */
    struct path *before, *now, first; /* of the calls, and of the iteration's first */
    uint32_t first_stack;             /* of the iteration */
    uint32_t usual_stack; /* of most calls in the loop, where these are the iterations; or 0 */
    uint32_t
        repeated;     /* with equal stacks: the name that begins an iteration when it comes again */
    uint64_t repeats; /* how often that name comes with its stack */
    bool seen;        /* in this iteration */
};

enum step_kind { SAME_TURN, NEXT_TURN, REPEATED /* equal stacks */ };

static bool same_code(const struct trace *trace, uint32_t a, uint32_t b) {
    return trace->stack.function_line[a] == trace->stack.function_line[b] &&
           trace->stack.file[a] == trace->stack.file[b] &&
           trace->stack.function[a] == trace->stack.function[b];
}

/* The outermost loop of the row's own function that is inside `around`; 0: none. */
static uint32_t loop_below(const struct turn_finder *finder, uint32_t row, uint32_t around) {
    uint32_t found = 0;
    for (uint32_t loop = finder->loops->inner[row]; loop && loop != around;
         loop = finder->loops->list[loop - 1].around)
        if (finder->loops->list[loop - 1].caller == finder->model->trace->stack.parent[row])
            found = loop;
    return found;
}

/* A frame's instruction, or where the loop inside begins that it is in. */
struct position {
    uint32_t offset, line;
};

static struct position position(const struct turn_finder *finder, uint32_t row, uint32_t inner) {
    const struct trace *trace = finder->model->trace;
    if (!inner)
        return (struct position){trace->stack.offset[row], trace->stack.statement[row]};
    const struct program_loop *loop = &finder->loops->list[inner - 1];
    return (struct position){loop->offset, loop->line};
}

/* The code of an exception handler is at the end of the function, and the way back from it is no
 * iteration: an iteration also goes back in the source, except from the condition of a while loop,
 * which is behind its body. */
static bool goes_back(struct position a, struct position b, uint32_t header) {
    return b.offset < a.offset && (b.line <= a.line || a.line == header);
}

/* In the loop's own frame. */
static enum step_kind compare_own(const struct turn_finder *finder, uint32_t a, uint32_t b) {
    uint32_t of_a = loop_below(finder, a, finder->loop), of_b = loop_below(finder, b, finder->loop);
    if (of_a && of_a == of_b)
        return SAME_TURN;
    return goes_back(position(finder, a, of_a), position(finder, b, of_b),
                     finder->loops->list[finder->loop - 1].line)
               ? NEXT_TURN
               : SAME_TURN;
}

/* Whether a loop inside this one repeats a call at this depth or further out. */
static bool is_repeated_inside(const struct turn_finder *finder, unsigned depth) {
    for (unsigned i = finder->depth; i <= depth; i++) {
        uint32_t row = finder->now->rows[i];
        uint32_t around = i == finder->depth
                              ? finder->loop
                              : finder->loops->inner[finder->model->trace->stack.parent[row]];
        if (loop_below(finder, row, around))
            return true;
    }
    return false;
}

/* In a frame below the loop's. */
static enum step_kind compare_below(const struct turn_finder *finder, unsigned depth) {
    const struct trace *trace = finder->model->trace;
    uint32_t a = finder->before->rows[depth], b = finder->now->rows[depth];
    if (same_code(trace, a, b)) {
        if (!goes_back(position(finder, a, 0), position(finder, b, 0), 0))
            return SAME_TURN;
        uint32_t around = finder->loops->inner[trace->stack.parent[b]];
        uint32_t of_a = loop_below(finder, a, around), of_b = loop_below(finder, b, around);
        if (of_a && of_a == of_b)
            return SAME_TURN;
    } else {
        uint32_t first = depth < finder->first.count ? finder->first.rows[depth] : 0;
        if (!first || !same_code(trace, first, b))
            return SAME_TURN;
    }
    return is_repeated_inside(finder, depth - 1) ? SAME_TURN : NEXT_TURN;
}

static uint32_t repeated_stack(const struct turn_finder *finder) {
    return finder->usual_stack ? finder->usual_stack : finder->first_stack;
}

static enum step_kind compare(const struct turn_finder *finder, uint32_t name) {
    unsigned depth = finder->depth;
    const struct path *a = finder->before, *b = finder->now;
    while (depth < a->count && depth < b->count && a->rows[depth] == b->rows[depth])
        depth++;
    if (depth < a->count && depth < b->count)
        return depth == finder->depth ? compare_own(finder, a->rows[depth], b->rows[depth])
                                      : compare_below(finder, depth);
    if (b->rows[b->count - 1] != repeated_stack(finder) || is_repeated_inside(finder, b->count - 1))
        return SAME_TURN;
    return name == finder->repeated && finder->seen ? REPEATED : SAME_TURN;
}

/* Of a launch, the name of its kernel; of any other call, its own name. */
static uint32_t *call_names(const struct model *model, struct status *status) {
    const struct trace *trace = model->trace;
    uint32_t *names = memory_allocate(trace->call.count + 1, sizeof *names, status);
    for (size_t i = 0; names && i < trace->call.count; i++)
        names[i] = trace->call.name[i];
    for (size_t i = trace->activity.count; names && i > 0; i--)
        if (model->launch[i - 1] != NO_ROW)
            names[model->launch[i - 1]] = trace->activity.name[i - 1];
    return names;
}

static bool works_for_others(const struct trace *trace, uint32_t thread) {
    return text_starts(trace_text(trace, trace->thread.name[thread]), "pt_autograd");
}

/* The thread with most calls in the loop. */
static uint32_t main_thread(const struct model *model, const struct loops *loops, uint32_t loop) {
    const struct trace *trace = model->trace;
    uint32_t best = 0;
    size_t most = 0;
    for (uint32_t thread = 1; thread < trace->thread.count; thread++) {
        size_t count = 0;
        if (works_for_others(trace, thread))
            continue;
        for (size_t i = model->thread_calls[thread]; i < model->thread_calls[thread + 1]; i++)
            count += is_inside(loops, loops->inner[trace->call.stack[i]], loop);
        if (count > most) {
            most = count;
            best = thread;
        }
    }
    return best;
}

struct timed_call {
    int64_t start;
    uint32_t call;
};

static int by_start(const void *a, const void *b) {
    const struct timed_call *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->call < y->call ? -1 : 1);
}

/* The calls with a stack of the thread, and of threads that work for it. */
static struct timed_call *thread_calls(const struct model *model, uint32_t thread, size_t *count,
                                       struct status *status) {
    const struct trace *trace = model->trace;
    struct timed_call *list = memory_allocate(trace->call.count + 1, sizeof *list, status);
    *count = 0;
    for (uint32_t other = 1; list && other < trace->thread.count; other++) {
        if (other != thread && (!works_for_others(trace, other) ||
                                trace->thread.process[other] != trace->thread.process[thread]))
            continue;
        for (size_t i = model->thread_calls[other]; i < model->thread_calls[other + 1]; i++)
            if (!model->call_nested[i] && trace->call.stack[i])
                list[(*count)++] = (struct timed_call){trace->call.start[i], (uint32_t)i};
    }
    bool sorted = true;
    for (size_t i = 1; list && i < *count && sorted; i++)
        sorted = list[i - 1].start <= list[i].start;
    if (list && !sorted)
        qsort(list, *count, sizeof *list, by_start);
    return list;
}

static bool begin_turn(struct turn_finder *finder, struct loop_turns *turns, int64_t start,
                       uint32_t stack, struct status *status) {
    if (!GROW(turns->list, &turns->capacity, turns->count + 1, status))
        return false;
    if (turns->count && turns->list[turns->count - 1].end > start)
        turns->list[turns->count - 1].end = start;
    turns->list[turns->count++] = (struct loop_turn){.start = start, .end = INT64_MAX};
    finder->first_stack = stack;
    copy_path(&finder->first, finder->now);
    finder->seen = false;
    return true;
}

static bool is_in_loop(const struct turn_finder *finder, uint32_t stack) {
    return is_inside(finder->loops, finder->loops->inner[stack], finder->loop);
}

/* The stack of the loop's first call. */
static uint32_t first_stack(const struct turn_finder *finder, const struct timed_call *calls,
                            size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t stack = finder->model->trace->call.stack[calls[i].call];
        if (is_in_loop(finder, stack))
            return stack;
    }
    return 0;
}

/* The stack of most calls in the loop; 0: there are none. */
static bool find_usual(const struct turn_finder *finder, const struct timed_call *calls,
                       size_t count, uint32_t *usual, struct status *status) {
    const struct trace *trace = finder->model->trace;
    uint64_t *counts = memory_allocate(trace->stack.count + 1, sizeof *counts, status);
    *usual = 0;
    for (size_t i = 0; counts && i < count; i++) {
        uint32_t stack = trace->call.stack[calls[i].call];
        if (is_in_loop(finder, stack) && ++counts[stack] > counts[*usual])
            *usual = stack;
    }
    memory_free(counts);
    return counts != NULL;
}

/* Of the names among the calls with that stack: the rarest that still comes often, since an
 * instruction may use one kernel several times, and the first iterations may also load modules or
 * allocate. */
static bool find_repeated(struct turn_finder *finder, const struct timed_call *calls, size_t count,
                          const uint32_t *names, uint32_t stack, struct status *status) {
    enum { OFTEN = 8 }; /* an eighth of the most frequent one */
    const struct trace *trace = finder->model->trace;
    uint64_t *counts = memory_allocate(trace->strings.count + 1, sizeof *counts, status);
    uint64_t most = 0, least = UINT64_MAX;
    if (!counts)
        return false;
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            uint32_t of_call = trace->call.stack[calls[i].call], name = names[calls[i].call];
            if (of_call != stack || !is_in_loop(finder, of_call))
                continue;
            if (pass == 0) {
                most = ++counts[name] > most ? counts[name] : most;
            } else if (counts[name] >= most / OFTEN && counts[name] < least) {
                least = counts[name];
                finder->repeated = name;
            }
        }
    finder->repeats = least == UINT64_MAX ? 0 : least;
    memory_free(counts);
    return true;
}

/* `repeats`: equal stacks are iterations. */
static bool walk_turns(struct turn_finder *finder, const struct timed_call *calls, size_t count,
                       const uint32_t *names, bool repeats, struct loop_turns *turns, size_t *jumps,
                       struct status *status) {
    const struct model *model = finder->model;
    int64_t last_end = 0;
    bool left = true;
    turns->count = *jumps = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t call = calls[i].call, stack = model->trace->call.stack[call];
        if (!is_in_loop(finder, stack)) {
            if (turns->count && !left)
                turns->list[turns->count - 1].end = calls[i].start;
            left = true;
            continue;
        }
        struct path *spare = finder->before;
        finder->before = finder->now;
        finder->now = spare;
        read_path(model->trace, stack, finder->now);
        enum step_kind kind = left ? NEXT_TURN : compare(finder, names[call]);
        if ((kind == NEXT_TURN || (kind == REPEATED && repeats)) &&
            !begin_turn(finder, turns, calls[i].start, stack, status))
            return false;
        turns->list[turns->count - 1].calls++;
        turns->list[turns->count - 1].hash += checksum64(&names[call], sizeof names[call]);
        finder->seen |= stack == repeated_stack(finder) && names[call] == finder->repeated;
        *jumps += !left && kind == NEXT_TURN;
        left = false;
        last_end = model_call_end(model, call);
    }
    if (turns->count && !left)
        turns->list[turns->count - 1].end = last_end;
    turns->ends_outside = left;
    return true;
}

/* The first iterations of a compiled function go other ways than the later ones, which may all have
 * one stack: then the loop seems to have a few iterations, and one of them nearly all calls. */
static bool is_one_stack(const struct loop_turns *turns, uint64_t repeats) {
    uint64_t largest = 0, all = 0;
    for (size_t i = 0; i < turns->count; i++) {
        all += turns->list[i].calls;
        largest = turns->list[i].calls > largest ? turns->list[i].calls : largest;
    }
    return turns->count > 1 && 2 * largest > all && repeats >= 8 * turns->count;
}

static bool find_turns(struct turn_finder *finder, const struct timed_call *calls, size_t count,
                       const uint32_t *names, struct loop_turns *turns, struct status *status) {
    size_t jumps;
    if (!find_repeated(finder, calls, count, names, first_stack(finder, calls, count), status) ||
        !walk_turns(finder, calls, count, names, false, turns, &jumps, status))
        return false;
    if (jumps == 0 && !walk_turns(finder, calls, count, names, true, turns, &jumps, status))
        return false;
    uint32_t usual;
    if (!find_usual(finder, calls, count, &usual, status) ||
        !find_repeated(finder, calls, count, names, usual, status))
        return false;
    finder->usual_stack = usual;
    return !is_one_stack(turns, finder->repeats) ||
           walk_turns(finder, calls, count, names, true, turns, &jumps, status);
}

bool loops_turns(const struct model *model, const struct loops *loops, uint32_t index,
                 struct loop_turns *turns, struct status *status) {
    uint32_t thread = main_thread(model, loops, index + 1);
    *turns = (struct loop_turns){.thread = thread};
    size_t count;
    struct turn_finder *finder = memory_allocate(1, sizeof *finder, status);
    struct path *paths = memory_allocate(2, sizeof *paths, status);
    struct timed_call *calls = thread_calls(model, thread, &count, status);
    bool ok = finder && paths && calls;
    if (ok) {
        finder->before = &paths[0];
        finder->now = &paths[1];
        finder->model = model;
        finder->loops = loops;
        finder->loop = index + 1;
        read_path(model->trace, loops->list[index].caller, finder->now);
        finder->depth = finder->now->count;
        ok = find_turns(finder, calls, count, loops->names, turns, status);
    }
    memory_free(finder);
    memory_free(calls);
    memory_free(paths);
    if (!ok) {
        memory_free(turns->list);
        *turns = (struct loop_turns){0};
    }
    return ok;
}

/* ---- The loop of the steps ------------------------------------------------------------------ */

static const char *const epoch_words[] = {"epoch", "trial", "fold", "seed", "config", "repeat"};
static const char *const step_words[] = {"step", "batch", "iter", "loader", "token", "data"};
static const char *const inner_words[] = {"micro",  "accum", "layer", "block",
                                          "module", "param", "head",  "chunk"};

static bool mentions(struct text text, const char *const *words, size_t count) {
    char lower[256];
    size_t length = text.length < sizeof lower ? text.length : sizeof lower - 1;
    for (size_t i = 0; i < length; i++)
        lower[i] =
            text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] + 32) : text.data[i];
    for (size_t i = 0; i < count; i++)
        if (text_find((struct text){lower, length}, words[i]) >= 0)
            return true;
    return false;
}
#define MENTIONS(loop, words) mentions((loop)->text, words, ARRAY_COUNT(words))

/* 0: the program's own; 1: of a package; 2: of Python's library. */
static unsigned distance_of(const struct model *model, const struct program_loop *loop) {
    struct text file = trace_text(model->trace, model->trace->stack.file[loop->frame]);
    if (!lines_is_library(file))
        return 0;
    return text_find(file, "-packages/") >= 0 ? 1 : 2;
}

static bool count_turns(const struct model *model, struct loops *loops, unsigned distance,
                        struct status *status) {
    unsigned counted = 0;
    for (uint32_t i = 0; i < loops->count && counted < COUNTED_MAX; i++) {
        struct program_loop *loop = &loops->list[i];
        struct loop_turns turns;
        if (loop->calls == 0 || loop->calls < loops->calls / (10 * SHARE_MIN) ||
            distance_of(model, loop) != distance)
            continue;
        if (!loops_turns(model, loops, i, &turns, status))
            return false;
        loop->turns = turns.count;
        memory_free(turns.list);
        counted++;
    }
    return true;
}

/* The loop with most calls among those at `distance` that are inside `around`, without another such
 * loop between; index + 1, or 0. */
static uint32_t largest_inside(const struct model *model, const struct loops *loops,
                               uint32_t around, unsigned distance) {
    uint32_t best = 0;
    for (uint32_t i = 0; i < loops->count; i++) {
        const struct program_loop *loop = &loops->list[i];
        if (!loop->turns || distance_of(model, loop) != distance || i + 1 == around ||
            !is_inside(loops, i + 1, around))
            continue;
        uint32_t between = loop->around;
        while (between && between != around &&
               (!loops->list[between - 1].turns ||
                distance_of(model, &loops->list[between - 1]) != distance))
            between = loops->list[between - 1].around;
        if (between == around && (!best || loop->calls > loops->list[best - 1].calls))
            best = i + 1;
    }
    return best;
}

/* Whether the steps are the iterations of the loop inside and not of this one. */
static bool descends(const struct program_loop *loop, const struct program_loop *inside) {
    if (inside->calls < loop->calls / 10 * 8 || inside->turns <= loop->turns)
        return false;
    if (loop->turns < TURNS_MIN)
        return true;
    return !MENTIONS(inside, inner_words) &&
           (MENTIONS(loop, epoch_words) ||
            (MENTIONS(inside, step_words) && !MENTIONS(loop, step_words)));
}

static uint32_t choose(const struct model *model, const struct loops *loops, unsigned distance) {
    uint32_t chosen = largest_inside(model, loops, 0, distance);
    while (chosen) {
        uint32_t inside = largest_inside(model, loops, chosen, distance);
        if (!inside || !descends(&loops->list[chosen - 1], &loops->list[inside - 1]))
            break;
        chosen = inside;
    }
    if (!chosen)
        return 0;
    const struct program_loop *loop = &loops->list[chosen - 1];
    bool enough = loop->turns >= TURNS_MIN && loop->calls >= loops->calls / SHARE_MIN;
    return enough ? chosen : 0;
}

unsigned loops_depth(const struct loops *loops, const struct program_loop *loop) {
    unsigned depth = 0;
    for (uint32_t around = loop->around; around; around = loops->list[around - 1].around)
        depth += loops->list[around - 1].turns > 0;
    return depth;
}

void loops_format(const struct model *model, const struct program_loop *loop, struct buffer *text) {
    struct text file = trace_text(model->trace, model->trace->stack.file[loop->frame]);
    size_t name = file.length;
    while (name > 0 && file.data[name - 1] != '/')
        name--;
    buffer_printf(text, "%.*s:%u", (int)(file.length - name), file.data + name, loop->line);
    if (loop->text.length)
        buffer_printf(text, " %.*s", TEXT_ARGS(loop->text));
}

/* "train.py:42" */
static bool has_name(const struct model *model, const struct program_loop *loop, const char *name) {
    struct buffer text = {0};
    struct program_loop short_name = *loop;
    short_name.text = TEXT("");
    loops_format(model, &short_name, &text);
    struct text file = trace_text(model->trace, model->trace->stack.file[loop->frame]);
    char line[16];
    size_t length = strlen(name);
    int digits = snprintf(line, sizeof line, ":%u", loop->line);
    bool whole = length > (size_t)digits && strcmp(name + length - (size_t)digits, line) == 0 &&
                 text_equal(file, (struct text){name, length - (size_t)digits});
    bool same = !text.failed && text_is(buffer_as_text(&text), name);
    buffer_finish(&text);
    return same || whole;
}

static uint32_t find_named(const struct model *model, struct loops *loops, const char *name) {
    uint32_t best = 0;
    for (uint32_t i = 0; i < loops->count; i++)
        if (has_name(model, &loops->list[i], name) &&
            (!best || loops->list[i].calls > loops->list[best - 1].calls))
            best = i + 1;
    return best;
}

bool loops_find(const struct model *model, const char *name, struct loops *loops,
                struct status *status) {
    struct builder builder = {.trace = model->trace, .loops = loops};
    *loops = (struct loops){0};
    loops->inner = memory_allocate(model->trace->stack.count + 1, sizeof *loops->inner, status);
    bool ok = loops->inner && build_tree(&builder, status);
    map_finish(&builder.known);
    if (ok && loops->count) {
        count_calls(model, loops);
        loops->names = call_names(model, status);
        ok = loops->names != NULL;
        for (unsigned distance = 0; ok && distance < 2 && !loops->steps; distance++) {
            ok = count_turns(model, loops, distance, status);
            loops->steps = choose(model, loops, distance);
        }
    }
    if (ok && name) {
        loops->steps = find_named(model, loops, name);
        if (!loops->steps)
            ok = status_fail(status, STATUS_USAGE,
                             "--steps: no loop at %s does device work; --section steps lists the "
                             "loops",
                             name);
    }
    if (!ok)
        loops_finish(loops);
    return ok;
}

void loops_finish(struct loops *loops) {
    memory_free(loops->list);
    memory_free(loops->inner);
    memory_free(loops->names);
    *loops = (struct loops){0};
}
