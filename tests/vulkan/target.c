/* Vulkan programs that count their own commands: target SCENARIO [COUNT].
 *
 * Each prints "count WHAT NUMBER" for what it submitted, and "ok" or "wrong" for the contents of
 * its buffers. Ends with 77 and the reason where Vulkan is not available, or a scenario is not.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/vulkan_functions.h"

enum { FAMILIES = 16, WORDS = 1024, QUEUES = 4, PER_BUFFER = 10 };

static struct vulkan_instance_functions vi;
static vk_instance instance;
static bool has_labels;
static unsigned long dispatches, copies, fills;

/* Functions and structures that the probe does not need. */
struct pipeline_layout_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t setLayoutCount;
    const void *pSetLayouts;
    uint32_t pushConstantRangeCount;
    const void *pPushConstantRanges;
};
struct semaphore_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
};
static vk_result (*create_layout)(vk_device, const struct pipeline_layout_info *, const void *,
                                  vk_handle *);
static void (*destroy_layout)(vk_device, vk_handle, const void *);
static vk_result (*create_semaphore)(vk_device, const struct semaphore_info *, const void *,
                                     vk_handle *);

struct gpu {
    vk_device device;
    struct vulkan_device_functions vk;
    uint32_t families[QUEUES];
    vk_queue queues[QUEUES];
    uint32_t queue_count;
    vk_handle pools[QUEUES];
    vk_handle layout, modules[2], pipelines[2];
    vk_handle buffers[2], memory[2];
    uint32_t *mapped;
    vk_handle fence;
};

static void stop(int status, const char *why) {
    printf("%s\n", why);
    fflush(stdout);
    exit(status);
}

static void must(vk_result result, const char *what) {
    if (result != VK_SUCCESS) {
        printf("%s returned %d\n", what, result);
        fflush(stdout);
        exit(1);
    }
}
#define MUST(call) must(call, #call)

/* An empty shader with the workgroup size 8, 4, 2 and this entry point of four letters. */
static void make_shader(struct gpu *gpu, const char *entry, vk_handle *module,
                        vk_handle *pipeline) {
    uint32_t code[] = {0x07230203, 0x00010000, 0,          5,          0, 0x00020011, 1,
                       0x0003000E, 0,          1,          0x0005000F, 5, 1,          0,
                       0,          0x00060010, 1,          17,         8, 4,          2,
                       0x00020013, 2,          0x00030021, 3,          2, 0x00050036, 2,
                       1,          0,          3,          0x000200F8, 4, 0x000100FD, 0x00010038};
    memcpy(&code[13], entry, 4);
    struct vk_shader_module_create_info info = {.sType =
                                                    VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                .codeSize = sizeof code,
                                                .pCode = code};
    MUST(gpu->vk.vkCreateShaderModule(gpu->device, &info, NULL, module));
    struct vk_compute_pipeline_create_info compute = {
        .sType = 29,
        .stage = {.sType = 18,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = *module,
                  .pName = entry},
        .layout = gpu->layout};
    MUST(gpu->vk.vkCreateComputePipelines(gpu->device, 0, 1, &compute, NULL, pipeline));
}

static void make_buffer(struct gpu *gpu, vk_physical_device physical, unsigned which) {
    struct vk_physical_device_memory_properties types;
    struct vk_memory_requirements needs;
    struct vk_buffer_create_info info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                         .size = WORDS * sizeof(uint32_t),
                                         .usage = 3};
    MUST(gpu->vk.vkCreateBuffer(gpu->device, &info, NULL, &gpu->buffers[which]));
    gpu->vk.vkGetBufferMemoryRequirements(gpu->device, gpu->buffers[which], &needs);
    vi.vkGetPhysicalDeviceMemoryProperties(physical, &types);
    struct vk_memory_allocate_info memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                             .allocationSize = needs.size};
    for (uint32_t i = 0; i < types.memoryTypeCount; i++)
        if (needs.memoryTypeBits >> i & 1 && (types.memoryTypes[i].propertyFlags & 6) == 6)
            memory.memoryTypeIndex = i;
    MUST(gpu->vk.vkAllocateMemory(gpu->device, &memory, NULL, &gpu->memory[which]));
    MUST(gpu->vk.vkBindBufferMemory(gpu->device, gpu->buffers[which], gpu->memory[which], 0));
    if (which == 1)
        MUST(gpu->vk.vkMapMemory(gpu->device, gpu->memory[which], 0, VULKAN_WHOLE_SIZE, 0,
                                 (void **)&gpu->mapped));
}

