/* Sizes of ring buffers and stack copies, and the choice of the stack size under load. */
#ifdef __linux__
#include "base/array.h"
#include "record/perf/perf_ring.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../test.h"
#include "perf_target.h"

#define MIB ((uint64_t)1 << 20)
#define SECOND ((int64_t)1000000000)

TEST(a_ring_holds_half_a_second_of_samples_within_what_memory_allows) {
    CHECK_INT(perf_ring_bytes(999, 17 << 10, 2, 16384 * MIB), 16 * MIB);
    CHECK_INT(perf_ring_bytes(1024, 16 << 10, 2, 16384 * MIB), 8 * MIB);
    CHECK_INT(perf_ring_bytes(1025, 16 << 10, 2, 16384 * MIB), 16 * MIB);
    CHECK_INT(perf_ring_bytes(20000, 17 << 10, 1, 16384 * MIB), 32 * MIB);
    CHECK_INT(perf_ring_bytes(999, 1 << 10, 2, 16384 * MIB), 2 * MIB);
    CHECK_INT(perf_ring_bytes(0, 1 << 10, 2, 16384 * MIB), 2 * MIB);
    /* all rings together: 256 MiB, and a 64th of the memory */
    CHECK_INT(perf_ring_bytes(999, 17 << 10, 16, 65536 * MIB), 16 * MIB);
    CHECK_INT(perf_ring_bytes(999, 17 << 10, 17, 65536 * MIB), 8 * MIB);
    CHECK_INT(perf_ring_bytes(999, 17 << 10, 2, 1024 * MIB), 8 * MIB);
    CHECK_INT(perf_ring_bytes(999, 17 << 10, 2, 1023 * MIB), 4 * MIB);
    CHECK_INT(perf_ring_bytes(999, 17 << 10, 4096, 65536 * MIB), MIB / 2);
}

static bool update(struct perf_stack_choice *choice, double fullness, unsigned late_ms,
                   size_t backlog, int64_t now) {
    struct perf_load load = {fullness, late_ms, 1000, backlog};
    return perf_stack_choice_update(choice, PERF_STACK_SIZES, &load, now);
}

TEST(stack_copies_become_smaller_before_a_ring_is_full) {
    struct perf_stack_choice choice = {0};
    CHECK(!update(&choice, 0.5, 0, 0, 0));
    CHECK_INT(choice.index, 0);
    CHECK(update(&choice, 0.51, 0, 0, 0));
    CHECK_INT(choice.index, 1);
    CHECK(update(&choice, 0.51, 0, 0, 0));
    CHECK_INT(choice.index, 2);
    CHECK(update(&choice, 0.51, 0, 0, 0)); /* frame pointers instead */
    CHECK_INT(choice.index, 3);
    CHECK(!update(&choice, 1, 0, 0, 0)); /* there is no smaller one */
    CHECK_INT(choice.index, 3);
    CHECK_INT(choice.reductions, 3);
    struct perf_stack_choice only = {0};
    struct perf_load full = {1, 0, 1000, 0};
    CHECK(!perf_stack_choice_update(&only, 1, &full, 0));
    CHECK(!perf_stack_choice_update(&only, 0, &full, 0));
    CHECK_INT(only.index, 0);
}

/* Samples have 17, 5, 2 and 0.5 KB. */
TEST(stack_copies_become_smaller_when_the_reader_is_late_or_its_records_pile_up) {
    struct perf_stack_choice late = {0}, behind = {0};
    CHECK(!update(&late, 0, 250, 0, 0));
    CHECK(update(&late, 0, 251, 0, 0));
    CHECK(!update(&late, 0, 850, 0, 0)); /* samples are smaller: there is more time */
    CHECK(update(&late, 0, 851, 0, 0));
    CHECK_INT(late.index, 2);
    CHECK(!update(&behind, 0, 0, 16 * MIB, 0));
    CHECK(update(&behind, 0, 0, 16 * MIB + 8192, 0));
    CHECK_INT(behind.index, 1);
}

TEST(the_stack_size_that_fits_a_delay_is_chosen_at_once) {
    struct perf_stack_choice some = {0}, long_delay = {0};
    CHECK(update(&some, 0, 2125, 0, 0));
    CHECK_INT(some.index, 2);
    CHECK_INT(some.reductions, 1);
    CHECK(update(&long_delay, 0, 2126, 0, 0));
    CHECK_INT(long_delay.index, 3);
}

