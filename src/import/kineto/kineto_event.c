/* Parses one event in a single pass. Members can be in any order; a repeated member replaces the
 * earlier one, as in other JSON parsers.
 *
 * Most bytes of a trace are arguments that no row needs. Profilers write the category before the
 * arguments, so arguments of categories without use are skipped as a block. */
#include "import/kineto/kineto_event.h"

#include "base/array.h"

enum member {
    MEMBER_PHASE,
    MEMBER_CATEGORY,
    MEMBER_NAME,
    MEMBER_PROCESS,
    MEMBER_THREAD,
    MEMBER_START,
    MEMBER_DURATION,
    MEMBER_ARGS,
    MEMBER_ID,
    MEMBER_ID2,
    MEMBER_SCOPE,
};

static const struct keyword member_list[] = {
    {"ph", MEMBER_PHASE, 0},     {"cat", MEMBER_CATEGORY, 0}, {"name", MEMBER_NAME, 0},
    {"pid", MEMBER_PROCESS, 0},  {"tid", MEMBER_THREAD, 0},   {"ts", MEMBER_START, 0},
    {"dur", MEMBER_DURATION, 0}, {"args", MEMBER_ARGS, 0},    {"id", MEMBER_ID, 0},
    {"id2", MEMBER_ID2, 0},      {"scope", MEMBER_SCOPE, 0},
};

/* Names in all versions of Kineto; other devices of torch (xpu, privateuse1, mtia) follow the
 * pattern. */
static const struct keyword category_list[] = {
    {"kernel", CATEGORY_KERNEL, 0},
    {"Kernel", CATEGORY_KERNEL, 0},
    {"gpu_memcpy", CATEGORY_COPY, 0},
    {"Memcpy", CATEGORY_COPY, 0},
    {"gpu_memset", CATEGORY_SET, 0},
    {"Memset", CATEGORY_SET, 0},
    {"cuda_runtime", CATEGORY_CALL, 0},
    {"cuda_driver", CATEGORY_CALL, 0},
    {"Runtime", CATEGORY_CALL, 0},
    {"mtia_runtime", CATEGORY_CALL, 0},
    {"xpu_runtime", CATEGORY_CALL, 0},
    {"xpu_driver", CATEGORY_CALL, 0},
    {"privateuse1_runtime", CATEGORY_CALL, 0},
    {"privateuse1_driver", CATEGORY_CALL, 0},
    {"cpu_op", CATEGORY_OP, 0},
    {"Operator", CATEGORY_OP, 0},
    {"user_annotation", CATEGORY_ANNOTATION, 0},
    {"gpu_user_annotation", CATEGORY_DEVICE_RANGE, 0},
    {"mtia_ccp_events", CATEGORY_DEVICE_RANGE, 0},
    {"cuda_event", CATEGORY_DEVICE_RANGE, 0},
    {"python_function", CATEGORY_PYTHON, 0},
    {"cuda_sync", CATEGORY_SYNC, 0},
    {"overhead", CATEGORY_OVERHEAD, 0},
    {"Trace", CATEGORY_TRACE, 0},
    {"cpu_instant_event", CATEGORY_INSTANT, 0},
    {"ac2g", CATEGORY_FLOW, 0},
    {"fwdbwd", CATEGORY_FLOW, 0},
    {"async_gpu", CATEGORY_FLOW, 0},
    {"async_cpu_to_gpu", CATEGORY_FLOW, 0},
    {"Op", CATEGORY_TENSORFLOW_OP, 0},
    {"Session", CATEGORY_ONNX_SESSION, 0},
    {"Node", CATEGORY_ONNX_NODE, 0},
    {"gpu_op", CATEGORY_UNITRACE_OP, 0},
};

enum argument_kind {
    ARGUMENT_NUMBER,
    ARGUMENT_WORD,
    ARGUMENT_GRID,
    ARGUMENT_BLOCK,
    ARGUMENT_GRID_AXIS,
    ARGUMENT_BLOCK_AXIS,
    ARGUMENT_DETAIL
};

