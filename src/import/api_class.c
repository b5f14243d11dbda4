/* Classifies API calls and copies by their names, which are similar in all sources.
 *
 * A call is matched by the prefix of its API (cuda, cu, hip, cl, vk, ze) and then by the first row
 * whose text the rest begins with, so version suffixes (_v7000, _v2, _ptsz) and variants (Async,
 * 2D) need no rows. Metal's Objective-C methods are matched from their start. The words in a copy's
 * name give its direction and the kinds of memory. */
#include "base/array.h"
#include "import/import.h"

struct class_row {
    const char *beginning;
    enum call_class class;
};

/* The CUDA runtime and HIP: cudaX and hipX are the same call. */
static const struct class_row runtime_rows[] = {
    {"LaunchHostFunc", CALL_OTHER},
    {"Launch", CALL_LAUNCH},
    {"GraphLaunch", CALL_LAUNCH},
    {"ModuleLaunch", CALL_LAUNCH},
    {"ExtLaunch", CALL_LAUNCH},
    {"ExtModuleLaunch", CALL_LAUNCH},
    {"HccModuleLaunch", CALL_LAUNCH},
    {"Memcpy", CALL_COPY},
    {"Memset", CALL_COPY},
    {"MemPrefetch", CALL_COPY},
    {"DeviceSynchronize", CALL_SYNC},
    {"StreamSynchronize", CALL_SYNC},
    {"EventSynchronize", CALL_SYNC},
    {"ThreadSynchronize", CALL_SYNC},
    {"CtxSynchronize", CALL_SYNC},
    {"Malloc", CALL_ALLOC},
    {"ExtMalloc", CALL_ALLOC},
    {"Free", CALL_ALLOC},
    {"HostAlloc", CALL_ALLOC},
    {"HostMalloc", CALL_ALLOC},
    {"HostFree", CALL_ALLOC},
    {"HostRegister", CALL_ALLOC},
    {"HostUnregister", CALL_ALLOC},
    {"MemAlloc", CALL_ALLOC},
    {"MemCreate", CALL_ALLOC},
    {"MemMap", CALL_ALLOC},
    {"MemUnmap", CALL_ALLOC},
    {"MemRelease", CALL_ALLOC},
    {"MemAddress", CALL_ALLOC},
    {"MemSetAccess", CALL_ALLOC},
    {"MemPoolTrimTo", CALL_ALLOC},
    {"ModuleLoad", CALL_COMPILE},
    {"ModuleUnload", CALL_COMPILE},
    {"ModuleGetFunction", CALL_COMPILE},
    {"LibraryLoad", CALL_COMPILE},
    {"LibraryUnload", CALL_COMPILE},
    {"LibraryGetKernel", CALL_COMPILE},
    {"Link", CALL_COMPILE},
    {"RegisterFatBinary", CALL_COMPILE},
    {"rtcCompileProgram", CALL_COMPILE},
    {"rtcLink", CALL_COMPILE},
    {0},
};

static const struct class_row driver_rows[] = {
    {"LaunchHostFunc", CALL_OTHER},
    {"Launch", CALL_LAUNCH},
    {"GraphLaunch", CALL_LAUNCH},
    {"Memcpy", CALL_COPY},
    {"Memset", CALL_COPY},
    {"MemPrefetch", CALL_COPY},
    {"CtxSynchronize", CALL_SYNC},
    {"StreamSynchronize", CALL_SYNC},
    {"EventSynchronize", CALL_SYNC},
    {"MemAlloc", CALL_ALLOC},
    {"MemFree", CALL_ALLOC},
    {"MemHostAlloc", CALL_ALLOC},
    {"MemHostRegister", CALL_ALLOC},
    {"MemHostUnregister", CALL_ALLOC},
    {"MemCreate", CALL_ALLOC},
    {"MemMap", CALL_ALLOC},
    {"MemUnmap", CALL_ALLOC},
    {"MemRelease", CALL_ALLOC},
    {"MemAddress", CALL_ALLOC},
    {"MemSetAccess", CALL_ALLOC},
    {"MemPoolTrimTo", CALL_ALLOC},
    {"ArrayCreate", CALL_ALLOC},
    {"ArrayDestroy", CALL_ALLOC},
    {"ModuleLoad", CALL_COMPILE},
    {"ModuleUnload", CALL_COMPILE},
    {"ModuleGetFunction", CALL_COMPILE},
    {"LibraryLoad", CALL_COMPILE},
    {"LibraryUnload", CALL_COMPILE},
    {"LibraryGetKernel", CALL_COMPILE},
    {"KernelGetFunction", CALL_COMPILE},
    {"Link", CALL_COMPILE},
    {0},
};

