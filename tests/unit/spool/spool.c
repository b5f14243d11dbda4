/* Writer and reader of the spool in one process: records arrive once and in order, with little
 * space and with damaged files. */
#include "../test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "spool/layout.h"
#include "spool/spool.h"
#include "spool/writer.h"

struct both_ends {
    char folder[1024];
    struct spool *spool;
    struct spool_lane *lane;
    struct spool_reader *reader;
    uint64_t calls, wrong, texts;
    int64_t last;
};

static bool open_both(struct both_ends *ends) {
    struct status status;
    *ends = (struct both_ends){0};
    snprintf(ends->folder, sizeof ends->folder, "%s/ridge-test-spool-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(ends->folder))
        return false;
    setenv(SPOOL_VARIABLE, ends->folder, 1);
    ends->spool = spool_open();
    unsetenv(SPOOL_VARIABLE);
    ends->lane = spool_lane_open(ends->spool);
    ends->reader = spool_reader_open(ends->folder, &status);
    return ends->spool && ends->lane && ends->reader;
}

static void close_both(struct both_ends *ends) {
    spool_close(ends->spool);
    spool_reader_close(ends->reader);
    CHECK(rmdir(ends->folder) == 0); /* the reader removed everything */
}

static bool count_calls(void *context, unsigned process, unsigned lane,
                        const struct spool_head *record, struct status *status) {
    struct both_ends *ends = context;
    const struct spool_call *call = (const void *)record;
    (void)process;
    (void)status;
    ends->texts += record->kind == SPOOL_TEXT;
    if (record->kind != SPOOL_CALL)
        return true;
    char expected[32];
    snprintf(expected, sizeof expected, "call %u", call->correlation);
    ends->calls++;
    ends->wrong += call->start <= ends->last ||
                   !text_is(spool_reader_text(ends->reader, lane, record->text), expected);
    ends->last = call->start;
    return true;
}

/* `number` calls with `names` different names; how many there was room for. */
static uint64_t write_calls(struct both_ends *ends, unsigned number, unsigned names) {
    static int64_t time;
    uint64_t written = 0;
    for (unsigned i = 0; i < number; i++) {
        char name[32];
        snprintf(name, sizeof name, "call %u", i % names);
        uint32_t text = spool_text(ends->lane, text_of(name));
        struct spool_call *call = spool_begin(ends->lane, SPOOL_CALL, text, sizeof *call);
        if (!call)
            continue;
        *call = (struct spool_call){.head = call->head, .start = ++time, .correlation = i % names};
        spool_publish(ends->lane);
        written++;
    }
    return written;
}

static bool drain(struct both_ends *ends) {
    struct status status;
    return spool_reader_drain(ends->reader, count_calls, ends, &status);
}

static unsigned files_in(const char *folder) {
    unsigned count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *file; directory && (file = readdir(directory));)
        count += file->d_name[0] != '.';
    if (directory)
        closedir(directory);
    return count;
}

/* The path of one of the lane's segments. */
static const char *segment_path(const struct both_ends *ends, unsigned number) {
    static char path[2048];
    const struct spool_process *process = spool_reader_process(ends->reader, 0);
    snprintf(path, sizeof path, "%s/%lld-%lld-0-%u.seg", ends->folder, (long long)process->pid,
             (long long)process->start, number);
    return path;
}

TEST(what_goes_into_the_spool_comes_out_once_and_in_order) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    for (unsigned round = 1; round <= 5; round++) {
        CHECK_INT(write_calls(&ends, 20000, 100), 20000);
        CHECK(drain(&ends));
        CHECK_INT(ends.calls, round * 20000);
    }
    CHECK(drain(&ends));
    CHECK_INT(ends.calls, 100000);
    CHECK_INT(ends.wrong, 0);
    CHECK_INT(ends.texts, 100);
    CHECK_INT(spool_reader_damaged(ends.reader), 0);
    CHECK_INT(spool_reader_processes(ends.reader), 1);
    CHECK_INT(spool_reader_process(ends.reader, 0)->pid, getpid());
    CHECK_INT(spool_reader_process(ends.reader, 0)->dropped, 0);
    close_both(&ends);
}

TEST(segments_that_are_drained_are_filled_again) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    for (unsigned round = 0; round < 60; round++) {
        CHECK_INT(write_calls(&ends, 20000, 10), 20000); /* some 800 KB */
        CHECK(drain(&ends));
    }
    CHECK_INT(ends.calls, 60 * 20000);
    CHECK_INT(ends.wrong, 0);
    CHECK(files_in(ends.folder) <= 6);
    close_both(&ends);
}