static const struct keyword argument_list[] = {
    {"device", ARGUMENT_NUMBER, NUMBER_DEVICE},
    {"stream", ARGUMENT_NUMBER, NUMBER_STREAM},
    {"context", ARGUMENT_NUMBER, NUMBER_CONTEXT},
    {"correlation", ARGUMENT_NUMBER, NUMBER_CORRELATION},
    {"correlation_id", ARGUMENT_NUMBER, NUMBER_CORRELATION},
    {"bytes", ARGUMENT_NUMBER, NUMBER_BYTES},
    {"registers per thread", ARGUMENT_NUMBER, NUMBER_REGISTERS},
    {"shared memory", ARGUMENT_NUMBER, NUMBER_SHARED},
    {"graph id", ARGUMENT_NUMBER, NUMBER_GRAPH},
    {"Sequence number", ARGUMENT_NUMBER, NUMBER_SEQUENCE},
    {"Record function id", ARGUMENT_NUMBER, NUMBER_RECORD_FUNCTION},
    {"wait_on_stream", ARGUMENT_NUMBER, NUMBER_WAIT_STREAM},
    {"wait_on_cuda_event_id", ARGUMENT_NUMBER, NUMBER_WAIT_EVENT},
    {"wait_on_cuda_event_record_corr_id", ARGUMENT_NUMBER, NUMBER_WAIT_RECORD},
    {"Device Type", ARGUMENT_NUMBER, NUMBER_MEMORY_DEVICE_TYPE},
    {"Device Id", ARGUMENT_NUMBER, NUMBER_MEMORY_DEVICE},
    {"Bytes", ARGUMENT_NUMBER, NUMBER_MEMORY_BYTES},
    {"Addr", ARGUMENT_NUMBER, NUMBER_MEMORY_ADDRESS},
    {"Total Allocated", ARGUMENT_NUMBER, NUMBER_MEMORY_ALLOCATED},
    {"Total Reserved", ARGUMENT_NUMBER, NUMBER_MEMORY_RESERVED},
    {"name", ARGUMENT_WORD, WORD_NAME},
    {"labels", ARGUMENT_WORD, WORD_LABELS},
    {"kind", ARGUMENT_WORD, WORD_KIND},
    {"cuda_sync_kind", ARGUMENT_WORD, WORD_SYNC_KIND},
    {"kernel_details", ARGUMENT_WORD, WORD_KERNEL_DETAILS},
    {"memcpy_details", ARGUMENT_WORD, WORD_COPY_DETAILS},
    {"op_name", ARGUMENT_WORD, WORD_OP_NAME},
    {"grid", ARGUMENT_GRID, 0},
    {"block", ARGUMENT_BLOCK, 0},
    {"grid_x", ARGUMENT_GRID_AXIS, 0},
    {"grid_y", ARGUMENT_GRID_AXIS, 1},
    {"grid_z", ARGUMENT_GRID_AXIS, 2},
    {"block_x", ARGUMENT_BLOCK_AXIS, 0},
    {"block_y", ARGUMENT_BLOCK_AXIS, 1},
    {"block_z", ARGUMENT_BLOCK_AXIS, 2},
    {"Input Dims", ARGUMENT_DETAIL, DETAIL_INPUT},
    {"Input dims", ARGUMENT_DETAIL, DETAIL_INPUT},
    {"Input type", ARGUMENT_DETAIL, DETAIL_INPUT},
    {"Concrete Inputs", ARGUMENT_DETAIL, DETAIL_INPUT},
    {"Collective name", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"In msg nelems", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Out msg nelems", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"In split size", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Out split size", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Group size", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"dtype", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Process Group Name", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Process Group Description", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Process Group Ranks", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Global rank start", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Global rank stride", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Rank", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Src Rank", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Dst Rank", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"Seq", ARGUMENT_DETAIL, DETAIL_COLLECTIVE},
    {"hlo_op", ARGUMENT_DETAIL, DETAIL_XLA},
    {"hlo_module", ARGUMENT_DETAIL, DETAIL_XLA},
    {"tf_op", ARGUMENT_DETAIL, DETAIL_XLA},
    {"program_id", ARGUMENT_DETAIL, DETAIL_XLA},
    {"provider", ARGUMENT_DETAIL, DETAIL_ONNX},
    {"input_type_shape", ARGUMENT_DETAIL, DETAIL_ONNX},
    {"output_type_shape", ARGUMENT_DETAIL, DETAIL_ONNX},
    {"call_stack", ARGUMENT_DETAIL, DETAIL_PROTON},
};

void event_keywords_init(struct event_keywords *keywords) {
    keywords_init(&keywords->members, member_list, ARRAY_COUNT(member_list));
    keywords_init(&keywords->arguments, argument_list, ARRAY_COUNT(argument_list));
    keywords_init(&keywords->categories, category_list, ARRAY_COUNT(category_list));
}

/* [x, y, z]; any other value is skipped. */
static const char *scan_triple(struct scan *scan, const char *at, uint32_t *read_xla_triple,
                               bool *present) {
    const char *p = at;
    if (*p != '[')
        return scan_skip(scan, at);
    for (int i = 0; i < 3; i++) {
        int64_t value;
        bool is_number = false;
        p = scan_space(p + 1);
        if (!(p = scan_integer(scan, p, &value, &is_number)))
            return scan_skip(scan, at);
        p = scan_space(p);
        if (!is_number || *p != (i < 2 ? ',' : ']'))
            return scan_skip(scan, at);
        read_xla_triple[i] = clamp_u32(value);
    }
    *present = true;
    return p + 1;
}

static const char *scan_axis(struct scan *scan, const char *at, uint32_t *axis, bool *present) {
    int64_t value;
    bool is_number = false;
    const char *after = scan_integer(scan, at, &value, &is_number);
    if (is_number) {
        *axis = clamp_u32(value);
        *present = true;
    }
    return after;
}

static void add_detail(struct kineto_event *event, const struct keyword *key, struct text value) {
    for (unsigned i = 0; i < event->detail_count; i++)
        if (event->details[i].key == key) {
            event->details[i].value = value;
            return;
        }
    if (event->detail_count < EVENT_DETAILS_MAX)
        event->details[event->detail_count++] = (struct event_detail){key, value};
}

static const char *scan_argument(struct scan *scan, const char *at, const struct keyword *key,
                                 struct kineto_event *event) {
    const char *after;
    bool is_number = false;
    switch ((enum argument_kind)key->kind) {
    case ARGUMENT_NUMBER:
        after = scan_integer(scan, at, &event->numbers[key->slot], &is_number);
        if (is_number)
            event->has_number |= (uint32_t)1 << key->slot;
        return after;
    case ARGUMENT_WORD:
        if (*at != '"')
            return scan_skip(scan, at);
        event->has_word |= (uint32_t)1 << key->slot;
        return scan_string(scan, at, &event->words[key->slot]);
    case ARGUMENT_GRID:
        return scan_triple(scan, at, event->grid, &event->has_grid);
    case ARGUMENT_BLOCK:
        return scan_triple(scan, at, event->block, &event->has_block);
    case ARGUMENT_GRID_AXIS:
        return scan_axis(scan, at, &event->grid[key->slot], &event->has_grid);
    case ARGUMENT_BLOCK_AXIS:
        return scan_axis(scan, at, &event->block[key->slot], &event->has_block);
    case ARGUMENT_DETAIL:
        after = scan_skip(scan, at);
        if (after)
            add_detail(event, key, (struct text){at, (size_t)(after - at)});
        return after;
    }
    return NULL;
}

static void clear_arguments(struct kineto_event *event) {
    event->has_number = event->has_word = 0;
    event->has_grid = event->has_block = false;
    memset(event->grid, 0, sizeof event->grid);
    memset(event->block, 0, sizeof event->block);
    event->detail_count = 0;
}

static const char *scan_arguments(struct scan *scan, const struct keywords *keywords,
                                  const char *at, struct kineto_event *event) {
    bool closed;
    const char *start = at;
    clear_arguments(event);
    event->args_read = true;
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        if (!(at = scan_key(scan, at, &key)))
            return NULL;
        const struct keyword *keyword = keywords_find(keywords, key);
        at = keyword ? scan_argument(scan, at, keyword, event) : scan_skip(scan, at);
        if (!at || !(at = scan_next_member(scan, at, &closed)))
            return NULL;
    }
    event->args = (struct text){start, (size_t)(at - start)};
    return at;
}

