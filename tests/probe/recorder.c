/* A minimal recorder: runs a program with the probe and prints the records of the spool.
 *
 *   recorder [-c] [-k] [-s] FOLDER LIBRARY PROGRAM...
 *
 * Prints a line per record, a line per process and a line with totals; with -c (count) only the
 * totals. Processes are numbered in the order of their appearance. With -k (killed) nothing is
 * read, as if the recorder had been killed. With -s (stops) the spool is closed while the program
 * runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "spool/spool.h"

static struct spool_reader *reader;
static bool only_count;
static uint64_t opened, closed, marks, texts, lanes_seen;
static struct cuda_counts {
    uint64_t calls, kernels, copies, sets, waits, allocations, devices, joined, impossible;
} cuda;
static struct map call_ids, kernel_ids; /* process << 32 | correlation */
static struct map open_names[1024];     /* by process: id -> copy of its name */

static const char *text(unsigned lane, uint32_t number) {
    static char copies[4][SPOOL_TEXT_MAX + 1];
    static unsigned next;
    char *copy = copies[next++ % 4];
    snprintf(copy, sizeof copies[0], "%.*s", TEXT_ARGS(spool_reader_text(reader, lane, number)));
    return copy;
}

static void print_attributes(unsigned lane, uint32_t domain, uint32_t category,
                             uint32_t has_payload, int64_t payload, uint32_t color) {
    double number;
    memcpy(&number, &payload, sizeof number);
    if (domain)
        printf(" domain=%s", text(lane, domain));
    if (category)
        printf(" category=%s", text(lane, category));
    if (has_payload == SPOOL_PAYLOAD_DOUBLE)
        printf(" payload=%g", number);
    else if (has_payload)
        printf(" payload=%lld", (long long)payload);
    if (color)
        printf(" color=%08x", color);
    printf("\n");
}

static bool print_range(unsigned process, unsigned lane, const struct spool_range *range,
                        struct status *status) {
    struct map *names = &open_names[process % 1024];
    if (range->head.kind == SPOOL_RANGE_OPEN) {
        const char *name = text(lane, range->head.text);
        opened++;
        if (only_count)
            return true;
        printf("%u open %s", process, name);
        print_attributes(lane, range->domain, range->category, range->has_payload, range->payload,
                         range->color);
        char *copy = text_copy(text_of(name), status);
        return copy && map_set(names, range->id, (uintptr_t)copy, status);
    }
    closed++;
    const uint64_t *name = map_find(names, range->id);
    if (!only_count)
        printf("%u end %s\n", process, name ? (const char *)(uintptr_t)*name : "?");
    return true;
}

static bool is_span(int64_t start, int64_t end) {
    return start > 0 && start <= end && end < clock_now() + 1000000000;
}

/* A call and its kernel lie in different lanes and come in either order. */
static bool join(struct map *own, const struct map *other, unsigned process, uint32_t correlation,
                 struct status *status) {
    uint64_t id = (uint64_t)process << 32 | correlation;
    cuda.joined += map_find(other, id) != NULL;
    return map_set(own, id, 1, status);
}

static bool take_cuda(unsigned process, unsigned lane, const struct spool_head *record,
                      struct status *status) {
    const struct spool_call *call = (const void *)record;
    const struct spool_kernel *kernel = (const void *)record;
    const struct spool_copy *copy = (const void *)record;
    const struct spool_wait *wait = (const void *)record;
    const struct spool_memory *memory = (const void *)record;
    const struct spool_device *device = (const void *)record;
    const struct spool_dropped *dropped = (const void *)record;
    const struct spool_paused *paused = (const void *)record;
    switch (record->kind) {
    case SPOOL_CALL:
        cuda.calls++;
        cuda.impossible += !is_span(call->start, call->start + call->duration);
        if (!only_count)
            printf("%u call %s class=%u result=%d\n", process, text(lane, record->text),
                   call->class, call->result);
        return join(&call_ids, &kernel_ids, process, call->correlation, status);
    case SPOOL_KERNEL:
        cuda.kernels++;
        cuda.impossible += !is_span(kernel->start, kernel->end);
        cuda.impossible += /* two of one call */
            map_find(&kernel_ids, (uint64_t)process << 32 | kernel->correlation) != NULL;
        if (!only_count)
            printf("%u kernel %s grid=%u,%u,%u block=%u,%u,%u shared=%u registers=%u stream=%u "
                   "ns=%lld\n",
                   process, text(lane, record->text), kernel->grid[0], kernel->grid[1],
                   kernel->grid[2], kernel->block[0], kernel->block[1], kernel->block[2],
                   kernel->shared_dynamic, kernel->registers, kernel->stream,
                   (long long)(kernel->end - kernel->start));
        return join(&kernel_ids, &call_ids, process, kernel->correlation, status);
    case SPOOL_COPY:
        cuda.copies += !copy->is_set;
        cuda.sets += copy->is_set;
        cuda.impossible += !is_span(copy->start, copy->end);
        printf("%u %s bytes=%llu direction=%u from=%u to=%u ns=%lld\n", process,
               copy->is_set ? "set" : "copy", (unsigned long long)copy->bytes, copy->direction,
               copy->from_memory, copy->to_memory, (long long)(copy->end - copy->start));
        return true;
    case SPOOL_WAIT:
        cuda.waits++;
        cuda.impossible += !is_span(wait->start, wait->end);
        if (!only_count)
            printf("%u wait kind=%u stream=%u/%d event=%u awaited=%u/%d recorded=%s\n", process,
                   wait->kind, wait->context, (int)wait->stream, wait->event, wait->awaited_context,
                   (int)wait->awaited_stream,
                   map_find(&call_ids, (uint64_t)process << 32 | wait->record_correlation) ? "yes"
                                                                                           : "no");
        return true;
    case SPOOL_MEMORY:
        cuda.allocations += !memory->released;
        if (!only_count)
            printf("%u memory thread=%s\n", process, memory->tid ? "known" : "unknown");
        return true;
    case SPOOL_PAUSED:
        cuda.impossible += !is_span(paused->start, paused->end ? paused->end : paused->start);
        printf("%u paused%s\n", process, paused->end ? " until then" : "");
        return true;
    case SPOOL_DEVICE:
        cuda.devices++;
        printf("%u device %s multiprocessors=%u\n", process, text(lane, record->text),
               device->multiprocessors);
        return true;
    case SPOOL_DROPPED:
        printf("%u lost %llu: %s\n", process, (unsigned long long)dropped->count,
               text(lane, record->text));
        return true;
    default:
        return true;
    }
}