TEST(numbers_of_texts_are_given_out_again_when_there_are_too_many) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    for (unsigned round = 0; round < 2; round++) {
        CHECK_INT(write_calls(&ends, 3 * SPOOL_TEXTS, 3 * SPOOL_TEXTS), 3 * SPOOL_TEXTS);
        CHECK(drain(&ends));
    }
    CHECK_INT(ends.calls, 6 * SPOOL_TEXTS);
    CHECK_INT(ends.wrong, 0);
    CHECK_INT(spool_reader_damaged(ends.reader), 0);
    close_both(&ends);
}

TEST(a_text_is_the_same_by_content_and_by_address) {
    struct both_ends ends;
    char copy[] = "cuLaunchKernel";
    REQUIRE(open_both(&ends));
    uint32_t number = spool_constant(ends.lane, "cuLaunchKernel");
    CHECK(number > 0);
    CHECK_INT(spool_constant(ends.lane, "cuLaunchKernel"), number);
    CHECK_INT(spool_text(ends.lane, text_of(copy)), number);
    CHECK_INT(spool_text(ends.lane, TEXT("")), 0);
    CHECK_INT(spool_constant(ends.lane, NULL), 0);
    CHECK_INT(spool_constant(NULL, "x"), 0);
    close_both(&ends);
}

TEST(a_record_that_interrupts_another_is_dropped_and_counted) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    struct spool_mark *outer = spool_begin(ends.lane, SPOOL_MARK, 0, sizeof *outer);
    REQUIRE(outer);
    CHECK(spool_begin(ends.lane, SPOOL_MARK, 0, sizeof *outer) == NULL);
    CHECK_INT(spool_text(ends.lane, TEXT("inner")), 0);
    spool_publish(ends.lane);
    CHECK(spool_begin(ends.lane, SPOOL_MARK, 0, SPOOL_RECORD_MAX + 1) == NULL);
    CHECK(drain(&ends));
    CHECK_INT(spool_reader_process(ends.reader, 0)->dropped, 2);
    close_both(&ends);
}

TEST(without_room_records_are_dropped_and_every_one_is_counted) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    spool_limit(ends.spool, 700000);
    uint64_t written = write_calls(&ends, 50000, 1);
    CHECK(written > 1000 && written < 50000);
    CHECK(drain(&ends));
    CHECK_INT(ends.calls, written);
    CHECK_INT(spool_reader_process(ends.reader, 0)->dropped, 50000 - written);
    uint64_t more = write_calls(&ends, 5000, 1); /* drained segments are reused */
    CHECK(more > 1000);
    CHECK(drain(&ends));
    CHECK_INT(ends.calls, written + more);
    CHECK_INT(ends.wrong, 0);
    close_both(&ends);
}

TEST(a_lane_that_was_given_back_goes_to_the_next_thread) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    struct spool_lane *second = spool_lane_open(ends.spool);
    CHECK(second && second != ends.lane);
    spool_lane_close(ends.spool, second);
    CHECK(spool_lane_open(ends.spool) == second);
    spool_lane_close(ends.spool, NULL);
    close_both(&ends);
}

TEST(lanes_come_out_one_after_another_in_their_order) {
    enum { LANES = 12, CALLS = 3000 }; /* several segments each */
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    struct spool_lane *first = ends.lane;
    for (unsigned lane = 0; lane < LANES; lane++) {
        ends.lane = lane == 0 ? first : spool_lane_open(ends.spool);
        REQUIRE(ends.lane);
        CHECK_INT(write_calls(&ends, CALLS, 7), CALLS);
    }
    CHECK(drain(&ends)); /* times increase from lane to lane */
    CHECK_INT(ends.calls, LANES * CALLS);
    CHECK_INT(ends.wrong, 0);
    CHECK_INT(spool_reader_processes(ends.reader), 1);
    ends.last = 0;
    write_calls(&ends, 10, 7);
    CHECK(drain(&ends));
    CHECK_INT(ends.calls, LANES * CALLS + 10);
    close_both(&ends);
}

TEST(a_process_that_reopens_its_spool_is_another_process) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    write_calls(&ends, 100, 1);
    CHECK(spool_reopen(ends.spool));
    ends.lane = spool_lane_open(ends.spool);
    REQUIRE(ends.lane);
    write_calls(&ends, 100, 1);
    CHECK(drain(&ends));
    CHECK_INT(spool_reader_processes(ends.reader), 2);
    CHECK_INT(ends.calls, 200);
    CHECK_INT(ends.wrong, 0);
    CHECK(drain(&ends)); /* the first is over: its files are gone */
    CHECK_INT(files_in(ends.folder), 2);
    close_both(&ends);
}

TEST(a_writer_whose_reader_has_closed_comes_to_an_end) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    spool_reader_close(ends.reader);
    CHECK_INT(files_in(ends.folder), 0);
    CHECK(write_calls(&ends, 10000, 1) < 10000);
    CHECK_INT(files_in(ends.folder), 0);
    ends.reader = NULL;
    close_both(&ends);
}

