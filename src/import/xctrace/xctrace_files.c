/* The files of an export: which of them are tables, which one is the table of contents?
 *
 * File names are chosen by users, so files are classified by content. Names inside a .trace bundle
 * are fixed. */
#include "import/xctrace/xctrace_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/input.h"
#include "base/memory.h"
#include "import/xctrace/xctrace.h"

enum { HEAD_BYTES = 4096, FILES_MAX = 10000 };

static struct text from(struct text text, ptrdiff_t at) {
    return (struct text){text.data + at, text.length - (size_t)at};
}

/* The value of the name attribute of the first <schema>. */
static struct text schema_name(struct text head) {
    ptrdiff_t at = text_find(head, "<schema ");
    if (at < 0)
        return TEXT("");
    head = from(head, at);
    at = text_find(head, "name=");
    if (at < 0 || head.length < (size_t)at + sizeof "name=")
        return TEXT("");
    head = from(head, at + (ptrdiff_t)strlen("name="));
    const char *end = memchr(head.data + 1, head.data[0], head.length - 1);
    if (!end)
        return TEXT("");
    return (struct text){head.data + 1, (size_t)(end - head.data - 1)};
}

/* The kind of a file by its beginning; *schema points into `head`, or is "". */
enum xctrace_file_kind xctrace_file_kind(struct text head, struct text *schema) {
    *schema = TEXT("");
    if (head.length == 0)
        return XCTRACE_EMPTY;
    if (text_starts(head, "version https://git-lfs"))
        return XCTRACE_LFS_POINTER;
    while (head.length && (strchr("\xEF\xBB\xBF \t\r\n", head.data[0]) && head.data[0]))
        head = from(head, 1);
    if (!text_starts(head, "<"))
        return XCTRACE_OTHER;
    struct text beginning = {head.data, head.length < 1024 ? head.length : 1024};
    if (text_find(beginning, "<trace-toc") >= 0)
        return XCTRACE_TOC;
    if (text_find(beginning, "<trace-query-result") < 0)
        return XCTRACE_OTHER;
    *schema = schema_name(head);
    return XCTRACE_TABLE;
}

static unsigned rank_of(struct text schema) {
#ifdef RIDGE_HAVE_EXPAT
    unsigned rank;
    xctrace_kind_of(schema, &rank);
    return rank;
#else
    (void)schema;
    return 0;
#endif
}

bool xctrace_file_inspect(struct xctrace_file *file, struct status *status) {
    struct input input;
    struct status why = {0};
    struct text schema;
    if (!input_open(&input, file->path, &why)) {
        if (why.code == STATUS_MEMORY)
            *status = why;
        return why.code != STATUS_MEMORY;
    }
    while (!input.at_end && input.length < HEAD_BYTES)
        if (!input_more(&input, 1 << 20, &why))
            break;
    if (why.code == STATUS_MEMORY || why.code == STATUS_IO) {
        *status = why;
        input_close(&input);
        return false;
    }
    file->kind = xctrace_file_kind((struct text){input.data, input.length}, &schema);
    file->rank = rank_of(schema);
    input_close(&input);
    return true;
}

static bool ends_in_xml(const char *name) {
    size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, ".xml") == 0;
}

static bool is_bundle_entry(const char *name) {
    return strcmp(name, "form.template") == 0 || strcmp(name, "instrument_data") == 0 ||
           strcmp(name, "corespace") == 0 || strcmp(name, "Trace1.run") == 0;
}

static bool add_file(struct xctrace_files *files, const char *folder, const char *name,
                     struct status *status) {
    struct stat info;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || stat(path, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return true;
    if (!GROW(files->files, &files->capacity, files->count + 1, status))
        return false;
    struct xctrace_file *file = &files->files[files->count];
    *file = (struct xctrace_file){.path = text_copy(text_of(path), status)};
    if (!file->path)
        return false;
    if (!xctrace_file_inspect(file, status)) {
        memory_free(file->path);
        return status_context(status, "%s", name);
    }
    bool stands_for_xml = file->kind == XCTRACE_LFS_POINTER || file->kind == XCTRACE_EMPTY;
    if (file->kind == XCTRACE_OTHER || (stands_for_xml && !ends_in_xml(name)))
        memory_free(file->path);
    else
        files->count++;
    return true;
}

static int by_reading_order(const void *left, const void *right) {
    const struct xctrace_file *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->path, b->path);
}

bool xctrace_files_list(const char *folder, struct xctrace_files *files, struct status *status) {
    DIR *directory = opendir(folder);
    if (!directory)
        return status_fail_errno(status, "cannot read the folder %s", folder);
    bool ok = true;
    unsigned seen = 0;
    for (struct dirent *entry; ok && seen < FILES_MAX && (entry = readdir(directory)); seen++) {
        if (is_bundle_entry(entry->d_name))
            files->is_bundle = true;
        if (entry->d_name[0] != '.')
            ok = add_file(files, folder, entry->d_name, status);
    }
    closedir(directory);
    if (files->count)
        qsort(files->files, files->count, sizeof *files->files, by_reading_order);
    return ok;
}

void xctrace_files_finish(struct xctrace_files *files) {
    for (size_t i = 0; i < files->count; i++)
        memory_free(files->files[i].path);
    memory_free(files->files);
}