TEST(a_thread_expects_to_wait_for_those_that_are_runnable) {
    CHECK_INT(perf_expected_delay_ms("0.20 0.18 0.12 401/480 11206\n", 2), 601);
    CHECK_INT(perf_expected_delay_ms("0.20 0.18 0.12 1/480 11206\n", 2), 1);
    CHECK_INT(perf_expected_delay_ms("0.20 0.18 0.12 1/480 11206\n", 4), 0);
    CHECK_INT(perf_expected_delay_ms("0.20 0.18 0.12 401/480 11206\n", 0), 0);
    CHECK_INT(perf_expected_delay_ms("", 2), 0);
}

TEST(stack_copies_become_larger_again_after_a_calm_time_that_grows) {
    struct perf_stack_choice choice = {0};
    CHECK(update(&choice, 0.6, 0, 0, 10 * SECOND));
    CHECK(!update(&choice, 0.08, 0, 0, 13 * SECOND));
    CHECK(!update(&choice, 0.09, 0, 0, 13 * SECOND)); /* 3.4 times as much would be too much */
    CHECK(!update(&choice, 0.08, 0, 0, 17 * SECOND - 1));
    CHECK_INT(choice.index, 1);
    CHECK(update(&choice, 0.08, 0, 0, 17 * SECOND));
    CHECK_INT(choice.index, 0);
    CHECK(!update(&choice, 0, 0, 0, 100 * SECOND)); /* there is no larger one */
    CHECK(update(&choice, 0.6, 0, 0, 100 * SECOND));
    CHECK(!update(&choice, 0, 0, 0, 108 * SECOND - 1));
    CHECK(update(&choice, 0, 0, 0, 108 * SECOND));
}

TEST(the_first_stack_size_of_a_small_ring_grows_soon_unless_the_load_is_high) {
    struct perf_stack_choice calm = {.index = 1}, busy = {.index = 1};
    CHECK(!update(&calm, 0, 0, 0, 100 * SECOND));
    CHECK(!update(&calm, 0, 0, 0, 100 * SECOND + SECOND / 4 - 1));
    CHECK(update(&calm, 0, 0, 0, 100 * SECOND + SECOND / 4));
    CHECK_INT(calm.index, 0);
    CHECK(update(&busy, 0.6, 0, 0, 100 * SECOND));
    CHECK(!update(&busy, 0, 0, 0, 104 * SECOND - 1));
    CHECK(update(&busy, 0, 0, 0, 104 * SECOND));
    CHECK_INT(busy.index, 1);
}