TEST(the_environment_must_name_a_private_folder) {
    struct both_ends ends;
    struct status status;
    REQUIRE(open_both(&ends));
    CHECK(spool_open() == NULL); /* the variable is not set */
    setenv(SPOOL_VARIABLE, "relative", 1);
    CHECK(spool_open() == NULL);
    setenv(SPOOL_VARIABLE, "/does/not/exist", 1);
    CHECK(spool_open() == NULL);
    setenv(SPOOL_VARIABLE, ends.folder, 1);
    chmod(ends.folder, 0755);
    CHECK(spool_open() == NULL);
    CHECK(spool_reader_open(ends.folder, &status) == NULL);
    CHECK(strstr(status.message, "chmod 700") != NULL);
    chmod(ends.folder, 0700);
    unsetenv(SPOOL_VARIABLE);
    close_both(&ends);
}

TEST(files_that_are_not_ours_are_left_alone) {
    static const char *const names[] = {
        "x", "1-2", "1-2.head.txt", "-1-2.head", "1-2-99999999-0.seg", "1-2-0-0.seg2", "1--0-0.seg",
    };
    struct both_ends ends;
    char path[2048];
    REQUIRE(open_both(&ends));
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", ends.folder, names[i]);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    snprintf(path, sizeof path, "%s/5-6-0-0.seg", ends.folder);
    CHECK(symlink("/dev/zero", path) == 0);
    snprintf(path, sizeof path, "%s/5-6-0-1.seg", ends.folder);
    CHECK(mkfifo(path, 0600) == 0);
    snprintf(path, sizeof path, "%s/5-6.head", ends.folder);
    CHECK(mkdir(path, 0700) == 0);
    write_calls(&ends, 10, 1);
    CHECK(drain(&ends));
    CHECK_INT(ends.calls, 10);
    rmdir(path);
    spool_reader_close(ends.reader);
    ends.reader = NULL;
    CHECK_INT(files_in(ends.folder), ARRAY_COUNT(names));
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", ends.folder, names[i]);
        unlink(path);
    }
    close_both(&ends);
}

TEST(a_segment_that_is_missing_is_passed_over_and_counted) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    CHECK(drain(&ends));
    write_calls(&ends, 20000, 1); /* several segments */
    CHECK(unlink(segment_path(&ends, 1)) == 0);
    CHECK(drain(&ends) && drain(&ends));
    CHECK(ends.calls > 1000 && ends.calls < 20000);
    CHECK_INT(ends.wrong, 0);
    CHECK_INT(spool_reader_damaged(ends.reader), 1);
    close_both(&ends);
}

/* The first segment is filled again while the second waits, which is then lost. */
TEST(a_lane_goes_on_behind_a_hole_in_a_segment_that_was_filled_again) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    write_calls(&ends, 3000, 1);
    CHECK(drain(&ends));
    CHECK_INT(ends.calls, 3000);
    write_calls(&ends, 8000, 1);
    CHECK_INT(files_in(ends.folder), 3); /* with the header */
    CHECK(unlink(segment_path(&ends, 1)) == 0);
    CHECK(drain(&ends) && drain(&ends));
    CHECK(ends.calls > 3000 && ends.calls < 11000);
    CHECK_INT(ends.wrong, 0);
    CHECK_INT(spool_reader_damaged(ends.reader), 1);
    close_both(&ends);
}

TEST(a_segment_cut_short_ends_its_lane_and_no_other) {
    struct both_ends ends;
    REQUIRE(open_both(&ends));
    struct spool_lane *first = ends.lane;
    CHECK(drain(&ends));
    write_calls(&ends, 100, 1);
    REQUIRE(truncate(segment_path(&ends, 0), 2000) == 0);
    ends.lane = spool_lane_open(ends.spool);
    write_calls(&ends, 100, 1);
    CHECK(drain(&ends) && drain(&ends));
    CHECK_INT(ends.calls, 100);
    ends.lane = first;
    close_both(&ends);
}

/* Whatever bytes are there, the reader comes back, and gives out nothing that is not a record. */
static bool check_record(void *context, unsigned process, unsigned lane,
                         const struct spool_head *record, struct status *status) {
    struct both_ends *ends = context;
    (void)process;
    (void)status;
    CHECK(record->kind > SPOOL_END && record->kind < SPOOL_KINDS);
    CHECK(record->bytes >= sizeof *record && record->bytes % 8 == 0);
    struct text text = spool_reader_text(ends->reader, lane, record->text);
    volatile char last = text.length ? text.data[text.length - 1] : 0;
    (void)last;
    ends->calls++;
    return true;
}

