/* .trace bundles. Their format is not public, so Apple's xctrace exports the table of contents and
 * each table that ridge reads into a temporary folder. Without xctrace (not on a Mac with Xcode),
 * the message has the commands to run there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"
#include "import/xctrace/xctrace.h"

extern char **environ;

static bool no_xctrace(const char *bundle, struct status *status) {
    return status_fail(
        status, STATUS_UNSUPPORTED,
        "is an Instruments bundle, which only Apple's xctrace can read; on a Mac run `mkdir x; "
        "xctrace export --input %s --toc --output x/toc.xml; for t in metal-gpu-intervals "
        "metal-application-encoders-list metal-command-buffer-completed metal-driver-intervals "
        "time-profile; do xctrace export --input %s --xpath "
        "\"/trace-toc/run[1]/data/table[@schema='$t']\" --output x/$t.xml; done` and pass the "
        "folder x",
        bundle, bundle);
}

/* Runs xctrace without output. *found is false when there is no such program. */
static bool run_xctrace(char *const *arguments, bool *found, int *result, struct status *status) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return status_no_memory(status);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failure = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    *found = failure != ENOENT;
    if (failure) {
        errno = failure;
        return status_fail_errno(status, "cannot run xctrace");
    }
    int wait_status;
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            return status_fail_errno(status, "cannot wait for xctrace");
    *result = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128;
    *found = *result != 127;
    return true;
}

static bool export_one(const char *bundle, const char *xpath, const char *path,
                       struct status *status) {
    char *const whole[] = {"xctrace", "export",   "--input",    (char *)bundle,
                           "--toc",   "--output", (char *)path, NULL};
    char *const table[] = {"xctrace",      "export",     "--input",
                           (char *)bundle, "--xpath",    (char *)xpath,
                           "--output",     (char *)path, NULL};
    bool found = true;
    int result = 0;
    bool ran = run_xctrace(xpath ? table : whole, &found, &result, status);
    if (!found)
        return no_xctrace(bundle, status);
    if (ran && result != 0)
        return status_fail(status, STATUS_IO,
                           "xctrace export ended with status %d; run `xctrace export --input %s "
                           "--toc` to see why",
                           result, bundle);
    return ran;
}

static bool export_tables(const char *bundle, const char *folder, const struct xctrace_toc *toc,
                          struct status *status) {
    char path[4096], xpath[256];
    for (size_t i = 0; xctrace_kinds[i]; i++) {
        const char *schema = xctrace_kinds[i]->schema;
        if (intern_find(&toc->schemas, text_of(schema)) == UINT32_MAX)
            continue;
        snprintf(path, sizeof path, "%s/%s.xml", folder, schema);
        int run = snprintf(xpath, sizeof xpath, "/trace-toc/run[@number=\"%llu\"]/",
                           (unsigned long long)toc->run_number);
        if (xctrace_kinds[i]->xpath)
            snprintf(xpath + run, sizeof xpath - (size_t)run, "%s", xctrace_kinds[i]->xpath);
        else
            snprintf(xpath + run, sizeof xpath - (size_t)run, "data/table[@schema=\"%s\"]", schema);
        if (!export_one(bundle, xpath, path, status))
            return false;
    }
    return true;
}

static bool export_into(const char *bundle, const char *folder, struct status *status) {
    struct xctrace_toc toc = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/toc.xml", folder);
    bool ok = export_one(bundle, NULL, path, status) && xctrace_toc_read(path, &toc, status) &&
              export_tables(bundle, folder, &toc, status);
    xctrace_toc_finish(&toc);
    return ok;
}

void xctrace_bundle_remove(const char *folder) {
    DIR *directory = opendir(folder);
    char path[4096];
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (directory)
        closedir(directory);
    rmdir(folder);
}

bool xctrace_bundle_export(const char *bundle, char **folder, struct status *status) {
    if (!temporary_folder(folder, status))
        return false;
    if (export_into(bundle, *folder, status))
        return true;
    xctrace_bundle_remove(*folder);
    memory_free(*folder);
    return false;
}
