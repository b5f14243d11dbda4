/* Adds timestamp queries to the command buffers of the program while it records them.
 *
 * Commands without a barrier between them may overlap on the device, so they form a group that is
 * timed as a whole: one timestamp before its first command and one after its last. Copies, sets and
 * kernels are separate groups, and so is every command with --vulkan dispatch. Queries are reset in
 * the command buffer itself, so that it can be submitted again. A secondary command buffer has its
 * own queries. One that may be in use twice at a time (SIMULTANEOUS_USE) has none, because its
 * queries would be, too; if it is a secondary one, its execution is timed as a whole.
 */
#include "probe/vulkan/vulkan.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "spool/lock.h"

enum { GROUP_NAMES = 3, GROUP_NAME_BYTES = 512 };
#define NONE UINT32_MAX

static const char simultaneous[] =
    "Vulkan: command buffers with SIMULTANEOUS_USE have no timestamps";
static const char untimed_queue[] =
    "Vulkan: a queue family without compute or without timestamps cannot be timed";
static const char no_queries[] = "Vulkan: the probe ran out of timestamp queries";

struct command_pool {
    uint32_t family;
    bool is_protected;
    struct commands *first;
    _Atomic uint32_t lock;
};

/* A command buffer. The program serializes its use. */
struct commands {
    struct commands *next, *previous; /* of its pool */
    struct command_pool *pool;
    struct vulkan_device *device;
    vk_command_buffer handle;
    bool secondary, in_render_pass, timed;
    struct vulkan_recording *recording;
    uint32_t open; /* the group that has not ended, or NONE */
    struct vulkan_pipeline bound;
    struct shader_arguments arguments; /* of the next dispatch */
};

/* ---- Recordings --------------------------------------------------------------------------- */

void vulkan_recording_release(struct vulkan_recording *recording) {
    if (!recording || atomic_fetch_sub(&recording->references, 1) != 1)
        return;
    for (uint32_t i = 0; i < recording->count; i++)
        vulkan_recording_release(recording->entries[i].child);
    vulkan_queries_release(recording);
    vulkan_free(recording->entries);
    vulkan_free(recording->blocks);
    vulkan_free(recording);
}

static struct commands *commands_of(const struct vulkan_device *device, vk_command_buffer buffer) {
    return device->records
               ? vulkan_object_find(device, OBJECT_COMMAND_BUFFER, vulkan_handle(buffer))
               : NULL;
}

struct vulkan_recording *vulkan_recording_of(const struct vulkan_device *device,
                                             vk_command_buffer buffer) {
    const struct commands *commands = commands_of(device, buffer);
    return commands ? commands->recording : NULL;
}

struct shader_arguments *vulkan_arguments_of(const struct vulkan_device *device,
                                             vk_command_buffer buffer) {
    struct commands *commands = commands_of(device, buffer);
    return commands && commands->recording ? &commands->arguments : NULL;
}

static struct vulkan_entry *add_entry(struct commands *commands, enum vulkan_entry_kind kind) {
    struct vulkan_recording *recording = commands->recording;
    if (!vulkan_grow((void **)&recording->entries, &recording->capacity, recording->count + 1,
                     sizeof *recording->entries))
        return NULL;
    struct vulkan_entry *entry = &recording->entries[recording->count++];
    *entry = (struct vulkan_entry){.kind = (uint8_t)kind, .query = VULKAN_NO_QUERY};
    return entry;
}

static void write_timestamp(const struct commands *commands, vk_flags stage, uint32_t query) {
    vk_handle pool;
    uint32_t number;
    vulkan_query_locate(commands->recording, query, &pool, &number);
    commands->device->next.vkCmdWriteTimestamp(commands->handle, stage, pool, number);
}

/* ---- Groups ------------------------------------------------------------------------------- */

/* "scale", "scale x2 + add", "a + b + c + more". */
static const char *group_name(const struct vulkan_entry *entry) {
    char text[GROUP_NAME_BYTES];
    size_t length = 0;
    uint32_t named = 0;
    if (entry->commands == 1 || !entry->names[0])
        return entry->names[0];
    for (unsigned i = 0; i < GROUP_NAMES && entry->names[i]; i++) {
        char uses[16] = "";
        if (entry->name_uses[i] > 1)
            snprintf(uses, sizeof uses, " x%u", entry->name_uses[i]);
        int added = snprintf(text + length, sizeof text - length, "%s%.120s%s", i ? " + " : "",
                             entry->names[i], uses);
        length += added > 0 ? (size_t)added : 0;
        named += entry->name_uses[i];
    }
    if (named < entry->commands)
        length += (size_t)snprintf(text + length, sizeof text - length, " + more");
    return vulkan_intern((struct text){text, length});
}