/* Whether a row can use any of the arguments. */
static bool wants_arguments(const struct kineto_event *event) {
    return event->category != CATEGORY_PYTHON && event->category != CATEGORY_TRACE &&
           event->category != CATEGORY_FLOW && event->category != CATEGORY_OVERHEAD;
}

static const char *scan_args(struct scan *scan, const struct event_keywords *keywords,
                             const char *at, struct kineto_event *event) {
    if (*at == '{' && wants_arguments(event))
        return scan_arguments(scan, &keywords->arguments, at, event);
    const char *after = scan_skip(scan, at);
    if (after && *at == '{')
        event->args = (struct text){at, (size_t)(after - at)};
    return after;
}

static const char *scan_id(struct scan *scan, const char *at, struct event_id *id) {
    bool is_number = false;
    *id = (struct event_id){0};
    const char *after = scan_integer(scan, at, &id->number, &is_number);
    if (after && !is_number && *at == '"')
        id->word = (struct text){at + 1, (size_t)(after - at) - 2};
    return after;
}

static const char *scan_raw(struct scan *scan, const char *at, struct text *raw) {
    const char *after = scan_skip(scan, at);
    if (after)
        *raw = (struct text){at, (size_t)(after - at)};
    return after;
}

static const char *scan_text(struct scan *scan, const char *at, struct scan_string *string) {
    if (*at == '"')
        return scan_string(scan, at, string);
    string->escaped = false;
    return scan_raw(scan, at, &string->raw); /* a name that is a number is kept as text */
}

