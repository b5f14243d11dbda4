/* Runs the same work in another framework: the requests, the answers and their time limits. The
 * other half is peer.py, which is embedded by scripts/embed; peer_process.c runs the process. */
#include "bench/peer/peer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "bench/peer/peer_process.h"
#include "device/cpu/processor.h"

extern const unsigned char embedded_peer_py[]; /* terminated */

static const struct framework {
    const char *name, *title;
} frameworks[] = {{"torch", "PyTorch"}, {"mlx", "MLX"}, {"jax", "JAX"}};

/* Loading PyTorch from a cold disk and compiling with it are slow. */
const struct peer_patience peer_patience = {.start = 120, .prepare = 180, .batch = 60};

struct peer {
    const struct framework *framework;
    struct peer_patience patience;
    struct peer_process process;
    struct status lost; /* why it is no longer usable; STATUS_OK: it is */
    char description[128];
    double call_ns; /* about what a call takes */
};

static const struct framework *find_framework(const char *name) {
    for (size_t i = 0; i < ARRAY_COUNT(frameworks); i++)
        if (strcmp(frameworks[i].name, name) == 0)
            return &frameworks[i];
    return NULL;
}

static const char *interpreter(void) {
    const char *chosen = getenv("RIDGE_PYTHON");
    return chosen && *chosen ? chosen : "python3";
}

/* The text after `word` in the answer; false if it starts with another word. */
static bool answer_is(struct text answer, const char *word, struct text *rest) {
    size_t length = strlen(word);
    if (!text_starts(answer, word) || (answer.length > length && answer.data[length] != ' '))
        return false;
    size_t skipped = answer.length > length ? length + 1 : length;
    *rest = (struct text){answer.data + skipped, answer.length - skipped};
    return true;
}

/* ---- Asking ----------------------------------------------------------------------------- */

static bool mark_lost(struct peer *peer, struct status *status) {
    peer->lost = *status;
    return false;
}

static bool ask(struct peer *peer, struct text request, double seconds, struct text *answer,
                struct status *status) {
    if (peer->lost.code != STATUS_OK) {
        *status = peer->lost;
        return false;
    }
    if (peer_process_request(&peer->process, request, seconds, answer, status))
        return true;
    status_context(status, "%s", peer->framework->title);
    return mark_lost(peer, status);
}

/* An unexpected answer: a reported failure, after which the peer continues, or an invalid
 * answer, after which it is not used again. */
static bool other_answer(struct peer *peer, struct text answer, const char *during,
                         struct status *status) {
    struct text reason;
    if (answer_is(answer, "failed", &reason))
        return status_fail(status, STATUS_UNSUPPORTED, "%s%s: %.*s", peer->framework->title, during,
                           TEXT_ARGS(reason));
    peer_process_finish(&peer->process);
    status_fail(status, STATUS_IO, "%s%s: %s answered \"%.*s\", which is not valid here",
                peer->framework->title, during, peer->process.program,
                answer.length < 100 ? (int)answer.length : 100, answer.data);
    return mark_lost(peer, status);
}

/* Whether the answer is `word` and a time. */
static bool answer_is_time(struct text answer, const char *word, double *ns) {
    struct text rest;
    int64_t number;
    if (!answer_is(answer, word, &rest) || !text_to_i64(rest, &number) || number < 0)
        return false;
    *ns = (double)number;
    return true;
}

/* ---- Start and end ---------------------------------------------------------------------- */

static bool start_process(struct peer *peer, const char *device, struct status *status) {
    unsigned threads;
    char thread_words[16];
    if (!machine_threads(&threads, status))
        return false;
    snprintf(thread_words, sizeof thread_words, "%u", threads);
    const char *arguments[] = {
        interpreter(), "-c", (const char *)embedded_peer_py, peer->framework->name, device,
        thread_words,  NULL};
    if (peer_process_start(&peer->process, arguments, status))
        return true;
    char why[200];
    snprintf(why, sizeof why, "%.199s", status->message);
    return status_fail(status, STATUS_UNSUPPORTED,
                       "%s; for %s install Python 3 and it, or set RIDGE_PYTHON to an interpreter "
                       "that has it",
                       why, peer->framework->title);
}