static void close_group(struct commands *commands) {
    if (commands->open == NONE)
        return;
    struct vulkan_entry *entry = &commands->recording->entries[commands->open];
    commands->open = NONE;
    write_timestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, entry->query + 1);
    entry->name = group_name(entry);
}

static bool take_queries(struct commands *commands, uint32_t *query) {
    struct vulkan_recording *recording = commands->recording;
    if (recording->query_count + 2 > recording->block_count * QUERY_BLOCK &&
        !vulkan_queries_add_block(recording, commands->handle))
        return false;
    *query = recording->query_count;
    recording->query_count += 2;
    return true;
}

static struct vulkan_entry *open_group(struct commands *commands, const struct vulkan_entry *like) {
    uint32_t query;
    if (!take_queries(commands, &query))
        return NULL;
    struct vulkan_entry *entry = add_entry(commands, like->kind);
    if (!entry) {
        commands->recording->query_count -= 2; /* a query that is not written must not be copied */
        return NULL;
    }
    *entry = *like;
    entry->query = query;
    commands->open = commands->recording->count - 1;
    write_timestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, query);
    return entry;
}

static void add_name(struct vulkan_entry *entry, const char *name, uint32_t uses) {
    for (unsigned i = 0; name && i < GROUP_NAMES; i++) {
        if (entry->names[i] && entry->names[i] != name)
            continue;
        entry->names[i] = name;
        entry->name_uses[i] += uses;
        return;
    }
}

static void add_geometry(struct vulkan_entry *entry, const struct vulkan_entry *command) {
    bool same = memcmp(entry->grid, command->grid, sizeof entry->grid) == 0 &&
                memcmp(entry->block, command->block, sizeof entry->block) == 0;
    if (!same) {
        memset(entry->grid, 0, sizeof entry->grid);
        memset(entry->block, 0, sizeof entry->block);
    }
}

static bool can_join(const struct commands *commands, const struct vulkan_entry *command) {
    if (commands->open == NONE || vulkan_probe_by_dispatch())
        return false;
    const struct vulkan_entry *entry = &commands->recording->entries[commands->open];
    return entry->kind == command->kind && entry->direction == command->direction;
}

/* Before a command of the program: makes it part of a group. */
static void begin_command(struct commands *commands, const struct vulkan_entry *command) {
    struct vulkan_recording *recording = commands->recording;
    struct vulkan_entry *entry = NULL;
    recording->commands += command->commands;
    if (commands->timed && can_join(commands, command)) {
        entry = &recording->entries[commands->open];
        entry->commands += command->commands;
        entry->bytes = entry->bytes == BYTES_UNKNOWN || command->bytes == BYTES_UNKNOWN
                           ? BYTES_UNKNOWN
                           : entry->bytes + command->bytes;
        entry->flops = entry->flops && command->flops ? entry->flops + command->flops : 0;
        add_geometry(entry, command);
        add_name(entry, command->names[0], 1);
        return;
    }
    if (commands->timed) {
        close_group(commands);
        entry = open_group(commands, command);
    }
    if (!entry) {
        recording->untimed += command->commands;
        if (!recording->why)
            recording->why = no_queries;
    }
}

/* After it. */
static void end_command(struct commands *commands) {
    if (vulkan_probe_by_dispatch())
        close_group(commands);
}

/* Whether commands are noted: not inside of a render pass, which is one of them. */
static bool is_noted(const struct commands *commands) {
    return commands && commands->recording && !commands->in_render_pass;
}

/* ---- Command pools and buffers ------------------------------------------------------------- */

static bool is_timed(const struct commands *commands,
                     const struct vk_command_buffer_begin_info *info) {
    struct vulkan_recording *recording = commands->recording;
    if (info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)
        recording->why = simultaneous;
    else if (!vulkan_family_is_timed(commands->device, commands->pool->family) ||
             commands->pool->is_protected)
        recording->why = untimed_queue;
    return !recording->why;
}

