/* NVTX: ranges, marks and names of the program.
 *
 * Every library that uses NVTX has its own copy of it, and each copy lets the probe replace its
 * functions. A range is written when it begins and when it ends, so that a range without an end is
 * in the trace, too. Levels are counted per thread and domain, as NVTX documents.
 */
#include "abi/nvtx.h"

#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "probe/capture.h"
#include "probe/nvtx/nvtx_names.h"
#include "probe/probe.h"

enum { TOOL_VERSION = 3, UNBALANCED = -1 };

/* ---- Attributes -------------------------------------------------------------------------- */

/* Attributes come from the program and are not trusted: a message may be missing, an older struct
 * shorter. */
struct nvtx_event {
    uint32_t name, domain, category; /* text numbers */
    int64_t payload;
    uint32_t has_payload, color; /* enum spool_payload; ARGB, 0: none */
};

/* Strings as the program gives them, NULL included, cut to SPOOL_TEXT_MAX. The result of
 * nvtx_text_from_wide() lies in the thread's own memory until the next call. */
static struct text nvtx_text(const char *text) {
    return text ? (struct text){text, strnlen(text, SPOOL_TEXT_MAX + 1)} : TEXT("");
}

static struct text nvtx_text_from_wide(struct probe_thread *thread, const wchar_t *text) {
    return nvtx_utf8_from_wide(text, thread->converted, SPOOL_TEXT_MAX);
}

static uint32_t message_text(struct probe_thread *thread,
                             const struct nvtx_attributes *attributes) {
    switch (attributes->message_type) {
    case NVTX_MESSAGE_A:
        return spool_text(thread->lane, nvtx_text(attributes->message.narrow));
    case NVTX_MESSAGE_W:
        return spool_text(thread->lane, nvtx_text_from_wide(thread, attributes->message.wide));
    case NVTX_MESSAGE_REGISTERED:
        return spool_constant(thread->lane, attributes->message.registered);
    default:
        return 0;
    }
}

static uint32_t category_text(struct probe_thread *thread, const struct nvtx_domain *domain,
                              uint32_t category) {
    char number[16];
    if (category == 0)
        return 0;
    const char *name = nvtx_category_name(domain, category);
    if (name)
        return spool_constant(thread->lane, name);
    int length = snprintf(number, sizeof number, "%u", category);
    return spool_text(thread->lane, (struct text){number, (size_t)length});
}

static void read_payload(struct nvtx_event *event, const struct nvtx_attributes *attributes) {
    double number;
    switch (attributes->payload_type) {
    case NVTX_PAYLOAD_U64:
        event->payload = attributes->payload.i64;
        event->has_payload = SPOOL_PAYLOAD_UNSIGNED;
        break;
    case NVTX_PAYLOAD_U32:
        event->payload = attributes->payload.u32;
        event->has_payload = SPOOL_PAYLOAD_UNSIGNED;
        break;
    case NVTX_PAYLOAD_I64:
        event->payload = attributes->payload.i64;
        event->has_payload = SPOOL_PAYLOAD_SIGNED;
        break;
    case NVTX_PAYLOAD_I32:
        event->payload = attributes->payload.i32;
        event->has_payload = SPOOL_PAYLOAD_SIGNED;
        break;
    case NVTX_PAYLOAD_F64:
    case NVTX_PAYLOAD_F32:
        number = attributes->payload_type == NVTX_PAYLOAD_F64 ? attributes->payload.f64
                                                              : (double)attributes->payload.f32;
        memcpy(&event->payload, &number, sizeof number);
        event->has_payload = SPOOL_PAYLOAD_DOUBLE;
        break;
    }
}

/* `attributes` may be NULL. */
static struct nvtx_event nvtx_event_read(struct probe_thread *thread,
                                         const struct nvtx_domain *domain,
                                         const struct nvtx_attributes *attributes) {
    struct nvtx_event event = {.domain = spool_constant(thread->lane, domain->name)};
    if (!attributes || attributes->size < sizeof *attributes)
        return event; /* an older, shorter struct */
    event.name = message_text(thread, attributes);
    event.category = category_text(thread, domain, attributes->category);
    event.color = attributes->color_type == NVTX_COLOUR_ARGB ? attributes->color : 0;
    read_payload(&event, attributes);
    return event;
}

static struct nvtx_event nvtx_event_plain(struct probe_thread *thread, struct text name) {
    return (struct nvtx_event){.name = spool_text(thread->lane, name)};
}

/* ---- Ranges and marks -------------------------------------------------------------------- */

/* Handles are pointers that this file returned; NULL is the default domain. */
static struct nvtx_domain *domain_of(void *handle) {
    return handle ? handle : &nvtx_default_domain;
}

