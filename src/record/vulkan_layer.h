/* Makes the Vulkan loader of the recorded program load the probe as a layer. */
#ifndef RIDGE_RECORD_VULKAN_LAYER_H
#define RIDGE_RECORD_VULKAN_LAYER_H

#include "base/status.h"
#include "base/text.h"

#define VULKAN_LAYER_NAME "VK_LAYER_RIDGE_probe"

/* Writes the layer's manifest to the folder: FOLDER/ridge_vulkan.json. */
bool vulkan_layer_write_manifest(const char *folder, const char *probe, struct status *status);

/* The folders of explicit layers that a loader older than 1.3.207 searches, which does not know
 * VK_ADD_LAYER_PATH; NULL when the installed loader is not that old. */
const char *vulkan_layer_old_path(void);
/* Whether a Vulkan loader is installed, as far as its usual folders show. */
bool vulkan_layer_has_loader(void);

#endif
