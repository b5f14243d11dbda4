/* MPI: the functions of the C interface, which pass their arguments on to the PMPI_ functions.
 * Handles are pointers in Open MPI and int in MPICH; arguments are passed as words, in which both
 * fit. A function that takes fewer than twelve arguments ignores the rest. Requests are not
 * followed: of nonblocking operations the waits are reported. Fortran's bindings call PMPI_ and are
 * not seen. */
#ifdef __linux__
#include "probe/collectives/collectives.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { COMMUNICATORS_MAX = 256, GROUP_NAME = 64, MEMBERS_MAX = 4096, ERROR_OTHER = 15 };

typedef intptr_t word;
typedef int mpi_function(word, word, word, word, word, word, word, word, word, word, word, word);

/* ---- The functions ----------------------------------------------------------------------- */

/* How many elements the arguments give. */
enum sizes {
    SIZE_NONE,
    SIZE_COUNT,     /* count */
    SIZE_EACH,      /* count for each rank of the group */
    SIZE_COUNTS,    /* an array with a count for each rank */
    SIZE_PROBE_ONLY /* not an operation: only looked up */
};
#define NO (-1)

/* Positions of arguments; NO: not there. */
struct call {
    const char *name, *operation;
    enum sizes sizes;
    int8_t count, type, communicator, root, peer;
    mpi_function *_Atomic real;
};