static const char *scan_category(struct scan *scan, const struct keywords *categories,
                                 const char *at, struct kineto_event *event) {
    if (!(at = scan_text(scan, at, &event->category_text)))
        return NULL;
    const struct keyword *known = keywords_find(categories, event->category_text.raw);
    event->category = known                             ? (enum event_category)known->kind
                      : event->category_text.raw.length ? CATEGORY_UNKNOWN
                                                        : CATEGORY_NONE;
    return at;
}

static const char *scan_phase(struct scan *scan, const char *at, char *phase) {
    struct scan_string string;
    if (*at != '"')
        return scan_skip(scan, at);
    if (!(at = scan_string(scan, at, &string)))
        return NULL;
    *phase = string.raw.length == 1 ? string.raw.data[0] : 0;
    return at;
}

static const char *scan_member(struct scan *scan, const struct event_keywords *keywords,
                               enum member member, const char *at, struct kineto_event *event) {
    switch (member) {
    case MEMBER_PHASE:
        return scan_phase(scan, at, &event->phase);
    case MEMBER_CATEGORY:
        return scan_category(scan, &keywords->categories, at, event);
    case MEMBER_NAME:
        return scan_text(scan, at, &event->name);
    case MEMBER_PROCESS:
        return scan_id(scan, at, &event->process);
    case MEMBER_THREAD:
        return scan_id(scan, at, &event->thread);
    case MEMBER_START:
        event->has_start = true;
        return scan_microseconds(scan, at, &event->start, &event->start_ok);
    case MEMBER_DURATION:
        event->has_duration = true;
        return scan_microseconds(scan, at, &event->duration, &event->duration_ok);
    case MEMBER_ARGS:
        return scan_args(scan, keywords, at, event);
    case MEMBER_ID:
        return scan_raw(scan, at, &event->id);
    case MEMBER_ID2:
        return scan_raw(scan, at, &event->id2);
    case MEMBER_SCOPE:
        return scan_raw(scan, at, &event->scope);
    }
    return NULL;
}

static void event_clear(struct kineto_event *event) {
    memset(event, 0, offsetof(struct kineto_event, numbers));
    event->category_text.raw = event->name.raw = event->args = TEXT("");
    event->detail_count = 0;
}

const char *event_scan(struct scan *scan, const struct event_keywords *keywords, const char *at,
                       struct kineto_event *event) {
    bool closed;
    event_clear(event);
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        if (!(at = scan_key(scan, at, &key)))
            return NULL;
        const struct keyword *keyword = keywords_find(&keywords->members, key);
        at = keyword ? scan_member(scan, keywords, (enum member)keyword->kind, at, event)
                     : scan_skip(scan, at);
        if (!at || !(at = scan_next_member(scan, at, &closed)))
            return NULL;
    }
    /* The category came after the arguments and needs them. */
    if (event->args.length && !event->args_read && wants_arguments(event) &&
        !scan_arguments(scan, &keywords->arguments, event->args.data, event))
        return NULL;
    return at;
}
