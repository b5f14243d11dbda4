/* The two injection entry points, the options, and the cost of the probe.
 *
 * The library is never unloaded (-z nodelete), because its functions stay installed in the program.
 * Loading it has no effect; only the entry points start it.
 */
#include "probe/probe.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#define DOOR __attribute__((visibility("default")))

DOOR int InitializeInjection(void);
DOOR int InitializeInjectionNvtx2(nvtx_export_table *tables);

/* Called by the CUDA driver ($CUDA_INJECTION64_PATH). The driver goes on either way. */
int InitializeInjection(void) {
    int error = errno;
    struct probe *probe = probe_start();
    if (probe && probe->options.cuda)
        probe_cuda_start(probe);
    errno = error;
    return 1;
}

/* Called by NVTX ($NVTX_INJECTION64_PATH), once for each copy of it. 0: NVTX does without us. */
int InitializeInjectionNvtx2(nvtx_export_table *tables) {
    int error = errno;
    struct probe *probe = probe_start();
    bool installed = probe && probe->options.nvtx && tables && nvtx_install(tables);
    errno = error;
    return installed;
}

void probe_meta(struct probe_thread *thread, const char *key, struct text value) {
    uint32_t key_number = spool_constant(thread->lane, key);
    uint32_t value_number = spool_text(thread->lane, value);
    struct spool_meta *meta = spool_begin(thread->lane, SPOOL_META, key_number, sizeof *meta);
    if (!meta)
        return;
    meta->value = value_number;
    meta->unused = 0;
    spool_publish(thread->lane);
}

/* ---- Options --------------------------------------------------------------------------------- */

#define CAPTURE "capture="

static void read_word(struct probe_options *options, struct text word) {
    ptrdiff_t equals = text_find(word, "=");
    if (equals < 0)
        return;
    struct text name = {word.data, (size_t)equals};
    struct text value = {word.data + equals + 1, word.length - (size_t)equals - 1};
    uint64_t number;
    if (text_is(name, "nvtx"))
        options->nvtx = !text_is(value, "0");
    else if (text_is(name, "cuda"))
        options->cuda = !text_is(value, "0");
    else if (text_is(name, "graph"))
        options->by_node = text_is(value, "node");
    else if (text_is(name, "room") && text_to_u64(value, &number))
        options->room = number;
    else if (text_is(name, "from") && text_to_u64(value, &number) && number < INT64_MAX)
        options->from = (int64_t)number;
}

struct probe_options options_parse(const char *words) {
    struct probe_options options = {.nvtx = true, .cuda = true};
    struct text rest = text_of(words ? words : "");
    while (rest.length > 0) {
        if (text_starts(rest, CAPTURE)) {
            size_t before = sizeof CAPTURE - 1;
            options.capture = (struct text){rest.data + before, rest.length - before};
            break;
        }
        ptrdiff_t comma = text_find(rest, ",");
        size_t length = comma < 0 ? rest.length : (size_t)comma;
        read_word(&options, (struct text){rest.data, length});
        size_t taken = comma < 0 ? length : length + 1;
        rest = (struct text){rest.data + taken, rest.length - taken};
    }
    return options;
}

/* ---- Cost ------------------------------------------------------------------------------------ */

/* Timing every entry would cost about as much as the entries themselves, so one of COST_MEASURED is
 * timed and stands for the others. */

enum { TELL_EVERY_NS = 100000000, INTERRUPTED_NS = 100000 };

static _Atomic int64_t total, told_at;

static void tell(struct probe_thread *thread, int64_t cost) {
    char number[32];
    int length = snprintf(number, sizeof number, "%lld", (long long)cost);
    probe_meta(thread, "probe.cost_ns", (struct text){number, (size_t)length});
}

/* An entry this long is one that lost its processor, and stands for itself alone. */
void cost_add(struct probe_thread *thread) {
    int64_t now = spool_now(), took = now - thread->entered_at;
    thread->entered_at = 0;
    if (took < INTERRUPTED_NS)
        took *= COST_MEASURED;
    int64_t cost = atomic_fetch_add(&total, took) + took, last = atomic_load(&told_at);
    if (now - last > TELL_EVERY_NS && atomic_compare_exchange_strong(&told_at, &last, now))
        tell(thread, cost);
}

void cost_count(int64_t took) {
    atomic_fetch_add_explicit(&total, took, memory_order_relaxed);
}

void cost_end(void) {
    struct probe_thread *thread = atomic_load(&total) > 0 ? probe_enter() : NULL;
    if (!thread)
        return;
    tell(thread, atomic_load(&total));
    probe_leave(thread);
}

void cost_forget(void) {
    atomic_store(&total, 0);
    atomic_store(&told_at, 0);
}
