/* Serves a recorder that attaches to the running process.
 *
 * The recorder interrupts a thread of the program to call session_start(). That thread may hold any
 * lock of the program, so it only starts another thread, which opens the spool and subscribes to
 * CUPTI. It ends the session when the recorder requests that, or has died, and leaves no thread, no
 * mapped file and no subscription behind.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/library.h"
#include "probe/probe.h"

enum { POLL_NS = 10000000, FOLDER_SIZE = 1024, WORDS_SIZE = 4096 };

static _Atomic bool is_serving;
static char session_folder[FOLDER_SIZE], session_words[WORDS_SIZE];

void session_forked(void) {
    atomic_store(&is_serving, false);
}

static bool has_cuda(void) {
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    return library_loaded(names) != NULL;
}

static void serve_recorder(struct probe *probe) {
    bool cuda = probe->options.cuda && has_cuda() && probe_cuda_start(probe);
    spool_mark_ready(probe->spool);
    while (!spool_is_finishing(probe->spool))
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    if (cuda)
        probe_cuda_stop();
    cost_finish();
    spool_mark_ended(probe->spool);
}

static void *serve_session(void *nothing) {
    (void)nothing;
    probe_name_thread();
    if (probe_open(session_folder, session_words)) {
        serve_recorder(probe_start());
        probe_close(true);
    }
    atomic_store(&is_serving, false);
    return NULL;
}

int session_start(const char *folder, const char *words) {
    bool expected = false;
    if (!folder || !words || strlen(folder) >= FOLDER_SIZE || strlen(words) >= WORDS_SIZE)
        return SESSION_NO_THREAD;
    if (probe_is_recorded() || !atomic_compare_exchange_strong(&is_serving, &expected, true))
        return SESSION_IS_RECORDED;
    strcpy(session_folder, folder);
    strcpy(session_words, words);
    if (probe_start_thread(serve_session))
        return SESSION_STARTS;
    atomic_store(&is_serving, false);
    return SESSION_NO_THREAD;
}
