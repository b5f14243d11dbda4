/* Reads parts of files that are other people's, and may shrink meanwhile. */
#include "record/symbols/elf_source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

bool elf_source_file(struct elf_source *source, int fd, struct status *status) {
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return status_fail(status, STATUS_INPUT, "this is no regular file");
    *source = (struct elf_source){.fd = fd, .length = (uint64_t)about.st_size};
    return true;
}

bool elf_source_read(const struct elf_source *source, uint64_t offset, void *to, uint64_t bytes) {
    if (offset > source->length || bytes > source->length - offset)
        return false;
    if (source->fd < 0) {
        memcpy(to, source->bytes + offset, bytes);
        return true;
    }
    for (uint64_t got = 0; got < bytes;) {
        ssize_t n = pread(source->fd, (char *)to + got, bytes - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (uint64_t)n;
    }
    return true;
}

void *elf_source_copy(const struct elf_source *source, uint64_t offset, uint64_t bytes,
                      uint64_t limit, struct status *status) {
    if (bytes > limit || offset > source->length || bytes > source->length - offset) {
        status_fail(status, STATUS_INPUT, "a part of the ELF file lies outside it");
        return NULL;
    }
    char *part = memory_allocate(bytes + 1, 1, status);
    if (part && !elf_source_read(source, offset, part, bytes)) {
        status_fail(status, STATUS_INPUT, "the ELF file cannot be read whole");
        memory_free(part);
        return NULL;
    }
    return part;
}