static void load_device(struct gpu *gpu, vk_get_device_function *get) {
#define LOAD(name, alias, result, parameters)                                                      \
    gpu->vk.name = (result(*) parameters)get(gpu->device, #name);
    VULKAN_DEVICE_FUNCTIONS(LOAD)
    create_layout = (__typeof__(create_layout))get(gpu->device, "vkCreatePipelineLayout");
    destroy_layout = (__typeof__(destroy_layout))get(gpu->device, "vkDestroyPipelineLayout");
    create_semaphore = (__typeof__(create_semaphore))get(gpu->device, "vkCreateSemaphore");
}

static vk_get_instance_function *get_instance;

static vk_physical_device first_physical(void) {
    vk_result (*list)(vk_instance, uint32_t *, vk_physical_device *);
    vk_physical_device physical = NULL;
    uint32_t count = 1;
    list = (__typeof__(list))get_instance(instance, "vkEnumeratePhysicalDevices");
    if (list(instance, &count, &physical) < 0 || count == 0)
        stop(77, "no Vulkan device");
    return physical;
}

/* All queues of all families, up to QUEUES; with compute first. */
static void open_gpu(struct gpu *gpu) {
    vk_physical_device physical = first_physical();
    struct vk_queue_family_properties families[FAMILIES];
    struct vk_device_queue_create_info queues[FAMILIES];
    uint32_t count = FAMILIES;
    const float priorities[QUEUES] = {1, 1, 1, 1};
    vi.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = 0; i < count; i++)
        queues[i] = (struct vk_device_queue_create_info){
            .sType = 2,
            .queueFamilyIndex = i,
            .queueCount = families[i].queueCount < 2 ? families[i].queueCount : 2,
            .pQueuePriorities = priorities};
    struct vk_device_create_info info = {
        .sType = 3, .queueCreateInfoCount = count, .pQueueCreateInfos = queues};
    vk_result (*create)(vk_physical_device, const struct vk_device_create_info *, const void *,
                        vk_device *);
    create = (__typeof__(create))get_instance(instance, "vkCreateDevice");
    MUST(create(physical, &info, NULL, &gpu->device));
    load_device(gpu, (vk_get_device_function *)get_instance(instance, "vkGetDeviceProcAddr"));
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < queues[i].queueCount && gpu->queue_count < QUEUES; k++)
                if (((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) == (pass == 0)) {
                    gpu->families[gpu->queue_count] = i;
                    gpu->vk.vkGetDeviceQueue(gpu->device, i, k, &gpu->queues[gpu->queue_count++]);
                }
    for (uint32_t i = 0; i < gpu->queue_count; i++)
        MUST(gpu->vk.vkCreateCommandPool(gpu->device,
                                         &(struct vk_command_pool_create_info){
                                             .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                             .flags = 2,
                                             .queueFamilyIndex = gpu->families[i]},
                                         NULL, &gpu->pools[i]));
    MUST(create_layout(gpu->device, &(struct pipeline_layout_info){.sType = 30}, NULL,
                       &gpu->layout));
    make_shader(gpu, "work", &gpu->modules[0], &gpu->pipelines[0]);
    make_shader(gpu, "main", &gpu->modules[1], &gpu->pipelines[1]);
    make_buffer(gpu, physical, 0);
    make_buffer(gpu, physical, 1);
    MUST(gpu->vk.vkCreateFence(
        gpu->device, &(struct vk_fence_create_info){.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO},
        NULL, &gpu->fence));
}

