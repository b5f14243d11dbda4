/* Kernels by specification: a hash map whose entries keep the whole key. */
#include "tensor/kernels.h"

#include <string.h>

#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "device/work.h"

struct entry {
    struct device_kernel *kernel;
    size_t key_length;
    unsigned char *key;
    struct entry *next; /* with the same hash */
};

struct kernel_store {
    struct map entries;
    struct arena arena;
};

struct kernel_store *kernel_store_create(struct status *status) {
    return memory_allocate(1, sizeof(struct kernel_store), status);
}

void kernel_store_destroy(struct kernel_store *store) {
    if (!store)
        return;
    map_finish(&store->entries);
    arena_finish(&store->arena);
    memory_free(store);
}

/* The key of a library product: its fields, preceded by a family that no specification has. */
static size_t library_key(const struct device_matmul *matmul, unsigned char *key) {
    int64_t fields[] = {KERNEL_FAMILIES,   matmul->ab_type, matmul->d_type,  matmul->m,
                        matmul->n,         matmul->k,       matmul->batch,   matmul->a_row,
                        matmul->a_column,  matmul->a_batch, matmul->b_row,   matmul->b_column,
                        matmul->b_batch,   matmul->d_row,   matmul->d_batch, matmul->bias,
                        matmul->activation};
    memcpy(key, fields, sizeof fields);
    return sizeof fields;
}

static bool kernels_load(ridge_device *device, const struct kernel_request *request,
                         struct device_kernel **kernel, struct status *status) {
    if (request->library) {
        char name[120];
        kernel_name(&request->spec, name, sizeof name);
        struct kernel_code code = {.kind = CODE_MATMUL, .name = name, .matmul = request->matmul};
        return work_load(device->device, device->recorder, &code, kernel, status);
    }
    struct kernel_generated generated;
    if (!kernel_generate(&request->spec, &device->device->capabilities, &generated, status))
        return false;
    bool loaded = work_load(device->device, device->recorder, &generated.code, kernel, status);
    kernel_generated_finish(&generated);
    return loaded;
}

bool kernel_store_get(ridge_device *device, const struct kernel_request *request,
                      struct device_kernel **kernel, struct status *status) {
    struct kernel_store *store = device->kernels;
    unsigned char key[sizeof(struct kernel_spec)];
    size_t length = request->library ? library_key(&request->matmul, key)
                                     : kernel_spec_key(&request->spec, key, sizeof key);
    uint64_t hash = checksum64(key, length);
    uint64_t *found = map_find(&store->entries, hash);
    struct entry *first = found ? (struct entry *)(uintptr_t)*found : NULL;
    for (struct entry *entry = first; entry; entry = entry->next)
        if (entry->key_length == length && memcmp(entry->key, key, length) == 0) {
            *kernel = entry->kernel;
            return true;
        }
    struct entry *entry = arena_allocate(&store->arena, sizeof *entry, status);
    unsigned char *kept = entry ? arena_allocate(&store->arena, length, status) : NULL;
    if (!kept)
        return false;
    memcpy(kept, key, length);
    *entry = (struct entry){.key_length = length, .key = kept, .next = first};
    if (!kernels_load(device, request, &entry->kernel, status))
        return false;
    if (!map_set(&store->entries, hash, (uint64_t)(uintptr_t)entry, status)) {
        device->device->ops->unload(device->device, entry->kernel);
        return false;
    }
    *kernel = entry->kernel;
    return true;
}
