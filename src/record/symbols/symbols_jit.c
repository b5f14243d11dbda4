/* A line is `START SIZE name`, both numbers hexadecimal. Files only grow, so only appended lines
 * are read again. For the same address the last line wins. */
#include "record/symbols/symbols_jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/search.h"

enum { MAP_BYTES_MAX = 256 << 20, ENTRIES_MAX = 1 << 22, REREAD_INTERVAL_NS = 20000000 };

struct entry {
    uint64_t start, bytes;
    uint32_t name, order;
};

struct jit_map {
    pid_t pid;
    uint64_t read;      /* bytes consumed, whole lines only */
    uint64_t size;      /* of the file at the last read */
    int64_t checked_at; /* CLOCK_MONOTONIC */
    struct entry *entries;
    size_t count, capacity;
};

void jit_maps_finish(struct jit_maps *maps) {
    for (size_t i = 0; i < maps->count; i++)
        memory_free(maps->items[i].entries);
    memory_free(maps->items);
    map_finish(&maps->by_pid);
    intern_finish(&maps->names);
    *maps = (struct jit_maps){0};
}

static struct jit_map *map_of(struct jit_maps *maps, pid_t pid) {
    uint64_t *place = map_find(&maps->by_pid, (uint64_t)pid);
    if (place)
        return &maps->items[*place];
    struct status ignored;
    if (!GROW(maps->items, &maps->capacity, maps->count + 1, &ignored) ||
        !map_set(&maps->by_pid, (uint64_t)pid, maps->count, &ignored))
        return NULL;
    maps->items[maps->count] = (struct jit_map){.pid = pid};
    return &maps->items[maps->count++];
}

void jit_maps_forget(struct jit_maps *maps, pid_t pid) {
    uint64_t *place = map_find(&maps->by_pid, (uint64_t)pid);
    if (place)
        maps->items[*place].count = 0;
}

static bool is_owned(pid_t pid, const struct stat *file) {
    char path[64];
    struct stat process;
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    return file->st_uid == geteuid() ||
           (stat(path, &process) == 0 && process.st_uid == file->st_uid);
}

static int open_map(pid_t pid, uint64_t *length) {
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)pid);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || !is_owned(pid, &about) ||
        about.st_size > MAP_BYTES_MAX) {
        close(fd);
        return -1;
    }
    *length = (uint64_t)about.st_size;
    return fd;
}

static const char *read_hexadecimal(const char *at, const char *end, uint64_t *value) {
    const char *first = at;
    for (*value = 0; at < end && *value >> 60 == 0; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a' + 10)
                         : *at >= 'A' && *at <= 'F' ? (unsigned)(*at - 'A' + 10)
                                                    : 16;
        if (digit == 16)
            break;
        *value = *value << 4 | digit;
    }
    return at > first && at < end && *at == ' ' ? at + 1 : NULL;
}

static void add_map_line(struct jit_maps *maps, struct jit_map *map, const char *at,
                         const char *end) {
    struct entry entry = {.order = (uint32_t)map->count};
    struct status ignored;
    if (end - at > 2 && at[0] == '0' && at[1] == 'x')
        at += 2;
    at = read_hexadecimal(at, end, &entry.start);
    at = at ? read_hexadecimal(at, end, &entry.bytes) : NULL;
    if (at && at < end && map->count < ENTRIES_MAX &&
        intern_add(&maps->names, (struct text){at, (size_t)(end - at)}, &entry.name, &ignored) &&
        GROW(map->entries, &map->capacity, map->count + 1, &ignored))
        map->entries[map->count++] = entry;
}

static int by_start(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Parses the complete lines and returns their length. */
static size_t add_map_lines(struct jit_maps *maps, struct jit_map *map, const char *text,
                            size_t length) {
    size_t at = 0;
    const char *end;
    while ((end = memchr(text + at, '\n', length - at))) {
        add_map_line(maps, map, text + at, end);
        at = (size_t)(end - text) + 1;
    }
    return at;
}

/* Limits the rate: many programs generate code without writing a map. */
static bool is_due(struct jit_map *map) {
    int64_t time = clock_now();
    if (map->checked_at && time - map->checked_at < REREAD_INTERVAL_NS)
        return false;
    map->checked_at = time;
    return true;
}

static void read_appended(struct jit_maps *maps, struct jit_map *map) {
    uint64_t length;
    int fd = open_map(map->pid, &length);
    if (fd < 0)
        return;
    if (length < map->read) /* another process with the same pid */
        map->read = map->count = 0;
    struct status ignored;
    size_t added = length == map->size ? 0 : (size_t)(length - map->read);
    char *text = added ? memory_allocate(added, 1, &ignored) : NULL;
    ssize_t got = text ? pread(fd, text, added, (off_t)map->read) : 0;
    close(fd);
    map->size = length;
    size_t used = got > 0 ? add_map_lines(maps, map, text, (size_t)got) : 0;
    map->read += used;
    if (used && map->count)
        qsort(map->entries, map->count, sizeof *map->entries, by_start);
    memory_free(text);
}

static const struct entry *find_entry(const struct jit_map *map, uint64_t address) {
    size_t low = 0;
    PARTITION_POINT(low, map->count, i, map->entries[i].start <= address);
    const struct entry *entry = low ? &map->entries[low - 1] : NULL;
    return entry && address - entry->start < entry->bytes ? entry : NULL;
}

struct text jit_maps_find(struct jit_maps *maps, pid_t pid, uint64_t address) {
    struct jit_map *map = map_of(maps, pid);
    if (!map)
        return TEXT("");
    const struct entry *entry = find_entry(map, address);
    if (!entry && is_due(map)) {
        read_appended(maps, map);
        entry = find_entry(map, address);
    }
    return entry ? intern_text(&maps->names, entry->name) : TEXT("");
}