static void begin_recording(struct commands *commands,
                            const struct vk_command_buffer_begin_info *info) {
    vulkan_recording_release(commands->recording);
    commands->recording = NULL;
    commands->open = NONE;
    commands->bound = (struct vulkan_pipeline){0};
    memset(&commands->arguments, 0, sizeof commands->arguments);
    commands->in_render_pass =
        commands->secondary && info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT;
    struct vulkan_recording *recording = vulkan_probe() ? vulkan_allocate(sizeof *recording) : NULL;
    if (!recording)
        return;
    atomic_store(&recording->references, 1);
    recording->device = commands->device;
    commands->recording = recording;
    commands->timed = is_timed(commands, info);
}

vk_result probe_vkBeginCommandBuffer(vk_command_buffer buffer,
                                     const struct vk_command_buffer_begin_info *info) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    vk_result result = device->next.vkBeginCommandBuffer(buffer, info);
    struct commands *commands = commands_of(device, buffer);
    if (commands && result == VK_SUCCESS)
        begin_recording(commands, info);
    return result;
}

vk_result probe_vkEndCommandBuffer(vk_command_buffer buffer) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = commands_of(device, buffer);
    if (commands && commands->recording)
        close_group(commands);
    return device->next.vkEndCommandBuffer(buffer);
}

static void forget_recording(struct commands *commands) {
    vulkan_recording_release(commands->recording);
    commands->recording = NULL;
    commands->open = NONE;
}

vk_result probe_vkResetCommandBuffer(vk_command_buffer buffer, vk_flags flags) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = commands_of(device, buffer);
    if (commands)
        forget_recording(commands);
    return device->next.vkResetCommandBuffer(buffer, flags);
}

vk_result probe_vkCreateCommandPool(vk_device handle,
                                    const struct vk_command_pool_create_info *info,
                                    const void *allocator, vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vk_result result = device->next.vkCreateCommandPool(handle, info, allocator, made);
    struct command_pool *pool =
        device->records && result == VK_SUCCESS ? vulkan_allocate(sizeof *pool) : NULL;
    bool added;
    if (!pool)
        return result;
    pool->family = info->queueFamilyIndex;
    pool->is_protected = info->flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT;
    vulkan_object_set(device, OBJECT_COMMAND_POOL, *made, pool, &added);
    if (!added)
        vulkan_free(pool);
    return result;
}

static void link_commands(struct command_pool *pool, struct commands *commands) {
    commands->next = pool->first;
    if (pool->first)
        pool->first->previous = commands;
    pool->first = commands;
}

static void unlink_commands(struct commands *commands) {
    struct commands **from =
        commands->previous ? &commands->previous->next : &commands->pool->first;
    *from = commands->next;
    if (commands->next)
        commands->next->previous = commands->previous;
}

vk_result probe_vkAllocateCommandBuffers(vk_device handle,
                                         const struct vk_command_buffer_allocate_info *info,
                                         vk_command_buffer *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vk_result result = device->next.vkAllocateCommandBuffers(handle, info, made);
    struct command_pool *pool =
        device->records && result == VK_SUCCESS
            ? vulkan_object_find(device, OBJECT_COMMAND_POOL, info->commandPool)
            : NULL;
    for (uint32_t i = 0; pool && i < info->commandBufferCount; i++) {
        bool added;
        struct commands *commands = vulkan_allocate(sizeof *commands);
        if (!commands)
            break;
        commands->pool = pool;
        commands->device = device;
        commands->handle = made[i];
        commands->secondary = info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
        commands->open = NONE;
        vulkan_object_set(device, OBJECT_COMMAND_BUFFER, vulkan_handle(made[i]), commands, &added);
        if (added)
            link_commands(pool, commands);
        else
            vulkan_free(commands);
    }
    return result;
}

static void free_commands(struct commands *commands) {
    vulkan_object_take(commands->device, OBJECT_COMMAND_BUFFER, vulkan_handle(commands->handle));
    forget_recording(commands);
    vulkan_free(commands);
}

void probe_vkFreeCommandBuffers(vk_device handle, vk_handle pool, uint32_t count,
                                const vk_command_buffer *buffers) {
    struct vulkan_device *device = vulkan_device_of(handle);
    for (uint32_t i = 0; i < count; i++) {
        struct commands *commands = buffers[i] ? commands_of(device, buffers[i]) : NULL;
        if (!commands)
            continue;
        unlink_commands(commands);
        free_commands(commands);
    }
    device->next.vkFreeCommandBuffers(handle, pool, count, buffers);
}

