/* A hash table from handles to objects of the probe. Handles are only unique within a device and a
 * type. Each bucket has its own lock, which is held for a few instructions.
 */
#include "probe/vulkan/vulkan.h"

#include "spool/lock.h"

enum { BUCKETS = 1 << 14 };

struct object {
    struct object *next;
    const struct vulkan_device *device;
    uint64_t handle;
    void *data;
    enum vulkan_object type;
};

static struct bucket {
    _Atomic uint32_t lock;
    struct object *first;
} buckets[BUCKETS];

static struct bucket *bucket_of(const struct vulkan_device *device, enum vulkan_object type,
                                uint64_t handle) {
    uint64_t hash =
        (handle ^ (uint64_t)type << 56 ^ (uint64_t)(uintptr_t)device << 20) * 0x9E3779B97F4A7C15u;
    return &buckets[hash >> 50];
}

static bool is_it(const struct object *object, const struct vulkan_device *device,
                  enum vulkan_object type, uint64_t handle) {
    return object->handle == handle && object->type == type && object->device == device;
}

void *vulkan_object_set(const struct vulkan_device *device, enum vulkan_object type,
                        uint64_t handle, void *data, bool *added) {
    struct bucket *bucket = bucket_of(device, type, handle);
    struct object *made = vulkan_allocate(sizeof *made);
    *added = made && lock_acquire(&bucket->lock);
    if (!*added) {
        vulkan_free(made);
        return NULL;
    }
    struct object *object = bucket->first;
    while (object && !is_it(object, device, type, handle))
        object = object->next;
    void *before = object ? object->data : NULL;
    if (object) {
        object->data = data;
    } else {
        *made = (struct object){bucket->first, device, handle, data, type};
        bucket->first = made;
    }
    lock_release(&bucket->lock);
    if (object)
        vulkan_free(made);
    return before;
}

void *vulkan_object_find(const struct vulkan_device *device, enum vulkan_object type,
                         uint64_t handle) {
    struct bucket *bucket = bucket_of(device, type, handle);
    if (!lock_acquire(&bucket->lock))
        return NULL;
    const struct object *object = bucket->first;
    while (object && !is_it(object, device, type, handle))
        object = object->next;
    void *data = object ? object->data : NULL;
    lock_release(&bucket->lock);
    return data;
}

void *vulkan_object_take(const struct vulkan_device *device, enum vulkan_object type,
                         uint64_t handle) {
    struct bucket *bucket = bucket_of(device, type, handle);
    if (!lock_acquire(&bucket->lock))
        return NULL;
    struct object **link = &bucket->first;
    while (*link && !is_it(*link, device, type, handle))
        link = &(*link)->next;
    struct object *object = *link;
    if (object)
        *link = object->next;
    lock_release(&bucket->lock);
    void *data = object ? object->data : NULL;
    vulkan_free(object);
    return data;
}

static struct object *take_from(struct bucket *bucket, const struct vulkan_device *device) {
    if (!lock_acquire(&bucket->lock))
        return NULL;
    struct object **link = &bucket->first;
    while (*link && (*link)->device != device)
        link = &(*link)->next;
    struct object *object = *link;
    if (object)
        *link = object->next;
    lock_release(&bucket->lock);
    return object;
}

void vulkan_objects_forget(const struct vulkan_device *device) {
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct object *object; (object = take_from(&buckets[i], device));) {
            if (object->data)
                vulkan_object_release(object->type, object->data);
            vulkan_free(object);
        }
}
