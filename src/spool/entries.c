/* Which files of a spool's folder are ours, by their names? Anything else there is left alone. */
#include "spool/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* Takes the digits before `end` off the front of the name. */
static bool take_number(struct text *name, const char *end, int64_t *number) {
    ptrdiff_t length = text_find(*name, end);
    if (length <= 0 || name->data[0] < '0' || name->data[0] > '9' ||
        !text_to_i64((struct text){name->data, (size_t)length}, number))
        return false;
    size_t taken = (size_t)length + strlen(end);
    *name = (struct text){name->data + taken, name->length - taken};
    return true;
}

bool entry_parse(struct text name, struct spool_entry *entry) {
    int64_t lane = 0, number = 0;
    *entry = (struct spool_entry){0};
    if (!take_number(&name, "-", &entry->pid))
        return false;
    entry->is_header = text_find(name, "-") < 0;
    if (entry->is_header)
        return take_number(&name, ".head", &entry->start) && name.length == 0;
    if (!take_number(&name, "-", &entry->start) || !take_number(&name, "-", &lane) ||
        !take_number(&name, ".seg", &number) || name.length > 0)
        return false;
    if (lane >= SPOOL_LANES || number > UINT32_MAX)
        return false;
    entry->lane = (uint32_t)lane;
    entry->number = (uint32_t)number;
    return true;
}

const char *entry_name(const struct spool_entry *entry, char *name) {
    if (entry->is_header)
        snprintf(name, ENTRY_NAME_MAX, "%lld-%lld.head", (long long)entry->pid,
                 (long long)entry->start);
    else
        snprintf(name, ENTRY_NAME_MAX, "%lld-%lld-%u-%u.seg", (long long)entry->pid,
                 (long long)entry->start, entry->lane, entry->number);
    return name;
}

static int compare(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

/* Headers before segments, and processes in the order in which they began. */
static int compare_entries(const void *left, const void *right) {
    const struct spool_entry *a = left, *b = right;
    int order = compare(a->start, b->start);
    order = order ? order : compare(a->pid, b->pid);
    order = order ? order : compare(b->is_header, a->is_header);
    order = order ? order : compare(a->lane, b->lane);
    return order ? order : compare(a->number, b->number);
}

bool entries_list(const char *folder, struct spool_entry **entries, size_t *count,
                  struct status *status) {
    struct spool_entry entry, *list = NULL;
    size_t length = 0, capacity = 0;
    DIR *directory = opendir(folder);
    if (!directory)
        return status_fail_errno(status, "cannot list the spool %s", folder);
    bool ok = true;
    for (struct dirent *file; ok && (file = readdir(directory));) {
        if (!entry_parse(text_of(file->d_name), &entry))
            continue;
        ok = GROW(list, &capacity, length + 1, status);
        if (ok)
            list[length++] = entry;
    }
    closedir(directory);
    if (!ok) {
        memory_free(list);
        return false;
    }
    if (length > 0)
        qsort(list, length, sizeof *list, compare_entries);
    *entries = list;
    *count = length;
    return true;
}

int entry_open(int folder, const struct spool_entry *entry, uint64_t bytes_min, uint64_t bytes_max,
               uint64_t *bytes) {
    char name[ENTRY_NAME_MAX];
    struct stat info;
    int fd = openat(folder, entry_name(entry, name), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        (uint64_t)info.st_size < bytes_min || (uint64_t)info.st_size > bytes_max) {
        close(fd);
        return -1;
    }
    *bytes = (uint64_t)info.st_size;
    return fd;
}
