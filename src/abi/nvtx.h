/* The tool interface of NVTX 3, as far as the probe uses it: written from its documentation and
 * checked against the vendor's headers by tests/abi/nvtx.c.
 */
#ifndef RIDGE_ABI_NVTX_H
#define RIDGE_ABI_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Tables that NVTX exports to a tool. */
enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };

typedef void nvtx_function(void);
struct nvtx_callbacks {
    size_t struct_size;
    /* Functions of the module are replaced by writing to *table[id]. False: no such module. */
    int (*module_table)(int module, nvtx_function ****table, unsigned *count);
};

struct nvtx_version {
    size_t struct_size;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
};

enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

enum nvtx_core {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A,
    NVTX_MARK_W,
    NVTX_RANGE_START_EX,
    NVTX_RANGE_START_A,
    NVTX_RANGE_START_W,
    NVTX_RANGE_END,
    NVTX_RANGE_PUSH_EX,
    NVTX_RANGE_PUSH_A,
    NVTX_RANGE_PUSH_W,
    NVTX_RANGE_POP,
    NVTX_NAME_CATEGORY_A,
    NVTX_NAME_CATEGORY_W,
    NVTX_NAME_THREAD_A,
    NVTX_NAME_THREAD_W,
};

enum nvtx_core2 {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_RANGE_START_EX,
    NVTX_DOMAIN_RANGE_END,
    NVTX_DOMAIN_RANGE_PUSH_EX,
    NVTX_DOMAIN_RANGE_POP,
    NVTX_DOMAIN_RESOURCE_CREATE,
    NVTX_DOMAIN_RESOURCE_DESTROY,
    NVTX_DOMAIN_NAME_CATEGORY_A,
    NVTX_DOMAIN_NAME_CATEGORY_W,
    NVTX_DOMAIN_REGISTER_A,
    NVTX_DOMAIN_REGISTER_W,
    NVTX_DOMAIN_CREATE_A,
    NVTX_DOMAIN_CREATE_W,
    NVTX_DOMAIN_DESTROY,
    NVTX_INITIALIZE,
};

enum { NVTX_COLOUR_NONE, NVTX_COLOUR_ARGB };
enum nvtx_payload {
    NVTX_PAYLOAD_NONE,
    NVTX_PAYLOAD_U64,
    NVTX_PAYLOAD_I64,
    NVTX_PAYLOAD_F64,
    NVTX_PAYLOAD_U32,
    NVTX_PAYLOAD_I32,
    NVTX_PAYLOAD_F32,
};
enum nvtx_message { NVTX_MESSAGE_NONE, NVTX_MESSAGE_A, NVTX_MESSAGE_W, NVTX_MESSAGE_REGISTERED };

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union {
        const char *narrow;
        const wchar_t *wide;
        const void *registered;
    } message;
};

enum { NVTX_NO_TRACKING = -2 };

#endif