/* A record other than a sample ends with who it is about and when. This one wraps around. */
TEST(records_are_copied_out_of_a_ring_that_wraps_around) {
    enum { RING = 4096, RECORD = 48 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory = calloc(1, page + RING), record[RECORD] = {0};
    struct perf_event_header header = {.type = PERF_RECORD_COMM, .size = RECORD};
    struct perf_ring ring = {.page = (void *)memory, .bytes = RING, .processor = 3};
    struct perf_batch batch = {0};
    struct status status;
    uint64_t damaged = 0, time = 77, id = 9;
    uint32_t who[2] = {11, 12};
    REQUIRE(memory);
    memcpy(record, &header, sizeof header);
    memset(record + 8, 5, 16);
    memcpy(record + 24, who, sizeof who);
    memcpy(record + 32, &time, sizeof time);
    memcpy(record + 40, &id, sizeof id);
    for (size_t i = 0; i < RECORD; i++)
        memory[page + (RING - 24 + i) % RING] = record[i];
    ring.page->data_tail = RING - 24;
    ring.page->data_head = RING - 24 + RECORD;
    CHECK(perf_ring_fullness(&ring) == (double)RECORD / RING);
    CHECK_OK(perf_batch_read_ring(&batch, &ring, &damaged, &status), status);
    REQUIRE(batch.count == 1);
    struct perf_record copied = perf_batch_record(&batch, 0);
    CHECK(copied.pid == 11 && copied.tid == 12 && copied.time == 77 && copied.processor == 3);
    CHECK_INT(copied.id, 9);
    CHECK(copied.length == 16 && copied.body[0] == 5 && copied.body[15] == 5);
    CHECK(perf_ring_fullness(&ring) == 0);
    CHECK_INT(damaged, 0);
    CHECK_INT(ring.page->data_tail, RING - 24 + RECORD);
    memset(memory + page + RECORD - 24, 0, sizeof header); /* no record has no bytes */
    ring.page->data_head += 64;
    CHECK_OK(perf_batch_read_ring(&batch, &ring, &damaged, &status), status);
    CHECK_INT(damaged, 1);
    CHECK_INT(batch.count, 1);
    CHECK_INT(ring.page->data_tail, ring.page->data_head);
    perf_batch_finish(&batch);
    free(memory);
}

/* The signals that a thread of this process blocks: signal 1 is the lowest bit. */
static uint64_t blocked_signals(const char *thread) {
    char path[64], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return blocked;
}

/* How many threads of this process block all of these signals. */
static unsigned threads_that_block(uint64_t signals) {
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            count += (blocked_signals(entry->d_name) & signals) == signals;
    if (folder)
        closedir(folder);
    return count;
}

static bool has_run(struct perf_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    bool run = reader->wakeup_due != 0;
    pthread_mutex_unlock(&reader->lock);
    return run;
}

TEST(signals_are_left_to_the_threads_that_were_there_before_the_reader) {
    const uint64_t signals =
        (uint64_t)1 << (SIGINT - 1) | (uint64_t)1 << (SIGTERM - 1) | (uint64_t)1 << (SIGCHLD - 1);
    struct perf_rings rings = {.fill_ms = 1000};
    struct perf_reader reader;
    sigset_t before, after;
    unsigned others = threads_that_block(signals);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    perf_reader_start(&reader, &rings, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++)
        CHECK_INT(sigismember(&after, number), sigismember(&before, number));
    for (unsigned tries = 0; reader.running && tries < 5000 && !has_run(&reader); tries++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    if (reader.running)
        CHECK_INT(threads_that_block(signals), others + 1);
    perf_reader_finish(&reader);
}

/* How many samples a batch has with each stack size. They are the only records of these lengths. */
static void count_sizes(const struct perf_batch *batch, size_t counts[PERF_STACK_SIZES]) {
    memset(counts, 0, PERF_STACK_SIZES * sizeof *counts);
    for (size_t i = 0; i < batch->count; i++) {
        struct perf_record record = perf_batch_record(batch, i);
        for (unsigned size = 0; size < PERF_STACK_SIZES && record.type == PERF_RECORD_SAMPLE;
             size++)
            if (record.length > perf_stack_sizes[size]) {
                counts[size]++;
                break;
            }
    }
}

static void take_all(struct perf_rings *rings, size_t counts[PERF_STACK_SIZES]) {
    struct perf_batch batch = {0};
    struct status status;
    uint64_t damaged = 0;
    for (size_t i = 0; i < rings->count; i++)
        CHECK_OK(perf_batch_read_ring(&batch, &rings->items[i], &damaged, &status), status);
    CHECK_INT(damaged, 0);
    count_sizes(&batch, counts);
    perf_batch_finish(&batch);
}

/* Waits until there are samples of that size, and gives how many there are of the others. */
static size_t await_size(struct perf_rings *rings, unsigned size) {
    size_t counts[PERF_STACK_SIZES] = {0};
    for (unsigned tries = 0; tries < 10000 && counts[size] == 0; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        take_all(rings, counts);
    }
    CHECK(counts[size] > 0);
    size_t others = 0;
    for (unsigned i = 0; i < PERF_STACK_SIZES; i++)
        others += i == size ? 0 : counts[i];
    return others;
}

/* Threads that were being created get the size of their creator, so it is set again: on a busy
 * machine more than once. */
static size_t others_after_change(struct perf_rings *rings, unsigned size) {
    size_t others = 1, ignored[PERF_STACK_SIZES];
    perf_rings_set_stack_size(rings, size); /* small rings start with a smaller one */
    for (unsigned tries = 0; tries < 20 && others > 0; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        perf_rings_set_stack_size(rings, size);
        take_all(rings, ignored); /* samples from before the change */
        others = await_size(rings, size);
    }
    return others;
}

TEST(the_stack_size_of_a_running_program_can_be_changed) {
    static const unsigned order[] = {0, 1, 2, 3, 0};
    struct perf_options options = {.rate = 999, .stacks = PERF_STACKS_DWARF};
    struct perf_rings rings = {0};
    struct status status;
    int go;
    pid_t pid = perf_target_start("crowd until killed", &go);
    if (!perf_rings_open(&rings, pid, &options, &status)) {
        test_skip("perf events cannot be used here");
    } else {
        CHECK_INT(rings.stack_sizes, PERF_STACK_SIZES);
        CHECK_INT(rings.fill_ms, rings.items[0].bytes * 1000 / 999 / (17 << 10));
        CHECK(write(go, "g", 1) == 1);
        for (unsigned i = 0; i < ARRAY_COUNT(order); i++)
            CHECK_INT(others_after_change(&rings, order[i]), 0);
    }
    perf_rings_close(&rings);
    close(go);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* An event's own count, and how many of its records were lost. */
static int event_that_lost(uint64_t lost) {
    const uint64_t values[2] = {1000, lost};
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    CHECK(write(ends[1], values, sizeof values) == sizeof values);
    close(ends[1]);
    return ends[0];
}

TEST(lost_records_count_once_whether_a_record_says_so_or_not) {
    struct perf_ring items[2] = {
        {.fd = event_that_lost(5), .lost = 3},
        {.fd = event_that_lost(5), .lost = 9},
    };
    struct perf_rings rings = {.items = items, .count = 2, .counts_lost = true};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned size = 0; size < PERF_STACK_SIZES; size++)
            items[i].samplers[size] = size == 0 ? event_that_lost(2) : -1;
    CHECK_INT(perf_rings_lost(&rings), 4);
    for (unsigned i = 0; i < 2; i++) {
        close(items[i].fd);
        close(items[i].samplers[0]);
    }
}

/* Leaves this process room for rings of 128 KiB. */
static bool limit_memory(void) {
    const rlim_t page = (rlim_t)sysconf(_SC_PAGESIZE);
    const rlim_t processors = (rlim_t)sysconf(_SC_NPROCESSORS_CONF);
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bool known = file && fscanf(file, "%lu", &pages) == 1;
    if (file)
        fclose(file);
    struct rlimit limit;
    if (!known || getrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    limit.rlim_cur = pages * page + processors * (128 * 1024 + page) + 64 * 1024;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

/* Leaves this process what every user may lock for perf events. */
static bool limit_locked_memory(void) {
    enum { NOBODY = 65534 };
    int level = 3;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    bool allowed = file && fscanf(file, "%d", &level) == 1 && level <= 2;
    if (file)
        fclose(file);
    return allowed && setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0}) == 0 &&
           (geteuid() != 0 || setuid(NOBODY) == 0);
}

enum { SMALLER, AS_EVER, NOT_MAPPED, UNUSABLE };

static int open_with(bool (*limit)(void)) {
    const struct perf_options options = {.rate = 999, .stacks = PERF_STACKS_DWARF};
    struct perf_rings rings = {0}, before = {0};
    struct status status;
    bool usable = perf_rings_open(&before, getpid(), &options, &status);
    perf_rings_close(&before);
    if (!usable || !limit())
        return UNUSABLE;
    bool mapped = perf_rings_open(&rings, getpid(), &options, &status);
    for (size_t i = 0; i < rings.count; i++)
        mapped &= rings.items[i].page != NULL;
    return !mapped ? NOT_MAPPED : rings.limited ? SMALLER : AS_EVER;
}

static void check_smaller(bool (*limit)(void)) {
    int ended = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(open_with(limit));
    REQUIRE(waitpid(pid, &ended, 0) == pid && WIFEXITED(ended));
    if (WEXITSTATUS(ended) == UNUSABLE || WEXITSTATUS(ended) == AS_EVER)
        test_skip("perf events or their limits cannot be used here");
    else
        CHECK_INT(WEXITSTATUS(ended), SMALLER);
}

TEST(rings_are_smaller_where_there_is_too_little_memory) {
    check_smaller(limit_memory);
}

TEST(rings_are_smaller_where_the_user_may_lock_less) {
    check_smaller(limit_locked_memory);
}
#endif