vk_result probe_vkResetCommandPool(vk_device handle, vk_handle pool, vk_flags flags) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct command_pool *known = vulkan_object_find(device, OBJECT_COMMAND_POOL, pool);
    for (struct commands *at = known ? known->first : NULL; at; at = at->next)
        forget_recording(at);
    return device->next.vkResetCommandPool(handle, pool, flags);
}

void probe_vkDestroyCommandPool(vk_device handle, vk_handle pool, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct command_pool *known =
        pool ? vulkan_object_take(device, OBJECT_COMMAND_POOL, pool) : NULL;
    while (known && known->first) {
        struct commands *commands = known->first;
        known->first = commands->next;
        free_commands(commands);
    }
    vulkan_free(known);
    device->next.vkDestroyCommandPool(handle, pool, allocator);
}

/* With the device: every object on its own, in any order. */
void vulkan_object_release(enum vulkan_object type, void *object) {
    if (type == OBJECT_QUEUE)
        return; /* the device's own list has it */
    if (type == OBJECT_PIPELINE) {
        vulkan_pipeline_release(object);
        return;
    }
    if (type == OBJECT_COMMAND_BUFFER)
        vulkan_recording_release(((struct commands *)object)->recording);
    vulkan_free(object);
}

/* ---- Kernels ------------------------------------------------------------------------------ */

void probe_vkCmdBindPipeline(vk_command_buffer buffer, int32_t point, vk_handle handle) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands =
        point == VK_PIPELINE_BIND_POINT_COMPUTE ? commands_of(device, buffer) : NULL;
    if (commands) {
        const struct vulkan_pipeline *pipeline =
            vulkan_object_find(device, OBJECT_PIPELINE, handle);
        commands->bound = pipeline ? *pipeline : (struct vulkan_pipeline){0};
    }
    device->next.vkCmdBindPipeline(buffer, point, handle);
}

/* A grid of 0 is unknown. */
static void estimate_work(struct commands *commands, struct vulkan_entry *entry) {
    struct shader_arguments *arguments = &commands->arguments;
    if (!commands->bound.work)
        return;
    memcpy(arguments->grid, entry->grid, sizeof arguments->grid);
    memcpy(arguments->block, entry->block, sizeof arguments->block);
    struct shader_estimate estimate = shader_work_recall(commands->bound.work, arguments);
    entry->bytes = estimate.bytes ? estimate.bytes : BYTES_UNKNOWN;
    entry->flops = estimate.flops;
}

static struct commands *begin_dispatch(struct vulkan_device *device, vk_command_buffer buffer,
                                       uint32_t x, uint32_t y, uint32_t z) {
    struct commands *commands = commands_of(device, buffer);
    if (!is_noted(commands))
        return NULL;
    struct vulkan_entry entry = {
        .kind = VULKAN_KERNEL,
        .commands = 1,
        .grid = {x, y, z},
        .bytes = BYTES_UNKNOWN,
        .names = {commands->bound.name},
        .name_uses = {commands->bound.name != NULL},
    };
    memcpy(entry.block, commands->bound.block, sizeof entry.block);
    estimate_work(commands, &entry);
    begin_command(commands, &entry);
    return commands;
}

static void end(struct commands *commands) {
    if (commands)
        end_command(commands);
}

void probe_vkCmdDispatch(vk_command_buffer buffer, uint32_t x, uint32_t y, uint32_t z) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_dispatch(device, buffer, x, y, z);
    device->next.vkCmdDispatch(buffer, x, y, z);
    end(commands);
}

void probe_vkCmdDispatchBase(vk_command_buffer buffer, uint32_t base_x, uint32_t base_y,
                             uint32_t base_z, uint32_t x, uint32_t y, uint32_t z) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_dispatch(device, buffer, x, y, z);
    device->next.vkCmdDispatchBase(buffer, base_x, base_y, base_z, x, y, z);
    end(commands);
}

/* The grid is in device memory. */
void probe_vkCmdDispatchIndirect(vk_command_buffer buffer, vk_handle grid, uint64_t offset) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_dispatch(device, buffer, 0, 0, 0);
    device->next.vkCmdDispatchIndirect(buffer, grid, offset);
    end(commands);
}