static const struct class_row opencl_rows[] = {
    {"EnqueueNDRangeKernel", CALL_LAUNCH},
    {"EnqueueTask", CALL_LAUNCH},
    {"EnqueueNativeKernel", CALL_LAUNCH},
    {"EnqueueRead", CALL_COPY},
    {"EnqueueWrite", CALL_COPY},
    {"EnqueueCopy", CALL_COPY},
    {"EnqueueFill", CALL_COPY},
    {"EnqueueMap", CALL_COPY},
    {"EnqueueUnmap", CALL_COPY},
    {"EnqueueMigrate", CALL_COPY},
    {"EnqueueSVMMem", CALL_COPY},
    {"EnqueueSVMMap", CALL_COPY},
    {"EnqueueSVMUnmap", CALL_COPY},
    {"EnqueueSVMMigrate", CALL_COPY},
    {"Finish", CALL_SYNC},
    {"WaitForEvents", CALL_SYNC},
    {"CreateBuffer", CALL_ALLOC},
    {"CreateSubBuffer", CALL_ALLOC},
    {"CreateImage", CALL_ALLOC},
    {"CreatePipe", CALL_ALLOC},
    {"SVMAlloc", CALL_ALLOC},
    {"SVMFree", CALL_ALLOC},
    {"ReleaseMemObject", CALL_ALLOC},
    {"BuildProgram", CALL_COMPILE},
    {"CompileProgram", CALL_COMPILE},
    {"LinkProgram", CALL_COMPILE},
    {"CreateProgram", CALL_COMPILE},
    {"CreateKernel", CALL_COMPILE},
    {0},
};

static const struct class_row level_zero_rows[] = {
    {"CommandListAppendLaunch", CALL_LAUNCH},
    {"CommandQueueExecuteCommandLists", CALL_LAUNCH},
    {"CommandListImmediateAppendCommandLists", CALL_LAUNCH},
    {"CommandListAppendMemoryCopy", CALL_COPY},
    {"CommandListAppendMemoryFill", CALL_COPY},
    {"CommandListAppendMemoryPrefetch", CALL_COPY},
    {"CommandListAppendImageCopy", CALL_COPY},
    {"CommandQueueSynchronize", CALL_SYNC},
    {"CommandListHostSynchronize", CALL_SYNC},
    {"EventHostSynchronize", CALL_SYNC},
    {"FenceHostSynchronize", CALL_SYNC},
    {"MemAlloc", CALL_ALLOC},
    {"MemFree", CALL_ALLOC},
    {"VirtualMem", CALL_ALLOC},
    {"PhysicalMem", CALL_ALLOC},
    {"ModuleCreate", CALL_COMPILE},
    {"ModuleDestroy", CALL_COMPILE},
    {"KernelCreate", CALL_COMPILE},
    {0},
};

static const struct class_row vulkan_rows[] = {
    {"QueueSubmit", CALL_LAUNCH},
    {"QueueBindSparse", CALL_LAUNCH},
    {"CopyMemoryToImage", CALL_COPY},
    {"CopyImageToMemory", CALL_COPY},
    {"QueueWaitIdle", CALL_SYNC},
    {"DeviceWaitIdle", CALL_SYNC},
    {"WaitForFences", CALL_SYNC},
    {"WaitSemaphores", CALL_SYNC},
    {"AllocateMemory", CALL_ALLOC},
    {"FreeMemory", CALL_ALLOC},
    {"CreateComputePipelines", CALL_COMPILE},
    {"CreateGraphicsPipelines", CALL_COMPILE},
    {"CreateRayTracingPipelines", CALL_COMPILE},
    {"CreateShader", CALL_COMPILE},
    {0},
};

static const struct class_row metal_rows[] = {
    {"commit", CALL_LAUNCH},
    {"encoding", CALL_LAUNCH},
    {"waitUntilCompleted", CALL_SYNC},
    {"waitUntilScheduled", CALL_SYNC},
    {"waitUntilSignaled", CALL_SYNC},
    {"newBuffer", CALL_ALLOC},
    {"newTexture", CALL_ALLOC},
    {"newHeap", CALL_ALLOC},
    {"newLibrary", CALL_COMPILE},
    {"newFunction", CALL_COMPILE},
    {"newComputePipelineState", CALL_COMPILE},
    {"newRenderPipelineState", CALL_COMPILE},
    {0},
};

