/* libproc and sysctl. Mach's task_for_pid() would tell more, but needs root or a debugger's
 * entitlement; proc_pidinfo() needs the same user.
 */
#ifdef __APPLE__
#include "record/process_facts.h"

#include <errno.h>
#include <libproc.h>
#include <mach/thread_info.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/proc.h>
#include <sys/resource.h>
#include <sys/sysctl.h>

#include "base/memory.h"
#include "base/text.h"
#include "record/process_arguments.h"
#include "record/thread_files.h"

enum {
    LIST_THREAD_IDS = 28, /* PROC_PIDLISTTHREADIDS, in xnu's proc_info_private.h */
    LIST_START = 64,
    LIST_MAX = 1 << 20,
    ARGUMENTS_MAX = 1 << 20, /* ARG_MAX */
};

size_t process_facts_name(int64_t pid, char *name, size_t capacity) {
    int length = proc_name((int)pid, name, (uint32_t)capacity);
    size_t kept = length > 0 && (size_t)length < capacity ? (size_t)length : 0;
    name[kept] = 0;
    return kept;
}

int64_t process_facts_resident(int64_t pid) {
    struct rusage_info_v2 used;
    return proc_pid_rusage((int)pid, RUSAGE_INFO_V2, (rusage_info_t *)&used) == 0
               ? (int64_t)used.ri_resident_size
               : 0;
}

size_t process_facts_command(int64_t pid, char *words, size_t capacity) {
    int key[] = {CTL_KERN, KERN_PROCARGS2, (int)pid};
    size_t size = ARGUMENTS_MAX, length = 0;
    struct status ignored;
    char *arguments = memory_allocate(size, 1, &ignored);
    if (arguments && sysctl(key, 3, arguments, &size, NULL, 0) == 0)
        length = process_arguments_parse(arguments, size, words, capacity);
    memory_free(arguments);
    return length ? length : process_facts_name(pid, words, capacity);
}

static bool read_process(int64_t pid, struct proc_bsdinfo *info) {
    return proc_pidinfo((int)pid, PROC_PIDTBSDINFO, 0, info, sizeof *info) == sizeof *info;
}

struct job_place process_facts_place(int64_t pid) {
    (void)pid;
    return (struct job_place){-1, -1, -1};
}

bool process_facts_has_ended(int64_t pid) {
    struct proc_bsdinfo info;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return true;
    return read_process(pid, &info) && info.pbi_status == SZOMB;
}

static int64_t start_of(const struct proc_bsdinfo *info) {
    return (int64_t)(info->pbi_start_tvsec * 1000000 + info->pbi_start_tvusec);
}

bool process_facts_is_orphan(int64_t pid, int64_t started) {
    struct proc_bsdinfo info;
    return read_process(pid, &info) && info.pbi_ppid == 1 && info.pbi_status != SZOMB &&
           start_of(&info) == started;
}

int64_t process_facts_started(int64_t pid) {
    struct proc_bsdinfo info;
    return read_process(pid, &info) ? start_of(&info) : 0;
}

/* A list that fills its memory may be longer. */
bool process_facts_children(int64_t pid, process_facts_visit *visit, void *context,
                            struct status *status) {
    pid_t *list = NULL;
    size_t capacity = 0;
    int count = 0;
    do {
        if (!GROW(list, &capacity, capacity ? 2 * capacity : LIST_START, status))
            break;
        count = proc_listchildpids((pid_t)pid, list, (int)(capacity * sizeof *list));
    } while (count >= 0 && (size_t)count >= capacity && capacity < LIST_MAX);
    bool ok = list != NULL;
    for (int i = 0; i < count && (size_t)i < capacity && ok; i++)
        ok = visit(context, list[i], status);
    memory_free(list);
    return ok;
}

bool process_facts_threads(int64_t pid, process_facts_visit *visit, void *context,
                           struct status *status) {
    uint64_t *list = NULL;
    size_t capacity = 0;
    int bytes = 0;
    do {
        if (!GROW(list, &capacity, capacity ? 2 * capacity : LIST_START, status))
            break;
        bytes = proc_pidinfo((int)pid, LIST_THREAD_IDS, 0, list, (int)(capacity * sizeof *list));
    } while (bytes > 0 && (size_t)bytes >= capacity * sizeof *list && capacity < LIST_MAX);
    bool ok = list != NULL;
    for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof *list && i < capacity && ok; i++)
        ok = visit(context, (int64_t)list[i], status);
    memory_free(list);
    return ok;
}

/* ---- Threads ----------------------------------------------------------------------------- */

static bool read_thread(int64_t pid, int64_t tid, struct proc_threadinfo *info) {
    return proc_pidinfo((int)pid, PROC_PIDTHREADID64INFO, (uint64_t)tid, info, sizeof *info) ==
           sizeof *info;
}

/* The kernel has converted the times to nanoseconds. It does not count the time that a thread is
 * ready. */
bool thread_files_times(int64_t pid, int64_t tid, struct thread_times *times) {
    struct proc_threadinfo info;
    if (!read_thread(pid, tid, &info))
        return false;
    *times = (struct thread_times){.running = (int64_t)(info.pth_user_time + info.pth_system_time),
                                   .ready = -1,
                                   .user = (int64_t)info.pth_user_time,
                                   .kernel = (int64_t)info.pth_system_time};
    return true;
}

/* What a thread waits for is not known; that it waits is. */
bool thread_files_block(int64_t pid, int64_t tid, struct blocking *blocking) {
    struct proc_threadinfo info;
    *blocking = (struct blocking){0};
    if (!read_thread(pid, tid, &info))
        return false;
    return info.pth_run_state == TH_STATE_WAITING ||
           info.pth_run_state == TH_STATE_UNINTERRUPTIBLE || info.pth_run_state == TH_STATE_STOPPED;
}

bool thread_files_name(int64_t pid, int64_t tid, char *name, size_t capacity) {
    struct proc_threadinfo info;
    if (!read_thread(pid, tid, &info) || !info.pth_name[0])
        return false;
    size_t length = strnlen(info.pth_name, sizeof info.pth_name);
    if (length >= capacity)
        length = capacity - 1;
    memcpy(name, info.pth_name, length);
    name[length] = 0;
    return true;
}
#endif
