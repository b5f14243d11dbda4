/* Reading plain, gzip and zstd data, in several members, cut off, and damaged. */
#include "../test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"

enum { LIMIT = 64 << 20 };

/* Numbers as text: compressible, and different everywhere. */
static void fill(struct buffer *plain, unsigned lines) {
    for (unsigned i = 0; i < lines; i++)
        buffer_printf(plain, "line %u\n", i);
}

static void add_gzip(struct buffer *packed, struct text plain) {
    z_stream stream = {0};
    static unsigned char out[1 << 22];
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = (unsigned char *)plain.data;
    stream.avail_in = (uInt)plain.length;
    stream.next_out = out;
    stream.avail_out = sizeof out;
    CHECK_INT(deflate(&stream, Z_FINISH), Z_STREAM_END);
    buffer_append(packed, out, sizeof out - stream.avail_out);
    deflateEnd(&stream);
}

static void add_zstd(struct buffer *packed, struct text plain) {
    static unsigned char out[1 << 22];
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1); /* as the zstd program does */
    size_t size = ZSTD_compress2(context, out, sizeof out, plain.data, plain.length);
    ZSTD_freeCCtx(context);
    CHECK(!ZSTD_isError(size));
    buffer_append(packed, out, size);
}

/* Reads all of it through a small window, as a parser would. */
static bool read_all(struct text packed, struct buffer *plain, struct status *status) {
    struct input input;
    if (!input_open_bytes(&input, packed.data, packed.length, status))
        return false;
    bool ok = true;
    while (ok && !(input.at_end && input.length == 0)) {
        CHECK_INT(input.offset, plain->length);
        buffer_append(plain, input.data, input.length);
        input_consume(&input, input.length);
        ok = input_more(&input, LIMIT, status);
    }
    input_close(&input);
    return ok;
}

static void check_members(void (*add)(struct buffer *, struct text)) {
    struct buffer plain = {0}, packed = {0}, read = {0};
    struct status status = {0};
    for (int member = 0; member < 3; member++) {
        struct buffer part = {0};
        fill(&part, 150000);
        buffer_text(&plain, buffer_as_text(&part));
        add(&packed, buffer_as_text(&part));
        buffer_finish(&part);
    }
    CHECK_OK(read_all(buffer_as_text(&packed), &read, &status), status);
    CHECK(text_equal(buffer_as_text(&plain), buffer_as_text(&read)));
    buffer_finish(&plain);
    buffer_finish(&packed);
    buffer_finish(&read);
}

TEST(gzip_members_read_as_one_stream) {
    check_members(add_gzip);
}

TEST(zstd_frames_read_as_one_stream) {
    check_members(add_zstd);
}

TEST(plain_bytes_read_as_they_are) {
    check_members(buffer_text);
}

/* Every truncation must be reported and never taken for the end. */
static void check_cuts(void (*add)(struct buffer *, struct text)) {
    struct buffer plain = {0}, packed = {0};
    fill(&plain, 5000);
    add(&packed, buffer_as_text(&plain));
    for (size_t cut = 5; cut < packed.length; cut += packed.length / 50) {
        struct buffer read = {0};
        struct status status = {0};
        CHECK(!read_all((struct text){packed.data, cut}, &read, &status));
        CHECK_INT(status.code, STATUS_INPUT);
        CHECK(strstr(status.message, "cut off"));
        buffer_finish(&read);
    }
    buffer_finish(&plain);
    buffer_finish(&packed);
}

TEST(a_truncated_gzip_stream_is_reported) {
    check_cuts(add_gzip);
}

TEST(a_truncated_zstd_stream_is_reported) {
    check_cuts(add_zstd);
}