static bool take(void *context, unsigned process, unsigned lane, const struct spool_head *record,
                 struct status *status) {
    const struct spool_mark *mark = (const void *)record;
    const struct spool_meta *meta = (const void *)record;
    (void)context;
    if (lane + 1 > lanes_seen)
        lanes_seen = lane + 1;
    switch (record->kind) {
    case SPOOL_RANGE_OPEN:
    case SPOOL_RANGE_END:
        return print_range(process, lane, (const void *)record, status);
    case SPOOL_MARK:
        marks++;
        if (!only_count) {
            printf("%u mark %s", process, text(lane, record->text));
            print_attributes(lane, mark->domain, mark->category, mark->has_payload, mark->payload,
                             mark->color);
        }
        break;
    case SPOOL_THREAD:
        if (!only_count && record->text)
            printf("%u thread %s\n", process, text(lane, record->text));
        break;
    case SPOOL_META:
        printf("%u meta %s: %s\n", process, text(lane, record->text), text(lane, meta->value));
        break;
    case SPOOL_TEXT:
        texts++;
        break;
    default:
        return take_cuda(process, lane, record, status);
    }
    return true;
}

static void drain(void) {
    struct status status;
    if (!spool_reader_drain(reader, take, NULL, &status)) {
        printf("FAILED %s\n", status.message);
        exit(1);
    }
}

static pid_t start(const char *folder, const char *library, char **program) {
    pid_t pid = fork();
    if (pid == 0) {
        setenv("NVTX_INJECTION64_PATH", library, 1);
        setenv("CUDA_INJECTION64_PATH", library, 1);
        setenv(SPOOL_VARIABLE, folder, 1);
        execvp(program[0], program);
        _exit(127);
    }
    return pid;
}

static void print_ends(int status) {
    for (unsigned i = 0; i < spool_reader_processes(reader); i++) {
        const struct spool_process *process = spool_reader_process(reader, i);
        printf("%u %s dropped=%llu\n", i, process->ended ? "ended" : "cut",
               (unsigned long long)process->dropped);
    }
    if (cuda.calls > 0)
        printf("cuda calls=%llu kernels=%llu joined=%llu copies=%llu sets=%llu waits=%llu "
               "allocations=%llu impossible=%llu\n",
               (unsigned long long)cuda.calls, (unsigned long long)cuda.kernels,
               (unsigned long long)cuda.joined, (unsigned long long)cuda.copies,
               (unsigned long long)cuda.sets, (unsigned long long)cuda.waits,
               (unsigned long long)cuda.allocations, (unsigned long long)cuda.impossible);
    printf("processes=%u lanes=%llu opened=%llu closed=%llu marks=%llu texts=%llu damaged=%llu",
           spool_reader_processes(reader), (unsigned long long)lanes_seen,
           (unsigned long long)opened, (unsigned long long)closed, (unsigned long long)marks,
           (unsigned long long)texts, (unsigned long long)spool_reader_damaged(reader));
    if (WIFSIGNALED(status))
        printf(" signal=%d\n", WTERMSIG(status));
    else
        printf(" status=%d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv) {
    bool never_read = false, stops_early = false;
    struct status status;
    int ended = 0;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        only_count = only_count || strcmp(argv[1], "-c") == 0;
        never_read = never_read || strcmp(argv[1], "-k") == 0;
        stops_early = stops_early || strcmp(argv[1], "-s") == 0;
    }
    if (argc < 4)
        return 2;
    reader = spool_reader_open(argv[1], &status);
    if (!reader) {
        printf("FAILED %s\n", status.message);
        return 1;
    }
    pid_t pid = start(argv[1], argv[2], argv + 3);
    if (never_read) {
        waitpid(pid, &ended, 0);
    } else {
        while (!(stops_early && cuda.calls > 0) && waitpid(pid, &ended, WNOHANG) == 0) {
            drain();
            usleep(5000);
        }
        drain();
        print_ends(ended);
        spool_reader_close(reader);
        if (stops_early) {
            close(open(getenv("RECORDER_CLOSED"), O_CREAT | O_WRONLY, 0600));
            waitpid(pid, &ended, 0);
        }
    }
    return WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
}
