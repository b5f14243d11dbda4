/* What a writer writes, a reader reads: values, strings, entities, many writers, damage. */
#include "../test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checksum.h"
#include "import/import.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/writer.h"

static int create(const char *path) {
    return open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
}

/* Rows that use every width and sign: i is the row, salt the writer. */
static struct row_activity row_of(uint64_t i, uint32_t queue, uint32_t name) {
    return (struct row_activity){
        .start = (int64_t)(i * 1000 + i % 7),
        .duration = (int64_t)(i % 3 ? i : i << 20),
        .queue = queue,
        .kind = (uint8_t)(i % 3),
        .name = name,
        .correlation = i,
        .grid_x = (uint32_t)(i * 2654435761u),
        .bytes = i % 5 ? i * i : BYTES_UNKNOWN,
    };
}

static void write_rows(struct trace_writer *writer, uint64_t rows) {
    uint32_t device =
        trace_write_device(writer, &(struct row_device){
                                       .index = 0,
                                       .label = trace_writer_string(writer, TEXT("0")),
                                   });
    uint32_t queue = trace_write_queue(writer, &(struct row_queue){.device = device, .stream = 7});
    for (uint64_t i = 0; i < rows; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel %u", (unsigned)(i % 100));
        struct row_activity row = row_of(i, queue, trace_writer_string(writer, text_of(name)));
        trace_write_activity(writer, &row);
    }
}

TEST(a_trace_reads_back_what_was_written) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    enum { ROWS = 40000 };
    for (int level = 0; level <= 3; level += 3) {
        int fd = create(path);
        struct trace_writer *writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = level}, &status);
        REQUIRE(writer);
        write_rows(writer, ROWS);
        CHECK_OK(trace_writer_finish(writer, &status), status);
        trace_writer_destroy(writer);
        close(fd);

        struct trace *trace;
        REQUIRE(trace_open(path, &trace, &status));
        CHECK_INT(trace->activity.count, ROWS);
        CHECK_INT(trace->queue.count, 2);
        CHECK_INT(trace->device.count, 2);
        CHECK_INT(trace->writers_unfinished, 0);
        CHECK_OK(trace_load(trace, TABLE_ACTIVITY, NULL, &status), status);
        size_t wrong = 0;
        for (size_t i = 0; i < trace->activity.count; i++) {
            struct row_activity row = row_of(i, 1, 0);
            char name[32];
            snprintf(name, sizeof name, "kernel %u", (unsigned)(i % 100));
            wrong += trace->activity.start[i] != row.start ||
                     trace->activity.duration[i] != row.duration ||
                     trace->activity.queue[i] != row.queue || trace->activity.kind[i] != row.kind ||
                     trace->activity.correlation[i] != row.correlation ||
                     trace->activity.grid_x[i] != row.grid_x ||
                     trace->activity.bytes[i] != row.bytes ||
                     !text_is(trace_text(trace, trace->activity.name[i]), name);
        }
        CHECK_INT(wrong, 0);
        trace_close(trace);
    }
}

TEST(a_file_cut_anywhere_reads_to_its_last_whole_chunk) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = create(path);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, &status);
    REQUIRE(writer);
    write_rows(writer, 50000);
    CHECK(trace_writer_finish(writer, &status));
    trace_writer_destroy(writer);
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t cut = size; cut > 8; cut -= size / 23) {
        struct trace *trace;
        CHECK(ftruncate(fd, cut) == 0);
        if (!trace_open(path, &trace, &status)) { /* before the first chunk was complete */
            CHECK(strstr(status.message, "contains no complete chunk"));
            CHECK(cut < size / 4);
            continue;
        }
        CHECK(trace->activity.count % 16384 == 0 || cut > size / 2);
        CHECK_INT(trace->writers_unfinished, cut != size && trace->writer_count ? 1 : 0);
        CHECK_OK(trace_load(trace, TABLE_ACTIVITY, NULL, &status), status);
        trace_close(trace);
    }
    close(fd);
}