static void check_damage(void (*add)(struct buffer *, struct text)) {
    struct buffer plain = {0}, packed = {0}, read = {0};
    struct status status = {0};
    fill(&plain, 5000);
    add(&packed, buffer_as_text(&plain));
    for (size_t i = packed.length / 2; i < packed.length / 2 + 20; i++)
        packed.data[i] ^= 0x55;
    CHECK(!read_all(buffer_as_text(&packed), &read, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    buffer_finish(&plain);
    buffer_finish(&packed);
    buffer_finish(&read);
}

TEST(damaged_gzip_is_reported) {
    check_damage(add_gzip);
}

TEST(damaged_zstd_is_reported) {
    check_damage(add_zstd);
}

/* One raw block in a frame that asks for a window of 1 << log bytes. */
static void add_long_window(struct buffer *packed, unsigned log, struct text plain) {
    size_t block = plain.length << 3 | 1; /* the last one */
    const unsigned char head[] = {0x28,
                                  0xB5,
                                  0x2F,
                                  0xFD,
                                  0,
                                  (unsigned char)((log - 10) << 3),
                                  (unsigned char)block,
                                  (unsigned char)(block >> 8),
                                  (unsigned char)(block >> 16)};
    buffer_append(packed, head, sizeof head);
    buffer_text(packed, plain);
}

TEST(a_long_zstd_window_is_read_up_to_a_reported_limit) {
    struct buffer packed = {0}, read = {0};
    struct status status = {0};
    add_long_window(&packed, 28, TEXT("far back"));
    CHECK_OK(read_all(buffer_as_text(&packed), &read, &status), status);
    CHECK(text_is(buffer_as_text(&read), "far back"));
    buffer_clear(&packed);
    buffer_clear(&read);
    add_long_window(&packed, 31, TEXT("farther"));
    CHECK(!read_all(buffer_as_text(&packed), &read, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(strstr(status.message, "needs a window of more than 1 GiB"));
    CHECK(strstr(status.message, "--long=30"));
    buffer_finish(&packed);
    buffer_finish(&read);
}

TEST(truncating_a_file_while_it_is_read_is_reported) {
    enum { SIZE = 1 << 20 };
    struct status status = {0};
    struct input input;
    const char *path = test_temporary(".txt");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, SIZE) == 0);
    REQUIRE(input_open(&input, path, &status));
    CHECK(ftruncate(fd, SIZE / 2) == 0);
    bool ok = true;
    while (ok && !input.at_end) {
        input_consume(&input, input.length);
        ok = input_more(&input, LIMIT, &status);
    }
    CHECK(!ok);
    CHECK(strstr(status.message, "was truncated while it was being read"));
    input_close(&input);
    close(fd);
}

TEST(an_endless_token_meets_the_callers_limit) {
    struct input input;
    struct status status = {0};
    size_t length = 8 << 20;
    char *bytes = memory_allocate(length, 1, &status);
    REQUIRE(bytes);
    REQUIRE(input_open_bytes(&input, bytes, length, &status));
    bool ok = true;
    while (ok && !input.at_end)
        ok = input_more(&input, 2 << 20, &status);
    CHECK(!ok);
    CHECK(input.length < 4 << 20);
    CHECK(strstr(status.message, "MiB without an end"));
    input_close(&input);
    memory_free(bytes);
}

TEST(a_window_that_is_not_consumed_grows_and_keeps_its_bytes) {
    struct buffer plain = {0}, packed = {0};
    struct status status = {0};
    struct input input;
    fill(&plain, 300000);
    add_gzip(&packed, buffer_as_text(&plain));
    REQUIRE(input_open_bytes(&input, packed.data, packed.length, &status));
    while (!input.at_end && input_more(&input, LIMIT, &status))
        ;
    CHECK(text_equal(((struct text){input.data, input.length}), buffer_as_text(&plain)));
    input_close(&input);
    buffer_finish(&plain);
    buffer_finish(&packed);
}

TEST(a_missing_file_and_a_folder_are_distinguished) {
    struct input input;
    struct status status = {0};
    CHECK(!input_open(&input, "/nonexistent-file", &status));
    CHECK(strstr(status.message, "No such file"));
    CHECK(!input_open(&input, "/", &status));
    CHECK(strstr(status.message, "folder"));
}
