/* Compiled kernels on disk, so that the second run of a program compiles nothing.
 *
 * A payload (a binary of the driver's) is found again by the key that it was stored under: every
 * byte that the compilation depended on, source and versions and all. Nothing here can fail a
 * program: what cannot be read is compiled again, what cannot be written is not kept.
 *
 * The folder is $RIDGE_CACHE, else $XDG_CACHE_HOME/ridge, else ~/.cache/ridge (macOS:
 * ~/Library/Caches/ridge). RIDGE_CACHE="" or "off" keeps nothing. Binaries run with the user's
 * rights, so a folder that someone else owns or may write to is not used.
 */
#ifndef RIDGE_DEVICE_CACHE_H
#define RIDGE_DEVICE_CACHE_H

#include "base/status.h"
#include "base/text.h"

/* Appends the payload that was stored under this very key; false when there is none. */
bool cache_load(const void *key, size_t key_length, struct buffer *payload);
/* Replaces what was stored under the key. */
void cache_store(const void *key, size_t key_length, const void *payload, size_t length);

/* The folder, created if need be and ready to use, as a terminated text; or why there is none. */
bool cache_folder(struct buffer *path, struct status *status);

#endif