TEST(a_damaged_chunk_is_left_out_and_counted) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = create(path);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, &status);
    REQUIRE(writer);
    write_rows(writer, 50000);
    CHECK(trace_writer_finish(writer, &status));
    trace_writer_destroy(writer);
    off_t size = lseek(fd, 0, SEEK_END);
    close(fd);
    fd = open(path, O_RDWR);
    CHECK(pwrite(fd, "damage", 6, size / 2) == 6);
    close(fd);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK(trace->damaged_bytes > 0);
    CHECK_INT(trace->missing_chunks, 1);
    CHECK(trace->activity.count > 0 && trace->activity.count < 50000);
    trace_close(trace);
}

/* Writes 50,000 rows and leaves the file open for writing. */
static int write_file(const char *path) {
    struct status status = {0};
    int fd = create(path);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, &status);
    if (!writer)
        return -1;
    write_rows(writer, 50000);
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    return fd;
}

TEST(a_file_that_is_truncated_while_it_is_open_fails_to_load) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = write_file(path);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK(ftruncate(fd, lseek(fd, 0, SEEK_END) / 2) == 0);
    CHECK(!trace_load(trace, TABLE_ACTIVITY, "start", &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK(strstr(status.message, "was truncated or overwritten while it was being read"));
    CHECK(ftruncate(fd, 0) == 0);
    CHECK(!trace_load(trace, TABLE_ACTIVITY, "start duration", &status));
    trace_close(trace);
    close(fd);
}

TEST(a_file_that_is_overwritten_while_it_is_open_never_gives_other_values) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    close(write_file(path));
    int fd = open(path, O_RDWR);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at += 1024) {
        unsigned char byte;
        CHECK(pread(fd, &byte, 1, at) == 1);
        byte ^= 1;
        CHECK(pwrite(fd, &byte, 1, at) == 1);
    }
    CHECK(!trace_load(trace, TABLE_ACTIVITY, "start", &status));
    CHECK(strstr(status.message, "was truncated or overwritten while it was being read"));
    trace_close(trace);
    close(fd);
}

TEST(what_is_appended_to_an_open_file_is_not_read) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = write_file(path);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 2, .writer = 1, .level = 1}, &status);
    REQUIRE(writer);
    write_rows(writer, 10);
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    CHECK_OK(trace_load(trace, TABLE_ACTIVITY, NULL, &status), status);
    CHECK_INT(trace->activity.count, 50000);
    CHECK_INT(trace->activity.start[49999], row_of(49999, 1, 0).start);
    trace_close(trace);
    close(fd);
}

/* The search for the next chunk reads the file in blocks. */
TEST(the_chunk_behind_damage_of_any_length_is_found) {
    struct status status = {0};
    enum { BLOCK = 64 * 1024, MAGIC = 8 };
    const char *whole = test_temporary(".ridge"), *path = test_temporary(".ridge");
    int from = write_file(whole);
    off_t size = lseek(from, 0, SEEK_END);
    char *bytes = malloc((size_t)size);
    char *junk = calloc(3, BLOCK);
    REQUIRE(bytes && junk && pread(from, bytes, (size_t)size, 0) == size);
    close(from);
    memcpy(junk, bytes, MAGIC);
    for (size_t length = 2 * BLOCK - 2 * MAGIC; length < 2 * BLOCK + 2 * MAGIC; length++) {
        int fd = create(path);
        CHECK(write(fd, junk, length) == (ssize_t)length);
        CHECK(write(fd, bytes, (size_t)size) == size);
        close(fd);
        struct trace *trace;
        REQUIRE(trace_open(path, &trace, &status));
        CHECK_INT(trace->damaged_bytes, length);
        CHECK_INT(trace->activity.count, 50000);
        trace_close(trace);
    }
    free(bytes);
    free(junk);
}

