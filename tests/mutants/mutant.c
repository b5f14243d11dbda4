/* Which mutant is on? The file of reached sites is shared memory, so that forked and killed
 * processes leave theirs too. */
#include "mutant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int mutant_active;
unsigned char *mutant_reached;

__attribute__((constructor(101))) static void choose(void) {
    const char *value = getenv("RIDGE_MUTANT");
    struct stat file;
    if (!value)
        return;
    if (strncmp(value, "trace:", 6) != 0) {
        mutant_active = atoi(value);
        return;
    }
    int fd = open(value + 6, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0)
        return; /* a test makes calls fail */
    void *map = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    mutant_reached = map == MAP_FAILED ? NULL : map;
}