static void close_gpu(struct gpu *gpu) {
    MUST(gpu->vk.vkDeviceWaitIdle(gpu->device));
    gpu->vk.vkDestroyFence(gpu->device, gpu->fence, NULL);
    for (unsigned i = 0; i < 2; i++) {
        gpu->vk.vkDestroyBuffer(gpu->device, gpu->buffers[i], NULL);
        gpu->vk.vkFreeMemory(gpu->device, gpu->memory[i], NULL);
        gpu->vk.vkDestroyPipeline(gpu->device, gpu->pipelines[i], NULL);
        gpu->vk.vkDestroyShaderModule(gpu->device, gpu->modules[i], NULL);
    }
    destroy_layout(gpu->device, gpu->layout, NULL);
    for (uint32_t i = 0; i < gpu->queue_count; i++)
        gpu->vk.vkDestroyCommandPool(gpu->device, gpu->pools[i], NULL);
    gpu->vk.vkDestroyDevice(gpu->device, NULL);
}

/* ---- Commands ---------------------------------------------------------------------------- */

static vk_command_buffer new_buffer(struct gpu *gpu, unsigned queue, bool secondary) {
    vk_command_buffer buffer;
    struct vk_command_buffer_allocate_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = gpu->pools[queue],
        .level = secondary,
        .commandBufferCount = 1};
    MUST(gpu->vk.vkAllocateCommandBuffers(gpu->device, &info, &buffer));
    return buffer;
}

struct inheritance {
    int32_t sType;
    const void *pNext;
    vk_handle renderPass;
    uint32_t subpass;
    vk_handle framebuffer;
    uint32_t occlusionQueryEnable;
    vk_flags queryFlags, pipelineStatistics;
};

static void begin(struct gpu *gpu, vk_command_buffer buffer, vk_flags flags) {
    struct inheritance none = {.sType = 41};
    struct vk_command_buffer_begin_info info = {.sType =
                                                    VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                                .flags = flags,
                                                .pInheritanceInfo = &none};
    MUST(gpu->vk.vkBeginCommandBuffer(buffer, &info));
}

static void barrier(struct gpu *gpu, vk_command_buffer buffer) {
    struct vk_memory_barrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = 0x8000,
                                    .dstAccessMask = 0x8000};
    gpu->vk.vkCmdPipelineBarrier(buffer, 0x10000, 0x10000, 0, 1, &all, 0, NULL, 0, NULL);
}

/* Commands in groups of `together` without a barrier. */
static void add_dispatches(struct gpu *gpu, vk_command_buffer buffer, unsigned count,
                           unsigned together, unsigned pipeline) {
    gpu->vk.vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, gpu->pipelines[pipeline]);
    for (unsigned i = 0; i < count; i++) {
        gpu->vk.vkCmdDispatch(buffer, 3, 2, 1);
        if ((i + 1) % together == 0)
            barrier(gpu, buffer);
    }
}

static void add_copy(struct gpu *gpu, vk_command_buffer buffer, uint32_t value) {
    struct vk_buffer_copy whole = {.size = WORDS * sizeof(uint32_t)};
    gpu->vk.vkCmdFillBuffer(buffer, gpu->buffers[0], 0, VULKAN_WHOLE_SIZE, value);
    barrier(gpu, buffer);
    gpu->vk.vkCmdCopyBuffer(buffer, gpu->buffers[0], gpu->buffers[1], 1, &whole);
    barrier(gpu, buffer);
}

static void end(struct gpu *gpu, vk_command_buffer buffer) {
    MUST(gpu->vk.vkEndCommandBuffer(buffer));
}

static void submit(struct gpu *gpu, unsigned queue, const vk_command_buffer *buffers,
                   uint32_t count, vk_handle fence) {
    struct vk_submit_info info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                  .commandBufferCount = count,
                                  .pCommandBuffers = buffers};
    MUST(gpu->vk.vkQueueSubmit(gpu->queues[queue], 1, &info, fence));
}

static void wait_fence(struct gpu *gpu) {
    MUST(gpu->vk.vkWaitForFences(gpu->device, 1, &gpu->fence, 1, UINT64_MAX));
    MUST(gpu->vk.vkResetFences(gpu->device, 1, &gpu->fence));
}

static void run(struct gpu *gpu, vk_command_buffer buffer) {
    submit(gpu, 0, &buffer, 1, gpu->fence);
    wait_fence(gpu);
}

static void check_contents(const struct gpu *gpu, uint32_t value) {
    for (unsigned i = 0; i < WORDS; i++)
        if (gpu->mapped[i] != value) {
            printf("wrong\n");
            return;
        }
}

/* ---- Scenarios --------------------------------------------------------------------------- */