/* A chunk of one string with this id. */
static void write_string(int fd, uint32_t sequence, uint64_t id) {
    struct status status = {0};
    struct chunk_builder builder;
    uint32_t length = 1;
    struct chunk_header header = {.type = CHUNK_STRINGS,
                                  .session = 1,
                                  .writer = 1,
                                  .sequence = sequence,
                                  .rows = 1,
                                  .first_id = id};
    REQUIRE(chunk_builder_init(&builder, 1, 1, 0, &status));
    chunk_begin(&builder, 2);
    chunk_add_column(&builder, 0, &length, sizeof length, 1);
    chunk_add_bytes(&builder, 1, "x", 1);
    chunk_seal(&builder, &header);
    CHECK(write(fd, builder.bytes, builder.length) == (ssize_t)builder.length);
    chunk_builder_finish(&builder);
}

TEST(ids_far_apart_are_refused_before_they_cost_much_memory) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    struct trace *trace;
    int fd = create(path);
    /* each leaves (1 << 20) - 1 ids unused, the last one 64: as many as are accepted */
    for (uint32_t i = 0; i < 64; i++)
        write_string(fd, i, (uint64_t)(i + 1) << 20);
    write_string(fd, 64, (64 << 20) + 65);
    CHECK_OK(trace_open(path, &trace, &status), status); /* as after many lost chunks */
    trace_close(trace);
    write_string(fd, 65, (64 << 20) + 67);
    close(fd);
    REQUIRE(!trace_open(path, &trace, &status));
    CHECK(strstr(status.message, "ids are not consecutive"));
}

/* As when the body was lost and the next chunk follows the header. */
TEST(a_whole_chunk_inside_a_damaged_one_is_found) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    unsigned char bytes[CHUNK_HEADER_SIZE];
    int fd = create(path);
    write_string(fd, 0, 1);
    off_t size = lseek(fd, 0, SEEK_END);
    chunk_write_header(bytes, &(struct chunk_header){.type = CHUNK_STRINGS,
                                                     .version = CHUNK_VERSION,
                                                     .session = 1,
                                                     .writer = 1,
                                                     .sequence = 1,
                                                     .body_size = (uint64_t)size,
                                                     .body_checksum = 1});
    CHECK(write(fd, bytes, sizeof bytes) == sizeof bytes);
    write_string(fd, 2, 2);
    close(fd);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->damaged_bytes, CHUNK_HEADER_SIZE);
    CHECK_INT(trace->missing_chunks, 1);
    trace_close(trace);
}

TEST(a_chunk_of_an_unknown_type_is_left_out_and_counted) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    unsigned char bytes[CHUNK_HEADER_SIZE];
    int fd = create(path);
    write_string(fd, 0, 1);
    for (uint32_t sequence = 1; sequence < 3; sequence++) {
        chunk_write_header(bytes, &(struct chunk_header){.type = 0x31323334,
                                                         .version = CHUNK_VERSION,
                                                         .session = 1,
                                                         .writer = 1,
                                                         .sequence = sequence,
                                                         .body_checksum = checksum64(NULL, 0)});
        CHECK(write(fd, bytes, sizeof bytes) == sizeof bytes);
    }
    close(fd);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->unknown_chunks, 2);
    CHECK_INT(trace->missing_chunks, 0);
    CHECK_INT(trace->damaged_bytes, 0);
    trace_close(trace);
}

