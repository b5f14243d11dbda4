/* What devices are on this machine, usable or not. */
#ifndef RIDGE_DEVICE_LIST_H
#define RIDGE_DEVICE_LIST_H

#include <ridge.h>

/* As ridge_device_list(). */
size_t device_list(struct ridge_device_info *rows, size_t capacity);
/* Of one kind of device only ("cuda"): the libraries of the others are not loaded. */
size_t device_list_kind(const char *kind, struct ridge_device_info *rows, size_t capacity);

#endif
