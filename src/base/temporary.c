/* Where temporary files are created and how they are named. */
#include "base/temporary.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h> /* mkdtemp() on macOS */

#include "base/memory.h"
#include "base/text.h"

static const char *folder_of_temporaries(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* The pattern that mkstemp() and mkdtemp() fill in; NULL when out of memory. */
static char *name_pattern(struct status *status) {
    struct buffer name = {0};
    buffer_printf(&name, "%s/ridge-XXXXXX", folder_of_temporaries());
    buffer_byte(&name, 0);
    if (buffer_ok(&name, status))
        return name.data;
    buffer_finish(&name);
    return NULL;
}

static bool refused(char *pattern, const char *what, struct status *status) {
    status_fail_errno(status, "cannot create a temporary %s in %s (set TMPDIR to another folder)",
                      what, folder_of_temporaries());
    memory_free(pattern);
    return false;
}

/* There are few at a time. Files beyond the maximum are not removed on a signal. */
enum { MARKED_MAX = 16 };
static char *_Atomic marked[MARKED_MAX];

/* Replaces the first entry `old` by `path`. Any thread may open outputs. */
static void replace_marked(char *old, char *path) {
    for (unsigned i = 0; i < MARKED_MAX; i++) {
        char *held = old;
        if (atomic_compare_exchange_strong(&marked[i], &held, path))
            return;
    }
}

void temporary_register(char *path) {
    replace_marked(NULL, path);
}

void temporary_unregister(char *path) {
    replace_marked(path, NULL);
}

void temporary_remove_all(void) {
    for (unsigned i = 0; i < MARKED_MAX; i++) {
        const char *path = atomic_load(&marked[i]);
        if (path)
            unlink(path);
    }
}

/* Registered before it exists: a signal in between would leave it behind. mkstemp() fills in the
 * name before it creates the file. */
bool temporary_file(char **path, int *fd, struct status *status) {
    char *name = name_pattern(status);
    if (!name)
        return false;
    temporary_register(name);
    *fd = mkstemp(name);
    if (*fd < 0) {
        temporary_unregister(name);
        return refused(name, "file", status);
    }
    fcntl(*fd, F_SETFD, FD_CLOEXEC);
    *path = name;
    return true;
}

void temporary_remove(char *path) {
    if (!path)
        return;
    unlink(path);
    temporary_unregister(path);
    memory_free(path);
}

bool temporary_folder(char **path, struct status *status) {
    char *name = name_pattern(status);
    if (!name)
        return false;
    if (!mkdtemp(name))
        return refused(name, "folder", status);
    *path = name;
    return true;
}