/* Each chunk claims to extend to the end of the file. Verifying all of them would take hours. */
TEST(overlapping_damaged_chunks_are_skipped_in_linear_time) {
    enum { CHUNKS = 100000 };
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = create(path);
    char *bytes = calloc(CHUNKS, CHUNK_HEADER_SIZE);
    REQUIRE(bytes);
    write_string(fd, 0, 1);
    for (uint32_t i = 0; i < CHUNKS; i++)
        chunk_write_header((unsigned char *)bytes + (size_t)i * CHUNK_HEADER_SIZE,
                           &(struct chunk_header){.type = CHUNK_STRINGS,
                                                  .version = CHUNK_VERSION,
                                                  .session = 1,
                                                  .writer = 1,
                                                  .body_size = (CHUNKS - 1 - i) * CHUNK_HEADER_SIZE,
                                                  .body_checksum = 1});
    CHECK(write(fd, bytes, CHUNKS * CHUNK_HEADER_SIZE) == CHUNKS * CHUNK_HEADER_SIZE);
    write_string(fd, 1, 2);
    close(fd);
    free(bytes);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->damaged_bytes, CHUNKS * CHUNK_HEADER_SIZE);
    CHECK_INT(trace->missing_chunks, 0);
    trace_close(trace);

    const char *copy = test_temporary(".ridge");
    const struct import_options options = {0};
    fd = create(copy);
    CHECK_OK(import_files(&path, 1, fd, &options, &status), status);
    close(fd);
    REQUIRE(trace_open(copy, &trace, &status));
    CHECK_INT(trace->damaged_bytes, 0);
    CHECK_INT(trace->missing_chunks, 0);
    CHECK(text_find(trace_meta(trace, META_WARNING), "8800000 bytes are damaged") >= 0);
    trace_close(trace);
}

TEST(many_sessions_are_numbered_in_linear_time) {
    enum { SESSIONS = 200000 };
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = create(path);
    char *bytes = calloc(SESSIONS, CHUNK_HEADER_SIZE);
    REQUIRE(bytes);
    for (uint32_t i = 0; i < SESSIONS; i++)
        chunk_write_header((unsigned char *)bytes + (size_t)i * CHUNK_HEADER_SIZE,
                           &(struct chunk_header){.type = CHUNK_END,
                                                  .version = CHUNK_VERSION,
                                                  .session = i + 1,
                                                  .writer = 1,
                                                  .body_checksum = checksum64(NULL, 0)});
    CHECK(write(fd, bytes, SESSIONS * CHUNK_HEADER_SIZE) == SESSIONS * CHUNK_HEADER_SIZE);
    close(fd);
    free(bytes);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->session_count, SESSIONS);
    trace_close(trace);
}

TEST(files_of_several_writers_concatenate_into_one_trace) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = create(path);
    for (uint64_t id = 1; id <= 3; id++) {
        /* writers 1 and 2 share a session and so a device; 3 has its own */
        struct trace_writer *writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = id / 3, .writer = id, .level = 1},
            &status);
        REQUIRE(writer);
        char own[16];
        snprintf(own, sizeof own, "writer %u", (unsigned)id);
        trace_writer_string(writer, text_of(own));
        if (id == 2)
            trace_writer_meta_integer(writer, META_CLOCK_OFFSET, 1000000);
        write_rows(writer, 10);
        CHECK(trace_writer_finish(writer, &status));
        trace_writer_destroy(writer);
    }
    close(fd);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->writer_count, 3);
    CHECK_INT(trace->session_count, 2);
    CHECK_INT(trace->device.count - 1, 2);
    CHECK_INT(trace->queue.count - 1, 2);
    CHECK_INT(trace->activity.count, 30);
    CHECK_OK(trace_load(trace, TABLE_ACTIVITY, "start queue name", &status), status);
    CHECK_INT(trace->activity.start[10], 1000000);
    CHECK_INT(trace->activity.queue[0], trace->activity.queue[10]);
    CHECK(trace->activity.queue[0] != trace->activity.queue[20]);
    CHECK_INT(trace->activity.name[0], trace->activity.name[20]);
    trace_close(trace);
}

TEST(a_chunk_that_comes_twice_is_read_once_and_counted) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = create(path);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, &status);
    REQUIRE(writer);
    write_rows(writer, 100);
    CHECK(trace_writer_finish(writer, &status));
    trace_writer_destroy(writer);
    static char bytes[1 << 20];
    ssize_t size = pread(fd, bytes, sizeof bytes, 0);
    REQUIRE(size > 0 && write(fd, bytes, (size_t)size) == size); /* as `cat a a` would */
    close(fd);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->activity.count, 100);
    CHECK_INT(trace->missing_chunks, 0);
    CHECK(trace->repeated_chunks > 0);
    trace_close(trace);
}