static void steps(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffer = new_buffer(gpu, 0, false);
    for (unsigned i = 0; i < count; i++) {
        begin(gpu, buffer, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        add_dispatches(gpu, buffer, PER_BUFFER, 1, i % 2);
        add_copy(gpu, buffer, i + 1);
        end(gpu, buffer);
        run(gpu, buffer);
        check_contents(gpu, i + 1);
    }
    dispatches += (unsigned long)count * PER_BUFFER;
    copies += count;
    fills += count;
}

/* One command buffer, recorded once. */
static void again(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffer = new_buffer(gpu, 0, false);
    begin(gpu, buffer, 0);
    add_dispatches(gpu, buffer, PER_BUFFER, 1, 0);
    add_copy(gpu, buffer, 7);
    end(gpu, buffer);
    for (unsigned i = 0; i < count; i++) {
        memset(gpu->mapped, 0, WORDS * sizeof *gpu->mapped);
        run(gpu, buffer);
        check_contents(gpu, 7);
    }
    dispatches += (unsigned long)count * PER_BUFFER;
    copies += count;
    fills += count;
}

/* Without waiting in between, in one call of vkQueueSubmit each. */
static void many(struct gpu *gpu, unsigned count) {
    vk_command_buffer *buffers = calloc(count, sizeof *buffers);
    for (unsigned i = 0; i < count; i++) {
        buffers[i] = new_buffer(gpu, 0, false);
        begin(gpu, buffers[i], 0);
        add_dispatches(gpu, buffers[i], PER_BUFFER, 1, 0);
        end(gpu, buffers[i]);
    }
    for (unsigned i = 0; i < count; i++)
        submit(gpu, 0, &buffers[i], 1, 0);
    MUST(gpu->vk.vkQueueWaitIdle(gpu->queues[0]));
    submit(gpu, 0, buffers, count, gpu->fence);
    wait_fence(gpu);
    gpu->vk.vkFreeCommandBuffers(gpu->device, gpu->pools[0], count, buffers);
    free(buffers);
    dispatches += 2ul * count * PER_BUFFER;
}

/* `count` dispatches in one command buffer, no two separated by a barrier. */
static void grouped(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffer = new_buffer(gpu, 0, false);
    for (unsigned i = 0; i < count; i++) {
        begin(gpu, buffer, 0);
        add_dispatches(gpu, buffer, 2, 3, 0);
        add_dispatches(gpu, buffer, 1, 1, 1);
        add_dispatches(gpu, buffer, 3, 3, 0);
        end(gpu, buffer);
        run(gpu, buffer);
    }
    dispatches += count * 6ul;
}

static void large(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffer = new_buffer(gpu, 0, false);
    begin(gpu, buffer, 0);
    add_dispatches(gpu, buffer, count, 1, 0);
    end(gpu, buffer);
    run(gpu, buffer);
    dispatches += count;
}

static void secondary(struct gpu *gpu, unsigned count, vk_flags flags) {
    vk_command_buffer primary = new_buffer(gpu, 0, false), children[2];
    for (unsigned i = 0; i < 2; i++) {
        children[i] = new_buffer(gpu, 0, true);
        begin(gpu, children[i], flags);
        add_dispatches(gpu, children[i], 2 + i, 1, i);
        end(gpu, children[i]);
    }
    begin(gpu, primary, 0);
    add_dispatches(gpu, primary, 1, 1, 0);
    gpu->vk.vkCmdExecuteCommands(primary, 2, children);
    add_dispatches(gpu, primary, 1, 1, 0);
    end(gpu, primary);
    for (unsigned i = 0; i < count; i++)
        run(gpu, primary);
    dispatches += count * 7ul;
}

static void simultaneous(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffer = new_buffer(gpu, 0, false);
    begin(gpu, buffer, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    add_dispatches(gpu, buffer, PER_BUFFER, 1, 0);
    end(gpu, buffer);
    for (unsigned i = 0; i < count; i++)
        submit(gpu, 0, &buffer, 1, 0);
    MUST(gpu->vk.vkQueueWaitIdle(gpu->queues[0]));
    dispatches += (unsigned long)count * PER_BUFFER;
}

/* All queues in turn, each after the one before. */
static void queues(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffers[QUEUES];
    vk_handle semaphores[QUEUES];
    const vk_flags everything = 0x10000;
    unsigned timed = 0;
    if (gpu->queue_count < 2)
        stop(77, "one queue only");
    for (uint32_t i = 0; i < gpu->queue_count; i++) {
        MUST(create_semaphore(gpu->device, &(struct semaphore_info){.sType = 9}, NULL,
                              &semaphores[i]));
        buffers[i] = new_buffer(gpu, i, false);
        begin(gpu, buffers[i], 0);
        if (gpu->families[i] == gpu->families[0]) {
            add_dispatches(gpu, buffers[i], PER_BUFFER, 1, 0);
            timed++;
        } else {
            add_copy(gpu, buffers[i], i);
        }
        end(gpu, buffers[i]);
    }
    for (unsigned k = 0; k < count; k++)
        for (uint32_t i = 0; i < gpu->queue_count; i++) {
            bool last = i + 1 == gpu->queue_count;
            struct vk_submit_info info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                          .waitSemaphoreCount = i > 0,
                                          .pWaitSemaphores = i > 0 ? &semaphores[i - 1] : NULL,
                                          .pWaitDstStageMask = &everything,
                                          .commandBufferCount = 1,
                                          .pCommandBuffers = &buffers[i],
                                          .signalSemaphoreCount = !last,
                                          .pSignalSemaphores = &semaphores[i]};
            MUST(gpu->vk.vkQueueSubmit(gpu->queues[i], 1, &info, last ? gpu->fence : 0));
            if (last)
                wait_fence(gpu);
        }
    for (uint32_t i = 0; i < gpu->queue_count; i++)
        gpu->vk.vkDestroySemaphore(gpu->device, semaphores[i], NULL);
    dispatches += (unsigned long)timed * count * PER_BUFFER;
    printf("count queues %u\n", gpu->queue_count);
}

static void two_devices(unsigned count) {
    struct gpu first = {0}, second = {0};
    open_gpu(&first);
    open_gpu(&second);
    steps(&first, count);
    again(&second, count);
    close_gpu(&first);
    steps(&second, count);
    close_gpu(&second);
}

static void labels(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffer = new_buffer(gpu, 0, false);
    struct vk_debug_utils_label layer = {.sType = 1000128002, .pLabelName = "layer 0"},
                                part = {.sType = 1000128002, .pLabelName = "attention"};
    struct vk_debug_utils_object_name_info name = {.sType = 1000128000,
                                                   .objectType = VK_OBJECT_TYPE_PIPELINE,
                                                   .objectHandle = gpu->pipelines[1],
                                                   .pObjectName = "softmax"};
    if (!has_labels || !gpu->vk.vkCmdBeginDebugUtilsLabelEXT)
        stop(77, "VK_EXT_debug_utils is missing");
    MUST(gpu->vk.vkSetDebugUtilsObjectNameEXT(gpu->device, &name));
    for (unsigned i = 0; i < count; i++) {
        begin(gpu, buffer, 0);
        gpu->vk.vkCmdBeginDebugUtilsLabelEXT(buffer, &layer);
        gpu->vk.vkCmdBeginDebugUtilsLabelEXT(buffer, &part);
        add_dispatches(gpu, buffer, 2, 4, 1);
        gpu->vk.vkCmdEndDebugUtilsLabelEXT(buffer);
        add_dispatches(gpu, buffer, 2, 1, 0);
        gpu->vk.vkCmdEndDebugUtilsLabelEXT(buffer);
        end(gpu, buffer);
        gpu->vk.vkQueueBeginDebugUtilsLabelEXT(gpu->queues[0], &layer);
        run(gpu, buffer);
        gpu->vk.vkQueueEndDebugUtilsLabelEXT(gpu->queues[0]);
    }
    dispatches += count * 4ul;
}

/* The program's own timestamps are its own. */
static void own_queries(struct gpu *gpu, unsigned count) {
    vk_command_buffer buffer = new_buffer(gpu, 0, false);
    vk_handle pool;
    struct vk_query_pool_create_info info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                             .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                             .queryCount = 2};
    MUST(gpu->vk.vkCreateQueryPool(gpu->device, &info, NULL, &pool));
    for (unsigned i = 0; i < count; i++) {
        uint64_t times[2] = {0, 0};
        begin(gpu, buffer, 0);
        gpu->vk.vkCmdResetQueryPool(buffer, pool, 0, 2);
        gpu->vk.vkCmdWriteTimestamp(buffer, 1, pool, 0);
        add_dispatches(gpu, buffer, PER_BUFFER, 1, 0);
        gpu->vk.vkCmdWriteTimestamp(buffer, 0x2000, pool, 1);
        end(gpu, buffer);
        run(gpu, buffer);
        MUST(gpu->vk.vkGetQueryPoolResults(gpu->device, pool, 0, 2, sizeof times, times, 8, 3));
        if (times[0] == 0 || times[1] < times[0])
            printf("wrong\n");
    }
    gpu->vk.vkDestroyQueryPool(gpu->device, pool, NULL);
    dispatches += (unsigned long)count * PER_BUFFER;
}

