/* .trace bundles. Their format is not public, so Apple's xctrace exports the table of contents and
 * each table that ridge reads into a temporary folder. Without xctrace (not on a Mac with Xcode),
 * the message has the commands to run there. */
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/program.h"
#include "base/temporary.h"
#include "import/xctrace/xctrace.h"

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

/* Exports the table of contents, or what the XPath selects. *result is the exit status. */
static bool export_one(const char *bundle, const char *xpath, const char *path, int *result,
                       struct status *status) {
    const char *const whole[] = {"xctrace", "export",   "--input", bundle,
                                 "--toc",   "--output", path,      NULL};
    const char *const table[] = {"xctrace", "export",   "--input", bundle, "--xpath",
                                 xpath,     "--output", path,      NULL};
    bool found = true;
    bool ran = program_run(xpath ? table : whole, &found, result, status);
    return found ? ran : no_xctrace(bundle, status);
}

static bool fail_export(const char *bundle, int result, struct status *status) {
    return status_fail(status, STATUS_IO,
                       "xctrace export ended with status %d; run `xctrace export --input %s --toc` "
                       "to see why",
                       result, bundle);
}

static bool is_whole(const char *path) {
    static const char closing[] = "</trace-query-result>";
    char last[64] = "";
    FILE *file = fopen(path, "re");
    bool found = file && fseek(file, -(long)(sizeof last - 1), SEEK_END) == 0 &&
                 fread(last, 1, sizeof last - 1, file) > 0 && strstr(last, closing);
    if (file)
        fclose(file);
    return found;
}

/* xctrace 27.1 writes some tables whole and then crashes. Otherwise a table that it fails to export
 * is missing; without GPU intervals there is no trace. */
static bool handle_failure(struct xctrace *import, const char *bundle, const char *schema,
                           const char *path, int result, struct status *status) {
    struct buffer warning = {0};
    if (result == 0 || is_whole(path))
        return true;
    if (strcmp(schema, xctrace_gpu_intervals.schema) == 0)
        return fail_export(bundle, result, status);
    unlink(path);
    buffer_printf(&warning, "xctrace could not export %s (status %d)", schema, result);
    trace_writer_meta_of(import->writer, META_WARNING, &warning);
    buffer_finish(&warning);
    return true;
}

static void show_progress(const struct xctrace *import, const char *schema, size_t number,
                          size_t count) {
    char what[200];
    if (!import->options->progress)
        return;
    snprintf(what, sizeof what, "exporting %s, %zu of %zu", schema, number, count);
    import->options->progress(import->options->progress_context, what);
}

static void write_xpath(const struct xctrace_toc *toc, const struct xctrace_kind *kind, char *xpath,
                        size_t capacity) {
    int run = snprintf(xpath, capacity, "/trace-toc/run[@number=\"%llu\"]/",
                       (unsigned long long)toc->run_number);
    if (kind->xpath)
        snprintf(xpath + run, capacity - (size_t)run, "%s", kind->xpath);
    else
        snprintf(xpath + run, capacity - (size_t)run, "data/table[@schema=\"%s\"]", kind->schema);
}

static bool is_listed(const struct xctrace_toc *toc, size_t kind) {
    return intern_find(&toc->schemas, text_of(xctrace_kinds[kind]->schema)) != UINT32_MAX;
}

static bool export_tables(struct xctrace *import, const char *bundle, const char *folder,
                          const struct xctrace_toc *toc, struct status *status) {
    char path[4096], xpath[256];
    size_t count = 0, number = 0;
    for (size_t i = 0; xctrace_kinds[i]; i++)
        count += is_listed(toc, i);
    for (size_t i = 0; xctrace_kinds[i]; i++) {
        const char *schema = xctrace_kinds[i]->schema;
        int result = 0;
        if (!is_listed(toc, i))
            continue;
        show_progress(import, schema, ++number, count);
        snprintf(path, sizeof path, "%s/%s.xml", folder, schema);
        write_xpath(toc, xctrace_kinds[i], xpath, sizeof xpath);
        if (!export_one(bundle, xpath, path, &result, status) ||
            !handle_failure(import, bundle, schema, path, result, status))
            return false;
    }
    return true;
}

static bool export_into(struct xctrace *import, const char *bundle, const char *folder,
                        struct status *status) {
    struct xctrace_toc toc = {0};
    char path[4096];
    int result = 0;
    snprintf(path, sizeof path, "%s/toc.xml", folder);
    bool ok = export_one(bundle, NULL, path, &result, status) &&
              (result == 0 || fail_export(bundle, result, status)) &&
              xctrace_toc_read(path, &toc, status) &&
              export_tables(import, bundle, folder, &toc, status);
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

bool xctrace_bundle_export(struct xctrace *import, const char *bundle, char **folder,
                           struct status *status) {
    if (!temporary_folder(folder, status))
        return false;
    if (export_into(import, bundle, *folder, status))
        return true;
    xctrace_bundle_remove(*folder);
    memory_free(*folder);
    return false;
}
