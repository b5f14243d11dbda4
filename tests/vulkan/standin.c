/* A Vulkan loader and driver in one, for machines without Vulkan and for what lavapipe lacks: two
 * compute queues, a transfer queue, timestamps of 36 bits that wrap around soon after the start,
 * and failures. Installed as libvulkan.so.1.
 *
 * Commands are executed by vkQueueSubmit(). What a real device would hang on or leave undefined
 * ends the process with a message: a query that is copied before it is written, written before it
 * is reset, or reset on a transfer queue.
 *
 *   STANDIN=WORDS        calibrated   the device has VK_EXT_calibrated_timestamps
 *                        slowclock    it reads one clock 200 us after the other, and claims that
 *                                     they are a tick apart
 *                        reordered    the results of every second submission appear 10 ms after
 *                                     those of the next
 *   STANDIN_FAIL=N       the probe's Nth request for an object or memory fails
 *   STANDIN_LOST=N       the device is lost at the program's Nth submission
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/vulkan_functions.h"

#define LAYER "VK_LAYER_RIDGE_probe"
enum {
    VALID_BITS = 36,
    TICK_NS = 10,
    TRANSFER_FAMILY = 1,
    OUT_OF_MEMORY = -1,
    EXTENSION_NOT_PRESENT = -7,
    WORK_NS = 3000
};
#define MASK (((uint64_t)1 << VALID_BITS) - 1)
#define WRAPS_AFTER_NS 3000000

struct object {
    void *key; /* the loader's word */
};
static struct object the_instance = {&the_instance}, the_physical = {&the_instance};

struct queue {
    struct object head;
    uint32_t family;
};
struct device {
    struct object head;
    struct queue queues[3];
    bool calibrated;
};
struct query_pool {
    uint32_t count;
    struct query {
        bool reset, written;
        uint64_t ticks;
    } queries[];
};
struct buffer {
    uint64_t bytes;
    uint8_t *memory;
};
struct command {
    enum { RESET, TIMESTAMP, RESULTS, FILL, COPY, DISPATCH, EXECUTE } kind;
    struct query_pool *pool;
    uint32_t first, count, value;
    struct buffer *from, *to;
    uint64_t offset, bytes;
    struct commands *child;
};
struct command_pool {
    uint32_t family;
    bool of_probe;
};
struct commands {
    struct object head;
    uint32_t family;
    bool of_probe;
    struct command *list;
    size_t count, capacity;
};

