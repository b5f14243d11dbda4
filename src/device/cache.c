/* One file per key. A file is believed only when all of it is as it was written and its key is the
 * one asked for, so hash collisions, crashes and damage cost a compilation and nothing else. Files
 * come into being whole (written aside, then renamed), so processes may share a folder. Only files
 * named like ours are ever removed: the folder may be one that the user has other things in.
 */
#include "device/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/output.h"

#define SUFFIX ".kernel"
#define UNFINISHED "ridge-unfinished-"

enum {
    VERSION = 1,
    NAME_SIZE = 64,
    HASH_DIGITS = 32,
    TOTAL_MAX = 256 << 20, /* bytes of all files; the oldest go when there are more */
    TOTAL_KEPT = TOTAL_MAX / 4 * 3,
    FILE_MAX = TOTAL_MAX / 4,
    UNFINISHED_SECONDS = 3600, /* then no one is writing it any more */
};

/* The file: this, the key, the payload, and the checksum of all that. */
struct head {
    char magic[8];
    uint32_t version;
    uint32_t head_size;
    uint64_t key_length, payload_length;
};
static const char magic[8] = {'r', 'i', 'd', 'g', 'e', 'k', 'r', 'n'};

static bool folder_name(struct buffer *path, struct status *status) {
    const char *chosen = getenv("RIDGE_CACHE"), *caches = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (chosen && (!*chosen || strcmp(chosen, "off") == 0))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "compiled kernels are not kept: RIDGE_CACHE switches that off");
    if (chosen)
        buffer_string(path, chosen);
    else if (caches && *caches == '/')
        buffer_printf(path, "%s/ridge", caches);
    else if (home && *home == '/')
#ifdef __APPLE__
        buffer_printf(path, "%s/Library/Caches/ridge", home);
#else
        buffer_printf(path, "%s/.cache/ridge", home);
#endif
    else
        return status_fail(status, STATUS_UNSUPPORTED,
                           "compiled kernels are not kept: HOME is not set; set RIDGE_CACHE to a "
                           "folder for them");
    buffer_byte(path, 0);
    return buffer_ok(path, status);
}

/* The folder and those above it, as far as they are missing; open() tells what could not be made.
 */
static void make_folders(char *path) {
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0700);
            *p = '/';
        }
    mkdir(path, 0700);
}

static bool is_private(int folder, const char *path, struct status *status) {
    struct stat facts;
    if (fstat(folder, &facts) != 0)
        return status_fail_errno(status, "%s", path);
    if (facts.st_uid != geteuid())
        return status_fail(status, STATUS_UNSUPPORTED,
                           "compiled kernels are not kept: %s belongs to another user; set "
                           "RIDGE_CACHE to a folder of your own",
                           path);
    if (facts.st_mode & (S_IWGRP | S_IWOTH))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "compiled kernels are not kept: others may write to %s; chmod go-w it, "
                           "or set RIDGE_CACHE to another folder",
                           path);
    return true;
}

/* A descriptor of the folder, through which all files are reached; -1 and why. */
static int open_folder(struct buffer *path, struct status *status) {
    if (!folder_name(path, status))
        return -1;
    int folder = open(path->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 && errno == ENOENT) {
        make_folders(path->data);
        folder = open(path->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (folder < 0) {
        status_fail_errno(status, "compiled kernels are not kept: cannot open %s", path->data);
        return -1;
    }
    if (!is_private(folder, path->data, status)) {
        close(folder);
        return -1;
    }
    return folder;
}

bool cache_folder(struct buffer *path, struct status *status) {
    int folder = open_folder(path, status);
    if (folder >= 0)
        close(folder);
    return folder >= 0;
}

static int open_folder_quietly(void) {
    struct buffer path = {0};
    struct status ignored;
    int folder = open_folder(&path, &ignored);
    buffer_finish(&path);
    return folder;
}

/* FNV-1a: a second hash that shares nothing with XXH64. */
static uint64_t second_hash(const unsigned char *data, size_t length) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ data[i]) * 0x100000001B3u;
    return hash;
}

static void file_name(const void *key, size_t key_length, char name[NAME_SIZE]) {
    snprintf(name, NAME_SIZE, "%016" PRIx64 "%016" PRIx64 SUFFIX, checksum64(key, key_length),
             second_hash(key, key_length));
}

static bool is_kernel_name(const char *name) {
    return strspn(name, "0123456789abcdef") == HASH_DIGITS &&
           strcmp(name + HASH_DIGITS, SUFFIX) == 0;
}

static bool read_all(int fd, unsigned char *data, size_t length) {
    while (length > 0) {
        ssize_t count = read(fd, data, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        data += count;
        length -= (size_t)count;
    }
    return true;
}

/* The whole file, which is the caller's to free; NULL when it cannot be one of ours. */
static unsigned char *read_file(int fd, size_t *length) {
    struct stat facts;
    struct status ignored;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
        facts.st_size < (off_t)(sizeof(struct head) + sizeof(uint64_t)) ||
        facts.st_size > (off_t)FILE_MAX)
        return NULL;
    *length = (size_t)facts.st_size;
    unsigned char *data = memory_allocate(*length, 1, &ignored);
    if (data && read_all(fd, data, *length))
        return data;
    memory_free(data);
    return NULL;
}

