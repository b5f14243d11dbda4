/* Compiled kernels on disk, so that the second run of a program compiles nothing.
 *
 * The key of a payload (a binary of the driver) is every byte that the compilation depended on:
 * source, options, versions. The cache never makes a program fail: a file that cannot be read
 * is compiled again, one that cannot be written is not cached.
 *
 * The folder is $RIDGE_CACHE, else $XDG_CACHE_HOME/ridge, else ~/.cache/ridge (macOS:
 * ~/Library/Caches/ridge). RIDGE_CACHE="" or "off" disables the cache. Binaries run with the
 * user's rights, so a folder that another user owns or can write to is not used.
 */
#ifndef RIDGE_DEVICE_CACHE_H
#define RIDGE_DEVICE_CACHE_H

#include "base/status.h"
#include "base/text.h"

/* Appends the payload stored under this key; false if there is none. */
bool cache_load(const void *key, size_t key_length, struct buffer *payload);
/* Stores a payload, replacing an older one of the same key. */
void cache_store(const void *key, size_t key_length, const void *payload, size_t length);

/* The cache folder, created if necessary, as a terminated string; fails with the reason if it
 * cannot be used. */
bool cache_folder(struct buffer *path, struct status *status);

#endif
