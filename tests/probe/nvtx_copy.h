/* A minimal copy of NVTX: loads the tool in $NVTX_INJECTION64_PATH at the first call, and does
 * nothing without one. For machines without the vendor's headers.
 */
#ifndef RIDGE_TESTS_PROBE_NVTX_COPY_H
#define RIDGE_TESTS_PROBE_NVTX_COPY_H

#include <stdbool.h>

#include "abi/nvtx.h"

/* False when there is no tool, or it refuses. */
bool nvtx_begin(void);
/* Closes the tool's library, like a program that unloads a plugin. */
void nvtx_unload(void);

int push(const char *name);
int push_wide(const wchar_t *name);
int push_ex(const struct nvtx_attributes *attributes);
int pop(void);
uint64_t start(const char *name);
void end(uint64_t id);
void mark(const char *name);
void mark_ex(const struct nvtx_attributes *attributes);
void name_category(uint32_t category, const char *name);
void name_thread(uint32_t tid, const char *name);
void *domain_create(const char *name);
void domain_destroy(void *domain);
void domain_name_category(void *domain, uint32_t category, const char *name);
const void *domain_register(void *domain, const char *text);
int domain_push(void *domain, const struct nvtx_attributes *attributes);
int domain_pop(void *domain);
void domain_mark(void *domain, const struct nvtx_attributes *attributes);

#endif