TEST(processes_that_append_to_one_file_at_once_make_one_whole_trace) {
    enum { PROCESSES = 4, ROWS = 60000 };
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = create(path);
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct trace_writer *writer = trace_writer_create(
                fd,
                &(struct trace_writer_options){.session = 1, .writer = (uint64_t)i + 1, .level = 1},
                &status);
            if (!writer)
                _exit(1);
            write_rows(writer, ROWS);
            bool ok = trace_writer_finish(writer, &status);
            trace_writer_destroy(writer);
            _exit(!ok);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int code = 1;
        CHECK(waitpid(children[i], &code, 0) == children[i] && code == 0);
    }
    close(fd);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->writer_count, PROCESSES);
    CHECK_INT(trace->writers_unfinished, 0);
    CHECK_INT(trace->activity.count, PROCESSES * ROWS);
    CHECK_INT(trace->missing_chunks, 0);
    CHECK_INT(trace->damaged_bytes, 0);
    CHECK_INT(trace->device.count - 1, 1);
    CHECK_OK(trace_load(trace, TABLE_ACTIVITY, "start name", &status), status);
    trace_close(trace);
}

static struct trace *written(void (*write)(struct trace_writer *, unsigned), unsigned writers,
                             struct status *status) {
    const char *path = test_temporary(".ridge");
    struct trace *trace = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    for (unsigned i = 0; i < writers; i++) {
        struct trace_writer *writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = 1, .writer = i + 1}, status);
        write(writer, i);
        CHECK_OK(trace_writer_finish(writer, status), *status);
        trace_writer_destroy(writer);
    }
    if (!trace_open_fd(fd, path, &trace, status))
        trace = NULL;
    close(fd);
    return trace;
}

/* The first has the names, the second the memory size. */
static void write_device(struct trace_writer *writer, unsigned number) {
    trace_write_device(
        writer, &(struct row_device){
                    .index = 3,
                    .label = trace_writer_string(writer, TEXT("3")),
                    .name = trace_writer_string(writer, number == 0 ? TEXT("GPU") : TEXT("")),
                    .memory_bytes = number == 0 ? 0 : 4096,
                    .multiprocessors = number == 0 ? 8 : 9,
                });
}

TEST(a_later_row_of_an_entity_fills_in_fields_and_clears_none) {
    struct status status = {0};
    struct trace *trace = written(write_device, 3, &status);
    REQUIRE(trace && trace->device.count == 2);
    CHECK(text_is(trace_text(trace, trace->device.name[1]), "GPU"));
    CHECK_INT(trace->device.memory_bytes[1], 4096);
    CHECK_INT(trace->device.multiprocessors[1], 9);
    trace_close(trace);
}

static void write_offset(struct trace_writer *writer, unsigned number) {
    if (number == 0)
        trace_writer_meta(writer, META_HOST, TEXT("here"));
    else
        trace_writer_meta_integer(writer, META_CLOCK_OFFSET, 1000);
    trace_write_mark(writer, &(struct row_mark){.time = number});
}

TEST(a_clock_offset_moves_the_times_of_its_own_writer_only) {
    struct status status = {0};
    struct trace *trace = written(write_offset, 2, &status);
    REQUIRE(trace);
    CHECK_OK(trace_load(trace, TABLE_MARK, "time", &status), status);
    REQUIRE(trace->mark.count == 2);
    CHECK_INT(trace->mark.time[0], 0);
    CHECK_INT(trace->mark.time[1], 1001);
    trace_close(trace);
}