TEST(any_bytes_in_a_segment_are_survived) {
    unsigned random = 1;
    for (unsigned round = 0; round < 60; round++) {
        struct both_ends ends;
        struct status status;
        REQUIRE(open_both(&ends));
        CHECK(drain(&ends));
        write_calls(&ends, 12000, 50);
        int fd = open(segment_path(&ends, round % 3), O_WRONLY);
        REQUIRE(fd >= 0);
        for (unsigned i = 0; i < 20; i++) {
            random = random * 1664525 + 1013904223;
            uint32_t value = random >> 3;
            off_t at = (off_t)((random >> 8) % (i % 2 ? 300 : 60000));
            CHECK(pwrite(fd, &value, 1 + i % 4, at) > 0);
        }
        close(fd);
        for (unsigned i = 0; i < 3; i++)
            CHECK_OK(spool_reader_drain(ends.reader, check_record, &ends, &status), status);
        CHECK(ends.calls <= 12060);
        close_both(&ends);
    }
}

static bool refuse(void *context, unsigned process, unsigned lane, const struct spool_head *record,
                   struct status *status) {
    (void)context;
    (void)process;
    (void)lane;
    (void)record;
    return status_fail(status, STATUS_IO, "enough");
}

TEST(a_sink_that_refuses_stops_the_drain_with_its_reason) {
    struct both_ends ends;
    struct status status = {0};
    REQUIRE(open_both(&ends));
    write_calls(&ends, 10, 1);
    CHECK(!spool_reader_drain(ends.reader, refuse, NULL, &status));
    CHECK_STRING(status.message, "enough");
    close_both(&ends);
}

TEST(a_reader_without_memory_says_so_and_can_go_on) {
    for (uint64_t nth = 1; nth < 12; nth++) {
        struct both_ends ends;
        struct status status = {0};
        REQUIRE(open_both(&ends));
        write_calls(&ends, 100, 100);
        memory_fail_from(nth);
        bool ok = spool_reader_drain(ends.reader, check_record, &ends, &status);
        memory_fail_from(0);
        CHECK(!ok && status.code == STATUS_MEMORY);
        write_calls(&ends, 100, 100);
        CHECK_OK(spool_reader_drain(ends.reader, check_record, &ends, &status), status);
        CHECK(ends.calls >= 100);
        close_both(&ends);
    }
}

static void write_command_length(const struct both_ends *ends, int64_t start, uint32_t length) {
    char path[2048];
    snprintf(path, sizeof path, "%s/%lld-%lld.head", ends->folder, (long long)getpid(),
             (long long)start);
    int fd = open(path, O_WRONLY);
    CHECK(pwrite(fd, &length, sizeof length, offsetof(struct spool_header, command_length)) ==
          sizeof length);
    close(fd);
}

/* While the first process is read, the second one writes its command and memory runs out. */
static bool name_the_second(void *context, unsigned process, unsigned lane,
                            const struct spool_head *record, struct status *status) {
    struct both_ends *ends = context;
    (void)process;
    (void)lane;
    (void)status;
    if (record->kind == SPOOL_CALL) {
        write_command_length(ends, spool_reader_process(ends->reader, 1)->start, 4);
        memory_fail_from(1);
    }
    return true;
}

TEST(a_command_that_there_is_no_memory_for_fails_the_drain) {
    struct both_ends ends;
    struct status status = {0};
    REQUIRE(open_both(&ends));
    write_calls(&ends, 1, 1);
    CHECK(spool_reopen(ends.spool));
    ends.spool->header->command_length = 0;
    CHECK(spool_reopen(ends.spool)); /* the first two are over */
    bool ok = spool_reader_drain(ends.reader, name_the_second, &ends, &status);
    memory_fail_from(0);
    CHECK(!ok && status.code == STATUS_MEMORY);
    CHECK_INT(spool_reader_processes(ends.reader), 3);
    close_both(&ends);
}

TEST(the_spool_names_the_command_of_its_process) {
    struct both_ends ends;
    char command[SPOOL_COMMAND_MAX + 1] = "";
    REQUIRE(open_both(&ends));
    FILE *file = fopen("/proc/self/cmdline", "r");
    REQUIRE(file);
    size_t length = fread(command, 1, SPOOL_COMMAND_MAX, file);
    fclose(file);
    while (length > 0 && command[length - 1] == 0)
        length--;
    for (size_t i = 0; i < length; i++)
        command[i] = command[i] ? command[i] : ' ';
    REQUIRE(drain(&ends));
    const struct spool_process *process = spool_reader_process(ends.reader, 0);
    REQUIRE(process);
    CHECK_INT(process->pid, getpid());
    CHECK(text_equal(process->command, (struct text){command, length}));
    close_both(&ends);
}