static void *run_thread(void *count) {
    struct gpu gpu = {0};
    open_gpu(&gpu);
    again(&gpu, *(unsigned *)count);
    close_gpu(&gpu);
    return NULL;
}

static void threads(unsigned count) {
    pthread_t list[4];
    static unsigned shared;
    shared = count;
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&list[i], NULL, run_thread, &shared);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(list[i], NULL);
    /* the counters are not atomic */
    dispatches = 4ul * count * PER_BUFFER;
    copies = fills = 4ul * count;
}

/* The microseconds of a submission of PER_BUFFER dispatches, with a barrier after every `group`. */
static double time_submissions(struct gpu *gpu, unsigned count, unsigned group) {
    clockid_t clock = getenv("CPU_TIME") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    enum { IN_FLIGHT = 8 };
    vk_command_buffer buffers[IN_FLIGHT];
    vk_handle fences[IN_FLIGHT];
    struct timespec from, to;
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        buffers[i] = new_buffer(gpu, 0, false);
        MUST(gpu->vk.vkCreateFence(gpu->device,
                                   &(struct vk_fence_create_info){
                                       .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = 1},
                                   NULL, &fences[i]));
    }
    clock_gettime(clock, &from);
    for (unsigned i = 0; i < count; i++) {
        vk_handle fence = fences[i % IN_FLIGHT];
        MUST(gpu->vk.vkWaitForFences(gpu->device, 1, &fence, 1, UINT64_MAX));
        MUST(gpu->vk.vkResetFences(gpu->device, 1, &fence));
        begin(gpu, buffers[i % IN_FLIGHT], VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        add_dispatches(gpu, buffers[i % IN_FLIGHT], PER_BUFFER, group, 0);
        end(gpu, buffers[i % IN_FLIGHT]);
        submit(gpu, 0, &buffers[i % IN_FLIGHT], 1, fence);
    }
    MUST(gpu->vk.vkDeviceWaitIdle(gpu->device));
    clock_gettime(clock, &to);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        gpu->vk.vkDestroyFence(gpu->device, fences[i], NULL);
    dispatches += (unsigned long)count * PER_BUFFER;
    gpu->vk.vkFreeCommandBuffers(gpu->device, gpu->pools[0], IN_FLIGHT, buffers);
    return ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) /
           count;
}