static void write_unknown_class(struct trace_writer *writer, unsigned number) {
    for (uint32_t class = 0; class < 256; class ++)
        trace_write_call(writer,
                         &(struct row_call){.start = class + number, .class = (uint8_t) class});
}

static void write_unknown_kind(struct trace_writer *writer, unsigned number) {
    trace_write_activity(writer, &(struct row_activity){.start = number, .kind = ACTIVITY_KINDS});
}

TEST(values_of_a_later_version_are_other_or_refused) {
    struct status status = {0};
    struct trace *trace = written(write_unknown_class, 1, &status);
    REQUIRE(trace);
    CHECK_OK(trace_load(trace, TABLE_CALL, NULL, &status), status);
    REQUIRE(trace->call.count == 256);
    for (unsigned i = 0; i < 256; i++)
        CHECK_INT(trace->call.class[i], i < CALL_CLASSES ? i : CALL_OTHER);
    trace_close(trace);
    trace = written(write_unknown_kind, 1, &status);
    REQUIRE(trace);
    CHECK(!trace_load(trace, TABLE_ACTIVITY, NULL, &status));
    trace_close(trace);
}

TEST(a_trace_of_a_later_version_is_refused_with_both_versions) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    struct trace *trace;
    unsigned char bytes[CHUNK_HEADER_SIZE];
    int fd = create(path);
    chunk_write_header(bytes, &(struct chunk_header){.type = CHUNK_END,
                                                     .version = CHUNK_VERSION + 1,
                                                     .session = 1,
                                                     .writer = 1,
                                                     .body_checksum = checksum64(NULL, 0)});
    CHECK(write(fd, bytes, sizeof bytes) == sizeof bytes);
    close(fd);
    REQUIRE(!trace_open(path, &trace, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(strstr(status.message, "trace version 2, this one reads 1"));
}

TEST(bytes_that_do_not_compress_are_stored_as_they_are) {
    struct status status = {0};
    struct chunk_builder builder;
    unsigned char noise[1000], zeros[1000] = {0};
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof noise; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (unsigned char)(random >> 56);
    }
    REQUIRE(chunk_builder_init(&builder, 1, 8000, 3, &status));
    chunk_begin(&builder, 2);
    chunk_add_bytes(&builder, 0, noise, sizeof noise);
    chunk_add_bytes(&builder, 1, zeros, sizeof zeros);
    struct chunk_entry stored = chunk_read_entry(builder.bytes + CHUNK_HEADER_SIZE, 0);
    struct chunk_entry packed = chunk_read_entry(builder.bytes + CHUNK_HEADER_SIZE, 1);
    CHECK(!stored.compressed && stored.stored_size == sizeof noise);
    CHECK(packed.compressed && packed.stored_size < 100);
    chunk_builder_finish(&builder);
}

/* Values of eight bytes in as many rows as the builder has room for. */
TEST(the_byte_planes_of_a_column_stay_in_their_memory) {
    enum { ROWS = 4, BYTES = 8 * ROWS };
    static const uint64_t values[ROWS] = {UINT64_MAX, 1, UINT64_MAX / 3, 7};
    struct status status = {0};
    struct chunk_builder builder;
    unsigned char planes[BYTES + ROWS], untouched[ROWS];
    memset(planes, 0xA5, sizeof planes);
    memset(untouched, 0xA5, sizeof untouched);
    REQUIRE(chunk_builder_init(&builder, ROWS, 1, 0, &status));
    CHECK_INT(builder.planes_capacity, BYTES);
    unsigned char *own = builder.planes;
    builder.planes = planes;
    chunk_begin(&builder, 1);
    chunk_add_column(&builder, 0, values, sizeof *values, ROWS);
    builder.planes = own;
    CHECK_INT(chunk_read_entry(builder.bytes + CHUNK_HEADER_SIZE, 0).stored_size, BYTES);
    CHECK(memcmp(planes + BYTES, untouched, ROWS) == 0);
    chunk_builder_finish(&builder);
}