/* Where the payload lies, when the file is whole and of this key. */
static bool find_payload(const unsigned char *data, size_t length, const void *key,
                         size_t key_length, struct text *payload, bool *damaged) {
    struct head head;
    uint64_t checksum;
    memcpy(&head, data, sizeof head);
    memcpy(&checksum, data + length - sizeof checksum, sizeof checksum);
    size_t room = length - sizeof head - sizeof checksum;
    *damaged = memcmp(head.magic, magic, sizeof magic) != 0 || head.version != VERSION ||
               head.head_size != sizeof head || head.key_length > room ||
               head.payload_length != room - head.key_length ||
               checksum64(data, length - sizeof checksum) != checksum;
    if (*damaged || head.key_length != key_length || memcmp(data + sizeof head, key, key_length))
        return false;
    *payload =
        (struct text){(const char *)data + sizeof head + key_length, (size_t)head.payload_length};
    return true;
}

/* The payload is appended whole or not at all. */
static bool append(struct buffer *buffer, struct text payload) {
    if (buffer->failed)
        return false;
    buffer_text(buffer, payload);
    bool ok = !buffer->failed;
    buffer->failed = false;
    return ok;
}

static bool load_from(int folder, const char *name, const void *key, size_t key_length,
                      struct buffer *payload) {
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t length;
    struct text found;
    bool damaged = false, ok = false;
    unsigned char *data = read_file(fd, &length);
    if (data && find_payload(data, length, key, key_length, &found, &damaged))
        ok = append(payload, found);
    if (ok)
        futimens(fd, NULL); /* used just now: the last to be removed */
    if (damaged)
        unlinkat(folder, name, 0);
    memory_free(data);
    close(fd);
    return ok;
}

bool cache_load(const void *key, size_t key_length, struct buffer *payload) {
    char name[NAME_SIZE];
    int folder = open_folder_quietly();
    if (folder < 0)
        return false;
    file_name(key, key_length, name);
    bool ok = load_from(folder, name, key, key_length, payload);
    close(folder);
    return ok;
}

struct entry {
    int64_t used; /* seconds */
    uint64_t bytes;
    char name[NAME_SIZE];
};

static int older_first(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

/* All kernels in the folder; what was left unfinished long ago is removed on the way. */
static bool list_entries(int folder, struct entry **entries, size_t *count) {
    size_t capacity = 0;
    struct status ignored;
    struct dirent *found;
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    if (!listing) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool ok = true;
    while (ok && (found = readdir(listing))) {
        struct stat facts;
        bool unfinished = strncmp(found->d_name, UNFINISHED, strlen(UNFINISHED)) == 0;
        if ((!unfinished && !is_kernel_name(found->d_name)) ||
            fstatat(folder, found->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (unfinished) {
            if (time(NULL) - facts.st_mtime > UNFINISHED_SECONDS)
                unlinkat(folder, found->d_name, 0);
            continue;
        }
        ok = GROW(*entries, &capacity, *count + 1, &ignored);
        if (!ok)
            break;
        struct entry *entry = &(*entries)[(*count)++];
        *entry = (struct entry){.used = facts.st_mtime, .bytes = (uint64_t)facts.st_size};
        snprintf(entry->name, sizeof entry->name, "%.*s", NAME_SIZE - 1, found->d_name);
    }
    closedir(listing);
    return ok;
}

static void remove_oldest(int folder) {
    struct entry *entries = NULL;
    size_t count = 0;
    if (list_entries(folder, &entries, &count)) {
        uint64_t total = 0;
        for (size_t i = 0; i < count; i++)
            total += entries[i].bytes;
        if (total > TOTAL_MAX) {
            qsort(entries, count, sizeof *entries, older_first);
            for (size_t i = 0; i < count && total > TOTAL_KEPT; i++) {
                unlinkat(folder, entries[i].name, 0);
                total -= entries[i].bytes;
            }
        }
    }
    memory_free(entries);
}

static bool write_file(int folder, const char *name, struct text content) {
    static _Atomic unsigned serial;
    char unfinished[NAME_SIZE];
    struct status ignored;
    snprintf(unfinished, sizeof unfinished, UNFINISHED "%ld-%u", (long)getpid(),
             atomic_fetch_add(&serial, 1));
    int fd = openat(folder, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = output_write_fd(fd, content.data, content.length, &ignored);
    ok = close(fd) == 0 && ok;
    ok = ok && renameat(folder, unfinished, folder, name) == 0;
    if (!ok)
        unlinkat(folder, unfinished, 0);
    return ok;
}

void cache_store(const void *key, size_t key_length, const void *payload, size_t length) {
    struct head head = {.version = VERSION,
                        .head_size = sizeof head,
                        .key_length = key_length,
                        .payload_length = length};
    struct buffer content = {0};
    char name[NAME_SIZE];
    if (key_length > FILE_MAX || length > FILE_MAX - sizeof head - sizeof(uint64_t) ||
        key_length > FILE_MAX - sizeof head - sizeof(uint64_t) - length)
        return;
    int folder = open_folder_quietly();
    if (folder < 0)
        return;
    memcpy(head.magic, magic, sizeof magic);
    buffer_append(&content, &head, sizeof head);
    buffer_append(&content, key, key_length);
    buffer_append(&content, payload, length);
    uint64_t checksum = content.failed ? 0 : checksum64(content.data, content.length);
    buffer_append(&content, &checksum, sizeof checksum);
    file_name(key, key_length, name);
    if (!content.failed && write_file(folder, name, buffer_as_text(&content)))
        remove_oldest(folder);
    buffer_finish(&content);
    close(folder);
}