static void die(const char *why) {
    fprintf(stderr, "stand-in: %s\n", why);
    abort();
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool has(const char *word) {
    const char *words = getenv("STANDIN");
    return words && strstr(words, word);
}

static void pause_ns(long ns) {
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static int64_t started;

static uint64_t ticks_at(int64_t ns) {
    uint64_t first = MASK - WRAPS_AFTER_NS / TICK_NS;
    return (first + (uint64_t)(ns - started) / TICK_NS) & MASK;
}

/* Whether a request fails; those of the program never do. The probe forwards these, so its own are
 * recognized by what they ask for. */
static bool fails(bool is_of_probe) {
    static int requests;
    const char *number = getenv("STANDIN_FAIL");
    return number && is_of_probe && ++requests == atoi(number);
}
/* Once the device is lost, everything that waits for it fails. */
static bool is_lost;
static vk_result after_submission(void) {
    return is_lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}
static bool creating_device, has_submitted;
enum { PROGRAM_QUERIES = 2, PROGRAM_POOL = 2, PROGRAM_MEMORY = 4096 };

static uint64_t handle(const void *object) {
    return (uint64_t)(uintptr_t)object;
}
static void *pointer(uint64_t handle) {
    return (void *)(uintptr_t)handle;
}

static vk_result create(vk_handle *made, size_t bytes, bool failing) {
    void *object = failing ? NULL : calloc(1, bytes);
    *made = handle(object);
    return object ? VK_SUCCESS : OUT_OF_MEMORY;
}

/* ---- Objects ----------------------------------------------------------------------------- */

static vk_result s_vkCreateQueryPool(vk_device device, const struct vk_query_pool_create_info *info,
                                     const void *allocator, vk_handle *made) {
    (void)device, (void)allocator;
    size_t bytes = sizeof(struct query_pool) + info->queryCount * sizeof(struct query);
    vk_result result = create(made, bytes, fails(info->queryCount != PROGRAM_QUERIES));
    if (result == VK_SUCCESS)
        ((struct query_pool *)pointer(*made))->count = info->queryCount;
    return result;
}
static vk_result s_vkCreateBuffer(vk_device device, const struct vk_buffer_create_info *info,
                                  const void *allocator, vk_handle *made) {
    (void)device, (void)allocator;
    vk_result result = create(made, sizeof(struct buffer), fails(info->size != PROGRAM_MEMORY));
    if (result == VK_SUCCESS)
        ((struct buffer *)pointer(*made))->bytes = info->size;
    return result;
}
static vk_result s_vkAllocateMemory(vk_device device, const struct vk_memory_allocate_info *info,
                                    const void *allocator, vk_handle *made) {
    (void)device, (void)allocator;
    return create(made, info->allocationSize, fails(info->allocationSize != PROGRAM_MEMORY));
}
static vk_result s_vkBindBufferMemory(vk_device device, vk_handle buffer, vk_handle memory,
                                      uint64_t offset) {
    (void)device;
    ((struct buffer *)pointer(buffer))->memory = (uint8_t *)pointer(memory) + offset;
    return VK_SUCCESS;
}
static vk_result s_vkMapMemory(vk_device device, vk_handle memory, uint64_t offset, uint64_t size,
                               vk_flags flags, void **data) {
    (void)device, (void)size, (void)flags;
    *data = (uint8_t *)pointer(memory) + offset;
    return fails(has_submitted) ? OUT_OF_MEMORY : VK_SUCCESS;
}
static void s_vkGetBufferMemoryRequirements(vk_device device, vk_handle buffer,
                                            struct vk_memory_requirements *needs) {
    (void)device;
    *needs = (struct vk_memory_requirements){((struct buffer *)pointer(buffer))->bytes, 64, 3};
}
static vk_result s_vkCreateFence(vk_device device, const struct vk_fence_create_info *info,
                                 const void *allocator, vk_handle *made) {
    (void)device, (void)allocator, (void)info;
    return create(made, 8, fails(creating_device || has_submitted));
}
static vk_result s_vkCreateCommandPool(vk_device device,
                                       const struct vk_command_pool_create_info *info,
                                       const void *allocator, vk_handle *made) {
    (void)device, (void)allocator;
    bool of_probe = info->flags != PROGRAM_POOL;
    vk_result result = create(made, sizeof(struct command_pool), fails(of_probe));
    if (result == VK_SUCCESS)
        *(struct command_pool *)pointer(*made) =
            (struct command_pool){info->queueFamilyIndex, of_probe};
    return result;
}
static vk_result s_vkCreateShaderModule(vk_device device,
                                        const struct vk_shader_module_create_info *info,
                                        const void *allocator, vk_handle *made) {
    (void)device, (void)allocator, (void)info;
    return create(made, 8, false);
}
static vk_result s_vkCreateComputePipelines(vk_device device, vk_handle cache, uint32_t count,
                                            const struct vk_compute_pipeline_create_info *infos,
                                            const void *allocator, vk_handle *made) {
    (void)device, (void)cache, (void)infos, (void)allocator;
    for (uint32_t i = 0; i < count; i++)
        create(&made[i], 8, false);
    return VK_SUCCESS;
}
static vk_result s_vkCreatePipelineLayout(vk_device device, const void *info, const void *allocator,
                                          vk_handle *made) {
    (void)device, (void)info, (void)allocator;
    return create(made, 8, false);
}
static vk_result s_vkCreateSemaphore(vk_device device, const void *info, const void *allocator,
                                     vk_handle *made) {
    (void)device, (void)info, (void)allocator;
    return create(made, 8, false);
}
static void s_destroy(vk_device device, vk_handle object, const void *allocator) {
    (void)device, (void)allocator;
    free(pointer(object));
}
static vk_result s_vkAllocateCommandBuffers(vk_device device,
                                            const struct vk_command_buffer_allocate_info *info,
                                            vk_command_buffer *made) {
    const struct command_pool *pool = pointer(info->commandPool);
    if (fails(pool->of_probe))
        return OUT_OF_MEMORY;
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        struct commands *commands = calloc(1, sizeof *commands);
        commands->head.key = ((struct device *)device)->head.key;
        commands->family = pool->family;
        commands->of_probe = pool->of_probe;
        made[i] = (vk_command_buffer)commands;
    }
    return VK_SUCCESS;
}
static void s_vkFreeCommandBuffers(vk_device device, vk_handle pool, uint32_t count,
                                   const vk_command_buffer *buffers) {
    (void)device, (void)pool;
    for (uint32_t i = 0; i < count; i++) {
        free(((struct commands *)buffers[i])->list);
        free(buffers[i]);
    }
}

/* ---- Commands ---------------------------------------------------------------------------- */

static void add(vk_command_buffer buffer, struct command command) {
    struct commands *commands = (struct commands *)buffer;
    if (commands->count == commands->capacity) {
        commands->capacity = commands->capacity ? 2 * commands->capacity : 64;
        commands->list = realloc(commands->list, commands->capacity * sizeof *commands->list);
    }
    commands->list[commands->count++] = command;
}
static vk_result s_vkBeginCommandBuffer(vk_command_buffer buffer,
                                        const struct vk_command_buffer_begin_info *info) {
    (void)info;
    ((struct commands *)buffer)->count = 0;
    return fails(((struct commands *)buffer)->of_probe) ? OUT_OF_MEMORY : VK_SUCCESS;
}
static vk_result s_vkEndCommandBuffer(vk_command_buffer buffer) {
    return fails(((struct commands *)buffer)->of_probe) ? OUT_OF_MEMORY : VK_SUCCESS;
}
static void s_vkCmdResetQueryPool(vk_command_buffer buffer, vk_handle pool, uint32_t first,
                                  uint32_t count) {
    if (((struct commands *)buffer)->family == TRANSFER_FAMILY)
        die("queries are reset on a transfer queue");
    add(buffer,
        (struct command){.kind = RESET, .pool = pointer(pool), .first = first, .count = count});
}
static void s_vkCmdWriteTimestamp(vk_command_buffer buffer, vk_flags stage, vk_handle pool,
                                  uint32_t query) {
    (void)stage;
    add(buffer, (struct command){.kind = TIMESTAMP, .pool = pointer(pool), .first = query});
}
static void s_vkCmdCopyQueryPoolResults(vk_command_buffer buffer, vk_handle pool, uint32_t first,
                                        uint32_t count, vk_handle to, uint64_t offset,
                                        uint64_t stride, vk_flags flags) {
    (void)stride, (void)flags;
    add(buffer, (struct command){.kind = RESULTS,
                                 .pool = pointer(pool),
                                 .first = first,
                                 .count = count,
                                 .to = pointer(to),
                                 .offset = offset});
}
static void s_vkCmdFillBuffer(vk_command_buffer buffer, vk_handle to, uint64_t offset,
                              uint64_t bytes, uint32_t value) {
    struct buffer *filled = pointer(to);
    add(buffer, (struct command){.kind = FILL,
                                 .to = filled,
                                 .offset = offset,
                                 .bytes = bytes == VULKAN_WHOLE_SIZE ? filled->bytes : bytes,
                                 .value = value});
}
static void s_vkCmdCopyBuffer(vk_command_buffer buffer, vk_handle from, vk_handle to,
                              uint32_t count, const struct vk_buffer_copy *regions) {
    for (uint32_t i = 0; i < count; i++)
        add(buffer,
            (struct command){
                .kind = COPY, .from = pointer(from), .to = pointer(to), .bytes = regions[i].size});
}
static void s_vkCmdDispatch(vk_command_buffer buffer, uint32_t x, uint32_t y, uint32_t z) {
    (void)x, (void)y, (void)z;
    add(buffer, (struct command){.kind = DISPATCH});
}
static void s_vkCmdExecuteCommands(vk_command_buffer buffer, uint32_t count,
                                   const vk_command_buffer *children) {
    for (uint32_t i = 0; i < count; i++)
        add(buffer, (struct command){.kind = EXECUTE, .child = (struct commands *)children[i]});
}
static void s_vkCmdBindPipeline(vk_command_buffer buffer, int32_t point, vk_handle pipeline) {
    (void)buffer, (void)point, (void)pipeline;
}
static void s_vkCmdPipelineBarrier(vk_command_buffer buffer, vk_flags source, vk_flags destination,
                                   vk_flags flags, uint32_t memory_count,
                                   const struct vk_memory_barrier *memory, uint32_t buffer_count,
                                   const void *buffers, uint32_t image_count, const void *images) {
    (void)buffer, (void)source, (void)destination, (void)flags, (void)memory_count, (void)memory;
    (void)buffer_count, (void)buffers, (void)image_count, (void)images;
}

/* ---- Execution --------------------------------------------------------------------------- */

static void write_timestamp(struct query *query) {
    if (!query->reset || query->written)
        die("a query is written without a reset");
    query->written = true;
    query->ticks = ticks_at(now_ns());
}

/* Results of the probe that appear later. */
static struct store {
    void *to;
    uint64_t value;
    size_t bytes;
} stores[4096];
static size_t store_count;
static bool is_delayed;

static void store(void *to, uint64_t value, size_t bytes) {
    if (is_delayed && store_count == sizeof stores / sizeof *stores)
        die("too many results are delayed");
    if (is_delayed)
        stores[store_count++] = (struct store){to, value, bytes};
    else if (bytes == sizeof(uint64_t))
        __atomic_store_n((uint64_t *)to, value, __ATOMIC_RELAXED);
    else
        __atomic_store_n((uint32_t *)to, (uint32_t)value, __ATOMIC_RELEASE);
}

static void store_delayed(void) {
    is_delayed = false;
    for (size_t i = 0; i < store_count; i++)
        store(stores[i].to, stores[i].value, stores[i].bytes);
    store_count = 0;
}

static void copy_results(const struct command *command) {
    for (uint32_t i = 0; i < command->count; i++) {
        const struct query *query = &command->pool->queries[command->first + i];
        if (!query->written)
            die("a query is awaited that is never written");
        uint8_t *to = command->to->memory + command->offset + i * sizeof query->ticks;
        store(to, query->ticks, sizeof query->ticks);
    }
}

static void execute(const struct commands *commands) {
    for (size_t i = 0; i < commands->count; i++) {
        const struct command *command = &commands->list[i];
        int64_t until = now_ns() + WORK_NS;
        switch (command->kind) {
        case RESET:
            for (uint32_t k = 0; k < command->count; k++)
                command->pool->queries[command->first + k] = (struct query){.reset = true};
            break;
        case TIMESTAMP:
            write_timestamp(&command->pool->queries[command->first]);
            break;
        case RESULTS:
            copy_results(command);
            break;
        case FILL:
            for (uint64_t k = 0; k + 4 <= command->bytes; k += 4)
                store(command->to->memory + command->offset + k, command->value, 4);
            break;
        case COPY:
            memcpy(command->to->memory, command->from->memory, command->bytes);
            break;
        case DISPATCH:
            while (now_ns() < until)
                continue;
            break;
        case EXECUTE:
            execute(command->child);
            break;
        }
    }
}

static void execute_probe(const struct commands *commands) {
    static unsigned submissions;
    bool is_second = submissions++ % 2;
    is_delayed = !is_second;
    execute(commands);
    if (is_second) {
        pause_ns(10000000);
        store_delayed();
    }
    is_delayed = false;
}

static bool loses_device(void) {
    static int submissions;
    const char *number = getenv("STANDIN_LOST");
    return number && ++submissions == atoi(number);
}

static vk_result s_vkQueueSubmit(vk_queue queue, uint32_t count,
                                 const struct vk_submit_info *submits, vk_handle fence) {
    (void)fence;
    if (fails(count == 0 || creating_device))
        return OUT_OF_MEMORY;
    has_submitted = true;
    is_lost |= count > 0 && !creating_device && loses_device();
    for (uint32_t i = 0; i < count && !is_lost; i++)
        for (uint32_t k = 0; k < submits[i].commandBufferCount; k++) {
            const struct commands *commands = (struct commands *)submits[i].pCommandBuffers[k];
            if (commands->head.key != ((struct queue *)queue)->head.key)
                die("a command buffer without the loader's word");
            if (commands->family != ((struct queue *)queue)->family)
                die("a command buffer of another family");
            if (commands->of_probe && !creating_device && has("reordered"))
                execute_probe(commands);
            else
                execute(commands);
        }
    return after_submission();
}
static vk_result s_vkQueueWaitIdle(vk_queue queue) {
    (void)queue;
    store_delayed();
    return after_submission();
}
static vk_result s_vkDeviceWaitIdle(vk_device device) {
    (void)device;
    store_delayed();
    return after_submission();
}
static vk_result s_vkWaitForFences(vk_device device, uint32_t count, const vk_handle *fences,
                                   uint32_t all, uint64_t timeout) {
    (void)device, (void)count, (void)fences, (void)all, (void)timeout;
    store_delayed();
    return after_submission();
}
static vk_result s_vkResetFences(vk_device device, uint32_t count, const vk_handle *fences) {
    (void)device, (void)count, (void)fences;
    return VK_SUCCESS;
}
static vk_result s_vkGetFenceStatus(vk_device device, vk_handle fence) {
    (void)device, (void)fence;
    return after_submission();
}
static vk_result s_vkGetQueryPoolResults(vk_device device, vk_handle pool, uint32_t first,
                                         uint32_t count, size_t bytes, void *data, uint64_t stride,
                                         vk_flags flags) {
    (void)device, (void)bytes, (void)flags;
    for (uint32_t i = 0; i < count; i++)
        memcpy((uint8_t *)data + i * stride,
               &((struct query_pool *)pointer(pool))->queries[first + i].ticks, 8);
    return VK_SUCCESS;
}
static vk_result s_vkGetCalibratedTimestampsEXT(vk_device device, uint32_t count,
                                                const struct vk_calibrated_timestamp_info *infos,
                                                uint64_t *times, uint64_t *deviation) {
    static unsigned readings;
    int64_t now = now_ns(), later = now;
    bool device_is_late = readings++ % 2;
    (void)device;
    if (has("slowclock")) {
        pause_ns(200000);
        later = now_ns();
    }
    for (uint32_t i = 0; i < count; i++)
        times[i] = infos[i].timeDomain == VK_TIME_DOMAIN_DEVICE_EXT
                       ? ticks_at(device_is_late ? later : now)
                       : (uint64_t)(device_is_late ? now : later);
    *deviation = TICK_NS;
    return VK_SUCCESS;
}

/* ---- Devices ----------------------------------------------------------------------------- */

static void s_vkGetPhysicalDeviceProperties(vk_physical_device physical,
                                            struct vk_physical_device_properties *properties) {
    (void)physical;
    memset(properties, 0, sizeof *properties);
    properties->apiVersion = 1u << 22;
    properties->vendorID = 0x1002;
    properties->timestampPeriod = TICK_NS;
    strcpy(properties->deviceName, "Stand-in");
}
static void s_vkGetPhysicalDeviceQueueFamilyProperties(vk_physical_device physical, uint32_t *count,
                                                       struct vk_queue_family_properties *list) {
    (void)physical;
    if (list && *count >= 2) {
        list[0] = (struct vk_queue_family_properties){6, 2, VALID_BITS, {1, 1, 1}};
        list[1] = (struct vk_queue_family_properties){4, 1, VALID_BITS, {1, 1, 1}};
    }
    *count = 2;
}
static void
s_vkGetPhysicalDeviceMemoryProperties(vk_physical_device physical,
                                      struct vk_physical_device_memory_properties *memory) {
    (void)physical;
    *memory = (struct vk_physical_device_memory_properties){
        .memoryTypeCount = 2,
        .memoryTypes = {{1, 0}, {6, 1}},
        .memoryHeapCount = 2,
        .memoryHeaps = {{(uint64_t)1 << 33, 1}, {(uint64_t)1 << 34, 0}}};
}
static vk_result s_vkEnumerateDeviceExtensionProperties(vk_physical_device physical,
                                                        const char *layer, uint32_t *count,
                                                        struct vk_extension_properties *list) {
    (void)physical, (void)layer;
    if (list && *count && has("calibrated"))
        strcpy(list[0].extensionName, "VK_EXT_calibrated_timestamps");
    *count = has("calibrated");
    return VK_SUCCESS;
}
static vk_result s_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(vk_physical_device physical,
                                                                  uint32_t *count, int32_t *list) {
    (void)physical;
    if (list && *count >= 2)
        list[0] = 0, list[1] = 1;
    *count = 2;
    return VK_SUCCESS;
}
static vk_result s_vkEnumeratePhysicalDevices(vk_instance instance, uint32_t *count,
                                              vk_physical_device *list) {
    (void)instance;
    if (list && *count)
        list[0] = (vk_physical_device)&the_physical;
    *count = 1;
    return VK_SUCCESS;
}
static void s_vkGetDeviceQueue(vk_device device, uint32_t family, uint32_t number,
                               vk_queue *queue) {
    *queue = (vk_queue) & ((struct device *)device)->queues[family == TRANSFER_FAMILY ? 2 : number];
}
static vk_result s_vkCreateDevice(vk_physical_device physical,
                                  const struct vk_device_create_info *info, const void *allocator,
                                  vk_device *made) {
    struct device *device = calloc(1, sizeof *device);
    (void)physical, (void)allocator;
    if (info->enabledExtensionCount > 0 && !has("calibrated"))
        return EXTENSION_NOT_PRESENT;
    device->head.key = device;
    for (unsigned i = 0; i < 3; i++)
        device->queues[i] = (struct queue){{device}, i == 2 ? TRANSFER_FAMILY : 0};
    *made = (vk_device)device;
    return VK_SUCCESS;
}
static void s_vkDestroyDevice(vk_device device, const void *allocator) {
    (void)allocator;
    free(device);
}
static void s_vkDestroyInstance(vk_instance instance, const void *allocator) {
    (void)instance, (void)allocator;
}

/* ---- Functions by name, and the loader ----------------------------------------------------- */

#define NAMED(name)                                                                                \
    { #name, (vk_function *)s_##name }
static const struct {
    const char *name;
    vk_function *function;
} functions[] = {
    NAMED(vkCreateQueryPool),
    NAMED(vkCreateBuffer),
    NAMED(vkAllocateMemory),
    NAMED(vkBindBufferMemory),
    NAMED(vkMapMemory),
    NAMED(vkGetBufferMemoryRequirements),
    NAMED(vkCreateFence),
    NAMED(vkCreateCommandPool),
    NAMED(vkCreateShaderModule),
    NAMED(vkCreateComputePipelines),
    NAMED(vkCreatePipelineLayout),
    NAMED(vkCreateSemaphore),
    {"vkDestroyQueryPool", (vk_function *)s_destroy},
    {"vkDestroyBuffer", (vk_function *)s_destroy},
    {"vkFreeMemory", (vk_function *)s_destroy},
    {"vkDestroyFence", (vk_function *)s_destroy},
    {"vkDestroyCommandPool", (vk_function *)s_destroy},
    {"vkDestroyShaderModule", (vk_function *)s_destroy},
    {"vkDestroyPipeline", (vk_function *)s_destroy},
    {"vkDestroyPipelineLayout", (vk_function *)s_destroy},
    {"vkDestroySemaphore", (vk_function *)s_destroy},
    NAMED(vkAllocateCommandBuffers),
    NAMED(vkFreeCommandBuffers),
    NAMED(vkBeginCommandBuffer),
    NAMED(vkEndCommandBuffer),
    NAMED(vkCmdResetQueryPool),
    NAMED(vkCmdWriteTimestamp),
    NAMED(vkCmdCopyQueryPoolResults),
    NAMED(vkCmdFillBuffer),
    NAMED(vkCmdCopyBuffer),
    NAMED(vkCmdDispatch),
    NAMED(vkCmdExecuteCommands),
    NAMED(vkCmdBindPipeline),
    NAMED(vkCmdPipelineBarrier),
    NAMED(vkQueueSubmit),
    NAMED(vkQueueWaitIdle),
    NAMED(vkDeviceWaitIdle),
    NAMED(vkWaitForFences),
    NAMED(vkResetFences),
    NAMED(vkGetFenceStatus),
    NAMED(vkGetQueryPoolResults),
    NAMED(vkGetCalibratedTimestampsEXT),
    NAMED(vkGetPhysicalDeviceProperties),
    NAMED(vkGetPhysicalDeviceQueueFamilyProperties),
    NAMED(vkGetPhysicalDeviceMemoryProperties),
    NAMED(vkEnumerateDeviceExtensionProperties),
    NAMED(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT),
    NAMED(vkEnumeratePhysicalDevices),
    NAMED(vkGetDeviceQueue),
    NAMED(vkCreateDevice),
    NAMED(vkDestroyDevice),
    NAMED(vkDestroyInstance),
};

static vk_function *driver_function(const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    return NULL;
}

static vk_result create_instance(const struct vk_instance_create_info *info, const void *allocator,
                                 vk_instance *made) {
    (void)allocator;
    if (info->enabledExtensionCount > 0)
        return EXTENSION_NOT_PRESENT;
    *made = (vk_instance)&the_instance;
    return VK_SUCCESS;
}
static vk_function *driver_device(vk_device device, const char *name) {
    (void)device;
    return driver_function(name);
}
static vk_function *driver_instance(vk_instance instance, const char *name) {
    (void)instance;
    if (strcmp(name, "vkCreateInstance") == 0)
        return (vk_function *)create_instance;
    return strcmp(name, "vkGetDeviceProcAddr") == 0 ? (vk_function *)driver_device
                                                    : driver_function(name);
}

static vk_get_instance_function *layer_instance;
static vk_get_device_function *layer_device;

static vk_result set_loader_data(vk_device device, void *object) {
    ((struct object *)object)->key = ((struct device *)device)->head.key;
    return VK_SUCCESS;
}

/* The library in the manifest that is in the last folder of the path. */
static bool load_layer(void) {
    const char *layers = getenv("VK_INSTANCE_LAYERS"), *path = getenv("VK_ADD_LAYER_PATH");
    char file[4096], text[8192] = "";
    if (!path)
        path = getenv("VK_LAYER_PATH");
    if (!layers || !strstr(layers, LAYER) || !path)
        return false;
    const char *last = strrchr(path, ':');
    snprintf(file, sizeof file, "%s/ridge_vulkan.json", last ? last + 1 : path);
    FILE *manifest = fopen(file, "r");
    if (!manifest || fread(text, 1, sizeof text - 1, manifest) == 0)
        return false;
    fclose(manifest);
    char *library = strstr(text, "\"library_path\":\"");
    if (!library)
        die("the manifest has no library");
    library += strlen("\"library_path\":\"");
    *strchr(library, '"') = 0;
    void *loaded = dlopen(library, RTLD_NOW);
    vk_result (*negotiate)(struct vk_negotiate_layer_interface *) =
        loaded ? (__typeof__(negotiate))dlsym(loaded, "vkNegotiateLoaderLayerInterfaceVersion")
               : NULL;
    struct vk_negotiate_layer_interface interface = {.sType = 1, .loaderLayerInterfaceVersion = 2};
    if (!negotiate || negotiate(&interface) != VK_SUCCESS)
        die("the layer cannot be loaded");
    layer_instance = interface.pfnGetInstanceProcAddr;
    layer_device = interface.pfnGetDeviceProcAddr;
    return true;
}

static vk_result loader_create_instance(const struct vk_instance_create_info *info,
                                        const void *allocator, vk_instance *made) {
    struct vk_layer_instance_link link = {NULL, driver_instance, NULL};
    struct vk_layer_instance_create_info layer = {
        .sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, .u.pLayerInfo = &link};
    struct vk_instance_create_info linked = *info;
    started = started ? started : now_ns();
    if (!load_layer())
        return create_instance(info, allocator, made);
    linked.pNext = &layer;
    vk_result (*next)(const struct vk_instance_create_info *, const void *, vk_instance *) =
        (__typeof__(next))layer_instance(NULL, "vkCreateInstance");
    return next(&linked, allocator, made);
}

static vk_result loader_create_device(vk_physical_device physical,
                                      const struct vk_device_create_info *info,
                                      const void *allocator, vk_device *made) {
    struct vk_layer_device_link link = {NULL, driver_instance, driver_device};
    struct vk_layer_device_create_info callback = {.sType =
                                                       VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
                                                   .function = VULKAN_LOADER_DATA_CALLBACK,
                                                   .u.pfnSetDeviceLoaderData = set_loader_data};
    struct vk_layer_device_create_info layer = {.sType =
                                                    VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
                                                .pNext = &callback,
                                                .u.pLayerInfo = &link};
    struct vk_device_create_info linked = *info;
    if (!layer_instance)
        return s_vkCreateDevice(physical, info, allocator, made);
    linked.pNext = &layer;
    vk_result (*next)(vk_physical_device, const struct vk_device_create_info *, const void *,
                      vk_device *) =
        (__typeof__(next))layer_instance((vk_instance)&the_instance, "vkCreateDevice");
    creating_device = true;
    vk_result result = next(physical, &linked, allocator, made);
    creating_device = has_submitted = false;
    return result;
}

static vk_function *loader_device(vk_device device, const char *name) {
    return layer_device ? layer_device(device, name) : driver_function(name);
}

__attribute__((visibility("default"))) vk_function *vkGetInstanceProcAddr(vk_instance instance,
                                                                          const char *name);
vk_function *vkGetInstanceProcAddr(vk_instance instance, const char *name) {
    if (strcmp(name, "vkCreateInstance") == 0)
        return (vk_function *)loader_create_instance;
    if (strcmp(name, "vkCreateDevice") == 0)
        return (vk_function *)loader_create_device;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (vk_function *)loader_device;
    return layer_instance ? layer_instance(instance, name) : driver_instance(instance, name);
}