/* Longer prefixes come first: "cuda" before "cu". nvrtc and hiprtc match through "nv" and "hip". */
static const struct {
    const char *prefix;
    const struct class_row *rows;
} apis[] = {
    {"cuda", runtime_rows},  {"hip", runtime_rows}, {"cu", driver_rows},
    {"cl", opencl_rows},     {"vk", vulkan_rows},   {"__cuda", runtime_rows},
    {"__hip", runtime_rows}, {"nv", runtime_rows},  {"ze", level_zero_rows},
    {"-[MTL", metal_rows},   {"", metal_rows},
};

static struct text text_after(struct text a, size_t count) {
    return (struct text){a.data + count, a.length - count};
}

static enum call_class class_in(const struct class_row *rows, struct text rest) {
    for (; rows->beginning; rows++)
        if (text_starts(rest, rows->beginning))
            return rows->class;
    return CALL_OTHER;
}

/* The method of "-[MTLCommandBuffer commit]" or "MTLCommandBuffer commit". */
static struct text metal_method(struct text name) {
    if (!text_starts(name, "-[MTL") && !text_starts(name, "MTL"))
        return name;
    ptrdiff_t space = text_find(name, " ");
    return space < 0 ? name : text_after(name, (size_t)space + 1);
}

enum call_class import_call_class(struct text name) {
    name = metal_method(name);
    for (size_t i = 0; i < ARRAY_COUNT(apis); i++)
        if (text_starts(name, apis[i].prefix))
            return class_in(apis[i].rows, text_after(name, strlen(apis[i].prefix)));
    return CALL_OTHER;
}

/* Spellings of directions in names of copies; the first that occurs in the name counts. */
static const struct {
    const char *word;
    enum copy_direction direction;
} direction_words[] = {
    {"HtoD", COPY_HTOD},
    {"DtoH", COPY_DTOH},
    {"DtoD", COPY_DTOD},
    {"HtoH", COPY_HTOH},
    {"PtoP", COPY_PTOP},
    {"HtoA", COPY_HTOD},
    {"AtoH", COPY_DTOH},
    {"AtoA", COPY_DTOD},
    {"AtoD", COPY_DTOD},
    {"DtoA", COPY_DTOD},
    {"H2D", COPY_HTOD},
    {"D2H", COPY_DTOH},
    {"D2D", COPY_DTOD},
    {"H2H", COPY_HTOH},
    {"P2P", COPY_PTOP},
    {"HostToDevice", COPY_HTOD},
    {"DeviceToHost", COPY_DTOH},
    {"DeviceToDevice", COPY_DTOD},
    {"HostToHost", COPY_HTOH},
    {"PeerToPeer", COPY_PTOP},
    {"HOST_TO_DEVICE", COPY_HTOD},
    {"DEVICE_TO_HOST", COPY_DTOH},
    {"DEVICE_TO_DEVICE", COPY_DTOD},
    {"HOST_TO_HOST", COPY_HTOH},
    {"Peer", COPY_PTOP},
};

static const struct {
    const char *word;
    enum memory_kind kind;
} memory_words[] = {
    {"Pageable", MEMORY_PAGEABLE}, {"Pinned", MEMORY_PINNED},   {"Device", MEMORY_DEVICE},
    {"Array", MEMORY_ARRAY},       {"Managed", MEMORY_MANAGED},
};

/* CUPTI capitalises kinds of memory, ridge does not. */
static enum memory_kind memory_named(struct text word) {
    while (word.length && word.data[0] == ' ')
        word = text_after(word, 1);
    for (size_t i = 0; i < ARRAY_COUNT(memory_words); i++) {
        const char *known = memory_words[i].word;
        if (word.length && (word.data[0] | 0x20) == (known[0] | 0x20) &&
            text_starts(text_after(word, 1), known + 1))
            return memory_words[i].kind;
    }
    return MEMORY_UNKNOWN;
}

void import_copy_name(struct text name, enum copy_direction *direction, enum memory_kind *from,
                      enum memory_kind *to) {
    *direction = COPY_UNKNOWN;
    *from = *to = MEMORY_UNKNOWN;
    ptrdiff_t open = text_find(name, "("), arrow = text_find(name, "->");
    struct text words = name;
    if (open >= 0 && arrow > open) {
        words.length = (size_t)open;
        *from = memory_named(text_after(name, (size_t)open + 1));
        *to = memory_named(text_after(name, (size_t)arrow + 2));
    }
    for (size_t i = 0; i < ARRAY_COUNT(direction_words); i++) {
        if (text_find(words, direction_words[i].word) >= 0) {
            *direction = direction_words[i].direction;
            return;
        }
    }
}