/* A render pass is one kernel. */
static void begin_render_pass(struct vulkan_device *device, vk_command_buffer buffer) {
    static const char name[] = "render pass";
    struct commands *commands = commands_of(device, buffer);
    if (!is_noted(commands))
        return;
    close_group(commands);
    begin_command(commands, &(struct vulkan_entry){.kind = VULKAN_KERNEL,
                                                   .commands = 1,
                                                   .bytes = BYTES_UNKNOWN,
                                                   .names = {name},
                                                   .name_uses = {1}});
    commands->in_render_pass = true;
}

static void end_render_pass(struct vulkan_device *device, vk_command_buffer buffer) {
    struct commands *commands = commands_of(device, buffer);
    if (!commands || !commands->recording)
        return;
    commands->in_render_pass = false;
    close_group(commands);
}

void probe_vkCmdBeginRenderPass(vk_command_buffer buffer, const void *begin, int32_t contents) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    begin_render_pass(device, buffer);
    device->next.vkCmdBeginRenderPass(buffer, begin, contents);
}
void probe_vkCmdBeginRenderPass2(vk_command_buffer buffer, const void *begin, const void *subpass) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    begin_render_pass(device, buffer);
    device->next.vkCmdBeginRenderPass2(buffer, begin, subpass);
}
void probe_vkCmdEndRenderPass(vk_command_buffer buffer) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    device->next.vkCmdEndRenderPass(buffer);
    end_render_pass(device, buffer);
}
void probe_vkCmdEndRenderPass2(vk_command_buffer buffer, const void *subpass) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    device->next.vkCmdEndRenderPass2(buffer, subpass);
    end_render_pass(device, buffer);
}
void probe_vkCmdBeginRendering(vk_command_buffer buffer, const void *info) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    begin_render_pass(device, buffer);
    device->next.vkCmdBeginRendering(buffer, info);
}
void probe_vkCmdEndRendering(vk_command_buffer buffer) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    device->next.vkCmdEndRendering(buffer);
    end_render_pass(device, buffer);
}

/* ---- Copies and sets ----------------------------------------------------------------------- */

static uint8_t memory_of(const struct vulkan_device *device, vk_handle handle) {
    const struct vulkan_buffer *buffer =
        handle ? vulkan_object_find(device, OBJECT_BUFFER, handle) : NULL;
    return buffer ? buffer->memory : MEMORY_UNKNOWN;
}

static uint8_t direction_of(uint8_t from, uint8_t to) {
    if (from == MEMORY_UNKNOWN || to == MEMORY_UNKNOWN)
        return COPY_UNKNOWN;
    if (from == MEMORY_DEVICE)
        return to == MEMORY_DEVICE ? COPY_DTOD : COPY_DTOH;
    return to == MEMORY_DEVICE ? COPY_HTOD : COPY_HTOH;
}

static struct commands *begin_copy(struct vulkan_device *device, vk_command_buffer buffer,
                                   uint8_t from, uint8_t to, uint64_t bytes) {
    struct commands *commands = commands_of(device, buffer);
    if (!is_noted(commands))
        return NULL;
    begin_command(commands, &(struct vulkan_entry){.kind = VULKAN_COPY,
                                                   .direction = direction_of(from, to),
                                                   .from_memory = from,
                                                   .to_memory = to,
                                                   .commands = 1,
                                                   .bytes = bytes});
    return commands;
}

/* Images are in device memory, as good as always; their bytes are not computed. */
static struct commands *begin_image_copy(struct vulkan_device *device, vk_command_buffer buffer,
                                         vk_handle from, vk_handle to) {
    return begin_copy(device, buffer, from ? memory_of(device, from) : MEMORY_ARRAY,
                      to ? memory_of(device, to) : MEMORY_ARRAY, BYTES_UNKNOWN);
}

void probe_vkCmdCopyBuffer(vk_command_buffer buffer, vk_handle from, vk_handle to, uint32_t count,
                           const struct vk_buffer_copy *regions) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += regions[i].size;
    struct commands *commands =
        begin_copy(device, buffer, memory_of(device, from), memory_of(device, to), bytes);
    device->next.vkCmdCopyBuffer(buffer, from, to, count, regions);
    end(commands);
}

void probe_vkCmdCopyBuffer2(vk_command_buffer buffer, const struct vk_copy_buffer_info2 *info) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < info->regionCount; i++)
        bytes += info->pRegions[i].size;
    struct commands *commands = begin_copy(device, buffer, memory_of(device, info->srcBuffer),
                                           memory_of(device, info->dstBuffer), bytes);
    device->next.vkCmdCopyBuffer2(buffer, info);
    end(commands);
}

