/* Called a few times per recording, so nothing is cached. */
#include "record/owner.h"

#include <sys/stat.h>
#include <unistd.h>

static bool owns(uid_t owner, const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && info.st_uid == owner;
}

bool owner_is_trusted(uid_t owner) {
    return owner == geteuid() || owner == 0 || owns(owner, "/proc/self/exe") || owns(owner, "/");
}