/* For tests/bench/overhead: prints "ready", then the microseconds per submission of a round for
 * each line that it reads, of CPU time if the environment has CPU_TIME. */
static void serve(struct gpu *gpu, unsigned count, unsigned group) {
    char line[64];
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%.4f\n", time_submissions(gpu, count, group));
        fflush(stdout);
    }
}
static void served(struct gpu *gpu, unsigned count) {
    serve(gpu, count, 1);
}
static void served_grouped(struct gpu *gpu, unsigned count) {
    serve(gpu, count, PER_BUFFER);
}

static void print_counts(void) {
    printf("count dispatches %lu\ncount copies %lu\ncount fills %lu\n", dispatches, copies, fills);
    fflush(stdout);
}

/* Ends the process in an unusual way, after the probe's reader has had time: see tests/patient.sh.
 */
static void end_process(const char *how) {
    const char *patience = getenv("PATIENCE");
    print_counts();
    if (getenv("RIDGE_SPOOL"))
        usleep(300000 * (unsigned)(patience ? atoi(patience) : 1));
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(how, "crashed") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(how, "left") == 0)
        _exit(3);
    if (strcmp(how, "exited") == 0)
        exit(4);
}

static void fork_child(unsigned count) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct gpu gpu = {0};
        dispatches = copies = fills = 0;
        (void)count;
        (void)gpu;
        _exit(0); /* Vulkan's objects do not survive a fork */
    }
    waitpid(child, NULL, 0);
}

