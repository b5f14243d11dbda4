/* The spool's reader on hostile files. The first byte of the input says what the rest is: edits to
 * a segment as a probe writes it, the segment's records, or the header of a process. Each is read
 * twice, with the edits of the second half between, as files change while they are read. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spool/layout.h"
#include "targets.h"

enum { EDIT_SIZE = 6, RECORDS = 40 };

static char folder[] = "/tmp/ridge-fuzz-spool-XXXXXX";
static unsigned char original[SPOOL_SEGMENT_MIN];
static struct spool_reader *reader;

static bool check(void *context, unsigned process, unsigned lane, const struct spool_head *record,
                  struct status *status) {
    (void)context;
    (void)status;
    struct text text = spool_reader_text(reader, lane, record->text);
    volatile unsigned char touched = ((const unsigned char *)record)[record->bytes - 1];
    touched = text.length > 0 ? (unsigned char)text.data[text.length - 1] : touched;
    (void)touched;
    if (record->kind == SPOOL_END || record->kind >= SPOOL_KINDS ||
        !spool_reader_process(reader, process))
        abort();
    return true;
}

static void drain(void) {
    struct status status = {0};
    if (!spool_reader_drain(reader, check, NULL, &status))
        abort();
    if (spool_reader_processes(reader) > 0 &&
        spool_reader_process(reader, 0)->command.length > SPOOL_COMMAND_MAX)
        abort();
}

/* A segment that a probe wrote. */
static void make_original(void) {
    char path[512] = "";
    struct spool *spool = spool_open();
    struct spool_lane *lane = spool_lane_open(spool);
    if (!lane)
        abort();
    for (unsigned i = 0; i < RECORDS; i++) {
        uint32_t name = spool_constant(lane, i % 2 ? "forward" : "backward");
        struct spool_range *range = spool_begin(lane, SPOOL_RANGE, name, sizeof *range);
        *range = (struct spool_range){.head = range->head, .start = i, .end = i + 1};
        spool_publish(lane);
    }
    DIR *directory = opendir(folder);
    for (struct dirent *file; (file = readdir(directory));) {
        if (file->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        int fd = open(path, O_RDONLY);
        if (strstr(path, ".seg") && read(fd, original, sizeof original) != sizeof original)
            abort();
        close(fd);
        unlink(path);
    }
    closedir(directory);
    spool_close(spool);
}

static void remove_folder(void) {
    rmdir(folder);
}

static void put(const char *name, const void *bytes, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
}

static void edit(unsigned char *bytes, size_t size, const uint8_t *edits, size_t length) {
    for (; length >= EDIT_SIZE; edits += EDIT_SIZE, length -= EDIT_SIZE) {
        size_t offset = (size_t)edits[0] | (size_t)edits[1] << 8;
        for (unsigned i = 2; i < EDIT_SIZE && offset < size; i++)
            bytes[offset++ % size] = edits[i];
    }
}

int fuzz_spool(const uint8_t *data, size_t size) {
    static unsigned char bytes[SPOOL_SEGMENT_MIN];
    struct status status;
    if (original[0] == 0) {
        if (!mkdtemp(folder) || setenv(SPOOL_VARIABLE, folder, 1) != 0)
            abort();
        atexit(remove_folder);
        make_original();
    }
    if (size < 2)
        return 0;
    unsigned kind = data[0] % 3;
    size_t half = (size - 1) / 2;
    memcpy(bytes, original, sizeof bytes);
    if (kind == 0)
        edit(bytes, sizeof bytes, data + 1, half);
    size_t room = sizeof bytes - SPOOL_DATA, used = size - 1 < room ? size - 1 : room;
    if (kind == 1) {
        memcpy(bytes + SPOOL_DATA, data + 1, used);
        ((struct spool_segment *)bytes)->published = spool_published(1, (uint32_t)used & ~7u);
    }
    reader = spool_reader_open(folder, &status);
    if (!reader)
        abort();
    put("7-7-0-0.seg", bytes, sizeof bytes);
    if (kind == 2) {
        struct spool_header header = {.version = SPOOL_VERSION, .pid = 7};
        memcpy(header.magic, SPOOL_HEAD_MAGIC, sizeof header.magic);
        edit((unsigned char *)&header, sizeof header, data + 1, half);
        put("7-7.head", &header, sizeof header);
    }
    drain();
    edit(bytes, sizeof bytes, data + 1 + half, size - 1 - half);
    put("7-7-0-0.seg", bytes, sizeof bytes);
    put("7-7-0-1.seg", bytes, sizeof bytes);
    drain();
    drain();
    spool_reader_close(reader);
    return 0;
}