#define CALLS(X)                                                                                   \
    X(Barrier, "barrier", SIZE_NONE, NO, NO, 0, NO, NO)                                            \
    X(Bcast, "broadcast", SIZE_COUNT, 1, 2, 4, 3, NO)                                              \
    X(Reduce, "reduce", SIZE_COUNT, 2, 3, 6, 5, NO)                                                \
    X(Allreduce, "allreduce", SIZE_COUNT, 2, 3, 5, NO, NO)                                         \
    X(Reduce_scatter, "reduce_scatter", SIZE_COUNTS, 2, 3, 5, NO, NO)                              \
    X(Reduce_scatter_block, "reduce_scatter", SIZE_EACH, 2, 3, 5, NO, NO)                          \
    X(Allgather, "allgather", SIZE_EACH, 4, 5, 6, NO, NO)                                          \
    X(Allgatherv, "allgather", SIZE_COUNTS, 4, 6, 7, NO, NO)                                       \
    X(Gather, "gather", SIZE_COUNT, 1, 2, 7, 6, NO)                                                \
    X(Gatherv, "gather", SIZE_COUNT, 1, 2, 8, 7, NO)                                               \
    X(Scatter, "scatter", SIZE_COUNT, 4, 5, 7, 6, NO)                                              \
    X(Scatterv, "scatter", SIZE_COUNT, 5, 6, 8, 7, NO)                                             \
    X(Alltoall, "alltoall", SIZE_EACH, 1, 2, 6, NO, NO)                                            \
    X(Alltoallv, "alltoall", SIZE_COUNTS, 1, 3, 8, NO, NO)                                         \
    X(Scan, "scan", SIZE_COUNT, 2, 3, 5, NO, NO)                                                   \
    X(Exscan, "scan", SIZE_COUNT, 2, 3, 5, NO, NO)                                                 \
    X(Send, "send", SIZE_COUNT, 1, 2, 5, NO, 3)                                                    \
    X(Ssend, "send", SIZE_COUNT, 1, 2, 5, NO, 3)                                                   \
    X(Rsend, "send", SIZE_COUNT, 1, 2, 5, NO, 3)                                                   \
    X(Bsend, "send", SIZE_COUNT, 1, 2, 5, NO, 3)                                                   \
    X(Recv, "recv", SIZE_COUNT, 1, 2, 5, NO, 3)                                                    \
    X(Sendrecv, "sendrecv", SIZE_COUNT, 1, 2, 10, NO, 3)                                           \
    X(Wait, "wait", SIZE_NONE, NO, NO, NO, NO, NO)                                                 \
    X(Waitall, "wait", SIZE_NONE, NO, NO, NO, NO, NO)                                              \
    X(Waitany, "wait", SIZE_NONE, NO, NO, NO, NO, NO)                                              \
    X(Waitsome, "wait", SIZE_NONE, NO, NO, NO, NO, NO)                                             \
    X(Comm_free, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                                        \
    X(Init, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                                             \
    X(Init_thread, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                                      \
    X(Comm_rank, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                                        \
    X(Comm_size, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                                        \
    X(Comm_group, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                                       \
    X(Group_translate_ranks, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                            \
    X(Group_free, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)                                       \
    X(Type_size, NULL, SIZE_PROBE_ONLY, NO, NO, NO, NO, NO)

#define CALL_NUMBER(name, ...) NUMBER_##name,
enum { CALLS(CALL_NUMBER) NUMBERS };
#define CALL_ROW(name, operation, ...) [NUMBER_##name] = {"PMPI_" #name, operation, __VA_ARGS__},
static struct call calls[] = {CALLS(CALL_ROW)};

static mpi_function *real_function(unsigned number, const void *caller) {
    struct call *call = &calls[number];
    mpi_function *real = atomic_load_explicit(&call->real, memory_order_relaxed);
    if (!real) {
        void *found = collectives_find(call->name, caller);
        *(void **)&real = found;
        atomic_store_explicit(&call->real, real, memory_order_relaxed);
    }
    return real;
}

/* Calls a function of MPI with up to five arguments. */
static bool ask(unsigned number, const void *caller, word a, word b, word c, word d, word e) {
    mpi_function *real = real_function(number, caller);
    return real && real(a, b, c, d, e, 0, 0, 0, 0, 0, 0, 0) == 0;
}

/* ---- Communicators ----------------------------------------------------------------------- */

struct communicator {
    word handle; /* 0: free */
    int size, rank;
    uint64_t operations;
    char name[GROUP_NAME];
};
static struct communicator communicators[COMMUNICATORS_MAX];
static atomic_flag table_lock = ATOMIC_FLAG_INIT;

static void lock_table(void) {
    while (atomic_flag_test_and_set_explicit(&table_lock, memory_order_acquire))
        ;
}

static void unlock_table(void) {
    atomic_flag_clear_explicit(&table_lock, memory_order_release);
}

/* The handle of MPI_COMM_WORLD: the address of an object in Open MPI, a constant in MPICH. */
static word world_handle(const void *caller) {
    word object = (word)collectives_find_object("ompi_mpi_comm_world", caller);
    return object ? object : 0x44000000;
}

/* "0-3,8": the ranks of the group in MPI_COMM_WORLD, in their order; long lists as a checksum. */
static void name_members(const int *ranks, int count, char name[GROUP_NAME]) {
    char list[GROUP_NAME + 32];
    uint64_t sum = 14695981039346656037u;
    size_t length = 0;
    for (int i = 0; i < count; i++)
        sum = (sum ^ (uint64_t)(uint32_t)ranks[i]) * 1099511628211u;
    for (int first = 0, last; first < count && length < GROUP_NAME - 4; first = last + 1) {
        last = first;
        while (last + 1 < count && ranks[last + 1] == ranks[last] + 1)
            last++;
        length +=
            (size_t)snprintf(list + length, sizeof list - length, last > first ? "%s%d-%d" : "%s%d",
                             first ? "," : "", ranks[first], ranks[last]);
    }
    if (length < GROUP_NAME - 4)
        memcpy(name, list, length + 1);
    else
        snprintf(name, GROUP_NAME, "%d ranks %016llx", count, (unsigned long long)sum);
}

static void name_group(struct communicator *communicator, const void *caller) {
    static int members[MEMBERS_MAX], ranks[MEMBERS_MAX]; /* under the lock */
    word group = 0, world = 0;
    int count = communicator->size;
    if (count > MEMBERS_MAX ||
        !ask(NUMBER_Comm_group, caller, communicator->handle, (word)&group, 0, 0, 0) ||
        !ask(NUMBER_Comm_group, caller, world_handle(caller), (word)&world, 0, 0, 0))
        return;
    for (int i = 0; i < count; i++)
        members[i] = i;
    if (ask(NUMBER_Group_translate_ranks, caller, group, count, (word)members, world, (word)ranks))
        name_members(ranks, count, communicator->name);
    ask(NUMBER_Group_free, caller, (word)&group, 0, 0, 0, 0);
    ask(NUMBER_Group_free, caller, (word)&world, 0, 0, 0, 0);
}

/* A second communicator of the same ranks is another group. */
static void distinguish(struct communicator *communicator) {
    unsigned same = 0;
    size_t length = strlen(communicator->name);
    for (unsigned i = 0; length && i < COMMUNICATORS_MAX; i++)
        same += communicators[i].handle && &communicators[i] != communicator &&
                strncmp(communicators[i].name, communicator->name, length) == 0 &&
                (communicators[i].name[length] == '#' || communicators[i].name[length] == 0);
    if (same)
        snprintf(communicator->name + length, GROUP_NAME - length, "#%u", same + 1);
}

/* Under the lock. NULL: not known. */
static struct communicator *find_communicator(word handle, const void *caller) {
    struct communicator *free_place = NULL;
    for (unsigned i = 0; i < COMMUNICATORS_MAX; i++) {
        if (communicators[i].handle == handle && handle)
            return &communicators[i];
        if (!communicators[i].handle && !free_place)
            free_place = &communicators[i];
    }
    struct communicator found = {.handle = handle};
    if (!free_place || !handle ||
        !ask(NUMBER_Comm_size, caller, handle, (word)&found.size, 0, 0, 0) ||
        !ask(NUMBER_Comm_rank, caller, handle, (word)&found.rank, 0, 0, 0) || found.size <= 0)
        return NULL;
    name_group(&found, caller);
    *free_place = found;
    distinguish(free_place);
    return free_place;
}

/* ---- Calls ------------------------------------------------------------------------------- */

static uint64_t read_bytes(const struct call *call, const word *arguments, int group_size,
                           const void *caller) {
    int size = 0;
    uint64_t elements = 0;
    if (call->sizes == SIZE_NONE ||
        !ask(NUMBER_Type_size, caller, arguments[call->type], (word)&size, 0, 0, 0) || size < 0)
        return call->sizes == SIZE_NONE ? 0 : UINT64_MAX;
    if (call->sizes == SIZE_COUNTS) {
        const int *counts = (const int *)arguments[call->count];
        for (int i = 0; counts && i < group_size; i++)
            elements += counts[i] > 0 ? (uint64_t)counts[i] : 0;
    } else {
        int count = (int)arguments[call->count];
        elements = count > 0 ? (uint64_t)count : 0;
        if (call->sizes == SIZE_EACH)
            elements *= (uint64_t)(group_size > 0 ? group_size : 1);
    }
    return elements * (uint64_t)size;
}

static void describe(const struct call *call, const word *arguments, struct collective_event *event,
                     char group[GROUP_NAME], const void *caller) {
    bool is_message = call->peer != NO;
    *event = (struct collective_event){.name = call->name + 1, /* without the P */
                                       .library = "MPI",
                                       .operation = call->operation,
                                       .bytes = UINT64_MAX,
                                       .group_rank = -1,
                                       .root = -1,
                                       .peer = -1};
    if (call->communicator == NO)
        return;
    lock_table();
    struct communicator *communicator = find_communicator(arguments[call->communicator], caller);
    if (communicator) {
        memcpy(group, communicator->name, GROUP_NAME);
        event->group = *group ? group : NULL;
        event->group_size = (uint32_t)communicator->size;
        event->group_rank = communicator->rank;
        if (!is_message)
            event->sequence = ++communicator->operations;
        event->bytes = read_bytes(call, arguments, communicator->size, caller);
    }
    unlock_table();
    int root = call->root == NO ? -1 : (int)arguments[call->root];
    int peer = is_message ? (int)arguments[call->peer] : -1;
    event->root = root >= 0 ? root : -1;
    event->peer = peer >= 0 ? peer : -1;
}

static int pass_on(unsigned number, const word *a, const void *caller) {
    const struct call *call = &calls[number];
    mpi_function *real = real_function(number, caller);
    struct collective_event event;
    char group[GROUP_NAME];
    if (!real)
        return ERROR_OTHER; /* no MPI: then nobody calls this */
    describe(call, a, &event, group, caller);
    event.start = clock_now();
    int result = real(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
    event.end = clock_now();
    ridge_probe_collective(&event);
    return result;
}

static void report_place(const void *caller) {
    int rank, size;
    word world = world_handle(caller);
    if (ask(NUMBER_Comm_rank, caller, world, (word)&rank, 0, 0, 0) &&
        ask(NUMBER_Comm_size, caller, world, (word)&size, 0, 0, 0))
        ridge_probe_place(rank, size);
}

#define EXPORT __attribute__((visibility("default")))

#define OPERATION(name)                                                                            \
    EXPORT int MPI_##name(word, word, word, word, word, word, word, word, word, word, word, word); \
    int MPI_##name(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, \
                   word k, word l) {                                                               \
        return pass_on(NUMBER_##name, (word[]){a, b, c, d, e, f, g, h, i, j, k, l},                \
                       __builtin_return_address(0));                                               \
    }

OPERATION(Barrier)
OPERATION(Bcast)
OPERATION(Reduce)
OPERATION(Allreduce)
OPERATION(Reduce_scatter)
OPERATION(Reduce_scatter_block)
OPERATION(Allgather)
OPERATION(Allgatherv)
OPERATION(Gather)
OPERATION(Gatherv)
OPERATION(Scatter)
OPERATION(Scatterv)
OPERATION(Alltoall)
OPERATION(Alltoallv)
OPERATION(Scan)
OPERATION(Exscan)
OPERATION(Send)
OPERATION(Ssend)
OPERATION(Rsend)
OPERATION(Bsend)
OPERATION(Recv)
OPERATION(Sendrecv)
OPERATION(Wait)
OPERATION(Waitall)
OPERATION(Waitany)
OPERATION(Waitsome)

EXPORT int MPI_Init(word, word);
int MPI_Init(word argc, word argv) {
    const void *caller = __builtin_return_address(0);
    mpi_function *real = real_function(NUMBER_Init, caller);
    int result = real ? real(argc, argv, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) : ERROR_OTHER;
    if (result == 0)
        report_place(caller);
    return result;
}

EXPORT int MPI_Init_thread(word, word, word, word);
int MPI_Init_thread(word argc, word argv, word required, word provided) {
    const void *caller = __builtin_return_address(0);
    mpi_function *real = real_function(NUMBER_Init_thread, caller);
    int result = real ? real(argc, argv, required, provided, 0, 0, 0, 0, 0, 0, 0, 0) : ERROR_OTHER;
    if (result == 0)
        report_place(caller);
    return result;
}

/* Its handle may be used again for another communicator. */
EXPORT int MPI_Comm_free(word *);
int MPI_Comm_free(word *handle) {
    const void *caller = __builtin_return_address(0);
    mpi_function *real = real_function(NUMBER_Comm_free, caller);
    word freed = 0;
    memcpy(&freed, handle, world_handle(caller) == 0x44000000 ? sizeof(int) : sizeof freed);
    lock_table();
    for (unsigned i = 0; i < COMMUNICATORS_MAX; i++)
        if (communicators[i].handle == freed)
            communicators[i].handle = 0;
    unlock_table();
    return real ? real((word)handle, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) : ERROR_OTHER;
}
#else
typedef int mpi_is_interposed_on_linux_only;
#endif
