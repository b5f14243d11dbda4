/* Recorders that share a temporary folder. */
#include "base/array.h"
#include "record/spool_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test.h"

enum { RECORDERS = 8, STARTS = 150 };

/* Makes an empty folder the only place for spools. */
static bool use_folder(char path[512]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 512, "%s/ridge-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(path) && setenv("XDG_RUNTIME_DIR", path, 1) == 0;
}

static unsigned count_entries(const char *path) {
    unsigned count = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

static bool create_file(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* Starts and stops recorders one after another; the number of spools that failed or were lost. */
static int start_many(void) {
    int lost = 0;
    for (unsigned i = 0; i < STARTS; i++) {
        struct spool_folder folder = {.path = ""};
        struct status status = {0};
        char lock[600];
        if (!spool_folder_create(&folder, &status)) {
            fprintf(stderr, "%s\n", status.message);
            lost++;
            continue;
        }
        snprintf(lock, sizeof lock, "%s/lock", folder.path);
        lost += !create_file(folder.path, "1-1.head") || access(lock, F_OK) != 0;
        spool_folder_remove(&folder);
    }
    return lost;
}

TEST(recorders_that_start_together_keep_their_own_spools) {
    char place[512];
    REQUIRE(use_folder(place));
    for (unsigned i = 0; i < RECORDERS; i++)
        if (fork() == 0)
            _exit(start_many() > 0);
    for (unsigned i = 0; i < RECORDERS; i++) {
        int ended = -1;
        wait(&ended);
        CHECK_INT(ended, 0);
    }
    CHECK_INT(count_entries(place), 0);
    unsetenv("XDG_RUNTIME_DIR");
    rmdir(place);
}

/* What processes that were killed at any moment can leave: with records, without a lock yet, with
 * the lock alone, which a sweeper removes last. */
TEST(whatever_a_killed_recorder_or_sweeper_left_is_removed_by_the_next) {
    static const char *const left[][2] = {{"lock", "1-1.head"}, {NULL, NULL}, {"lock", NULL}};
    char place[512], path[600];
    struct spool_folder folder = {.path = ""};
    struct status status = {0};
    REQUIRE(use_folder(place));
    for (size_t i = 0; i < ARRAY_COUNT(left); i++) {
        snprintf(path, sizeof path, "%s/ridge-spool-left%zu", place, i);
        REQUIRE(mkdir(path, 0700) == 0);
        for (unsigned file = 0; file < 2 && left[i][file]; file++)
            REQUIRE(create_file(path, left[i][file]));
    }
    CHECK_OK(spool_folder_create(&folder, &status), status);
    CHECK_INT(count_entries(place), 1);
    spool_folder_remove(&folder);
    CHECK_INT(count_entries(place), 0);
    unsetenv("XDG_RUNTIME_DIR");
    rmdir(place);
}

TEST(a_spool_in_use_is_not_removed) {
    char place[512];
    struct spool_folder first = {.path = ""}, second = {.path = ""};
    struct status status = {0};
    REQUIRE(use_folder(place));
    CHECK_OK(spool_folder_create(&first, &status), status);
    CHECK_OK(spool_folder_create(&second, &status), status);
    CHECK_INT(count_entries(place), 2);
    CHECK_INT(count_entries(first.path), 1);
    spool_folder_remove(&first);
    spool_folder_remove(&second);
    unsetenv("XDG_RUNTIME_DIR");
    rmdir(place);
}