/* Flag in the id of a capturing range, for its end, which may be on another thread. */
#define CAPTURES ((uint64_t)1 << 63)

static uint64_t next_id(struct probe_thread *thread, bool captures) {
    uint64_t id = (uint64_t)thread->serial << 40 | (++thread->ranges & (((uint64_t)1 << 40) - 1));
    return captures ? id | CAPTURES : id & ~CAPTURES;
}

/* Returns the id, or 0 when dropped. The time is taken last, so that it excludes the probe. */
static uint64_t open_range(struct probe_thread *thread, const struct nvtx_event *event) {
    bool captures = capture_is_range(thread->lane, event->name);
    if (captures)
        capture_range(thread->lane, true);
    else if (!capture_is_on())
        return 0;
    uint64_t id = next_id(thread, captures);
    struct spool_range *range =
        spool_begin(thread->lane, SPOOL_RANGE_OPEN, event->name, sizeof *range);
    if (!range)
        return captures ? id : 0;
    range->end = 0;
    range->id = id;
    range->domain = event->domain;
    range->category = event->category;
    range->payload = event->payload;
    range->has_payload = event->has_payload;
    range->color = event->color;
    range->start = clock_now();
    spool_publish(thread->lane);
    return id;
}

static void close_range(struct probe_thread *thread, uint64_t id, int64_t end) {
    struct spool_range *range =
        id == 0 ? NULL : spool_begin(thread->lane, SPOOL_RANGE_END, 0, sizeof *range);
    if (range) {
        *range = (struct spool_range){.head = range->head, .end = end, .id = id};
        spool_publish(thread->lane);
    }
    if (id & CAPTURES)
        capture_range(thread->lane, false);
}

/* The index of the domain's innermost pushed range in this thread, or -1. */
static int innermost_index(const struct probe_thread *thread, const struct nvtx_domain *domain) {
    int at = (int)thread->depth - 1;
    while (at >= 0 && thread->pushed[at].domain != domain)
        at--;
    return at;
}

static int push_range(struct probe_thread *thread, const struct nvtx_domain *domain,
                      const struct nvtx_event *event) {
    if (thread->depth == NVTX_DEPTH) {
        thread->too_deep++;
        spool_drop(probe_start()->spool, 1);
        return NVTX_NO_TRACKING;
    }
    int outer = innermost_index(thread, domain);
    uint32_t level = outer < 0 ? 0 : thread->pushed[outer].level + 1;
    thread->pushed[thread->depth++] = (struct pushed_range){
        .domain = domain,
        .id = open_range(thread, event),
        .level = level,
    };
    return (int)level;
}

static int pop_range(struct probe_thread *thread, const struct nvtx_domain *domain, int64_t end) {
    if (thread->too_deep > 0) {
        thread->too_deep--;
        return NVTX_NO_TRACKING;
    }
    int at = innermost_index(thread, domain);
    if (at < 0)
        return UNBALANCED;
    struct pushed_range range = thread->pushed[at];
    thread->depth--;
    memmove(&thread->pushed[at], &thread->pushed[at + 1],
            (thread->depth - (uint32_t)at) * sizeof range);
    close_range(thread, range.id, end);
    return (int)range.level;
}

static void put_mark(struct probe_thread *thread, const struct nvtx_event *event) {
    int64_t now = clock_now();
    if (!capture_is_on() || !capture_has_started(now))
        return;
    struct spool_mark *record = spool_begin(thread->lane, SPOOL_MARK, event->name, sizeof *record);
    if (!record)
        return;
    record->time = now;
    record->domain = event->domain;
    record->category = event->category;
    record->payload = event->payload;
    record->has_payload = event->has_payload;
    record->color = event->color;
    spool_publish(thread->lane);
}

void nvtx_thread_ended(struct probe_thread *thread) {
    int64_t end = clock_now();
    while (thread->depth > 0)
        close_range(thread, thread->pushed[--thread->depth].id, end);
}

/* ---- Callbacks --------------------------------------------------------------------------- */

/* Executes statements between probe_enter() and probe_leave(). */
#define RECORD(thread, ...)                                                                        \
    do {                                                                                           \
        struct probe_thread *thread = probe_enter();                                               \
        if (thread) {                                                                              \
            __VA_ARGS__;                                                                           \
            probe_leave(thread);                                                                   \
        }                                                                                          \
    } while (0)