void probe_vkCmdCopyImage(vk_command_buffer buffer, vk_handle from, int32_t from_layout,
                          vk_handle to, int32_t to_layout, uint32_t count, const void *regions) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, 0, 0);
    device->next.vkCmdCopyImage(buffer, from, from_layout, to, to_layout, count, regions);
    end(commands);
}
void probe_vkCmdCopyImage2(vk_command_buffer buffer, const void *info) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, 0, 0);
    device->next.vkCmdCopyImage2(buffer, info);
    end(commands);
}
void probe_vkCmdBlitImage(vk_command_buffer buffer, vk_handle from, int32_t from_layout,
                          vk_handle to, int32_t to_layout, uint32_t count, const void *regions,
                          int32_t filter) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, 0, 0);
    device->next.vkCmdBlitImage(buffer, from, from_layout, to, to_layout, count, regions, filter);
    end(commands);
}
void probe_vkCmdBlitImage2(vk_command_buffer buffer, const void *info) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, 0, 0);
    device->next.vkCmdBlitImage2(buffer, info);
    end(commands);
}
void probe_vkCmdCopyBufferToImage(vk_command_buffer buffer, vk_handle from, vk_handle to,
                                  int32_t layout, uint32_t count, const void *regions) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, from, 0);
    device->next.vkCmdCopyBufferToImage(buffer, from, to, layout, count, regions);
    end(commands);
}
void probe_vkCmdCopyBufferToImage2(vk_command_buffer buffer, const void *info) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, 0, 0);
    device->next.vkCmdCopyBufferToImage2(buffer, info);
    end(commands);
}
void probe_vkCmdCopyImageToBuffer(vk_command_buffer buffer, vk_handle from, int32_t layout,
                                  vk_handle to, uint32_t count, const void *regions) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, 0, to);
    device->next.vkCmdCopyImageToBuffer(buffer, from, layout, to, count, regions);
    end(commands);
}
void probe_vkCmdCopyImageToBuffer2(vk_command_buffer buffer, const void *info) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = begin_image_copy(device, buffer, 0, 0);
    device->next.vkCmdCopyImageToBuffer2(buffer, info);
    end(commands);
}

/* The data is in the command buffer. */
void probe_vkCmdUpdateBuffer(vk_command_buffer buffer, vk_handle to, uint64_t offset,
                             uint64_t bytes, const void *data) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands =
        begin_copy(device, buffer, MEMORY_PINNED, memory_of(device, to), bytes);
    device->next.vkCmdUpdateBuffer(buffer, to, offset, bytes, data);
    end(commands);
}

void probe_vkCmdFillBuffer(vk_command_buffer buffer, vk_handle to, uint64_t offset, uint64_t bytes,
                           uint32_t data) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = commands_of(device, buffer);
    const struct vulkan_buffer *known = vulkan_object_find(device, OBJECT_BUFFER, to);
    uint64_t set = bytes;
    if (bytes == VULKAN_WHOLE_SIZE)
        set = known && known->bytes >= offset ? known->bytes - offset : BYTES_UNKNOWN;
    if (!is_noted(commands))
        commands = NULL;
    if (commands)
        begin_command(commands,
                      &(struct vulkan_entry){.kind = VULKAN_SET,
                                             .to_memory = known ? known->memory : MEMORY_UNKNOWN,
                                             .commands = 1,
                                             .bytes = set});
    device->next.vkCmdFillBuffer(buffer, to, offset, bytes, data);
    end(commands);
}

/* ---- Barriers ------------------------------------------------------------------------------ */

static int64_t begin_barrier(struct vulkan_device *device, vk_command_buffer buffer) {
    struct commands *commands = commands_of(device, buffer);
    if (is_noted(commands))
        close_group(commands);
    return clock_now();
}

static void put_barrier(const char *name, int64_t start) {
    vulkan_put_call(&(struct vulkan_call){.name = name, .start = start});
}

void probe_vkCmdPipelineBarrier(vk_command_buffer buffer, vk_flags source, vk_flags destination,
                                vk_flags flags, uint32_t memory_count,
                                const struct vk_memory_barrier *memory, uint32_t buffer_count,
                                const void *buffers, uint32_t image_count, const void *images) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    int64_t start = begin_barrier(device, buffer);
    device->next.vkCmdPipelineBarrier(buffer, source, destination, flags, memory_count, memory,
                                      buffer_count, buffers, image_count, images);
    put_barrier("vkCmdPipelineBarrier", start);
}