static bool read_greeting(struct peer *peer, struct status *status) {
    struct text answer, description;
    if (!ask(peer, TEXT(""), peer->patience.start, &answer, status))
        return false;
    if (answer_is(answer, "unusable", &description))
        return status_fail(status, STATUS_UNSUPPORTED, "%.*s", TEXT_ARGS(description));
    if (!answer_is(answer, "ready", &description))
        return other_answer(peer, answer, "", status);
    snprintf(peer->description, sizeof peer->description, "%.*s", TEXT_ARGS(description));
    return true;
}

struct peer *peer_start_within(const char *framework, const char *device,
                               const struct peer_patience *patience, struct status *status) {
    const struct framework *found = find_framework(framework);
    if (!found) {
        status_fail(status, STATUS_USAGE, "unknown peer %.40s; the peers are torch, mlx and jax",
                    framework);
        return NULL;
    }
    struct peer *peer = memory_allocate(1, sizeof *peer, status);
    if (!peer)
        return NULL;
    peer->framework = found;
    peer->patience = *patience;
    peer->process.conversation = peer->process.complaints = -1;
    if (start_process(peer, device, status) && read_greeting(peer, status))
        return peer;
    peer_stop(peer);
    return NULL;
}

struct peer *peer_start(const char *framework, const char *device, struct status *status) {
    return peer_start_within(framework, device, &peer_patience, status);
}

void peer_stop(struct peer *peer) {
    if (!peer)
        return;
    peer_process_finish(&peer->process);
    memory_free(peer);
}

void peer_watch(struct peer *peer, const volatile sig_atomic_t *stop) {
    peer->process.stop = stop;
}

const char *peer_description(const struct peer *peer) {
    return peer->description;
}

/* ---- Work ------------------------------------------------------------------------------- */

static void write_input(const struct peer_input *input, struct json *json) {
    json_begin_object(json);
    json_member_string(json, "dtype", ridge_dtype_name(input->dtype));
    json_member_number(json, "scale", input->scale);
    json_key(json, "sizes");
    json_begin_array(json);
    for (unsigned i = 0; i < input->rank; i++)
        json_integer(json, input->sizes[i]);
    json_end_array(json);
    json_end_object(json);
}

static void write_work(const struct peer_work *work, struct json *json) {
    json_begin_object(json);
    json_key(json, "prepare");
    json_begin_object(json);
    json_member_string(json, "name", work->name);
    json_member_bool(json, "compiled", work->compiled);
    json_member_unsigned(json, "turns", work->turns > 0 ? work->turns : 1);
    json_key(json, "numbers");
    json_begin_array(json);
    for (unsigned i = 0; i < PEER_NUMBERS_MAX; i++)
        json_number(json, work->numbers[i]);
    json_end_array(json);
    json_key(json, "inputs");
    json_begin_array(json);
    for (unsigned i = 0; i < work->input_count; i++)
        write_input(&work->inputs[i], json);
    json_end_array(json);
    json_end_object(json);
    json_end_object(json);
}

bool peer_prepare(struct peer *peer, const struct peer_work *work, bool *has,
                  struct status *status) {
    struct buffer request = {0};
    struct output output = output_into(&request);
    struct json json = {.output = &output};
    struct text answer, lacking;
    char during[80];
    write_work(work, &json);
    buffer_byte(&request, '\n');
    bool ok = buffer_ok(&request, status) &&
              ask(peer, buffer_as_text(&request), peer->patience.prepare, &answer, status);
    buffer_finish(&request);
    if (!ok)
        return false;
    *has = answer_is_time(answer, "prepared", &peer->call_ns);
    if (*has || answer_is(answer, "lacks", &lacking))
        return true;
    snprintf(during, sizeof during, ", preparing %.40s", work->name);
    return other_answer(peer, answer, during, status);
}

bool peer_batch(void *context, unsigned calls, double *nanoseconds, struct status *status) {
    struct peer *peer = context;
    struct text answer;
    char request[40];
    int length = snprintf(request, sizeof request, "{\"batch\":%u}\n", calls);
    double seconds = peer->patience.batch + calls * peer->call_ns / 1e9;
    if (!ask(peer, (struct text){request, (size_t)length}, seconds, &answer, status))
        return false;
    if (!answer_is_time(answer, "took", nanoseconds))
        return other_answer(peer, answer, "", status);
    if (calls > 0)
        peer->call_ns = *nanoseconds / calls;
    return true;
}