static void domain_mark_ex(void *handle, const struct nvtx_attributes *attributes) {
    RECORD(thread, struct nvtx_event event = nvtx_event_read(thread, domain_of(handle), attributes);
           put_mark(thread, &event));
}
static void mark_ex(const struct nvtx_attributes *attributes) {
    domain_mark_ex(NULL, attributes);
}
static void mark_a(const char *name) {
    RECORD(thread, struct nvtx_event event = nvtx_event_plain(thread, nvtx_text(name));
           put_mark(thread, &event));
}
static void mark_w(const wchar_t *name) {
    RECORD(thread,
           struct nvtx_event event = nvtx_event_plain(thread, nvtx_text_from_wide(thread, name));
           put_mark(thread, &event));
}

static uint64_t domain_range_start_ex(void *handle, const struct nvtx_attributes *attributes) {
    uint64_t id = 0;
    RECORD(thread, struct nvtx_event event = nvtx_event_read(thread, domain_of(handle), attributes);
           id = open_range(thread, &event));
    return id;
}
static uint64_t range_start_ex(const struct nvtx_attributes *attributes) {
    return domain_range_start_ex(NULL, attributes);
}
static uint64_t range_start_a(const char *name) {
    uint64_t id = 0;
    RECORD(thread, struct nvtx_event event = nvtx_event_plain(thread, nvtx_text(name));
           id = open_range(thread, &event));
    return id;
}
static uint64_t range_start_w(const wchar_t *name) {
    uint64_t id = 0;
    RECORD(thread,
           struct nvtx_event event = nvtx_event_plain(thread, nvtx_text_from_wide(thread, name));
           id = open_range(thread, &event));
    return id;
}
static void range_end(uint64_t id) {
    int64_t end = clock_now();
    RECORD(thread, close_range(thread, id, end));
}
static void domain_range_end(void *handle, uint64_t id) {
    (void)handle;
    range_end(id);
}

static int domain_range_push_ex(void *handle, const struct nvtx_attributes *attributes) {
    int level = NVTX_NO_TRACKING;
    struct nvtx_domain *domain = domain_of(handle);
    RECORD(thread, struct nvtx_event event = nvtx_event_read(thread, domain, attributes);
           level = push_range(thread, domain, &event));
    return level;
}
static int range_push_ex(const struct nvtx_attributes *attributes) {
    return domain_range_push_ex(NULL, attributes);
}
int nvtx_push(const char *name) {
    int level = NVTX_NO_TRACKING;
    RECORD(thread, struct nvtx_event event = nvtx_event_plain(thread, nvtx_text(name));
           level = push_range(thread, &nvtx_default_domain, &event));
    return level;
}
static int range_push_w(const wchar_t *name) {
    int level = NVTX_NO_TRACKING;
    RECORD(thread,
           struct nvtx_event event = nvtx_event_plain(thread, nvtx_text_from_wide(thread, name));
           level = push_range(thread, &nvtx_default_domain, &event));
    return level;
}
static int domain_range_pop(void *handle) {
    int level = NVTX_NO_TRACKING;
    int64_t end = clock_now();
    RECORD(thread, level = pop_range(thread, domain_of(handle), end));
    return level;
}
int nvtx_pop(void) {
    return domain_range_pop(NULL);
}

uint64_t probe_range_begin(const char *name) {
    return range_start_a(name);
}
void probe_range_end(uint64_t id) {
    range_end(id);
}

static void domain_name_category_a(void *handle, uint32_t category, const char *name) {
    RECORD(thread, nvtx_name_category(domain_of(handle), category, nvtx_text(name)));
}
static void domain_name_category_w(void *handle, uint32_t category, const wchar_t *name) {
    RECORD(thread,
           nvtx_name_category(domain_of(handle), category, nvtx_text_from_wide(thread, name)));
}
static void name_category_a(uint32_t category, const char *name) {
    domain_name_category_a(NULL, category, name);
}
static void name_category_w(uint32_t category, const wchar_t *name) {
    domain_name_category_w(NULL, category, name);
}

static const void *domain_register_a(void *handle, const char *text) {
    const char *string = NULL;
    (void)handle;
    RECORD(thread, string = nvtx_intern(nvtx_text(text)));
    return string;
}
static const void *domain_register_w(void *handle, const wchar_t *text) {
    const char *string = NULL;
    (void)handle;
    RECORD(thread, string = nvtx_intern(nvtx_text_from_wide(thread, text)));
    return string;
}
static void *domain_create_a(const char *name) {
    void *domain = NULL;
    RECORD(thread, domain = nvtx_domain(nvtx_text(name)));
    return domain;
}
static void *domain_create_w(const wchar_t *name) {
    void *domain = NULL;
    RECORD(thread, domain = nvtx_domain(nvtx_text_from_wide(thread, name)));
    return domain;
}
/* Domains of the same name share a handle, and may have open ranges. */
static void domain_destroy(void *handle) {
    (void)handle;
}

