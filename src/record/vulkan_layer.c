/* The loader reads a manifest, a JSON file, for each layer. It searches the folders in
 * VK_ADD_LAYER_PATH, and loads the layers in VK_INSTANCE_LAYERS. An older loader only knows
 * VK_LAYER_PATH, which replaces the usual folders. The version of the loader is in the name of the
 * file that libvulkan.so.1 is a link to.
 */
#include "record/vulkan_layer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json_write.h"

enum { ADD_LAYER_PATH_SINCE = 1003207 }; /* 1.3.207 */

static const char *const loaders[] = {
    "/usr/lib/x86_64-linux-gnu/libvulkan.so.1",
    "/usr/lib/aarch64-linux-gnu/libvulkan.so.1",
    "/usr/lib64/libvulkan.so.1",
    "/usr/lib/libvulkan.so.1",
    "/usr/local/lib/libvulkan.so.1",
};

/* 1003239 for libvulkan.so.1.3.239; 0: unknown. */
static unsigned version_in(const char *file) {
    const char *number = strstr(file, ".so.");
    unsigned major, minor, patch;
    if (!number || sscanf(number, ".so.%u.%u.%u", &major, &minor, &patch) != 3 || minor > 999 ||
        patch > 999 || major > 999)
        return 0;
    return major * 1000000 + minor * 1000 + patch;
}

bool vulkan_layer_has_loader(void) {
    for (size_t i = 0; i < ARRAY_COUNT(loaders); i++)
        if (access(loaders[i], R_OK) == 0)
            return true;
    return false;
}

const char *vulkan_layer_old_path(void) {
    char path[PATH_MAX];
    for (size_t i = 0; i < ARRAY_COUNT(loaders); i++) {
        unsigned version = realpath(loaders[i], path) ? version_in(path) : 0;
        if (version)
            return version < ADD_LAYER_PATH_SINCE ? "/etc/vulkan/explicit_layer.d:"
                                                    "/usr/local/share/vulkan/explicit_layer.d:"
                                                    "/usr/share/vulkan/explicit_layer.d"
                                                  : NULL;
    }
    return NULL;
}

static void write_layer(struct json *json, const char *probe) {
    json_begin_object(json);
    json_member_text(json, "file_format_version", TEXT("1.1.2"));
    json_key(json, "layer");
    json_begin_object(json);
    json_member_text(json, "name", TEXT(VULKAN_LAYER_NAME));
    json_member_text(json, "type", TEXT("GLOBAL"));
    json_member_text(json, "library_path", text_of(probe));
    json_member_text(json, "api_version", TEXT("1.3.0"));
    json_member_text(json, "implementation_version", TEXT("1"));
    json_member_text(json, "description", TEXT("records Vulkan for ridge"));
    json_end_object(json);
    json_end_object(json);
}

bool vulkan_layer_write_manifest(const char *folder, const char *probe, struct status *status) {
    char path[PATH_MAX];
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    write_layer(&json, probe);
    snprintf(path, sizeof path, "%s/ridge_vulkan.json", folder);
    FILE *file = buffer_ok(&text, status) ? fopen(path, "wx") : NULL;
    bool ok = file && fwrite(text.data, 1, text.length, file) == text.length;
    if (file && fclose(file) != 0)
        ok = false;
    if (!ok && !text.failed)
        status_fail_errno(status, "cannot write %s", path);
    buffer_finish(&text);
    return ok;
}