static void *library;

static void open_instance(void) {
    library = dlopen("libvulkan.so.1", RTLD_NOW);
    struct vk_application_info application = {.apiVersion = VULKAN_VERSION_1_1};
    const char *label = "VK_EXT_debug_utils";
    struct vk_instance_create_info info = {
        .sType = 1, .pApplicationInfo = &application, .ppEnabledExtensionNames = &label};
    vk_result (*create)(const struct vk_instance_create_info *, const void *, vk_instance *);
    if (!library)
        stop(77, "libvulkan.so.1 is not installed");
    *(void **)&get_instance = dlsym(library, "vkGetInstanceProcAddr");
    create = (__typeof__(create))get_instance(NULL, "vkCreateInstance");
    info.enabledExtensionCount = has_labels = true;
    if (create(&info, NULL, &instance) != VK_SUCCESS) {
        info.enabledExtensionCount = has_labels = false;
        if (create(&info, NULL, &instance) != VK_SUCCESS)
            stop(77, "no Vulkan driver");
    }
#define LOAD_INSTANCE(name, alias, result, parameters)                                             \
    vi.name = (result(*) parameters)get_instance(instance, #name);
    VULKAN_INSTANCE_FUNCTIONS(LOAD_INSTANCE)
}

/* The whole of Vulkan is unloaded and loaded again. */
static void unloaded(unsigned count) {
    for (unsigned i = 0; i < 3; i++) {
        struct gpu gpu = {0};
        if (i > 0)
            open_instance();
        open_gpu(&gpu);
        steps(&gpu, count);
        close_gpu(&gpu);
        vi.vkDestroyInstance(instance, NULL);
        dlclose(library);
    }
    print_counts();
}

/* More memory than there is. */
static void without_memory(struct gpu *gpu, unsigned count) {
    struct vk_memory_allocate_info info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = (uint64_t)1 << 50};
    vk_handle memory = 0;
    vk_result result = gpu->vk.vkAllocateMemory(gpu->device, &info, NULL, &memory);
    printf("%s\n", result < 0 ? "refused" : "granted");
    if (result == VK_SUCCESS)
        gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
    steps(gpu, count);
}

static const struct scenario {
    const char *name;
    void (*run)(struct gpu *, unsigned);
} scenarios[] = {{"steps", steps},
                 {"again", again},
                 {"many", many},
                 {"grouped", grouped},
                 {"large", large},
                 {"simultaneous", simultaneous},
                 {"queues", queues},
                 {"labels", labels},
                 {"served", served},
                 {"served-grouped", served_grouped},
                 {"own-queries", own_queries},
                 {"memory", without_memory}};

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "steps";
    unsigned number = count > 2 ? (unsigned)atoi(arguments[2]) : 10;
    struct gpu gpu = {0};
    open_instance();
    if (strcmp(name, "unloaded") == 0) {
        unloaded(number);
        return 0;
    }
    if (strcmp(name, "devices") == 0 || strcmp(name, "threads") == 0) {
        name[0] == 'd' ? two_devices(number) : threads(number);
        print_counts();
        vi.vkDestroyInstance(instance, NULL);
        return 0;
    }
    open_gpu(&gpu);
    bool found = false;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(name, scenarios[i].name) == 0) {
            scenarios[i].run(&gpu, number);
            found = true;
        }
    if (strncmp(name, "secondary", 9) == 0) {
        secondary(&gpu, number, strcmp(name, "secondary-shared") == 0 ? 4 : 0);
    } else if (!found) {
        steps(&gpu, number);
        if (strcmp(name, "forked") == 0)
            fork_child(number);
        else
            end_process(name);
        steps(&gpu, number);
    }
    close_gpu(&gpu);
    vi.vkDestroyInstance(instance, NULL);
    print_counts();
    return 0;
}
