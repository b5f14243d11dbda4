/* Lists the traces of a folder: each rank of a job writes its own file there. */
#include "cmd/trace_files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_report(const char *name) {
    static const char *const endings[] = {".html", ".htm", ".md", ".txt", ".csv", ".log", ".part"};
    size_t length = strlen(name);
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool add_path(struct trace_files *files, struct text path, struct status *status) {
    if (!GROW(files->paths, &files->capacity, files->count + 1, status))
        return false;
    char *copy = text_copy(path, status);
    if (copy)
        files->paths[files->count++] = copy;
    return copy != NULL;
}

/* rank2 comes before rank10. */
static int by_name(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    while (*x && *y) {
        size_t of_x = strspn(x, "0123456789"), of_y = strspn(y, "0123456789");
        if (of_x && of_y && of_x < 18 && of_y < 18) {
            long long left = atoll(x), right = atoll(y);
            if (left != right)
                return left < right ? -1 : 1;
            x += of_x;
            y += of_y;
        } else if (*x != *y) {
            return *x < *y ? -1 : 1;
        } else {
            x++;
            y++;
        }
    }
    return *x ? 1 : *y ? -1 : 0;
}

static bool add_folder(struct trace_files *files, const char *path, struct status *status) {
    size_t first = files->count;
    struct buffer name = {0};
    DIR *folder = opendir(path);
    if (!folder)
        return status_fail_errno(status, "cannot open %s", path);
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(folder));) {
        buffer_clear(&name);
        buffer_printf(&name, "%s/%s", path, entry->d_name);
        buffer_byte(&name, 0);
        if (!(ok = buffer_ok(&name, status)))
            break;
        if (entry->d_name[0] != '.' && !is_report(entry->d_name) && !is_folder(name.data))
            ok = add_path(files, (struct text){name.data, name.length - 1}, status);
    }
    closedir(folder);
    buffer_finish(&name);
    if (ok && files->count == first)
        return status_fail(status, STATUS_INPUT, "%s: there is no trace in this folder", path);
    if (ok)
        qsort(files->paths + first, files->count - first, sizeof *files->paths, by_name);
    return ok;
}

bool trace_files_find(const char *const *arguments, unsigned count, struct trace_files *files,
                      struct status *status) {
    for (unsigned i = 0; i < count; i++)
        if (!(is_folder(arguments[i]) ? add_folder(files, arguments[i], status)
                                      : add_path(files, text_of(arguments[i]), status)))
            return false;
    return true;
}

void trace_files_finish(struct trace_files *files) {
    for (size_t i = 0; i < files->count; i++)
        memory_free(files->paths[i]);
    memory_free(files->paths);
    *files = (struct trace_files){0};
}
