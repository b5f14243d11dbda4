/* On Linux all processes of the program are descendants of the recorder, which is a subreaper. On
 * macOS a process whose parent has ended stays in the list, if a walk has seen it before. Counters
 * are written when they change.
 */
#include "record/processes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "record/process_facts.h"
#include "spool/spool.h"

enum {
    NAME_SIZE = 64,
    COUNTERS_MAX = 256,    /* processes with their own counter */
    PROCESSES_MAX = 10000, /* alive at the same time */
    WALK_SHARE = 100,      /* a walk of duration t is followed by a pause of 100 t */
    PLACE_VISITS = 20,     /* in which a process may still get its environment by exec */
};

struct process {
    int64_t pid, started;
    int64_t resident; /* bytes, as last written; -1: never */
    char name[NAME_SIZE];
    bool is_visited;                /* by the current walk */
    uint32_t counter;               /* string of its counter's name; 0: none */
    unsigned place_visits;          /* in which its environment was read; it has no rank yet */
    int64_t looked_from, next_look; /* for libraries: first and next time */
};

uint32_t processes_row(struct processes *processes, int64_t pid, struct text name) {
    struct status ignored; /* readers merge rows of the same process */
    const uint64_t *known = map_find(&processes->rows, (uint64_t)pid);
    if (known && name.length == 0)
        return (uint32_t)*known;
    char host[PROCESS_NAME_SIZE];
    process_host(host);
    uint32_t row = trace_write_process(
        processes->writer, &(struct row_process){
                               .pid = (uint64_t)pid,
                               .name = trace_writer_string(processes->writer, name),
                               .host = trace_writer_string(processes->writer, text_of(host)),
                           });
    if (!known)
        processes->count++;
    map_set(&processes->rows, (uint64_t)pid, row, &ignored);
    return row;
}

static uint32_t number_string(struct trace_writer *writer, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    return number < 0 ? 0 : trace_writer_string(writer, text_of(digits));
}

void processes_place(struct processes *processes, int64_t pid, struct job_place place) {
    struct trace_writer *writer = processes->writer;
    char host[PROCESS_NAME_SIZE];
    process_host(host);
    trace_write_process(writer, &(struct row_process){
                                    .pid = (uint64_t)pid,
                                    .host = trace_writer_string(writer, text_of(host)),
                                    .rank = number_string(writer, place.rank),
                                    .local_rank = number_string(writer, place.local_rank),
                                    .world_size = number_string(writer, place.world_size),
                                });
}

void processes_finish(struct processes *processes) {
    map_finish(&processes->rows);
    memory_free(processes->alive);
    memset(processes, 0, sizeof *processes);
}

static struct process *find_process(struct processes *processes, int64_t pid) {
    for (size_t i = 0; i < processes->alive_count; i++)
        if (processes->alive[i].pid == pid)
            return &processes->alive[i];
    return NULL;
}

static bool add_process(struct processes *processes, int64_t pid, struct status *status) {
    if (!GROW(processes->alive, &processes->alive_capacity, processes->alive_count + 1, status))
        return false;
    struct process *process = &processes->alive[processes->alive_count++];
    *process = (struct process){.pid = pid, .started = process_facts_started(pid), .resident = -1};
    return true;
}

/* exec() may change the name, so it is read at each walk. */
static bool visit_process(void *context, int64_t pid, struct status *status) {
    struct processes *processes = context;
    char name[NAME_SIZE] = "";
    struct process *process = find_process(processes, pid);
    if (pid == getpid())
        return true;
    if (!process) {
        if (processes->alive_count >= PROCESSES_MAX)
            return true;
        if (!add_process(processes, pid, status))
            return false;
        process = &processes->alive[processes->alive_count - 1];
    }
    process->is_visited = true;
    if (process->place_visits < PLACE_VISITS) {
        struct job_place place = process_facts_place(pid);
        process->place_visits = place.rank >= 0 ? PLACE_VISITS : process->place_visits + 1;
        if (place.rank >= 0)
            processes_place(processes, pid, place);
    }
    process_facts_name(pid, name, sizeof name);
    if (strcmp(name, process->name) != 0 && *name) {
        memcpy(process->name, name, sizeof name);
        processes_row(processes, pid, text_of(name));
        process->counter = 0;
    }
    return true;
}

static void write_counter(struct processes *processes, int64_t now, uint32_t name, int64_t bytes) {
    trace_write_counter(processes->writer,
                        &(struct row_counter){.time = now, .name = name, .value = (double)bytes});
}

static void write_resident(struct processes *processes, struct process *process, int64_t now,
                           int64_t bytes) {
    if (bytes == process->resident)
        return;
    if (!process->counter) {
        char name[NAME_SIZE + 64];
        snprintf(name, sizeof name, "resident memory of %s (%lld)", process->name,
                 (long long)process->pid);
        process->counter = trace_writer_string(processes->writer, text_of(name));
    }
    process->resident = bytes;
    write_counter(processes, now, process->counter, bytes);
}

/* Processes that the walk did not visit have ended. */
static void remove_ended(struct processes *processes, int64_t now) {
    size_t kept = 0;
    for (size_t i = 0; i < processes->alive_count; i++) {
        struct process *process = &processes->alive[i];
        if (process->is_visited)
            processes->alive[kept++] = *process;
        else if (process->resident > 0)
            write_resident(processes, process, now, 0);
    }
    processes->alive_count = kept;
}

/* Breadth first: the list grows while it is walked. */
static bool walk_tree(struct processes *processes, int64_t now, struct status *status) {
    int64_t began = clock_now();
    for (size_t i = 0; i < processes->alive_count; i++)
        processes->alive[i].is_visited = false;
    bool ok = processes->root ? visit_process(processes, processes->root, status)
                              : process_facts_children(getpid(), visit_process, processes, status);
    for (size_t i = 0; i < processes->alive_count && ok; i++) {
        struct process *process = &processes->alive[i];
        process->is_visited |= process_facts_is_orphan(process->pid, process->started);
        if (process->is_visited)
            ok = process_facts_children(process->pid, visit_process, processes, status);
    }
    remove_ended(processes, now);
    processes->next_walk = now + (clock_now() - began) * WALK_SHARE;
    return ok;
}

/* Less and less often: libraries are loaded early. */
static void look_for_apis(struct processes *processes, struct process *process, int64_t now) {
    if (!processes->apis || now < process->next_look)
        return;
    int64_t age = process->looked_from ? now - process->looked_from : 0;
    if (!process->looked_from)
        process->looked_from = now;
    process->next_look = now + age;
    apis_read_maps(processes->apis, process->pid);
}

bool processes_sample(struct processes *processes, int64_t now, struct status *status) {
    int64_t sum = 0;
    if (now >= processes->next_walk && !walk_tree(processes, now, status))
        return false;
    for (size_t i = 0; i < processes->alive_count; i++) {
        int64_t bytes = process_facts_resident(processes->alive[i].pid);
        look_for_apis(processes, &processes->alive[i], now);
        sum += bytes;
        if (i < COUNTERS_MAX)
            write_resident(processes, &processes->alive[i], now, bytes);
    }
    if (sum != processes->last_sum)
        write_counter(processes, now,
                      trace_writer_string(processes->writer, TEXT("resident memory")), sum);
    processes->last_sum = sum;
    return true;
}