void probe_vkCmdPipelineBarrier2(vk_command_buffer buffer, const void *dependency) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    int64_t start = begin_barrier(device, buffer);
    device->next.vkCmdPipelineBarrier2(buffer, dependency);
    put_barrier("vkCmdPipelineBarrier2", start);
}

void probe_vkCmdWaitEvents(vk_command_buffer buffer, uint32_t count, const vk_handle *events,
                           vk_flags source, vk_flags destination, uint32_t memory_count,
                           const void *memory, uint32_t buffer_count, const void *buffers,
                           uint32_t image_count, const void *images) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    int64_t start = begin_barrier(device, buffer);
    device->next.vkCmdWaitEvents(buffer, count, events, source, destination, memory_count, memory,
                                 buffer_count, buffers, image_count, images);
    put_barrier("vkCmdWaitEvents", start);
}

void probe_vkCmdWaitEvents2(vk_command_buffer buffer, uint32_t count, const vk_handle *events,
                            const void *dependencies) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    int64_t start = begin_barrier(device, buffer);
    device->next.vkCmdWaitEvents2(buffer, count, events, dependencies);
    put_barrier("vkCmdWaitEvents2", start);
}

/* ---- Secondary command buffers and labels --------------------------------------------------- */

/* The commands of all, as one that is timed as a whole; false when each has its own times. */
static bool sum_untimed(const struct vulkan_device *device, uint32_t count,
                        const vk_command_buffer *buffers, struct vulkan_entry *whole) {
    bool untimed = false;
    *whole = (struct vulkan_entry){.kind = VULKAN_KERNEL, .bytes = BYTES_UNKNOWN};
    for (uint32_t i = 0; i < count; i++) {
        const struct vulkan_recording *recording = vulkan_recording_of(device, buffers[i]);
        if (!recording)
            continue;
        untimed |= recording->untimed > 0;
        whole->commands += (uint32_t)recording->commands;
    }
    whole->names[0] = "secondary command buffer";
    whole->name_uses[0] = whole->commands;
    return untimed && whole->commands > 0;
}

static void add_children(struct commands *commands, uint32_t count,
                         const vk_command_buffer *buffers) {
    close_group(commands);
    for (uint32_t i = 0; i < count; i++) {
        struct vulkan_recording *recording = vulkan_recording_of(commands->device, buffers[i]);
        struct vulkan_entry *entry =
            recording && recording->commands > 0 ? add_entry(commands, VULKAN_CHILD) : NULL;
        if (!entry)
            continue;
        atomic_fetch_add(&recording->references, 1);
        entry->child = recording;
        commands->recording->children++;
    }
}

void probe_vkCmdExecuteCommands(vk_command_buffer buffer, uint32_t count,
                                const vk_command_buffer *buffers) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct commands *commands = commands_of(device, buffer);
    struct vulkan_entry whole;
    bool noted = is_noted(commands);
    bool together = noted && sum_untimed(device, count, buffers, &whole);
    if (together) {
        close_group(commands);
        begin_command(commands, &whole);
    } else if (noted) {
        add_children(commands, count, buffers);
    }
    device->next.vkCmdExecuteCommands(buffer, count, buffers);
    if (together)
        close_group(commands);
}

static void add_label(struct vulkan_device *device, vk_command_buffer buffer, const char *name) {
    struct commands *commands = commands_of(device, buffer);
    if (!is_noted(commands))
        return;
    close_group(commands);
    struct vulkan_entry *entry = add_entry(commands, name ? VULKAN_LABEL : VULKAN_LABEL_END);
    if (entry && name)
        entry->name = vulkan_intern((struct text){name, strnlen(name, SPOOL_TEXT_MAX)});
}

void probe_vkCmdBeginDebugUtilsLabelEXT(vk_command_buffer buffer,
                                        const struct vk_debug_utils_label *label) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    add_label(device, buffer, label->pLabelName ? label->pLabelName : "");
    device->next.vkCmdBeginDebugUtilsLabelEXT(buffer, label);
}

void probe_vkCmdEndDebugUtilsLabelEXT(vk_command_buffer buffer) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    add_label(device, buffer, NULL);
    device->next.vkCmdEndDebugUtilsLabelEXT(buffer);
}