static void put_thread(struct probe_thread *thread, int64_t tid, uint32_t name) {
    struct spool_thread *record = spool_begin(thread->lane, SPOOL_THREAD, name, sizeof *record);
    if (!record)
        return;
    record->tid = tid;
    spool_publish(thread->lane);
}
static void name_thread(struct probe_thread *thread, uint32_t tid, struct text name) {
    put_thread(thread, tid, spool_text(thread->lane, name));
    if (tid != thread->tid)
        put_thread(thread, thread->tid, 0);
}
static void name_thread_a(uint32_t tid, const char *name) {
    RECORD(thread, name_thread(thread, tid, nvtx_text(name)));
}
static void name_thread_w(uint32_t tid, const wchar_t *name) {
    RECORD(thread, name_thread(thread, tid, nvtx_text_from_wide(thread, name)));
}

static nvtx_function *const core[] = {
    [NVTX_MARK_EX] = (nvtx_function *)mark_ex,
    [NVTX_MARK_A] = (nvtx_function *)mark_a,
    [NVTX_MARK_W] = (nvtx_function *)mark_w,
    [NVTX_RANGE_START_EX] = (nvtx_function *)range_start_ex,
    [NVTX_RANGE_START_A] = (nvtx_function *)range_start_a,
    [NVTX_RANGE_START_W] = (nvtx_function *)range_start_w,
    [NVTX_RANGE_END] = (nvtx_function *)range_end,
    [NVTX_RANGE_PUSH_EX] = (nvtx_function *)range_push_ex,
    [NVTX_RANGE_PUSH_A] = (nvtx_function *)nvtx_push,
    [NVTX_RANGE_PUSH_W] = (nvtx_function *)range_push_w,
    [NVTX_RANGE_POP] = (nvtx_function *)nvtx_pop,
    [NVTX_NAME_CATEGORY_A] = (nvtx_function *)name_category_a,
    [NVTX_NAME_CATEGORY_W] = (nvtx_function *)name_category_w,
    [NVTX_NAME_THREAD_A] = (nvtx_function *)name_thread_a,
    [NVTX_NAME_THREAD_W] = (nvtx_function *)name_thread_w,
};

static nvtx_function *const core2[] = {
    [NVTX_DOMAIN_MARK_EX] = (nvtx_function *)domain_mark_ex,
    [NVTX_DOMAIN_RANGE_START_EX] = (nvtx_function *)domain_range_start_ex,
    [NVTX_DOMAIN_RANGE_END] = (nvtx_function *)domain_range_end,
    [NVTX_DOMAIN_RANGE_PUSH_EX] = (nvtx_function *)domain_range_push_ex,
    [NVTX_DOMAIN_RANGE_POP] = (nvtx_function *)domain_range_pop,
    [NVTX_DOMAIN_NAME_CATEGORY_A] = (nvtx_function *)domain_name_category_a,
    [NVTX_DOMAIN_NAME_CATEGORY_W] = (nvtx_function *)domain_name_category_w,
    [NVTX_DOMAIN_REGISTER_A] = (nvtx_function *)domain_register_a,
    [NVTX_DOMAIN_REGISTER_W] = (nvtx_function *)domain_register_w,
    [NVTX_DOMAIN_CREATE_A] = (nvtx_function *)domain_create_a,
    [NVTX_DOMAIN_CREATE_W] = (nvtx_function *)domain_create_w,
    [NVTX_DOMAIN_DESTROY] = (nvtx_function *)domain_destroy,
};

/* Older copies have fewer functions, and slots may be NULL. */
static bool install_module(const struct nvtx_callbacks *callbacks, int module,
                           nvtx_function *const *functions, unsigned known) {
    nvtx_function ***table = NULL;
    unsigned count = 0;
    if (!callbacks->module_table(module, &table, &count) || !table)
        return false;
    for (unsigned i = 1; i < known && i < count; i++)
        if (functions[i] && table[i])
            *table[i] = functions[i];
    return true;
}

bool nvtx_install(nvtx_export_table *tables) {
    const struct nvtx_callbacks *callbacks = tables(NVTX_TABLE_CALLBACKS);
    const struct nvtx_version *version = tables(NVTX_TABLE_VERSION);
    if (!callbacks || callbacks->struct_size < sizeof *callbacks || !callbacks->module_table)
        return false;
    if (version && version->struct_size >= sizeof *version && version->set_tool_version)
        version->set_tool_version(TOOL_VERSION);
    bool installed = install_module(callbacks, NVTX_MODULE_CORE, core, ARRAY_COUNT(core));
    return install_module(callbacks, NVTX_MODULE_CORE2, core2, ARRAY_COUNT(core2)) || installed;
}
